/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers that are started again below a front; the theory is in again.h. */
#include "cay/keeper/again.h"

#include <signal.h>
#include <sys/socket.h>

#include "foundation/base/log.h"
#include "cay/keeper/hand_over.h"
#include "cay/keeper/serve_priv.h"
#include "foundation/sys/unix_socket.h"

#define PAUSE_FIRST_MS 100
#define PAUSE_MAX_MS 10000

static struct cay_helper *helper_of(struct keeper *k, enum cay_keep_engine engine)
{
        return engine == CAY_KEEP_DOCKER ? &k->docker : &k->process;
}

/* A link to the new one, for the front that serves. */
static int hand_on(struct keeper *k, enum cay_keep_engine engine, struct cay_error *err)
{
        const struct cay_hand_engine say = { .magic = CAY_HAND_MAGIC,
                                             .size = sizeof(say),
                                             .engine = (uint32_t)engine };
        const char *who = engine == CAY_KEEP_DOCKER ? "cay-docker" : "cay-process";
        cay_auto_close int link = -1;
        int r;

        if (cay_helper_link(helper_of(k, engine), who, &link, err) < 0)
                return -1;
        r = (int)sys_send_fds(k->front_watch.fd, &say, sizeof(say), &link, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        return r < 0 ? cay_fail_sys(err, CAY_UNAVAILABLE, r, "hand the link of %s to the front", who) : 0;
}

static void on_time(struct cay_timer *t)
{
        struct cay_again *a = cay_container_of(t, struct cay_again, timer);
        struct keeper *k = a->keeper;
        struct cay_error err = { 0 };

        if (k->step != CAY_SERVING || k->upgrade != CAY_UPGRADE_NONE || helper_of(k, a->engine)->pid > 0)
                return; /* whoever starts the next front sees to it, or has */
        if (cay_keeper_start_helper(k, a->engine, &err) < 0) {
                cay_log_error("a helper does not start: tried again", "engine=%s error=%s",
                              cay_keep_engine_name(a->engine), err.msg);
                k->plan.rows[a->engine].falls++;
                cay_again_plan(k, a->engine);
                return;
        }
        if (k->front <= 0 || !k->front_served)
                return;
        if (hand_on(k, a->engine, &err) < 0) {
                cay_log_error("a front cannot be told of its helper: replaced", "error=%s", err.msg);
                kill(k->front, SIGTERM);
        }
}

void cay_again_plan(struct keeper *k, enum cay_keep_engine engine)
{
        struct cay_again *a = &k->again[engine];
        unsigned falls = k->plan.rows[engine].falls;
        uint64_t pause = falls <= 1 ? 0 : PAUSE_FIRST_MS;

        if (k->front > 0 && !k->front_served) {
                kill(k->front, SIGTERM);
                return;
        }
        for (unsigned i = 2; i < falls && pause < PAUSE_MAX_MS; i++)
                pause *= 2;
        a->keeper = k;
        a->engine = engine;
        cay_timer_set(k->loop, &a->timer, pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS, on_time);
}

void cay_again_cancel(struct keeper *k)
{
        for (unsigned i = 0; i < CAY_KEEP_ENGINES; i++)
                cay_timer_clear(&k->again[i].timer);
}
