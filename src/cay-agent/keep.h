/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's keeper: the process that is started, and stays. It starts the helper that makes boxes, and the
 * agent as a child of its own.
 *
 * Theory of operation. The child hears the daemon; the keeper hears nobody. When the child is killed or
 * crashes, the keeper starts another one and gives it a new link to the helper, whose boxes have lived on
 * (cay-warden's "keep", as below `cay serve`). When the child ends by itself, the keeper lets the helper go,
 * which removes all boxes, and ends with the child's status. A keeper that is killed takes both with it.
 * Root's keeper stays root, since the next child opens with root's rights what it needs before it gives them
 * up.
 *
 * The warden is given the folders that the rules name, and maps no others, whatever the child asks.
 */
#pragma once

#include "cay-agent/options.h"
#include "cay-agent/rules.h"
#include "foundation/base/error.h"

struct agent_keep {
        const char *programs;
        bool as_user;     /* cay-process makes the boxes, not the warden */
        int helper;       /* its process; 0: none */
        int link, socket; /* for its first agent, -1: it has been given; ours to it */
        int agent;        /* the child; 0: none */
        unsigned falls;   /* of it in a row, soon after its start */
};

/* Starts the helper and tells it the rules' folders. */
int agent_keep_open(struct agent_keep *k, const char *programs, const struct agent_rules *rules,
                    struct cay_error *err);
/*
 * Runs the agent, again and again, until it ends by itself: its exit status. In the child run is called, with
 * the helper's link, taken.
 */
int agent_keep_run(struct agent_keep *k, int (*run)(void *ctx, int link), void *ctx);
/* The helper removes its boxes and ends: 0, or -1 where something was left. */
int agent_keep_close(struct agent_keep *k);

void agent_keep_die_with_it(void); /* in the child: it ends when the keeper does, however that ends */
