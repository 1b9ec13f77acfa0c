/* SPDX-License-Identifier: Apache-2.0 */
/* /etc/os-release, /etc/subuid and file capabilities, as they are and as they should not be. */
#include "doctor_test.h"

#include <endian.h>
#include <linux/capability.h>

#include "foundation/base/cleanup.h"
#include "cay/doctor/host_text.h"

static void test_os_release(void **state)
{
        static const struct {
                const char *text, *name;
        } rows[] = {
                { "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\n",
                  "Debian GNU/Linux 12 (bookworm)" },
                { "NAME=\"Ubuntu\"\nPRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\n", "Ubuntu 24.04.1 LTS" },
                { "NAME='Arch Linux'\nID=arch", "Arch Linux" },
                { "NAME=Void\n", "Void" },
                { "NAME=\"\"\n", "" },
                { "PRETTY_NAME=\"un\033[31m\"\n", "un?[31m" },
                { "XNAME=no\n#NAME=no\n", "" },
                { "NAME", "" },
                { "", "" },
        };
        char name[40];

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                assert_int_equal(cay_doctor_os_release(rows[i].text, name, sizeof(name)),
                                 rows[i].name[0] != '\0');
                assert_string_equal(name, rows[i].name);
        }
        assert_true(cay_doctor_os_release("NAME=0123456789", name, 5));
        assert_string_equal(name, "0123");
}

static void test_ranges(void **state)
{
        static const struct {
                const char *text;
                uint64_t ids, first;
        } rows[] = {
                { "ada:100000:65536\nbob:165536:65536\n", 65536, 100000 },
                { "bob:165536:65536\n", 0, 0 },
                { "1000:231072:1000", 1000, 231072 },
                { "ada:1:10\nada:500:2000\nada:90:5\n", 2000, 500 },
                { "adax:1:10\nad:1:10\n", 0, 0 },
                { "ada:100000\nada:\nada\n:1:2\n", 0, 0 },
                { "ada:-1:10\nada:1:-10\nada:a:b\nada: 1:2\n", 0, 0 },
                { "ada:1:99999999999\nada:99999999999:1\n", 0, 0 },
                { "ada:18446744073709551616:1\n", 0, 0 },
                { "ada:1:2:3\n", 0, 0 },
                { "\n\n", 0, 0 },
                { "", 0, 0 },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                uint64_t first = 77, ids = cay_doctor_id_ranges(rows[i].text, "ada", 1000, &first);

                if (ids != rows[i].ids || first != rows[i].first)
                        fail_msg("%s: %lu from %lu", rows[i].text, (unsigned long)ids, (unsigned long)first);
        }
}

/* An id without a name owns no line without a name. */
static void test_ranges_nameless(void **state)
{
        uint64_t first;

        assert_int_equal(cay_doctor_id_ranges(":1:2\n", "", 1000, &first), 0);
        assert_int_equal(cay_doctor_id_ranges("1000:1:2\n", "", 1000, &first), 2);
}

/*
 * A range that is named to somebody is nobody else's: neither as uids nor as gids, neither given nor
 * somebody's own id.
 */
static void test_free_range(void **state)
{
        static const struct {
                struct cay_doctor_id_texts texts;
                uint64_t first;
        } rows[] = {
                { { { NULL, NULL }, { NULL, NULL } }, 100000 },
                { { { "", "" }, { "root:x:0:0:root:/root:/bin/sh\n", "root:x:0:\n" } }, 100000 },
                { { { "ada:100000:65536\n", "" }, { NULL, NULL } }, 165536 },
                { { { "", "ada:100000:65536\n" }, { NULL, NULL } }, 165536 },
                { { { "ada:165536:65536\nbob:100000:65536", NULL }, { NULL, NULL } }, 231072 },
                { { { "ada:165535:1\n", NULL }, { NULL, NULL } }, 165536 },
                { { { "ada:165536:1\n", NULL }, { NULL, NULL } }, 100000 },   /* just behind it */
                { { { "ada:1000:99000\n", NULL }, { NULL, NULL } }, 100000 }, /* just before it */
                { { { "ada:1000:99001\n", NULL }, { NULL, NULL } }, 100001 },
                { { { NULL, NULL }, { "far:x:120000:120000::/:/bin/sh\n", NULL } }, 120001 },
                { { { NULL, NULL }, { NULL, "staff:x:120000\n" } }, 120001 },
                { { { "ada:100000\nbob\n:::\nx:y:z\nada:100000:0\n", NULL }, { "a:b\n", NULL } }, 100000 },
                { { { "all:0:4294967295\n", NULL }, { NULL, NULL } }, 0 },
                { { { "all:0:18446744073709551615\nx:18446744073709551615:18446744073709551615", NULL },
                    { NULL, NULL } },
                  0 },
        };

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
                if (cay_doctor_free_range(&rows[i].texts, 65536) != rows[i].first)
                        fail_msg("row %zu: %lu", i,
                                 (unsigned long)cay_doctor_free_range(&rows[i].texts, 65536));
}

static void test_caps(void **state)
{
        struct vfs_cap_data v = { .magic_etc = htole32(VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE) };

        v.data[0].permitted = htole32(1u << CAP_SETUID);
        v.data[1].permitted = htole32(1u << (CAP_BPF - 32));
        assert_true(cay_doctor_file_has_cap(&v, sizeof(v), CAP_SETUID));
        assert_true(cay_doctor_file_has_cap(&v, sizeof(v), CAP_BPF));
        assert_false(cay_doctor_file_has_cap(&v, sizeof(v), CAP_SETGID));
        assert_false(cay_doctor_file_has_cap(&v, sizeof(v) - 1, CAP_SETUID));
        assert_false(cay_doctor_file_has_cap(&v, sizeof(v), 64));
        v.magic_etc = htole32(VFS_CAP_REVISION_3 | VFS_CAP_FLAGS_EFFECTIVE);
        assert_true(cay_doctor_file_has_cap(&v, sizeof(v), CAP_SETUID));
        v.magic_etc = htole32(VFS_CAP_REVISION_2); /* permitted, but newuidmap does not ask for it */
        assert_false(cay_doctor_file_has_cap(&v, sizeof(v), CAP_SETUID));
        v.magic_etc = htole32(VFS_CAP_REVISION_1 | VFS_CAP_FLAGS_EFFECTIVE);
        assert_false(cay_doctor_file_has_cap(&v, sizeof(v), CAP_SETUID));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_os_release), cmocka_unit_test(test_ranges),
                                            cmocka_unit_test(test_ranges_nameless),
                                            cmocka_unit_test(test_free_range), cmocka_unit_test(test_caps) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
