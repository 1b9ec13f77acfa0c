/* SPDX-License-Identifier: Apache-2.0 */
/* A WebSocket's token in another field than Authorization. */
#include <string.h>
#include <strings.h>

#include "daemon/gate/gate.h"
#include "daemon/gate/gate_priv.h"
#include "daemon/gate/gate_sandbox.h"

#define OFFER "mcp.auth."

static bool is_token(const char *offer, size_t len)
{
        return len >= strlen(OFFER) && strncmp(offer, OFFER, strlen(OFFER)) == 0;
}

int cay_gate_offer_find(const char *field, const char **ret, size_t *ret_len)
{
        int found = 0;

        while (*field) {
                size_t len;

                field += strspn(field, " \t,");
                len = strcspn(field, " \t,");
                if (is_token(field, len)) {
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

/* A key in E2B's shape, which other things may begin like. */
static bool has_e2b_key(const char *value, size_t len)
{
        const char *end = value + len, *at = value;

        while ((at = memmem(at, (size_t)(end - at), "e2b_", 4))) {
                if (end - at >= CAY_API_KEY_E2B_LEN && cay_api_key_is_one(at, CAY_API_KEY_E2B_LEN))
                        return true;
                at++;
        }
        return false;
}

/* Whether a token or key of ours is in it, valid or not. Sandboxes must not see one, in whatever field. */
static bool has_secret(const char *value, size_t len)
{
        static const char *const words[] = { "cay1.", "cays1.", "cayp1.", "cayk_" };

        for (unsigned i = 0; i < CAY_COUNT(words); i++)
                if (memmem(value, len, words[i], strlen(words[i])))
                        return true;
        return has_e2b_key(value, len);
}

int cay_gate_put_field(struct cay_buf *out, const struct cay_http_request *req, const char *name,
                       const char *value)
{
        size_t before = out->len, begin;
        int r;

        if ((req->upgrade && strcasecmp(name, "X-Auth-Token") == 0) || cay_gate_sandbox_field(name))
                return 0;
        if (strcasecmp(name, "Sec-WebSocket-Protocol") != 0 && has_secret(value, strlen(value)))
                return 0;
        if (strcasecmp(name, "Sec-WebSocket-Protocol") != 0)
                return cay_buf_printf(out, "%s: %s\r\n", name, value);
        r = cay_buf_printf(out, "%s: ", name);
        begin = out->len;
        while (*value && r == 0) {
                size_t len;

                value += strspn(value, " \t,");
                len = strcspn(value, " \t,");
                if (len > 0 && !is_token(value, len) && !has_secret(value, len))
                        r = cay_buf_printf(out, "%s%.*s", out->len > begin ? ", " : "", (int)len, value);
                value += len;
        }
        if (r == 0 && out->len > begin)
                return cay_buf_puts(out, "\r\n");
        cay_buf_cut(out, before);
        return r;
}
