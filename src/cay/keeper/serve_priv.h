/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper's state, shared by serve.c, front_keep.c, warden_keep.c and upgrade.c. */
#pragma once

#include "foundation/loop/signal.h"
#include "cay/keeper/engines.h"
#include "cay/keeper/helpers.h"
#include "cay/keeper/place.h"
#include "cay/keeper/ports_keep.h"
#include "cay/keeper/registry_keep.h"
#include "cay/keeper/serve.h"
#include "cay/keeper/crashers.h"

#define CAY_FRONT_GRACE_MS 5000 /* beyond the time that requests get */

enum cay_keeper_step { CAY_SERVING, CAY_STOPPING_FRONT, CAY_STOPPING_HELPERS, CAY_STOPPED };

enum cay_upgrade { /* what it waits for */
                   CAY_UPGRADE_NONE,
                   CAY_UPGRADE_CHECK,  /* the warden's answer about its successor */
                   CAY_UPGRADE_FRONT,  /* the front's exit */
                   CAY_UPGRADE_WARDEN, /* the new warden's first message */
};

struct keeper {
        const struct cay_serve_options *options;
        struct cay_place place;
        struct cay_loop *loop;
        struct cay_signal signals;
        struct cay_timer timer; /* for the next front, or for a child that has to exit */
        int config_fd;
        struct cay_registry_keep registry;
        struct cay_ports_keep ports; /* of single sandboxes; fronts listen on them */

        struct cay_keep_plan plan; /* which engines run */

        struct cay_helper helpers[CAY_HELPER_COUNT];
        struct cay_watch warden_watch; /* for its answers over the keeper's socket */

        pid_t front;
        struct cay_watch front_watch; /* our end of its socket */
        uint64_t front_since_ms;
        struct cay_crashers crashers;
        bool front_served; /* it reported ready */
        unsigned failures; /* of fronts, in a row */

        enum cay_upgrade upgrade;
        struct cay_timer upgrade_timer;

        enum cay_keeper_step step;
        bool was_ready; /* a front was ready before */
        bool had_terminal;
        bool failed;
        struct cay_error err;
};

/* serve.c */
void cay_keeper_start_front(struct keeper *k); /* immediately */

/* front_keep.c */
int cay_front_keep_start(struct keeper *k, struct cay_error *err); /* with links to all running helpers */
void cay_front_keep_let_go(struct keeper *k); /* closes our end of its socket; may be called twice */

void cay_front_keep_sweep(const char *run_folder); /* removes locks of fronts that ended (hand_over.h) */

/* docker_keep.c, warden_keep.c: rows of helpers.c */
int cay_docker_keep_start(struct keeper *k, struct cay_helper *h, struct cay_error *err);
int cay_warden_keep_start(struct keeper *k, struct cay_helper *h, struct cay_error *err);
void cay_warden_keep_on_close(struct keeper *k, struct cay_helper *h);
int cay_warden_keep_tell_registry(struct keeper *k); /* the registry's current folder; 0 or more, or -errno */

/* upgrade.c. Requested by a signal: replaces all programs by those now installed at their paths. */
void cay_upgrade_begin(struct keeper *k);
void cay_upgrade_on_front_end(struct keeper *k); /* the front that had to exit for it has exited */
/* A helper exited, which may abort the upgrade. True: no front runs, and the next one is being started. */
bool cay_upgrade_on_helper_end(struct keeper *k, const struct cay_helper *h);
void cay_upgrade_cancel(struct keeper *k); /* another event ends the upgrade; harmless when there is none */
int cay_upgrade_watch(struct keeper *k);   /* reads the warden's answer: 0 or -errno */
