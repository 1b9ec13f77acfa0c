/* SPDX-License-Identifier: Apache-2.0 */
/* Files by descriptor: nothing leads out of a folder, nothing is read or written beyond its bounds. */
#include "sys_test.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "foundation/base/clock.h"
#include "foundation/sys/fd.h"
#include "tools/old_kernel.h"

struct fixture {
        char path[32];
        int dir;
};

static struct fixture fix;

static int set_up(void **state)
{
        make_folder(fix.path);
        fix.dir = open(fix.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(fix.dir >= 0);
        assert_int_equal(mkdirat(fix.dir, "a", 0755), 0);
        assert_int_equal(mkdirat(fix.dir, "a/b", 0755), 0);
        assert_int_equal(sys_make_file(fix.dir, "a/b/file", 0644, "inside", 6), 0);
        assert_int_equal(symlinkat("file", fix.dir, "a/b/link"), 0);
        assert_int_equal(symlinkat("/etc/passwd", fix.dir, "absolute"), 0);
        assert_int_equal(symlinkat("a", fix.dir, "to-a"), 0);
        assert_int_equal(symlinkat("/proc/self/root", fix.dir, "magic"), 0);
        return 0;
}

static int tear_down(void **state)
{
        static const char *const files[] = { "a/b/file", "a/b/link", "a/b/new", "absolute",
                                             "to-a",     "magic",    "text" };

        for (unsigned i = 0; i < CAY_COUNT(files); i++)
                unlinkat(fix.dir, files[i], 0);
        unlinkat(fix.dir, "a/b", AT_REMOVEDIR);
        unlinkat(fix.dir, "a", AT_REMOVEDIR);
        close(fix.dir);
        assert_int_equal(rmdir(fix.path), 0);
        return 0;
}

/* The same promises whether the kernel or our own walk keeps them. */
static void beneath(void)
{
        static const char *const refused[] = {
                "..",          "../etc", "a/../..",   "a/b/../../../etc/passwd",
                "/etc/passwd", "/",      "absolute",  "to-a/b",
                "a/b/link",    "magic",  "magic/etc", "to-a",
        };
        char text[16];
        int fd = sys_open_beneath(fix.dir, "a/b/file", O_RDONLY, 0);

        check(fd >= 0);
        check(sys_read_fd(fd, text, sizeof(text)) == 6 && strcmp(text, "inside") == 0);
        check(fcntl(fd, F_GETFD) == FD_CLOEXEC);
        close(fd);
        for (unsigned i = 0; i < CAY_COUNT(refused); i++) {
                fd = sys_open_beneath(fix.dir, refused[i], O_RDONLY, 0);
                if (fd >= 0) {
                        fprintf(stderr, "opened %s\n", refused[i]);
                        _exit(1);
                }
                /* A link must not come back as itself either. */
                fd = sys_open_beneath(fix.dir, refused[i], O_PATH, 0);
                if (fd >= 0) {
                        fprintf(stderr, "opened %s by O_PATH\n", refused[i]);
                        _exit(1);
                }
        }
        check(sys_open_beneath(fix.dir, "a/nothing", O_RDONLY, 0) == -ENOENT);
        check(sys_open_beneath(fix.dir, "a/b/file/x", O_RDONLY, 0) == -ENOTDIR);
        fd = sys_open_beneath(fix.dir, "a/b/new", O_WRONLY | O_CREAT | O_EXCL, 0640);
        check(fd >= 0);
        close(fd);
        check(sys_open_beneath(fix.dir, "a/b/link", O_WRONLY | O_CREAT, 0640) < 0);
        fd = sys_open_beneath(fix.dir, "a/b", O_RDONLY | O_DIRECTORY, 0);
        check(fd >= 0);
        close(fd);
}

static void test_beneath(void **state)
{
        in_child(beneath);
}

/* What each path is answered with: the same, whoever walks. */
static void answers(void)
{
        static const struct {
                const char *path;
                int flags, r; /* 0: opened */
        } rows[] = {
                { "", O_RDONLY, -ENOENT },
                { ".", O_RDONLY, 0 },
                { "./a/./b//file", O_RDONLY, 0 },
                { "a//b///", O_RDONLY, 0 },
                { "a/b/file/", O_RDONLY, -ENOTDIR },
                { "a/b/file/.", O_RDONLY, -ENOTDIR },
                { "a/b/", O_WRONLY | O_CREAT, -EISDIR },
                { "a/b/fresh/", O_WRONLY | O_CREAT, -EISDIR },
                { "a/b", O_WRONLY, -EISDIR },
                { "/", O_PATH, -EXDEV },
                { "//etc/passwd", O_PATH, -EXDEV },
                { "..", O_PATH, -EXDEV },
                { "a/..", O_PATH, -EXDEV }, /* even where it would stay inside */
                { "a/../a/b/file", O_RDONLY, -EXDEV },
                { "a/b/../../..", O_PATH, -EXDEV },
                { "a/../", O_PATH, -EXDEV },
                { "..a", O_RDONLY, -ENOENT }, /* a name like any other */
                { "a/...", O_RDONLY, -ENOENT },
                { "absolute", O_RDONLY, -ELOOP },
                { "absolute", O_PATH, -ELOOP },
                { "absolute", O_PATH | O_NOFOLLOW, 0 }, /* the link itself */
                { "absolute", O_RDONLY | O_NOFOLLOW, -ELOOP },
                { "absolute", O_WRONLY | O_CREAT | O_EXCL, -EEXIST },
                { "absolute", O_WRONLY | O_TRUNC, -ELOOP },
                { "to-a", O_RDONLY | O_DIRECTORY, -ELOOP },
                { "to-a/", O_RDONLY, -ELOOP },
                { "to-a/b/file", O_RDONLY, -ELOOP },
                { "to-a/b", O_PATH | O_NOFOLLOW, -ELOOP },
                { "a/b/link", O_WRONLY | O_CREAT, -ELOOP },
                { "magic/etc/passwd", O_RDONLY, -ELOOP },
                { "magic", O_RDONLY | O_DIRECTORY, -ELOOP },
        };
        unsigned before = count_fds();

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                int r = sys_open_beneath(fix.dir, rows[i].path, rows[i].flags, 0600);

                if (r >= 0)
                        close(r);
                if ((r < 0 ? r : 0) != rows[i].r) {
                        fprintf(stderr, "'%s' 0%o: %d, not %d\n", rows[i].path, (unsigned)rows[i].flags, r,
                                rows[i].r);
                        _exit(1);
                }
        }
        check(faccessat(fix.dir, "a/b/fresh", F_OK, AT_SYMLINK_NOFOLLOW) < 0);
        check(count_fds() == before);
}

static void test_answers(void **state)
{
        in_child(answers);
}

static int rename_swap(const char *a, const char *b)
{
        return (int)syscall(SYS_renameat2, fix.dir, a, fix.dir, b, 2 /* RENAME_EXCHANGE */);
}

/*
 * Somebody changes a directory into a link that leads out, and back, all the time: we are inside or refused,
 * never out.
 */
static void raced(void)
{
        pid_t parent = getpid(), pid;
        unsigned inside = 0, refused = 0;
        uint64_t end;

        check(mkdirat(fix.dir, "out", 0755) == 0 &&
              sys_make_file(fix.dir, "out/file", 0644, "OUTSIDE", 7) == 0);
        check(mkdirat(fix.dir, "box", 0755) == 0 && mkdirat(fix.dir, "box/d", 0755) == 0);
        check(sys_make_file(fix.dir, "box/d/file", 0644, "inside", 6) == 0);
        check(symlinkat("../out", fix.dir, "box/l") == 0);
        pid = fork();
        check(pid >= 0);
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
                while (getppid() == parent)
                        rename_swap("box/d", "box/l");
                _exit(0);
        }
        end = cay_clock_ms() + 60000; /* the other may not be running yet, or stand still for a while */
        for (int i = 0; i < 2000 || ((inside == 0 || refused == 0) && cay_clock_ms() < end); i++) {
                cay_auto_close int box = sys_open_at(fix.dir, "box", O_PATH | O_DIRECTORY, 0);
                cay_auto_close int fd = sys_open_beneath(box, "d/file", O_RDONLY, 0);
                char text[16];

                if (fd >= 0) {
                        check(sys_read_fd(fd, text, sizeof(text)) == 6 && strcmp(text, "inside") == 0);
                        inside++;
                } else {
                        check(fd == -ELOOP);
                        refused++;
                }
        }
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        check(inside > 0);
        check(refused > 0);
        for (int i = 0; i < 2; i++) {
                unlinkat(fix.dir, i ? "box/d/file" : "box/l/file", 0);
                unlinkat(fix.dir, i ? "box/d" : "box/l", 0);
                unlinkat(fix.dir, i ? "box/d" : "box/l", AT_REMOVEDIR);
        }
        unlinkat(fix.dir, "out/file", 0);
        unlinkat(fix.dir, "out", AT_REMOVEDIR);
        unlinkat(fix.dir, "box", AT_REMOVEDIR);
}

static void test_raced(void **state)
{
        in_child(raced);
}

static void all_without_openat2(void)
{
        check(old_kernel_block("openat2") == 0 && old_kernel_lacks("openat2"));
        beneath();
        answers();
        raced();
}

static void test_without_openat2(void **state)
{
        in_child(all_without_openat2);
}

/* A filter that does not know the call and says EPERM: as if it were not there. */
static void filter_says_eperm(void)
{
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 437 /* openat2 */, 1, 0),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 452 /* fchmodat2 */, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog prog = { .len = CAY_COUNT(code), .filter = code };

        check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0);
        answers();
        check(sys_chmod_at(fix.dir, "a/b/file", 0600) == 0);
}

static void test_filter_says_eperm(void **state)
{
        in_child(filter_says_eperm);
}

static unsigned mode_of(const char *path)
{
        struct stat st;

        check(fstatat(fix.dir, path, &st, 0) == 0);
        return st.st_mode & 07777;
}

static void modes(void)
{
        unsigned before = count_fds(), passwd = mode_of("absolute");

        check(sys_chmod_at(fix.dir, "a/b/file", 0) == 0 && mode_of("a/b/file") == 0);
        check(sys_chmod_at(fix.dir, "a/b/file", 0640) == 0 && mode_of("a/b/file") == 0640);
        check(sys_chmod_at(fix.dir, "a/b", 0700) == 0 && mode_of("a/b") == 0700);
        check(sys_chmod_at(fix.dir, "a/b/link", 0777) == -ELOOP && mode_of("a/b/file") == 0640);
        check(sys_chmod_at(fix.dir, "absolute", 0600) == -ELOOP && mode_of("absolute") == passwd);
        check(sys_chmod_at(fix.dir, "nothing", 0600) == -ENOENT);
        check(sys_chmod_at(fix.dir, "a/b/file/x", 0600) == -ENOTDIR);
        check(count_fds() == before || before == 0);
}

static void modes_without_fchmodat2(void)
{
        check(old_kernel_block("fchmodat2") == 0 && old_kernel_lacks("fchmodat2"));
        modes();
}

static void modes_without_proc(void)
{
        enter_mount_namespace();
        check(umount2("/proc", MNT_DETACH) == 0 && access("/proc/self", F_OK) < 0);
        modes_without_fchmodat2();
}

static void test_modes(void **state)
{
        in_child(modes);
}

static void test_modes_without_fchmodat2(void **state)
{
        in_child(modes_without_fchmodat2);
}

static void test_modes_without_proc(void **state)
{
        need_root();
        in_child(modes_without_proc);
}

static void test_long_component(void **state)
{
        char name[300];

        memset(name, 'x', sizeof(name) - 1);
        name[sizeof(name) - 1] = 0;
        assert_int_equal(sys_open_beneath(fix.dir, name, O_RDONLY, 0), -ENAMETOOLONG);
}

static void test_read_is_bounded(void **state)
{
        char text[5];

        memset(text, 'z', sizeof(text));
        assert_int_equal(sys_make_file(fix.dir, "text", 0644, "0123456789", 10), 0);
        assert_int_equal(sys_read_file(fix.dir, "text", text, sizeof(text)), 4);
        assert_memory_equal(text, "0123", 5);
        assert_int_equal(sys_read_file(fix.dir, "text", text, 1), 0);
        assert_int_equal(text[0], 0);
        assert_int_equal(sys_read_file(fix.dir, "nothing", text, sizeof(text)), -ENOENT);
        assert_int_equal(sys_read_file(fix.dir, "a", text, sizeof(text)), -EISDIR);
}

static void test_read_starts_at_zero(void **state)
{
        cay_auto_close int fd = sys_open_at(fix.dir, "a/b/file", O_RDONLY, 0);
        char text[8];

        assert_true(fd >= 0);
        assert_int_equal(lseek(fd, 3, SEEK_SET), 3);
        assert_int_equal(sys_read_fd(fd, text, sizeof(text)), 6);
        assert_string_equal(text, "inside");
}

static void test_make_file_refuses_what_is_there(void **state)
{
        struct stat st;

        assert_int_equal(sys_make_file(fix.dir, "text", 0600, "x", 1), 0);
        assert_int_equal(fstatat(fix.dir, "text", &st, 0), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
        assert_int_equal(sys_make_file(fix.dir, "text", 0600, "y", 1), -EEXIST);
        assert_int_equal(sys_make_file(fix.dir, "absolute", 0600, "y", 1), -EEXIST);
}

static void test_write_file(void **state)
{
        char text[16];

        assert_int_equal(sys_write_file(fix.dir, "nothing", "x"), -ENOENT); /* it makes none */
        assert_int_equal(sys_write_file(fix.dir, "a/b/file", "INS"), 0);
        assert_int_equal(sys_read_file(fix.dir, "a/b/file", text, sizeof(text)), 6);
        assert_string_equal(text, "INSide");
        assert_int_equal(sys_write_file(AT_FDCWD, "/dev/full", "x"), -ENOSPC);
}

static void test_write_all(void **state)
{
        cay_auto_close int full = sys_open_at(AT_FDCWD, "/dev/full", O_WRONLY, 0);
        static char big[300000], back[4096];
        size_t got = 0;
        int pipes[2], status;
        pid_t pid;

        assert_int_equal(sys_write_all(full, "x", 1), -ENOSPC);
        assert_int_equal(sys_write_all(full, "", 0), 0);
        /* More than a pipe holds: short writes are carried on. */
        assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
        pid = fork();
        if (pid == 0)
                _exit(sys_write_all(pipes[1], big, sizeof(big)) == 0 ? 0 : 1);
        close(pipes[1]);
        for (ssize_t n; (n = read(pipes[0], back, sizeof(back))) > 0;)
                got += (size_t)n;
        close(pipes[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_int_equal(got, sizeof(big));
}

static void test_keyed(void **state)
{
        const char *text = "oom_kill_disable 0\nunder_oom 1\noom_kill 18446744073709551615\n";

        assert_int_equal(sys_keyed_u64(text, "oom_kill_disable"), 0);
        assert_int_equal(sys_keyed_u64(text, "under_oom"), 1);
        assert_true(sys_keyed_u64(text, "oom_kill") == UINT64_MAX);
        assert_int_equal(sys_keyed_u64(text, "oom"), 0);
        assert_int_equal(sys_keyed_u64(text, "kill"), 0);
        assert_int_equal(sys_keyed_u64("", "x"), 0);
        assert_int_equal(sys_keyed_u64("\n\nx 7", "x"), 7);
        assert_int_equal(sys_keyed_u64("x", "x"), 0);
}

static void test_nothing_leaks(void **state)
{
        unsigned before = count_fds();
        char text[4];

        for (int i = 0; i < 50; i++) {
                sys_read_file(fix.dir, "a/b/file", text, sizeof(text));
                sys_read_file(fix.dir, "a", text, sizeof(text));
                sys_write_file(AT_FDCWD, "/dev/full", "x");
                sys_make_file(fix.dir, "absolute", 0600, "y", 1);
                close(sys_open_beneath(fix.dir, "a/b/file", O_RDONLY, 0));
        }
        assert_int_equal(count_fds(), before);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_beneath, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_answers, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_raced, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_without_openat2, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_filter_says_eperm, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_modes, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_modes_without_fchmodat2, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_modes_without_proc, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_long_component, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_read_is_bounded, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_read_starts_at_zero, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_make_file_refuses_what_is_there, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_write_file, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_write_all, set_up, tear_down),
                cmocka_unit_test(test_keyed),
                cmocka_unit_test_setup_teardown(test_nothing_leaks, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
