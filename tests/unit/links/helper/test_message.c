/* SPDX-License-Identifier: Apache-2.0 */
/* The policy table of the warden link: every way in which a request can be refused, for every row. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/cleanup.h"
#include "links/helper/message.h"

static const struct {
        const char *name;
        unsigned permitted, min, max;
} rows[] = {
        { 0 },
#define HELPER_REQUEST(name, permitted, min, max) { #name, permitted, min, max },
#include "links/helper/requests.def"
#undef HELPER_REQUEST
};

static struct wire_request request(unsigned type)
{
        struct wire_request req = { .magic = WIRE_MAGIC, .size = sizeof(req), .type = type, .seq = 1 };

        return req;
}

static void test_permitted(void **state)
{
        assert_int_equal(CAY_COUNT(rows), WIRE_TYPE_COUNT);
        for (unsigned type = 1; type < WIRE_TYPE_COUNT; type++) {
                struct wire_request req = request(type);

                for (unsigned at = HELPER_FRESH; at <= HELPER_READY; at <<= 1)
                        for (unsigned fds = 0; fds < 30; fds++) {
                                bool fits = rows[type].permitted & at && fds >= rows[type].min &&
                                            fds <= rows[type].max;

                                assert_int_equal(helper_request_check(&wire_protocol, &req, sizeof(req), fds,
                                                                      at),
                                                 fits ? 0 : -EPROTO);
                        }
                assert_int_equal(helper_request_check(&wire_protocol, &req, sizeof(req), rows[type].min, 0),
                                 -EPROTO);
        }
}

static void test_hello_comes_first(void **state)
{
        for (unsigned type = 1; type < WIRE_TYPE_COUNT; type++) {
                struct wire_request req = request(type);
                unsigned fds = rows[type].min;

                assert_int_equal(helper_request_check(&wire_protocol, &req, sizeof(req), fds, HELPER_FRESH),
                                 type == WIRE_hello ? 0 : -EPROTO);
                assert_int_equal(helper_request_check(&wire_protocol, &req, sizeof(req), fds, HELPER_READY),
                                 type == WIRE_hello ? -EPROTO : 0);
        }
}

static void test_types(void **state)
{
        static const unsigned bad[] = { WIRE_NONE,  WIRE_TYPE_COUNT, WIRE_box_gone, 101,
                                        0x7fffffff, 0x80000000,      UINT32_MAX };

        for (unsigned i = 0; i < CAY_COUNT(bad); i++) {
                struct wire_request req = request(bad[i]);

                assert_int_equal(helper_request_check(&wire_protocol, &req, sizeof(req), 0, HELPER_READY),
                                 -EPROTO);
                assert_int_equal(helper_request_check(&wire_protocol, &req, sizeof(req), 0, HELPER_FRESH),
                                 -EPROTO);
                assert_int_equal(helper_request_check(&wire_protocol, &req, sizeof(req), 0, UINT32_MAX),
                                 -EPROTO);
        }
}

static void test_lengths(void **state)
{
        struct wire_request req = request(WIRE_hello);
        const int64_t bad[] = { INT64_MIN,
                                -1,
                                0,
                                1,
                                15,
                                (int64_t)sizeof(req) - 1,
                                (int64_t)sizeof(req) + 1,
                                INT64_MAX,
                                (int64_t)sizeof(req) + (1ll << 32) };

        for (unsigned i = 0; i < CAY_COUNT(bad); i++)
                assert_int_equal(helper_request_check(&wire_protocol, &req, bad[i], 0, HELPER_FRESH),
                                 -EPROTO);
        assert_int_equal(helper_request_check(&wire_protocol, &req, sizeof(req), 0, HELPER_FRESH), 0);
}

static void test_head(void **state)
{
        struct wire_request req = request(WIRE_hello);

        req.magic++;
        assert_int_equal(helper_request_check(&wire_protocol, &req, sizeof(req), 0, HELPER_FRESH), -EPROTO);
        req = request(WIRE_hello);
        req.size--;
        assert_int_equal(helper_request_check(&wire_protocol, &req, sizeof(req), 0, HELPER_FRESH), -EPROTO);
        req = request(WIRE_hello);
        req.seq = 0; /* that of unasked news */
        assert_int_equal(helper_request_check(&wire_protocol, &req, sizeof(req), 0, HELPER_FRESH), -EPROTO);
        req.seq = UINT32_MAX;
        assert_int_equal(helper_request_check(&wire_protocol, &req, sizeof(req), 0, HELPER_FRESH), 0);
}

static void test_names(void **state)
{
        for (unsigned type = 1; type < WIRE_TYPE_COUNT; type++)
                assert_string_equal(helper_request_name(&wire_protocol, type), rows[type].name);
        assert_string_equal(helper_request_name(&wire_protocol, WIRE_NONE), "?");
        assert_string_equal(helper_request_name(&wire_protocol, WIRE_TYPE_COUNT), "?");
        assert_string_equal(helper_request_name(&wire_protocol, UINT32_MAX), "?");
}

/*
 * One message, whatever it holds: both ends are built together, and a message fits a datagram with room to
 * spare.
 */
static void test_sizes(void **state)
{
        assert_true(sizeof(struct wire_request) <= 4096);
        assert_true(sizeof(struct wire_answer) <= 1024);
        assert_true(WIRE_box_gone >= WIRE_TYPE_COUNT);
        for (unsigned type = 1; type < WIRE_TYPE_COUNT; type++)
                assert_true(rows[type].min <= rows[type].max && rows[type].max <= 5);
}

/* The text that people judge the privileged surface by names every row. */
static void test_documented(void **state)
{
        const char *source = getenv("CAY_SOURCE_DIR");
        static char text[65536];
        char path[4096];
        FILE *f;

        if (!source) {
                print_message("skipped: CAY_SOURCE_DIR is not set\n");
                skip();
        }
        snprintf(path, sizeof(path), "%s/docs/warden-link.md", source);
        f = fopen(path, "re");
        assert_non_null(f);
        assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
        fclose(f);
        for (unsigned type = 1; type < WIRE_TYPE_COUNT; type++)
                if (!strstr(text, rows[type].name))
                        fail_msg("docs/warden-link.md does not know '%s'", rows[type].name);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_permitted), cmocka_unit_test(test_hello_comes_first),
                cmocka_unit_test(test_types),     cmocka_unit_test(test_lengths),
                cmocka_unit_test(test_head),      cmocka_unit_test(test_names),
                cmocka_unit_test(test_sizes),     cmocka_unit_test(test_documented),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
