/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generated filter in the real kernel: loads, lets ordinary calls through, refuses and reports the
 * others, kills foreign ones. Needs no box: each case runs in a forked child without privileges.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "attack/surface.h"
#include "seccomp_filters.h"

#define REPORTS_MAX 64
#define NOBODY 65534
#define DEADLINE_MS 60000

/* What a filtered child did. */
struct outcome {
        int status;                /* as waitpid says */
        unsigned nrs[REPORTS_MAX]; /* calls that came to the listener, in order */
        size_t count;
};

static int filter_load(void)
{
        struct sock_fprog program = { CAY_SECCOMP_CODE_LEN,
                                      (struct sock_filter *)(uintptr_t)cay_seccomp_code };

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -1;
        return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static void fd_send(int sock, int fd)
{
        char byte = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
        struct iovec iov = { &byte, 1 };
        struct msghdr msg = {
                .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
        };
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &fd, sizeof(int));
        if (sendmsg(sock, &msg, 0) != 1)
                _exit(99);
}

static int fd_receive(int sock)
{
        char byte, control[CMSG_SPACE(sizeof(int))];
        struct iovec iov = { &byte, 1 };
        struct msghdr msg = {
                .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
        };
        int fd = -1;

        if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&msg))
                memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
        return fd;
}

/* As cay-init does: note the number, answer EPERM. */
static void reports_answer(int listener, struct outcome *ret)
{
        struct pollfd p = { listener, POLLIN, 0 };

        while (poll(&p, 1, DEADLINE_MS) == 1 && (p.revents & POLLIN)) {
                struct seccomp_notif req = { 0 };
                struct seccomp_notif_resp resp = { 0 };

                if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &req) < 0)
                        continue;
                if (ret->count < REPORTS_MAX)
                        ret->nrs[ret->count] = (unsigned)req.data.nr;
                ret->count++;
                resp.id = req.id;
                resp.error = -EPERM;
                ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
        }
}

static struct outcome filtered(int (*work)(void))
{
        struct outcome out = { 0 };
        int pair[2], listener;
        pid_t pid;

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                struct rlimit none = { 0, 0 };

                setrlimit(RLIMIT_CORE, &none);
                if (geteuid() == 0 && (syscall(SYS_setgroups, 0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
                                       setresuid(NOBODY, NOBODY, NOBODY)))
                        _exit(98);
                listener = filter_load();
                if (listener < 0)
                        _exit(97);
                fd_send(pair[1], listener);
                close(listener);
                _exit(work());
        }
        close(pair[1]);
        listener = fd_receive(pair[0]);
        close(pair[0]);
        if (listener >= 0) {
                reports_answer(listener, &out);
                close(listener);
        }
        assert_int_equal(waitpid(pid, &out.status, 0), pid);
        assert_true(listener >= 0);
        return out;
}

static void assert_exit(const struct outcome *out, int code)
{
        if (!WIFEXITED(out->status) || WEXITSTATUS(out->status) != code)
                fail_msg("ended with status %#x instead of exit %d", (unsigned)out->status, code);
}

static int was_reported(const struct outcome *out, unsigned nr)
{
        for (size_t i = 0; i < out->count && i < REPORTS_MAX; i++)
                if (out->nrs[i] == nr)
                        return 1;
        return 0;
}

/* Each returns the line that went wrong, 0 if none. */
#define WORKS(x)                                                                                             \
        do {                                                                                                 \
                if (!(x))                                                                                    \
                        return __LINE__ & 0x7f;                                                              \
        } while (0)
#define FAILS(call, err)                                                                                     \
        do {                                                                                                 \
                errno = 0;                                                                                   \
                if ((call) != -1 || errno != (err))                                                          \
                        return __LINE__ & 0x7f;                                                              \
        } while (0)

static void *thread_ends(void *arg)
{
        return arg;
}

static int ordinary(void)
{
        int pair[2], fd;
        pthread_t thread;
        void *back;
        pid_t pid;

        WORKS((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0);
        WORKS(write(fd, "x", 1) == 1);
        WORKS(close(fd) == 0);
        WORKS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
        WORKS(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0) >= 0);
        WORKS(socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP) >= 0 || errno == EAFNOSUPPORT);
        WORKS(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) >= 0);
        WORKS(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
        WORKS(ioctl(pair[0], FIONREAD, &fd) == 0 && ioctl(pair[0], FIOCLEX) == 0 &&
              ioctl(pair[0], FIONCLEX) == 0);
        WORKS(prctl(PR_SET_NAME, "x", 0, 0, 0) == 0 && prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) >= 0);
        WORKS(pthread_create(&thread, NULL, thread_ends, pair) == 0 && pthread_join(thread, &back) == 0 &&
              back == pair);
        pid = fork();
        WORKS(pid >= 0);
        if (pid == 0)
                _exit(7);
        WORKS(waitpid(pid, &fd, 0) == pid && WIFEXITED(fd) && WEXITSTATUS(fd) == 7);
        return 0;
}

static void test_ordinary_calls_pass_unreported(void **state)
{
        struct outcome out = filtered(ordinary);

        assert_exit(&out, 0);
        assert_int_equal(out.count, 0);
}

static int runs_a_program(void)
{
        execl("/bin/sh", "sh", "-c", "echo x | cat >/dev/null && exit 5", (char *)NULL);
        return 99;
}

static void test_programs_start(void **state)
{
        struct outcome out = filtered(runs_a_program);

        assert_exit(&out, 5);
        assert_int_equal(out.count, 0);
}

static int denied(void)
{
        FAILS(syscall(SYS_unshare, CLONE_NEWUSER), EPERM);
        FAILS(syscall(SYS_mount, "x", "/tmp", "tmpfs", 0, NULL), EPERM);
        FAILS(syscall(SYS_bpf, 0, NULL, 0), EPERM);
        FAILS(syscall(SYS_keyctl, 0, 0, 0, 0, 0), EPERM);
        FAILS(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0), EPERM);
        FAILS(syscall(SYS_ioctl, 0, 0x5412UL | 1UL << 40, "x"), EPERM);
        FAILS(syscall(SYS_socket, 40, SOCK_STREAM, 0), EPERM);
        FAILS(syscall(SYS_socket, AF_INET, SOCK_SEQPACKET, 0), EPERM);
        FAILS(syscall(SYS_fchmod, 0, 04755), EPERM);
        return 0;
}

static void test_denied_calls_are_reported(void **state)
{
        static const unsigned expected[] = { SYS_unshare, SYS_mount,  SYS_bpf,    SYS_keyctl, SYS_clone,
                                             SYS_ioctl,   SYS_socket, SYS_socket, SYS_fchmod };
        struct outcome out = filtered(denied);

        assert_exit(&out, 0);
        assert_int_equal(out.count, sizeof(expected) / sizeof(expected[0]));
        for (size_t i = 0; i < out.count; i++)
                assert_int_equal(out.nrs[i], expected[i]);
}

static int probing(void)
{
        FAILS(syscall(SYS_clone3, NULL, 0), ENOSYS);
        FAILS(syscall(SYS_openat2, -1, NULL, NULL, 0), ENOSYS);
        FAILS(syscall(SYS_io_uring_setup, 1, NULL), ENOSYS);
        FAILS(syscall(452, -1, NULL, 0, 0), ENOSYS);
        FAILS(syscall(5000), ENOSYS);
        FAILS(syscall(SYS_socket, AF_NETLINK, SOCK_RAW, 9), EPROTONOSUPPORT);
        FAILS(syscall(SYS_socket, AF_INET, SOCK_STREAM, 262), EPROTONOSUPPORT);
        FAILS(syscall(SYS_mmap, 0, 4096, 3, 0x40022, -1, 0), ENOMEM);
        FAILS(syscall(SYS_ioctl, 0, 0x40086602UL, NULL), ENOTTY); /* FS_IOC_SETFLAGS */
        FAILS(syscall(SYS_ioctl, 0, 0UL, NULL), ENOTTY);
        FAILS(syscall(SYS_prctl, 59, 0, 0, 0, 0), EINVAL); /* PR_SET_SYSCALL_USER_DISPATCH */
        FAILS(syscall(SYS_ptrace, 31, 0, 0, 0), EIO);      /* PTRACE_SYSEMU */
        FAILS(syscall(SYS_setxattr, ".", "user.x", "y", 1UL, 0), EOPNOTSUPP);
        FAILS(syscall(SYS_mincore, NULL, 0UL, NULL), ENOSYS);
        FAILS(syscall(SYS_fadvise64, 0, 0L, 0L, 4), ENOSYS);
        return 0;
}

static void test_ordinary_probing_is_not_reported(void **state)
{
        struct outcome out = filtered(probing);

        assert_exit(&out, 0);
        assert_int_equal(out.count, 0);
}

static int set_id_roads(void)
{
        char dir[] = "/tmp/cay-setid-XXXXXX";
        int fd;
        struct stat st;

        WORKS(mkdtemp(dir) && chdir(dir) == 0);
        FAILS(open("a", O_CREAT | O_WRONLY, 04755), EPERM);
        FAILS(open(".", O_TMPFILE | O_WRONLY, 02755), EPERM);
        FAILS(creat("a", 04755), EPERM);
        FAILS(mkdir("d", 02755), EPERM);
        FAILS(mknod("n", S_IFREG | 04755, 0), EPERM);
        FAILS(mknod("n", S_IFCHR | 0600, 0), EPERM);
        WORKS((fd = open("a", O_CREAT | O_WRONLY, 0755)) >= 0);
        FAILS(fchmod(fd, 04755), EPERM);
        FAILS(chmod("a", 02755), EPERM);
        FAILS(fchmodat(AT_FDCWD, "a", 06755, 0), EPERM);
        WORKS(fstat(fd, &st) == 0 && !(st.st_mode & 06000));
        /* The mode is rubbish where nothing is made. */
        WORKS(syscall(SYS_openat, AT_FDCWD, "a", O_RDONLY, 06777) >= 0);
        WORKS(mkfifo("f", 0600) == 0 && unlink("f") == 0 && unlink("a") == 0 && chdir("/") == 0 &&
              rmdir(dir) == 0);
        return 0;
}

static void test_no_road_to_a_set_id_file(void **state)
{
        struct outcome out = filtered(set_id_roads);

        assert_exit(&out, 0);
        assert_true(was_reported(&out, SYS_fchmod));
        assert_true(was_reported(&out, SYS_fchmodat) || was_reported(&out, SYS_openat));
}

#ifdef __x86_64__
static int calls_32_bits(void)
{
        long r;

        __asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "memory"); /* getpid, as i386 numbers it */
        return r > 0 ? 1 : 2;
}

static int calls_x32(void)
{
        return syscall(0x40000000 | SYS_getpid) > 0 ? 1 : 2;
}

static void test_foreign_calls_kill(void **state)
{
        struct outcome out = filtered(calls_32_bits);

        if (WIFSIGNALED(out.status) && WTERMSIG(out.status) == SIGSEGV)
                print_message("this kernel has no 32-bit system calls\n");
        else
                assert_true(WIFSIGNALED(out.status) && WTERMSIG(out.status) == SIGSYS);
        out = filtered(calls_x32);
        assert_true(WIFSIGNALED(out.status) && WTERMSIG(out.status) == SIGSYS);
}
#endif

static int surface_as_exit_code(void)
{
        static unsigned char reached[SURFACE_HIGHEST + 1];
        int count = surface_count(reached);

        if (count < 0)
                return 255;
        for (int nr = 0; nr <= SURFACE_HIGHEST && count > 220; nr++)
                if (reached[nr])
                        printf("reached %d\n", nr);
        fflush(stdout);
        return count > 254 ? 254 : count;
}

static void test_surface_is_small(void **state)
{
        struct outcome out = filtered(surface_as_exit_code);

        assert_true(CAY_SECCOMP_REACHABLE <= 220);
        assert_true(WIFEXITED(out.status));
        print_message("%d system calls reachable, %d open in the policy\n", WEXITSTATUS(out.status),
                      CAY_SECCOMP_REACHABLE);
        assert_in_range(WEXITSTATUS(out.status), 100, 220);
}

static void test_names_are_sorted(void **state)
{
        for (size_t i = 1; i < CAY_SYSCALL_NAMES_LEN; i++)
                assert_true(cay_syscall_names[i - 1].nr < cay_syscall_names[i].nr);
        for (size_t i = 0; i < CAY_SYSCALL_NAMES_LEN; i++)
                if (cay_syscall_names[i].nr == SYS_unshare)
                        assert_string_equal(cay_syscall_names[i].name, "unshare");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_ordinary_calls_pass_unreported),
                cmocka_unit_test(test_programs_start),
                cmocka_unit_test(test_denied_calls_are_reported),
                cmocka_unit_test(test_ordinary_probing_is_not_reported),
                cmocka_unit_test(test_no_road_to_a_set_id_file),
#ifdef __x86_64__
                cmocka_unit_test(test_foreign_calls_kill),
#endif
                cmocka_unit_test(test_surface_is_small),
                cmocka_unit_test(test_names_are_sorted),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
