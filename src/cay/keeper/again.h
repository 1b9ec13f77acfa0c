/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A helper that ended while a front serves: another one is started, and that front gets a link to it.
 *
 * Theory of operation. A front has connections and requests that have nothing to do with this engine, so it is not replaced for its sake: it is
 * handed the new link (struct cay_hand_engine) and goes on. The first restart comes at once, later ones after pauses that grow while the
 * helper keeps ending soon. A front that is not ready yet waits for the helper that ended: it is replaced, as it has nothing to lose.
 */
#pragma once

#include "foundation/loop/loop.h"
#include "cay/keeper/engines.h"

struct keeper;

struct cay_again { /* one per engine; zeroed */
        struct keeper *keeper;
        enum cay_keep_engine engine;
        struct cay_timer timer;
};

/* Its helper has ended, and its engine is not given up. */
void cay_again_plan(struct keeper *k, enum cay_keep_engine engine);
void cay_again_cancel(struct keeper *k); /* all of them */
