/* SPDX-License-Identifier: Apache-2.0 */
/* Asking Docker: a fake one on a socket of ours answers, talks nonsense, says nothing, or is not there. */
#include "doctor_test.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "foundation/base/cleanup.h"
#include "cay/doctor/facts_priv.h"

#define PING "HTTP/1.0 200 OK\r\nApi-Version: 1.41\r\n\r\nOK"
#define VERSION                                                                                              \
        "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"                                          \
        "{\"Components\":[{\"Version\":\"no\"}],\"Version\":\"20.10.24\",\"ApiVersion\":\"1.41\"}"

struct fake {
        char dir[32], path[64], host[96];
        int fd;
        pid_t pid;
};

/* Answers each of two connections with what it is given, by what is asked for; NULL: says nothing. */
static void serve(int fd, const char *ping, const char *version)
{
        int peers[2] = { accept(fd, NULL, NULL), accept(fd, NULL, NULL) };

        for (unsigned i = 0; i < 2; i++) {
                char request[256];
                ssize_t n = read(peers[i], request, sizeof(request) - 1);
                const char *answer;

                if (n <= 0)
                        continue;
                request[n] = '\0';
                answer = strstr(request, "GET /_ping HTTP/1.0\r\n") == request ? ping : version;
                if (answer == NULL)
                        pause();
                if (write(peers[i], answer, strlen(answer)) < 0)
                        _exit(1);
                shutdown(peers[i], SHUT_RDWR);
        }
        pause();
}

static void start(struct fake *f, const char *ping, const char *version)
{
        f->pid = fork();
        assert_true(f->pid >= 0);
        if (f->pid == 0)
                serve(f->fd, ping, version);
        close(f->fd);
}

static void open_unix(struct fake *f)
{
        struct sockaddr_un a = { .sun_family = AF_UNIX };

        snprintf(f->dir, sizeof(f->dir), "/tmp/cay-docker-XXXXXX");
        assert_non_null(mkdtemp(f->dir));
        snprintf(f->path, sizeof(f->path), "%s/sock", f->dir);
        snprintf(f->host, sizeof(f->host), "unix://%s", f->path);
        snprintf(a.sun_path, sizeof(a.sun_path), "%s", f->path);
        f->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(f->fd, (struct sockaddr *)&a, sizeof(a)), 0);
        assert_int_equal(listen(f->fd, 4), 0);
}

static void stop(struct fake *f)
{
        if (f->pid > 0) {
                kill(f->pid, SIGKILL);
                waitpid(f->pid, NULL, 0);
        }
        unlink(f->path);
        rmdir(f->dir);
}

static struct cay_docker ask_for(const char *host, unsigned deadline_ms)
{
        struct cay_doctor_facts f = { 0 };

        cay_doctor_collect_docker(host, deadline_ms, &f);
        return f.docker;
}

/* What comes at once, on a machine that has something else to do. */
static struct cay_docker ask(const char *host)
{
        return ask_for(host, 60000);
}

static void test_answers(void **state)
{
        struct fake f = { 0 };
        struct cay_docker d;

        open_unix(&f);
        start(&f, PING, VERSION);
        d = ask(f.host);
        stop(&f);
        assert_int_equal(d.state, CAY_DOCKER_ANSWERS);
        assert_string_equal(d.version, "20.10.24");
        assert_string_equal(d.api, "1.41");
        assert_string_equal(d.where, f.host);
        assert_true(d.asked_for);
}

static void test_tcp(void **state)
{
        struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        socklen_t len = sizeof(a);
        struct fake f = { 0 };
        struct cay_docker d;

        f.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(f.fd, (struct sockaddr *)&a, sizeof(a)), 0);
        assert_int_equal(getsockname(f.fd, (struct sockaddr *)&a, &len), 0);
        snprintf(f.host, sizeof(f.host), "tcp://127.0.0.1:%u", ntohs(a.sin_port));
        d = ask(f.host); /* the port is ours, and nobody listens yet */
        assert_int_equal(d.state, CAY_DOCKER_DEAD);
        assert_int_equal(d.sys, -ECONNREFUSED);
        assert_int_equal(listen(f.fd, 4), 0);
        start(&f, PING, VERSION);
        d = ask(f.host);
        stop(&f);
        assert_int_equal(d.state, CAY_DOCKER_ANSWERS);
}

static void test_not_docker(void **state)
{
        static const struct {
                const char *ping, *version;
        } rows[] = {
                { "HTTP/1.0 404 Not Found\r\n\r\n", VERSION },
                { "SSH-2.0-OpenSSH_9.2\r\n", VERSION },
                { "", VERSION },
                { PING, "HTTP/1.0 500 no\r\n\r\n{}" },
                { PING, "HTTP/1.0 200 OK\r\n\r\n{\"Version\":1}" },
                { PING, "HTTP/1.0 200 OK\r\n\r\n{\"Version\":\"\033[31m\"}" },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                struct fake f = { 0 };
                struct cay_docker d;

                open_unix(&f);
                start(&f, rows[i].ping, rows[i].version);
                d = ask(f.host);
                stop(&f);
                if (d.state != CAY_DOCKER_ODD)
                        fail_msg("row %u: state %d, errno %d", i, d.state, -d.sys);
        }
}

static void test_silent(void **state)
{
        struct fake f = { 0 };
        struct cay_docker d;

        open_unix(&f);
        start(&f, NULL, NULL);
        d = ask_for(f.host, 300);
        stop(&f);
        assert_int_equal(d.state, CAY_DOCKER_DEAD);
        assert_int_equal(d.sys, -ETIMEDOUT);
        assert_string_equal(d.where, f.host); /* what the child knew is not lost */
}

static void test_absent(void **state)
{
        struct fake f = { 0 };
        struct cay_docker d;

        open_unix(&f);
        close(f.fd);
        d = ask(f.host);
        assert_int_equal(d.state, CAY_DOCKER_DEAD); /* a socket that nobody listens at */
        unlink(f.path);
        d = ask(f.host);
        stop(&f);
        assert_int_equal(d.state, CAY_DOCKER_ABSENT);
        d = ask("ssh://me@host");
        assert_int_equal(d.state, CAY_DOCKER_UNKNOWN);
        d = ask(NULL);
        assert_false(d.asked_for);
        assert_string_equal(d.where, "/var/run/docker.sock");
}

static void test_denied(void **state)
{
        struct fake f = { 0 };
        int status;
        pid_t pid;

        if (geteuid() != 0)
                skip();
        open_unix(&f);
        chmod(f.dir, 0700);
        pid = fork();
        if (pid == 0) {
                if (setresgid(45678, 45678, 45678) < 0 || setresuid(45678, 45678, 45678) < 0)
                        _exit(2);
                _exit(ask(f.host).state == CAY_DOCKER_DENIED ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        close(f.fd);
        stop(&f);
        assert_int_equal(status, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_answers),    cmocka_unit_test(test_tcp),
                cmocka_unit_test(test_not_docker), cmocka_unit_test(test_silent),
                cmocka_unit_test(test_absent),     cmocka_unit_test(test_denied)
        };

        signal(SIGPIPE, SIG_IGN);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
