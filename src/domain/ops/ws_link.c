/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/ops/ws_link.h"

#include <stdio.h>
#include <string.h>

#include "domain/auth/token.h"
#include "domain/ops/view.h"

/* The address is "ws" and the rest of the daemon's own address after "http". */
int cay_op_make_ws_link(struct cay_op_call *c, const char *sandbox, const char *leaf, uint64_t lifetime_ms,
                        char ret_url[CAY_WS_LINK_MAX], uint64_t *ret_expires_s, struct cay_error *err)
{
        struct cay_viewer viewer = cay_op_viewer(c);
        char path[CAY_NAME_MAX + 64], label[CAY_OWNER_MAX + 1], token[CAY_OP_TOKEN_MAX];
        const char *owner = c->caller.owner;
        struct cay_sandbox_view view;

        if (strncmp(c->world->url, "http", 4) != 0)
                return cay_fail(err, CAY_INTERNAL, "the daemon does not know its own address");
        snprintf(path, sizeof(path), "/%.24s", leaf);
        if (sandbox) {
                if (cay_service_get(c->world->service, &viewer, sandbox, &view, err) < 0)
                        return -1;
                snprintf(path, sizeof(path), "/api/sandboxes/%.40s/%.24s", view.id, leaf);
                owner = view.owner;
        }
        if (!cay_token_ws_label(path, label))
                return cay_fail(err, CAY_INTERNAL, "no link can be made for '%s'", path);
        if (c->world->make_link(c->world, owner, label,
                                c->caller.credential == CAY_CREDENTIAL_KEY ? c->caller.id : NULL, lifetime_ms,
                                token, ret_expires_s, err) < 0)
                return -1;
        snprintf(ret_url, CAY_WS_LINK_MAX, "ws%s%s?token=%s", c->world->url + 4, path, token);
        explicit_bzero(token, sizeof(token));
        return 0;
}

void cay_op_answer_ws_link(struct cay_op_call *c, const char *sandbox, const char *leaf, uint64_t lifetime_ms)
{
        char url[CAY_WS_LINK_MAX];
        uint64_t expires_s = 0;
        struct cay_error err = { 0 };
        struct cay_op_result o;

        if (cay_op_make_ws_link(c, sandbox, leaf, lifetime_ms, url, &expires_s, &err) < 0) {
                cay_op_fail(c, &err, err.code == CAY_NOT_FOUND ? "id" : NULL);
                return;
        }
        cay_op_result_begin(&o, c);
        cay_op_key_text(&o.j, "url", url);
        cay_op_key_time(&o.j, "expires_at", expires_s * 1000);
        explicit_bzero(url, sizeof(url));
        cay_op_result_answer(&o, c, CAY_OP_CREATED);
}
