/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that end fronts.
 *
 * Theory of operation. A front writes down whose request it works for (hand_over.h). When it crashes, that client's requests to that route
 * have a strike; at the second within CAY_HAND_REFUSED_MS the next fronts refuse them, for as long, so that one client cannot keep all others from
 * being served. A front that was killed, or ended by itself, has not crashed: out of memory or an operator can meet anybody.
 */
#pragma once

#include <stdint.h>

#include "cay/keeper/hand_over.h"

#define CAY_TURNS_MAX 32u /* clients and routes with a strike; the oldest goes */
#define CAY_TURNS_STRIKES 2u

struct cay_turns_keep {
        int fd; /* 0: none yet */
        struct {
                uint64_t key, last_ms;
                unsigned strikes;
        } rows[CAY_TURNS_MAX];
};

/* The memory for the next front, with what it shall refuse: 0, or -errno and there is none. */
int cay_turns_keep_before_front(struct cay_turns_keep *t, uint64_t now_ms);
/* What a front that ended like this (waitpid) was doing. */
void cay_turns_keep_on_end(struct cay_turns_keep *t, int status, uint64_t now_ms);
void cay_turns_keep_done(struct cay_turns_keep *t); /* safe on a zeroed one */
