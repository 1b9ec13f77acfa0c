/* SPDX-License-Identifier: Apache-2.0 */
/* Specs that hang together, and those that do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/model/engine_caps.h"
#include "domain/model/spec.h"

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

/* What not every engine can do, the others refuse with the same words. */
static void plain_engines(void **state)
{
        struct cay_spec s = good();
        struct cay_error err = { 0 };

        assert_int_equal(cay_spec_check_caps(&s, "native", 0, &err), 0);
        s.options.no_init = true;
        assert_int_equal(cay_spec_check(&s, &err), 0);
        assert_int_equal(cay_spec_check_caps(&s, "native", 0, &err), -1);
        assert_int_equal(err.code, CAY_UNSUPPORTED);
        assert_non_null(strstr(err.msg, "native engine lacks the capability 'no_init'"));
        assert_int_equal(cay_spec_check_caps(&s, "native", CAY_ENGINE_CAN_NO_INIT, &err), 0);
        s.keep = true;
        refused(&s, "keeps nothing");
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

static void ports(void **state)
{
        static const struct {
                const char *text;
                unsigned inside, host; /* 0: refused */
        } rows[] = {
                { "80", 80, 0 },      { "3000:80", 80, 3000 }, { "1024:65535", 65535, 1024 },
                { "0", 0, 0 },        { "65536", 0, 0 },       { "1023:80", 0, 0 },
                { ":80", 0, 0 },      { "3000:", 0, 0 },       { "", 0, 0 },
                { "1:2:3", 0, 0 },    { "80/tcp", 0, 0 },      { "-1", 0, 0 },
                { "99999999", 0, 0 }, { "99999999:80", 0, 0 }, { "0:80", 0, 0 },
                { " 80", 0, 0 },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                struct cay_error err = { 0 };
                struct cay_spec_port p;
                int r = cay_spec_parse_port(rows[i].text, &p, &err);

                assert_int_equal(r, rows[i].inside > 0 ? 0 : -1);
                assert_int_equal(err.code, rows[i].inside > 0 ? CAY_OK : CAY_INVALID);
                if (r == 0) {
                        assert_int_equal(p.inside, rows[i].inside);
                        assert_int_equal(p.host, rows[i].host);
                }
        }
}

static void volumes(void **state)
{
        static const char *const bad[] = { "",         "data",    "data:",        "data:rel",
                                           ":/x",      "Data:/x", "-a:/x",        "data:/x:rx",
                                           "data:/x:", "../a:/x", "data:/x:ro:rw" };
        char longest[CAY_NAME_MAX + CAY_SPEC_TARGET_MAX + 8];
        struct cay_spec_volume_text v;
        struct cay_error err = { 0 };

        assert_int_equal(cay_spec_parse_volume("data:/x/y", &v, &err), 0);
        assert_string_equal(v.name, "data");
        assert_string_equal(v.target, "/x/y");
        assert_false(v.read_only);
        assert_int_equal(cay_spec_parse_volume("data:/x:ro", &v, &err), 0);
        assert_string_equal(v.target, "/x");
        assert_true(v.read_only);
        assert_int_equal(cay_spec_parse_volume("data:/x:rw", &v, &err), 0);
        assert_false(v.read_only);
        for (unsigned i = 0; i < CAY_COUNT(bad); i++) {
                err = (struct cay_error){ 0 };
                assert_int_equal(cay_spec_parse_volume(bad[i], &v, &err), -1);
                assert_int_equal(err.code, CAY_INVALID);
        }
        memset(longest, 'a', sizeof(longest));
        memcpy(longest + CAY_NAME_MAX, ":/", 2);
        longest[CAY_NAME_MAX + 1 + CAY_SPEC_TARGET_MAX] = '\0';
        assert_int_equal(cay_spec_parse_volume(longest, &v, &err), 0);
        assert_int_equal(strlen(v.target), CAY_SPEC_TARGET_MAX);
        memcpy(longest + CAY_NAME_MAX + 1 + CAY_SPEC_TARGET_MAX, "a", 2);
        assert_int_equal(cay_spec_parse_volume(longest, &v, &err), -1);
        memset(longest, 'a', CAY_NAME_MAX + 1);
        memcpy(longest + CAY_NAME_MAX + 1, ":/x", 4);
        assert_int_equal(cay_spec_parse_volume(longest, &v, &err), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(checks),     cmocka_unit_test(plain_engines), cmocka_unit_test(templates),
                cmocka_unit_test(workspaces), cmocka_unit_test(ports),         cmocka_unit_test(volumes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
