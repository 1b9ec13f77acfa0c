/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One message by POST: its era is determined, it is checked against its header fields, dispatched and
 * answered.
 *
 * A request is answered with plain JSON when its answer is all there is to say and comes soon; else with a
 * stream, begun by the first message before the answer, or by the wait for it. Legacy: a disconnected client
 * resumes the stream, and the call continues. Modern: a disconnect cancels the call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "foundation/base/base64.h"
#include "dialects/mcp/session.h"

#define SOON_MS 5000u
#define NAME_MAX_BYTES 8192u

struct post {
        struct cay_mcp_link link;
        struct cay_mcp *mcp;
        struct cay_http_request *req; /* not answered yet; NULL: answered, streaming, or gone */
        struct cay_visitor visitor;
        struct cay_mcp_place place;
        struct cay_mcp_session *session; /* NULL: modern */
        struct cay_mcp_client lone;      /* modern: who speaks, for as long as the call */
        struct cay_mcp_stream *stream;   /* the session's; or own */
        struct cay_mcp_stream own;
        struct cay_timer soon;
        struct cay_deferred release;
        bool is_read; /* the body is */
};

static void release_post(struct cay_deferred *d)
{
        struct post *p = cay_container_of(d, struct post, release);

        cay_mcp_stream_done(&p->own);
        free(p);
}

static void let_go(struct post *p)
{
        cay_timer_clear(&p->soon);
        if (p->req)
                p->req->handler = NULL;
        p->release.run = release_post;
        cay_loop_defer(p->mcp->world->loop, &p->release);
}

static void refuse(struct post *p, unsigned status, int code, const char *text, const char *id)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_http_request *req;

        let_go(p);
        req = cay_take(p->req);
        if (!req)
                return;
        cay_buf_init(&out, 8192);
        cay_rpc_put_error(&out, id, code, text, NULL);
        cay_http_response_send(req, status, "application/json", cay_buf_data(&out), out.len);
}

/* The stream */

static void on_lost(struct cay_mcp_stream *s)
{
        struct post *p = s->user;

        if (p->link.call)
                cay_mcp_call_cancel(p->link.call);
}

static void on_let_go(struct cay_mcp_stream *s)
{
        struct post *p = s->user;

        if (p->link.call)
                cay_mcp_call_let_go(p->link.call);
}

static bool begin_stream(struct post *p)
{
        bool primes = p->session && strcmp(p->session->client.version, CAY_MCP_LEGACY) == 0;

        if (p->stream)
                return true;
        if (p->session) {
                p->stream = cay_mcp_session_stream(p->session);
        } else {
                p->stream = &p->own;
                p->own.on_lost = on_lost;
                p->own.on_let_go = on_let_go;
                p->own.user = p;
        }
        if (!p->stream)
                return false;
        cay_timer_clear(&p->soon);
        if (p->link.call)
                memcpy(p->stream->asked, p->link.call->rpc.id, sizeof(p->stream->asked));
        if (p->req)
                cay_mcp_stream_attach(p->stream, cay_take(p->req), &p->visitor.pass, 0, primes);
        return true;
}

static void on_soon(struct cay_timer *t)
{
        begin_stream(cay_container_of(t, struct post, soon));
}

/* Link */

static struct post *self(struct cay_mcp_link *l)
{
        return cay_container_of(l, struct post, link);
}

static void note(struct cay_mcp_link *l, const char *json, size_t len)
{
        struct post *p = self(l);

        if (begin_stream(p))
                cay_mcp_stream_put(p->stream, json, len);
}

static void answer(struct cay_mcp_link *l, unsigned status, const char *json, size_t len)
{
        struct post *p = self(l);
        struct cay_http_request *req;

        let_go(p);
        req = cay_take(p->req);
        if (p->stream) {
                if (json)
                        cay_mcp_stream_put(p->stream, json, len);
                cay_mcp_stream_end(p->stream);
        } else if (req && json) {
                cay_http_response_send(req, status ? status : 200, "application/json", json, len);
        } else if (req && status) {
                cay_mcp_refuse(req, status, CAY_RPC_INTERNAL, "no memory for this request");
        } else if (req) { /* cancelled: a stream without an answer */
                cay_http_response_send(req, 200, "text/event-stream", "", 0);
        }
}

static size_t queued(struct cay_mcp_link *l)
{
        struct post *p = self(l);

        return p->stream ? cay_mcp_stream_queued(p->stream) : 0;
}

static bool fits(struct cay_mcp_link *l, size_t len)
{
        struct post *p = self(l);

        if (p->stream)
                return cay_mcp_stream_fits(p->stream, len);
        return !p->req || cay_http_response_fits(p->req, len);
}

static const struct cay_mcp_link_ops link_ops = {
        .note = note, .answer = answer, .queued = queued, .fits = fits
};

/* Header fields of the modern era */

static bool is_field(const struct cay_http_request *req, const char *name, const char *value)
{
        const char *given = cay_http_request_header(req, name);
        cay_auto_buf struct cay_buf decoded = { 0 };
        size_t len = given ? strlen(given) : 0;

        if (!given)
                return false;
        if (len < 11 || strncmp(given, "=?base64?", 9) != 0 || strcmp(given + len - 2, "?=") != 0)
                return strcmp(given, value) == 0;
        cay_buf_init(&decoded, NAME_MAX_BYTES);
        return cay_base64_decode(given + 9, len - 11, &decoded) == 0 &&
               strcmp(cay_buf_data(&decoded), value) == 0;
}

/* What Mcp-Name has to be; NULL: this method has none. */
static const char *name_of(const struct cay_rpc *m)
{
        static const struct {
                const char *method, *key;
        } rows[] = {
                { "tools/call", "name" },  { "prompts/get", "name" },    { "resources/read", "uri" },
                { "tasks/get", "taskId" }, { "tasks/update", "taskId" }, { "tasks/cancel", "taskId" },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                if (strcmp(rows[i].method, m->method) == 0)
                        return cay_json_value_text(cay_json_value_find(m->params, rows[i].key));
        return NULL;
}

/* NULL: fine; else what does not agree. */
static const char *check_fields(const struct cay_http_request *req, const struct cay_rpc *m)
{
        const char *version = cay_http_request_header(req, "MCP-Protocol-Version"), *name = name_of(m);

        if (m->version && (!version || strcmp(version, m->version) != 0))
                return "MCP-Protocol-Version must be there and agree with _meta";
        if (!m->version || strcmp(m->version, CAY_MCP_MODERN) != 0)
                return NULL; /* refused for that, by the call */
        if (!is_field(req, "Mcp-Method", m->method))
                return "Mcp-Method must be there and agree with method";
        if (name && !is_field(req, "Mcp-Name", name))
                return "Mcp-Name must be there and agree with the request's name, uri or taskId";
        return NULL;
}

static void take_modern(struct post *p, struct cay_rpc *m)
{
        const char *wrong = m->kind == CAY_RPC_REQUEST ? check_fields(p->req, m) : NULL;
        char id[CAY_RPC_ID_MAX + 1];

        memcpy(id, m->id, sizeof(id));
        if (m->kind != CAY_RPC_REQUEST) {
                struct cay_http_request *req;

                cay_rpc_done(m);
                let_go(p);
                req = cay_take(p->req);
                cay_http_response_send(req, 202, NULL, NULL, 0);
                return;
        }
        if (wrong) {
                cay_rpc_done(m);
                refuse(p, 400, CAY_RPC_BAD_HEADER, wrong, id);
                return;
        }
        cay_mcp_client_init(&p->lone, p->mcp, &p->visitor, &p->place);
        p->lone.cleans = false;
        cay_mcp_stream_init(&p->own, p->mcp->world->loop, 0, false);
        cay_timer_set(p->mcp->world->loop, &p->soon, SOON_MS, on_soon);
        cay_mcp_take(&p->lone, m, &p->link);
}

/* Legacy era */

static bool accepts(const struct cay_http_request *req, const char *type)
{
        for (unsigned i = 0; i < req->line_count; i++) {
                const char *name, *value;

                cay_http_request_header_at(req, i, &name, &value);
                if (strcasecmp(name, "accept") == 0 && strstr(value, type))
                        return true;
        }
        return false;
}

static void start_session(struct post *p, struct cay_rpc *m)
{
        struct cay_error err = { 0 };
        char id[CAY_RPC_ID_MAX + 1];

        p->session = cay_mcp_session_new(p->mcp, &p->visitor, &p->place, &err);
        if (!p->session) {
                memcpy(id, m->id, sizeof(id));
                cay_rpc_done(m);
                refuse(p, err.code == CAY_LIMIT ? 429 : 503, CAY_RPC_INTERNAL, err.msg, id);
                return;
        }
        cay_http_response_add(p->req, "Mcp-Session-Id", p->session->id);
}

static void take_session(struct post *p, struct cay_rpc *m)
{
        struct cay_mcp_session *s = p->session;
        struct cay_http_request *req;

        if (m->kind == CAY_RPC_REQUEST) {
                cay_timer_set(p->mcp->world->loop, &p->soon, SOON_MS, on_soon);
                cay_mcp_take(&s->client, m, &p->link);
                if (!s->client.version[0])
                        cay_mcp_session_end(s); /* it never began */
                return;
        }
        cay_mcp_hear(&s->client, m);
        let_go(p);
        req = cay_take(p->req);
        cay_http_response_send(req, 202, NULL, NULL, 0);
}

static void take_legacy(struct post *p, struct cay_rpc *m)
{
        const char *id = cay_http_request_header(p->req, "Mcp-Session-Id");
        const char *version = cay_http_request_header(p->req, "MCP-Protocol-Version");
        bool begins = m->method && m->kind == CAY_RPC_REQUEST && strcmp(m->method, "initialize") == 0;
        const char *wrong = NULL;
        unsigned status = 400;
        int code = CAY_RPC_NO_REQUEST;

        if (version && !cay_mcp_version_is_legacy(version)) {
                wrong = "MCP-Protocol-Version: is not supported without its _meta";
                code = strcmp(version, CAY_MCP_MODERN) < 0 ? CAY_RPC_NO_REQUEST
                       : begins                            ? CAY_RPC_BAD_HEADER
                                                           : CAY_RPC_BAD_PARAMS;
        } else if (!accepts(p->req, "application/json") || !accepts(p->req, "text/event-stream")) {
                status = 406;
                wrong = "Accept: must name application/json and text/event-stream";
        } else if (begins && !id) {
                start_session(p, m);
        } else if (!id) {
                wrong = "Mcp-Session-Id: is required; initialize gives one";
        } else if ((p->session = cay_mcp_session_find(p->mcp, id, &p->visitor, &p->place)) == NULL) {
                status = 404;
                code = -32001;
                wrong = "there is no such session: initialize again";
        } else if (begins) {
                wrong = "this session is initialized already";
        }
        if (wrong) {
                char rpc_id[CAY_RPC_ID_MAX + 1];

                snprintf(rpc_id, sizeof(rpc_id), "%s", m->id[0] ? m->id : "null");
                cay_rpc_done(m);
                refuse(p, status, code, wrong, rpc_id);
                return;
        }
        if (p->session)
                take_session(p, m);
}

/* The body */

static void on_body_end(struct cay_http_request *req)
{
        struct post *p = req->user;
        struct cay_rpc_fault fault;
        struct cay_rpc m;

        p->is_read = true;
        if (cay_rpc_read(&m, cay_buf_data(&req->body), req->body.len, CAY_MCP_MESSAGE_MAX, &fault) < 0)
                refuse(p, 400, fault.code, fault.text, fault.id);
        else if (cay_rpc_is_modern(&m))
                take_modern(p, &m);
        else
                take_legacy(p, &m);
}

/* A half-closed client may be waiting for its answer; but in the modern era a half-close is a disconnect. */
static void on_gone(struct cay_http_request *req, enum cay_http_gone how)
{
        struct post *p = req->user;

        if (how == CAY_HTTP_GONE_HALF && (!p->is_read || p->session))
                return;
        req->handler = NULL;
        p->req = NULL;
        cay_http_response_abort(req);
        if (!p->is_read)
                let_go(p);
        else if (!p->session && p->link.call)
                cay_mcp_call_cancel(p->link.call);
}

static const struct cay_http_handler handler = { .on_body_end = on_body_end, .on_gone = on_gone };

void cay_mcp_post(struct cay_mcp *m, struct cay_http_request *req, const struct cay_visitor *v,
                  const struct cay_mcp_place *place)
{
        struct post *p = calloc(1, sizeof(*p));

        if (!p) {
                cay_mcp_refuse(req, 503, CAY_RPC_INTERNAL, "no memory for this request");
                return;
        }
        p->mcp = m;
        p->req = req;
        p->visitor = *v;
        p->visitor.origin = NULL;
        p->place = *place;
        p->link.ops = &link_ops;
        req->handler = &handler;
        req->user = p;
        if (cay_http_request_collect(req, CAY_MCP_MESSAGE_MAX) < 0)
                refuse(p, 413, CAY_RPC_NO_REQUEST, "the message is too large", "null");
}
