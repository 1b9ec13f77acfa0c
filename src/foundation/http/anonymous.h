/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unauthenticated connections (see cay_http_request_own), oldest first, and the choice of the one to evict
 * for a new connection: one that waits for its client comes before any that is being served. Connections that
 * have shown a token are not in the list.
 */
#pragma once

#include <stdint.h>

struct cay_http_conn;

struct cay_anonymous {
        struct cay_http_conn *first, *last;
};

void cay_anonymous_add(struct cay_anonymous *s, struct cay_http_conn *c);
/* allowed when it is not in the list */
void cay_anonymous_drop(struct cay_anonymous *s, struct cay_http_conn *c);
/* The connection to evict, of that peer or (key 0) of all; NULL: none of them waits for its client. */
struct cay_http_conn *cay_anonymous_pick(const struct cay_anonymous *s, uint64_t key);
