/* SPDX-License-Identifier: Apache-2.0 */
/* A link to a port of a sandbox, for browsers, which cannot send a token with the first request. */
#include <stdio.h>
#include <string.h>

#include "domain/settings/config.h"
#include "domain/ops/view.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/ws_link.h"

#define LINK_MS 600000u
#define URL_MAX 1024u

struct args {
        const char *id;
        uint64_t port;
};

static const struct cay_field fields[] = {
        { "id", CAY_FIELD_TEXT, offsetof(struct args, id), 0, "the sandbox", .min = 1, .max = CAY_NAME_MAX },
        { "port", CAY_FIELD_U64, offsetof(struct args, port), CAY_FIELD_REQUIRED, "of a server in it",
          .min = 1, .max = 65535 },
        {},
};

/* "http://127.0.0.1:8888" and "3000-id" make "http://3000-id.localhost:8888/?cay_link=TOKEN". */
static int make_url(const struct cay_op_world *w, const char *label, const char *token, char ret[URL_MAX],
                    struct cay_error *err)
{
        const char *host = strstr(w->url, "://"), *port = strrchr(w->url, ':');

        if (!host || !port || port <= host)
                return cay_fail(err, CAY_INTERNAL, "the daemon does not know its own address");
        snprintf(ret, URL_MAX, "%.*s://%s.%.255s%s/?cay_link=%s", (int)(host - w->url), w->url, label,
                 w->config->proxy_domains.items[0], port, token);
        return 0;
}

static int make_link(struct cay_op_call *c, char ret_url[URL_MAX], uint64_t *ret_expires_s,
                     struct cay_error *err)
{
        const struct args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        char label[CAY_NAME_MAX + 8], token[CAY_OP_TOKEN_MAX];
        struct cay_sandbox_view view;

        if (cay_service_get(c->world->service, &viewer, a->id, &view, err) < 0)
                return -1;
        if (c->world->config->proxy_domains.count == 0)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "ports have no host names here: proxy_domains is empty; set it");
        snprintf(label, sizeof(label), "%u-%s", (unsigned)a->port, view.id);
        if (c->world->make_link(c->world, view.owner, label,
                                c->caller.credential == CAY_CREDENTIAL_KEY ? c->caller.id : NULL, LINK_MS,
                                token, ret_expires_s, err) < 0)
                return -1;
        return make_url(c->world, label, token, ret_url, err);
}

static void run_port_link(struct cay_op_call *c)
{
        const struct args *a = c->args;
        char url[URL_MAX];
        uint64_t expires_s = 0;
        struct cay_error err = { 0 };
        struct cay_op_result o;

        if (make_link(c, url, &expires_s, &err) < 0) {
                cay_op_fail(c, &err, err.code == CAY_NOT_FOUND ? "id" : NULL);
                return;
        }
        cay_op_result_begin(&o, c);
        cay_op_key_text(&o.j, "url", url);
        cay_op_key_u64(&o.j, "port", a->port);
        cay_op_key_time(&o.j, "expires_at", expires_s * 1000);
        explicit_bzero(url, sizeof(url));
        cay_op_result_answer(&o, c, CAY_OP_CREATED);
}

RESULT(result_port_link, NULL, TEXT("url"), NUMBER("port"), TIME("expires_at"));

const struct cay_op cay_op_port_link = {
        .name = "port_link",
        .route = "POST /api/sandboxes/{id}/links",
        .doc = "Makes a link to a port of a sandbox that a browser can open for ten minutes; there it stays "
               "signed in for "
               "an hour. Clients with a token need none: they name the host {port}-{id}.localhost",
        .scope = CAY_SCOPE_EXEC,
        .fields = fields,
        .args_size = sizeof(struct args),
        .result = &result_port_link,
        .status = CAY_OP_CREATED,
        .tool = CAY_TOOL("Link to a port",
                         "A link for a person's browser to a server in the sandbox. Start the server first, "
                         "in the background.",
                         "port_url",
                         .params = CAY_TOOL_PARAMS({ "port", "port", "TCP port that is listened on in it.",
                                                     .is_required = true })),
        .run = run_port_link,
};

/* MCP by an address alone */

#define MCP_LINK_MS (60u * 60 * 1000)

struct mcp_args {
        const char *id;
};

static const struct cay_field mcp_fields[] = {
        { "id", CAY_FIELD_TEXT, offsetof(struct mcp_args, id), 0,
          "only this sandbox; default: all that the caller may see", .min = 1, .max = CAY_NAME_MAX },
        {},
};

static void run_mcp(struct cay_op_call *c)
{
        const struct mcp_args *a = c->args;

        cay_op_answer_ws_link(c, a->id, "mcp", MCP_LINK_MS);
}

RESULT(result_mcp_link, NULL, TEXT("url"), TIME("expires_at"));

const struct cay_op cay_op_mcp_link = {
        .name = "mcp_link",
        .route = "POST /api/mcp/links",
        .doc = "Makes an address for clients of MCP over WebSocket that can send no header: good for an "
               "hour, for nothing else",
        .scope = CAY_SCOPE_EXEC,
        .fields = mcp_fields,
        .args_size = sizeof(struct mcp_args),
        .result = &result_mcp_link,
        .status = CAY_OP_CREATED,
        .run = run_mcp,
};
