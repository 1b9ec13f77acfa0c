/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that have not shown who they are (cay_http_request_own), oldest first, and which of them makes room for the next:
 * one that waits for its client, before any that is at work. Whoever has shown a token is not among them.
 */
#pragma once

#include <stdint.h>

struct cay_http_conn;

struct cay_anonymous {
        struct cay_http_conn *first, *last;
};

void cay_anonymous_add(struct cay_anonymous *s, struct cay_http_conn *c);
void cay_anonymous_drop(struct cay_anonymous *s, struct cay_http_conn *c); /* fine when it is not in it */
/* The one to let go, of that peer or (key 0) of all; NULL: none of them waits for its client. */
struct cay_http_conn *cay_anonymous_pick(const struct cay_anonymous *s, uint64_t key);
