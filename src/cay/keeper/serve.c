/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper of a daemon: starts its programs in order, and handles their exits. */
#include "cay/keeper/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "foundation/base/clock.h"
#include "foundation/base/log.h"
#include "cay/keeper/hand_over.h"
#include "cay/keeper/resume.h"
#include "cay/keeper/serve_priv.h"
#include "cay/keeper/spawn.h"
#include "cay/keeper/tell.h"
#include "foundation/sys/fd.h"

#define HELPER_GRACE_MS 30000
#define PAUSE_FIRST_MS 100
#define PAUSE_SERVED_MS 1000 /* at most, after a front that served: clients are waiting */
#define SERVED_FAILURES 4u   /* failures until that pause is reached */
#define PAUSE_MAX_MS 10000   /* at most, after a front that never became ready */
#define STEADY_MS 60000      /* a front that served this long resets the pause */

static void stop(struct keeper *k);

static void give_up(struct keeper *k, const struct cay_error *err)
{
        if (k->err.code == CAY_OK)
                k->err = *err;
        k->failed = true;
        stop(k);
}

/* Settings for children, sealed: a front cannot change what the next one gets. */
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

/* Starts */

static void on_pause_over(struct cay_timer *t)
{
        cay_keeper_start_front(cay_container_of(t, struct keeper, timer));
}

/*
 * Starts the next front: immediately the first time, then with growing pauses while fronts fail. There is no
 * limit on failures: giving up would end the sandboxes, which did nothing wrong.
 */
static void plan_front(struct keeper *k)
{
        uint64_t most = k->front_served ? PAUSE_SERVED_MS : PAUSE_MAX_MS;
        uint64_t pause = k->failures == 0 ? 0 : PAUSE_FIRST_MS;

        for (unsigned i = 1; i < k->failures && pause < most; i++)
                pause *= 2;
        if (k->failures < UINT_MAX)
                k->failures++;
        cay_timer_set(k->loop, &k->timer, pause < most ? pause : most, on_pause_over);
}

void cay_keeper_start_front(struct keeper *k)
{
        struct cay_error err = { 0 };

        if (k->step != CAY_SERVING)
                return;
        k->front_served = false;
        if (cay_helpers_start(k, &err) < 0) {
                if (!k->was_ready) {
                        give_up(k, &err);
                        return;
                }
                cay_log_error("a program that an engine needs does not start: trying again", "error=%s",
                              err.msg);
                plan_front(k);
                return;
        }
        if (cay_front_keep_start(k, &err) < 0) {
                cay_log_error("the front does not start", "error=%s", err.msg);
                plan_front(k);
        }
}

/* Ends */

static void kill_now(struct cay_timer *t)
{
        struct keeper *k = cay_container_of(t, struct keeper, timer);

        k->failed = true;
        if (k->step != CAY_STOPPING_FRONT) {
                cay_helpers_kill(k);
        } else if (k->front > 0) {
                cay_log_error("the front does not end: killed", "pid=%d", (int)k->front);
                kill(k->front, SIGKILL);
        }
}

/* One after the other; each step begins when the child of the previous step has exited. */
static void step_on(struct keeper *k)
{
        if (k->step == CAY_STOPPING_FRONT && k->front == 0) {
                k->step = CAY_STOPPING_HELPERS;
                cay_helpers_close(k); /* closing its socket tells it to exit */
                cay_timer_set(k->loop, &k->timer, HELPER_GRACE_MS, kill_now);
        }
        if (k->step == CAY_STOPPING_HELPERS && cay_helpers_are_gone(k)) {
                k->step = CAY_STOPPED;
                cay_timer_clear(&k->timer);
                cay_loop_stop(k->loop);
        }
}

static void stop(struct keeper *k)
{
        if (k->step != CAY_SERVING)
                return;
        k->step = CAY_STOPPING_FRONT;
        cay_upgrade_cancel(k);
        cay_tell_systemd("STOPPING=1");
        if (k->front > 0)
                kill(k->front, SIGTERM);
        cay_timer_set(k->loop, &k->timer, k->options->config->stop_timeout + CAY_FRONT_GRACE_MS, kill_now);
        step_on(k);
}

static void on_front_end(struct keeper *k, int status)
{
        struct cay_error err = { 0 };

        k->front = 0;
        cay_front_keep_let_go(k);
        if (k->step != CAY_SERVING)
                return;
        if (k->upgrade == CAY_UPGRADE_FRONT) {
                cay_upgrade_on_front_end(k);
                return;
        }
        if (!k->was_ready) { /* it logged the reason; the next one would fail in the same way */
                cay_fail(&err, CAY_UNAVAILABLE, "the front ended before it was ready; its message is above");
                give_up(k, &err);
                return;
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == CAY_HAND_DENIED)
                cay_log_error(
                        "the front called what its filter forbids (the line above names it) and was ended");
        cay_log_warn(k->front_served
                             ? "the front ended: starting another"
                             : "the front ended before it was ready: sandboxes go on, another is tried",
                     "status=%d signal=%d", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                     WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        cay_crashers_on_end(&k->crashers, status, cay_clock_ms());
        if (k->front_served && cay_clock_ms() - k->front_since_ms >= STEADY_MS)
                k->failures = 0;
        else if (k->front_served && k->failures > SERVED_FAILURES)
                k->failures = SERVED_FAILURES;
        plan_front(k);
}

static void reap(struct keeper *k)
{
        int status;
        pid_t pid;

        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
                if (pid == k->front)
                        on_front_end(k, status);
                else
                        cay_helpers_on_end(k, pid, status);
        }
        step_on(k);
}

static bool has_terminal(void)
{
        cay_auto_close int fd = sys_open_at(AT_FDCWD, "/dev/tty", O_RDONLY | O_NOCTTY, 0);

        return fd >= 0;
}

/* SIGHUP has two meanings: the terminal that started us was closed, or an operator wants a reload. */
static bool lost_terminal(const struct keeper *k)
{
        return k->had_terminal && !has_terminal();
}

/* The front parses it and logs the result; running sandboxes are not changed. */
static void reload(struct keeper *k)
{
        const char *path = k->options->config->registry;
        struct cay_error err = { 0 };
        int r = 0;

        if (path[0] == '\0')
                cay_log_info("nothing to reload: no registry file is set");
        else if (cay_registry_keep_read(&k->registry, path, &err) < 0)
                cay_log_error("the registry is not reloaded: the old one stays in force", "error=%s",
                              err.msg);
        else if (k->helpers[CAY_HELPER_warden].sock >= 0)
                r = cay_warden_keep_tell_registry(k);
        if (r >= 0 && err.code == CAY_OK && path[0] && k->front > 0 && k->front_watch.fd > 0)
                r = cay_registry_keep_send(&k->registry, k->front_watch.fd);
        if (r < 0)
                cay_log_error("the registry is not handed over: the old one stays in force", "errno=%d", -r);
}

static void on_signal(struct cay_signal *s, int signo, int pid)
{
        struct keeper *k = cay_container_of(s, struct keeper, signals);

        (void)pid;
        if (signo == SIGCHLD) {
                reap(k);
                return;
        }
        if (signo == SIGUSR2) {
                cay_upgrade_begin(k);
                return;
        }
        if (signo == SIGHUP && !lost_terminal(k)) {
                reload(k);
                return;
        }
        cay_log_info("stopping", "signal=%d", signo);
        stop(k);
}

/* A helper with another protocol version exits, with all it made, and is replaced. */
static void take_over_helpers(struct keeper *k, const struct cay_keeper_state *state)
{
        for (unsigned i = 0; i < CAY_HELPER_COUNT; i++) {
                struct cay_helper *h = &k->helpers[i];

                if (state->helpers[i].pid <= 0)
                        continue;
                h->pid = state->helpers[i].pid;
                h->sock = state->helpers[i].sock;
                h->since_ms = cay_clock_ms();
                if (cay_helper_kinds[i].upgrade == CAY_HELPER_STAYS &&
                    state->helpers[i].version != cay_helper_kinds[i].version)
                        cay_helper_close(h);
        }
}

/* From the keeper that executed us: it is the same process, so its children are ours. */
static int take_over(struct keeper *k, sigset_t *ret_before, struct cay_error *err)
{
        struct cay_keeper_state state;

        if (cay_resume_load(k->options->resume_fd, &state, err) < 0)
                return -1;
        k->place = state.place;
        k->config_fd = state.config_fd;
        k->was_ready = state.flags & CAY_KEPT_READY;
        cay_keep_apply_mask(&k->plan, state.engines);
        k->registry.good = (struct cay_registry_text){ state.registry_fd, state.registry_folder };
        take_over_helpers(k, &state);
        cay_ports_keep_take_over(&k->ports, state.port_fds, state.port_count);
        *ret_before = state.before;
        cay_log_info("upgraded", "version=%s pid=%d", CAY_VERSION, (int)getpid());
        return 0;
}

static int run_keeper(struct keeper *k, struct cay_error *err)
{
        static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR2, SIGCHLD };
        bool is_resumed = k->options->resume_fd > 0;
        sigset_t before;
        int r;

        cay_resume_note_program();
        if (cay_keep_plan_make(k->options->config, &k->plan, err) < 0)
                return -1;
        if (is_resumed ? take_over(k, &before, err) < 0
                       : cay_place_open(&k->place, k->options->config, err) < 0 || seal_config(k, err) < 0)
                return -1;
        cay_keep_plan_tell(k->options->config, &k->plan);
        if (k->registry.good.fd < 0 &&
            cay_registry_keep_read(&k->registry, k->options->config->registry, err) < 0)
                return -1;
        k->loop = cay_loop_new();
        r = k->loop ? cay_signal_open(k->loop, &k->signals, signals, CAY_COUNT(signals), on_signal) : -errno;
        if (r == 0 && is_resumed) {
                k->signals.before =
                        before; /* signals were blocked across the exec; pending ones arrive now */
                r = k->helpers[CAY_HELPER_warden].sock >= 0 ? cay_upgrade_watch(k) : 0;
        }
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "watch signals");
        if (!is_resumed && cay_helpers_start(k, err) < 0)
                return -1;
        k->had_terminal = has_terminal();
        cay_keeper_start_front(k);
        r = k->step == CAY_STOPPED ? 0 : cay_loop_run(k->loop);
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
                .options = options,
                .config_fd = -1,
                .front_watch.fd = -1,
                .registry = CAY_REGISTRY_KEEP_NONE,
                .place = { .data_fd = -1, .lock_fd = -1, .layers_fd = -1, .disk_fd = -1, .unix_fd = -1 },
        };
        int r;

        cay_helpers_init(&k);
        r = run_keeper(&k, err);
        cay_helpers_close(&k);
        cay_front_keep_let_go(&k);
        cay_front_keep_sweep(CAY_HAND_RUN_FOLDER);
        if (k.config_fd >= 0)
                close(k.config_fd);
        cay_registry_keep_done(&k.registry);
        cay_crashers_done(&k.crashers);
        cay_ports_keep_done(&k.ports);
        cay_timer_clear(&k.timer);
        cay_upgrade_cancel(&k);
        cay_signal_close(&k.signals);
        cay_loop_free(k.loop);
        cay_place_close(&k.place);
        return r;
}
