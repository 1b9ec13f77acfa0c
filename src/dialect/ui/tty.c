/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A terminal over a WebSocket; its rules are in tty.h.
 *
 * Life. Waiting for the first message; then, for a shell of our own, asking exec_run; then following (the op call is exec_stream's). Three
 * things end in any order: the ask, the following and the WebSocket. The memory goes, with the round, when all have.
 */
#include "dialect/ui/tty.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "dialect/ask/ask.h"
#include "dialect/rest/rest_error.h"
#include "dialect/rest/rest_stream.h"
#include "dialect/ui/tty_words.h"
#include "http/ws.h"
#include "json/json_in.h"
#include "loop/loop.h"
#include "op/exec_stream.h"

#define PING_MS 5000u /* as ttyd does; a peer that is silent over two of these is lost */
#define FIRST_MS 10000u
#define MESSAGE_MAX (1024u * 1024)
#define FRAME (32u * 1024)
#define TEXT_MAX 512u

/* A login shell where there is bash, else whatever sh is. */
static const char shell[] = "command -v bash >/dev/null 2>&1 && exec bash -l; exec sh -l";

struct tty {
        struct cay_op_call call; /* while it follows */
        struct cay_ws ws;
        struct cay_ask *ask; /* NULL: none under way */
        struct cay_timer patience;
        struct cay_deferred release;
        struct cay_rest_stream stream;
        char sandbox[CAY_NAME_MAX + 1], exec[CAY_NAME_MAX + 1];
        uint64_t from;
        struct cay_tty_size size;
        bool is_ours;  /* the shell was started here and ends with its client */
        bool told;     /* the first message has come */
        bool follows;  /* the op has the call */
        bool in_input; /* an input message is not all taken */
        bool paused, closed;
};

static struct tty *self(struct cay_op_call *c)
{
        return cay_container_of(c, struct tty, call);
}

static struct tty *of_ws(struct cay_ws *ws)
{
        return cay_container_of(ws, struct tty, ws);
}

static void release(struct cay_deferred *d)
{
        free(cay_container_of(d, struct tty, release));
}

static void let_go_if_done(struct tty *t)
{
        if (!t->closed || t->ask || t->follows)
                return;
        cay_timer_clear(&t->patience);
        cay_rest_stream_remove(&t->stream);
        t->release.run = release;
        cay_loop_defer(t->call.world->loop, &t->release);
}

/* Doors: what exec_stream says */

static void over(struct tty *t)
{
        t->follows = false;
        let_go_if_done(t);
}

static void door_answer(struct cay_op_call *c, enum cay_op_status status, const char *json, size_t len)
{
        (void)status;
        (void)json;
        (void)len;
        cay_ws_close(&self(c)->ws, CAY_WS_INTERNAL, "no stream came");
        over(self(c));
}

static void door_fail(struct cay_op_call *c, const struct cay_error *err, const char *field)
{
        (void)field;
        cay_ws_close(&self(c)->ws, err->code == CAY_INTERNAL ? CAY_WS_INTERNAL : CAY_WS_REFUSED,
                     err->code == CAY_INTERNAL ? "see the daemon's log" : err->msg);
        over(self(c));
}

static int door_begin_bytes(struct cay_op_call *c, const struct cay_op_bytes *what)
{
        (void)what;
        return cay_ws_is_open(&self(c)->ws) ? 0 : -EPIPE;
}

static int door_begin_events(struct cay_op_call *c)
{
        return door_begin_bytes(c, NULL);
}

static ssize_t say(struct tty *t, char kind, const void *bytes, size_t len)
{
        char frame[1 + FRAME];
        ssize_t waits = 0;

        for (size_t n; waits >= 0 && len > 0; len -= n, bytes = (const char *)bytes + n) {
                n = len < FRAME ? len : FRAME;
                frame[0] = kind;
                memcpy(frame + 1, bytes, n);
                waits = cay_ws_send(&t->ws, CAY_WS_BINARY, frame, n + 1);
        }
        return waits;
}

static ssize_t door_write(struct cay_op_call *c, const void *bytes, size_t len)
{
        struct tty *t = self(c);
        ssize_t waits = say(t, '0', bytes, len);

        return waits >= 0 && waits < (ssize_t)CAY_OP_HIGH && t->paused ? (ssize_t)CAY_OP_HIGH : waits;
}

static ssize_t door_put_event(struct cay_op_call *c, const char *id, const char *kind, const char *json,
                              size_t len)
{
        (void)c;
        (void)id;
        (void)kind;
        (void)json;
        return (ssize_t)len; /* bytes were asked for */
}

static void door_end(struct cay_op_call *c)
{
        struct tty *t = self(c);
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_exec_view view;
        struct cay_error err = { 0 };
        char reason[64] = "ended";

        if (cay_service_exec_get(c->world->service, &viewer, t->sandbox, t->exec, &view, &err) == 0) {
                if (view.exit_code >= 0)
                        snprintf(reason, sizeof(reason), "exit %d", view.exit_code);
                else if (view.signal > 0)
                        snprintf(reason, sizeof(reason), "signal %d", view.signal);
        }
        cay_ws_close(&t->ws, CAY_WS_NORMAL, reason);
        over(t);
}

static void door_abort(struct cay_op_call *c)
{
        cay_ws_close(&self(c)->ws, CAY_WS_INTERNAL, "the stream was cut");
        over(self(c));
}

static int door_read(struct cay_op_call *c)
{
        (void)c;
        return 0;
}

static void door_resume(struct cay_op_call *c)
{
        cay_ws_resume(&self(c)->ws);
}

static const struct cay_op_doors doors = {
        .answer = door_answer,
        .fail = door_fail,
        .begin_bytes = door_begin_bytes,
        .begin_events = door_begin_events,
        .write = door_write,
        .put_event = door_put_event,
        .end = door_end,
        .abort = door_abort,
        .read = door_read,
        .resume = door_resume,
};

/* Following */

static void resize(struct tty *t)
{
        const struct cay_op_order order = { .rows = t->size.rows, .cols = t->size.cols };
        struct cay_error err = { 0 };

        if (t->call.on_order && t->call.on_order(&t->call, &order, &err) < 0)
                cay_log_debug("a terminal was not sized, ignoring", "exec=%s error=%s", t->exec, err.msg);
}

static void follow(struct tty *t)
{
        const struct cay_op_exec_follow how = { .from = t->from, .raw = true };
        char title[TEXT_MAX];

        snprintf(title, sizeof(title), "%s", t->sandbox);
        say(t, '1', title, strlen(title));
        say(t, '2', "{}", 2);
        t->follows = true;
        cay_op_exec_stream(&t->call, t->sandbox, t->exec, &how);
        if (!t->follows)
                return;
        if (!t->is_ours)
                resize(t);
        cay_ws_resume(&t->ws); /* what was said meanwhile */
}

/* A shell of our own */

static void end_ours(struct tty *t)
{
        struct cay_viewer viewer = cay_op_viewer(&t->call);
        struct cay_error err = { 0 };

        if (t->is_ours && t->exec[0] &&
            cay_service_exec_kill(t->call.world->service, &viewer, t->sandbox, t->exec, &err) < 0)
                cay_log_debug("a terminal's shell was not ended, ignoring", "exec=%s error=%s", t->exec,
                              err.msg);
}

static void on_answer(struct cay_ask *a, enum cay_op_status status, const char *json, size_t len)
{
        struct tty *t = cay_ask_user(a);
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        struct cay_error err = { 0 };
        const char *id = NULL;

        (void)status;
        t->ask = NULL;
        if (cay_json_in_parse(json, len, NULL, &doc, &err) == 0)
                id = cay_json_value_text(cay_json_value_find(cay_json_in_root(doc), "exec_id"));
        snprintf(t->exec, sizeof(t->exec), "%s", id ? id : "");
        if (t->closed) {
                end_ours(t);
                let_go_if_done(t);
        } else {
                follow(t);
        }
}

static void on_fail(struct cay_ask *a, const struct cay_error *err, const char *field, const char *first)
{
        struct tty *t = cay_ask_user(a);

        (void)field;
        (void)first;
        t->ask = NULL;
        cay_ws_close(&t->ws, CAY_WS_REFUSED, err->msg);
        let_go_if_done(t);
}

static const struct cay_ask_ops ask_ops = { .on_answer = on_answer, .on_fail = on_fail };

static void put_shell(struct cay_json *j, const struct tty *t)
{
        cay_json_begin_object(j);
        cay_op_key_text(j, "id", t->sandbox);
        cay_op_key_text(j, "command", shell);
        cay_op_key_bool(j, "tty", true);
        cay_op_key_bool(j, "open_stdin", true);
        cay_op_key_bool(j, "background", true);
        cay_op_key_text(j, "term", "xterm-256color");
        cay_op_key_u64(j, "rows", t->size.rows);
        cay_op_key_u64(j, "cols", t->size.cols);
        cay_json_end_object(j);
}

static void start_shell(struct tty *t)
{
        cay_auto_buf struct cay_buf json = { 0 };
        struct cay_json j;
        struct cay_ask_what what = { .op = cay_op_find("exec_run"),
                                     .world = t->call.world,
                                     .caller = t->call.caller,
                                     .is_known = true,
                                     .fd = -1,
                                     .request_id = t->call.request_id,
                                     .ops = &ask_ops,
                                     .user = t };

        t->is_ours = true;
        cay_buf_init(&json, 4096);
        cay_json_init(&j, &json);
        put_shell(&j, t);
        if (cay_json_end(&j) == 0) {
                what.json = cay_buf_data(&json);
                what.json_len = json.len;
                t->ask = cay_ask(&what);
        }
        if (!t->ask)
                cay_ws_close(&t->ws, CAY_WS_INTERNAL, "no memory for a shell");
}

/* What the client says */

static void take_first(struct tty *t, const void *bytes, size_t len)
{
        cay_timer_clear(&t->patience);
        t->told = true;
        if (!cay_tty_read_first(bytes, len, &t->size))
                cay_ws_close(&t->ws, CAY_WS_REFUSED, "the first message is {\"columns\": N, \"rows\": N}");
        else if (t->exec[0])
                follow(t);
        else
                start_shell(t);
}

/* How many of the bytes were taken. */
static size_t give_input(struct tty *t, const void *bytes, size_t len)
{
        size_t n = len > 0 && t->call.on_body ? t->call.on_body(&t->call, bytes, len) : len;

        t->in_input = n < len;
        return n;
}

static size_t on_message(struct cay_ws *ws, enum cay_ws_opcode kind, const void *bytes, size_t len)
{
        struct tty *t = of_ws(ws);

        (void)kind; /* ttyd's clients send either */
        if (!t->told) {
                take_first(t, bytes, len);
                return len;
        }
        if (!t->follows)
                return t->ask ? 0 : len;
        if (t->in_input)
                return give_input(t, bytes, len);
        switch (cay_tty_read(bytes, len, &t->size)) {
        case CAY_TTY_INPUT:
                return 1 + give_input(t, (const char *)bytes + 1, len - 1);
        case CAY_TTY_SIZE:
                resize(t);
                break;
        case CAY_TTY_PAUSE:
                t->paused = true;
                break;
        case CAY_TTY_RESUME:
                t->paused = false;
                if (t->call.on_drain)
                        t->call.on_drain(&t->call);
                break;
        case CAY_TTY_NONSENSE:
        case CAY_TTY_WORD_COUNT:
                break;
        }
        return len;
}

static void on_drain(struct cay_ws *ws)
{
        struct tty *t = of_ws(ws);

        if (t->follows && !t->paused && t->call.on_drain)
                t->call.on_drain(&t->call);
}

static void on_closed(struct cay_ws *ws, unsigned code, const char *reason)
{
        struct tty *t = of_ws(ws);

        (void)code;
        (void)reason;
        t->closed = true;
        if (t->follows) {
                end_ours(t);
                t->call.on_gone(&t->call); /* its last word is an abort */
        } else {
                let_go_if_done(t);
        }
}

static const struct cay_ws_ops ws_ops = {
        .on_message = on_message,
        .on_drain = on_drain,
        .on_closed = on_closed,
};

/* Beginning */

static void on_patience(struct cay_timer *timer)
{
        cay_ws_close(&cay_container_of(timer, struct tty, patience)->ws, CAY_WS_REFUSED,
                     "no first message came");
}

static void on_stop(struct cay_rest_stream *s)
{
        cay_ws_close(&cay_container_of(s, struct tty, stream)->ws, CAY_WS_GOING_AWAY, "the daemon stops");
}

static void refuse(struct cay_http_request *req, const struct cay_error *err, const struct cay_visitor *v)
{
        cay_rest_refuse(req, cay_rest_status(err->code), err->msg, v->request_id);
}

static int read_query(struct tty *t, const struct cay_http_request *req, struct cay_error *err)
{
        char room[TEXT_MAX];
        const char *value;
        int r = cay_http_query_get(req->target.query, "exec", room, sizeof(room), &value);

        if (r < 0 || (r == 1 && (value[0] == '\0' || strlen(value) > CAY_NAME_MAX)))
                return cay_fail(err, CAY_INVALID, "exec: one id of a command of this sandbox");
        if (r == 1)
                snprintf(t->exec, sizeof(t->exec), "%.*s", CAY_NAME_MAX, value);
        r = cay_http_query_get(req->target.query, "from", room, sizeof(room), &value);
        if (r < 0 || (r == 1 && cay_parse_u64(value, &t->from) < 0))
                return cay_fail(err, CAY_INVALID, "from: one cursor, a whole number");
        return 0;
}

/* The sandbox is there and, if one is named, so is the command, and it has a terminal. */
static int find(struct tty *t, const struct cay_http_request *req, struct cay_error *err)
{
        const struct cay_op_world *world = t->call.world;
        struct cay_viewer viewer = cay_op_viewer(&t->call);
        struct cay_sandbox_view box;
        struct cay_exec_view exec;

        if (cay_op_check_scope(t->call.op, &t->call.caller, err) < 0 || read_query(t, req, err) < 0 ||
            cay_service_get(world->service, &viewer, req->target.segments[1], &box, err) < 0)
                return -1;
        snprintf(t->sandbox, sizeof(t->sandbox), "%s", box.id);
        if (!t->exec[0])
                return 0;
        if (cay_service_exec_get(world->service, &viewer, t->sandbox, t->exec, &exec, err) < 0)
                return -1;
        if (!exec.tty)
                return cay_fail(err, CAY_INVALID, "exec: this command has no terminal; start it with tty");
        /* What is no longer kept cannot be shown: from the oldest that is. */
        if (t->from < exec.output_first)
                t->from = exec.output_first;
        return 0;
}

static struct tty *make(const struct cay_rest_place *place, const struct cay_visitor *v)
{
        struct tty *t = calloc(1, sizeof(*t));

        if (!t)
                return NULL;
        t->call.op = cay_op_find("exec_run");
        t->call.doors = &doors;
        t->call.world = place->world;
        t->call.caller = v->caller;
        t->call.is_known = true;
        t->call.is_two_way = true;
        t->call.wants_stream = true;
        t->call.fd = -1;
        memcpy(t->call.request_id, v->request_id, sizeof(t->call.request_id));
        return t;
}

static void open_ws(struct tty *t, struct cay_rest_stream **streams, struct cay_http_request *req)
{
        const struct cay_ws_options options = { .message_max = MESSAGE_MAX, .ping_ms = PING_MS };
        const char *protocol = cay_ws_offers(req, "tty") ? "tty" : NULL;

        if (cay_ws_accept(&t->ws, req, t->call.world->loop, protocol, &options, &ws_ops) < 0) {
                free(t);
                return;
        }
        t->stream.stop = on_stop;
        cay_rest_stream_add(streams, &t->stream);
        cay_timer_set(t->call.world->loop, &t->patience, FIRST_MS, on_patience);
}

void cay_ui_tty(const void *owner, const struct cay_rest_place *place, struct cay_http_request *req,
                const struct cay_visitor *v)
{
        const struct cay_http_fault *fault = cay_ws_check(req);
        struct cay_error err = { 0 };
        struct tty *t;

        (void)owner;
        if (fault) {
                cay_rest_refuse(req, fault->status, fault->text, v->request_id);
                return;
        }
        if (v->origin && !v->origin_is_fine) {
                cay_rest_refuse(req, 403, "pages of this origin may not call: see allow_origins",
                                v->request_id);
                return;
        }
        t = make(place, v);
        if (!t) {
                cay_rest_refuse(req, 503, "no memory for this terminal", v->request_id);
        } else if (find(t, req, &err) < 0) {
                free(t);
                refuse(req, &err, v);
        } else {
                open_ws(t, place->streams, req);
        }
}

/* ttyd's clients ask for the token that they are to send; whoever gets here has shown another. */
void cay_ui_tty_token(const void *owner, const struct cay_rest_place *place, struct cay_http_request *req,
                      const struct cay_visitor *v)
{
        static const char none[] = "{\"token\": \"\"}";

        (void)owner;
        (void)place;
        (void)v;
        cay_http_response_send(req, 200, CAY_REST_JSON, none, sizeof(none) - 1);
}
