/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code interpreter, on the sandbox's contexts. /execute answers with a line of JSON for each event. Runs
 * of one context wait for each other: the oldest is woken when one of them ends, and all look again from time
 * to time, since others use contexts, too. A client that goes away interrupts its code, so that the next run
 * finds the context free.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dialects/e2b/e2b_ascii.h"
#include "dialects/e2b/e2b_priv.h"
#include "foundation/base/base64.h"
#include "foundation/base/str.h"
#include "foundation/loop/loop.h"

#define ALIVE_MS 5000u
#define AGAIN_MS 20u       /* between looks at a context that is busy, at first; */
#define AGAIN_MOST_MS 500u /* then twice as long each time, up to this */
#define LINE_MAX_BYTES (16u << 20)
#define LINE_KEPT 65536u /* bytes of memory that wait for the next line */
#define HOME "/home/user"

struct e2b_execution {
        struct e2b_request *q;
        struct e2b_execution *next; /* of those that wait, if it does */
        unsigned again_ms;          /* its next pause; 0: it does not wait */
        struct cay_timer timer;     /* while it waits for its turn; then signs of life */
        char context[CAY_NAME_MAX + 1], language[32];
        bool is_default; /* a language's own context, which is made when it is first used */
        bool spoke, has_error, has_ended;
        struct cay_buf line, ascii;
};

static void on_again(struct cay_timer *t);

static void stop_waiting(struct e2b_execution *x)
{
        struct e2b_execution **at = &x->q->e2b->executions;

        if (x->again_ms == 0)
                return;
        while (*at != x)
                at = &(*at)->next;
        *at = x->next;
        x->again_ms = 0;
        cay_timer_clear(&x->timer);
}

/* One of its context has ended. */
static void wake_next(const struct e2b_execution *ended)
{
        struct e2b_execution *x = ended->q->e2b->executions;

        while (x && (x->q->ask || !x->q->req || strcmp(x->q->sandbox, ended->q->sandbox) != 0 ||
                     strcmp(x->context, ended->context) != 0))
                x = x->next;
        if (!x)
                return;
        x->again_ms = AGAIN_MS;
        cay_timer_set(x->q->world->loop, &x->timer, 0, on_again);
}

static void free_execution(void *state)
{
        struct e2b_execution *x = state;

        stop_waiting(x);
        wake_next(x);
        cay_timer_clear(&x->timer);
        cay_buf_done(&x->line);
        cay_buf_done(&x->ascii);
        free(x);
}

/* Lines */

static struct cay_json *begin_line(struct e2b_execution *x, struct cay_json *j, const char *type)
{
        cay_buf_clear(&x->line);
        cay_json_init(j, &x->line);
        cay_json_begin_object(j);
        cay_op_key_text(j, "type", type);
        return j;
}

/* A long line's memory is not kept for the short ones behind it. */
static void trim(struct cay_buf *b)
{
        if (b->cap > LINE_KEPT)
                cay_buf_done(b);
}

static ssize_t put_line(struct e2b_execution *x, struct cay_json *j)
{
        ssize_t queued;
        int r;

        cay_json_end_object(j);
        r = cay_json_end(j);
        cay_buf_clear(&x->ascii);
        if (r == 0)
                r = e2b_ascii_put(&x->ascii, cay_buf_data(&x->line), x->line.len);
        if (r == 0)
                r = cay_buf_putc(&x->ascii, '\n');
        x->spoke = true;
        queued = r < 0 ? r : e2b_write(x->q, cay_buf_data(&x->ascii), x->ascii.len);
        trim(&x->line);
        trim(&x->ascii);
        return queued;
}

static void on_alive(struct cay_timer *t)
{
        struct e2b_execution *x = cay_container_of(t, struct e2b_execution, timer);
        struct cay_json j;

        if (!x->spoke)
                put_line(x, begin_line(x, &j, "keepalive"));
        x->spoke = false;
        cay_timer_set(x->q->world->loop, t, ALIVE_MS, on_alive);
}

static ssize_t put_output(struct e2b_execution *x, const char *kind, const struct cay_json_value *event)
{
        const char *text = e2b_text(event, "text"), *base64 = e2b_text(event, "base64");
        cay_auto_buf struct cay_buf bytes = { 0 };
        struct cay_json j;

        begin_line(x, &j, kind);
        cay_json_key(&j, "text");
        if (text) {
                cay_json_text(&j, text);
        } else {
                cay_buf_init(&bytes, base64 ? strlen(base64) + 8 : 8);
                if (!base64 || cay_base64_decode(base64, strlen(base64), &bytes) < 0)
                        return -1;
                cay_json_string(&j, cay_buf_data(&bytes), bytes.len);
        }
        return put_line(x, &j);
}

struct copying {
        struct cay_json *j;
        bool strips; /* a text's quotes */
};

/* A string's own quotes are not shown. */
static void put_text(struct cay_json *j, const char *text)
{
        size_t len = strlen(text);

        if (len >= 2 && (text[0] == '\'' || text[0] == '"') && text[len - 1] == text[0])
                cay_json_string(j, text + 1, len - 2);
        else
                cay_json_text(j, text);
}

/*
 * Kinds that clients do not know are "extra" for them, whatever their names are: all but those that a result
 * has are passed on.
 */
static bool copy_extra(void *ctx, const char *name, const struct cay_json_value *value)
{
        const struct copying *c = ctx;

        if (!strchr(name, '/'))
                return true;
        cay_json_key(c->j, name);
        cay_json_value_put(c->j, value);
        return true;
}

static bool copy_member(void *ctx, const char *name, const struct cay_json_value *value)
{
        const struct copying *c = ctx;
        const char *text = cay_json_value_text(value);

        if (strcmp(name, "extra") == 0) {
                cay_json_value_each(value, copy_extra, ctx);
                return true;
        }
        if (strcmp(name, "event") == 0 || cay_json_value_type(value) == CAY_JSON_NULL)
                return true;
        cay_json_key(c->j, name);
        if (c->strips && text && strcmp(name, "text") == 0)
                put_text(c->j, text);
        else
                cay_json_value_put(c->j, value);
        return true;
}

static ssize_t put_copy(struct e2b_execution *x, const char *type, const struct cay_json_value *event)
{
        struct cay_json j;
        struct copying c = { &j, strcmp(type, "result") == 0 };

        begin_line(x, &j, type);
        cay_json_value_each(event, copy_member, &c);
        return put_line(x, &j);
}

/* Why it ended, when the code did not say so itself. */
static ssize_t put_cause(struct e2b_execution *x, const struct cay_json_value *event)
{
        const char *text = e2b_text(event, "cause_text");
        struct cay_json j;

        begin_line(x, &j, "error");
        cay_op_key_text(&j, "name", e2b_text(event, "cause"));
        cay_op_key_text(&j, "value", text);
        cay_op_key_text(&j, "traceback", text);
        return put_line(x, &j);
}

static ssize_t put_end(struct e2b_execution *x, const struct cay_json_value *event)
{
        struct cay_json j;
        int64_t count = 0;

        if (e2b_text(event, "cause")) {
                if (!e2b_runs(x->q->world, x->q->sandbox))
                        return 0; /* it ended with its sandbox: the stream is cut */
                if (!x->has_error && put_cause(x, event) < 0)
                        return -1;
        }
        x->has_ended = true;
        e2b_number(event, "execution_count", &count);
        begin_line(x, &j, "number_of_executions");
        cay_op_key_u64(&j, "execution_count", (uint64_t)count);
        if (put_line(x, &j) < 0)
                return -1;
        return put_line(x, begin_line(x, &j, "end_of_execution"));
}

static int on_begin(struct e2b_request *q, const struct cay_op_bytes *bytes)
{
        struct e2b_execution *x = q->state;

        (void)bytes;
        cay_timer_set(q->world->loop, &x->timer, ALIVE_MS, on_alive);
        return e2b_begin(q, "application/x-ndjson", CAY_HTTP_NO_LENGTH);
}

static ssize_t on_event(struct e2b_request *q, const char *kind, const struct cay_json_value *event)
{
        struct e2b_execution *x = q->state;

        if (strcmp(kind, "stdout") == 0 || strcmp(kind, "stderr") == 0)
                return put_output(x, kind, event);
        if (strcmp(kind, "result") == 0)
                return put_copy(x, "result", event);
        if (strcmp(kind, "error") == 0) {
                x->has_error = true;
                return put_copy(x, "error", event);
        }
        return strcmp(kind, "end") == 0 ? put_end(x, event) : 0;
}

static void on_end(struct e2b_request *q, bool was_cut)
{
        struct e2b_execution *x = q->state;

        (void)was_cut;
        cay_timer_clear(&x->timer);
        if (x->has_ended)
                e2b_end(q);
        else
                e2b_cut(q);
}

static const struct e2b_stream_ops stream_ops = { .on_begin = on_begin,
                                                  .on_event = on_event,
                                                  .on_end = on_end };

/* An interrupt for code whose client is gone: nobody waits for its answer. */

static void forget_answer(struct cay_call *a, enum cay_op_status status, const struct cay_json_value *answer)
{
        (void)a;
        (void)status;
        (void)answer;
}

static void forget_fail(struct cay_call *a, const struct cay_error *err, const char *field, const char *first)
{
        (void)a;
        (void)err;
        (void)field;
        (void)first;
}

static void interrupt(struct e2b_request *q)
{
        static const struct cay_call_ops ops = { .on_answer = forget_answer, .on_fail = forget_fail };
        const struct e2b_execution *x = q->state;
        cay_auto_call_args struct cay_call_args args = { 0 };
        const struct cay_call_what what = { .op = cay_op_find("context_interrupt"),
                                            .world = q->world,
                                            .caller = q->caller,
                                            .is_known = true,
                                            .dialect = CAY_OP_E2B,
                                            .fd = -1,
                                            .args = &args,
                                            .request_id = q->request_id,
                                            .ops = &ops };

        if (!q->has_begun || x->has_ended)
                return;
        e2b_args_begin(q, &args);
        cay_op_key_text(&args.j, "context", x->context);
        cay_call(&what);
}

/* A run: looks for its context, makes it if that is to be, waits while another run has it. */

static void look(struct e2b_request *q);

static void on_again(struct cay_timer *t)
{
        struct e2b_request *q = cay_container_of(t, struct e2b_execution, timer)->q;

        if (q->req)
                look(q);
}

static void wait_for_turn(struct e2b_request *q)
{
        struct e2b_execution *x = q->state, **at = &q->e2b->executions;

        if (x->again_ms == 0) {
                while (*at)
                        at = &(*at)->next;
                x->next = NULL;
                *at = x;
                x->again_ms = AGAIN_MS;
        }
        cay_timer_set(q->world->loop, &x->timer, x->again_ms, on_again);
        x->again_ms = 2 * x->again_ms < AGAIN_MOST_MS ? 2 * x->again_ms : AGAIN_MOST_MS;
}

/* Another run was faster. */
static void on_run_failed(struct e2b_request *q, const struct cay_error *err)
{
        if (err->code == CAY_CONFLICT && !q->is_gone)
                wait_for_turn(q);
        else
                e2b_fail(q, err);
}

static void run_code(struct e2b_request *q)
{
        struct e2b_execution *x = q->state;
        cay_auto_call_args struct cay_call_args args = { 0 };

        if (!cay_guard_look(&q->guard))
                return; /* it was ended: its key was revoked while it waited */
        stop_waiting(x);
        e2b_args_begin(q, &args);
        cay_op_key_text(&args.j, "context", x->context);
        cay_json_key(&args.j, "code");
        cay_json_value_put(&args.j, e2b_member(q, "code"));
        if (cay_json_value_count(e2b_member(q, "env_vars")) > 0) {
                cay_json_key(&args.j, "env");
                cay_json_value_put(&args.j, e2b_member(q, "env_vars"));
        }
        q->on_fail = on_run_failed;
        q->on_client_gone = interrupt;
        e2b_ask_stream(q, "context_run", &args, &stream_ops);
}

static void on_ready(struct e2b_request *q, const struct cay_json_value *context)
{
        (void)context;
        run_code(q);
}

/* Two runs may have wanted to make it. */
static void on_not_made(struct e2b_request *q, const struct cay_error *err)
{
        if (err->code == CAY_EXISTS || err->code == CAY_CONFLICT)
                run_code(q);
        else
                e2b_fail(q, err);
}

static void make_context(struct e2b_request *q)
{
        const struct e2b_execution *x = q->state;
        cay_auto_call_args struct cay_call_args args = { 0 };

        e2b_args_begin(q, &args);
        cay_op_key_text(&args.j, "name", x->context);
        cay_op_key_text(&args.j, "language", x->language);
        cay_op_key_text(&args.j, "cwd", HOME);
        q->on_fail = on_not_made;
        e2b_ask(q, "context_create", &args, on_ready);
}

static void restart(struct e2b_request *q)
{
        const struct e2b_execution *x = q->state;
        cay_auto_call_args struct cay_call_args args = { 0 };

        e2b_args_begin(q, &args);
        cay_op_key_text(&args.j, "context", x->context);
        e2b_ask(q, "context_restart", &args, on_ready);
}

static const struct cay_json_value *find_context(const struct cay_json_value *list, const char *name)
{
        const struct cay_json_value *c;

        for (size_t i = 0; (c = cay_json_value_at(list, i)); i++)
                if (strcmp(e2b_text(c, "context_id"), name) == 0)
                        return c;
        return NULL;
}

static void on_contexts(struct e2b_request *q, const struct cay_json_value *answer)
{
        const struct e2b_execution *x = q->state;
        const struct cay_json_value *c = find_context(cay_json_value_find(answer, "contexts"), x->context);

        if (!c && x->is_default)
                make_context(q);
        else if (!c)
                e2b_refuse(q, CAY_NOT_FOUND, "Context %s not found", x->context);
        else if (strcmp(e2b_text(c, "status"), "ended") == 0)
                restart(q);
        else if (e2b_flag(c, "busy", false))
                wait_for_turn(q);
        else
                run_code(q);
}

static void look(struct e2b_request *q)
{
        e2b_ask_sandbox(q, "context_list", on_contexts);
}

/* E2B's names of languages. */
static void name_language(const char *text, char *ret, size_t size)
{
        static const char *const rows[][2] = { { "js", "javascript" }, { "ts", "typescript" } };

        snprintf(ret, size, "%s", text);
        for (char *c = ret; *c; c++)
                *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                if (strcmp(ret, rows[i][0]) == 0)
                        snprintf(ret, size, "%s", rows[i][1]);
}

static void run_execute(struct e2b_request *q)
{
        const struct cay_json_value *body = q->body ? cay_json_in_root(q->body) : NULL;
        const char *context = e2b_text(body, "context_id"), *language = e2b_text(body, "language");
        struct e2b_execution *x;

        if (!e2b_text(body, "code")) {
                e2b_refuse(q, CAY_INVALID, "code: required");
                return;
        }
        if (context && language) {
                e2b_refuse(q, CAY_INVALID, "language: excludes context_id");
                return;
        }
        x = calloc(1, sizeof(*x));
        q->state = x;
        q->free_state = free_execution;
        if (!x) {
                e2b_fail_memory(q);
                return;
        }
        x->q = q;
        e2b_request_watch(q);
        cay_buf_init(&x->line, LINE_MAX_BYTES);
        cay_buf_init(&x->ascii, 6 * LINE_MAX_BYTES);
        x->is_default = !context;
        name_language(language && language[0] ? language : "python", x->language, sizeof(x->language));
        if (!cay_str_copy(x->context, sizeof(x->context), context ? context : x->language))
                e2b_refuse(q, CAY_NOT_FOUND, "Context %.60s… not found", context);
        else
                look(q);
}

/* Contexts */

static void put_context(struct cay_json *j, const char *id, const char *language, const char *cwd)
{
        cay_json_begin_object(j);
        cay_op_key_text(j, "id", id);
        cay_op_key_text(j, "language", language);
        cay_op_key_text(j, "cwd", cwd);
        cay_json_end_object(j);
}

static void on_created(struct e2b_request *q, const struct cay_json_value *c)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        cay_buf_init(&out, E2B_ANSWER_MAX);
        cay_json_init(&j, &out);
        put_context(&j, e2b_text(c, "context_id"), e2b_text(c, "language"), e2b_text(c, "cwd"));
        e2b_answer(q, 201, &out);
}

static void run_create(struct e2b_request *q)
{
        const struct cay_json_value *body = q->body ? cay_json_in_root(q->body) : NULL;
        const char *language = e2b_text(body, "language"), *cwd = e2b_text(body, "cwd");
        cay_auto_call_args struct cay_call_args args = { 0 };
        char name[32];

        name_language(language && language[0] ? language : "python", name, sizeof(name));
        e2b_args_begin(q, &args);
        cay_op_key_text(&args.j, "language", name);
        cay_op_key_text(&args.j, "cwd", cwd && cwd[0] ? cwd : HOME);
        e2b_ask(q, "context_create", &args, on_created);
}

/* Two of them are there from the start, also when no interpreter runs for them yet. */
static const char *const own_contexts[] = { "python", "javascript" };

static bool is_own(const char *id)
{
        for (unsigned i = 0; i < CAY_COUNT(own_contexts); i++)
                if (strcmp(own_contexts[i], id) == 0)
                        return true;
        return false;
}

static void on_list(struct e2b_request *q, const struct cay_json_value *answer)
{
        const struct cay_json_value *list = cay_json_value_find(answer, "contexts"), *c;
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        cay_buf_init(&out, E2B_ANSWER_MAX);
        cay_json_init(&j, &out);
        cay_json_begin_array(&j);
        for (unsigned i = 0; i < CAY_COUNT(own_contexts); i++)
                if (!find_context(list, own_contexts[i]))
                        put_context(&j, own_contexts[i], own_contexts[i], HOME);
        for (size_t i = 0; (c = cay_json_value_at(list, i)); i++)
                put_context(&j, e2b_text(c, "context_id"), e2b_text(c, "language"), e2b_text(c, "cwd"));
        cay_json_end_array(&j);
        if (cay_json_end(&j) < 0)
                e2b_fail_memory(q);
        else
                e2b_answer(q, 200, &out);
}

static void run_list(struct e2b_request *q)
{
        e2b_ask_sandbox(q, "context_list", on_list);
}

static void on_changed(struct e2b_request *q, const struct cay_json_value *answer)
{
        (void)answer;
        e2b_answer_empty(q, 204);
}

static void on_not_changed(struct e2b_request *q, const struct cay_error *err)
{
        const char *id = cay_route_value(&q->match, "context");

        if (err->code == CAY_NOT_FOUND && is_own(id))
                e2b_answer_empty(q, 204);
        else if (err->code == CAY_NOT_FOUND)
                e2b_refuse(q, CAY_NOT_FOUND, "Context %s not found", id);
        else
                e2b_fail(q, err);
}

static void change(struct e2b_request *q, const char *op)
{
        cay_auto_call_args struct cay_call_args args = { 0 };

        e2b_args_begin(q, &args);
        cay_op_key_text(&args.j, "context", cay_route_value(&q->match, "context"));
        q->on_fail = on_not_changed;
        e2b_ask(q, op, &args, on_changed);
}

static void run_remove(struct e2b_request *q)
{
        change(q, "context_remove");
}

static void run_restart(struct e2b_request *q)
{
        change(q, "context_restart");
}

static const struct e2b_row rows[] = {
        { "POST /execute", run_execute, E2B_FORM_TEXT, E2B_TAKES_JSON },
        { "POST /contexts", run_create, E2B_FORM_TEXT, E2B_TAKES_JSON },
        { "GET /contexts", run_list, E2B_FORM_TEXT, 0 },
        { "DELETE /contexts/{context}", run_remove, E2B_FORM_TEXT, 0 },
        { "POST /contexts/{context}/restart", run_restart, E2B_FORM_TEXT, 0 },
};

const struct e2b_rows e2b_code_rows = { rows, CAY_COUNT(rows) };
