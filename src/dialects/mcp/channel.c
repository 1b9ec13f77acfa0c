/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Message transports: a WebSocket (one message per text frame, with the subprotocol mcp or without), or lines
 * over a plain connection (Upgrade: mcp-lines), which is what `cay mcp` relays to standard input and output.
 * A connection is a session: what it made is removed with it.
 *
 * Each message is authorised and rate-limited like a request. A message above the rate gets an error that
 * says when to retry. Messages without an answer (a cancel, a reply) are always handled, because they cannot
 * be repeated. When the connection's credential expires it is closed: pending requests get an error with the
 * reason, nothing that it made is destroyed, and running tools finish without a receiver.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "foundation/base/log.h"
#include "dialects/mcp/subscriber.h"
#include "foundation/http/ws.h"

#define PING_MS 25000u
#define CHANNELS_OWNER 256u /* in all, the connections that there may be are the limit */
#define LAST_MS 20000u      /* after the client's last message; stock clients wait less and send a signal */
#define OUT_MAX (64u * 1024 * 1024)
#define UNREAD_MAX (1024u * 1024)
#define FRAME 16u /* around a message */
#define LINES "mcp-lines"
#define NOT_TEXT 1003u  /* RFC 6455 */
#define SLICE_LINES 16u /* in one round of the loop */

struct cay_mcp_channel {
        struct cay_mcp_channel *next, **back;
        struct cay_mcp_client client;
        struct cay_mcp_subscriber subscriber;
        struct cay_ws ws; /* with is_ws */
        struct cay_duplex_user user;
        struct cay_duplex *duplex; /* NULL: closed */
        struct cay_buf in, out;    /* of lines */
        struct cay_timer last;
        struct cay_guard guard;
        struct cay_deferred more; /* lines that wait for the next round */
        size_t unpaid;            /* bytes of lines that are owed to the duplex */
        bool has_more;
        bool is_ws, is_closed, is_over;
        bool is_let_go; /* its credential has expired: nothing is sent any more, and it ends with its calls */
        bool skips; /* the rest of a line that cannot be kept; its fault is answered with its id at its end */
        struct cay_rpc_fault skipped;
        struct cay_rpc_scan scan;
        bool drains; /* the client sends no more */
        struct cay_deferred release;
};

struct link {
        struct cay_mcp_link link;
        struct cay_mcp_channel *channel;
};

static unsigned count(const struct cay_mcp *m, const char *owner)
{
        unsigned n = 0;

        for (const struct cay_mcp_channel *ch = m->channels; ch; ch = ch->next)
                n += strcmp(ch->client.caller.owner, owner) == 0;
        return n;
}

static void release_channel(struct cay_deferred *d)
{
        struct cay_mcp_channel *ch = cay_container_of(d, struct cay_mcp_channel, release);

        cay_buf_done(&ch->in);
        cay_buf_done(&ch->out);
        free(ch);
}

static void end(struct cay_mcp_channel *ch)
{
        if (ch->is_over)
                return;
        if (ch->is_let_go && ch->client.calls)
                return; /* they end it */
        ch->is_over = true;
        cay_guard_end(&ch->guard);
        cay_timer_clear(&ch->last);
        cay_buf_charge(&ch->in, NULL); /* their budget is the connection's, which may be freed before them */
        cay_buf_charge(&ch->out, NULL);
        *ch->back = ch->next;
        if (ch->next)
                ch->next->back = ch->back;
        cay_mcp_subscriber_close(&ch->subscriber);
        cay_mcp_client_end(&ch->client);
        ch->release.run = release_channel;
        cay_loop_defer(ch->client.mcp->world->loop, &ch->release);
}

/* Out */

static void flush(struct cay_mcp_channel *ch)
{
        while (ch->duplex && ch->out.len > 0) {
                size_t n = cay_duplex_write(ch->duplex, cay_buf_data(&ch->out), ch->out.len);

                if (n == 0)
                        return; /* on_room goes on */
                cay_buf_drop(&ch->out, n);
        }
}

static void say(struct cay_mcp_channel *ch, const char *json, size_t len)
{
        if (ch->is_over || ch->is_let_go)
                return;
        if (ch->is_ws) {
                ssize_t r = cay_ws_send(&ch->ws, CAY_WS_TEXT, json, len);

                if (r == -ENOBUFS)
                        cay_ws_close(&ch->ws, CAY_WS_TRY_LATER, "no memory is left for what you do not read");
                else if (r < 0 && cay_ws_is_open(&ch->ws))
                        cay_ws_close(&ch->ws, CAY_WS_REFUSED, "does not read");
                return;
        }
        if (cay_buf_put(&ch->out, json, len) < 0 || cay_buf_putc(&ch->out, '\n') < 0) {
                cay_log_warn("a client of MCP does not read, closing");
                cay_duplex_close(cay_take(ch->duplex));
                end(ch);
                return;
        }
        flush(ch);
}

/* Everything was sent: the other side sees the end, and on_lost follows. */
static void part_if_drained(struct cay_mcp_channel *ch)
{
        if (ch->drains && !ch->is_over && !ch->has_more && !ch->client.calls && ch->out.len == 0 &&
            ch->duplex)
                cay_duplex_shut(ch->duplex);
}

static void note(struct cay_mcp_link *l, const char *json, size_t len)
{
        say(cay_container_of(l, struct link, link)->channel, json, len);
}

static void answer(struct cay_mcp_link *l, unsigned status, const char *json, size_t len)
{
        struct link *own = cay_container_of(l, struct link, link);

        (void)status;
        if (json)
                say(own->channel, json, len);
        part_if_drained(own->channel);
        if (own->channel->is_let_go && own->channel->is_closed)
                end(own->channel);
        free(own);
}

static size_t queued(struct cay_mcp_link *l)
{
        const struct cay_mcp_channel *ch = cay_container_of(l, struct link, link)->channel;

        return ch->is_ws ? ch->ws.out.len : ch->out.len;
}

/* Of changes; a client that does not read misses some. */
static void tell(struct cay_mcp_subscriber *e, const char *json, size_t len)
{
        struct cay_mcp_channel *ch = cay_container_of(e, struct cay_mcp_channel, subscriber);

        if ((ch->is_ws ? ch->ws.out.len : ch->out.len) < UNREAD_MAX)
                say(ch, json, len);
}

static bool fits(struct cay_mcp_link *l, size_t len)
{
        const struct cay_mcp_channel *ch = cay_container_of(l, struct link, link)->channel;

        return ch->is_over || cay_buf_check(ch->is_ws ? &ch->ws.out : &ch->out, len + FRAME) == 0;
}

static const struct cay_mcp_link_ops link_ops = {
        .note = note, .answer = answer, .queued = queued, .fits = fits
};

/* In */

static void send_fault(struct cay_mcp_channel *ch, const struct cay_rpc_fault *fault)
{
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, 8192);
        cay_rpc_put_error(&out, fault->id, fault->code, fault->text, NULL);
        say(ch, cay_buf_data(&out), out.len);
}

static void refuse_rate(struct cay_mcp_channel *ch, struct cay_rpc *m, const char *text, uint64_t wait_ms)
{
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, 8192);
        cay_rpc_put_too_often(&out, m->id, text, wait_ms);
        cay_rpc_done(m);
        say(ch, cay_buf_data(&out), out.len);
}

static void take(struct cay_mcp_channel *ch, const char *bytes, size_t len)
{
        struct cay_error err = { 0 };
        struct cay_rpc_fault fault;
        uint64_t wait_ms = 0;
        struct link *l;
        struct cay_rpc m;
        bool is_paid;

        if (ch->is_let_go || !cay_guard_look(&ch->guard))
                return;
        is_paid = cay_pass_pay(&ch->guard.pass, &wait_ms, &err) == 0;
        if (cay_rpc_read(&m, bytes, len, CAY_MCP_MESSAGE_MAX, &fault) < 0) {
                send_fault(ch, &fault);
                return;
        }
        if (m.kind != CAY_RPC_REQUEST) {
                cay_mcp_hear(&ch->client, &m);
                return;
        }
        if (!is_paid) {
                refuse_rate(ch, &m, err.msg, wait_ms);
                return;
        }
        l = calloc(1, sizeof(*l));
        if (!l) {
                cay_rpc_done(&m);
                return;
        }
        l->link.ops = &link_ops;
        l->channel = ch;
        cay_mcp_take(&ch->client, &m, &l->link);
}

static size_t on_message(struct cay_ws *ws, enum cay_ws_opcode kind, const void *bytes, size_t len)
{
        struct cay_mcp_channel *ch = cay_container_of(ws, struct cay_mcp_channel, ws);

        if (ch->is_over)
                return len;
        if (kind != CAY_WS_TEXT)
                cay_ws_close(ws, NOT_TEXT, "messages are text");
        else
                take(ch, bytes, len);
        return len;
}

/* The client learns which message it was before the WebSocket ends. */
static void on_too_long(struct cay_ws *ws, const char *bytes, size_t len)
{
        struct cay_mcp_channel *ch = cay_container_of(ws, struct cay_mcp_channel, ws);
        struct cay_rpc_fault fault = { .code = CAY_RPC_NO_REQUEST };

        snprintf(fault.text, sizeof(fault.text), "a message of more than %u bytes; the connection ends",
                 CAY_MCP_MESSAGE_MAX);
        cay_rpc_guess_id(bytes, len, fault.id);
        send_fault(ch, &fault);
}

static void on_closed(struct cay_ws *ws, unsigned code, const char *reason)
{
        struct cay_mcp_channel *ch = cay_container_of(ws, struct cay_mcp_channel, ws);

        (void)code;
        (void)reason;
        ch->is_closed = true;
        end(ch);
}

static const struct cay_ws_ops ws_ops = { .on_message = on_message,
                                          .on_too_long = on_too_long,
                                          .on_closed = on_closed };

/* Lines */

static struct cay_mcp_channel *of_user(struct cay_duplex_user *u)
{
        return cay_container_of(u, struct cay_mcp_channel, user);
}

static bool is_blank(const char *bytes, size_t len)
{
        for (size_t i = 0; i < len; i++)
                if (!strchr(" \t\r", bytes[i]) || bytes[i] == '\0')
                        return false;
        return true;
}

static void on_more(struct cay_deferred *d);

/* A slice of them; the rest waits for the next round, and what came is paid for when none is left. */
static void take_lines(struct cay_mcp_channel *ch)
{
        char *newline = NULL;

        for (unsigned i = 0; i <= SLICE_LINES && !ch->is_over; i++) {
                size_t len;

                newline = memchr(cay_buf_data(&ch->in), '\n', ch->in.len);
                if (!newline || i == SLICE_LINES)
                        break;
                len = (size_t)(newline - cay_buf_data(&ch->in));
                if (!is_blank(cay_buf_data(&ch->in), len))
                        take(ch, cay_buf_data(&ch->in), len);
                cay_buf_drop(&ch->in, len + 1);
        }
        if (ch->is_over || ch->has_more)
                return;
        if (newline) {
                ch->has_more = true;
                ch->more.run = on_more;
                cay_loop_defer(ch->client.mcp->world->loop, &ch->more);
        } else if (ch->duplex) {
                cay_duplex_consumed(ch->duplex, ch->unpaid);
                ch->unpaid = 0;
        }
}

/* Before its release, which is deferred later. */
static void on_more(struct cay_deferred *d)
{
        struct cay_mcp_channel *ch = cay_container_of(d, struct cay_mcp_channel, more);

        ch->has_more = false;
        if (ch->is_over)
                return;
        take_lines(ch);
        part_if_drained(ch);
}

/* The line's end was reached, or will not come. */
static void end_skipped(struct cay_mcp_channel *ch)
{
        ch->skips = false;
        cay_rpc_scan_id(&ch->scan, ch->skipped.id);
        send_fault(ch, &ch->skipped);
}

/* Whole lines that wait for the next round stay. */
static void begin_skipping(struct cay_mcp_channel *ch, int why)
{
        const char *begin = cay_buf_data(&ch->in), *newline = memrchr(begin, '\n', ch->in.len);
        size_t whole = newline ? (size_t)(newline - begin) + 1 : 0;

        ch->skips = true;
        ch->skipped =
                (struct cay_rpc_fault){ .code = why == -ENOSPC ? CAY_RPC_NO_REQUEST : CAY_RPC_INTERNAL };
        snprintf(ch->skipped.text, sizeof(ch->skipped.text), "%s",
                 why == -ENOSPC ? "the line is too long: 12 MiB is the most"
                                : "no memory is left for a line of this size: try again in a moment");
        ch->scan = (struct cay_rpc_scan){ 0 };
        cay_rpc_scan(&ch->scan, begin + whole, ch->in.len - whole);
        if (whole > 0)
                ch->in.len = whole;
        else
                cay_buf_done(&ch->in);
}

/* Returns how many bytes belong to the line that is skipped. */
static size_t skip(struct cay_mcp_channel *ch, const char *bytes, size_t len)
{
        const char *newline = memchr(bytes, '\n', len);
        size_t n = newline ? (size_t)(newline - bytes) + 1 : len;

        cay_rpc_scan(&ch->scan, bytes, n);
        if (newline)
                end_skipped(ch);
        return n;
}

static void on_data(struct cay_duplex_user *u, const void *bytes, size_t len)
{
        struct cay_mcp_channel *ch = of_user(u);
        const char *at = bytes;
        size_t left = len;

        while (left > 0 && !ch->is_over) {
                size_t n = left;
                int r = 0;

                if (ch->skips)
                        n = skip(ch, at, left);
                else
                        r = cay_buf_put(&ch->in, at, left);
                if (r < 0) {
                        begin_skipping(ch, r);
                        continue;
                }
                at += n;
                left -= n;
        }
        if (ch->is_over)
                return;
        ch->unpaid += len;
        if (!ch->has_more)
                take_lines(ch);
}

static void on_room(struct cay_duplex_user *u)
{
        flush(of_user(u));
        part_if_drained(of_user(u));
}

static void on_last(struct cay_timer *t)
{
        struct cay_mcp_channel *ch = cay_container_of(t, struct cay_mcp_channel, last);

        if (ch->duplex)
                cay_duplex_close(cay_take(ch->duplex));
        end(ch);
}

/* The client sends no more: pending calls have a short time to finish. */
static void on_eof(struct cay_duplex_user *u)
{
        struct cay_mcp_channel *ch = of_user(u);

        if (ch->is_over)
                return;
        ch->drains = true;
        if (ch->skips)
                end_skipped(ch);
        if (ch->is_over)
                return;
        cay_timer_set(ch->client.mcp->world->loop, &ch->last, LAST_MS, on_last);
        part_if_drained(ch);
}

static void on_lost(struct cay_duplex_user *u, int why)
{
        struct cay_mcp_channel *ch = of_user(u);

        (void)why;
        ch->duplex = NULL;
        end(ch);
}

static const struct cay_duplex_user_ops user_ops = {
        .on_data = on_data, .on_room = on_room, .on_eof = on_eof, .on_lost = on_lost
};

/* Letting go */

static void tell_why(struct cay_mcp_channel *ch, const char *why)
{
        for (const struct cay_mcp_call *c = ch->client.calls; c; c = c->next) {
                cay_auto_buf struct cay_buf out = { 0 };

                cay_buf_init(&out, 4096);
                if (cay_rpc_put_error(&out, c->rpc.id, CAY_RPC_LET_GO, why, NULL) == 0)
                        say(ch, cay_buf_data(&out), out.len);
        }
}

static void on_over_pass(struct cay_guard *g, const char *why)
{
        struct cay_mcp_channel *ch = cay_container_of(g, struct cay_mcp_channel, guard);

        tell_why(ch, why);
        ch->is_let_go = true;
        cay_mcp_subscriber_close(&ch->subscriber);
        cay_mcp_client_keep_made(&ch->client);
        for (struct cay_mcp_call *c = ch->client.calls, *next; c; c = next) {
                next = c->next;
                cay_mcp_call_let_go(c);
        }
        if (ch->is_ws) {
                cay_ws_close(&ch->ws, CAY_WS_REFUSED, why);
        } else if (ch->duplex) {
                flush(ch);
                cay_duplex_close(cay_take(ch->duplex)); /* its final output is sent first */
                ch->is_closed = true;
                end(ch);
        }
}

/* Opening */

static int open_ws(struct cay_mcp_channel *ch, struct cay_http_request *req)
{
        const struct cay_ws_options options = { .message_max = CAY_MCP_MESSAGE_MAX, .ping_ms = PING_MS };

        ch->is_ws = true;
        return cay_ws_accept(&ch->ws, req, ch->client.mcp->world->loop,
                             cay_ws_offers(req, "mcp") ? "mcp" : NULL, &options, &ws_ops);
}

static int open_lines(struct cay_mcp_channel *ch, struct cay_http_request *req)
{
        ch->duplex = cay_http_response_upgrade(req, LINES);
        if (!ch->duplex)
                return -1;
        ch->user.ops = &user_ops;
        ch->duplex->user = &ch->user;
        cay_buf_charge(&ch->in, ch->duplex->budget);
        cay_buf_charge(&ch->out, ch->duplex->out_budget);
        return 0;
}

void cay_mcp_channel_open(struct cay_mcp *m, struct cay_http_request *req, const struct cay_visitor *v,
                          const struct cay_mcp_place *place)
{
        const char *protocol = cay_http_request_header(req, "Upgrade");
        bool is_lines = protocol && strcasecmp(protocol, LINES) == 0;
        const struct cay_http_fault *fault = is_lines ? NULL : cay_ws_check(req);
        struct cay_mcp_channel *ch;

        if (fault) {
                cay_mcp_refuse(req, fault->status, CAY_RPC_NO_REQUEST, fault->text);
                return;
        }
        /* `cay mcp` retries; the agent behind it cannot be expected to. */
        if (is_lines && !cay_service_is_ready(m->world->service)) {
                cay_mcp_refuse(req, 503, CAY_RPC_INTERNAL, "the daemon is starting: try again in a moment");
                return;
        }
        if (count(m, v->caller.owner) >= CHANNELS_OWNER) {
                cay_mcp_refuse(req, 429, CAY_RPC_INTERNAL,
                               "this owner has the maximum number of MCP connections: close some");
                return;
        }
        ch = calloc(1, sizeof(*ch));
        if (!ch) {
                cay_mcp_refuse(req, 503, CAY_RPC_INTERNAL, "no memory for this connection");
                return;
        }
        cay_mcp_client_init(&ch->client, m, v, place);
        ch->client.subscriber = &ch->subscriber;
        ch->subscriber.tell = tell;
        cay_buf_init(&ch->in, CAY_MCP_MESSAGE_MAX + 1024 * 1024);
        cay_buf_init(&ch->out, OUT_MAX);
        if ((is_lines ? open_lines(ch, req) : open_ws(ch, req)) < 0) {
                free(ch);
                return;
        }
        ch->guard.pass = v->pass;
        cay_guard_begin(&ch->guard, on_over_pass);
        ch->next = m->channels;
        ch->back = &m->channels;
        if (ch->next)
                ch->next->back = &ch->next;
        m->channels = ch;
}

/* A WebSocket sends a close frame first; on_closed ends it. */
void cay_mcp_channel_stop(struct cay_mcp *m)
{
        for (struct cay_mcp_channel *ch = m->channels, *next; ch; ch = next) {
                next = ch->next;
                cay_mcp_subscriber_close(&ch->subscriber);
                cay_mcp_client_end(&ch->client);
                if (ch->is_closed) {
                        end(ch);
                        continue;
                }
                if (ch->is_ws) {
                        cay_ws_close(&ch->ws, CAY_WS_GOING_AWAY, "the daemon stops");
                        continue;
                }
                if (ch->duplex)
                        cay_duplex_close(cay_take(ch->duplex));
                end(ch);
        }
}
