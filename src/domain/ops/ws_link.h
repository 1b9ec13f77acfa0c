/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signed WebSocket addresses, for clients that can open an address but send no header. Such an address
 * carries a token that is good for its path alone and that expires.
 */
#ifndef CAY_DOMAIN_OPS_WS_LINK_H
#define CAY_DOMAIN_OPS_WS_LINK_H

#include <stdint.h>

#define CAY_WS_LINK_MAX 1024u

struct cay_error;
struct cay_op_call;

/* The address alone, for answers that say more: ws://…/LEAF?token=…. 0 or -1. */
int cay_op_make_ws_link(struct cay_op_call *c, const char *sandbox, const char *leaf, uint64_t lifetime_ms,
                        char ret_url[CAY_WS_LINK_MAX], uint64_t *ret_expires_s, struct cay_error *err);
/*
 * Answers `c` with {"url", "expires_at"}: ws://…/api/sandboxes/SANDBOX/LEAF?token=…, or with `sandbox` NULL
 * ws://…/LEAF for all that the caller may see. The caller must be allowed to see the sandbox.
 */
void cay_op_answer_ws_link(struct cay_op_call *c, const char *sandbox, const char *leaf,
                           uint64_t lifetime_ms);

#endif
