/* SPDX-License-Identifier: Apache-2.0 */
/* Applying change sets to a folder: what comes of it, what is left alone, and what hostile sets can't do. */
#include "changes_test.h"

#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>

#include "cay/changes/apply.h"
#include "cay/changes/tick.h"

static struct cay_folder folder;
static struct cay_change_set *set;
static struct cay_check k;
static struct cay_apply a;
static struct cay_error err;
static int64_t began;
static char told[2048];

static void on_applied(void *ctx, const struct cay_change *c)
{
        size_t n = strlen(told);

        snprintf(told + n, sizeof(told) - n, "%s ", c->path);
}

static void on_conflict(void *ctx, const struct cay_change *c, const char *why)
{
        print_message("conflict: %s: %s\n", c->path, why);
}

static void begin(void)
{
        began = cay_tick_await();
        set_begin();
}

static int apply_as(bool force)
{
        int r;

        cay_check_done(&k);
        cay_folder_forget(&folder);
        told[0] = '\0';
        err = (struct cay_error){ .code = CAY_OK };
        k = (struct cay_check){
                .set = set, .folder = &folder, .began_ns = began, .force = force, .on_conflict = on_conflict
        };
        assert_int_equal(cay_check_run(&k, &err), 0);
        a = (struct cay_apply){ .check = &k, .on_applied = on_applied };
        r = cay_apply_run(&a, &err);
        if (r < 0)
                assert_true(err.code != CAY_OK);
        return r;
}

static void apply(void)
{
        if (apply_as(false) < 0)
                fail_msg("%s (%zu conflicts)", err.msg, k.conflicts);
}

/* No name of ours may be left anywhere. */
static void nothing_of_ours_is_left(void)
{
        shell("test -z \"$(find . -name '.cay-*')\"");
}

static int setup(void **state)
{
        return scratch_setup(state) < 0 ? -1 : (folder_open(&folder), 0);
}

static int teardown(void **state)
{
        cay_check_done(&k);
        cay_folder_done(&folder);
        cay_change_set_free(cay_take(set));
        return scratch_teardown(state);
}

static void all_kinds_of_changes_are_applied(void **state)
{
        static const char binary[] = "\0\1\2\xff\n\0";

        (void)state;
        shell("mkdir f/d f/gone && echo old >f/changed && echo x >f/d/mode && ln -s a f/link && echo 1 "
              ">f/gone/1 && "
              "echo 2 >f/gone/2 && ln -s zz f/gone/l && echo keep >f/kept");
        begin();
        set_file("changed", "new\n", 0644);
        set_file("d/mode", "x\n", 0755);
        set_link("link", "b");
        set_file("fresh", "", 0600);
        set_file_of("binary", binary, sizeof(binary), 0444, NULL);
        set_dir("new", 0750);
        set_dir("new/deep", 0555);
        set_file("new/deep/\xc3\xa4 \n'\"\\", "unicode", 0644);
        set_link("new/up", "../../../etc/passwd");
        set_removed("gone");
        set_removed("gone/1");
        set_removed("gone/2");
        set_removed("gone/l");
        set_reopen(&set);
        apply();
        assert_string_equal(get("f/changed"), "new\n");
        assert_int_equal(mode_of("f/d/mode"), 0755);
        assert_string_equal(link_of("f/link"), "b");
        assert_string_equal(get("f/fresh"), "");
        assert_int_equal(mode_of("f/fresh"), 0600);
        assert_int_equal(mode_of("f/binary"), 0444);
        assert_memory_equal(get("f/binary"), binary, sizeof(binary));
        assert_int_equal(mode_of("f/new"), 0750);
        assert_int_equal(mode_of("f/new/deep"), 0555);
        assert_string_equal(get("f/new/deep/\xc3\xa4 \n'\"\\"), "unicode");
        assert_string_equal(link_of("f/new/up"), "../../../etc/passwd");
        assert_false(is_there("f/gone"));
        assert_string_equal(get("f/kept"), "keep\n");
        assert_int_equal(a.applied, 13);
        nothing_of_ours_is_left();
        /* Once more: all of it is there already. */
        apply();
        assert_int_equal(a.applied, 0);
        assert_int_equal(k.done, 13);
        assert_string_equal(told, "");
}

static void types_change_places(void **state)
{
        (void)state;
        shell("mkdir -p f/dir/sub && echo 1 >f/dir/sub/x && echo f >f/file && ln -s dir f/link && mkdir "
              "f/to-link && "
              "echo 2 >f/to-link/y");
        begin();
        set_file("dir", "a file now", 0644);
        set_removed("dir/sub");
        set_removed("dir/sub/x");
        set_dir("file", 0755);
        set_file("file/inside", "in", 0644);
        set_dir("link", 0755);
        set_file("link/inside", "in", 0644);
        set_link("to-link", "anywhere");
        set_removed("to-link/y");
        set_reopen(&set);
        apply();
        assert_string_equal(get("f/dir"), "a file now");
        assert_string_equal(get("f/file/inside"), "in");
        assert_string_equal(get("f/link/inside"), "in");
        assert_true(S_ISDIR(({
                struct stat st;
                lstat("f/link", &st);
                st.st_mode;
        })));
        assert_string_equal(link_of("f/to-link"), "anywhere");
        nothing_of_ours_is_left();
        apply();
        assert_int_equal(a.applied, 0);
        /* And back between file and link. */
        shell("ln -s x f/l && echo x >f/r");
        begin();
        set_file("l", "file", 0644);
        set_link("r", "link");
        set_reopen(&set);
        apply();
        assert_string_equal(get("f/l"), "file");
        assert_string_equal(link_of("f/r"), "link");
}

static void long_names_are_applied(void **state)
{
        char name[CAY_CHANGE_NAME_MAX + 1], path[2 * CAY_CHANGE_NAME_MAX + 8];

        (void)state;
        memset(name, 'n', sizeof(name));
        name[sizeof(name) - 1] = '\0';
        begin();
        set_dir(name, 0755);
        snprintf(path, sizeof(path), "%s/%s", name, name);
        set_file(path, "long", 0644);
        set_reopen(&set);
        apply();
        snprintf(path, sizeof(path), "f/%s/%s", name, name);
        assert_string_equal(get(path), "long");
}

static void set_id_bits_never_come(void **state)
{
        (void)state;
        shell("mkdir f/sticky && chmod 3777 f/sticky");
        begin();
        set_file("suid", "x", 06755);
        set_dir("sgid", 02755);
        set_dir("sticky", 0755);
        set_reopen(&set);
        apply();
        assert_int_equal(mode_of("f/suid"), 0755);
        assert_int_equal(mode_of("f/sgid"), 0755);
        assert_int_equal(mode_of("f/sticky"), 03755); /* the folder's own bits stay */
}

static void conflicts_leave_everything_alone(void **state)
{
        (void)state;
        shell("echo a >f/a && echo b >f/b");
        begin();
        set_file("a", "new a\n", 0644);
        set_removed("b");
        set_file("c", "new c\n", 0644);
        set_reopen(&set);
        shell("echo mine >f/b");
        assert_int_equal(apply_as(false), -1);
        assert_int_equal(err.code, CAY_CONFLICT);
        assert_int_equal(k.conflicts, 1);
        assert_string_equal(get("f/a"), "a\n");
        assert_string_equal(get("f/b"), "mine\n");
        assert_false(is_there("f/c"));
        assert_int_equal(apply_as(true), 0);
        assert_string_equal(get("f/a"), "new a\n");
        assert_false(is_there("f/b"));
        assert_string_equal(get("f/c"), "new c\n");
}

static void force_makes_what_is_missing(void **state)
{
        (void)state;
        shell("mkdir -p f/x/y && echo a >f/x/y/a && mkdir f/m && echo b >f/m/b");
        begin();
        set_file("x/y/a", "new\n", 0644);
        set_file("x/y/b", "new\n", 0644);
        set_dir("m", 0700);
        set_reopen(&set);
        shell("rm -r f/x f/m");
        assert_int_equal(apply_as(false), -1);
        assert_int_equal(apply_as(true), 0);
        assert_string_equal(get("f/x/y/a"), "new\n");
        assert_string_equal(get("f/x/y/b"), "new\n");
        assert_int_equal(mode_of("f/m"), 0700);
}

static void unknown_things_are_never_removed(void **state)
{
        (void)state;
        shell("mkdir -p f/p/d && echo 1 >f/p/d/1");
        begin();
        set_removed("p");
        set_removed("p/d");
        set_removed("p/d/1");
        set_reopen(&set);
        put("f/p/d/mine", "mine");
        assert_int_equal(apply_as(false), -1);
        assert_true(is_there("f/p/d/1"));
        assert_int_equal(apply_as(true), 0);
        assert_string_equal(get("f/p/d/mine"), "mine");
        assert_false(is_there("f/p/d/1"));
        assert_int_equal(a.left, 2);
}

/* The folder's own links, made by whoever, lead nowhere. */
static void links_out_of_the_folder_are_not_followed(void **state)
{
        (void)state;
        shell("mkdir out f/d && echo SECRET >out/x && echo 1 >f/d/x");
        begin();
        set_file("d/x", "evil", 0644);
        set_file("d/y", "evil", 0644);
        set_reopen(&set);
        shell("rm -r f/d && ln -s ../out f/d");
        assert_int_equal(apply_as(true), -1);
        assert_int_equal(k.conflicts, 2);
        assert_string_equal(get("out/x"), "SECRET\n");
        assert_false(is_there("out/y"));
        /* A link in the place of a file is replaced, not written through. */
        shell("rm f/d && echo 1 >f/plain");
        begin();
        set_file("plain", "new", 0644);
        set_reopen(&set);
        shell("rm f/plain && ln -s ../out/x f/plain");
        assert_int_equal(apply_as(true), 0);
        assert_string_equal(get("out/x"), "SECRET\n");
        assert_string_equal(get("f/plain"), "new");
        assert_string_equal(link_of("f/plain"), "");
}

/*
 * The set makes a link, and then wants to write through it: the reader refuses that; here the link comes from
 * the folder's past.
 */
static void a_link_of_the_set_is_no_way_out(void **state)
{
        (void)state;
        shell("mkdir out");
        begin();
        set_link("l", "../out");
        set_reopen(&set);
        apply();
        begin();
        set_file_of("l/x", "evil", 4, 0644, NULL);
        set_reopen(&set);
        assert_int_equal(apply_as(true), -1);
        assert_false(is_there("out/x"));
}

static void selected_paths_alone_are_applied(void **state)
{
        const char *paths[] = { "d/one" };

        (void)state;
        begin();
        set_dir("d", 0755);
        set_file("d/one", "1", 0644);
        set_file("d/two", "2", 0644);
        set_file("x", "x", 0644);
        set_reopen(&set);
        assert_int_equal(cay_change_set_select(set, paths, 1, &err), 0);
        apply();
        assert_string_equal(get("f/d/one"), "1");
        assert_false(is_there("f/d/two"));
        assert_false(is_there("f/x"));
        assert_int_equal(cay_change_set_select(set, NULL, 0, &err), 0);
        apply();
        assert_int_equal(k.done, 2);
        assert_string_equal(get("f/d/two"), "2");
        assert_string_equal(get("f/x"), "x");
}

/* A disk that fills up in the middle: a small tmpfs in a mount namespace of a child. */
static void a_failure_in_the_middle_leaves_whole_files(void **state)
{
        static char big[256 * 1024];
        pid_t pid;
        int status;

        (void)state;
        memset(big, 'b', sizeof(big));
        pid = fork();
        if (pid == 0) {
                if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
                    mount("t", "f", "tmpfs", 0, "size=512k") < 0)
                        _exit(77);
                cay_folder_done(&folder);
                folder_open(&folder);
                put("f/b", "old");
                begin();
                set_file_of("a", big, sizeof(big), 0644, NULL);
                set_file_of("b", big, sizeof(big), 0644, base_of("b"));
                set_file_of("c", big, sizeof(big), 0644, NULL);
                set_reopen(&set);
                if (apply_as(false) != -1 || err.code != CAY_NO_SPACE || !strstr(err.msg, "'b'"))
                        _exit(1);
                if (a.applied != 1 || strcmp(told, "a ") != 0 || strcmp(get("f/b"), "old") != 0 ||
                    is_there("f/c"))
                        _exit(2);
                if (system("test -z \"$(find f -name '.cay-*')\"") != 0)
                        _exit(3);
                /* With room again it goes on. */
                if (mount("t", "f", "tmpfs", MS_REMOUNT, "size=4m") < 0 || apply_as(false) != 0 ||
                    a.applied != 2)
                        _exit(4);
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (WEXITSTATUS(status) == 77)
                skip();
        assert_int_equal(status, 0);
}

static void owners_are_kept(void **state)
{
        struct stat st;

        (void)state;
        if (geteuid() != 0)
                skip();
        shell("chown 1234:1235 f && echo x >f/theirs && chown 1300:1301 f/theirs && ln -s x f/link && chown "
              "-h 1300:1301 "
              "f/link");
        begin();
        set_file("theirs", "new", 0644);
        set_link("link", "new");
        set_file("fresh", "new", 0644);
        set_dir("dir", 0755);
        set_link("dir/l", "x");
        set_reopen(&set);
        apply();
        assert_int_equal(lstat("f/theirs", &st), 0);
        assert_int_equal(st.st_uid, 1300);
        assert_int_equal(st.st_gid, 1301);
        assert_int_equal(lstat("f/link", &st), 0);
        assert_int_equal(st.st_uid, 1300);
        assert_int_equal(lstat("f/fresh", &st), 0);
        assert_int_equal(st.st_uid, 1234);
        assert_int_equal(lstat("f/dir", &st), 0);
        assert_int_equal(st.st_uid, 1234);
        assert_int_equal(lstat("f/dir/l", &st), 0);
        assert_int_equal(st.st_gid, 1235);
}

/* As an ordinary user, who can't write to what is closed. */
static void closed_directories_are_opened_while_they_must_be(void **state)
{
        pid_t pid;
        int status;

        (void)state;
        if (geteuid() != 0)
                skip();
        shell("mkdir f/ro && echo x >f/ro/x && echo y >f/ro/y && chmod 555 f/ro && chmod 755 . && chown -R "
              "65534:65534 f");
        begin();
        set_dir("ro", 0511);
        set_file("ro/x", "new", 0644);
        set_removed("ro/y");
        set_reopen(&set);
        pid = fork();
        if (pid == 0) {
                if (setgid(65534) < 0 || setuid(65534) < 0)
                        _exit(2);
                if (apply_as(false) == 0)
                        _exit(0);
                dprintf(2, "%s\n", err.msg);
                _exit(1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_string_equal(get("f/ro/x"), "new");
        assert_false(is_there("f/ro/y"));
        assert_int_equal(mode_of("f/ro"), 0511);
}

/* A reader that looks all the time never sees a file that is neither old nor new. */
static void readers_see_old_or_new(void **state)
{
        enum { SIZE = 100000 };
        static char old[SIZE + 1], new[SIZE + 1], seen[SIZE + 2];
        pid_t pid;
        int status, ready[2];
        char byte;

        (void)state;
        memset(old, 'o', SIZE);
        memset(new, 'n', SIZE);
        put("f/x", old);
        assert_int_equal(pipe(ready), 0);
        pid = fork();
        if (pid == 0) {
                alarm(250);
                for (bool first = true;; first = false) {
                        ssize_t n = sys_read_file(AT_FDCWD, "f/x", seen, sizeof(seen));

                        if (n != SIZE || (memcmp(seen, old, SIZE) != 0 && memcmp(seen, new, SIZE) != 0))
                                _exit(1);
                        if (first && write(ready[1], "r", 1) != 1)
                                _exit(3);
                        if (access("stop", F_OK) == 0)
                                _exit(0);
                }
        }
        assert_int_equal(read(ready[0], &byte, 1), 1);
        for (unsigned i = 0; i < 50; i++) {
                begin();
                set_file("x", i % 2 ? old : new, 0644);
                set_reopen(&set);
                apply();
        }
        put("stop", "");
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        close(ready[0]);
        close(ready[1]);
}

#define APPLY_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                APPLY_TEST(all_kinds_of_changes_are_applied),
                APPLY_TEST(types_change_places),
                APPLY_TEST(long_names_are_applied),
                APPLY_TEST(set_id_bits_never_come),
                APPLY_TEST(conflicts_leave_everything_alone),
                APPLY_TEST(force_makes_what_is_missing),
                APPLY_TEST(unknown_things_are_never_removed),
                APPLY_TEST(links_out_of_the_folder_are_not_followed),
                APPLY_TEST(a_link_of_the_set_is_no_way_out),
                APPLY_TEST(selected_paths_alone_are_applied),
                APPLY_TEST(a_failure_in_the_middle_leaves_whole_files),
                APPLY_TEST(owners_are_kept),
                APPLY_TEST(closed_directories_are_opened_while_they_must_be),
                APPLY_TEST(readers_see_old_or_new),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
