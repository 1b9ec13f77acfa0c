/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/cay-docker/fake_front.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/sys/unix_socket.h"

#define ARGS_MAX 16

/* In the child. The link is its descriptor 3; what it says to people is not looked at. */
_Noreturn static void be_broker(int link, int keeper, const char *socket, const char *const *more)
{
        char path[512], host[80];
        const char *argv[ARGS_MAX] = { path, "--host", host, "--image", "img", "--instance", "unit" };

        for (unsigned i = 7; *more && i < ARGS_MAX - 1; i++)
                argv[i] = *more++;
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever becomes of the test */
        snprintf(path, sizeof(path), "%s/cay-docker", getenv("CAY_BUILD_DIR"));
        snprintf(host, sizeof(host), "unix://%s", socket);
        dup2(open("/dev/null", O_WRONLY), 2);
        keeper = keeper >= 0 ? fcntl(keeper, F_DUPFD_CLOEXEC, 10) : -1;
        dup2(fcntl(link, F_DUPFD_CLOEXEC, 10),
             3); /* also where it is 3 already: the copy outlives the exec */
        if (keeper >= 0)
                dup2(keeper, HELPER_KEEPER_FD);
        execv(path, (char *const *)argv);
        _exit(127);
}

static void start(struct fake_front *f, const struct fake_docker *d, int keeper, const char *const *more)
{
        int socks[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
        *f = (struct fake_front){ .link = socks[0], .keeper = -1 };
        f->broker = fork();
        assert_true(f->broker >= 0);
        if (f->broker == 0)
                be_broker(socks[1], keeper, d->socket, more);
        close(socks[1]);
}

void fake_front_start(struct fake_front *f, const struct fake_docker *d, const char *const *more)
{
        start(f, d, -1, more);
}

void fake_front_start_kept(struct fake_front *f, const struct fake_docker *d)
{
        const char *const more[] = { "--keep", NULL };
        int socks[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
        start(f, d, socks[1], more);
        f->keeper = socks[0];
        close(socks[1]);
}

int fake_front_end_keeper(struct fake_front *f)
{
        int status;

        close(f->keeper);
        f->keeper = -1;
        assert_int_equal(waitpid(f->broker, &status, 0), f->broker);
        f->broker = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void fake_front_stop(struct fake_front *f)
{
        close(f->link);
        if (f->keeper >= 0)
                close(f->keeper);
        if (f->broker > 0) {
                kill(f->broker, SIGKILL);
                waitpid(f->broker, NULL, 0);
        }
}

void fake_front_say(struct fake_front *f, struct docker_request *req, const int *fds, unsigned count)
{
        req->magic = DOCKER_WIRE_MAGIC;
        req->size = sizeof(*req);
        if (req->seq == 0)
                req->seq = ++f->seq;
        assert_int_equal(sys_send_fds(f->link, req, sizeof(*req), fds, count, MSG_NOSIGNAL), sizeof(*req));
}

bool fake_front_hear(struct fake_front *f, struct docker_answer *ret)
{
        struct pollfd p = { .fd = f->link, .events = POLLIN };

        do {
                assert_int_equal(poll(&p, 1, WAIT_MS), 1);
                if (recv(f->link, ret, sizeof(*ret), 0) != (ssize_t)sizeof(*ret))
                        return false;
                f->gone += ret->type == DOCKER_box_gone;
                f->lost += ret->type == DOCKER_files_lost;
        } while (ret->seq == 0);
        return true;
}

uint32_t fake_front_hear_code(struct fake_front *f, const struct docker_request *req)
{
        struct docker_answer a;

        assert_true(fake_front_hear(f, &a));
        assert_int_equal(a.type, req->type);
        assert_int_equal(a.seq, req->seq);
        return a.code;
}

uint32_t fake_front_ask(struct fake_front *f, struct docker_request *req, const int *fds, unsigned count)
{
        fake_front_say(f, req, fds, count);
        return fake_front_hear_code(f, req);
}

uint32_t fake_front_greet(struct fake_front *f)
{
        struct docker_request req = { .type = DOCKER_hello, .hello.version = DOCKER_WIRE_VERSION };

        return fake_front_ask(f, &req, NULL, 0);
}
