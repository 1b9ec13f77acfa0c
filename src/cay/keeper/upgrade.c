/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upgrades a running daemon.
 *
 * Theory of operation. First both programs that keep state check whether the new version can take over: the
 * new keeper in a child, the new warden through the warden. If one says no, nothing has happened yet, and the
 * reason is logged. Then the front is told to exit. Clients see a pause: their connections wait, and the
 * output of commands stays in their boxes. Then the warden becomes the new one, then this process, which
 * finally starts the new front. That front finds every box. The front goes first for two reasons: a warden of
 * another version could not continue its link, and a front that loses its link counts its boxes as lost.
 */
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

#include "foundation/base/log.h"
#include "cay/keeper/resume.h"
#include "cay/keeper/serve_priv.h"
#include "foundation/sys/unix_socket.h"
#include "links/helper/message.h"

#define CHECK_MS 15000
#define WARDEN_MS 30000

static void end_front(struct keeper *k);
static void end(struct keeper *k);

static void refuse(struct keeper *k, const char *who, const char *why)
{
        cay_log_error("upgrade refused: the running programs continue", "who=%s reason=%s", who, why);
        cay_upgrade_cancel(k);
}

static struct cay_keeper_state make_state(const struct keeper *k)
{
        struct cay_keeper_state state = { .place = k->place,
                                          .before = k->signals.before,
                                          .config_fd = k->config_fd,
                                          .flags = k->was_ready ? CAY_KEPT_READY : 0,
                                          .engines = cay_keep_mask(&k->plan),
                                          .registry_fd = k->registry.good.fd,
                                          .registry_folder = k->registry.good.folder };

        for (unsigned i = 0; i < CAY_HELPER_COUNT; i++) {
                if (cay_helper_kinds[i].upgrade == CAY_HELPER_REPLACED)
                        continue;
                state.helpers[i].pid = (int32_t)k->helpers[i].pid;
                state.helpers[i].sock = k->helpers[i].sock;
                state.helpers[i].version = cay_helper_kinds[i].version;
        }
        state.port_count = cay_ports_keep_tell(&k->ports, state.port_fds);
        return state;
}

static struct cay_helper *warden_of(struct keeper *k)
{
        return &k->helpers[CAY_HELPER_warden];
}

/* Without native there is no warden to ask. */
static bool has_warden(const struct keeper *k)
{
        return cay_helper_is_wanted(k, CAY_HELPER_warden);
}

static int tell_warden(struct keeper *k, uint32_t type)
{
        const struct wire_keeper say = { .magic = WIRE_KEEPER_MAGIC, .size = sizeof(say), .type = type };

        return warden_of(k)->sock < 0 ? -EPIPE
                                      : (int)sys_send_fds(warden_of(k)->sock, &say, sizeof(say), NULL, 0, 0);
}

static void on_no_answer(struct cay_timer *t)
{
        struct keeper *k = cay_container_of(t, struct keeper, upgrade_timer);
        bool had_front_end = k->upgrade == CAY_UPGRADE_WARDEN;

        refuse(k, "warden", "it does not answer");
        if (had_front_end)
                cay_keeper_start_front(k);
}

static void on_front_stays(struct cay_timer *t)
{
        struct keeper *k = cay_container_of(t, struct keeper, upgrade_timer);

        cay_log_warn("the front does not end: killed", "pid=%d", (int)k->front);
        kill(k->front, SIGKILL); /* the next front adopts everything anyway */
}

void cay_upgrade_begin(struct keeper *k)
{
        struct cay_keeper_state state = make_state(k);
        struct cay_error err = { 0 };

        if (k->step != CAY_SERVING || k->upgrade != CAY_UPGRADE_NONE) {
                cay_log_warn("no upgrade: another one or the end is under way", "pid=%d", (int)getpid());
                return;
        }
        cay_log_info("upgrade asked for", "pid=%d", (int)getpid());
        if (cay_resume_check(k->options->argv, &state, &err) < 0) {
                refuse(k, "keeper", err.msg);
                return;
        }
        if (!has_warden(k)) {
                end_front(k);
                return;
        }
        k->upgrade = CAY_UPGRADE_CHECK;
        cay_timer_set(k->loop, &k->upgrade_timer, CHECK_MS, on_no_answer);
        if (tell_warden(k, WIRE_KEEPER_CHECK) < 0)
                refuse(k, "warden", "it is missing");
}

static void end_front(struct keeper *k)
{
        k->upgrade = CAY_UPGRADE_FRONT;
        cay_timer_clear(&k->upgrade_timer);
        if (k->front <= 0) { /* no front runs now: the next one is the new version */
                cay_timer_clear(&k->timer);
                cay_upgrade_on_front_end(k);
                return;
        }
        cay_timer_set(k->loop, &k->upgrade_timer, k->options->config->stop_timeout + CAY_FRONT_GRACE_MS,
                      on_front_stays);
        kill(k->front, SIGTERM);
}

void cay_upgrade_on_front_end(struct keeper *k)
{
        if (warden_of(k)->link >= 0)
                close(cay_take_fd(warden_of(k)->link)); /* to a warden that is about to be replaced */
        if (!has_warden(k)) {
                end(k);
                return;
        }
        k->upgrade = CAY_UPGRADE_WARDEN;
        cay_timer_set(k->loop, &k->upgrade_timer, WARDEN_MS, on_no_answer);
        if (tell_warden(k, WIRE_KEEPER_UPGRADE) < 0) {
                refuse(k, "warden", "it is missing");
                cay_keeper_start_front(k);
        }
}

/*
 * The warden is the new version. Become the new keeper; if that fails, the old keeper continues with the new
 * programs.
 */
static void end(struct keeper *k)
{
        struct cay_keeper_state state = make_state(k);
        struct cay_error err = { 0 };

        if (has_warden(k))
                cay_log_info("the warden is upgraded", "pid=%d", (int)warden_of(k)->pid);
        cay_upgrade_cancel(k);
        for (unsigned i = 0; i < CAY_HELPER_COUNT; i++)
                if (cay_helper_kinds[i].upgrade == CAY_HELPER_REPLACED)
                        cay_helper_tell_upgrade(&k->helpers[i]);
        cay_resume_exec(k->options->argv, &state, &err);
        cay_log_error("the keeper stays the old one", "error=%s", err.msg);
        cay_keeper_start_front(k);
}

static void on_warden_says(struct cay_watch *w, uint32_t events)
{
        struct keeper *k = cay_container_of(w, struct keeper, warden_watch);
        struct wire_kept a;
        ssize_t n = recv(w->fd, &a, sizeof(a), MSG_DONTWAIT);

        (void)events;
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n != (ssize_t)sizeof(a) || a.magic != WIRE_KEEPER_MAGIC || a.size != sizeof(a)) {
                cay_watch_remove(w); /* its exit arrives as SIGCHLD */
                return;
        }
        a.text[sizeof(a.text) - 1] = '\0';
        if (a.type == WIRE_KEEPER_CHECK && k->upgrade == CAY_UPGRADE_CHECK) {
                if (a.code == CAY_OK)
                        end_front(k);
                else
                        refuse(k, "warden", a.text);
        } else if (a.type == WIRE_KEEPER_UPGRADE && k->upgrade == CAY_UPGRADE_WARDEN) {
                if (a.code == CAY_OK) {
                        end(k);
                } else {
                        refuse(k, "warden", a.text);
                        cay_keeper_start_front(k);
                }
        }
}

int cay_upgrade_watch(struct keeper *k)
{
        return cay_watch_add(k->loop, &k->warden_watch, warden_of(k)->sock, EPOLLIN, on_warden_says);
}

bool cay_upgrade_on_helper_end(struct keeper *k, const struct cay_helper *h)
{
        bool is_between =
                k->upgrade == CAY_UPGRADE_WARDEN; /* no front runs whose exit would continue the upgrade */

        if (cay_helper_kinds[h->nr].upgrade != CAY_HELPER_BECOMES || k->upgrade == CAY_UPGRADE_NONE)
                return false;
        cay_upgrade_cancel(k);
        if (is_between)
                cay_keeper_start_front(k);
        return is_between;
}

void cay_upgrade_cancel(struct keeper *k)
{
        k->upgrade = CAY_UPGRADE_NONE;
        cay_timer_clear(&k->upgrade_timer);
}
