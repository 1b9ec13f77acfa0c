/* SPDX-License-Identifier: Apache-2.0 */
/* Signed WebSocket addresses, for clients that can open an address but send no header. Such an address carries a token
 * that is good for its path alone and that expires. */
#ifndef CAY_DOMAIN_OPS_WS_LINK_H
#define CAY_DOMAIN_OPS_WS_LINK_H

#include <stdint.h>

struct cay_op_call;

/* Answers `c` with {"url", "expires_at"}: ws://…/api/sandboxes/SANDBOX/LEAF?token=…, or with `sandbox` NULL ws://…/LEAF
 * for all that the caller may see. The caller must be allowed to see the sandbox. */
void cay_op_answer_ws_link(struct cay_op_call *c, const char *sandbox, const char *leaf,
                           uint64_t lifetime_ms);

#endif
