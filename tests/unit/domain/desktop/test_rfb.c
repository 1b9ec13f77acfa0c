/* SPDX-License-Identifier: Apache-2.0 */
/* RFB as a client: a server's bytes in any pieces, and servers that break the rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "domain/desktop/rfb.h"

#define HELLO "RFB 003.008\n\2\2\1\0\0\0\0\0\2\0\2\x20\x18\0\1\0\xff\0\xff\0\xff\x10\x08\0\0\0\0\0\0\0\3cay"
#define SIZES "\0\0\0\1\0\0\0\0\0\2\0\2\xff\xff\xfe\xcc\1\0\0\0\0\0\0\0\0\0\0\0\0\2\0\2\0\0\0\0"
#define PIXELS "\0\0\0\2\0\0\0\0\0\2\0\1\0\0\0\0abcdefgh\0\0\0\1\0\2\0\1\0\0\0\0ijklmnop"
#define BYTES(text) text, sizeof(text) - 1

static int feed(struct cay_rfb *r, const char *bytes, size_t len, size_t piece, struct cay_error *err)
{
        for (size_t at = 0; at < len; at += piece)
                if (cay_rfb_feed(r, bytes + at, len - at < piece ? len - at : piece, err) < 0)
                        return -1;
        return 0;
}

static void a_screen_arrives(void **state)
{
        (void)state;
        for (size_t piece = 1; piece < 80; piece += 13) {
                struct cay_rfb r;
                struct cay_error err = { 0 };

                cay_rfb_init(&r);
                r.wants_screen = true;
                assert_int_equal(feed(&r, BYTES(HELLO), piece, &err), 0);
                assert_true(r.is_open && r.width == 2 && r.height == 2 && !r.has_screen);
                assert_memory_equal(cay_buf_data(&r.out), "RFB 003.008\n\1\1", 14);
                cay_buf_clear(&r.out);
                assert_int_equal(feed(&r, BYTES(SIZES), piece, &err), 0);
                assert_memory_equal(cay_buf_data(&r.out), "\3\1\0\0\0\0\0\2\0\2", 10); /* it asks again */
                assert_int_equal(feed(&r, BYTES("\2\3\0\0\0\0\0\0\2hi\1\0\0\0\0\1abcdef"), piece, &err), 0);
                assert_int_equal(feed(&r, BYTES(PIXELS), piece, &err), 0);
                assert_true(r.has_screen && r.updates == 1);
                assert_memory_equal(r.pixels, "abcdefghijklmnop", 16);
                cay_rfb_done(&r);
        }
}

static void rules_are_held(void **state)
{
        static const struct {
                const char *bytes;
                size_t len;
        } bad[] = {
                { BYTES("HTTP/1.1 200") },
                { BYTES("RFB 003.008\n\0") },
                { BYTES("RFB 003.008\n\1\2") },
                { BYTES("RFB 003.008\n\1\1\0\0\0\1") },
                { BYTES("RFB 003.008\n\1\1\0\0\0\0\0\0\0\2                \0\0\0\0") }, /* no width */
                { BYTES("RFB 003.008\n\1\1\0\0\0\0\x1f\xff\x1f\xff                "
                        "\0\0\0\0") }, /* too large */
                { BYTES("RFB 003.008\n\1\1\0\0\0\0\0\2\0\2                \x7f\0\0\0") },
                { BYTES(HELLO "\x09") },
                { BYTES(HELLO "\0\0\0\1\0\1\0\0\0\2\0\1\0\0\0\0") },                 /* outside */
                { BYTES(HELLO "\0\0\0\1\0\0\0\0\0\1\0\1\0\0\0\7") },                 /* Tight */
                { BYTES(HELLO "\0\0\0\1\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\x21") }, /* a size */
        };

        (void)state;
        for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                struct cay_rfb r;
                struct cay_error err = { 0 };

                cay_rfb_init(&r);
                assert_int_equal(feed(&r, bad[i].bytes, bad[i].len, 1 + i, &err), -1);
                assert_int_equal(err.code, CAY_UNAVAILABLE);
                cay_rfb_done(&r);
        }
}

static void memory_has_an_owner(void **state)
{
        struct cay_budget budget = { .max = 15 };
        struct cay_rfb r;
        struct cay_error err = { 0 };

        (void)state;
        cay_rfb_init(&r);
        r.budget = &budget;
        assert_int_equal(feed(&r, BYTES(HELLO PIXELS), 7, &err), -1);
        assert_int_equal(err.code, CAY_LIMIT);
        cay_rfb_done(&r);
        budget.max = 1000;
        err = (struct cay_error){ 0 };
        cay_rfb_init(&r);
        r.budget = &budget;
        assert_int_equal(feed(&r, BYTES(HELLO PIXELS), 7, &err), 0);
        assert_int_equal(budget.used, 16);
        cay_rfb_done(&r);
        assert_int_equal(budget.used, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_screen_arrives),
                cmocka_unit_test(rules_are_held),
                cmocka_unit_test(memory_has_an_owner),
        };

        return cmocka_run_group_tests_name("desktop/rfb", tests, NULL, NULL);
}
