/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CHANGES: the upper directory of an overlay as a change set. First with directories that only look like one;
 * then with a real overlay whose workspace is changed at random, where applying the set to the base must give
 * what the workspace was.
 */
#include "test_files.h"

#include <sched.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "cay/changes/apply.h"
#include "cay/changes/tick.h"

static struct cay_worker_result res;
static int set_fd = -1;
static struct cay_change_set *set;
static uint64_t max_bytes, max_entries;

/* Runs the worker over u (upper) and b (base). */
static enum cay_code collect(void)
{
        struct cay_box_open open_msg = { .kind = CAY_BOX_CHANGES,
                                         .file = { .max_bytes = max_bytes, .max_entries = max_entries } };
        struct cay_worker_request req = { .open = &open_msg, .path = "", .path2 = "", .in_fd = -1 };

        if (set_fd >= 0)
                close(set_fd);
        set_fd = memfd_create("set", MFD_CLOEXEC);
        req.out_fd = set_fd;
        req.changes_fd = open("u", O_PATH | O_DIRECTORY | O_CLOEXEC);
        req.base_fd = open("b", O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(req.changes_fd >= 0 && req.base_fd >= 0);
        memset(&res, 0, sizeof(res));
        cay_changes_out(&req, &res);
        close(req.changes_fd);
        close(req.base_fd);
        return (enum cay_code)res.code;
}

/* The set, read back. */
static void collect_and_read(void)
{
        struct cay_error err = { .code = CAY_OK };

        cay_change_set_free(cay_take(set));
        if (collect() != CAY_OK)
                fail_msg("%s", res.msg);
        assert_int_equal(lseek(set_fd, 0, SEEK_END), res.bytes);
        if (cay_change_set_open(set_fd, &set, &err) < 0)
                fail_msg("%s", err.msg);
        assert_int_equal(cay_change_set_count(set), res.entries);
}

/* The entries as "A path, D path": all of them. */
static void has_entries(const char *expected)
{
        char text[2048] = "";
        size_t n = 0;

        collect_and_read();
        for (size_t i = 0; i < cay_change_set_count(set); i++) {
                const struct cay_change *c = cay_change_set_at(set, i);

                n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%c %s", i ? ", " : "",
                                      cay_change_status(c), c->path);
        }
        assert_string_equal(text, expected);
}

static void whiteout(const char *path)
{
        assert_int_equal(mknod(path, S_IFCHR | 0600, makedev(0, 0)), 0);
}

static void mark(const char *path, const char *name, const char *value)
{
        if (setxattr(path, name, value, strlen(value), 0) < 0) {
                assert_int_equal(errno, EOPNOTSUPP); /* this file system has no such attributes */
                skip();
        }
}

static int setup(void **state)
{
        max_bytes = max_entries = 0;
        if (scratch_setup(state) < 0)
                return -1;
        return mkdir("u", 0755) == 0 && mkdir("b", 0755) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
        cay_change_set_free(cay_take(set));
        if (set_fd >= 0)
                close(cay_take_fd(set_fd));
        return scratch_teardown(state);
}

static void nothing_changed(void **state)
{
        (void)state;
        shell("mkdir b/d && echo x >b/d/x");
        has_entries("");
        assert_int_equal(res.bytes, 1024);
        /* Copied up without being changed: opened for writing, or there because of what is in it. */
        shell("cp -a b/d u/ && touch u/d/x");
        has_entries("");
}

static void files_links_and_directories(void **state)
{
        const struct cay_change *c;
        struct stat st;
        char bytes[8];

        (void)state;
        shell("mkdir b/d && echo old >b/d/file && ln -s a b/link && echo 1 >b/mode && chmod 644 b/mode && ln "
              "-s s b/samelink");
        shell("mkdir -p u/d u/new/deep && echo new >u/d/file && ln -s b u/link && echo 1 >u/mode && chmod "
              "755 u/mode && "
              "printf deep >u/new/deep/x && ln -s s u/samelink && ln -s /etc/passwd u/out");
        has_entries("M d/file, M link, M mode, A new, A new/deep, A new/deep/x, A out");
        c = cay_change_set_find(set, "d/file");
        assert_int_equal(lstat("b/d/file", &st), 0);
        assert_int_equal(c->base.ino, st.st_ino);
        assert_int_equal(c->base.size, 4);
        assert_int_equal(cay_change_set_read(set, c, 0, bytes, sizeof(bytes)), 4);
        assert_memory_equal(bytes, "new\n", 4);
        assert_int_equal(cay_change_set_find(set, "mode")->mode, 0755);
        assert_string_equal(cay_change_set_find(set, "out")->target, "/etc/passwd");
        assert_int_equal(cay_change_set_find(set, "new/deep")->mode, 0755);
}

static void removed_things_are_told_with_all_that_was_in_them(void **state)
{
        (void)state;
        shell("mkdir -p b/d/e/f && echo 1 >b/d/e/f/x && echo 2 >b/d/y && ln -s z b/d/l && echo 3 >b/file");
        whiteout("u/d");
        whiteout("u/file");
        whiteout("u/never");
        has_entries("D d, D d/e, D d/e/f, D d/e/f/x, D d/l, D d/y, D file");
        assert_int_equal(cay_change_set_find(set, "d/l")->base.type, CAY_CHANGE_SYMLINK);
}

static void types_change_places(void **state)
{
        (void)state;
        shell("mkdir -p b/d/e && echo 1 >b/d/e/x && echo 2 >b/f && ln -s d b/l && mkdir b/tolink && echo 3 "
              ">b/tolink/y");
        shell("echo file >u/d && mkdir u/f u/l && echo in >u/f/in && echo in >u/l/e && ln -s x u/tolink");
        /* l was a link to d, which has an "e": that is no base of l/e. */
        has_entries("T d, D d/e, D d/e/x, T f, A f/in, T l, A l/e, T tolink, D tolink/y");
}

static void opaque_directories_hide_their_base(void **state)
{
        (void)state;
        shell("mkdir -p b/d/sub/deep b/d/gone && echo 1 >b/d/a && echo 2 >b/d/b && echo 3 >b/d/sub/x && echo "
              "4 >b/d/sub/y && "
              "echo 5 >b/d/gone/z && echo 6 >b/d/sub/deep/w");
        shell("mkdir -p u/d/sub && echo new >u/d/a && echo 3 >u/d/sub/x && echo n >u/d/n");
        mark("u/d", "user.overlay.opaque", "y");
        has_entries("M d/a, D d/b, D d/gone, D d/gone/z, A d/n, D d/sub/deep, D d/sub/deep/w, D d/sub/y");
        /* What is beside it is not hidden. */
        shell("mkdir u/e && mkdir b/e && echo 1 >b/e/x");
        has_entries("M d/a, D d/b, D d/gone, D d/gone/z, A d/n, D d/sub/deep, D d/sub/deep/w, D d/sub/y");
}

static void the_newer_mark_is_a_whiteout(void **state)
{
        (void)state;
        shell("mkdir b/d u/d && echo 1 >b/d/x && echo 2 >b/d/y && : >u/d/x && : >u/d/y");
        mark("u/d/x", "user.overlay.whiteout", "");
        has_entries("M d/x, M d/y"); /* without the directory's mark it is an empty file */
        mark("u/d", "user.overlay.opaque", "x");
        has_entries("D d/x, M d/y");
}

static void sets_that_would_lie_are_refused(void **state)
{
        (void)state;
        shell("mkdir u/d && echo x >u/f");
        mark("u/d", "user.overlay.redirect", "/b");
        assert_int_equal(collect(), CAY_UNSUPPORTED);
        shell("rm -r u/d");
        mark("u/f", "user.overlay.metacopy", "");
        assert_int_equal(collect(), CAY_UNSUPPORTED);
        assert_non_null(strstr(res.msg, "'f'"));
}

static void special_files_are_left_out_and_counted(void **state)
{
        (void)state;
        alarm(100);
        shell("mkfifo u/fifo && echo x >u/x && echo 1 >b/fifo");
        assert_int_equal(mknod("u/null", S_IFCHR | 0600, makedev(1, 3)), 0);
        has_entries("A x");
        alarm(0);
        assert_int_equal(res.size, 2);
}

static void limits_hold(void **state)
{
        (void)state;
        shell("echo 1 >u/a && echo 2 >u/b && truncate -s 1M u/hole");
        max_entries = 2;
        assert_int_equal(collect(), CAY_LIMIT);
        max_entries = 3;
        assert_int_equal(collect(), CAY_OK);
        max_bytes = 1 << 20;
        assert_int_equal(collect(), CAY_LIMIT);
        max_bytes = (1 << 20) + 16384;
        assert_int_equal(collect(), CAY_OK);
        assert_true(res.bytes <= max_bytes);
        shell("mkdir b/many && cd b/many && for i in 1 2 3 4 5; do : >$i; done");
        whiteout("u/many");
        max_entries = 8;
        assert_int_equal(collect(), CAY_LIMIT);
        max_entries = 9;
        assert_int_equal(collect(), CAY_OK);
}

static void long_lists_are_cut_in_pieces(void **state)
{
        (void)state;
        shell("mkdir b/many && cd b/many && i=0; while [ $i -lt 3000 ]; do : "
              ">a-rather-long-name-of-a-file-$i; i=$((i+1)); done");
        whiteout("u/many");
        collect_and_read();
        assert_int_equal(cay_change_set_count(set), 3001);
        assert_true(res.bytes < 400 * 1024);
}

static void names_too_long_are_left_out(void **state)
{
        (void)state;
        assert_int_equal(chdir("u"), 0);
        for (unsigned i = 0; i < 25; i++) { /* 25 × 200 */
                char name[201];

                memset(name, 'n', 200);
                name[200] = '\0';
                assert_int_equal(mkdir(name, 0755), 0);
                assert_int_equal(chdir(name), 0);
        }
        put_file("x", "x");
        assert_int_equal(chdir(scratch.path), 0);
        collect_and_read();
        assert_int_equal(cay_change_set_count(set), 20);
        assert_true(res.size > 0);
}

/* As the sandbox's user: what he has closed to himself is opened. */
static void closed_things(void)
{
        const struct cay_change *c;

        shell("mkdir u/d u/e && echo secret >u/d/x && chmod 000 u/d/x && chmod 000 u/d && echo w >u/e/w && "
              "chmod 200 u/e/w && "
              "chmod 311 u/e");
        collect_and_read();
        NOBODY_CHECK(res.size == 0 && cay_change_set_count(set) == 4);
        c = cay_change_set_find(set, "d");
        NOBODY_CHECK(c && c->mode == 0);
        c = cay_change_set_find(set, "d/x");
        NOBODY_CHECK(c && c->mode == 0 && c->size == 7);
        c = cay_change_set_find(set, "e");
        NOBODY_CHECK(c && c->mode == 0311);
        c = cay_change_set_find(set, "e/w");
        NOBODY_CHECK(c && c->mode == 0200 && c->size == 2);
}

static void what_the_owner_has_closed_is_read_all_the_same(void **state)
{
        (void)state;
        assert_int_equal(chmod("u", 0777), 0);
        as_nobody(closed_things);
}

static void others_files(void)
{
        collect_and_read();
        NOBODY_CHECK(res.size == 1 && cay_change_set_count(set) == 1);
        NOBODY_CHECK(cay_change_set_find(set, "mine") != NULL);
}

static void what_cannot_be_read_is_counted(void **state)
{
        (void)state;
        if (getuid() != 0)
                skip();
        shell("chmod 755 u && echo x >u/theirs && chmod 600 u/theirs && echo y >u/mine && chmod 644 u/mine");
        as_nobody(others_files);
}

static void without_layers_there_is_no_set(void **state)
{
        struct cay_box_open open_msg = { .kind = CAY_BOX_CHANGES };
        struct cay_worker_request req = { .open = &open_msg, .changes_fd = -1, .base_fd = -1, .out_fd = 1 };

        (void)state;
        memset(&res, 0, sizeof(res));
        cay_changes_out(&req, &res);
        assert_int_equal(res.code, CAY_UNSUPPORTED);
        assert_non_null(strstr(res.msg, "no copy-on-write workspace"));
}

/* --- A real overlay --- */

static uint32_t seed;

static uint32_t next(uint32_t below)
{
        seed = seed * 1103515245 + 12345;
        return (seed >> 8) % below;
}

/* Few names, so that things meet: up to three levels of a…d. */
static void random_path(char *to, size_t size, const char *top)
{
        size_t n = (size_t)snprintf(to, size, "%s", top);

        for (unsigned depth = 1 + next(3); depth > 0; depth--)
                n += (size_t)snprintf(to + n, size - n, "/%c", 'a' + (int)next(4));
}

/* What fails (it is there, something above it is not) is as good as anything else. */
static void make_random(const char *top)
{
        char path[64], text[16];
        int fd;

        random_path(path, sizeof(path), top);
        snprintf(text, sizeof(text), "%u", next(3));
        switch (next(4)) {
        case 0:
        case 1:
                (void)!mkdir(path, next(3) ? 0755 : 0700);
                return;
        case 2:
                (void)!symlink(text, path);
                return;
        default:
                fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
                if (fd >= 0) {
                        (void)!write(fd, text, strlen(text));
                        close(fd);
                }
        }
}

static void change_random(void)
{
        char path[64], other[64], line[256];

        random_path(path, sizeof(path), "m");
        switch (next(7)) {
        case 0:
                snprintf(line, sizeof(line), "rm -rf %s", path);
                (void)!system(line);
                return;
        case 1:
                (void)!chmod(path, next(2) ? 0700 : 0755);
                return;
        case 2:
                random_path(other, sizeof(other), "m");
                if (rename(path, other) < 0 && errno == EXDEV) { /* a directory of the base: as mv does it */
                        snprintf(line, sizeof(line), "mv -T %s %s 2>/dev/null || :", path, other);
                        (void)!system(line);
                }
                return;
        case 3:
                random_path(other, sizeof(other), "m");
                (void)!link(path, other);
                return;
        default:
                make_random("m");
        }
}

static size_t seen[2]; /* entries, and those that became something else */

static void one_round(unsigned round)
{
        struct cay_error err = { .code = CAY_OK };
        struct cay_folder folder;
        struct cay_check check;
        struct cay_apply apply;

        seed = round * 2654435761u + 1;
        shell("rm -rf b u w m want && mkdir b u w m");
        for (unsigned i = 0; i < 150; i++)
                make_random("b");
        check = (struct cay_check){ .began_ns = cay_tick_await(), .folder = &folder };
        if (mount("overlay", "m", "overlay", 0, "lowerdir=b,upperdir=u,workdir=w,userxattr") < 0)
                _exit(77);
        for (unsigned i = 0; i < 80; i++)
                change_random();
        shell("cp -a m want");
        NOBODY_CHECK(umount("m") == 0);
        collect_and_read();
        NOBODY_CHECK(cay_folder_init_take(&folder, open("b", O_PATH | O_DIRECTORY | O_CLOEXEC)) == 0);
        check.set = set;
        NOBODY_CHECK(cay_check_run(&check, &err) == 0 && check.conflicts == 0 && check.done == 0);
        apply = (struct cay_apply){ .check = &check };
        if (cay_apply_run(&apply, &err) < 0) {
                dprintf(2, "round %u: %s\n", round, err.msg);
                _exit(1);
        }
        NOBODY_CHECK(apply.applied == check.ready);
        seen[0] += check.ready;
        for (size_t i = 0; i < cay_change_set_count(set); i++)
                seen[1] += cay_change_status(cay_change_set_at(set, i)) == 'T';
        if (system("for d in b want; do (cd $d && find . -mindepth 1 -printf '%p %y %m %l\\n' | sort && find "
                   ". -type f | sort | "
                   "xargs -r cat) >$d.list; done; cmp b.list want.list") != 0) {
                dprintf(2, "round %u differs\n", round);
                _exit(1);
        }
        cay_check_done(&check);
        cay_folder_done(&folder);
        /* Now it is the base: nothing is left to change. */
        NOBODY_CHECK(collect() == CAY_OK && res.entries == 0);
}

static void applying_gives_what_the_workspace_was(void **state)
{
        enum { ROUNDS = 60 };
        pid_t pid;
        int status;

        (void)state;
        pid = fork();
        if (pid == 0) {
                if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                        _exit(77);
                for (unsigned round = 0; round < ROUNDS; round++)
                        one_round(round);
                NOBODY_CHECK(seen[0] > 5 * ROUNDS && seen[1] > ROUNDS / 2); /* it was a test */
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
                skip(); /* no overlays here, or not for us */
        assert_int_equal(status, 0);
}

#define CHANGES_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                CHANGES_TEST(nothing_changed),
                CHANGES_TEST(files_links_and_directories),
                CHANGES_TEST(removed_things_are_told_with_all_that_was_in_them),
                CHANGES_TEST(types_change_places),
                CHANGES_TEST(opaque_directories_hide_their_base),
                CHANGES_TEST(the_newer_mark_is_a_whiteout),
                CHANGES_TEST(sets_that_would_lie_are_refused),
                CHANGES_TEST(special_files_are_left_out_and_counted),
                CHANGES_TEST(limits_hold),
                CHANGES_TEST(long_lists_are_cut_in_pieces),
                CHANGES_TEST(names_too_long_are_left_out),
                CHANGES_TEST(what_the_owner_has_closed_is_read_all_the_same),
                CHANGES_TEST(what_cannot_be_read_is_counted),
                CHANGES_TEST(without_layers_there_is_no_set),
                CHANGES_TEST(applying_gives_what_the_workspace_was),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
