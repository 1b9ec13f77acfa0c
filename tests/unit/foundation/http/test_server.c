/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners and limits: TCP, unix sockets and inherited ones; one connection too many; no descriptors left.
 */
#include "unit/foundation/http/http_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "fake/http_listen.h"

enum { CLIENTS = 8 };

static int clients[CLIENTS];
static char folder[64], path[96];

static int setup(void **state)
{
        for (unsigned i = 0; i < CLIENTS; i++)
                clients[i] = -1;
        snprintf(folder, sizeof(folder), "/tmp/cay-http-XXXXXX");
        if (!mkdtemp(folder))
                return -1;
        snprintf(path, sizeof(path), "%s/socket", folder);
        return test_setup(state);
}

static int teardown(void **state)
{
        for (unsigned i = 0; i < CLIENTS; i++) {
                if (clients[i] >= 0)
                        close(clients[i]);
        }
        test_teardown(state);
        unlink(path);
        return rmdir(folder);
}

static void restart(void)
{
        cay_http_server_free(rig.server);
        test_start();
}

static int connect_tcp(uint16_t port)
{
        struct sockaddr_in at = { .sin_family = AF_INET,
                                  .sin_port = htons(port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
        return fd;
}

static int connect_unix(const char *name)
{
        struct sockaddr_un at = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(at.sun_path, sizeof(at.sun_path), "%s", name);
        if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
                close(fd);
                return -1;
        }
        return fd;
}

/* The rig reads what this client gets, until `what` is there, it is closed, or much time has gone. */
static void use(int fd, const char *send_text, const char *what)
{
        rig.fd = fd;
        rig.closed = false;
        rig.got_len = 0;
        rig.got[0] = '\0';
        if (*send_text)
                assert_int_equal(send(fd, send_text, strlen(send_text), MSG_NOSIGNAL), strlen(send_text));
        for (unsigned i = 0; i < 10000 && !rig.closed && !(*what && strstr(rig.got, what)); i++) {
                assert_int_equal(cay_loop_round(rig.loop, 2), 0);
                test_read();
        }
        rig.fd = -1;
}

static const char hello[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/* A connection that is busy: its request is held and answered at the end. */
static struct cay_http_request *busy(int fd)
{
        rig.req = NULL;
        rig.fd = fd;
        rig.closed = false;
        assert_int_equal(send(fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n", 31, 0), 31);
        for (unsigned i = 0; i < 10000 && !rig.req; i++)
                assert_int_equal(cay_loop_round(rig.loop, 2), 0);
        rig.fd = -1;
        assert_non_null(rig.req);
        return rig.req;
}

static void listens_on_tcp(void **state)
{
        struct cay_error err = { 0 };
        int number = http_listen(rig.server, "127.0.0.1", 0, NULL, &err);
        uint16_t port = http_listen_port;

        assert_int_equal(number, 0);
        assert_true(port > 0);
        clients[0] = connect_tcp(port);
        use(clients[0], hello, "hello");
        assert_int_equal(test_status(), 200);
        busy(clients[0]);
        assert_string_equal(rig.req->peer.address, "127.0.0.1");
        assert_true(rig.req->peer.is_loopback && !rig.req->peer.is_unix && !rig.req->peer.is_tls);
        assert_true(rig.req->peer.port > 0);
        cay_http_response_send(rig.req, 200, NULL, "", 0);

        assert_int_equal(http_listen(rig.server, "127.0.0.1", port, NULL, &err), -1);
        assert_int_equal(err.code, CAY_EXISTS);
        assert_non_null(strstr(err.msg, "choose another port"));
        assert_int_equal(http_listen(rig.server, "no host", 0, NULL, &err), -1);
        assert_int_equal(http_listen(rig.server, "localhost", 0, NULL, &err), 1);
}

static void listens_on_a_unix_socket(void **state)
{
        struct cay_error err = { 0 };
        struct stat st;

        assert_int_equal(http_listen_unix(rig.server, path, 0640, &err), 0);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0640);
        clients[0] = connect_unix(path);
        busy(clients[0]);
        assert_true(rig.req->peer.is_unix && rig.req->peer.is_loopback);
        assert_int_equal(rig.req->peer.cred.uid, geteuid());
        assert_int_equal(rig.req->peer.cred.pid, getpid());
        assert_string_equal(rig.req->peer.address, "");
        cay_http_response_send(rig.req, 200, NULL, "", 0);

        assert_int_equal(http_listen_unix(rig.server, path, 0640, &err), -1);
        assert_int_equal(err.code, CAY_EXISTS); /* it is alive */
}

static void replaces_dead_sockets_only(void **state)
{
        struct sockaddr_un at = { .sun_family = AF_UNIX };
        struct cay_error err = { 0 };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
        assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
        close(fd); /* left behind, as by a killed daemon */
        assert_int_equal(http_listen_unix(rig.server, path, 0600, &err), 0);
        restart();

        unlink(path);
        fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        close(fd);
        assert_int_equal(http_listen_unix(rig.server, path, 0600, &err), -1);
        assert_non_null(strstr(err.msg, "not a socket"));
        assert_int_equal(access(path, F_OK), 0);
}

static void takes_a_listening_socket(void **state)
{
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        struct cay_error err = { 0 };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(cay_http_server_listen_take(rig.server, fd, NULL, &err), -1);
        assert_int_equal(fcntl(fd, F_GETFD), -1); /* taken also on failure */
        fd = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
        assert_int_equal(listen(fd, 8), 0);
        http_listen_port = cay_listen_port(fd);
        assert_int_equal(cay_http_server_listen_take(rig.server, fd, NULL, &err), 0);
        clients[0] = connect_tcp(http_listen_port);
        use(clients[0], hello, "hello");
        assert_int_equal(test_status(), 200);
}

static void the_longest_idle_makes_room(void **state)
{
        struct cay_http_request *req;
        struct cay_error err;

        rig.config.connections = 3;
        restart();
        assert_int_equal(http_listen(rig.server, "127.0.0.1", 0, NULL, &err), 0);
        for (unsigned i = 0; i < 3; i++) {
                clients[i] = connect_tcp(http_listen_port);
                use(clients[i], hello, "hello");
        }
        req = busy(clients[0]);
        clients[3] = connect_tcp(http_listen_port);
        use(clients[3], hello, "hello");
        assert_int_equal(test_status(), 200);
        assert_int_equal(cay_http_server_count(rig.server), 3);
        use(clients[1], "", ""); /* idle for longer than the third */
        assert_true(rig.closed);
        use(clients[2], hello, "hello");
        assert_int_equal(test_status(), 200);
        cay_http_response_send(req, 200, NULL, "", 0);
}

static void one_too_many_is_told(void **state)
{
        struct cay_http_request *held[2];
        struct cay_error err;

        rig.config.connections = 2;
        restart();
        assert_int_equal(http_listen(rig.server, "127.0.0.1", 0, NULL, &err), 0);
        for (unsigned i = 0; i < 2; i++) {
                clients[i] = connect_tcp(http_listen_port);
                held[i] = busy(clients[i]);
        }
        clients[2] = connect_tcp(http_listen_port);
        use(clients[2], hello, "try again");
        assert_int_equal(test_status(), 503);
        close(clients[2]);
        clients[2] = -1;
        cay_http_response_send(held[0], 200, NULL, "", 0);
        use(clients[0], "", "200 OK");
        clients[2] = connect_tcp(http_listen_port);
        use(clients[2], hello, "hello"); /* takes the place of the one that is idle now */
        assert_int_equal(test_status(), 200);
        cay_http_response_send(held[1], 200, NULL, "", 0);
}

/* There are only a few places for those who are refused. */
static void who_is_refused_leaves_soon(void **state)
{
        struct cay_http_request *held;
        struct cay_error err;

        rig.config.connections = 1;
        restart();
        assert_int_equal(http_listen(rig.server, "127.0.0.1", 0, NULL, &err), 0);
        clients[0] = connect_tcp(http_listen_port);
        held = busy(clients[0]);
        clients[1] = connect_tcp(http_listen_port);
        use(clients[1], hello, "try again");
        assert_int_equal(test_status(), 503);
        for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(cay_http_server_count(rig.server), 2);
                assert_int_equal(send(clients[1], "more", 4, MSG_NOSIGNAL), 4);
                test_pass(1000);
        }
        test_pass(1);
        assert_int_equal(cay_http_server_count(rig.server), 1);
        cay_http_response_send(held, 200, NULL, "", 0);
}

/* Whoever fills the TCP listener does not close the unix socket's. */
static void a_unix_socket_stays_open(void **state)
{
        struct cay_http_request *held[2];
        struct cay_error err;

        rig.config.connections = 2;
        restart();
        assert_int_equal(http_listen(rig.server, "127.0.0.1", 0, NULL, &err), 0);
        assert_int_equal(http_listen_unix(rig.server, path, 0600, &err), 1);
        for (unsigned i = 0; i < 2; i++) {
                clients[i] = connect_tcp(http_listen_port);
                held[i] = busy(clients[i]);
        }
        clients[2] = connect_unix(path);
        use(clients[2], hello, "hello");
        assert_int_equal(test_status(), 200);
        for (unsigned i = 0; i < 2; i++)
                cay_http_response_send(held[i], 200, NULL, "", 0);
}

static struct cay_http_request *held_back[3];

static void one_too_many_of_a_peer_is_told(void **state)
{
        struct cay_http_request *held[2];
        struct cay_error err;

        rig.config.per_peer = 2;
        restart();
        assert_int_equal(http_listen(rig.server, "127.0.0.1", 0, NULL, &err), 0);
        assert_int_equal(http_listen_unix(rig.server, path, 0600, &err), 1);
        for (unsigned i = 0; i < 2; i++) {
                clients[i] = connect_tcp(http_listen_port);
                held[i] = busy(clients[i]);
        }
        clients[2] = connect_tcp(http_listen_port);
        use(clients[2], hello, "from this client");
        assert_int_equal(test_status(), 429);
        clients[3] = connect_unix(path); /* somebody else */
        use(clients[3], hello, "hello");
        assert_int_equal(test_status(), 200);
        cay_http_response_send(held[0], 200, NULL, "", 0);
        use(clients[0], "", "200 OK");
        clients[4] = connect_tcp(http_listen_port);
        use(clients[4], hello, "hello"); /* takes the place of the one that is idle now */
        assert_int_equal(test_status(), 200);
        use(clients[0], "", "");
        assert_true(rig.closed);
        cay_http_response_send(held[1], 200, NULL, "", 0);
}

/*
 * Whoever says nothing, or half of it, makes room for the next of the same peer; who has shown a token goes
 * last.
 */
static void the_silent_lock_nobody_out(void **state)
{
        static const char half[] = "GET /x HTTP/1.1\r\nHo",
                          slow[] = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx";
        struct cay_http_request *req;
        struct cay_error err;

        rig.config.per_peer = 4;
        restart();
        assert_int_equal(http_listen(rig.server, "127.0.0.1", 0, NULL, &err), 0);
        clients[0] = connect_tcp(http_listen_port);
        req = busy(clients[0]);
        cay_http_request_own(req, "somebody");
        cay_http_response_send(req, 200, NULL, "", 0);
        use(clients[0], "", "200 OK");
        clients[1] = connect_tcp(http_listen_port);
        use(clients[1], hello, "hello");
        clients[2] = connect_tcp(http_listen_port);
        assert_int_equal(send(clients[2], slow, sizeof(slow) - 1, 0), sizeof(slow) - 1);
        clients[3] = connect_tcp(http_listen_port);
        assert_int_equal(send(clients[3], half, sizeof(half) - 1, 0), sizeof(half) - 1);
        for (unsigned i = 0; i < 10000 && (cay_http_server_count(rig.server) < 4 || rig.requests < 3); i++)
                assert_int_equal(cay_loop_round(rig.loop, 2), 0);
        for (unsigned i = 0; i < 3; i++) {
                static const unsigned order[] = { 1, 3, 2 }; /* those who wait before those who are slow */

                clients[4 + i] = connect_tcp(http_listen_port);
                held_back[i] = busy(clients[4 + i]);
                use(clients[order[i]], "", "");
                assert_true(rig.closed);
        }
        assert_int_equal(cay_http_server_count(rig.server), 4);
        use(clients[0], hello, "hello");
        assert_int_equal(test_status(), 200);
        for (unsigned i = 0; i < 3; i++)
                cay_http_response_send(held_back[i], 200, NULL, "", 0);
}

static void without_descriptors_it_waits(void **state)
{
        struct cay_http_request *req;
        struct rlimit before, low;
        struct cay_error err;
        int spare;

        /* Not TCP: of that nobody knows when a connection has come to the listening end. */
        assert_int_equal(http_listen_unix(rig.server, path, 0600, &err), 0);
        clients[0] = connect_unix(path);
        req = busy(clients[0]);
        clients[1] = connect_unix(path);
        spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
        close(spare);
        getrlimit(RLIMIT_NOFILE, &before);
        low = (struct rlimit){ .rlim_cur = (rlim_t)spare, .rlim_max = before.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
        for (unsigned i = 0; i < 20; i++)
                assert_int_equal(cay_loop_round(rig.loop, 0), 0);
        assert_int_equal(cay_http_server_count(rig.server), 1); /* it stands in the backlog */
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        for (unsigned i = 0; i < 20; i++)
                assert_int_equal(cay_loop_round(rig.loop, 0), 0);
        assert_int_equal(cay_http_server_count(rig.server),
                         1); /* it does not spin: the next try has its time */
        test_now_ms += 101;
        use(clients[1], hello, "hello");
        assert_int_equal(test_status(), 200);
        cay_http_response_send(req, 200, NULL, "", 0);
}

static bool is_idle;

static void on_idle(struct cay_http_server *s)
{
        is_idle = true;
}

static void stops_when_the_last_has_ended(void **state)
{
        static const struct cay_http_server_ops ops = { .on_request = test_on_request,
                                                        .make_error = test_make_error,
                                                        .on_idle = on_idle };
        struct cay_http_request *req;
        struct cay_error err;

        rig.config.ops = &ops;
        is_idle = false;
        restart();
        assert_int_equal(http_listen_unix(rig.server, path, 0600, &err), 0);
        clients[0] = connect_unix(path);
        clients[1] = connect_unix(path);
        use(clients[0], hello, "hello");
        req = busy(clients[1]);
        cay_http_server_stop(rig.server);
        assert_int_equal(connect_unix(path), -1);
        use(clients[0], "", "");
        assert_true(rig.closed);
        assert_false(is_idle);
        cay_http_response_send(req, 200, NULL, "bye", 3);
        use(clients[1], "", "bye");
        assert_non_null(strstr(rig.got, "Connection: close"));
        for (unsigned i = 0; i < 10000 && !is_idle; i++)
                assert_int_equal(cay_loop_round(rig.loop, 1), 0);
        assert_true(is_idle);
        assert_int_equal(cay_http_server_count(rig.server), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                T(listens_on_tcp),
                T(listens_on_a_unix_socket),
                T(replaces_dead_sockets_only),
                T(takes_a_listening_socket),
                T(the_longest_idle_makes_room),
                T(the_silent_lock_nobody_out),
                T(one_too_many_is_told),
                T(who_is_refused_leaves_soon),
                T(a_unix_socket_stays_open),
                T(one_too_many_of_a_peer_is_told),
                T(without_descriptors_it_waits),
                T(stops_when_the_last_has_ended),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
