/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper's helper programs. One table (helpers.c) says how and when each is started, and what its exit
 * and an upgrade mean. Everything else is the same for all.
 *
 * Theory of operation. A helper that exits is restarted while the daemon serves. The front has connections
 * and requests that do not need that helper, so it is not replaced. It gets a link to the new helper (struct
 * cay_hand_link). The first restart is immediate; the delay grows while the helper keeps exiting soon. A
 * front that is not ready yet waits for its helpers and has no clients to lose, so it is replaced. An
 * engine's helper may be given up (engines.h), others never.
 *
 * A new helper needs a row in links/helper/helpers.def, a row in the table of helpers.c, and a program based
 * on links/helper_server.
 */
#pragma once

#include "cay/keeper/helper.h"

struct keeper;

enum cay_helper_upgrade { /* what happens to it when the keeper is upgraded */
                          /* it exits, and the next keeper starts a new one: what it made outlives it */
                          CAY_HELPER_REPLACED,
                          CAY_HELPER_STAYS, /* it continues unchanged; the next keeper gets its socket */
                          /*
                           * likewise, but it first checks whether it can become the new program, and then
                           * does (upgrade.c)
                           */
                          CAY_HELPER_BECOMES,
};

struct cay_helper_kind {
        int engine; /* enum cay_engine_nr: runs if that engine runs; CAY_ENGINE_COUNT: is_wanted decides */
        const char *ends; /* for the log: what ends with it */
        enum cay_helper_upgrade upgrade;
        /* of its protocol with fronts: a helper that STAYS exits if the next keeper's version differs */
        uint32_t version;
        bool (*is_wanted)(const struct keeper *k); /* NULL: always; not used for engines' helpers */
        /* Starts it with cay_helper_start, and tells it what it has to know before the first front. */
        int (*start)(struct keeper *k, struct cay_helper *h, struct cay_error *err);
        void (*on_close)(struct keeper *k,
                         struct cay_helper *h); /* our end of its socket is about to be closed; may be NULL */
};

extern const struct cay_helper_kind cay_helper_kinds[CAY_HELPER_COUNT];

void cay_helpers_init(struct keeper *k);
bool cay_helper_is_wanted(const struct keeper *k, enum cay_helper_nr nr);
int cay_helpers_start(struct keeper *k, struct cay_error *err); /* all that are wanted and do not run */
/* A child exited. Returns false if it was not a helper. */
bool cay_helpers_on_end(struct keeper *k, pid_t pid, int status);
bool cay_helpers_are_gone(const struct keeper *k);
void cay_helpers_close(struct keeper *k); /* tells all of them to exit; may be called twice */
void cay_helpers_kill(struct keeper *k);
