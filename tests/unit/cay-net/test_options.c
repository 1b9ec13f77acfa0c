/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-net/broker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct net_options o;
static struct cay_error err;

static int read_words(char *a, char *b, char *c)
{
        char *argv[] = { "cay-net", a, b, c, NULL };
        int argc = 1;

        while (argv[argc])
                argc++;
        err = (struct cay_error){ 0 };
        return net_options_read(argc, argv, &o, &err);
}

static void words_are_read(void **state)
{
        assert_int_equal(read_words(NULL, NULL, NULL), 0);
        assert_string_equal(o.resolv_conf, "/etc/resolv.conf");
        assert_false(o.keep);
        assert_int_equal(o.id, 0);
        assert_int_equal(read_words("--keep", "--id", "4242"), 0);
        assert_true(o.keep);
        assert_int_equal(o.id, 4242);
        assert_int_equal(read_words("--resolv-conf", "/x", NULL), 0);
        assert_string_equal(o.resolv_conf, "/x");
}

static void others_are_refused(void **state)
{
        assert_int_equal(read_words("--open", NULL, NULL), -1);
        assert_non_null(strstr(err.msg, "--open"));
        assert_int_equal(read_words("--id", NULL, NULL), -1);
        assert_int_equal(read_words("--id", "0", NULL), -1);
        assert_int_equal(read_words("--id", "root", NULL), -1);
        assert_non_null(strstr(err.msg, "root"));
        assert_int_equal(read_words("--id", "4294967296", NULL), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(words_are_read),
                cmocka_unit_test(others_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
