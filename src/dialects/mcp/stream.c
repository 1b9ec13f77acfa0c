/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of messages over HTTP. */
#include "dialects/mcp/stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/clock.h"
#include "foundation/base/parse.h"
#include "foundation/http/sse.h"

#define KEPT_MAX (12u * 1024 * 1024)
#define ALIVE_MS 15000u
#define SMALL (4u * 1024) /* bytes that are always kept */
#define FRAME 64u         /* of an event, beside its bytes */
#define RETRY "retry: 500\n"

struct cay_mcp_event {
        struct cay_mcp_event *next;
        unsigned seq;
        size_t len;
        char json[];
};

void cay_mcp_stream_init(struct cay_mcp_stream *s, struct cay_loop *loop, unsigned nr, bool has_ids)
{
        *s = (struct cay_mcp_stream){ .loop = loop, .nr = nr, .has_ids = has_ids, .bytes_max = KEPT_MAX };
}

void cay_mcp_stream_charge(struct cay_mcp_stream *s, struct cay_budgets *budgets, const char *owner)
{
        s->owner = budgets ? cay_budget_owner_get(budgets, owner) : NULL;
        if (s->owner)
                s->budget = (struct cay_budget){ .parent = &s->owner->kept, .small = SMALL };
        else if (budgets)
                s->bytes_max = SMALL; /* no memory to count with: then there is none to keep much */
}

static struct cay_budget *budget_of(struct cay_mcp_stream *s)
{
        return s->owner ? &s->budget : NULL;
}

static void forget_first(struct cay_mcp_stream *s)
{
        struct cay_mcp_event *e = s->first;

        s->first = e->next;
        if (!s->first)
                s->last = NULL;
        s->bytes -= e->len;
        s->forgotten = e->seq;
        cay_budget_give(budget_of(s), sizeof(*e) + e->len);
        free(e);
}

static struct cay_http_request *detach(struct cay_mcp_stream *s)
{
        struct cay_http_request *req = cay_take(s->req);

        cay_timer_clear(&s->alive);
        cay_guard_end(&s->guard);
        if (req)
                req->handler = NULL;
        return req;
}

void cay_mcp_stream_done(struct cay_mcp_stream *s)
{
        struct cay_http_request *req = detach(s);

        if (req)
                cay_http_response_end(req);
        while (s->first)
                forget_first(s);
        cay_budget_owner_put(cay_take(s->owner));
}

static void on_gone(struct cay_http_request *req, enum cay_http_gone how)
{
        struct cay_mcp_stream *s = req->user;

        (void)how; /* a stream needs a receiver: half-closed counts as closed */
        cay_http_response_abort(detach(s));
        if (s->on_lost)
                s->on_lost(s);
}

static const struct cay_http_handler handler = { .on_gone = on_gone };

static void on_alive(struct cay_timer *t)
{
        struct cay_mcp_stream *s = cay_container_of(t, struct cay_mcp_stream, alive);

        if (s->req && cay_http_response_queued(s->req) == 0)
                cay_http_response_write(s->req, ":\n\n", 3);
        cay_timer_set(s->loop, t, ALIVE_MS, on_alive);
}

static void on_cut(struct cay_timer *t)
{
        struct cay_mcp_stream *s = cay_container_of(t, struct cay_mcp_stream, alive);

        if (s->on_lost)
                s->on_lost(s);
}

/*
 * Its receiver has no room for an event: it is disconnected so that it notices; reported from the loop, like
 * a disconnect.
 */
static void cut(struct cay_mcp_stream *s)
{
        cay_http_response_abort(detach(s));
        cay_timer_set(s->loop, &s->alive, 0, on_cut);
}

static void write_event(struct cay_mcp_stream *s, unsigned seq, const char *json, size_t len)
{
        cay_auto_buf struct cay_buf out = { 0 };
        char id[CAY_MCP_EVENT_ID];

        if (!s->req)
                return;
        snprintf(id, sizeof(id), "%u-%u", s->nr, seq);
        cay_buf_init(&out, len + 256);
        if (cay_sse_put(&out, s->has_ids ? id : NULL, "message", json, len) < 0 ||
            cay_http_response_write(s->req, cay_buf_data(&out), out.len) == -ENOBUFS)
                cut(s);
}

/* An empty event with an id: from here on a client that is cut off knows where to take up again. */
static void prime(struct cay_mcp_stream *s)
{
        char text[CAY_MCP_EVENT_ID + 32];
        int n = snprintf(text, sizeof(text), "id: %u-%u\n" RETRY "data:\n\n", s->nr, s->seq);

        cay_http_response_write(s->req, text, (size_t)n);
}

/*
 * Sent to this receiver only, so it is not kept; on_lost is not called, since the client did not disconnect.
 */
static void on_over(struct cay_guard *g, const char *why)
{
        struct cay_mcp_stream *s = cay_container_of(g, struct cay_mcp_stream, guard);
        cay_auto_buf struct cay_buf json = { 0 }, out = { 0 };

        cay_buf_init(&json, 2048);
        cay_buf_init(&out, 4096);
        if (cay_rpc_put_error(&json, s->asked[0] ? s->asked : "null", CAY_RPC_LET_GO, why, NULL) == 0 &&
            cay_sse_put(&out, NULL, "message", cay_buf_data(&json), json.len) == 0)
                cay_http_response_write(s->req, cay_buf_data(&out), out.len);
        cay_http_response_end(detach(s));
        if (s->on_let_go)
                s->on_let_go(s);
}

void cay_mcp_stream_attach(struct cay_mcp_stream *s, struct cay_http_request *req,
                           const struct cay_pass *pass, unsigned after, bool primes)
{
        struct cay_http_request *before = detach(s);

        if (before)
                cay_http_response_end(before);
        s->guard.pass = *pass;
        cay_guard_begin(&s->guard, on_over);
        req->user = s;
        req->handler = &handler;
        s->req = req;
        cay_http_response_add(req, "Cache-Control", "no-cache, no-transform");
        cay_http_response_add(req, "X-Accel-Buffering", "no");
        cay_http_response_begin(req, 200, "text/event-stream", CAY_HTTP_NO_LENGTH);
        cay_timer_set(s->loop, &s->alive, ALIVE_MS, on_alive);
        if (primes && s->has_ids)
                prime(s);
        for (struct cay_mcp_event *e = s->first; e; e = e->next)
                if (e->seq > after)
                        write_event(s, e->seq, e->json, e->len);
        if (s->over && s->req)
                cay_http_response_end(detach(s));
}

static void keep(struct cay_mcp_stream *s, const char *json, size_t len)
{
        struct cay_mcp_event *e = NULL;

        while (s->first &&
               (s->bytes + len > s->bytes_max || cay_budget_room(budget_of(s)) < sizeof(*e) + len))
                forget_first(s);
        if (cay_budget_take(budget_of(s), sizeof(*e) + len) == 0) {
                e = malloc(sizeof(*e) + len);
                if (!e)
                        cay_budget_give(budget_of(s), sizeof(*e) + len);
        }
        if (!e) {
                s->forgotten = s->seq;
                return;
        }
        e->next = NULL;
        e->seq = s->seq;
        e->len = len;
        memcpy(e->json, json, len);
        if (s->last)
                s->last->next = e;
        else
                s->first = e;
        s->last = e;
        s->bytes += len;
}

void cay_mcp_stream_put(struct cay_mcp_stream *s, const char *json, size_t len)
{
        s->seq++;
        if (s->has_ids)
                keep(s, json, len);
        write_event(s, s->seq, json, len);
}

void cay_mcp_stream_end(struct cay_mcp_stream *s)
{
        struct cay_http_request *req = detach(s);

        s->over = true;
        s->over_ms = cay_clock_ms();
        if (req)
                cay_http_response_end(req);
}

size_t cay_mcp_stream_queued(const struct cay_mcp_stream *s)
{
        return s->req ? cay_http_response_queued(s->req) : s->bytes;
}

bool cay_mcp_stream_fits(const struct cay_mcp_stream *s, size_t len)
{
        if (s->req)
                return cay_http_response_fits(s->req, len + FRAME);
        return !s->owner ||
               cay_budget_room(&s->budget) + s->budget.used >= sizeof(struct cay_mcp_event) + len;
}

bool cay_mcp_stream_fits_all(const struct cay_mcp_stream *s, const struct cay_http_request *req,
                             unsigned after)
{
        size_t bytes = 0;

        for (const struct cay_mcp_event *e = s->first; e; e = e->next)
                bytes += e->seq > after ? e->len + FRAME : 0;
        return cay_http_response_fits(req, bytes);
}

bool cay_mcp_event_id_read(const char *text, unsigned *ret_stream, unsigned *ret_seq)
{
        const char *dash = strchr(text, '-');
        char first[12] = "";
        uint64_t stream, seq;

        if (!dash || dash - text >= (long)sizeof(first))
                return false;
        memcpy(first, text, (size_t)(dash - text));
        if (cay_parse_u64(first, &stream) < 0 || cay_parse_u64(dash + 1, &seq) < 0 || stream > UINT32_MAX ||
            seq > UINT32_MAX)
                return false;
        *ret_stream = (unsigned)stream;
        *ret_seq = (unsigned)seq;
        return true;
}
