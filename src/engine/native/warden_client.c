/* SPDX-License-Identifier: Apache-2.0 */
/* The front's end of the warden link. */
#include "engine/native/warden_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "sys/fd.h"
#include "sys/syscalls.h"
#include "sys/unix_socket.h"

#define WAIT_FOR_PIDFD 3 /* P_PIDFD, which older headers lack */
#define CLOSE_WAIT_MS 10000
#define KILLED_WAIT_MS 2000
#define BLIND_WAIT_MS 2 /* between looks, where the kernel has no pidfds */

/* The warden gets no environment; test builds hand their switches on. */
static void pick_environment(char **ret, unsigned max)
{
        unsigned count = 0;

#ifdef CAY_TEST_HOOKS
        extern char **environ;

        for (char **e = environ; *e && count + 1 < max; e++)
                if (strncmp(*e, "CAY_TEST_", 9) == 0)
                        ret[count++] = *e;
#endif
        ret[count] = NULL;
}

/*
 * Safe in a program with threads and handlers of its own: the child shares our memory until it is another program, so no signal
 * reaches it before that (the warden sets its own mask), and it calls nothing that a lock could hold up.
 */
static int spawn(const char *path, int sock)
{
        char *argv[] = { "cay-warden", NULL };
        char *env[16];
        volatile int failed = 0;
        sigset_t all, before;
        int pid;

        pick_environment(env, CAY_COUNT(env));
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pid = vfork();
        if (pid == 0) {
                struct sigaction wait_for_children = { .sa_handler = SIG_DFL };

                setsid(); /* the terminal's signals are ours to handle, not the warden's */
                sigaction(SIGCHLD, &wait_for_children, NULL); /* being ignored would be inherited */
                if (sock == WIRE_WARDEN_FD ? fcntl(sock, F_SETFD, 0) < 0 : dup2(sock, WIRE_WARDEN_FD) < 0)
                        failed = errno;
                else {
                        sys_close_range(WIRE_WARDEN_FD + 1, ~0u, 0);
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

/* The warden is gone: every call that waits is told, from here or from the loop. */
static void lose(struct warden_client *c)
{
        struct warden_call *calls = cay_take(c->calls);

        cay_watch_remove(&c->watch);
        if (c->sock >= 0)
                close(c->sock);
        c->sock = -1;
        while (calls) {
                struct warden_call *call = calls;

                calls = call->next;
                call->seq = 0;
                call->on_answer(call, NULL);
        }
}

static void on_answer(struct warden_client *c, const struct wire_answer *a)
{
        if (a->type == WIRE_box_gone) {
                if (c->on_gone)
                        c->on_gone(c, a);
                return;
        }
        for (struct warden_call **at = &c->calls; *at; at = &(*at)->next) {
                struct warden_call *call = *at;

                if (call->seq != a->seq)
                        continue;
                *at = call->next;
                call->seq = 0;
                call->on_answer(call, a);
                return;
        }
}

/* One answer; false when there is none to be had (now, or ever: then the client is lost). */
static bool receive(struct warden_client *c)
{
        struct wire_answer a;
        ssize_t n = recv(c->sock, &a, sizeof(a), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return false;
        if (n != (ssize_t)sizeof(a) || a.magic != WIRE_MAGIC || a.size != sizeof(a)) {
                lose(c);
                if (c->on_lost)
                        c->on_lost(c);
                return false;
        }
        a.text[sizeof(a.text) - 1] = 0;
        on_answer(c, &a);
        return c->sock >= 0;
}

static void on_ready(struct cay_watch *w, uint32_t events)
{
        struct warden_client *c = cay_container_of(w, struct warden_client, watch);

        (void)events;
        while (receive(c))
                ;
}

static bool is_missing(int r)
{
        return r == -ENOENT || r == -ENOTDIR || r == -EACCES;
}

int warden_client_open(struct cay_loop *loop, struct warden_client *c, const char *program_dir,
                       struct cay_error *err)
{
        cay_auto_close int theirs = -1;
        char path[4096];
        int socks[2], r;

        c->sock = c->pidfd = -1;
        if (snprintf(path, sizeof(path), "%s/cay-warden", program_dir) >= (int)sizeof(path))
                return cay_fail(err, CAY_INVALID, "the program folder's path is too long");
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the warden's socket");
        c->sock = socks[0];
        theirs = socks[1];
        c->pid = spawn(path, theirs);
        if (c->pid < 0) {
                close(c->sock);
                c->sock = -1;
                return cay_fail_sys(err, is_missing(c->pid) ? CAY_UNAVAILABLE : CAY_INTERNAL, c->pid,
                                    "start %s", path);
        }
        c->pidfd = sys_pidfd_open(c->pid, 0);
        r = cay_watch_add(loop, &c->watch, c->sock, EPOLLIN, on_ready);
        if (r < 0) {
                warden_client_close(c);
                return cay_fail_sys(err, CAY_INTERNAL, r, "watch the warden's socket");
        }
        return 0;
}

int warden_client_open_link_take(struct cay_loop *loop, struct warden_client *c, int sock)
{
        int r;

        c->sock = sock;
        c->pidfd = -1;
        c->pid = 0; /* not ours to wait for */
        r = cay_watch_add(loop, &c->watch, sock, EPOLLIN, on_ready);
        if (r < 0)
                close(cay_take_fd(c->sock));
        return r;
}

/*
 * A program that ignores SIGCHLD, or that waits for any child, may take the warden's end away from us, and its pid can be another's
 * then: where there are pidfds, nothing here goes by the pid. 1: ended (*ret_clean: with status 0); 0: not yet; -errno.
 */
static int look_for_end(const struct warden_client *c, bool *ret_clean)
{
        siginfo_t info = { .si_pid = 0 };
        int r;

        do
                r = c->pidfd >= 0 ? waitid((idtype_t)WAIT_FOR_PIDFD, (id_t)c->pidfd, &info, WEXITED | WNOHANG)
                                  : waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG);
        while (r < 0 && errno == EINTR);
        if (r < 0)
                return -errno;
        *ret_clean = info.si_code == CLD_EXITED && info.si_status == 0;
        return info.si_pid != 0;
}

/* Its boxes die with it, and the next warden sweeps. Once we are confined we may not: then it is left to itself. */
static bool kill_warden(const struct warden_client *c)
{
        return c->pidfd >= 0 ? sys_pidfd_send_signal(c->pidfd, SIGKILL) == 0 : kill(c->pid, SIGKILL) == 0;
}

int warden_client_close(struct warden_client *c)
{
        uint64_t until = cay_clock_ms() + CLOSE_WAIT_MS;
        bool clean = false, killed = false;
        int r;

        if (c->sock >= 0)
                lose(c);
        if (c->pid <= 0)
                return 0;
        while ((r = look_for_end(c, &clean)) == 0) {
                struct pollfd p = { .fd = c->pidfd, .events = POLLIN };
                uint64_t now = cay_clock_ms();

                if (now >= until) {
                        if (killed || !kill_warden(c))
                                break;
                        killed = true;
                        until = now + KILLED_WAIT_MS;
                }
                poll(&p, 1, c->pidfd >= 0 ? (int)(until - now) : BLIND_WAIT_MS);
        }
        if (c->pidfd >= 0)
                close(cay_take_fd(c->pidfd));
        c->pid = 0;
        if (r < 0)
                return -ECHILD;
        return clean ? 0 : -1;
}

void warden_client_ask(struct warden_client *c, struct warden_call *call, struct wire_request *req,
                       const int *fds, unsigned fd_count)
{
        req->magic = WIRE_MAGIC;
        req->size = sizeof(*req);
        req->seq = call->seq = ++c->seq;
        call->next = c->calls;
        c->calls = call;
        /* A failed send shows as end of the socket in the loop, which answers every call. */
        if (c->sock >= 0 && sys_send_fds(c->sock, req, sizeof(*req), fds, fd_count, 0) < 0)
                shutdown(c->sock, SHUT_RDWR);
        if (c->sock < 0)
                lose(c);
}

void warden_client_await(struct warden_client *c, struct warden_call *call, int ms)
{
        uint64_t until = cay_clock_ms() + (uint64_t)ms;

        while (c->sock >= 0 && call->seq != 0) {
                struct pollfd p = { .fd = c->sock, .events = POLLIN };
                uint64_t now = cay_clock_ms();

                if (now >= until || poll(&p, 1, (int)(until - now)) <= 0)
                        return;
                receive(c);
        }
}

void warden_client_forget(struct warden_client *c, struct warden_call *call)
{
        for (struct warden_call **at = &c->calls; *at; at = &(*at)->next) {
                if (*at != call)
                        continue;
                *at = call->next;
                call->seq = 0;
                return;
        }
}
