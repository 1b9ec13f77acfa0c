/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper of a daemon. */
#include "serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "loop/signal.h"
#include "serve/hand_over.h"
#include "serve/place.h"
#include "serve/spawn.h"
#include "serve/tell.h"
#include "sys/fd.h"
#include "sys/unix_socket.h"
#include "wire/message.h"

#define FRONT_GRACE_MS 5000 /* beyond what requests are given */
#define WARDEN_GRACE_MS 30000
#define PAUSE_FIRST_MS 100
#define PAUSE_MAX_MS 10000
#define STEADY_MS 60000  /* a front that lived so long starts from the first pause again */
#define FAILURES_MAX 12u /* in a row: then it is given up */

enum step { SERVING, STOPPING_FRONT, STOPPING_WARDEN, STOPPED };

struct keeper {
        const struct cay_serve_options *options;
        struct cay_place place;
        struct cay_loop *loop;
        struct cay_signal signals;
        struct cay_timer timer; /* the next front, or patience with a child that is to end */
        int config_fd;

        pid_t warden;    /* 0: none */
        int warden_sock; /* our end of the keeper's socket */
        int link;        /* for the first front of this warden; -1: handed on */

        pid_t front;
        struct cay_watch front_watch; /* our end of its socket */
        uint64_t front_since_ms;
        unsigned failures; /* of fronts or wardens, in a row */

        enum step step;
        bool was_ready; /* some front was, once */
        bool failed;
        struct cay_error err;
};

static void start_front(struct keeper *k);
static void stop(struct keeper *k);

static void give_up(struct keeper *k, const struct cay_error *err)
{
        if (k->err.code == CAY_OK)
                k->err = *err;
        k->failed = true;
        stop(k);
}

/* Settings for children, sealed: a front cannot change what the next one is told. */
static int seal_config(struct keeper *k, struct cay_error *err)
{
        cay_auto_buf struct cay_buf text = { 0 };
        cay_auto_close int fd = memfd_create("cay-settings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        int r;

        cay_buf_init(&text, CAY_CONFIG_FILE_MAX);
        r = cay_config_write(k->options->config, &text);
        if (r == 0)
                r = fd < 0 ? -errno : sys_write_all(fd, cay_buf_data(&text), text.len);
        explicit_bzero(cay_buf_data(&text), text.len);
        if (r < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r < 0 ? r : -errno, "hand the settings over");
        k->config_fd = cay_take_fd(fd);
        return 0;
}

/* The warden */

static int start_warden(struct keeper *k, struct cay_error *err)
{
        char *argv[] = { (char *)"cay-warden", (char *)"keep", NULL };
        int link[2], keep[2], fds[2];
        struct cay_spawn s = { .dir = k->options->program_dir,
                               .program = "cay-warden",
                               .argv = argv,
                               .fds = fds,
                               .fd_count = 2,
                               .mask = &k->signals.before };

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the warden's link");
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, keep) < 0) {
                close(link[0]);
                close(link[1]);
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the warden's socket");
        }
        fds[0] = link[1];
        fds[1] = keep[1];
        k->warden = cay_spawn(&s, err);
        close(link[1]);
        close(keep[1]);
        k->link = link[0];
        k->warden_sock = keep[0];
        if (k->warden < 0) {
                k->warden = 0;
                return -1;
        }
        return 0;
}

static void let_warden_go(struct keeper *k)
{
        if (k->link >= 0)
                close(cay_take_fd(k->link));
        if (k->warden_sock >= 0)
                close(cay_take_fd(k->warden_sock));
}

/* A link for the next front: the one the warden was born with, or a fresh one. */
static int make_link(struct keeper *k, int *ret, struct cay_error *err)
{
        const struct wire_front say = { .magic = WIRE_MAGIC, .size = sizeof(say) };
        int link[2];
        ssize_t n;

        if (k->link >= 0) {
                *ret = cay_take_fd(k->link);
                return 0;
        }
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the warden's link");
        n = sys_send_fds(k->warden_sock, &say, sizeof(say), &link[1], 1, MSG_NOSIGNAL);
        close(link[1]);
        if (n < 0) {
                close(link[0]);
                return cay_fail_sys(err, CAY_UNAVAILABLE, (int)n, "hand the link to the warden");
        }
        *ret = link[0];
        return 0;
}

/* The front */

static void on_front_says(struct cay_watch *w, uint32_t events)
{
        struct keeper *k = cay_container_of(w, struct keeper, front_watch);
        struct cay_hand_ready ready;
        ssize_t n = recv(w->fd, &ready, sizeof(ready), MSG_DONTWAIT);

        (void)events;
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n != (ssize_t)sizeof(ready) || ready.magic != CAY_HAND_MAGIC || ready.size != sizeof(ready)) {
                cay_watch_remove(w); /* its end comes as a signal */
                return;
        }
        ready.token[sizeof(ready.token) - 1] = '\0';
        if (!k->was_ready) {
                cay_tell_people(k->options->config, &k->place, &ready);
                cay_tell_systemd("READY=1");
        } else {
                cay_log_info("the front is back", "adopted=%u lost=%u", ready.adopted, ready.lost);
        }
        k->was_ready = true;
        explicit_bzero(&ready, sizeof(ready));
}

static int spawn_front(struct keeper *k, int link, int sock, struct cay_error *err)
{
        char count[4];
        char *argv[] = { (char *)"cay-front", (char *)"serve", count, NULL };
        int fds[CAY_SPAWN_FDS_MAX] = { link, k->config_fd, k->place.data_fd, sock, k->place.unix_fd };
        struct cay_spawn s = { .dir = k->options->program_dir,
                               .program = "cay-front",
                               .argv = argv,
                               .fds = fds,
                               .fd_count = 5 + k->place.tcp_count,
                               .mask = &k->signals.before };

        snprintf(count, sizeof(count), "%u", k->place.tcp_count);
        for (unsigned i = 0; i < k->place.tcp_count; i++)
                fds[5 + i] = k->place.tcp_fds[i];
        k->front = cay_spawn(&s, err);
        if (k->front < 0) {
                k->front = 0;
                return -1;
        }
        k->front_since_ms = cay_clock_ms();
        return 0;
}

static int try_front(struct keeper *k, struct cay_error *err)
{
        int socks[2], link = -1, r;

        if (make_link(k, &link, err) < 0)
                return -1;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0) {
                close(link);
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the front's socket");
        }
        r = spawn_front(k, link, socks[1], err);
        close(link);
        close(socks[1]);
        if (r == 0)
                r = cay_watch_add(k->loop, &k->front_watch, socks[0], EPOLLIN, on_front_says);
        else
                close(socks[0]);
        return r;
}

static void let_front_go(struct keeper *k)
{
        int fd = k->front_watch.fd;

        cay_watch_remove(&k->front_watch);
        if (fd > 0)
                close(fd);
        k->front_watch.fd = -1;
}

static void on_pause_over(struct cay_timer *t)
{
        start_front(cay_container_of(t, struct keeper, timer));
}

/* The next front: at once the first time, then after pauses that grow while they keep failing. */
static void plan_front(struct keeper *k)
{
        uint64_t pause = k->failures == 0 ? 0 : PAUSE_FIRST_MS;
        struct cay_error err = { 0 };

        for (unsigned i = 1; i < k->failures && pause < PAUSE_MAX_MS; i++)
                pause *= 2;
        if (++k->failures > FAILURES_MAX) {
                cay_fail(&err, CAY_UNAVAILABLE, "the front or the warden failed %u times in a row",
                         FAILURES_MAX);
                give_up(k, &err);
                return;
        }
        cay_timer_set(k->loop, &k->timer, pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS, on_pause_over);
}

static void start_front(struct keeper *k)
{
        struct cay_error err = { 0 };

        if (k->step != SERVING)
                return;
        if (k->warden == 0 && start_warden(k, &err) < 0) {
                let_warden_go(k);
                give_up(k, &err);
                return;
        }
        if (try_front(k, &err) < 0) {
                cay_log_error("the front does not start", "error=%s", err.msg);
                plan_front(k);
        }
}

/* Ends */

static void kill_now(struct cay_timer *t)
{
        struct keeper *k = cay_container_of(t, struct keeper, timer);
        pid_t pid = k->step == STOPPING_FRONT ? k->front : k->warden;

        cay_log_error("a child does not end: killed", "pid=%d", (int)pid);
        k->failed = true;
        if (pid > 0)
                kill(pid, SIGKILL);
}

/* One after the other; each step begins when the child of the one before is gone. */
static void step_on(struct keeper *k)
{
        if (k->step == STOPPING_FRONT && k->front == 0) {
                k->step = STOPPING_WARDEN;
                let_warden_go(k); /* which is how it is told */
                cay_timer_set(k->loop, &k->timer, WARDEN_GRACE_MS, kill_now);
        }
        if (k->step == STOPPING_WARDEN && k->warden == 0) {
                k->step = STOPPED;
                cay_timer_clear(&k->timer);
                cay_loop_stop(k->loop);
        }
}

static void stop(struct keeper *k)
{
        if (k->step != SERVING)
                return;
        k->step = STOPPING_FRONT;
        cay_tell_systemd("STOPPING=1");
        if (k->front > 0)
                kill(k->front, SIGTERM);
        cay_timer_set(k->loop, &k->timer, k->options->config->stop_timeout + FRONT_GRACE_MS, kill_now);
        step_on(k);
}

static void on_front_end(struct keeper *k, int status)
{
        struct cay_error err = { 0 };

        k->front = 0;
        let_front_go(k);
        if (k->step != SERVING)
                return;
        if (!k->was_ready) { /* it has said why; the next would fail alike */
                cay_fail(&err, CAY_UNAVAILABLE, "the front ended before it was ready; its message is above");
                give_up(k, &err);
                return;
        }
        cay_log_warn("the front ended: starting another", "status=%d signal=%d",
                     WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                     WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        if (cay_clock_ms() - k->front_since_ms >= STEADY_MS)
                k->failures = 0;
        plan_front(k);
}

static void on_warden_end(struct keeper *k, int status)
{
        bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;

        k->warden = 0;
        let_warden_go(k);
        if (k->step != SERVING) {
                k->failed = k->failed || !clean;
                return;
        }
        cay_log_error("the warden ended, and every sandbox with it: starting another", "status=%d signal=%d",
                      WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                      WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        if (k->front > 0)
                kill(k->front, SIGTERM); /* its link is to the old one */
}

static void reap(struct keeper *k)
{
        int status;
        pid_t pid;

        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
                if (pid == k->front)
                        on_front_end(k, status);
                else if (pid == k->warden)
                        on_warden_end(k, status);
        }
        step_on(k);
}

static void on_signal(struct cay_signal *s, int signo, int pid)
{
        struct keeper *k = cay_container_of(s, struct keeper, signals);

        (void)pid;
        if (signo == SIGCHLD) {
                reap(k);
                return;
        }
        cay_log_info("stopping", "signal=%d", signo);
        stop(k);
}

static int run(struct keeper *k, struct cay_error *err)
{
        static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGCHLD };
        int r;

        if (cay_place_open(&k->place, k->options->config, err) < 0 || seal_config(k, err) < 0)
                return -1;
        k->loop = cay_loop_new();
        r = k->loop ? cay_signal_open(k->loop, &k->signals, signals, CAY_COUNT(signals), on_signal) : -errno;
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "watch signals");
        if (start_warden(k, err) < 0)
                return -1;
        start_front(k);
        r = k->step == STOPPED ? 0 : cay_loop_run(k->loop);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "the event loop failed");
        if (k->err.code != CAY_OK) {
                *err = k->err;
                return -1;
        }
        return k->failed ? 1 : 0;
}

int cay_serve(const struct cay_serve_options *options, struct cay_error *err)
{
        struct keeper k = {
                .options = options, .config_fd = -1, .warden_sock = -1, .link = -1, .front_watch.fd = -1
        };
        int r = run(&k, err);

        let_warden_go(&k);
        let_front_go(&k);
        if (k.config_fd >= 0)
                close(k.config_fd);
        cay_timer_clear(&k.timer);
        cay_signal_close(&k.signals);
        cay_loop_free(k.loop);
        cay_place_close(&k.place);
        return r;
}
