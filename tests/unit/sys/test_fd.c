/* SPDX-License-Identifier: Apache-2.0 */
/* Files by descriptor: nothing leads out of a folder, nothing is read or written beyond its bounds. */
#include "sys_test.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "sys/fd.h"

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

static void beneath_without_openat2(void)
{
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 437 /* openat2 */, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog prog = { .len = CAY_COUNT(code), .filter = code };

        check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0);
        beneath();
}

static void test_beneath_without_openat2(void **state)
{
        in_child(beneath_without_openat2);
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
                cmocka_unit_test_setup_teardown(test_beneath_without_openat2, set_up, tear_down),
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
