/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a member: names, modes, types, limits, without a file in sight. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cay-init/archive_plan.h"

static struct fake {
        struct cay_archive_actions actions;
        size_t len;
        char text[4096];
} done;

static int note(char kind, const char *path, const char *more, unsigned mode)
{
        done.len += (size_t)snprintf(done.text + done.len, sizeof(done.text) - done.len, "%c:%.60s:%.60s:%o|",
                                     kind, path, more, mode);
        return 0;
}

static int on_directory(struct cay_archive_actions *a, const char *path, const struct cay_tar_member *m,
                        struct cay_error *err)
{
        return note('d', path, "", m->mode);
}

static int on_file_begin(struct cay_archive_actions *a, const char *path, const struct cay_tar_member *m,
                         struct cay_error *err)
{
        return note('f', path, "", m->mode);
}

static int on_file_data(struct cay_archive_actions *a, const void *bytes, size_t len, struct cay_error *err)
{
        return 0;
}

static int on_file_hole(struct cay_archive_actions *a, uint64_t len, struct cay_error *err)
{
        return 0;
}

static int on_file_end(struct cay_archive_actions *a, struct cay_error *err)
{
        return 0;
}

static int on_symlink(struct cay_archive_actions *a, const char *path, const struct cay_tar_member *m,
                      struct cay_error *err)
{
        return note('l', path, m->link, m->mode);
}

static int on_link(struct cay_archive_actions *a, const char *path, const char *target, struct cay_error *err)
{
        return note('h', path, target, 0);
}

static const struct cay_archive_action_ops ops = { on_directory, on_file_begin, on_file_data, on_file_hole,
                                                   on_file_end,  on_symlink,    on_link };

static struct cay_archive_plan plan;
static struct cay_error err;

static void begin(uint64_t max_bytes, uint64_t max_entries)
{
        done.actions.ops = &ops;
        done.len = 0;
        done.text[0] = '\0';
        err = (struct cay_error){ .code = CAY_OK };
        cay_archive_plan_init(&plan, &done.actions, max_bytes, max_entries);
}

static int member(enum cay_tar_type type, const char *name, const char *link, uint32_t mode, uint64_t size)
{
        struct cay_tar_member m = { .type = type, .name = name, .link = link, .mode = mode, .size = size };

        return plan.sink.ops->member(&plan.sink, &m, &err);
}

static void names_are_made_plain(void **state)
{
        static const struct {
                const char *name, *clean;
        } rows[] = {
                { "a", "a" },
                { "a/b", "a/b" },
                { "./a", "a" },
                { "a/", "a" },
                { "a//b///c/", "a/b/c" },
                { "./././a/./b", "a/b" },
                { ".", "" },
                { "./", "" },
                { "...", "..." },
                { "..a/b..", "..a/b.." },
                { "a\nb", "a\nb" },
                { "\xff", "\xff" },
        };
        static const char *const bad[] = { "",     "/",      "/a",      "//a",    "..",          "../a",
                                           "a/..", "a/../b", "a/..//b", "./../a", "a/b/../../.." };
        char clean[CAY_TAR_NAME_MAX + 1];
        const char *why;

        (void)state;
        for (size_t i = 0; i < CAY_COUNT(rows); i++) {
                assert_int_equal(cay_archive_path_clean(rows[i].name, clean, &why), strlen(rows[i].clean));
                assert_string_equal(clean, rows[i].clean);
        }
        for (size_t i = 0; i < CAY_COUNT(bad); i++)
                assert_int_equal(cay_archive_path_clean(bad[i], clean, &why), -1);
}

static void lengths_and_depths_end(void **state)
{
        static char name[4 * CAY_TAR_NAME_MAX], clean[CAY_TAR_NAME_MAX + 1];
        const char *why;

        (void)state;
        memset(name, 'n', 255);
        name[255] = '\0';
        assert_int_equal(cay_archive_path_clean(name, clean, &why), 255);
        memset(name, 'n', 256);
        name[256] = '\0';
        assert_int_equal(cay_archive_path_clean(name, clean, &why), -1);
        for (unsigned i = 0; i < CAY_ARCHIVE_DEPTH_MAX; i++)
                memcpy(name + 2 * i, "d/", 3);
        assert_int_equal(cay_archive_path_clean(name, clean, &why), 2 * CAY_ARCHIVE_DEPTH_MAX - 1);
        memcpy(name + 2 * CAY_ARCHIVE_DEPTH_MAX, "d/", 3);
        assert_int_equal(cay_archive_path_clean(name, clean, &why), -1);
        name[2 * CAY_TAR_NAME_MAX] = '\0';
        for (unsigned i = 0; i < 2 * CAY_TAR_NAME_MAX; i++)
                name[i] = i % 200 == 199 ? '/' : 'n';
        assert_int_equal(cay_archive_path_clean(name, clean, &why), -1);
}

static void modes_lose_what_they_should_not_have(void **state)
{
        (void)state;
        begin(0, 0);
        assert_int_equal(member(CAY_TAR_FILE, "a", "", 07777, 0), 0);
        assert_int_equal(member(CAY_TAR_DIRECTORY, "./b/", "", 06755, 0), 0);
        assert_int_equal(member(CAY_TAR_FILE, "c", "", 0100644, 0), 0);
        assert_string_equal(done.text, "f:a::777|d:b::755|f:c::644|");
}

static void types_become_actions_or_refusals(void **state)
{
        (void)state;
        begin(0, 0);
        assert_int_equal(member(CAY_TAR_SYMLINK, "l", "/etc/passwd", 0777, 0), 0);
        assert_int_equal(member(CAY_TAR_LINK, "h", "./a//b", 0644, 0), 0);
        assert_int_equal(member(CAY_TAR_DIRECTORY, "./", "", 0700, 0), 0);
        assert_string_equal(done.text, "l:l:/etc/passwd:777|h:h:a/b:0|");

        begin(0, 0);
        assert_int_equal(member(CAY_TAR_DEVICE, "dev\x7f/null", "", 0666, 0), -1);
        assert_int_equal(err.code, CAY_DENIED);
        assert_string_equal(err.msg, "member 'dev%7F/null': devices and FIFOs are not unpacked");
        assert_int_equal(member(CAY_TAR_FIFO, "fifo", "", 0666, 0), -1);
        assert_int_equal(member(CAY_TAR_FILE, "../x", "", 0666, 0), -1);
        assert_int_equal(err.code, CAY_DENIED);
        assert_int_equal(member(CAY_TAR_FILE, "/etc/x", "", 0666, 0), -1);
        assert_int_equal(member(CAY_TAR_FILE, "./", "", 0666, 0), -1);
        assert_int_equal(member(CAY_TAR_SYMLINK, ".", "x", 0666, 0), -1);
        assert_int_equal(member(CAY_TAR_SYMLINK, "l", "", 0666, 0), -1);
        assert_int_equal(member(CAY_TAR_LINK, "h", "../../etc/passwd", 0666, 0), -1);
        assert_int_equal(member(CAY_TAR_LINK, "h", "/etc/passwd", 0666, 0), -1);
        assert_int_equal(member(CAY_TAR_LINK, "h", "", 0666, 0), -1);
        assert_int_equal(member(CAY_TAR_LINK, "h", ".", 0666, 0), -1);
        assert_string_equal(done.text, "");
}

static void limits_are_counted_before_anything_is_made(void **state)
{
        (void)state;
        begin(100, 3);
        assert_int_equal(member(CAY_TAR_FILE, "a", "", 0644, 60), 0);
        assert_int_equal(member(CAY_TAR_FILE, "b", "", 0644, 41), -1);
        assert_int_equal(err.code, CAY_LIMIT);
        assert_int_equal(member(CAY_TAR_FILE, "b", "", 0644, UINT64_C(1) << 62), -1);
        assert_int_equal(member(CAY_TAR_FILE, "b", "", 0644, 40), 0);
        assert_int_equal(member(CAY_TAR_FILE, "c", "", 0644, 0), 0);
        assert_int_equal(member(CAY_TAR_DIRECTORY, "d", "", 0755, 0), -1);
        assert_int_equal(err.code, CAY_LIMIT);
        assert_string_equal(done.text, "f:a::644|f:b::644|f:c::644|");
        assert_int_equal(plan.bytes, 100);
        assert_int_equal(plan.entries, 3);

        /* without a limit, sizes still don't overflow the sum */
        begin(0, 0);
        for (unsigned i = 0; i < 3; i++)
                assert_int_equal(member(CAY_TAR_FILE, "a", "", 0644, UINT64_C(1) << 62), 0);
        assert_int_equal(member(CAY_TAR_FILE, "a", "", 0644, UINT64_C(1) << 62), -1);
        assert_int_equal(plan.max_entries, CAY_ARCHIVE_ENTRIES_MAX);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(names_are_made_plain),
                cmocka_unit_test(lengths_and_depths_end),
                cmocka_unit_test(modes_lose_what_they_should_not_have),
                cmocka_unit_test(types_become_actions_or_refusals),
                cmocka_unit_test(limits_are_counted_before_anything_is_made),
        };

        return cmocka_run_group_tests_name("init/archive_plan", tests, NULL, NULL);
}
