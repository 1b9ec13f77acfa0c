/* SPDX-License-Identifier: Apache-2.0 */
/* The front's end of the link to cay-docker. */
#include "engine/docker/docker_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/str.h"
#include "sys/syscalls.h"
#include "sys/unix_socket.h"

#define CLOSE_WAIT_MS 30000
#define KILLED_WAIT_MS 2000
#define LOOK_MS 5

/* Where Docker is, and what a test says; nothing else of the caller's environment. */
static void pick_environment(char **ret, unsigned max)
{
        static const char *const names[] = { "DOCKER_HOST=", "DOCKER_TLS_VERIFY=", "DOCKER_CERT_PATH=",
                                             "CAY_DOCKER_IMAGE=", "CAY_TEST_" };
        extern char **environ;
        unsigned count = 0;

        for (char **e = environ; *e && count + 1 < max; e++)
                for (unsigned i = 0; i < CAY_COUNT(names); i++)
                        if (cay_str_starts(*e, names[i]) && count + 1 < max)
                                ret[count++] = *e;
        ret[count] = NULL;
}

/* Safe in a program with threads: see engine/native/warden_client.c, which starts its helper in the same way. */
static int spawn(const char *path, int sock)
{
        char *argv[] = { (char *)(uintptr_t)path, NULL };
        char *env[16];
        volatile int failed = 0;
        sigset_t all, before;
        int pid;

        pick_environment(env, CAY_COUNT(env));
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pid = vfork();
        if (pid == 0) {
                struct sigaction plain = { .sa_handler = SIG_DFL };
                sigset_t none;

                setsid();
                sigaction(SIGCHLD, &plain, NULL);
                sigemptyset(&none);
                if (sock == DOCKER_FRONT_FD ? fcntl(sock, F_SETFD, 0) < 0 : dup2(sock, DOCKER_FRONT_FD) < 0)
                        failed = errno;
                else {
                        sys_close_range(DOCKER_FRONT_FD + 1, ~0u, 0);
                        sigprocmask(SIG_SETMASK, &none, NULL);
                        execve(path, argv, env);
                        failed = errno;
                }
                _exit(127);
        }
        if (pid < 0)
                failed = errno;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (!failed)
                return pid;
        while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
        return -failed;
}

static void lose(struct docker_client *c)
{
        struct docker_ask *asks = cay_take(c->asks);

        cay_watch_remove(&c->watch);
        if (c->sock >= 0)
                close(cay_take_fd(c->sock));
        while (asks) {
                struct docker_ask *ask = asks;

                asks = ask->next;
                ask->seq = 0;
                ask->on_answer(ask, NULL);
        }
}

static void on_answer(struct docker_client *c, const struct docker_answer *a)
{
        if (a->seq == 0) {
                c->on_news(c, a);
                return;
        }
        for (struct docker_ask **at = &c->asks; *at; at = &(*at)->next) {
                struct docker_ask *ask = *at;

                if (ask->seq != a->seq)
                        continue;
                *at = ask->next;
                ask->seq = 0;
                ask->on_answer(ask, a);
                return;
        }
}

static bool receive(struct docker_client *c)
{
        struct docker_answer a;
        ssize_t n = recv(c->sock, &a, sizeof(a), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return false;
        if (n != (ssize_t)sizeof(a) || a.magic != DOCKER_WIRE_MAGIC || a.size != sizeof(a)) {
                lose(c);
                c->on_lost(c);
                return false;
        }
        a.text[sizeof(a.text) - 1] = '\0';
        on_answer(c, &a);
        return c->sock >= 0;
}

static void on_ready(struct cay_watch *w, uint32_t events)
{
        struct docker_client *c = cay_container_of(w, struct docker_client, watch);

        while (receive(c))
                ;
}

int docker_client_open_link_take(struct cay_loop *loop, struct docker_client *c, int sock)
{
        int r;

        c->sock = sock;
        c->pidfd = -1;
        c->pid = 0;
        r = cay_watch_add(loop, &c->watch, sock, EPOLLIN, on_ready);
        if (r < 0)
                close(cay_take_fd(c->sock));
        return r;
}

int docker_client_open(struct cay_loop *loop, struct docker_client *c, const char *program_dir,
                       struct cay_error *err)
{
        char path[4096];
        int socks[2], pid, r;

        c->sock = c->pidfd = -1;
        if (snprintf(path, sizeof(path), "%s/cay-docker", program_dir) >= (int)sizeof(path))
                return cay_fail(err, CAY_INVALID, "the program folder's path is too long");
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make cay-docker's socket");
        pid = spawn(path, socks[1]);
        close(socks[1]);
        if (pid < 0) {
                close(socks[0]);
                return cay_fail_sys(err, CAY_UNAVAILABLE, pid, "start %.200s", path);
        }
        r = docker_client_open_link_take(loop, c, socks[0]);
        c->pid = pid;
        c->pidfd = sys_pidfd_open(pid, 0);
        if (r < 0) {
                docker_client_close(c);
                return cay_fail_sys(err, CAY_INTERNAL, r, "watch cay-docker's socket");
        }
        return 0;
}

int docker_client_close(struct docker_client *c)
{
        uint64_t until = cay_clock_ms() + CLOSE_WAIT_MS;
        bool killed = false;
        int status = 0;
        pid_t r;

        if (c->sock >= 0)
                lose(c);
        if (c->pid <= 0)
                return 0;
        while ((r = waitpid(c->pid, &status, WNOHANG)) == 0 || (r < 0 && errno == EINTR)) {
                struct pollfd p = { .fd = c->pidfd, .events = POLLIN };
                uint64_t now = cay_clock_ms();

                if (now >= until) {
                        if (killed)
                                break;
                        kill(c->pid, SIGKILL);
                        killed = true;
                        until = now + KILLED_WAIT_MS;
                }
                poll(&p, 1, c->pidfd >= 0 ? (int)(until - now) + 1 : LOOK_MS);
        }
        if (c->pidfd >= 0)
                close(cay_take_fd(c->pidfd));
        c->pid = 0;
        return r > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

void docker_client_send(struct docker_client *c, struct docker_ask *ask, struct docker_request *req, int fd)
{
        req->magic = DOCKER_WIRE_MAGIC;
        req->size = sizeof(*req);
        req->seq = ask->seq = ++c->seq;
        ask->next = c->asks;
        c->asks = ask;
        /* A failed send shows as the end of the socket in the loop, which answers every ask. */
        if (c->sock >= 0 && sys_send_fds(c->sock, req, sizeof(*req), &fd, fd >= 0 ? 1 : 0, MSG_NOSIGNAL) < 0)
                shutdown(c->sock, SHUT_RDWR);
        if (c->sock < 0)
                lose(c);
}

void docker_client_await(struct docker_client *c, struct docker_ask *ask, int ms)
{
        uint64_t until = cay_clock_ms() + (uint64_t)ms;

        while (c->sock >= 0 && ask->seq != 0) {
                struct pollfd p = { .fd = c->sock, .events = POLLIN };
                uint64_t now = cay_clock_ms();

                if (now >= until || poll(&p, 1, (int)(until - now)) <= 0)
                        return;
                receive(c);
        }
}

void docker_client_forget(struct docker_client *c, struct docker_ask *ask)
{
        for (struct docker_ask **at = &c->asks; *at; at = &(*at)->next) {
                if (*at != ask)
                        continue;
                *at = ask->next;
                ask->seq = 0;
                return;
        }
}
