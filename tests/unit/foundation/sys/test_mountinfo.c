/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of mountinfo as the kernel writes them, and as nobody should. */
#include "sys_test.h"

#include "foundation/sys/mountinfo.h"

static void test_fields(void **state)
{
        const char *at = "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 shared:2 - ext3 /dev/root "
                         "rw,errors=continue\n"
                         "37 35 0:1 / /proc rw - proc proc rw";
        struct sys_mountinfo m;

        assert_true(sys_mountinfo_next(&at, &m));
        assert_true(sys_mountinfo_field_is(m.root, m.root_len, "/mnt1"));
        assert_true(sys_mountinfo_field_is(m.point, m.point_len, "/mnt\\0402"));
        assert_true(sys_mountinfo_field_is(m.type, m.type_len, "ext3"));
        assert_true(sys_mountinfo_field_is(m.options, m.options_len, "rw,errors=continue"));
        assert_true(sys_mountinfo_next(&at, &m));
        assert_true(sys_mountinfo_field_is(m.point, m.point_len, "/proc"));
        assert_true(sys_mountinfo_field_is(m.options, m.options_len, "rw"));
        assert_false(sys_mountinfo_next(&at, &m));
        assert_false(sys_mountinfo_next(&at, &m));
}

/* A cut line, a line without its second half, empty lines: passed over, never read beyond. */
static void test_odd(void **state)
{
        static const char *const texts[] = { "",
                                             "\n",
                                             "\n\n",
                                             "36 35 98:0 /",
                                             "36 35 98:0 / / rw - ext4",
                                             "36 - ext4 x rw",
                                             " - ",
                                             "1 2 3 4 5 6 -",
                                             "36 35 0:1 / / rw -\n ext4 a b" };
        struct sys_mountinfo m;

        for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
                const char *at = texts[i];

                assert_false(sys_mountinfo_next(&at, &m));
                assert_int_equal(*at, '\0');
        }
        const char *at = "broken\n\n36 35 98:0 / /x rw - ext4 a b\n";
        assert_true(sys_mountinfo_next(&at, &m));
        assert_true(sys_mountinfo_field_is(m.point, m.point_len, "/x"));
}

static void test_root(void **state)
{
        char text[SYS_MOUNTINFO_MAX];

        assert_true(sys_mountinfo_has_root(
                "5 4 0:1 / /proc rw - proc proc rw\n4 1 8:1 / / rw - ext4 /dev/sda rw\n"));
        assert_false(sys_mountinfo_has_root("5 4 0:1 / /proc rw - proc proc rw\n"));
        sys_mountinfo_read(text, sizeof(text));
        assert_true(sys_mountinfo_has_root(text));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_fields), cmocka_unit_test(test_odd),
                                            cmocka_unit_test(test_root) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
