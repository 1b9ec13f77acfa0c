/* SPDX-License-Identifier: Apache-2.0 */
/* What serve.c, front_keep.c, warden_keep.c and upgrade.c share: the keeper itself. */
#pragma once

#include "foundation/loop/signal.h"
#include "cay/keeper/engines.h"
#include "cay/keeper/helpers.h"
#include "cay/keeper/place.h"
#include "cay/keeper/ports_keep.h"
#include "cay/keeper/registry_keep.h"
#include "cay/keeper/serve.h"
#include "cay/keeper/turns_keep.h"

#define CAY_FRONT_GRACE_MS 5000 /* beyond what requests are given */

enum cay_keeper_step { CAY_SERVING, CAY_STOPPING_FRONT, CAY_STOPPING_HELPERS, CAY_STOPPED };

enum cay_upgrade { /* what it waits for */
                   CAY_UPGRADE_NONE,
                   CAY_UPGRADE_CHECK,  /* the warden's word on its successor */
                   CAY_UPGRADE_FRONT,  /* the front's end */
                   CAY_UPGRADE_WARDEN, /* the new warden's first word */
};

struct keeper {
        const struct cay_serve_options *options;
        struct cay_place place;
        struct cay_loop *loop;
        struct cay_signal signals;
        struct cay_timer timer; /* the next front, or patience with a child that is to end */
        int config_fd;
        struct cay_registry_keep registry;
        struct cay_ports_keep ports; /* of sandboxes, that fronts listen on */

        struct cay_keep_plan plan; /* which engines run */

        struct cay_helper helpers[CAY_HELPER_COUNT];
        struct cay_watch warden_watch; /* of what it answers over the keeper's socket */

        pid_t front;
        struct cay_watch front_watch; /* our end of its socket */
        uint64_t front_since_ms;
        struct cay_turns_keep turns;
        bool front_served; /* it said that it answers requests */
        unsigned failures; /* of fronts, in a row */

        enum cay_upgrade upgrade;
        struct cay_timer upgrade_timer;

        enum cay_keeper_step step;
        bool was_ready; /* some front was, once */
        bool had_terminal;
        bool failed;
        struct cay_error err;
};

/* serve.c */
void cay_keeper_start_front(struct keeper *k); /* at once */

/* front_keep.c */
int cay_front_keep_start(struct keeper *k, struct cay_error *err); /* with links to all helpers there are */
void cay_front_keep_let_go(struct keeper *k);                      /* our end of its socket; fine twice */

void cay_front_keep_sweep(const char *run_folder); /* locks of fronts that are gone (hand_over.h) */

/* docker_keep.c, warden_keep.c: rows of helpers.c */
int cay_docker_keep_start(struct keeper *k, struct cay_helper *h, struct cay_error *err);
int cay_warden_keep_start(struct keeper *k, struct cay_helper *h, struct cay_error *err);
void cay_warden_keep_on_close(struct keeper *k, struct cay_helper *h);
int cay_warden_keep_tell_registry(
        struct keeper *k); /* the folder that is in force now; 0 or more, or -errno */

/* upgrade.c. Told by a signal: all three programs are replaced by those that lie where they were started from. */
void cay_upgrade_begin(struct keeper *k);
void cay_upgrade_on_front_end(struct keeper *k); /* of the front that had to go for it */
/* Of a helper, which may end the upgrade. True: there was no front in between, and the next one is on its way. */
bool cay_upgrade_on_helper_end(struct keeper *k, const struct cay_helper *h);
void cay_upgrade_cancel(struct keeper *k); /* something else ends it; fine when there is none */
int cay_upgrade_watch(struct keeper *k);   /* listens to the warden: 0 or -errno */
