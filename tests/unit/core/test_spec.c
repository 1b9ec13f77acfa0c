/* SPDX-License-Identifier: Apache-2.0 */
/* Specs that hang together, and those that do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/spec.h"

static struct cay_spec good(void)
{
        struct cay_spec s = {
                .id = "good", .rootfs_fd = -1, .workspace_fd = -1, .limits = cay_limits_default_run()
        };

        return s;
}

static void refused(const struct cay_spec *s, const char *part)
{
        struct cay_error err = { 0 };

        assert_int_equal(cay_spec_check(s, &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
        if (strstr(err.msg, part) == NULL)
                fail_msg("'%s' is not in '%s'", part, err.msg);
}

static void checks(void **state)
{
        struct cay_spec s = good();
        struct cay_error err = { 0 };

        assert_int_equal(cay_spec_check(&s, &err), 0);
        s.template_kind = CAY_TEMPLATE_ROOTFS;
        refused(&s, "needs a root folder");
        s.rootfs_fd = 5;
        assert_int_equal(cay_spec_check(&s, &err), 0);
        s.template_kind = CAY_TEMPLATE_HOST;
        refused(&s, "takes no root folder");
        s = good();
        s.template_kind = (enum cay_template_kind)9;
        refused(&s, "unknown kind");
        s = good();
        s.workspace_rw = true;
        refused(&s, "needs a folder");
        s.workspace_fd = 0;
        s.workspace_cow = true;
        refused(&s, "either writable or copy-on-write");
        s.workspace_rw = false;
        assert_int_equal(cay_spec_check(&s, &err), 0);
        s.workspace_fd = -1;
        refused(&s, "needs a folder");
        s = good();
        s.id[0] = '\0';
        refused(&s, "is not a name");
        memcpy(s.id, "../up", 6);
        refused(&s, "is not a name");
        s = good();
        s.may_skip = 1u << 31;
        refused(&s, "may be skipped");
        s = good();
        s.limits.memory_bytes = 1;
        refused(&s, "memory: '1 byte' is too small");
}

static void templates(void **state)
{
        enum cay_template_kind kind;
        struct cay_error err = { 0 };
        const char *dir = "x";

        assert_int_equal(cay_spec_parse_template("host", &kind, &dir, &err), 0);
        assert_int_equal(kind, CAY_TEMPLATE_HOST);
        assert_null(dir);
        assert_int_equal(cay_spec_parse_template("rootfs:img", &kind, &dir, &err), 0);
        assert_int_equal(kind, CAY_TEMPLATE_ROOTFS);
        assert_string_equal(dir, "img");
        assert_int_equal(cay_spec_parse_template("./img", &kind, &dir, &err), 0);
        assert_string_equal(dir, "./img");
        assert_int_equal(cay_spec_parse_template(".", &kind, &dir, &err), 0);
        assert_int_equal(cay_spec_parse_template("rootfs:", &kind, &dir, &err), -1);
        assert_int_equal(cay_spec_parse_template("", &kind, &dir, &err), -1);
        assert_int_equal(cay_spec_parse_template("hots", &kind, &dir, &err), -1);
        assert_non_null(strstr(err.msg, "'hots' is no template"));
}

static void workspaces(void **state)
{
        static const struct {
                const char *text;
                int len; /* -1: refused */
                enum cay_workspace_mode mode;
        } rows[] = {
                { "dir", 3, CAY_WORKSPACE_RO },       { "dir:ro", 3, CAY_WORKSPACE_RO },
                { "dir:rw", 3, CAY_WORKSPACE_RW },    { "dir:cow", 3, CAY_WORKSPACE_COW },
                { "a:b", 3, CAY_WORKSPACE_RO },       { "a:ro:rw", 4, CAY_WORKSPACE_RW },
                { "a:rw:cow", 4, CAY_WORKSPACE_COW }, { ":rw", -1, CAY_WORKSPACE_RO },
                { ":cow", -1, CAY_WORKSPACE_RO },     { "", -1, CAY_WORKSPACE_RO },
                { "dir:", 4, CAY_WORKSPACE_RO },      { "/a:rwx", 6, CAY_WORKSPACE_RO },
                { "a:cows", 6, CAY_WORKSPACE_RO },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                struct cay_error err = { 0 };
                size_t len = 0;
                enum cay_workspace_mode mode = CAY_WORKSPACE_RO;
                int r = cay_spec_parse_workspace(rows[i].text, &len, &mode, &err);

                assert_int_equal(r, rows[i].len < 0 ? -1 : 0);
                if (r == 0) {
                        assert_int_equal(len, rows[i].len);
                        assert_int_equal(mode, rows[i].mode);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(checks),
                cmocka_unit_test(templates),
                cmocka_unit_test(workspaces),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
