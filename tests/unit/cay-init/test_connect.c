/* SPDX-License-Identifier: Apache-2.0 */
/* CONNECT: bytes both ways, half-closes, refusals, and that neither side can stop the other direction. */

#include "test_files.h"
#include "foundation/sys/fd.h"

#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

struct side { /* the front's ends of a worker's pipes */
        int in, out;
        pid_t pid;
        struct cay_worker_result *res;
};

enum { V4, V6 };

/* Port 0: one that is free. */
static int bind_to(int which, uint16_t port)
{
        struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
                                   .sin6_port = htons(port),
                                   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
        struct sockaddr_in v4 = { .sin_family = AF_INET,
                                  .sin_port = htons(port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        int fd = socket(which == V4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd >= 0 &&
            bind(fd, which == V4 ? (void *)&v4 : (void *)&v6, which == V4 ? sizeof(v4) : sizeof(v6)) < 0) {
                int error = errno;

                close(fd);
                errno = error;
                return -1;
        }
        return fd;
}

static uint16_t port_of(int fd)
{
        struct sockaddr_in v4 = { 0 };
        socklen_t len = sizeof(v4);

        assert_int_equal(getsockname(fd, (struct sockaddr *)&v4, &len), 0);
        return ntohs(v4.sin_port);
}

/*
 * A port that is ours in both families, on which nobody listens yet: whoever had the other one would be
 * spoken to. Without IPv6 ret[V6] is -1.
 */
static uint16_t bind_both(int ret[2])
{
        for (unsigned i = 0; i < 1000; i++) {
                ret[V4] = bind_to(V4, 0);
                assert_true(ret[V4] >= 0);
                ret[V6] = bind_to(V6, port_of(ret[V4]));
                if (ret[V6] >= 0 || errno != EADDRINUSE)
                        return port_of(ret[V4]);
                close(ret[V4]);
        }
        fail_msg("no port is free");
        return 0;
}

static int listen_on_v4(uint16_t *ret_port)
{
        int fd = bind_to(V4, 0);

        assert_true(fd >= 0);
        assert_int_equal(listen(fd, 8), 0);
        *ret_port = port_of(fd);
        return fd;
}

/* A worker in a child, as cay-init runs it. */
static struct side start(uint16_t port)
{
        struct side s;
        int in[2], out[2];

        s.res = mmap(NULL, sizeof(*s.res), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(s.res, MAP_FAILED);
        assert_int_equal(pipe2(in, O_CLOEXEC), 0);
        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
        s.pid = fork();
        if (s.pid == 0) {
                struct cay_box_open open_msg = { .kind = CAY_BOX_CONNECT, .connect = { port } };
                struct cay_worker_request req = {
                        .open = &open_msg, .path = "", .path2 = "", .in_fd = in[0], .out_fd = out[1]
                };

                close(in[1]);
                close(out[0]);
                signal(SIGPIPE, SIG_IGN);
                alarm(250);
                cay_connect_port(&req, s.res);
                _exit(0);
        }
        assert_true(s.pid > 0);
        close(in[0]);
        close(out[1]);
        s.in = in[1];
        s.out = out[0];
        return s;
}

static enum cay_code finish(struct side *s)
{
        enum cay_code code;
        int status;

        if (s->in >= 0)
                close(s->in);
        assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
        assert_int_equal(status, 0);
        close(s->out);
        code = (enum cay_code)s->res->code;
        munmap(s->res, sizeof(*s->res));
        return code;
}

static bool readable(int fd, int ms)
{
        struct pollfd p = { .fd = fd, .events = POLLIN };

        return poll(&p, 1, ms) == 1;
}

static int accept_one(int listener)
{
        assert_true(readable(listener, 60000));
        return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

static void bytes_go_both_ways(void **state)
{
        char got[16] = "";

        (void)state;
        for (int i = V4; i <= V6; i++) {
                int fds[2], peer;
                uint16_t port = bind_both(fds);
                struct side s;

                if (fds[i] < 0) {
                        print_message("no IPv6 here: ::1 is not tried\n");
                        close(fds[V4]);
                        continue;
                }
                assert_int_equal(listen(fds[i], 8), 0);
                s = start(port);
                peer = accept_one(fds[i]);
                assert_int_equal(write(s.in, "ping", 4), 4);
                assert_int_equal(sys_read_all(peer, got, 4), 4);
                assert_memory_equal(got, "ping", 4);
                assert_int_equal(write(peer, "pong", 4), 4);
                assert_int_equal(sys_read_all(s.out, got, 4), 4);
                assert_memory_equal(got, "pong", 4);
                close(peer);
                assert_int_equal(read(s.out, got, 1), 0);
                for (int k = V4; k <= V6; k++)
                        if (fds[k] >= 0)
                                close(fds[k]);
                assert_int_equal(finish(&s), CAY_OK);
        }
}

static void half_closes_are_passed_on(void **state)
{
        char got[16] = "";
        uint16_t port;
        int listener = listen_on_v4(&port), peer;
        struct side s = start(port);

        (void)state;
        peer = accept_one(listener);
        /* the front has said all; the server answers after the end of the request */
        assert_int_equal(write(s.in, "request", 7), 7);
        close(s.in);
        s.in = -1;
        assert_int_equal(sys_read_all(peer, got, sizeof(got)), 7);
        assert_int_equal(write(peer, "answer", 6), 6);
        close(peer);
        assert_int_equal(sys_read_all(s.out, got, sizeof(got)), 6);
        assert_memory_equal(got, "answer", 6);
        assert_int_equal(finish(&s), CAY_OK);

        /* the server has said all, and still reads */
        s = start(port);
        peer = accept_one(listener);
        assert_int_equal(shutdown(peer, SHUT_WR), 0);
        assert_int_equal(read(s.out, got, 1), 0);
        usleep(50000);
        assert_int_equal(write(s.in, "later", 5), 5);
        assert_int_equal(sys_read_all(peer, got, 5), 5);
        close(peer);
        close(listener);
        assert_int_equal(finish(&s), CAY_OK);
}

static void nobody_listens(void **state)
{
        int held[2]; /* or somebody else could get it meanwhile */
        uint16_t port = bind_both(held);
        char expected[64];
        siginfo_t ended;
        struct side s;

        (void)state;
        s = start(port);
        assert_int_equal(read(s.out, expected, 1), 0);
        snprintf(expected, sizeof(expected), "nothing listens on port %u inside the sandbox", port);
        assert_int_equal(waitid(P_PID, (id_t)s.pid, &ended, WEXITED | WNOWAIT), 0);
        assert_string_equal(s.res->msg, expected);
        assert_int_equal(finish(&s), CAY_UNAVAILABLE);
        close(held[V4]);
        if (held[V6] >= 0)
                close(held[V6]);
        s = start(0);
        assert_int_equal(finish(&s), CAY_INVALID);
}

/* The server floods and the front does not read: what the front sends still arrives. */
static void one_direction_does_not_stop_the_other(void **state)
{
        static char flood[1 << 20];
        char got[4] = "";
        uint16_t port;
        int listener = listen_on_v4(&port), peer;
        struct side s = start(port);
        uint64_t sent = 0, seen = 0;
        ssize_t n;

        (void)state;
        peer = accept_one(listener);
        fcntl(peer, F_SETFL, O_NONBLOCK);
        for (unsigned idle = 0; idle < 20;) {
                n = send(peer, flood, sizeof(flood), MSG_NOSIGNAL);
                if (n > 0) {
                        sent += (uint64_t)n;
                        idle = 0;
                } else {
                        usleep(10000);
                        idle++;
                }
        }
        assert_int_equal(write(s.in, "hey", 3), 3);
        fcntl(peer, F_SETFL, 0);
        assert_int_equal(sys_read_all(peer, got, 3), 3);
        assert_memory_equal(got, "hey", 3);
        shutdown(peer, SHUT_WR);
        while ((n = read(s.out, flood, sizeof(flood))) > 0)
                seen += (uint64_t)n;
        assert_int_equal(seen, sent);
        close(peer);
        close(listener);
        assert_int_equal(finish(&s), CAY_OK);
}

static void much_data_arrives_whole(void **state)
{
        enum { TOTAL = 64 << 20 };
        static char block[1 << 16];
        uint16_t port;
        int listener = listen_on_v4(&port), peer;
        struct side s = start(port);
        uint64_t seen = 0, sum = 0, expected = 0;
        pid_t pid;
        ssize_t n;

        (void)state;
        peer = accept_one(listener);
        for (size_t i = 0; i < sizeof(block); i++)
                block[i] = (char)(i * 7 + i / 251);
        for (size_t i = 0; i < sizeof(block); i++)
                expected += (uint8_t)block[i] * (uint64_t)(TOTAL / sizeof(block));
        pid = fork(); /* an echo server */
        if (pid == 0) {
                static char buf[1 << 16];

                close(s.in);
                while ((n = read(peer, buf, sizeof(buf))) > 0)
                        if (sys_write_all(peer, buf, (size_t)n) < 0)
                                _exit(1);
                _exit(0);
        }
        close(peer);
        if (fork() == 0) {
                for (size_t i = 0; i < TOTAL / sizeof(block); i++)
                        if (sys_write_all(s.in, block, sizeof(block)) < 0)
                                _exit(1);
                _exit(0);
        }
        close(s.in);
        s.in = -1;
        while ((n = read(s.out, block, sizeof(block))) > 0) {
                for (ssize_t i = 0; i < n; i++)
                        sum += (uint8_t)block[i];
                seen += (uint64_t)n;
        }
        assert_int_equal(seen, TOTAL);
        assert_int_equal(sum, expected);
        assert_int_equal(s.res->bytes, 2 * (uint64_t)TOTAL);
        assert_int_equal(finish(&s), CAY_OK);
        close(listener);
        while (waitpid(-1, NULL, 0) > 0)
                ;
}

/* The server dies with a reset in the middle: the worker ends instead of spinning or hanging. */
static void resets_end_it(void **state)
{
        struct linger hard = { .l_onoff = 1, .l_linger = 0 };
        uint16_t port;
        int listener = listen_on_v4(&port), peer;
        struct side s = start(port);
        char got;

        (void)state;
        peer = accept_one(listener);
        assert_int_equal(write(s.in, "x", 1), 1);
        assert_int_equal(read(peer, &got, 1), 1); /* it is under way */
        assert_int_equal(setsockopt(peer, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)), 0);
        close(peer);
        assert_int_equal(read(s.out, &got, 1), 0);
        close(listener);
        assert_int_equal(finish(&s), CAY_OK);
}

/* SOCKET: the same on a path; what cannot be reached is told. */
static void sockets_have_paths(void **state)
{
        static const char *const bad[] = { "", "/nowhere/at/all" };
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        struct cay_worker_result res = { 0 };
        struct cay_box_open open_msg = { .kind = CAY_BOX_SOCKET };
        char got[4] = "", long_path[200];
        int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), in[2], out[2], peer, status;
        pid_t pid;

        (void)state;
        snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/test-connect-%d", (int)getpid());
        unlink(address.sun_path);
        assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(listen(listener, 1), 0);
        assert_int_equal(pipe2(in, O_CLOEXEC), 0);
        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
        pid = fork();
        if (pid == 0) {
                struct cay_worker_request req = { .open = &open_msg,
                                                  .path = address.sun_path,
                                                  .path2 = "",
                                                  .in_fd = in[0],
                                                  .out_fd = out[1] };

                close(in[1]);
                close(out[0]);
                alarm(250);
                cay_connect_socket(&req, &res);
                _exit(res.code == CAY_OK && res.bytes == 8 ? 0 : 1);
        }
        close(in[0]);
        close(out[1]);
        peer = accept_one(listener);
        assert_int_equal(write(in[1], "ping", 4), 4);
        assert_int_equal(sys_read_all(peer, got, 4), 4);
        assert_memory_equal(got, "ping", 4);
        assert_int_equal(write(peer, "pong", 4), 4);
        assert_int_equal(sys_read_all(out[0], got, 4), 4);
        assert_memory_equal(got, "pong", 4);
        close(peer);
        close(in[1]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        close(out[0]);
        close(listener);

        memset(long_path, 'x', sizeof(long_path) - 1);
        long_path[sizeof(long_path) - 1] = '\0';
        for (unsigned i = 0; i < 4; i++) { /* one whose server has gone; none; too long */
                struct cay_worker_request req = { .open = &open_msg,
                                                  .path = i == 0   ? address.sun_path
                                                          : i == 3 ? long_path
                                                                   : bad[i - 1],
                                                  .path2 = "",
                                                  .in_fd = -1,
                                                  .out_fd = -1 };

                res = (struct cay_worker_result){ 0 };
                cay_connect_socket(&req, &res);
                assert_int_equal(res.code, i == 1 || i == 3 ? CAY_INVALID : CAY_UNAVAILABLE);
        }
        unlink(address.sun_path);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(bytes_go_both_ways),
                cmocka_unit_test(half_closes_are_passed_on),
                cmocka_unit_test(nobody_listens),
                cmocka_unit_test(one_direction_does_not_stop_the_other),
                cmocka_unit_test(much_data_arrives_whole),
                cmocka_unit_test(resets_end_it),
                cmocka_unit_test(sockets_have_paths),
        };

        signal(SIGPIPE, SIG_IGN);
        return cmocka_run_group_tests_name("init/connect", tests, NULL, NULL);
}
