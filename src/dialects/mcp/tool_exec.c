/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tools that run something: in a sandbox that is there, or in one made for the call.
 *
 * Theory of operation. The op streams; its output is kept (exec_view.h) and sent as progress and log messages
 * meanwhile. The call is answered when the command ends, or before the client's timeout: then the stream is
 * left, the command continues, and the answer has its exec_id. A sandbox made for the call is destroyed
 * before the answer, unless the command is still running in it. Then it is removed with the session, or after
 * five idle minutes, so that there is time to read the command's output. Cancelling kills the command, and
 * such a sandbox with it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/clock.h"
#include "foundation/base/language.h"
#include "foundation/base/utf8.h"
#include "dialects/mcp/mcp_priv.h"
#include "dialects/mcp/task.h"
#include "dialects/mcp/tool_exec.h"

#define PATIENCE_MS 45000u /* stock clients give up after 60 s */
#define TASK_MS 3000u      /* then a call becomes a task, for clients that know those */
#define BEAT_MS 100u
#define FRESH_MAX 2048u          /* bytes that are told of a stream at once */
#define LOGGED_MAX (256u * 1024) /* bytes of all log messages of a call */
#define FRESH_CHARACTER 3u       /* bytes of a character that is not whole */
#define IDLE_ONCE_S 300u  /* a sandbox made for one call, when its command has ended without a receiver */
#define IDLE_KEPT_S 1800u /* one without a name that is to stay */
#define VIEW_MAX (512u * 1024)

static void free_exec(struct cay_mcp_call *c)
{
        struct cay_mcp_exec *e = c->state;

        cay_timer_clear(&e->patience);
        cay_timer_clear(&e->beat);
        cay_mcp_output_done(&e->out);
        for (unsigned i = 0; i < 2; i++)
                cay_buf_done(&e->fresh[i].text);
        cay_buf_done(&e->view);
        cay_json_in_free(e->doc);
        for (unsigned i = 0; i < CAY_MCP_IMAGES_MAX; i++)
                cay_buf_done(&e->images[i].coded);
        free(e);
}

static void order(struct cay_mcp_call *c, const char *op, const char *sandbox, const char *exec)
{
        cay_mcp_order(c->mcp, &c->caller, cay_op_find(op), sandbox, exec);
}

/* Before it has started its ask sees to it. */
static void on_cancel(struct cay_mcp_call *c)
{
        struct cay_mcp_exec *e = c->state;

        if (!e->exec[0])
                return;
        if (e->own)
                order(c, "sandbox_destroy", e->sandbox, NULL);
        else if (!e->ended)
                order(c, "exec_kill", e->sandbox, e->exec);
}

static void on_destroyed(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        (void)q; /* one that could not be destroyed goes by its time-outs */
        cay_mcp_exec_send(c->state);
}

void cay_mcp_exec_conclude(struct cay_mcp_exec *e)
{
        struct cay_mcp_call *c = e->call;
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_mcp_op_call *q;

        if (e->own && (e->keep || !e->ended) && !cay_mcp_arg_text(c, "name"))
                cay_mcp_client_made(c->client, e->sandbox);
        if (!e->own || e->keep || !e->ended) {
                cay_mcp_exec_send(e);
                return;
        }
        q = cay_mcp_op_call_new(c, on_destroyed);
        if (!q)
                return;
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "id", e->sandbox);
        cay_mcp_call_op(q, cay_op_find("sandbox_destroy"), &args, false);
}

/* The stream */

static void on_patience(struct cay_timer *t)
{
        struct cay_mcp_exec *e = cay_container_of(t, struct cay_mcp_exec, patience);

        if (e->ended || e->call->is_over)
                return; /* it is on its way, or was ended by another timer of this round */
        if (e->is_long && cay_mcp_task_make(e->call))
                return;
        if (e->is_long) { /* no room for one: then as if there were none */
                e->is_long = false;
                cay_timer_set(e->call->mcp->world->loop, t, PATIENCE_MS, on_patience);
                return;
        }
        if (!e->exec[0]) { /* not even started: wait a little more for what to tell */
                cay_timer_set(e->call->mcp->world->loop, t, BEAT_MS, on_patience);
                return;
        }
        if (e->asked)
                cay_mcp_op_call_leave(cay_take(e->asked));
        cay_mcp_exec_conclude(e);
}

/* Newest output as a log message, limited in size and number. */
static void log_fresh(struct cay_mcp_exec *e, unsigned stream, size_t len)
{
        struct cay_mcp_fresh *f = &e->fresh[stream];
        cay_auto_buf struct cay_buf data = { 0 };
        struct cay_json j;

        if (e->logged > LOGGED_MAX || (len == 0 && f->left_out == 0))
                return;
        cay_buf_init(&data, 8 * FRESH_MAX);
        cay_json_init(&j, &data);
        cay_json_begin_object(&j);
        cay_op_key_text(&j, "exec_id", e->exec);
        if (e->logged + len > LOGGED_MAX) {
                cay_op_key_text(&j, "note", "no more output is logged; the result and exec_poll have it");
                len = 0;
                e->logged = LOGGED_MAX + 1;
        } else {
                cay_json_key(&j, "text");
                cay_json_string(&j, cay_buf_data(&f->text), len);
                if (f->left_out > 0)
                        cay_op_key_u64(&j, "left_out_bytes", f->left_out);
        }
        cay_json_end_object(&j);
        if (cay_json_end(&j) == 0)
                cay_mcp_call_log(e->call, CAY_MCP_INFO, stream ? "stderr" : "stdout", cay_buf_data(&data),
                                 data.len);
        if (e->logged <= LOGGED_MAX)
                e->logged += data.len;
}

/*
 * is_last: the result comes behind it. Clients take a progress that comes with its result for one of
 * nobody's, so none is told then.
 */
static void tell_fresh(struct cay_mcp_exec *e, bool is_last)
{
        uint64_t bytes = e->out.streams[0].bytes + e->out.streams[1].bytes;
        cay_auto_buf struct cay_buf both = { 0 };

        cay_buf_init(&both, 2 * FRESH_MAX);
        for (unsigned i = 0; i < 2; i++) {
                struct cay_mcp_fresh *f = &e->fresh[i];
                size_t whole = is_last ? f->text.len : cay_utf8_cut(cay_buf_data(&f->text), f->text.len);

                cay_buf_put(&both, cay_buf_data(&f->text), whole);
                if (e->call->level <= CAY_MCP_INFO)
                        log_fresh(e, i, whole);
                cay_buf_drop(&f->text, whole);
                f->left_out = 0;
        }
        if (e->call->rpc.progress[0] && !is_last && both.len > 0 && bytes > e->told) {
                cay_mcp_call_progress(e->call, bytes, cay_buf_data(&both), both.len);
                e->told = bytes;
                e->progress_ms = cay_clock_ms();
        }
}

static void on_beat(struct cay_timer *t)
{
        struct cay_mcp_exec *e = cay_container_of(t, struct cay_mcp_exec, beat);

        if (!e->call->is_over)
                tell_fresh(e, false);
}

static bool has_no_network(const struct cay_mcp_exec *e)
{
        struct cay_viewer viewer = cay_mcp_viewer(&e->call->caller);
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };

        return cay_service_get(e->call->mcp->world->service, &viewer, e->sandbox, &view, &err) == 0 &&
               view.network == CAY_NETWORK_NONE;
}

static void keep_view(struct cay_mcp_exec *e, const struct cay_json_value *event)
{
        const char *id = cay_json_value_text(cay_json_value_find(event, "exec_id"));
        const char *sandbox = cay_json_value_text(cay_json_value_find(event, "sandbox_id"));

        cay_buf_clear(&e->view);
        cay_json_value_print(event, &e->view);
        snprintf(e->exec, sizeof(e->exec), "%s", id ? id : "");
        snprintf(e->sandbox, sizeof(e->sandbox), "%s", sandbox ? sandbox : "");
}

/* The newest bytes of a stream, of which the last ones are kept when there are many. */
static void keep_fresh(struct cay_mcp_exec *e, unsigned stream, const struct cay_json_value *event)
{
        struct cay_mcp_call *c = e->call;
        struct cay_mcp_fresh *f = &e->fresh[stream];
        cay_auto_buf struct cay_buf bytes = { 0 };
        size_t skip, room;

        if (!c->rpc.progress[0] && c->level > CAY_MCP_INFO)
                return;
        cay_buf_init(&bytes, 1024 * 1024);
        if (cay_mcp_event_bytes(event, &bytes) < 0)
                return;
        skip = bytes.len > FRESH_MAX - FRESH_CHARACTER ? bytes.len - (FRESH_MAX - FRESH_CHARACTER) : 0;
        while (skip > 0 && skip < bytes.len && ((unsigned char)cay_buf_data(&bytes)[skip] & 0xc0) == 0x80)
                skip++;
        room = cay_buf_left(&f->text);
        if (room < bytes.len - skip || skip > 0) {
                f->left_out += f->text.len + skip;
                cay_buf_clear(&f->text);
        }
        cay_buf_put(&f->text, cay_buf_data(&bytes) + skip, bytes.len - skip);
        if (!e->beat.loop)
                cay_timer_set(c->mcp->world->loop, &e->beat, BEAT_MS, on_beat);
}

static void on_event(struct cay_mcp_call *c, const char *kind, const struct cay_json_value *event)
{
        struct cay_mcp_exec *e = c->state;
        const char *message = cay_json_value_text(cay_json_value_find(event, "message"));

        if (strcmp(kind, "started") == 0 || strcmp(kind, "exited") == 0) {
                keep_view(e, event);
                e->is_cut_off = e->is_cut_off || has_no_network(e);
                e->ended = strcmp(kind, "exited") == 0;
        } else if (strcmp(kind, "error") == 0) {
                snprintf(e->trouble, sizeof(e->trouble), "%s", message ? message : "");
        } else if (cay_mcp_output_take(&e->out, kind, event) > 0) {
                keep_fresh(e, strcmp(kind, "stderr") == 0, event);
        }
        if (e->out.reads_on && e->out.has_gap && !e->is_full) {
                e->is_full = true;
                cay_timer_set(c->mcp->world->loop, &e->patience, 0, on_patience);
        }
        if (strcmp(kind, "started") == 0 && !e->waits)
                cay_timer_set(c->mcp->world->loop, &e->patience, BEAT_MS, on_patience);
}

/* The language that the call names, when this machine's own interpreter can be asked to run it. */
static const struct cay_language *find_runnable(const struct cay_mcp_call *c)
{
        const char *word = cay_mcp_arg_text(c, "language");
        const struct cay_language *l;

        word = word ? word : CAY_LANGUAGE_DEFAULT;
        l = cay_language_find(word, strlen(word));
        return l && l->program[0] ? l : NULL;
}

static void put_program(struct cay_json *j, const struct cay_language *l)
{
        cay_json_key(j, "command");
        cay_json_begin_array(j);
        for (unsigned i = 0; l->program[i]; i++)
                cay_json_text(j, l->program[i]);
        cay_json_end_array(j);
}

static void ask(struct cay_mcp_exec *e, const char *op, struct cay_call_args *args);

/*
 * It stays until we are done with it. Should nobody be there to end it, it ends when it has been idle for a
 * while.
 */
static void put_life(const struct cay_mcp_call *c, struct cay_json *j, bool keep)
{
        cay_op_key_bool(j, "keep", true);
        if (!cay_mcp_arg_text(c, "name"))
                cay_op_key_u64(j, "idle_timeout", keep ? IDLE_KEPT_S : IDLE_ONCE_S);
}

/* What decides whether a person is asked goes along on every way that the code takes. */
static void put_said(const struct cay_mcp_call *c, struct cay_json *j)
{
        const char *message = cay_mcp_arg_text(c, "from_message");
        const char *confirm = c->confirm[0] ? c->confirm : cay_mcp_arg_text(c, "confirm_token");

        if (!message)
                return;
        cay_op_key_text(j, "from_message", message);
        if (confirm)
                cay_op_key_text(j, "confirm", confirm);
}

/* No template is for this language: then this machine's own interpreter is. */
static bool try_host(struct cay_mcp_exec *e, const struct cay_mcp_op_call *q)
{
        struct cay_mcp_call *c = e->call;
        const struct cay_language *language = find_runnable(c);
        const char *code = cay_mcp_arg_text(c, "code");
        cay_auto_call_args struct cay_call_args args = { 0 };

        if (e->on_host || !e->own || q->err.code != CAY_NOT_FOUND || !q->field ||
            strcmp(q->field, "language") != 0 || !language || !code)
                return false;
        e->on_host = true;
        cay_mcp_args_begin(c, cay_op_find("exec_run"), &args); /* what both take */
        put_life(c, &args.j, e->keep);
        put_program(&args.j, language);
        cay_op_key_text(&args.j, "stdin", code);
        put_said(c, &args.j);
        ask(e, "code_run", &args);
        return true;
}

static void on_over(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        struct cay_mcp_exec *e = c->state;

        e->asked = NULL;
        if (q->err.code != CAY_OK) {
                if (!try_host(e, q) && !cay_mcp_tool_confirm(c, q))
                        cay_mcp_tool_fail_asked(c, q);
                return;
        }
        cay_timer_clear(&e->patience);
        cay_timer_clear(&e->beat);
        tell_fresh(e, true);
        if (!e->exec[0])
                cay_mcp_call_error(c, CAY_RPC_INTERNAL, NULL, "the command's stream was cut");
        else if (e->ended && e->has_images)
                cay_mcp_exec_look(e);
        else
                cay_mcp_exec_conclude(e);
}

static struct cay_mcp_exec *begin(struct cay_mcp_call *c)
{
        struct cay_mcp_exec *e = c->state; /* there already when the person was asked in between */
        uint64_t wait_ms = cay_mcp_arg_u64(c, "wait_s", PATIENCE_MS / 1000) * 1000;
        bool says_how_long = cay_mcp_arg(c, "wait_s") || cay_mcp_arg(c, "background");

        if (!e)
                e = calloc(1, sizeof(*e));
        if (!e) {
                cay_mcp_call_error(c, CAY_RPC_INTERNAL, NULL, "no memory");
                return NULL;
        }
        if (!c->state) {
                e->call = c;
                cay_mcp_output_init(&e->out);
                for (unsigned i = 0; i < 2; i++)
                        cay_buf_init(&e->fresh[i].text, FRESH_MAX);
                cay_buf_init(&e->view, VIEW_MAX);
                c->state = e;
                c->free_state = free_exec;
                c->on_cancel = on_cancel;
        }
        e->waits = wait_ms > 0 && !cay_mcp_arg_bool(c, "background", false);
        if (c->is_task && !says_how_long)
                return e; /* nobody's patience ends */
        e->is_long = c->can_task && c->tool->flags & CAY_TOOL_LONG && !says_how_long && !c->is_task;
        if (e->waits)
                cay_timer_set(c->mcp->world->loop, &e->patience, e->is_long ? TASK_MS : wait_ms, on_patience);
        return e;
}

static void ask(struct cay_mcp_exec *e, const char *op, struct cay_call_args *args)
{
        struct cay_mcp_op_call *q = cay_mcp_op_call_new(e->call, on_over);

        cay_op_key_bool(&args->j, "stream", true);
        if (!q)
                return;
        q->event = on_event;
        q->kills = true;
        e->asked = q;
        cay_mcp_call_op(q, cay_op_find(op), args, true);
}

/* In a sandbox made for it, which is kept until we have all that we want of it. */
static void run_once(struct cay_mcp_call *c, bool keep)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_mcp_exec *e = begin(c);

        if (!e)
                return;
        e->own = true;
        e->keep = keep;
        cay_mcp_args_begin(c, cay_op_find("code_run"), &args);
        put_life(c, &args.j, keep);
        ask(e, "code_run", &args);
}

void cay_mcp_run_command(struct cay_mcp_call *c)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_mcp_exec *e;

        if (!cay_mcp_arg_sandbox(c)) {
                run_once(c, false);
                return;
        }
        e = begin(c);
        if (!e)
                return;
        cay_mcp_args_begin(c, cay_op_find("exec_run"), &args);
        if (cay_mcp_arg_bool(c, "background", false) && !cay_mcp_arg(c, "stdin"))
                cay_op_key_bool(&args.j, "open_stdin", true);
        ask(e, "exec_run", &args);
}

void cay_mcp_run_code(struct cay_mcp_call *c)
{
        const struct cay_language *language = find_runnable(c);
        char known[160], why[200] = "code: must be a text";
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_mcp_exec *e;

        if (!cay_mcp_arg_sandbox(c)) {
                run_once(c, false);
                if (c->state && !c->is_over)
                        ((struct cay_mcp_exec *)c->state)->has_images = true;
                return;
        }
        if (!language || !cay_mcp_arg_text(c, "code")) {
                if (!language)
                        snprintf(why, sizeof(why), "language: is none of %s",
                                 cay_languages_text(known, sizeof(known)));
                cay_mcp_tool_fail(c, "Write it to a file and run that with run_command.", "%s", why);
                return;
        }
        if (cay_mcp_arg_text(
                    c, "from_message")) { /* exec_run looks at no message: not to be passed over in silence */
                cay_mcp_tool_fail(
                        c, "Leave sandbox_id out, or ask the person yourself and leave from_message out.",
                        "from_message: is only looked at without sandbox_id");
                return;
        }
        e = begin(c);
        if (!e)
                return;
        e->has_images = true;
        cay_mcp_args_begin(c, cay_op_find("exec_run"), &args);
        put_program(&args.j, language);
        cay_op_key_text(&args.j, "stdin", cay_mcp_arg_text(c, "code"));
        ask(e, "exec_run", &args);
}

/* container_start without anything to run: the container alone. */

static void on_started(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        const char *id = cay_json_value_text(cay_json_value_find(q->json, "sandbox_id"));
        struct cay_mcp_result r;
        char text[256];

        if (q->err.code != CAY_OK) {
                if (!cay_mcp_tool_confirm(c, q))
                        cay_mcp_tool_fail_asked(c, q);
                return;
        }
        if (id && !cay_mcp_arg_text(c, "name"))
                cay_mcp_client_made(c->client, id);
        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "content");
        cay_json_begin_array(&r.j);
        cay_json_begin_object(&r.j);
        cay_op_key_text(&r.j, "type", "text");
        snprintf(text, sizeof(text),
                 "The container runs. Pass container_id %s to container_exec; remove it with "
                 "container_stop.%s",
                 id ? id : "",
                 cay_mcp_arg_text(c, "name")
                         ? ""
                         : " It is removed by itself when it was not used for 30 minutes.");
        cay_op_key_text(&r.j, "text", text);
        cay_json_end_object(&r.j);
        cay_json_end_array(&r.j);
        cay_json_key(&r.j, "structuredContent");
        cay_json_begin_object(&r.j);
        cay_op_key_text(&r.j, "container_id", id);
        cay_json_key(&r.j, "status");
        cay_json_value_put(&r.j, cay_json_value_find(q->json, "status"));
        cay_json_key(&r.j, "container");
        cay_json_value_put(&r.j, cay_json_value_find(q->json, "template"));
        cay_json_end_object(&r.j);
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

void cay_mcp_run_start(struct cay_mcp_call *c)
{
        bool runs = cay_mcp_arg(c, "code") || cay_mcp_arg(c, "command");
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_mcp_op_call *q;

        if (runs) {
                run_once(c, cay_mcp_arg_bool(c, "keep", false) || cay_mcp_arg_text(c, "name"));
                if (c->state && !c->is_over)
                        ((struct cay_mcp_exec *)c->state)->has_images = true;
                return;
        }
        q = cay_mcp_op_call_new(c, on_started);
        if (!q)
                return;
        cay_mcp_args_begin(c, cay_op_find("sandbox_create"), &args);
        if (!cay_mcp_arg_text(c, "name"))
                cay_op_key_u64(&args.j, "idle_timeout", IDLE_KEPT_S);
        cay_mcp_call_op(q, cay_op_find("sandbox_create"), &args, false);
}

/* Commands that were started before */

void cay_mcp_run_poll(struct cay_mcp_call *c)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_mcp_exec *e = begin(c);
        struct cay_mcp_op_call *q;

        if (!e)
                return;
        c->on_cancel = NULL; /* looking on ends nothing */
        e->out.next = cay_mcp_arg_u64(c, "offset", 0);
        e->out.reads_on = cay_mcp_arg(c, "offset");
        cay_mcp_args_begin(c, cay_op_find("exec_attach"), &args);
        q = cay_mcp_op_call_new(c, on_over);
        if (!q)
                return;
        q->event = on_event;
        e->asked = q;
        cay_mcp_call_op(q, cay_op_find("exec_attach"), &args, true);
}

void cay_mcp_run_input(struct cay_mcp_call *c)
{
        const char *text = cay_mcp_arg_text(c, "text");
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_mcp_op_call *q = cay_mcp_op_call_new(c, cay_mcp_tool_done);

        if (!q)
                return;
        cay_buf_init(&q->body, strlen(text) + 1);
        cay_buf_puts(&q->body, text);
        cay_mcp_args_begin(c, cay_op_find("exec_input"), &args);
        cay_mcp_call_op(q, cay_op_find("exec_input"), &args, false);
}
