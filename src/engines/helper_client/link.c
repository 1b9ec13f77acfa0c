/* SPDX-License-Identifier: Apache-2.0 */
/* An engine's end of the link to its helper; the theory is in link.h. */
#include "engines/helper_client/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "foundation/sys/syscalls.h"
#include "foundation/sys/unix_socket.h"

#define WAIT_FOR_PIDFD 3 /* P_PIDFD, which older headers lack */
#define KILLED_WAIT_MS 2000
#define BLIND_WAIT_MS 2 /* between looks, where the kernel has no pidfds */
#define VARIABLES_MAX 32u

/* Starting */

static bool is_wanted(const struct engine_link_kind *kind, const char *variable)
{
#ifdef CAY_TEST_HOOKS
        if (cay_str_starts(variable, "CAY_TEST_"))
                return true;
#endif
        for (const char *const *v = kind->variables; v && *v; v++)
                if (cay_str_starts(variable, *v))
                        return true;
        return false;
}

static void pick_environment(const struct engine_link_kind *kind, char **ret, unsigned max)
{
        extern char **environ;
        unsigned count = 0;

        for (char **e = environ; *e && count + 1 < max; e++)
                if (is_wanted(kind, *e))
                        ret[count++] = *e;
        ret[count] = NULL;
}

/*
 * Safe in a program with threads and signal handlers. The child shares our memory until exec, so signals stay
 * blocked until then (helpers set their own mask), and it calls nothing that takes a lock.
 */
static int spawn(const struct engine_link_kind *kind, const char *path, int sock)
{
        char *argv[] = { (char *)(uintptr_t)kind->program, NULL };
        char *env[VARIABLES_MAX];
        volatile int failed = 0;
        sigset_t all, before;
        int pid;

        pick_environment(kind, env, CAY_COUNT(env));
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pid = vfork();
        if (pid == 0) {
                struct sigaction wait_for_children = { .sa_handler = SIG_DFL };

                setsid(); /* we handle the terminal's signals, not the helper */
                sigaction(SIGCHLD, &wait_for_children, NULL); /* being ignored would be inherited */
                if (sock == HELPER_FRONT_FD ? fcntl(sock, F_SETFD, 0) < 0 : dup2(sock, HELPER_FRONT_FD) < 0)
                        failed = errno;
                else {
                        sys_close_range(HELPER_FRONT_FD + 1, ~0u, 0);
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

/* Sending */

struct engine_kept {
        struct engine_kept *next;
        unsigned fd_count;
        int fds[SYS_FDS_MAX]; /* owned */
        char request[];
};

static void free_kept(struct engine_kept *k)
{
        for (unsigned i = 0; i < k->fd_count; i++)
                close(k->fds[i]);
        free(k);
}

static int copy_request(const void *request, size_t size, const int *fds, unsigned fd_count,
                        struct engine_kept **ret)
{
        struct engine_kept *k = fd_count <= SYS_FDS_MAX ? calloc(1, sizeof(*k) + size) : NULL;

        if (!k)
                return -ENOMEM;
        memcpy(k->request, request, size);
        while (k->fd_count < fd_count) {
                int fd = fcntl(fds[k->fd_count], F_DUPFD_CLOEXEC, 0);

                if (fd < 0) {
                        int r = -errno;

                        free_kept(k);
                        return r;
                }
                k->fds[k->fd_count++] = fd;
        }
        *ret = k;
        return 0;
}

static int send_now(struct engine_link *l, const void *request, const int *fds, unsigned fd_count)
{
        ssize_t n = sys_send_fds(l->sock, request, l->kind->protocol->request_size, fds, fd_count,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);

        return n < 0 ? (int)n : 0;
}

static int keep(struct engine_link *l, const void *request, const int *fds, unsigned fd_count)
{
        struct engine_kept *k = NULL;
        int r = l->kept_count < ENGINE_LINK_KEPT_MAX
                        ? copy_request(request, l->kind->protocol->request_size, fds, fd_count, &k)
                        : -ENOBUFS;

        if (r < 0)
                return r;
        if (!l->kept)
                l->kept_end = &l->kept;
        *l->kept_end = k;
        l->kept_end = &k->next;
        l->kept_count++;
        return cay_watch_set(&l->watch, EPOLLIN | EPOLLOUT) < 0 ? -EIO : 0; /* it would never be sent */
}

static struct engine_kept *take_kept(struct engine_link *l)
{
        struct engine_kept *k = l->kept;

        l->kept = k->next;
        l->kept_count--;
        return k;
}

/*
 * The helper sees end of file and closes its side; the loop notices that and answers every call. Only the
 * writing side is shut down, because a front's filter allows no more (cay-front/seccomp_front.def).
 */
static void give_up(struct engine_link *l)
{
        shutdown(l->sock, SHUT_WR);
}

static void send_kept(struct engine_link *l)
{
        while (l->kept) {
                int r = send_now(l, l->kept->request, l->kept->fds, l->kept->fd_count);

                if (r == -EAGAIN)
                        return;
                free_kept(take_kept(l));
                if (r < 0) {
                        give_up(l);
                        return;
                }
        }
        cay_watch_set(&l->watch, EPOLLIN);
}

/* Hearing */

/* The helper has exited: fail every pending call. */
static void lose(struct engine_link *l)
{
        struct engine_call *calls = cay_take(l->calls);

        while (l->kept)
                free_kept(take_kept(l));
        cay_watch_remove(&l->watch);
        if (l->sock >= 0)
                close(cay_take_fd(l->sock));
        while (calls) {
                struct engine_call *call = calls;

                calls = call->next;
                call->seq = 0;
                call->on_answer(call, NULL);
        }
}

void engine_link_lose(struct engine_link *l)
{
        if (l->sock < 0)
                return;
        lose(l);
        if (l->on_lost)
                l->on_lost(l);
}

int engine_link_take_socket(struct engine_link *l)
{
        cay_watch_remove(&l->watch);
        return cay_take_fd(l->sock);
}

static void hand_on(struct engine_link *l, const struct helper_answer_head *a)
{
        if (a->seq == 0) {
                if (l->on_unasked)
                        l->on_unasked(l, a);
                return;
        }
        for (struct engine_call **at = &l->calls; *at; at = &(*at)->next) {
                struct engine_call *call = *at;

                if (call->seq != a->seq)
                        continue;
                *at = call->next;
                call->seq = 0;
                call->on_answer(call, a);
                return;
        }
}

static bool receive(struct engine_link *l)
{
        union {
                struct helper_answer_head answer;
                uint64_t room[ENGINE_LINK_ANSWER_MAX / 8];
        } m;
        ssize_t n = recv(l->sock, &m, l->kind->protocol->answer_size, MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return false;
        if (helper_answer_check(l->kind->protocol, &m, n) < 0) {
                engine_link_lose(l);
                return false;
        }
        m.answer.text[sizeof(m.answer.text) - 1] = '\0';
        hand_on(l, &m.answer);
        return l->sock >= 0;
}

static void on_ready(struct cay_watch *w, uint32_t events)
{
        struct engine_link *l = cay_container_of(w, struct engine_link, watch);

        while (receive(l))
                ;
        if (l->sock >= 0 && events & EPOLLOUT)
                send_kept(l);
}

int engine_link_open_take(struct engine_link *l, struct cay_loop *loop, int sock, struct cay_error *err)
{
        int r;

        l->sock = sock;
        l->pidfd = -1;
        l->pid = 0; /* not ours to wait for */
        r = cay_watch_add(loop, &l->watch, sock, EPOLLIN, on_ready);
        if (r == 0)
                return 0;
        close(cay_take_fd(l->sock));
        return cay_fail_sys(err, CAY_INTERNAL, r, "watch the socket of %s", l->kind->who);
}

static bool is_missing(int r)
{
        return r == -ENOENT || r == -ENOTDIR || r == -EACCES;
}

int engine_link_open(struct engine_link *l, struct cay_loop *loop, const char *program_dir,
                     struct cay_error *err)
{
        cay_auto_close int theirs = -1;
        char path[4096];
        int socks[2], pid, r;

        l->sock = l->pidfd = -1;
        if (snprintf(path, sizeof(path), "%s/%s", program_dir, l->kind->program) >= (int)sizeof(path))
                return cay_fail(err, CAY_INVALID, "the program folder's path is too long");
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the socket of %s", l->kind->who);
        theirs = socks[1];
        pid = spawn(l->kind, path, theirs);
        if (pid < 0) {
                close(socks[0]);
                return cay_fail_sys(err, is_missing(pid) ? CAY_UNAVAILABLE : CAY_INTERNAL, pid, "start %s",
                                    path);
        }
        r = engine_link_open_take(l, loop, socks[0], err);
        l->pid = pid;
        l->pidfd = sys_pidfd_open(pid, 0);
        if (r < 0)
                engine_link_close(l);
        return r;
}

/* Ending */

/*
 * A program that ignores SIGCHLD, or that waits for any child, may reap our helper, and its pid may then be
 * reused. So with pidfds the pid is never used. 1: ended (*ret_clean: with status 0); 0: not yet; -errno.
 */
static int look_for_end(const struct engine_link *l, bool *ret_clean)
{
        siginfo_t info = { .si_pid = 0 };
        int r;

        do
                r = l->pidfd >= 0 ? waitid((idtype_t)WAIT_FOR_PIDFD, (id_t)l->pidfd, &info, WEXITED | WNOHANG)
                                  : waitid(P_PID, (id_t)l->pid, &info, WEXITED | WNOHANG);
        while (r < 0 && errno == EINTR);
        if (r < 0)
                return -errno;
        *ret_clean = info.si_code == CLD_EXITED && info.si_status == 0;
        return info.si_pid != 0;
}

/* The next helper cleans up what it leaves. Once confined, we may not kill it: then it is left running. */
static bool kill_helper(const struct engine_link *l)
{
        return l->pidfd >= 0 ? sys_pidfd_send_signal(l->pidfd, SIGKILL) == 0 : kill(l->pid, SIGKILL) == 0;
}

int engine_link_close(struct engine_link *l)
{
        uint64_t until = cay_clock_ms() + l->kind->close_ms;
        bool clean = false, killed = false;
        int r;

        if (l->sock >= 0)
                lose(l);
        if (l->pid <= 0)
                return 0;
        while ((r = look_for_end(l, &clean)) == 0) {
                struct pollfd p = { .fd = l->pidfd, .events = POLLIN };
                uint64_t now = cay_clock_ms();

                if (now >= until) {
                        if (killed || !kill_helper(l))
                                break;
                        killed = true;
                        until = now + KILLED_WAIT_MS;
                }
                poll(&p, 1, l->pidfd >= 0 ? (int)(until - now) : BLIND_WAIT_MS);
        }
        if (l->pidfd >= 0)
                close(cay_take_fd(l->pidfd));
        l->pid = 0;
        if (r < 0)
                return -ECHILD;
        return clean ? 0 : -1;
}

/* Asking */

/* Our lack of memory or descriptors is not the helper's end: other calls continue. */
static void refuse(struct engine_link *l, const struct helper_request_head *req, int r)
{
        union {
                struct helper_answer_head answer;
                uint64_t room[ENGINE_LINK_ANSWER_MAX / 8];
        } m = { .room = { 0 } };

        m.answer = (struct helper_answer_head){
                .magic = req->magic,
                .size = (uint32_t)l->kind->protocol->answer_size,
                .type = req->type,
                .seq = req->seq,
                .code = CAY_LIMIT,
                .sys = -r,
        };
        snprintf(m.answer.text, sizeof(m.answer.text),
                 "%s has much to do, and there is no room here for a request to wait: try again",
                 l->kind->who);
        hand_on(l, &m.answer);
}

void engine_link_ask(struct engine_link *l, struct engine_call *call, void *request, const int *fds,
                     unsigned fd_count)
{
        struct helper_request_head *req = request;
        int r = -EAGAIN;

        req->magic = l->kind->protocol->magic;
        req->size = (uint32_t)l->kind->protocol->request_size;
        req->seq = call->seq = ++l->seq;
        call->next = l->calls;
        l->calls = call;
        if (l->sock < 0) {
                lose(l);
                return;
        }
        if (!l->kept) /* else it is not its turn */
                r = send_now(l, request, fds, fd_count);
        if (r == -EAGAIN)
                r = keep(l, request, fds, fd_count);
        if (r == -EMFILE || r == -ENOMEM)
                refuse(l, req, r);
        else if (r < 0)
                give_up(l);
}

void engine_link_await(struct engine_link *l, struct engine_call *call, int ms)
{
        uint64_t until = cay_clock_ms() + (uint64_t)ms;

        while (l->sock >= 0 && call->seq != 0) {
                struct pollfd p = { .fd = l->sock, .events = l->kept ? POLLIN | POLLOUT : POLLIN };
                uint64_t now = cay_clock_ms();
                int n = poll(&p, 1, now < until ? (int)(until - now) : 0); /* one look more, at the end */

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return;
                if (p.revents & POLLOUT)
                        send_kept(l);
                if (p.revents & ~POLLOUT)
                        receive(l);
        }
}

void engine_link_forget(struct engine_link *l, struct engine_call *call)
{
        for (struct engine_call **at = &l->calls; *at; at = &(*at)->next) {
                if (*at != call)
                        continue;
                *at = call->next;
                call->seq = 0;
                return;
        }
}

void engine_link_read_error(const struct engine_link *l, const struct helper_answer_head *a,
                            struct cay_error *ret)
{
        if (!a) {
                cay_fail(ret, CAY_UNAVAILABLE, "%s is gone", l->kind->who);
                return;
        }
        ret->code = (enum cay_code)(a->code < CAY_CODE_COUNT ? a->code : CAY_INTERNAL);
        ret->sys = a->sys;
        snprintf(ret->msg, sizeof(ret->msg), "%s", a->text);
}

static void on_answer_now(struct engine_call *call, const struct helper_answer_head *a)
{
        struct engine_ask_now *now = cay_container_of(call, struct engine_ask_now, call);

        now->answered = a != NULL;
        if (a)
                memcpy(now->room, a, a->size);
}

int engine_link_ask_now(struct engine_link *l, struct engine_ask_now *now, void *request, int ms,
                        struct cay_error *err)
{
        now->answered = false;
        now->call.on_answer = on_answer_now;
        engine_link_ask(l, &now->call, request, NULL, 0);
        engine_link_await(l, &now->call, ms);
        if (!now->answered) {
                engine_link_forget(l, &now->call); /* it is on the caller's stack */
                return cay_fail(err, CAY_UNAVAILABLE, "%s does not answer", l->kind->who);
        }
        engine_link_read_error(l, &now->answer, err);
        return err->code == CAY_OK ? 0 : -1;
}
