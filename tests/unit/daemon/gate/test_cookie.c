/* SPDX-License-Identifier: Apache-2.0 */
/* The page's cookie: its name, and where it is among others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/gate/gate_priv.h"

static void test_name(void **state)
{
        char name[CAY_GATE_COOKIE_NAME];

        cay_gate_cookie_name(name, false, 8888);
        assert_string_equal(name, "cay_session_8888");
        cay_gate_cookie_name(name, true, 65535);
        assert_string_equal(name, "__Host-cay_session_65535");
        (void)state;
}

static void test_find(void **state)
{
        static const struct {
                const char *field;
                int found;
                const char *value;
        } rows[] = {
                { "n=v", 1, "v" },         { "a=b; n=v", 1, "v" },    { "n=v; a=b", 1, "v" },
                { "a=b;n=v;c=d", 1, "v" }, { "  n=v=w ", 1, "v=w " }, { "n=", 1, "" },
                { "n=\"v\"", 1, "\"v\"" }, { ";;; n=v;;", 1, "v" },   { "", 0, NULL },
                { "n", 0, NULL },          { "N=v", 0, NULL },        { "xn=v", 0, NULL },
                { "nn=v", 0, NULL },       { "a=n=v", 0, NULL },      { "a=b, n=v", 0, NULL },
                { "n =v", 0, NULL },       { "n=v; n=w", -1, NULL },  { "n=v; n=v", -1, NULL },
                { "n=; n=v", -1, NULL },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                const char *value = NULL;
                size_t len = 0;

                assert_int_equal(cay_gate_cookie_find(rows[i].field, "n", &value, &len), rows[i].found);
                if (rows[i].found != 1)
                        continue;
                assert_int_equal(len, strlen(rows[i].value));
                assert_memory_equal(value, rows[i].value, len);
        }
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_name),
                cmocka_unit_test(test_find),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
