/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proof a client was admitted with, for connections that outlive the request: a WebSocket, a stream of
 * events, a terminal.
 *
 * Theory of operation. The gate authorises and charges a request once. A connection may stay open for hours,
 * so it keeps a pass. With the pass the gate authorises it again (was the key revoked, has the session ended,
 * has the token expired) and charges each of its messages like a request. A guard holds a pass and is in a
 * list of the gate, which checks the list several times a second; so a silent stream is also closed soon
 * after a revocation. A check costs two clock reads: keys and sessions are searched only after one was
 * revoked or ended.
 *
 * Whoever came over the unix socket has a pass that never ends and costs nothing: the kernel says who it is,
 * and local users are held by connections alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "domain/auth/scope.h"
#include "foundation/base/error.h"

struct cay_gate;

enum cay_pass_kind {
        CAY_PASS_FREE, /* does not end */
        CAY_PASS_TOKEN,
        CAY_PASS_KEY,
        CAY_PASS_SESSION,
        CAY_PASS_COUNT
};

#define CAY_PASS_PAYER (2 * CAY_OWNER_MAX + 80)

struct cay_pass {              /* zeroed: nothing is checked or charged */
        struct cay_gate *gate; /* borrowed */
        enum cay_pass_kind kind;
        char id[CAY_OWNER_MAX + 1]; /* of the key or session */
        uint64_t expires_s;         /* 0: never */
        uint64_t seen;              /* number of revocations so far */
        char payer[CAY_PASS_PAYER]; /* whose rate it is; "": not charged */
        bool is_anonymous;          /* the payer is an address */
};

/* NULL: valid. Else why it no longer is, in words for its client. */
const char *cay_pass_over(struct cay_pass *p);
/* Charges one message. 0; or CAY_LIMIT, with the milliseconds until there is room for one. */
int cay_pass_pay(struct cay_pass *p, uint64_t *ret_wait_ms, struct cay_error *err);

struct cay_guard { /* embedded, zeroed; the owner fills pass */
        struct cay_pass pass;
        /* Called once, from the loop or inside cay_guard_look; the guard has ended by then. */
        void (*on_over)(struct cay_guard *g, const char *why);
        struct cay_guard *next, **back;
};

void cay_guard_begin(struct cay_guard *g, void (*on_over)(struct cay_guard *g, const char *why));
void cay_guard_end(struct cay_guard *g); /* also when it has not begun; may be called twice */
/* Call it for each message. True: continue; false: on_over was called. */
bool cay_guard_look(struct cay_guard *g);
