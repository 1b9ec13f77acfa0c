/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side of HTTP/1.1; the rules are in client.h. */
#include "foundation/http/client.h"

#include <assert.h>
#include <errno.h>

#include "foundation/http/chars.h"

enum {
        IN_MAX = 2 * 1024 * 1024, /* more than any duplex has in its window */
        INTERIMS_MAX = 8,
};

static const struct cay_http_head_limits limits = {
        .line_bytes = 8 * 1024,
        .head_bytes = CAY_HTTP_HEAD_MAX,
        .lines = CAY_HTTP_LINES_MAX,
};

/* Ends */

static void forget(struct cay_http_client *c)
{
        cay_timer_clear(&c->timer);
        cay_buf_done(&c->out);
        cay_buf_done(&c->in);
        c->duplex = NULL;
}

void cay_http_client_abort(struct cay_http_client *c)
{
        struct cay_duplex *d = c->duplex;

        cay_buf_done(&c->head_bytes);
        if (!d)
                return;
        forget(c);
        cay_duplex_close(d);
}

static void fail(struct cay_http_client *c, unsigned status, const char *text)
{
        struct cay_http_fault fault = { .status = status, .text = text };

        cay_http_client_abort(c);
        c->ops->on_fail(c, &fault);
}

static void on_time(struct cay_timer *t)
{
        fail(cay_container_of(t, struct cay_http_client, timer), 504, "no answer in time");
}

static void kick(struct cay_http_client *c);

/* Sending */

static void flush(struct cay_http_client *c)
{
        while (c->out.len > 0) {
                size_t n = cay_duplex_write(c->duplex, cay_buf_data(&c->out), c->out.len);

                if (n == 0)
                        return;
                cay_buf_drop(&c->out, n);
        }
        cay_buf_done(&c->out);
}

static void end_request(struct cay_http_client *c)
{
        c->sent = true;
        if (c->answer_ms > 0 && !c->answered)
                cay_timer_set(c->loop, &c->timer, c->answer_ms,
                              on_time); /* no memory: only the client's own deadline applies */
}

size_t cay_http_client_write(struct cay_http_client *c, const void *bytes, size_t len)
{
        size_t room;
        char size[20];
        int n = 0;

        if (!c->duplex || c->sent || len == 0)
                return c->duplex && len > 0 ? 0 : len; /* ended: the data is discarded */
        room = c->out.len < CAY_HTTP_CLIENT_HIGH ? CAY_HTTP_CLIENT_HIGH - c->out.len : 0;
        if (len > room) {
                len = room;
                c->room_owed = true;
        }
        if (len == 0)
                return 0;
        assert(c->framing == CAY_HTTP_CHUNKED || len <= c->left);
        if (c->framing == CAY_HTTP_CHUNKED)
                n = snprintf(size, sizeof(size), "%zx\r\n", len);
        if (!cay_buf_room(&c->out, len + (size_t)n + 2)) {
                c->room_owed = true;
                return 0;
        }
        cay_buf_put(&c->out, size, (size_t)n);
        cay_buf_put(&c->out, bytes, len);
        if (c->framing == CAY_HTTP_CHUNKED)
                cay_buf_put(&c->out, "\r\n", 2);
        else
                c->left -= len;
        flush(c);
        if (c->room_owed && c->out.len < CAY_HTTP_CLIENT_HIGH / 2)
                kick(c); /* the duplex accepted everything: no event will follow */
        return len;
}

void cay_http_client_write_end(struct cay_http_client *c)
{
        if (!c->duplex || c->sent)
                return;
        if (c->framing == CAY_HTTP_CHUNKED)
                cay_buf_put(&c->out, "0\r\n\r\n", 5);
        flush(c);
        end_request(c);
}

static int put_head(struct cay_buf *b, const struct cay_http_client_request *r)
{
        int e = cay_buf_printf(b, "%s %s%s%s HTTP/1.1\r\n%s", cay_http_method_word(r->method), r->target,
                               r->query ? "?" : "", r->query ? r->query : "", r->fields);

        if (e == 0 && r->framing == CAY_HTTP_CHUNKED)
                e = cay_buf_puts(b, "Transfer-Encoding: chunked\r\n");
        else if (e == 0 && r->framing == CAY_HTTP_LENGTH)
                e = cay_buf_printf(b, "Content-Length: %llu\r\n", (unsigned long long)r->length);
        if (e == 0 && r->upgrade)
                e = cay_buf_printf(b, "Connection: Upgrade\r\nUpgrade: %s\r\n\r\n", r->upgrade);
        else if (e == 0)
                e = cay_buf_puts(b, "Connection: close\r\n\r\n");
        return e;
}

/* The answer */

static void end_strings(struct cay_http_client *c)
{
        char *bytes = cay_buf_data(&c->head_bytes);

        for (unsigned i = 0; i < c->head.line_count; i++) {
                const struct cay_http_line *line = &c->head.lines[i];

                bytes[line->name + line->name_len] = '\0';
                bytes[line->value + line->value_len] = '\0';
        }
}

const char *cay_http_client_header(const struct cay_http_client *c, const char *name)
{
        const char *bytes = cay_buf_data(&c->head_bytes);

        for (unsigned i = 0; i < c->head.line_count; i++) {
                const struct cay_http_line *line = &c->head.lines[i];

                if (cay_http_same_name(bytes + line->name, line->name_len, name))
                        return bytes + line->value;
        }
        return NULL;
}

void cay_http_client_header_at(const struct cay_http_client *c, unsigned i, const char **ret_name,
                               const char **ret_value)
{
        const char *bytes = cay_buf_data(&c->head_bytes);

        assert(i < c->head.line_count);
        *ret_name = bytes + c->head.lines[i].name;
        *ret_value = bytes + c->head.lines[i].value;
}

struct cay_duplex *cay_http_client_take_duplex(struct cay_http_client *c, struct cay_buf *ret_rest)
{
        struct cay_duplex *d = c->duplex;

        *ret_rest = c->in;
        c->in = (struct cay_buf){ 0 };
        forget(c);
        return d;
}

static void take_in(struct cay_http_client *c, size_t len)
{
        cay_buf_drop(&c->in, len);
        if (len > 0)
                cay_duplex_consumed(c->duplex, len);
}

static void end(struct cay_http_client *c)
{
        struct cay_duplex *d = c->duplex;

        forget(c);
        cay_duplex_close(d);
        c->ops->on_end(c);
}

/* Handles a complete and valid head. False: nothing more to do for now. */
static bool begin_answer(struct cay_http_client *c, size_t len)
{
        if (c->head.status == 101) {
                if (!c->upgrade || !c->head.upgrade || !c->sent) {
                        fail(c, 502, "the other side changed the protocol without being asked");
                        return false;
                }
                take_in(c, len);
                c->answered = true;
                c->ops->on_upgraded(c);
                return false;
        }
        if (c->head.status < 200) {
                if (++c->interims > INTERIMS_MAX) {
                        fail(c, 502, "too many interim answers");
                        return false;
                }
                take_in(c, len);
                c->search = (struct cay_http_head_search){ 0 };
                return true;
        }
        take_in(c, len);
        c->answered = true;
        cay_timer_clear(&c->timer);
        cay_http_body_begin(&c->body, c->head.framing, c->head.length, UINT64_MAX);
        c->ops->on_response(c);
        return c->duplex;
}

static bool step_head(struct cay_http_client *c)
{
        const char *bytes = cay_buf_data(&c->in);
        struct cay_http_fault fault;
        ssize_t n = cay_http_head_find(&c->search, bytes, c->in.len, &limits, &fault);

        if (n == 0) {
                if (c->eof)
                        fail(c, 502, "the other side closed without an answer");
                return false;
        }
        if (n < 0 || cay_http_head_parse_response(&c->head, c->method, bytes, (size_t)n, &fault) < 0) {
                fail(c, 502, fault.text);
                return false;
        }
        cay_buf_clear(&c->head_bytes);
        if (cay_buf_put(&c->head_bytes, bytes, (size_t)n) < 0) {
                fail(c, 502, "no memory for the answer");
                return false;
        }
        end_strings(c);
        return begin_answer(c, (size_t)n);
}

static bool step_body(struct cay_http_client *c)
{
        size_t framing, piece, n;

        if (c->body.done) {
                end(c);
                return false;
        }
        if (cay_http_body_look(&c->body, cay_buf_data(&c->in), c->in.len, &framing, &piece) < 0) {
                fail(c, 502, "the answer's chunks are malformed");
                return false;
        }
        take_in(c, framing);
        if (piece == 0 && framing == 0 && c->eof && cay_http_body_eof(&c->body) < 0) {
                fail(c, 502, "the answer is cut short");
                return false;
        }
        if (piece == 0)
                return framing > 0 || c->body.done;
        n = c->ops->on_body(c, cay_buf_data(&c->in), piece);
        if (!c->duplex)
                return false;
        cay_http_body_took(&c->body, n);
        take_in(c, n);
        c->held = n < piece;
        return !c->held;
}

static void process(struct cay_http_client *c)
{
        while (c->duplex && !c->held && (c->answered ? step_body(c) : step_head(c)))
                ;
        if (c->duplex && c->in.len == 0)
                cay_buf_done(&c->in);
}

/* The duplex's side */

static void on_data(struct cay_duplex_user *u, const void *bytes, size_t len)
{
        struct cay_http_client *c = cay_container_of(u, struct cay_http_client, user);

        if (cay_buf_put(&c->in, bytes, len) < 0) {
                fail(c, 502, "no memory for the answer");
                return;
        }
        process(c);
}

static void tell_room(struct cay_http_client *c)
{
        if (!c->room_owed || c->out.len >= CAY_HTTP_CLIENT_HIGH / 2 || c->sent)
                return;
        c->room_owed = false;
        if (c->ops->on_room)
                c->ops->on_room(c);
}

static void on_room(struct cay_duplex_user *u)
{
        struct cay_http_client *c = cay_container_of(u, struct cay_http_client, user);

        flush(c);
        tell_room(c);
}

static void on_eof(struct cay_duplex_user *u)
{
        struct cay_http_client *c = cay_container_of(u, struct cay_http_client, user);

        c->eof = true;
        process(c);
}

static void on_lost(struct cay_duplex_user *u, int why)
{
        struct cay_http_client *c = cay_container_of(u, struct cay_http_client, user);
        struct cay_http_fault fault = { 502, "the connection was lost before the answer was complete" };

        forget(c); /* the duplex has already ended */
        c->ops->on_fail(c, &fault);
}

static const struct cay_duplex_user_ops user_ops = {
        .on_data = on_data,
        .on_room = on_room,
        .on_eof = on_eof,
        .on_lost = on_lost,
};

static void on_kick(struct cay_deferred *d)
{
        struct cay_http_client *c = cay_container_of(d, struct cay_http_client, kick);

        c->kicked = false;
        if (!c->duplex)
                return;
        if (c->resumed)
                c->held = c->resumed = false;
        tell_room(c);
        if (c->duplex)
                process(c);
}

/* Continues from the loop with whatever is possible. */
static void kick(struct cay_http_client *c)
{
        if (c->kicked || !c->duplex)
                return;
        c->kicked = true;
        c->kick.run = on_kick;
        cay_loop_defer(c->loop, &c->kick);
}

void cay_http_client_resume(struct cay_http_client *c)
{
        c->resumed = true; /* also from inside on_body, which is about to stop */
        kick(c);
}

int cay_http_client_begin(struct cay_http_client *c, struct cay_duplex *duplex, struct cay_loop *loop,
                          const struct cay_http_client_request *request,
                          const struct cay_http_client_ops *ops)
{
        int r;

        memset(c, 0, sizeof(*c));
        c->ops = ops;
        c->user.ops = &user_ops;
        c->duplex = duplex;
        c->loop = loop;
        c->method = request->method;
        c->framing = request->framing;
        c->left = request->length;
        c->upgrade = request->upgrade;
        c->answer_ms = request->answer_ms;
        duplex->user = &c->user;
        cay_buf_init(&c->out, CAY_HTTP_CLIENT_HIGH + CAY_HTTP_HEAD_MAX * 2);
        cay_buf_init(&c->in, IN_MAX);
        cay_buf_init(&c->head_bytes, CAY_HTTP_HEAD_MAX);
        r = put_head(&c->out, request);
        if (r < 0) {
                cay_http_client_abort(c);
                return r;
        }
        flush(c);
        if (request->framing == CAY_HTTP_NO_BODY)
                end_request(c);
        return 0;
}
