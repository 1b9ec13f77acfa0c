/* SPDX-License-Identifier: Apache-2.0 */
/* The table of helper programs and their supervision (helpers.h has the theory of operation). */
#include "cay/keeper/helpers.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "cay/keeper/hand_over.h"
#include "cay/keeper/serve_priv.h"
#include "foundation/base/clock.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"
#include "foundation/sys/unix_socket.h"
#include "links/helper/docker_message.h"
#include "links/helper/message.h"
#include "links/helper/process_message.h"
#include "links/net/net_message.h"

#define PAUSE_FIRST_MS 100
#define PAUSE_MAX_MS 10000
#define FRONT_SAYS_MS 300 /* for a front that is not ready, so that it can log what its helper answered */
#define STEADY_MS 60000   /* a helper that ran this long is restarted at once */

/* cay-process: its boxes end with it, and it ends with us. */
static int start_process(struct keeper *k, struct cay_helper *h, struct cay_error *err)
{
        char *argv[] = { (char *)"cay-process", (char *)(uintptr_t)k->options->program_dir, NULL };

        return cay_helper_start(h, &(struct cay_spawn){ .argv = argv }, err);
}

/*
 * An id that belongs to no account, beside those of fronts (cay-front/front_id.h). cay-net switches to it and
 * gives up root.
 */
#define NET_ID "27816"

static bool is_net_wanted(const struct keeper *k)
{
        return k->plan.rows[CAY_ENGINE_native].runs || k->plan.rows[CAY_ENGINE_docker].runs;
}

static int start_net(struct keeper *k, struct cay_helper *h, struct cay_error *err)
{
        char edge[PATH_MAX];
        char *argv[] = { (char *)"cay-net",
                         (char *)"--keep",
                         (char *)"--id",
                         (char *)NET_ID,
                         (char *)"--edge",
                         edge,
                         NULL };

        snprintf(edge, sizeof(edge), "%s/cay-edge", k->options->program_dir);
        return cay_helper_start(h, &(struct cay_spawn){ .argv = argv }, err);
}

const struct cay_helper_kind cay_helper_kinds[CAY_HELPER_COUNT] = {
        [CAY_HELPER_warden] = { .engine = CAY_ENGINE_native,
                                .ends = "every sandbox of native",
                                .upgrade = CAY_HELPER_BECOMES,
                                .version = WIRE_VERSION,
                                .start = cay_warden_keep_start,
                                .on_close = cay_warden_keep_on_close },
        [CAY_HELPER_docker] = { .engine = CAY_ENGINE_docker,
                                .upgrade = CAY_HELPER_REPLACED,
                                .version = DOCKER_WIRE_VERSION,
                                .start = cay_docker_keep_start },
        [CAY_HELPER_process] = { .engine = CAY_ENGINE_process,
                                 .ends = "every sandbox of process",
                                 .upgrade = CAY_HELPER_STAYS,
                                 .version = PROCESS_WIRE_VERSION,
                                 .start = start_process },
        /*
         * An upgrade replaces cay-net, like the front, because strangers talk to it. The boxes stay and get
         * new sockets.
         */
        [CAY_HELPER_net] = { .engine = CAY_ENGINE_COUNT,
                             .ends = "connections of sandboxes",
                             .upgrade = CAY_HELPER_REPLACED,
                             .version = NET_WIRE_VERSION,
                             .is_wanted = is_net_wanted,
                             .start = start_net },
};

void cay_helpers_init(struct keeper *k)
{
        for (unsigned i = 0; i < CAY_HELPER_COUNT; i++)
                k->helpers[i] = (struct cay_helper){
                        .keeper = k, .nr = (enum cay_helper_nr)i, .sock = -1, .link = -1
                };
}

bool cay_helper_is_wanted(const struct keeper *k, enum cay_helper_nr nr)
{
        const struct cay_helper_kind *kind = &cay_helper_kinds[nr];

        if (kind->engine < CAY_ENGINE_COUNT)
                return k->plan.rows[kind->engine].runs;
        return !kind->is_wanted || kind->is_wanted(k);
}

static void close_one(struct keeper *k, struct cay_helper *h)
{
        const struct cay_helper_kind *kind = &cay_helper_kinds[h->nr];

        if (kind->on_close)
                kind->on_close(k, h);
        cay_helper_close(h);
}

static int start_one(struct keeper *k, struct cay_helper *h, struct cay_error *err)
{
        if (cay_helper_kinds[h->nr].start(k, h, err) == 0)
                return 0;
        close_one(k, h); /* a helper that started but did not get its setup notices this and exits */
        return -1;
}

int cay_helpers_start(struct keeper *k, struct cay_error *err)
{
        for (unsigned i = 0; i < CAY_HELPER_COUNT; i++)
                if (k->helpers[i].pid == 0 && cay_helper_is_wanted(k, (enum cay_helper_nr)i) &&
                    start_one(k, &k->helpers[i], err) < 0)
                        return -1;
        return 0;
}

/* Starting again */

/* Sends the running front a link to the new helper. */
static int hand_on(struct keeper *k, struct cay_helper *h, struct cay_error *err)
{
        const struct cay_helper_info *info = &cay_helper_infos[h->nr];
        struct cay_hand_link say = { .magic = CAY_HAND_MAGIC, .size = sizeof(say) };
        cay_auto_close int link = -1;
        int r;

        cay_str_copy(say.helper, sizeof(say.helper), info->name);
        if (cay_helper_link(h, &link, err) < 0)
                return -1;
        r = (int)sys_send_fds(k->front_watch.fd, &say, sizeof(say), &link, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        return r < 0 ? cay_fail_sys(err, CAY_UNAVAILABLE, r, "hand the link of %s to the front", info->who)
                     : 0;
}

static void plan_again(struct keeper *k, struct cay_helper *h);

static void on_time(struct cay_timer *t)
{
        struct cay_helper *h = cay_container_of(t, struct cay_helper, again);
        struct keeper *k = h->keeper;
        struct cay_error err = { 0 };

        if (k->step != CAY_SERVING || k->upgrade != CAY_UPGRADE_NONE || h->pid > 0)
                return; /* it runs, or starts with the next front */
        if (start_one(k, h, &err) < 0) {
                cay_log_error("a helper does not start: tried again", "helper=%s error=%s",
                              cay_helper_infos[h->nr].name, err.msg);
                h->falls++;
                plan_again(k, h);
                return;
        }
        if (k->front <= 0 || !k->front_served)
                return;
        if (hand_on(k, h, &err) < 0) {
                cay_log_error("the link to a helper cannot be sent to the front: replaced", "error=%s",
                              err.msg);
                kill(k->front, SIGTERM);
        }
}

/* It had time to report why it cannot continue. */
static void on_front_waits(struct cay_timer *t)
{
        struct keeper *k = cay_container_of(t, struct cay_helper, again)->keeper;

        if (k->front > 0 && !k->front_served)
                kill(k->front, SIGTERM);
        else
                on_time(t);
}

static void plan_again(struct keeper *k, struct cay_helper *h)
{
        uint64_t pause = h->falls <= 1 ? 0 : PAUSE_FIRST_MS;

        if (k->front > 0 && !k->front_served) {
                cay_timer_set(k->loop, &h->again, FRONT_SAYS_MS, on_front_waits);
                return;
        }
        for (unsigned i = 2; i < h->falls && pause < PAUSE_MAX_MS; i++)
                pause *= 2;
        cay_timer_set(k->loop, &h->again, pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS, on_time);
}

/* Ends */

static void log_end(const struct cay_helper *h, bool given_up, int status)
{
        const char *ends = cay_helper_kinds[h->nr].ends;
        char event[128];

        snprintf(event, sizeof(event), "%s ended%s%s%s%s", cay_helper_infos[h->nr].who, ends ? ", and " : "",
                 ends ? ends : "", ends ? " with it" : "", given_up ? "" : ": starting another");
        cay_log_error(event, "status=%d signal=%d", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                      WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void on_end(struct keeper *k, struct cay_helper *h, int status)
{
        const struct cay_helper_kind *kind = &cay_helper_kinds[h->nr];
        bool given_up;

        h->pid = 0;
        close_one(k, h);
        if (k->step != CAY_SERVING) { /* its exit status says whether it removed all that it made */
                k->failed = k->failed || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
                return;
        }
        h->falls = cay_clock_ms() - h->since_ms < STEADY_MS ? h->falls + 1 : 1;
        given_up = kind->engine < CAY_ENGINE_COUNT &&
                   cay_keep_fell(&k->plan, (enum cay_engine_nr)kind->engine, h->falls, k->was_ready);
        log_end(h, given_up, status);
        if (cay_upgrade_on_helper_end(k, h)) /* no front runs: the next one finds the helper */
                return;
        if (!given_up)
                plan_again(k, h);
}

bool cay_helpers_on_end(struct keeper *k, pid_t pid, int status)
{
        for (unsigned i = 0; i < CAY_HELPER_COUNT; i++) {
                if (k->helpers[i].pid != pid)
                        continue;
                on_end(k, &k->helpers[i], status);
                return true;
        }
        return false;
}

bool cay_helpers_are_gone(const struct keeper *k)
{
        for (unsigned i = 0; i < CAY_HELPER_COUNT; i++)
                if (k->helpers[i].pid > 0)
                        return false;
        return true;
}

void cay_helpers_close(struct keeper *k)
{
        for (unsigned i = 0; i < CAY_HELPER_COUNT; i++) {
                cay_timer_clear(&k->helpers[i].again);
                close_one(k, &k->helpers[i]);
        }
}

void cay_helpers_kill(struct keeper *k)
{
        for (unsigned i = 0; i < CAY_HELPER_COUNT; i++) {
                if (k->helpers[i].pid <= 0)
                        continue;
                cay_log_error("a helper does not end: killed", "helper=%s pid=%d", cay_helper_infos[i].name,
                              (int)k->helpers[i].pid);
                kill(k->helpers[i].pid, SIGKILL);
        }
}
