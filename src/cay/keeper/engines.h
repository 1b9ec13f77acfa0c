/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which engines a daemon runs, and why. It decides once, at the start, from the settings and from
 * what this machine can do.
 *
 * Theory of operation. `native` and `docker` select that engine alone, whatever this machine can do. `auto`
 * selects native if a probe succeeds (a child makes and uses a namespace), and Docker if one is configured or
 * found. If both work, native is preferred. `process` has no isolation, so nothing falls back to it. The
 * operator enables it as the only engine (`engine: process`), or beside the others for requests and templates
 * that name it (`process_engine: true`). The decision is a pure function and is tested apart from the probes.
 * A helper that keeps ending soon after its start is given up if another isolating engine works. Its engine
 * is then reported as missing, with that reason.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/error.h"
#include "domain/settings/config.h"
#include "engines/engine_list.h"

#define CAY_KEEP_WHY 224

struct cay_keep_facts { /* facts about this machine; probed only for `auto`, except `on` */
        struct {
                bool on;                /* START_BY_NAME: the operator allows it for requests that name it */
                char why[CAY_KEEP_WHY]; /* START_AUTO: why it is unavailable; "": it is available */
                char where[CAY_KEEP_WHY]; /* available: what shows it, for people */
        } rows[CAY_ENGINE_COUNT];
};

struct cay_keep_plan {
        bool is_auto;
        struct cay_keep_row {
                bool runs;
                char why[2 * CAY_KEEP_WHY]; /* whether it runs */
        } rows[CAY_ENGINE_COUNT];
};

void cay_keep_look(const struct cay_config *config, struct cay_keep_facts *ret); /* blocks for a moment */
/* CAY_INVALID: no such engine. CAY_UNSUPPORTED: no engine is available; the text says why. */
int cay_keep_decide(const char *setting, const struct cay_keep_facts *facts, struct cay_keep_plan *ret,
                    struct cay_error *err);
/* Probes and decides; logs what is missing. */
int cay_keep_plan_make(const struct cay_config *config, struct cay_keep_plan *ret, struct cay_error *err);
/* Logs the decision. Call it when it is certain that this daemon will run. */
void cay_keep_plan_tell(const struct cay_config *config, const struct cay_keep_plan *plan);
/*
 * The engine's helper ended soon after its start, `falls` times in a row. Returns true if the engine is given
 * up: the limit is reached, or it was never useful, and another engine runs.
 */
bool cay_keep_fell(struct cay_keep_plan *p, enum cay_engine_nr e, unsigned falls, bool was_ready);
/* For a keeper that takes over: engines that ran continue to run, even if the probe fails now. */
uint32_t cay_keep_mask(const struct cay_keep_plan *p);
void cay_keep_apply_mask(struct cay_keep_plan *p, uint32_t mask);
