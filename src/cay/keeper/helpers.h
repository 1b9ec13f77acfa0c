/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper's helper programs: one table (helpers.c) says how each is started, when, and what its end and an upgrade mean; the rest
 * is the same for all of them.
 *
 * Theory of operation. A helper that ends is started again while the daemon serves. A front has connections and requests that have nothing
 * to do with that helper, so it is not replaced: it is handed a link to the next one (struct cay_hand_link) and goes on. The first
 * restart comes at once, later ones after pauses that grow while the helper keeps ending soon. A front that is not ready yet waits for
 * the helper that ended: it is replaced, as it has nothing to lose. The helper of an engine may be given up (engines.h); another one never is.
 *
 * A new helper is a row of links/helper/helpers.def, a row of the table in helpers.c, and a program that serves fronts as
 * links/helper_server does.
 */
#pragma once

#include "cay/keeper/helper.h"

struct keeper;

enum cay_helper_upgrade { /* what becomes of it when the keeper becomes another program */
                          CAY_HELPER_REPLACED, /* it ends, and the next keeper starts another: what it made outlives it */
                          CAY_HELPER_STAYS, /* it goes on as the program it is; the next keeper gets its socket */
                          CAY_HELPER_BECOMES, /* likewise, but it is asked first whether it can become the new program, and does (upgrade.c) */
};

struct cay_helper_kind {
        int engine;       /* enum cay_engine_nr: runs where that one does; CAY_ENGINE_COUNT: is_wanted says */
        const char *ends; /* for the log: what ends with it */
        enum cay_helper_upgrade upgrade;
        uint32_t
                version; /* of what it speaks with fronts: one that STAYS ends where the next keeper's is another */
        bool (*is_wanted)(const struct keeper *k); /* NULL: always; not for engines' */
        /* Starts it by cay_helper_start, and says what it has to know before a front comes. */
        int (*start)(struct keeper *k, struct cay_helper *h, struct cay_error *err);
        void (*on_close)(struct keeper *k,
                         struct cay_helper *h); /* our end of its socket is about to be closed; may be NULL */
};

extern const struct cay_helper_kind cay_helper_kinds[CAY_HELPER_COUNT];

void cay_helpers_init(struct keeper *k);
bool cay_helper_is_wanted(const struct keeper *k, enum cay_helper_nr nr);
int cay_helpers_start(struct keeper *k, struct cay_error *err); /* all that are wanted and not there */
/* A child ended. False: it was none of the helpers. */
bool cay_helpers_on_end(struct keeper *k, pid_t pid, int status);
bool cay_helpers_are_gone(const struct keeper *k);
void cay_helpers_close(struct keeper *k); /* tells all of them to end; fine twice */
void cay_helpers_kill(struct keeper *k);
