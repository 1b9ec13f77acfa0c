/* SPDX-License-Identifier: Apache-2.0 */
/* Conflicts: what somebody else changed in the folder is found, and nothing else. */
#include "changes_test.h"

#include "cay/changes/check.h"
#include "cay/changes/tick.h"

static struct cay_folder folder;
static struct cay_change_set *set;
static struct cay_check k;
static int64_t began;
static char reasons[1024];

static void on_conflict(void *ctx, const struct cay_change *c, const char *why)
{
        size_t n = strlen(reasons);

        snprintf(reasons + n, sizeof(reasons) - n, "%s: %s\n", c->path, why);
}

/* The folder as it is now is what the run began from. */
static void begin(void)
{
        began = cay_tick_await();
        set_begin();
}

static void run(bool force)
{
        struct cay_error err = { .code = CAY_OK };

        cay_check_done(&k);
        reasons[0] = '\0';
        cay_folder_forget(&folder);
        k = (struct cay_check){
                .set = set, .folder = &folder, .began_ns = began, .force = force, .on_conflict = on_conflict
        };
        assert_int_equal(cay_check_run(&k, &err), 0);
}

static enum cay_verdict verdict(const char *path)
{
        const struct cay_change *c = cay_change_set_find(set, path);

        assert_non_null(c);
        return k.verdicts[c - cay_change_set_at(set, 0)];
}

static void conflicts_with(const char *path, const char *why, bool can_force)
{
        run(false);
        assert_int_equal(k.conflicts, 1);
        assert_int_equal(verdict(path), can_force ? CAY_VERDICT_CONFLICT : CAY_VERDICT_STUCK);
        if (!strstr(reasons, why))
                fail_msg("'%s' does not say '%s'", reasons, why);
        run(true);
        assert_int_equal(k.conflicts, can_force ? 0 : 1);
}

static int setup(void **state)
{
        if (scratch_setup(state) < 0)
                return -1;
        shell("mkdir f/d && echo old >f/file && ln -s old f/link && echo one >f/d/one && echo two >f/d/two");
        folder_open(&folder);
        return 0;
}

static int teardown(void **state)
{
        cay_check_done(&k);
        cay_folder_done(&folder);
        cay_change_set_free(cay_take(set));
        return scratch_teardown(state);
}

static void an_untouched_folder_has_none(void **state)
{
        (void)state;
        begin();
        set_file("file", "new\n", 0644);
        set_link("link", "new");
        set_file("fresh", "new\n", 0644);
        set_dir("dir", 0755);
        set_file("dir/x", "new\n", 0644);
        set_removed("d");
        set_removed("d/one");
        set_removed("d/two");
        set_reopen(&set);
        run(false);
        assert_int_equal(k.conflicts, 0);
        assert_int_equal(k.ready, 8);
        assert_int_equal(verdict("d"), CAY_VERDICT_READY);
}

static void what_is_there_already_is_done(void **state)
{
        (void)state;
        begin();
        set_file("file", "new\n", 0644);
        set_link("link", "new");
        set_file("fresh", "new\n", 0644);
        set_dir("dir", 0750);
        set_removed("d/one");
        set_reopen(&set);
        shell("echo new >f/file && rm f/link && ln -s new f/link && echo new >f/fresh && mkdir f/dir && rm "
              "f/d/one");
        run(false);
        assert_int_equal(k.conflicts, 0);
        assert_int_equal(k.ready, 0);
        assert_int_equal(k.done, 5); /* a directory that both have made is no quarrel */
}

static void changed_files_conflict(void **state)
{
        (void)state;
        begin();
        set_file("file", "new\n", 0644);
        set_reopen(&set);
        shell("echo bad >f/file"); /* as long as before */
        conflicts_with("file", "changed in the folder since the run", true);
}

static void a_file_with_its_old_times_conflicts_too(void **state)
{
        (void)state;
        shell("touch -d '2020-01-01' f/file");
        begin();
        set_file("file", "new\n", 0644);
        set_reopen(&set);
        shell("echo bad >f/file && touch -d '2020-01-01' f/file");
        conflicts_with("file", "changed in the folder since the run", true);
}

static void modes_count(void **state)
{
        (void)state;
        begin();
        set_file("file", "new\n", 0644);
        set_reopen(&set);
        shell("chmod 600 f/file");
        conflicts_with("file", "changed in the folder since the run", true);
}

/* The record was made when the run ended; what happened before is told by the time alone. */
static void changes_during_the_run_conflict(void **state)
{
        (void)state;
        begin();
        shell("echo mid >f/file");
        set_file("file", "new\n", 0644);
        set_reopen(&set);
        conflicts_with("file", "while the run went on", true);
}

static void appeared_and_vanished(void **state)
{
        (void)state;
        begin();
        set_file("fresh", "new\n", 0644);
        set_reopen(&set);
        put("f/fresh", "mine");
        conflicts_with("fresh", "was not when the run ended", true);
        begin();
        set_file("file", "new\n", 0644);
        set_reopen(&set);
        shell("rm f/file");
        conflicts_with("file", "removed from the folder", true);
        begin();
        set_file("d/three", "new\n", 0644);
        set_reopen(&set);
        shell("rm -r f/d");
        conflicts_with("d/three", "its directory was removed", true);
}

static void other_types_conflict(void **state)
{
        (void)state;
        begin();
        set_file("file", "new\n", 0644);
        set_reopen(&set);
        shell("rm f/file && ln -s x f/file");
        conflicts_with("file", "something else", true);
        shell("rm f/file && mkdir f/file");
        conflicts_with("file", "something else", false); /* a directory is never overwritten */
}

static void directories_with_more_in_them_stay(void **state)
{
        (void)state;
        begin();
        set_removed("d");
        set_removed("d/one");
        set_removed("d/two");
        set_reopen(&set);
        put("f/d/mine", "x");
        run(false);
        assert_int_equal(k.conflicts, 1);
        assert_non_null(strstr(reasons, "holds 'mine'"));
        run(true);
        assert_int_equal(k.conflicts, 0);
        assert_int_equal(verdict("d"), CAY_VERDICT_LEFT);
        assert_int_equal(verdict("d/one"), CAY_VERDICT_READY);
        begin();
        set_file("d", "now a file", 0644);
        set_removed("d/one");
        set_removed("d/two");
        set_removed("d/mine");
        set_reopen(&set);
        run(false);
        assert_int_equal(k.conflicts, 0);
        put("f/d/later", "x");
        conflicts_with("d", "holds 'later'", false);
}

static void links_above_are_not_followed(void **state)
{
        (void)state;
        begin();
        set_file("d/one", "new\n", 0644);
        set_reopen(&set);
        shell("mv f/d f/was && ln -s was f/d");
        conflicts_with("d/one", "symbolic link", false);
        shell("rm f/d && echo x >f/d");
        conflicts_with("d/one", "no directory", false);
}

static void what_was_removed_may_be_gone_with_its_directory(void **state)
{
        (void)state;
        begin();
        set_link("d", "was");
        set_removed("d/one");
        set_removed("d/two");
        set_reopen(&set);
        shell("rm -r f/d && ln -s was f/d");
        run(false);
        assert_int_equal(k.conflicts, 0);
        assert_int_equal(k.done, 3);
}

static void a_base_that_could_not_be_seen_conflicts(void **state)
{
        (void)state;
        begin();
        set_file_of("file", "new\n", 4, 0644, "?");
        set_reopen(&set);
        conflicts_with("file", "could not be seen", true);
}

static void directory_modes(void **state)
{
        (void)state;
        begin();
        set_dir("d", 0700);
        set_reopen(&set);
        put("f/d/more", "x"); /* changes its times, not its mode */
        run(false);
        assert_int_equal(k.conflicts, 0);
        assert_int_equal(verdict("d"), CAY_VERDICT_READY);
        shell("chmod 750 f/d");
        conflicts_with("d", "changed in the folder", true);
        shell("chmod 700 f/d");
        run(false);
        assert_int_equal(verdict("d"), CAY_VERDICT_DONE);
}

static void unselected_entries_do_not_count(void **state)
{
        const char *paths[] = { "link" };
        struct cay_error err = { .code = CAY_OK };

        (void)state;
        begin();
        set_file("file", "new\n", 0644);
        set_link("link", "new");
        set_reopen(&set);
        shell("echo bad >f/file");
        run(false);
        assert_int_equal(k.conflicts, 1);
        assert_int_equal(cay_change_set_select(set, paths, 1, &err), 0);
        run(false);
        assert_int_equal(k.conflicts, 0);
        assert_int_equal(k.ready, 1);
        assert_int_equal(verdict("file"), CAY_VERDICT_NONE);
}

static void closed_directories_are_told_beforehand(void **state)
{
        pid_t pid;
        int status;

        (void)state;
        if (geteuid() != 0)
                skip();
        shell("chmod 755 . f && chown -R 65534:65534 f && chmod 555 f/d");
        begin();
        set_file("d/one", "new\n", 0644);
        set_reopen(&set);
        pid = fork();
        if (pid == 0) {
                struct cay_error err = { .code = CAY_OK };

                if (setgid(65534) < 0 || setuid(65534) < 0)
                        _exit(2);
                k = (struct cay_check){
                        .set = set, .folder = &folder, .began_ns = began, .on_conflict = on_conflict
                };
                if (cay_check_run(&k, &err) < 0 || k.conflicts != 1 || !strstr(reasons, "may not write"))
                        _exit(1);
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

#define CHECK_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                CHECK_TEST(an_untouched_folder_has_none),
                CHECK_TEST(what_is_there_already_is_done),
                CHECK_TEST(changed_files_conflict),
                CHECK_TEST(a_file_with_its_old_times_conflicts_too),
                CHECK_TEST(modes_count),
                CHECK_TEST(changes_during_the_run_conflict),
                CHECK_TEST(appeared_and_vanished),
                CHECK_TEST(other_types_conflict),
                CHECK_TEST(directories_with_more_in_them_stay),
                CHECK_TEST(links_above_are_not_followed),
                CHECK_TEST(what_was_removed_may_be_gone_with_its_directory),
                CHECK_TEST(a_base_that_could_not_be_seen_conflicts),
                CHECK_TEST(directory_modes),
                CHECK_TEST(unselected_entries_do_not_count),
                CHECK_TEST(closed_directories_are_told_beforehand),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
