/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors over sockets: they arrive, are never more than asked for, and are never lost in a refused
 * message.
 */
#include "sys_test.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "foundation/base/cleanup.h"
#include "foundation/sys/unix_socket.h"

static int pair[2];

static int set_up(void **state)
{
        return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static int tear_down(void **state)
{
        if (pair[0] >= 0)
                close(pair[0]);
        close(pair[1]);
        return 0;
}

static bool same_file(int a, int b)
{
        struct stat sa, sb;

        return fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && sa.st_ino == sb.st_ino && sa.st_dev == sb.st_dev;
}

static void test_fds_arrive(void **state)
{
        int null = open("/dev/null", O_RDWR), zero = open("/dev/zero", O_RDWR);
        int out[] = { null, zero, null }, fds[SYS_FDS_MAX];
        unsigned count = 77;
        char bytes[8];

        assert_int_equal(sys_send_fds(pair[0], "hello", 5, out, 3, 0), 5);
        assert_int_equal(sys_recv_fds(pair[1], bytes, sizeof(bytes), fds, &count, 0), 5);
        assert_memory_equal(bytes, "hello", 5);
        assert_int_equal(count, 3);
        for (unsigned i = 0; i < count; i++) {
                assert_true(same_file(fds[i], out[i]));
                assert_int_equal(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
        }
        sys_close_fds(fds, count);
        close(null);
        close(zero);
}

static void test_none(void **state)
{
        int fds[SYS_FDS_MAX];
        unsigned count = 77;
        char bytes[8];

        assert_int_equal(sys_send_fds(pair[0], "x", 1, NULL, 0, 0), 1);
        assert_int_equal(sys_recv_fds(pair[1], bytes, sizeof(bytes), fds, &count, 0), 1);
        assert_int_equal(count, 0);
}

static void test_most(void **state)
{
        int out[SYS_FDS_MAX + 1], fds[SYS_FDS_MAX];
        unsigned count, before = count_fds();
        char bytes[8];

        for (unsigned i = 0; i < CAY_COUNT(out); i++)
                out[i] = 2;
        assert_int_equal(sys_send_fds(pair[0], "x", 1, out, SYS_FDS_MAX, 0), 1);
        assert_int_equal(sys_recv_fds(pair[1], bytes, sizeof(bytes), fds, &count, 0), 1);
        assert_int_equal(count, SYS_FDS_MAX);
        sys_close_fds(fds, count);
        assert_int_equal(sys_send_fds(pair[0], "x", 1, out, SYS_FDS_MAX + 1, 0), -EINVAL);
        assert_int_equal(count_fds(), before);
}

/* A sender that is not ours: any number of descriptors at once. */
static void send_many(unsigned many, const char *bytes, size_t len)
{
        union {
                struct cmsghdr head;
                char room[CMSG_SPACE(253 * sizeof(int))];
        } control = { 0 };
        struct iovec iov = { (void *)bytes, len };
        struct msghdr msg = { .msg_iov = &iov,
                              .msg_iovlen = 1,
                              .msg_control = &control,
                              .msg_controllen = CMSG_SPACE(many * sizeof(int)) };
        int *fds = (int *)(void *)CMSG_DATA(&control.head);

        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(many * sizeof(int));
        for (unsigned i = 0; i < many; i++)
                fds[i] = 2;
        assert_int_equal(sendmsg(pair[0], &msg, 0), len);
}

static void test_too_many_are_closed(void **state)
{
        static const unsigned many[] = { SYS_FDS_MAX + 1, SYS_FDS_MAX + 2, 100, 253 };
        unsigned before = count_fds();

        for (unsigned i = 0; i < CAY_COUNT(many); i++) {
                int fds[SYS_FDS_MAX];
                unsigned count = 0;
                char bytes[8];

                send_many(many[i], "x", 1);
                assert_int_equal(sys_recv_fds(pair[1], bytes, sizeof(bytes), fds, &count, 0), -EMSGSIZE);
                assert_int_equal(count, 0);
                assert_int_equal(count_fds(), before);
        }
}

static void test_cut_message_closes_all(void **state)
{
        int fds[SYS_FDS_MAX], out[] = { 2, 2, 2 };
        unsigned count = 0, before = count_fds();
        char bytes[4];

        assert_int_equal(sys_send_fds(pair[0], "too long", 8, out, 3, 0), 8);
        assert_int_equal(sys_recv_fds(pair[1], bytes, sizeof(bytes), fds, &count, 0), -EMSGSIZE);
        assert_int_equal(count, 0);
        assert_int_equal(count_fds(), before);
        /* The next message is whole again. */
        assert_int_equal(sys_send_fds(pair[0], "ok", 2, NULL, 0, 0), 2);
        assert_int_equal(sys_recv_fds(pair[1], bytes, sizeof(bytes), fds, &count, 0), 2);
}

static void test_exactly_full(void **state)
{
        int fds[SYS_FDS_MAX];
        unsigned count;
        char bytes[4];

        assert_int_equal(sys_send_fds(pair[0], "1234", 4, NULL, 0, 0), 4);
        assert_int_equal(sys_recv_fds(pair[1], bytes, sizeof(bytes), fds, &count, 0), 4);
}

static void test_errors(void **state)
{
        int fds[SYS_FDS_MAX], bad = 9999;
        unsigned count = 5;
        char bytes[4];

        assert_int_equal(sys_recv_fds(pair[1], bytes, sizeof(bytes), fds, &count, MSG_DONTWAIT), -EAGAIN);
        assert_int_equal(sys_send_fds(pair[0], "x", 1, &bad, 1, 0), -EBADF);
        close(pair[0]);
        pair[0] = -1;
        assert_int_equal(sys_recv_fds(pair[1], bytes, sizeof(bytes), fds, &count, 0), 0);
        assert_int_equal(count, 0);
        /* No SIGPIPE: the test would end here. */
        assert_int_equal(sys_send_fds(pair[1], "x", 1, NULL, 0, 0), -EPIPE);
}

static void on_alarm(int signo)
{
        (void)signo;
}

static void test_interrupted(void **state)
{
        struct sigaction quick = { .sa_handler = on_alarm }; /* no SA_RESTART */
        int fds[SYS_FDS_MAX], status;
        unsigned count;
        char bytes[4];
        pid_t parent = getpid(), pid;

        sigaction(SIGALRM, &quick, NULL);
        pid = fork();
        if (pid == 0) {
                for (int i = 0; i < 3; i++) {
                        nap_ms(20);
                        kill(parent, SIGALRM);
                }
                nap_ms(20);
                _exit(sys_send_fds(pair[0], "late", 4, NULL, 0, 0) == 4 ? 0 : 1);
        }
        assert_int_equal(sys_recv_fds(pair[1], bytes, sizeof(bytes), fds, &count, 0), 4);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        signal(SIGALRM, SIG_DFL);
}

/* The kernel says who wrote, whatever the writer says; what comes along is dropped. */
static void test_sender(void **state)
{
        unsigned before = count_fds();
        const int yes = 1, out[] = { 2, 2 };
        pid_t pid, told = 77;
        uid_t uid = 77;
        char bytes[8];

        assert_int_equal(sys_send_fds(pair[0], "x", 1, NULL, 0, 0), 1);
        assert_int_equal(sys_recv_sender(pair[1], bytes, sizeof(bytes), &told, &uid, 0), 1);
        assert_int_equal(told, 0); /* nobody had asked */
        assert_int_equal(setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)), 0);
        pid = fork();
        if (pid == 0)
                _exit(sys_send_fds(pair[0], "hello", 5, out, 2, 0) != 5);
        assert_true(pid > 0);
        assert_int_equal(sys_recv_sender(pair[1], bytes, sizeof(bytes), &told, &uid, 0), 5);
        assert_memory_equal(bytes, "hello", 5);
        assert_int_equal(told, pid);
        assert_int_equal(uid, getuid());
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(count_fds(), before);
        assert_int_equal(sys_recv_sender(pair[1], bytes, sizeof(bytes), &told, &uid, MSG_DONTWAIT), -EAGAIN);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_fds_arrive, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_none, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_most, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_too_many_are_closed, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_cut_message_closes_all, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_exactly_full, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_sender, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_errors, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_interrupted, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
