/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent remembers: its own key, and the key of each daemon that it was paired with, by address.
 * Everything is opened before root is given up; after that only what is open can be written.
 */
#pragma once

#include "cay-agent/options.h"
#include "cay-agent/rules.h"
#include "domain/auth/proof.h"
#include "foundation/base/error.h"

struct agent_state {
        struct cay_proof_pair pair; /* its own */
        bool is_paired;
        uint8_t daemon[CAY_PROOF_KEY]; /* pinned, once paired */
        int pin;                       /* the daemon's file; -1: not open */
};

/*
 * The options name the folder, or NULL: the usual one of this user. The rules and what was answered for this
 * daemon are loaded with it.
 */
int agent_state_open(struct agent_state *s, struct agent_options *o, struct agent_rules *rules,
                     struct cay_error *err);
int agent_state_pin(struct agent_state *s, const uint8_t daemon[CAY_PROOF_KEY],
                    struct cay_error *err); /* stored when it returns */
int agent_state_reload(struct agent_state *s,
                       struct cay_error *err); /* another process may have pinned one */
void agent_state_close(struct agent_state *s);
