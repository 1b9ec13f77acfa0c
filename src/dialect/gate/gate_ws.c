/* SPDX-License-Identifier: Apache-2.0 */
/* A token that comes with a WebSocket in another field than Authorization. */
#include <string.h>
#include <strings.h>

#include "dialect/gate/gate_priv.h"

#define OFFER "mcp.auth."

int cay_gate_offer_find(const char *field, const char **ret, size_t *ret_len)
{
        int found = 0;

        while (*field) {
                size_t len;

                field += strspn(field, " \t,");
                len = strcspn(field, " \t,");
                if (len >= strlen(OFFER) && strncmp(field, OFFER, strlen(OFFER)) == 0) {
                        if (found++)
                                return -1;
                        *ret = field + strlen(OFFER);
                        *ret_len = len - strlen(OFFER);
                }
                field += len;
        }
        return found;
}

int cay_gate_ws_token(const struct cay_http_request *req, const char **ret, size_t *ret_len)
{
        unsigned tokens = cay_http_request_header_count(req, "X-Auth-Token");
        const char *kind = cay_http_request_header(req, "Upgrade");
        int found = (int)tokens;

        if (!req->upgrade || !kind || strcasecmp(kind, "websocket") != 0)
                return 0;
        if (tokens > 0) {
                *ret = cay_http_request_header(req, "X-Auth-Token");
                *ret_len = strlen(*ret);
        }
        for (unsigned i = 0; i < req->line_count; i++) {
                const char *name, *value;
                int more;

                cay_http_request_header_at(req, i, &name, &value);
                if (strcasecmp(name, "Sec-WebSocket-Protocol") != 0)
                        continue;
                more = tokens > 0 ? 0 : cay_gate_offer_find(value, ret, ret_len);
                found = more < 0 || found + more > 1 ? 2 : found + more;
        }
        return found > 1 ? -1 : found;
}
