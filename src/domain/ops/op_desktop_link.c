/* SPDX-License-Identifier: Apache-2.0 */
/* A link to the desktop of a sandbox for noVNC and other viewers, which can send no header from a browser. */
#include <stdio.h>
#include <string.h>

#include "domain/ops/files.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"
#include "domain/ops/ws_link.h"

#define LINK_MS 600000u
#define LINK_MAX_MS (24u * 60 * 60 * 1000)

struct args {
        const char *id;
        bool view_only;
        uint64_t expires_ms;
};

static const struct cay_field fields[] = {
        CAY_OP_SANDBOX_FIELD(struct args, id),
        { "view_only", CAY_FIELD_BOOL, offsetof(struct args, view_only), 0,
          "only to look at: no pointer, no keys, no clipboard" },
        { "expires_in", CAY_FIELD_DURATION, offsetof(struct args, expires_ms), 0,
          "how long viewers may connect with it; default ten minutes, at most a day", .min = 1000,
          .max = LINK_MAX_MS },
        {},
};

struct link {
        char url[CAY_WS_LINK_MAX], port_url[CAY_WS_LINK_MAX]; /* port_url "": the port is not published */
        uint64_t expires_s;
};

static uint16_t find_port(const struct cay_sandbox_view *view)
{
        for (unsigned i = 0; i < view->port_count; i++)
                if (view->ports[i].inside == CAY_SPEC_DESKTOP_PORT)
                        return view->ports[i].host;
        return 0;
}

static int make_link(struct cay_op_call *c, struct link *ret, struct cay_error *err)
{
        const struct args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_sandbox_view view;
        uint16_t port;

        if (cay_op_make_ws_link(c, a->id, a->view_only ? "desktop/view" : "desktop/ws",
                                a->expires_ms ? a->expires_ms : LINK_MS, ret->url, &ret->expires_s,
                                err) < 0 ||
            cay_service_get(c->world->service, &viewer, a->id, &view, err) < 0)
                return -1;
        port = find_port(&view);
        if (port)
                snprintf(ret->port_url, sizeof(ret->port_url), "ws://127.0.0.1:%u/%s%.700s", port,
                         a->view_only ? "view" : "websockify", strchr(ret->url, '?'));
        return 0;
}

RESULT(result_desktop_link, NULL, TEXT("url"), MAYBE("port_url", TEXT), TIME("expires_at"));

static void run_desktop_link(struct cay_op_call *c)
{
        struct link link = { 0 };
        struct cay_error err = { 0 };
        struct cay_op_result o;

        if (make_link(c, &link, &err) < 0) {
                cay_op_fail(c, &err, err.code == CAY_NOT_FOUND ? "id" : NULL);
                return;
        }
        cay_op_result_begin(&o, c);
        cay_op_key_text(&o.j, "url", link.url);
        cay_op_key_text(&o.j, "port_url", link.port_url[0] ? link.port_url : NULL);
        cay_op_key_time(&o.j, "expires_at", link.expires_s * 1000);
        explicit_bzero(&link, sizeof(link));
        cay_op_result_answer(&o, c, CAY_OP_CREATED);
}

const struct cay_op cay_op_desktop_link = {
        .name = "desktop_link",
        .route = "POST /api/sandboxes/{id}/desktop/links",
        .doc = "Makes an address of the desktop's WebSocket for noVNC: it needs no other credential, "
               "expires, "
               "and is good for this desktop alone. port_url is the same at the host's port, for sandboxes "
               "with 16080 in ports",
        .scope = CAY_SCOPE_EXEC,
        .fields = fields,
        .args_size = sizeof(struct args),
        .result = &result_desktop_link,
        .status = CAY_OP_CREATED,
        .verb = CAY_OP_VERB("desktop link", "id", NULL, "url=url port_url=port_url"),
        .run = run_desktop_link,
};
