/* SPDX-License-Identifier: Apache-2.0 */
/* One run for all ops that are an action of a browser: members, or bytes as fast as the client takes them. */
#include "domain/ops/browser_act.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"
#include "foundation/base/str.h"
#include "foundation/loop/loop.h"

#define PIECE (64u * 1024)
#define MODEL_LIMIT (32u * 1024) /* characters that a model gets unless it asks for more */
#define MODEL_ROWS 50u

struct act {
        struct cay_action action;
        struct cay_action_args args;
        struct cay_op_call *call;
        struct cay_deferred release;
        bool has_begun;
};

static void release_act(struct cay_deferred *d)
{
        struct act *s = cay_container_of(d, struct act, release);

        cay_action_cancel(&s->action);
        free(s);
}

static struct cay_op_call *finish(struct act *s)
{
        struct cay_op_call *c = cay_take(s->call);

        c->on_gone = NULL;
        c->on_drain = NULL;
        s->release.run = release_act;
        cay_loop_defer(c->world->loop, &s->release);
        return c;
}

/* Bytes */

static void send_bytes(struct act *s)
{
        struct cay_buf *b = &s->action.kept;
        struct cay_op_call *c = s->call;
        const struct cay_op_bytes head = { .type = cay_action_type(&s->action), .length = b->len };
        ssize_t queued = 0;

        if (!s->has_begun) {
                s->has_begun = true;
                if (cay_op_begin(c, &head) < 0)
                        return; /* on_gone comes */
        }
        while (b->len > 0 && queued >= 0 && queued < (ssize_t)CAY_OP_HIGH) {
                size_t n = b->len < PIECE ? b->len : PIECE;

                queued = cay_op_write(c, cay_buf_data(b), n);
                cay_buf_drop(b, n);
        }
        if (queued < 0 || b->len > 0)
                return; /* on_gone or on_drain comes */
        cay_op_end(finish(s));
}

static void on_drain(struct cay_op_call *c)
{
        struct act *s = c->state;

        if (s->has_begun)
                send_bytes(s);
}

/* Members */

RESULT(result_browser_timings, NULL, NUMBER("ready_ms"), NUMBER("act_ms"), NUMBER("settle_ms"));
SHARED_RESULT(cay_result_browser_dialog, "BrowserDialog", TEXT("type"), TEXT("message"),
              TEXT("default_text"));
SHARED_RESULT(cay_result_browser_act, "BrowserAct", MAYBE("tab", NUMBER), TEXT("url"), TEXT("title"),
              IF_OBJECT("dialog", cay_result_browser_dialog), MAYBE("opened_tab", NUMBER), NUMBER("took_ms"),
              OBJECT("timings", result_browser_timings));

static void put_number(struct cay_json *j, const char *key, uint64_t v)
{
        cay_json_key(j, key);
        v > 0 ? cay_json_u64(j, v) : cay_json_null(j);
}

static void answer(struct act *s)
{
        const struct cay_action *a = &s->action;
        struct cay_op_result o;

        cay_op_result_begin(&o, s->call);
        put_number(&o.j, "tab", a->tab_number);
        cay_op_key_text(&o.j, "url", a->url);
        cay_op_key_text(&o.j, "title", a->title);
        cay_action_put_dialog(&o.j, &a->dialog);
        put_number(&o.j, "opened_tab", a->opened);
        cay_op_key_u64(&o.j, "took_ms", a->done_ms - a->begin_ms);
        cay_json_key(&o.j, "timings");
        cay_json_begin_object(&o.j);
        cay_op_key_u64(&o.j, "ready_ms", a->ready_ms - a->begin_ms);
        cay_op_key_u64(&o.j, "act_ms", a->acted_ms - a->ready_ms);
        cay_op_key_u64(&o.j, "settle_ms", a->done_ms - a->acted_ms);
        cay_json_end_object(&o.j);
        if (a->row->put)
                a->row->put(a, &o.j);
        cay_op_result_answer(&o, finish(s), CAY_OP_OK);
}

static void on_done(struct cay_action *a)
{
        struct act *s = cay_container_of(a, struct act, action);
        const struct cay_field *fields = s->call->op->fields;
        struct cay_error err = a->err;

        if (err.code != CAY_OK)
                cay_op_fail(finish(s), &err,
                            a->field && cay_field_find(fields, a->field, strlen(a->field)) ? a->field : NULL);
        else if (cay_action_type(a))
                send_bytes(s);
        else
                answer(s);
}

/* What has been begun with the page goes on; nobody is told. */
static void on_gone(struct cay_op_call *c)
{
        cay_op_abort(finish(c->state));
}

void cay_op_browser_act(struct cay_op_call *c)
{
        const struct cay_action_row *row = cay_action_find(c->op->name + strlen("browser_"));
        struct cay_viewer viewer = cay_op_viewer(c);
        struct act *s = calloc(1, sizeof(*s));

        assert(row);
        if (!s) {
                cay_op_fail_memory(c);
                return;
        }
        s->args = *(const struct cay_action_args *)c->args;
        if (c->dialect == CAY_OP_MCP && s->args.limit == 0)
                s->args.limit =
                        cay_field_find(c->op->fields, "from", strlen("from")) ? MODEL_ROWS : MODEL_LIMIT;
        s->call = c;
        s->action = (struct cay_action){ .row = row,
                                         .args = &s->args,
                                         .only_running = c->op->scope == CAY_SCOPE_READ,
                                         .on_done = on_done };
        c->state = s;
        c->on_gone = on_gone;
        c->on_drain = on_drain;
        cay_action_begin(c->world->browsers, &viewer, &s->action);
}
