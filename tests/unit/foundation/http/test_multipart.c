/* SPDX-License-Identifier: Apache-2.0 */
/* multipart/form-data, in pieces of any size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "foundation/http/multipart.h"

#define TYPE "multipart/form-data; boundary=----b"

/* What the steps tell, as one text; the bytes come `piece` at a time. */
static void read_all(const char *body, size_t piece, char *ret, size_t size)
{
        size_t len = strlen(body), at = 0, end = 0, used, out = 0;
        struct cay_multipart m;
        enum cay_multipart_event event;
        bool in_data = false;

        assert_true(cay_multipart_init(&m, TYPE));
        for (;;) {
                event = cay_multipart_step(&m, body + at, end - at, &used);
                if (in_data && event != CAY_MULTIPART_DATA && event != CAY_MULTIPART_MORE) {
                        out += (size_t)snprintf(ret + out, size - out, "]");
                        in_data = false;
                }
                if (event == CAY_MULTIPART_BEGIN) {
                        out += (size_t)snprintf(ret + out, size - out, "(%s,%s", m.name,
                                                m.has_filename ? m.filename : "-");
                } else if (event == CAY_MULTIPART_DATA) {
                        out += (size_t)snprintf(ret + out, size - out, "%s%.*s", in_data ? "" : "[",
                                                (int)used, body + at);
                        in_data = true;
                } else if (event == CAY_MULTIPART_END) {
                        out += (size_t)snprintf(ret + out, size - out, ")");
                } else if (event == CAY_MULTIPART_DONE || event == CAY_MULTIPART_BAD) {
                        snprintf(ret + out, size - out, "%s", event == CAY_MULTIPART_DONE ? "." : "!");
                        return;
                }
                at += used;
                if (event == CAY_MULTIPART_MORE && used == 0) {
                        if (end == len) {
                                snprintf(ret + out, size - out, "?");
                                return;
                        }
                        end = end + piece < len ? end + piece : len;
                }
        }
}

static void test_bodies(void **state)
{
        static const struct {
                const char *body, *told;
        } rows[] = {
                { "------b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a b.txt\"\r\n"
                  "Content-Type: application/octet-stream\r\n\r\nhello\r\n------b--\r\n",
                  "(file,a b.txt[hello])." },
                { "------b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n\r\n------b--",
                  "(file,-)." },
                { "------b\r\ncontent-disposition: form-data; name=\"file\"; "
                  "filename=\"d/%22x%0A.txt\"\r\n\r\n"
                  "1\r\n--\r\n------x\r\n------b\r\nContent-Disposition: form-data; "
                  "name=\"other\"\r\n\r\n2\r\n------b--",
                  "(file,d/\"x\n.txt[1\r\n--\r\n------x])(other,-[2])." },
                { "------b--\r\n", "." },
                { "------c\r\n\r\n", "!" },
                { "------bxx\r\n", "!" },
                { "------b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\ncut", "(file,-?" },
        };
        char told[400];

        for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
                for (size_t piece = 1; piece < 200; piece += piece < 20 ? 1 : 37) {
                        read_all(rows[i].body, piece, told, sizeof(told));
                        assert_string_equal(told, rows[i].told);
                }
        (void)state;
}

static void test_types(void **state)
{
        static const char *const bad[] = { NULL,
                                           "",
                                           "text/plain",
                                           "multipart/form-data",
                                           "multipart/form-data; boundary=",
                                           "multipart/mixed; boundary=x",
                                           "multipart/form-datax; boundary=x" };
        struct cay_multipart m;

        for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                assert_false(cay_multipart_init(&m, bad[i]));
        assert_true(cay_multipart_init(&m, "Multipart/Form-Data; charset=x; boundary=\"q r\"; y=z"));
        assert_string_equal(m.delimiter, "\r\n--q r");
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_bodies), cmocka_unit_test(test_types) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
