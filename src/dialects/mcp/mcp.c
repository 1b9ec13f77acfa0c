/* SPDX-License-Identifier: Apache-2.0 */
/* Where MCP is served, and what is refused before a message is read. */
#include "dialects/mcp/mcp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "dialects/mcp/session.h"
#include "dialects/mcp/task.h"
#include "dialects/mcp/tools.h"

#define SWEEP_MS 30000u

/* Addresses */

static bool is_end(const char *rest)
{
        return strcmp(rest, "") == 0 || strcmp(rest, "/") == 0;
}

/* "/mcp", "/" and nothing: below the name of a port. */
static bool is_mcp_path(const char *rest)
{
        return is_end(rest) || (strncmp(rest, "/mcp", 4) == 0 && is_end(rest + 4));
}

static bool read_sandbox(const char *path, struct cay_mcp_place *ret)
{
        static const char start[] = "/api/sandboxes/";
        static const char port[] = "/ports/18765";
        size_t len = 0;

        if (strncmp(path, start, strlen(start)) != 0)
                return false;
        path += strlen(start);
        len = strcspn(path, "/");
        if (len == 0 || len > CAY_NAME_MAX)
                return false;
        memcpy(ret->sandbox, path, len);
        ret->sandbox[len] = '\0';
        path += len;
        if (strncmp(path, "/mcp", 4) == 0 && is_end(path + 4))
                return true;
        if (strncmp(path, port, strlen(port)) != 0)
                return false;
        ret->is_health = strcmp(path + strlen(port), "/health") == 0;
        return ret->is_health || is_mcp_path(path + strlen(port));
}

/* Other parameters are left alone: agents add some of their own. */
static void read_groups(const char *query, struct cay_mcp_place *ret)
{
        char room[4 * CAY_MCP_GROUPS_MAX];
        const char *value;
        int r = cay_http_query_get(query, "tools", room, sizeof(room), &value);

        if (r > 0 && cay_mcp_groups_read(value, ret->groups) < 0)
                r = -EINVAL;
        ret->has_bad_groups = r < 0;
        ret->is_temporary = cay_http_query_get(query, "temporary", room, sizeof(room), &value) > 0;
}

bool cay_mcp_find(const struct cay_http_request *req, const struct cay_visitor *v, struct cay_mcp_place *ret)
{
        const char *path = req->target.path;

        *ret = (struct cay_mcp_place){ 0 };
        read_groups(req->target.query, ret);
        if (v->port.port) {
                snprintf(ret->sandbox, sizeof(ret->sandbox), "%s", v->port.sandbox);
                ret->is_health = strcmp(path, "/health") == 0;
                return v->port.port == CAY_MCP_PORT;
        }
        return (strncmp(path, "/mcp", 4) == 0 && is_end(path + 4)) || read_sandbox(path, ret);
}

/* Refusals */

void cay_mcp_refuse(struct cay_http_request *req, unsigned status, int code, const char *text)
{
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, 8192);
        cay_rpc_put_error(&out, "null", code, text, NULL);
        cay_http_response_send(req, status, "application/json", cay_buf_data(&out), out.len);
}

/* The message is not read for it, so its id is not known. */
void cay_mcp_refuse_gate(struct cay_http_request *req, const struct cay_visitor *v, unsigned status,
                         const char *text)
{
        cay_auto_buf struct cay_buf out = { 0 };

        if (status != 429) {
                cay_mcp_refuse(req, status, CAY_RPC_NO_REQUEST, text);
                return;
        }
        cay_buf_init(&out, 8192);
        cay_rpc_put_too_often(&out, "null", text, v->wait_ms);
        cay_http_response_send(req, status, "application/json", cay_buf_data(&out), out.len);
}

static void refuse_unknown(struct cay_http_request *req, const struct cay_visitor *v)
{
        char body[512];

        snprintf(body, sizeof(body), "{\"error\":\"invalid_token\",\"error_description\":\"%s\"}",
                 cay_gate_unknown_text(v)); /* texts of ours: nothing in them is to be escaped */
        cay_http_response_add(req, "WWW-Authenticate",
                              v->was_refused ? "Bearer realm=\"cay\", error=\"invalid_token\""
                                             : "Bearer realm=\"cay\"");
        cay_http_response_send(req, 401, "application/json", body, strlen(body));
}

static void answer_options(struct cay_http_request *req, const struct cay_visitor *v)
{
        if (v->origin && v->origin_is_fine) {
                cay_http_response_add(req, "Access-Control-Allow-Methods", "POST, GET, DELETE, OPTIONS");
                cay_http_response_add(req, "Access-Control-Allow-Headers",
                                      "Content-Type, Authorization, Accept, Mcp-Session-Id, "
                                      "MCP-Protocol-Version, Mcp-Method, Mcp-Name, Last-Event-ID");
                cay_http_response_add(req, "Access-Control-Max-Age", "600");
        }
        cay_http_response_add(req, "Allow", "POST, GET, DELETE, OPTIONS");
        cay_http_response_send(req, 204, NULL, NULL, 0);
}

/* A sandbox that does not belong to the caller is reported as not found. */
static bool is_there(struct cay_mcp *m, const struct cay_visitor *v, struct cay_mcp_place *place)
{
        struct cay_viewer viewer = cay_mcp_viewer(&v->caller);
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };

        if (!place->sandbox[0])
                return true;
        if (cay_service_get(m->world->service, &viewer, place->sandbox, &view, &err) < 0)
                return false;
        snprintf(place->sandbox, sizeof(place->sandbox), "%s", view.id);
        return true;
}

static void refuse_groups(struct cay_http_request *req)
{
        char names[CAY_MCP_GROUPS_MAX + 1], text[CAY_MCP_GROUPS_MAX + 128];

        cay_mcp_group_names(names, sizeof(names));
        snprintf(text, sizeof(text), "tools: must be names of groups, separated by commas: all, %s", names);
        cay_mcp_refuse(req, 400, CAY_RPC_NO_REQUEST, text);
}

/* Methods */

static bool is_json(const struct cay_http_request *req)
{
        const char *type = cay_http_request_header(req, "Content-Type");
        size_t len = type ? strcspn(type, "; \t") : 0;

        return len == strlen("application/json") && strncasecmp(type, "application/json", len) == 0;
}

/* What callers of sandbox-mcp-server look at before they connect. */
static void answer_health(struct cay_http_request *req)
{
        static const char body[] = "{\"status\":\"healthy\"}";

        cay_http_response_send(req, 200, "application/json", body, strlen(body));
}

static void get_stream(struct cay_mcp_session *s, struct cay_http_request *req, const struct cay_visitor *v)
{
        const char *last = cay_http_request_header(req, "Last-Event-ID");
        struct cay_mcp_stream *stream = &s->own;
        unsigned nr = 0, seq = 0;

        if (last && !cay_mcp_event_id_read(last, &nr, &seq))
                stream = NULL;
        else if (last)
                stream = cay_mcp_session_find_stream(s, nr);
        if (!stream)
                cay_http_response_send(req, 204, NULL, NULL, 0); /* clients then stop asking */
        else if (stream == &s->own && stream->req)
                cay_mcp_refuse(req, 409, CAY_RPC_NO_REQUEST, "this session has its stream already");
        else if (last && nr != 0 &&
                 seq < stream->forgotten) /* of changes one may miss some, of an answer none */
                cay_mcp_refuse(req, 410, CAY_RPC_INTERNAL,
                               "the events after this one are no longer kept, because there was no memory: "
                               "repeat the request");
        else if (last && !cay_mcp_stream_fits_all(stream, req, seq))
                cay_mcp_refuse(req, 503, CAY_RPC_INTERNAL,
                               "no memory is left to repeat these events: try again in a moment");
        else /* of a front before this one: nothing that was told there is kept */
                cay_mcp_stream_attach(stream, req, &v->pass,
                                      !last               ? stream->seq
                                      : seq > stream->seq ? 0
                                                          : seq,
                                      stream == &s->own && strcmp(s->client.version, CAY_MCP_LEGACY) == 0);
}

/* GET and DELETE: the legacy era's alone. */
static void handle_session(struct cay_mcp *m, struct cay_http_request *req, const struct cay_visitor *v,
                           const struct cay_mcp_place *place)
{
        const char *id = cay_http_request_header(req, "Mcp-Session-Id");
        const char *version = cay_http_request_header(req, "MCP-Protocol-Version");
        const char *accept = cay_http_request_header(req, "Accept");
        struct cay_mcp_session *s;

        if (version && strcmp(version, CAY_MCP_MODERN) >= 0) {
                cay_http_response_add(req, "Allow", "POST, OPTIONS");
                cay_mcp_refuse(req, 405, CAY_RPC_NO_REQUEST,
                               "this version of the protocol supports only POST");
                return;
        }
        if (req->method == CAY_HTTP_GET && (!accept || !strstr(accept, "text/event-stream"))) {
                cay_mcp_refuse(req, 406, CAY_RPC_NO_REQUEST, "Accept: must name text/event-stream");
                return;
        }
        if (!id || (version && !cay_mcp_version_is_legacy(version))) {
                cay_mcp_refuse(req, 400, CAY_RPC_NO_REQUEST,
                               id ? "MCP-Protocol-Version: is not supported" : "Mcp-Session-Id: is required");
                return;
        }
        s = cay_mcp_session_find(m, id, v, place);
        if (!s) {
                cay_mcp_refuse(req, 404, -32001, "there is no such session: initialize again");
                return;
        }
        if (req->method == CAY_HTTP_GET) {
                get_stream(s, req, v);
                return;
        }
        /*
         * Report the reason first: a client whose stream ends without a reason resumes it. The answer is sent
         * when this connection's turn is over.
         */
        cay_http_response_send(req, 200, NULL, NULL, 0);
        cay_mcp_session_end_soon(s);
}

void cay_mcp_handle(struct cay_mcp *m, struct cay_http_request *req, const struct cay_visitor *v,
                    const struct cay_mcp_place *place)
{
        struct cay_mcp_place found = *place;

        if (v->origin && v->origin_is_fine)
                cay_http_response_add(req, "Access-Control-Expose-Headers",
                                      "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate");
        if (m->is_stopping) {
                cay_mcp_refuse(req, 503, CAY_RPC_INTERNAL, "the daemon stops");
        } else if (v->origin && !v->origin_is_fine) {
                cay_mcp_refuse(req, 403, CAY_RPC_NO_REQUEST,
                               "pages of this origin are not allowed; see allow_origins");
        } else if (req->method == CAY_HTTP_OPTIONS) {
                answer_options(req, v);
        } else if (v->was_refused || !v->is_known) {
                refuse_unknown(req, v);
        } else if (found.has_bad_groups) {
                refuse_groups(req);
        } else if (!is_there(m, v, &found)) {
                cay_mcp_refuse(req, 404, CAY_RPC_NO_REQUEST, "there is no such sandbox");
        } else if (found.is_health && req->method == CAY_HTTP_GET && !req->upgrade) {
                answer_health(req);
        } else if (req->method == CAY_HTTP_GET && req->upgrade) {
                cay_mcp_channel_open(m, req, v, &found);
        } else if (req->method == CAY_HTTP_POST && !is_json(req)) {
                cay_mcp_refuse(req, 415, CAY_RPC_NO_REQUEST, "Content-Type: must be application/json");
        } else if (req->method == CAY_HTTP_POST) {
                cay_mcp_post(m, req, v, &found);
        } else if (req->method == CAY_HTTP_GET || req->method == CAY_HTTP_DELETE) {
                handle_session(m, req, v, &found);
        } else {
                cay_http_response_add(req, "Allow", "POST, GET, DELETE, OPTIONS");
                cay_mcp_refuse(req, 405, CAY_RPC_NO_REQUEST, "MCP supports only POST, GET and DELETE");
        }
}

/* Life */

bool cay_mcp_make_id(char ret[CAY_MCP_ID + 1])
{
        unsigned char bytes[CAY_MCP_ID / 2];

        if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
                return false;
        for (unsigned i = 0; i < sizeof(bytes); i++)
                snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
        return true;
}

static void on_sweep(struct cay_timer *t)
{
        struct cay_mcp *m = cay_container_of(t, struct cay_mcp, sweep);

        cay_mcp_session_sweep(m);
        cay_mcp_tasks_sweep(m);
        cay_timer_set(m->world->loop, t, SWEEP_MS, on_sweep);
}

int cay_mcp_new(const struct cay_op_world *world, struct cay_mcp **ret, struct cay_error *err)
{
        struct cay_mcp *m = calloc(1, sizeof(*m));

        if (!m || cay_timer_set(world->loop, &m->sweep, SWEEP_MS, on_sweep) < 0) {
                free(m);
                return cay_fail(err, CAY_INTERNAL, "no memory for MCP");
        }
        m->world = world;
        cay_mcp_session_load(m);
        *ret = m;
        return 0;
}

void cay_mcp_stop(struct cay_mcp *m)
{
        m->is_stopping = true;
        cay_timer_clear(&m->sweep);
        cay_mcp_subscribers_stop(m);
        cay_mcp_tasks_stop(m);
        cay_mcp_channel_stop(m);
        while (m->sessions)
                cay_mcp_session_end(m->sessions);
}

void cay_mcp_free(struct cay_mcp *m)
{
        free(m);
}
