/* SPDX-License-Identifier: Apache-2.0 */
/* A request being handled: its end, and the messages before it. */
#include "dialects/mcp/call.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/clock.h"
#include "foundation/base/log.h"
#include "domain/model/port_clock.h"
#include "dialects/mcp/mcp_priv.h"

#define NOTE_MAX (2u * 1024 * 1024)
#define NOTE_QUEUE_MAX (1024u * 1024) /* a client that does not read gets no more of these, only its answer */
#define LIST_TTL_MS 300000u

uint64_t cay_mcp_now(const struct cay_mcp *m)
{
        struct cay_clock_reading now;

        m->world->clock->read(m->world->clock, &now);
        return now.wall_ms;
}

static void release_mcp_call(struct cay_deferred *d)
{
        struct cay_mcp_call *c = cay_container_of(d, struct cay_mcp_call, release);

        if (c->free_state)
                c->free_state(c);
        cay_rpc_done(&c->rpc);
        free(c);
}

static void link_to(struct cay_mcp_call *c, struct cay_mcp_client *p)
{
        c->client = p;
        c->next = p->calls;
        c->back = &p->calls;
        if (c->next)
                c->next->back = &c->next;
        p->calls = c;
}

static void on_turn(struct cay_timer *t)
{
        cay_mcp_go_on(cay_container_of(t, struct cay_mcp_client, turn));
}

/* Its slot is free now: a pending call begins from the loop. A client that is ending begins nothing. */
static void unlink_call(struct cay_mcp_call *c)
{
        struct cay_mcp_client *p = c->client;
        bool is_waited_for = false;

        *c->back = c->next;
        if (c->next)
                c->next->back = c->back;
        c->client = NULL;
        for (const struct cay_mcp_call *at = p->calls; at && !is_waited_for; at = at->next)
                is_waited_for = at->waits;
        if (is_waited_for && !p->is_over)
                cay_timer_set(p->mcp->world->loop, &p->turn, 0, on_turn);
}

struct cay_mcp_call *cay_mcp_call_new(struct cay_mcp_client *p, struct cay_rpc *rpc,
                                      struct cay_mcp_link *link)
{
        struct cay_mcp_call *c = calloc(1, sizeof(*c));

        if (!c)
                return NULL;
        c->mcp = p->mcp;
        c->caller = p->caller;
        c->rpc = *rpc;
        *rpc = (struct cay_rpc){ 0 };
        c->is_modern = cay_rpc_is_modern(&c->rpc);
        c->level = c->is_modern ? CAY_MCP_SILENT : p->level;
        c->can_elicit = !c->is_modern && p->can_elicit;
        c->started_ms = cay_clock_ms();
        c->started_wall_ms = cay_mcp_now(c->mcp);
        c->link = link;
        link->call = c;
        link_to(c, p);
        return c;
}

void cay_mcp_call_move(struct cay_mcp_call *c, struct cay_mcp_client *p, struct cay_mcp_link *link)
{
        unlink_call(c);
        link_to(c, p);
        c->link->call = NULL;
        c->link = link;
        link->call = c;
}

/* Its op calls have no receiver from now on. */
static struct cay_mcp_link *finish(struct cay_mcp_call *c)
{
        struct cay_mcp_link *link = cay_take(c->link);

        c->is_over = true;
        if (link)
                link->call = NULL;
        unlink_call(c);
        while (c->asked)
                cay_mcp_op_call_leave(c->asked);
        c->release.run = release_mcp_call;
        cay_loop_defer(c->mcp->world->loop, &c->release);
        return link;
}

/* HTTP's status for errors of the modern era that are about the request as such. */
static unsigned status_of(const struct cay_mcp_call *c, int code)
{
        if (!c->is_modern)
                return 0;
        if (c->has_bad_meta)
                return 400;
        switch (code) {
        case CAY_RPC_NO_METHOD:
                return 404;
        case CAY_RPC_BAD_HEADER:
        case CAY_RPC_BAD_VERSION:
        case CAY_RPC_NEEDS_CAPABILITY:
                return 400;
        default:
                return 0;
        }
}

void cay_mcp_call_error(struct cay_mcp_call *c, int code, const char *data, const char *fmt, ...)
{
        cay_auto_buf struct cay_buf out = { 0 };
        char text[512];
        unsigned status = status_of(c, code);
        struct cay_mcp_link *link;
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(text, sizeof(text), fmt, ap);
        va_end(ap);
        cay_buf_init(&out, sizeof(text) * 6 + CAY_RPC_ID_MAX + 4096 + (data ? strlen(data) : 0));
        cay_rpc_put_error(&out, c->rpc.id, code, text, data);
        link = finish(c);
        link->ops->answer(link, status, cay_buf_data(&out), out.len);
}

void cay_mcp_call_cancel(struct cay_mcp_call *c)
{
        struct cay_mcp_link *link;

        if (c->is_over)
                return;
        cay_log_debug("a call of MCP was cancelled", "method=%s", c->rpc.method);
        if (c->on_cancel)
                c->on_cancel(c);
        link = finish(c);
        link->ops->answer(link, 0, NULL, 0);
}

void cay_mcp_call_let_go(struct cay_mcp_call *c)
{
        if (!c->tool || c->question[0])
                cay_mcp_call_cancel(c);
}

/* Results */

void cay_mcp_result_begin(struct cay_mcp_result *r)
{
        r->buf = (struct cay_buf){ 0 };
        cay_buf_init(&r->buf, CAY_MCP_RESULT_MAX);
        cay_json_init(&r->j, &r->buf);
        cay_json_begin_object(&r->j);
}

void cay_mcp_result_drop(struct cay_mcp_result *r)
{
        cay_buf_done(&r->buf);
}

static void put_info(struct cay_json *j)
{
        cay_json_key(j, "io.modelcontextprotocol/serverInfo");
        cay_json_begin_object(j);
        cay_json_key(j, "name");
        cay_json_text(j, "cay");
        cay_json_key(j, "version");
        cay_json_text(j, CAY_VERSION);
        cay_json_end_object(j);
}

static void put_id(struct cay_json *j, const char *id)
{
        cay_json_key(j, "io.modelcontextprotocol/subscriptionId");
        cay_json_raw(j, id, strlen(id));
}

void cay_mcp_put_server_info(struct cay_json *j)
{
        cay_json_key(j, "_meta");
        cay_json_begin_object(j);
        put_info(j);
        cay_json_end_object(j);
}

void cay_mcp_put_subscription(struct cay_json *j, const char *id)
{
        if (!id[0])
                return;
        cay_json_key(j, "_meta");
        cay_json_begin_object(j);
        put_id(j, id);
        cay_json_end_object(j);
}

static void put_era(struct cay_json *j, const struct cay_mcp_call *c, enum cay_mcp_cache cache)
{
        if (cache != CAY_MCP_UNCACHED) {
                cay_json_key(j, "ttlMs");
                cay_json_u64(j, cache == CAY_MCP_PUBLIC ? LIST_TTL_MS : 0);
                cay_json_key(j, "cacheScope");
                cay_json_text(j, cache == CAY_MCP_PUBLIC ? "public" : "private");
        }
        cay_json_key(j, "_meta");
        cay_json_begin_object(j);
        put_info(j);
        if (c->listens)
                put_id(j, c->rpc.id);
        cay_json_end_object(j);
}

static void finish_result(struct cay_mcp_result *r, struct cay_mcp_call *c)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_mcp_link *link;

        cay_json_end_object(&r->j);
        cay_buf_init(&out, r->buf.len + CAY_RPC_ID_MAX + 64);
        if (cay_json_end(&r->j) < 0 ||
            cay_rpc_put_result(&out, c->rpc.id, cay_buf_data(&r->buf), r->buf.len) < 0) {
                cay_mcp_result_drop(r);
                cay_mcp_call_error(c, CAY_RPC_INTERNAL, NULL,
                                   "the result is larger than one message may be: ask for less of it");
                return;
        }
        cay_mcp_result_drop(r);
        if (!c->link->ops->fits(c->link, out.len)) {
                cay_mcp_call_error(
                        c, CAY_RPC_INTERNAL, NULL,
                        "no memory is left for a result of %zu bytes: read or drop what waits, ask for "
                        "less, or try again in a moment",
                        out.len);
                return;
        }
        link = finish(c);
        link->ops->answer(link, 0, cay_buf_data(&out), out.len);
}

void cay_mcp_result_send(struct cay_mcp_result *r, struct cay_mcp_call *c, enum cay_mcp_cache cache)
{
        if (c->is_modern) {
                cay_json_key(&r->j, "resultType");
                cay_json_text(&r->j, c->asks_input ? "input_required" : "complete");
                put_era(&r->j, c, c->asks_input ? CAY_MCP_UNCACHED : cache);
        }
        finish_result(r, c);
}

void cay_mcp_call_done(struct cay_mcp_call *c)
{
        struct cay_mcp_result r;

        cay_mcp_result_begin(&r);
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

/* Before the answer */

static void note(struct cay_mcp_call *c, struct cay_buf *out)
{
        /* a client without room misses some, and is not disconnected */
        if (!c->is_over && c->link->ops->queued(c->link) < NOTE_QUEUE_MAX &&
            c->link->ops->fits(c->link, out->len))
                c->link->ops->note(c->link, cay_buf_data(out), out->len);
}

void cay_mcp_call_log(struct cay_mcp_call *c, enum cay_mcp_level level, const char *logger, const char *data,
                      size_t len)
{
        cay_auto_buf struct cay_buf out = { 0 };

        if (c->is_over || level < c->level)
                return;
        cay_buf_init(&out, NOTE_MAX);
        if (cay_buf_printf(&out,
                           "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":"
                           "\"%s\",\"logger\":\"%s\",\"data\":",
                           cay_mcp_level_word(level), logger) == 0 &&
            cay_buf_put(&out, data, len) == 0 && cay_buf_puts(&out, "}}") == 0)
                note(c, &out);
}

void cay_mcp_call_progress(struct cay_mcp_call *c, uint64_t progress, const char *message, size_t len)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        if (c->is_over || !c->rpc.progress[0])
                return;
        cay_buf_init(&out, NOTE_MAX);
        cay_buf_printf(&out,
                       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                       "\"progressToken\":%s,\"progress\":%" PRIu64 ",\"message\":",
                       c->rpc.progress, progress);
        cay_json_init(&j, &out);
        cay_json_string(&j, message, len);
        if (cay_json_end(&j) == 0 && cay_buf_puts(&out, "}}") == 0)
                note(c, &out);
}

void cay_mcp_put_elicit(struct cay_json *j, const char *message)
{
        static const char schema[] = "{\"type\":\"object\",\"properties\":{\"approve\":{\"type\":\"boolean\","
                                     "\"title\":\"Approve\","
                                     "\"description\":\"true: do it\"}},\"required\":[\"approve\"]}";

        cay_json_begin_object(j);
        cay_json_key(j, "mode");
        cay_json_text(j, "form");
        cay_json_key(j, "message");
        cay_json_text(j, message);
        cay_json_key(j, "requestedSchema");
        cay_json_raw(j, schema, strlen(schema));
        cay_json_end_object(j);
}

void cay_mcp_call_request(struct cay_mcp_call *c, const char *method, const char *params,
                          void (*on_reply)(struct cay_mcp_call *c, const struct cay_json_value *result))
{
        cay_auto_buf struct cay_buf out = { 0 };

        snprintf(c->question, sizeof(c->question), "%u", ++c->client->next_id);
        c->on_reply = on_reply;
        cay_buf_init(&out, 64 * 1024);
        if (cay_buf_printf(&out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":%s}",
                           c->question, method, params) == 0)
                c->link->ops->note(c->link, cay_buf_data(&out), out.len);
        else
                cay_mcp_call_error(c, CAY_RPC_INTERNAL, NULL, "no memory for a question");
}

void cay_mcp_call_elicit(struct cay_mcp_call *c, const char *message,
                         void (*on_reply)(struct cay_mcp_call *c, const struct cay_json_value *result))
{
        cay_auto_buf struct cay_buf params = { 0 };
        struct cay_json j;

        cay_buf_init(&params, 60 * 1024);
        cay_json_init(&j, &params);
        cay_mcp_put_elicit(&j, message);
        if (cay_json_end(&j) == 0)
                cay_mcp_call_request(c, "elicitation/create", cay_buf_data(&params), on_reply);
        else
                cay_mcp_call_error(c, CAY_RPC_INTERNAL, NULL, "no memory for a question");
}
