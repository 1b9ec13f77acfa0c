/* SPDX-License-Identifier: Apache-2.0 */
/* Change sets: what is in them, in which order, and all that is refused. */
#include "changes_test.h"

static char why[256];

/* Is the set that was made so far refused, and for this reason? */
static void refused(const char *reason)
{
        struct cay_change_set *set = NULL;
        struct cay_error err = { .code = CAY_OK };

        set_end();
        if (cay_change_set_open(set_fd, &set, &err) == 0) {
                cay_change_set_free(set);
                fail_msg("the set was taken; expected: %s", reason);
        }
        snprintf(why, sizeof(why), "%s", err.msg);
        if (!strstr(err.msg, reason))
                fail_msg("'%s' does not say '%s'", err.msg, reason);
        set_begin();
}

static const struct cay_change *at(struct cay_change_set *set, size_t i, const char *path, char status)
{
        const struct cay_change *c;

        assert_true(i < cay_change_set_count(set));
        c = cay_change_set_at(set, i);
        assert_string_equal(c->path, path);
        assert_int_equal(cay_change_status(c), status);
        return c;
}

static void entries_come_in_the_order_of_the_tree(void **state)
{
        struct cay_change_counts counts;
        struct cay_change_set *set;
        const struct cay_change *c;
        char bytes[16] = "";

        (void)state;
        set_begin();
        set_file_of("b", "bee", 3, 04755, NULL);
        set_member(&(struct cay_tar_member){ .type = CAY_TAR_DIRECTORY, .name = "a/", .mode = 0700 });
        set_file_of("a-b", "x", 1, 0600, "f:644:9:1:2:3");
        set_file_of("a/z", "zed", 3, 0644, NULL);
        set_link("a/l", "../../etc");
        set_list("d:755:0:1:1:1\0gone\0f:644:1:1:1:2\0gone/x", 40);
        set_list("l:777:1:1:1:3\0gone/y", 21);
        set_member(&(struct cay_tar_member){
                .type = CAY_TAR_DIRECTORY, .name = "m", .mode = 0700, .base = "d:755:0:1:1:9" });
        set_file_of("t", "", 0, 0644, "l:777:1:1:1:3");
        set = set_open();
        assert_int_equal(cay_change_set_count(set), 10);
        c = at(set, 0, "a", 'A');
        assert_true(c->is_implied && c->type == CAY_CHANGE_DIRECTORY && c->mode == 0700);
        c = at(set, 1, "a/l", 'A');
        assert_string_equal(c->target, "../../etc");
        c = at(set, 2, "a/z", 'A');
        assert_int_equal(cay_change_set_read(set, c, 0, bytes, sizeof(bytes)), 3);
        assert_memory_equal(bytes, "zed", 3);
        assert_int_equal(cay_change_set_read(set, c, 2, bytes, sizeof(bytes)), 1);
        assert_memory_equal(bytes, "d", 1);
        assert_int_equal(cay_change_set_read(set, c, 3, bytes, sizeof(bytes)), 0);
        c = at(set, 3, "a-b", 'M');
        assert_int_equal(c->base.ino, 3);
        c = at(set, 4, "b", 'A');
        assert_int_equal(c->mode, 0755); /* no set-id bit */
        assert_true(at(set, 5, "gone", 'D')->is_implied);
        assert_false(at(set, 6, "gone/x", 'D')->is_implied);
        at(set, 7, "gone/y", 'D');
        assert_false(at(set, 8, "m", 'M')->is_implied);
        at(set, 9, "t", 'T');
        assert_ptr_equal(cay_change_set_find(set, "gone/y"), cay_change_set_at(set, 7));
        assert_null(cay_change_set_find(set, "gone/"));
        assert_null(cay_change_set_find(set, ""));
        cay_change_set_counts(set, &counts);
        assert_int_equal(counts.added, 3);
        assert_int_equal(counts.changed, 3);
        assert_int_equal(counts.removed, 2);
        assert_int_equal(counts.bytes, 7);
        cay_change_set_free(set);
}

static void nothing_is_a_set_too(void **state)
{
        struct cay_change_set *set;

        (void)state;
        set_begin();
        set = set_open();
        assert_int_equal(cay_change_set_count(set), 0);
        assert_null(cay_change_set_find(set, "a"));
        cay_change_set_free(set);
}

static void long_names_and_much_data(void **state)
{
        static char name[CAY_CHANGE_PATH_MAX + 2], big[200000];
        struct cay_change_set *set;
        char *back = malloc(sizeof(big));

        (void)state;
        for (size_t i = 0; i < CAY_CHANGE_PATH_MAX; i++)
                name[i] = i % 200 == 199 ? '/' : 'n';
        for (size_t i = 0; i < sizeof(big); i++)
                big[i] = (char)(i * 7 + i / 251);
        set_begin();
        set_file_of("first", big, sizeof(big), 0644, NULL);
        set_file_of(name, big, sizeof(big), 0644, NULL);
        set = set_open();
        assert_int_equal(cay_change_set_count(set), 2);
        assert_string_equal(cay_change_set_at(set, 1)->path, name);
        for (size_t i = 0; i < 2; i++) {
                assert_int_equal(cay_change_set_read(set, cay_change_set_at(set, i), 0, back, sizeof(big)),
                                 sizeof(big));
                assert_memory_equal(back, big, sizeof(big));
        }
        free(back);
        cay_change_set_free(set);
        set_begin();
        name[CAY_CHANGE_PATH_MAX] = 'n';
        set_file_of(name, "", 0, 0644, NULL);
        refused("name");
}

static void names_that_leave_the_folder_are_refused(void **state)
{
        static const char *const names[] = { "../x", "/etc/passwd", "a/../../x", "..",   ".",
                                             "./a",  "a//b",        "a/.",       "a/..", "//x" };

        (void)state;
        set_begin();
        for (size_t i = 0; i < CAY_COUNT(names); i++) {
                char list[64];
                int n = snprintf(list, sizeof(list), "f:644:1:1:1:1%c%s", 0, names[i]);

                set_file_of(names[i], "x", 1, 0644, NULL);
                refused("not a plain name");
                set_link(names[i], "x");
                refused("not a plain name");
                set_member(&(struct cay_tar_member){ .type = CAY_TAR_DIRECTORY, .name = names[i] });
                refused("not a plain name");
                set_list(list, (size_t)n + 1);
                refused("not a plain name");
        }
        for (const char *c = why; *c; c++)
                assert_true(*c >= ' ' && *c <= '~');
        set_file_of("dir/", "", 0, 0644, NULL); /* a directory in old archives */
        cay_change_set_free(set_open());
}

static void odd_members_are_refused(void **state)
{
        static char list[CAY_CHANGE_LIST_MAX + 1];

        (void)state;
        set_begin();
        set_member(&(struct cay_tar_member){ .type = CAY_TAR_LINK, .name = "a", .link = "b" });
        refused("neither file");
        set_member(&(struct cay_tar_member){ .type = CAY_TAR_FILE, .name = "a", .kind = "opaque" });
        refused("unknown kind");
        set_member(&(struct cay_tar_member){ .type = CAY_TAR_FILE, .name = "a", .kind = CAY_CHANGE_REMOVED });
        refused("an invalid list");
        set_member(&(struct cay_tar_member){
                .type = CAY_TAR_FILE, .name = "a", .size = 3, .kind = CAY_CHANGE_REMOVED, .base = "?" });
        set_data("abc", 3);
        refused("an invalid list");
        set_list(list, sizeof(list));
        refused("an invalid list");
        set_list("f:644:1:1:1:1\0a", 15);
        refused("a truncated list");
        set_list("f:644:1:1:1:1", 14);
        refused("a truncated list");
        set_list("f:644:1:1:1\0a", 14);
        refused("an invalid record of the original");
        set_list("\0a", 3);
        refused("an invalid record of the original");
        set_file_of("a", "", 0, 0644, "f:1");
        refused("an invalid record of the original");
        set_member(&(struct cay_tar_member){ .type = CAY_TAR_SYMLINK, .name = "a" });
        refused("a link without a target");
        set_raw("not an archive, and longer than nothing", 30);
        set_raw(list, 2000);
        refused("no tar archive");
        assert_int_equal(ftruncate(set_fd, 0), 0);
        {
                struct cay_change_set *set = NULL;
                struct cay_error err = { .code = CAY_OK };

                assert_int_equal(cay_change_set_open(set_fd, &set, &err), -1);
                assert_non_null(strstr(err.msg, "empty"));
        }
}

static void what_contradicts_itself_is_refused(void **state)
{
        (void)state;
        set_begin();
        set_file_of("a", "", 0, 0644, NULL);
        set_file_of("a", "", 0, 0644, NULL);
        refused("twice");
        set_file_of("a", "", 0, 0644, "f:644:1:1:1:1");
        set_removed_as("a", "f:644:1:1:1:1");
        refused("twice");
        set_file_of("a", "", 0, 0644, NULL);
        set_file_of("a/b", "", 0, 0644, NULL);
        refused("inside something that is not a directory");
        set_link("a", "/etc");
        set_file_of("a/passwd", "", 0, 0644, NULL);
        refused("inside something that is not a directory");
        set_removed_as("a", "d:755:1:1:1:1");
        set_file_of("a/b", "", 0, 0644, NULL);
        refused("inside something that is not a directory");
        set_file_of("a", "", 0, 0644, "f:644:1:1:1:1");
        set_removed_as("a/b", "f:644:1:1:1:1");
        refused("inside something that was not a directory");
        set_file_of("a", "", 0, 0644, NULL); /* also further down */
        set_file_of("a/b/c", "", 0, 0644, NULL);
        refused("inside something that is not a directory");
        set_member(
                &(struct cay_tar_member){ .type = CAY_TAR_DIRECTORY, .name = "a", .base = "f:644:1:1:1:1" });
        set_file_of("a/b/c", "", 0, 0644, "f:644:1:1:1:1");
        refused("inside something that was not a directory");
        set_file_of("a", "", 0, 0644, "d:755:1:1:1:1"); /* a directory that became a file */
        set_removed_as("a/b", "f:644:1:1:1:1");
        cay_change_set_free(set_open());
}

static void paths_select(void **state)
{
        const char *one[] = { "./d/e/" }, *two[] = { "d", "x" }, *none[] = { "nothing" }, *out[] = { "../d" };
        const char *root[] = { "." };
        struct cay_error err = { .code = CAY_OK };
        struct cay_change_set *set;

        (void)state;
        set_begin();
        set_member(&(struct cay_tar_member){ .type = CAY_TAR_DIRECTORY, .name = "d" });
        set_member(&(struct cay_tar_member){ .type = CAY_TAR_DIRECTORY, .name = "d/e" });
        set_file_of("d/e/f", "", 0, 0644, NULL);
        set_file_of("d/g", "", 0, 0644, NULL);
        set_file_of("d-e", "", 0, 0644, NULL);
        set_file_of("x", "", 0, 0644, NULL);
        set = set_open();
        assert_int_equal(cay_change_set_select(set, one, 1, &err), 0);
        assert_true(cay_change_set_find(set, "d")->is_selected); /* must be made for it */
        assert_true(cay_change_set_find(set, "d/e")->is_selected);
        assert_true(cay_change_set_find(set, "d/e/f")->is_selected);
        assert_false(cay_change_set_find(set, "d/g")->is_selected);
        assert_false(cay_change_set_find(set, "d-e")->is_selected);
        assert_false(cay_change_set_find(set, "x")->is_selected);
        assert_int_equal(cay_change_set_select(set, two, 2, &err), 0);
        assert_true(cay_change_set_find(set, "d/g")->is_selected);
        assert_true(cay_change_set_find(set, "x")->is_selected);
        assert_false(cay_change_set_find(set, "d-e")->is_selected);
        assert_int_equal(cay_change_set_select(set, root, 1, &err), 0);
        assert_true(cay_change_set_find(set, "d-e")->is_selected);
        assert_int_equal(cay_change_set_select(set, none, 1, &err), -1);
        assert_int_equal(err.code, CAY_NOT_FOUND);
        assert_int_equal(cay_change_set_select(set, out, 1, &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
        assert_int_equal(cay_change_set_select(set, NULL, 0, &err), 0);
        assert_true(cay_change_set_find(set, "d-e")->is_selected);
        cay_change_set_free(set);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(entries_come_in_the_order_of_the_tree),
                cmocka_unit_test(nothing_is_a_set_too),
                cmocka_unit_test(long_names_and_much_data),
                cmocka_unit_test(names_that_leave_the_folder_are_refused),
                cmocka_unit_test(odd_members_are_refused),
                cmocka_unit_test(what_contradicts_itself_is_refused),
                cmocka_unit_test(paths_select),
        };

        return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
