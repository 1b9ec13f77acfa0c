/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which engines a daemon runs with, and why: decided once, at its start, from the setting and from what this machine can.
 *
 * Theory of operation. `native` and `docker` are what they say: that one, whatever it can. `auto` takes native where it holds (a look: a
 * namespace is made and used, in a child) and Docker where one is named or found, both where both are there; native is the first
 * choice. `process` has no isolation: nothing falls back to it. It runs where the operator says so, as the one engine (`engine: process`) or
 * beside the others, for requests and templates that name it (`process_engine: true`). Deciding is pure, so that it can be tested; looking
 * is apart from it. A helper that keeps falling over is let go while an engine that isolates works: then it is as if it had not been
 * there, with that as the reason.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/error.h"
#include "domain/settings/config.h"
#include "engines/engine_list.h"

#define CAY_KEEP_WHY 224

struct cay_keep_facts { /* about this machine; looked at for `auto` alone, but for `on` */
        struct {
                bool on;                  /* START_BY_NAME: the operator allows it to those who name it */
                char why[CAY_KEEP_WHY];   /* START_AUTO: it cannot be had; "": it can */
                char where[CAY_KEEP_WHY]; /* it can: what says so, for people */
        } rows[CAY_ENGINE_COUNT];
};

struct cay_keep_plan {
        bool is_auto;
        struct cay_keep_row {
                bool runs;
                char why[2 * CAY_KEEP_WHY]; /* it runs, or it does not */
        } rows[CAY_ENGINE_COUNT];
};

void cay_keep_look(const struct cay_config *config, struct cay_keep_facts *ret); /* may take a moment */
/* CAY_INVALID: no such engine. CAY_UNSUPPORTED: none can be had, and why. */
int cay_keep_decide(const char *setting, const struct cay_keep_facts *facts, struct cay_keep_plan *ret,
                    struct cay_error *err);
/* Both; the log is told of what stands in the way. */
int cay_keep_plan_make(const struct cay_config *config, struct cay_keep_plan *ret, struct cay_error *err);
/* Into the log, once it is sure that this daemon is to run. */
void cay_keep_plan_tell(const struct cay_config *config, const struct cay_keep_plan *plan);
/*
 * Its helper ended soon after its start, `falls` times in a row. True: that was once too often (or there was no use in it from the start) and
 * another engine is there, so it runs no more.
 */
bool cay_keep_fell(struct cay_keep_plan *p, enum cay_engine_nr e, unsigned falls, bool was_ready);
/* For the keeper that takes over: what ran goes on to run, also when it could not be found right now. */
uint32_t cay_keep_mask(const struct cay_keep_plan *p);
void cay_keep_apply_mask(struct cay_keep_plan *p, uint32_t mask);
