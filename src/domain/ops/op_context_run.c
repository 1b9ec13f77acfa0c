/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs code in a context, and answers with what it printed, its results and its error, once or as a stream of
 * events.
 *
 * Theory of operation. The code goes to the kernel's input behind a line with a random mark; from then on the
 * kernel's output is read until the frames with that mark say that the run is over
 * (domain/contexts/frames.h). One run has the kernel at a time. A context that has the name of a language and
 * does not exist is made on the way.
 *
 * Ends. A run that takes too long is interrupted; a kernel that does not stop then is ended, and its
 * variables with it: the answer says so. A kernel that dies (of its memory limit, by exit) ends the run with
 * that cause. A client that waits and goes away interrupts its run; a stream's run goes on.
 *
 * Steps. Code changes files as commands do: in a sandbox with checkpoint, or when the run asks for it, a step
 * is made when the run has the kernel and before the kernel has the code (docs/time.md). The start of a
 * kernel is no step: it changes nothing that anybody asked for.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain/auth/digest.h"
#include "domain/contexts/frames.h"
#include "domain/ops/advice.h"
#include "domain/ops/context.h"
#include "domain/ops/context_result.h"
#include "domain/ops/exec_args.h"
#include "domain/ops/most_time.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"
#include "domain/sandboxes/step.h"
#include "foundation/base/budget.h"
#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "foundation/base/utf8.h"
#include "foundation/loop/loop.h"

#define OUTPUT_DEFAULT (1024u * 1024)
#define RESULTS_MAX (16u << 20)
#define PIECE (64u * 1024)
#define TIMEOUT_MS 300000u
#define STOP_MS 3000u /* that a kernel has to stop after an interrupt */

#define VARIABLES_MAX 64u
#define VARIABLE_MAX 4096u
#define VARIABLE_NAME_MAX 255u

struct run_args {
        const char *id, *context, *code;
        struct cay_field_map env;
        uint64_t timeout_ms, max_output;
        bool stream, checkpoint;
};

static const struct cay_field run_fields[] = {
        { "id", CAY_FIELD_TEXT, offsetof(struct run_args, id), 0, "the sandbox", .min = 1,
          .max = CAY_NAME_MAX },
        { "context", CAY_FIELD_TEXT, offsetof(struct run_args, context), 0,
          "the context's name; a language (python, javascript, bash) is a context that is made when it is "
          "first used",
          .min = 1, .max = CAY_NAME_MAX },
        { "code", CAY_FIELD_TEXT, offsetof(struct run_args, code), CAY_FIELD_REQUIRED, "the code to run",
          .min = 1, .max = CAY_EXEC_STDIN_MAX },
        { "timeout", CAY_FIELD_DURATION, offsetof(struct run_args, timeout_ms), 0,
          "interrupt it after this time; default 5 minutes" },
        { "env", CAY_FIELD_MAP, offsetof(struct run_args, env), 0,
          "variables of this run alone; afterwards they are what they were", .max = VARIABLES_MAX,
          .item_max = VARIABLE_MAX },
        { "stream", CAY_FIELD_BOOL, offsetof(struct run_args, stream), 0, "answer with events as they come" },
        { "max_output", CAY_FIELD_SIZE, offsetof(struct run_args, max_output), 0,
          "bytes of each stream in the answer; default 1 MiB", .min = 1, .max = CAY_EXEC_OUTPUT_MAX },
        { "checkpoint", CAY_FIELD_BOOL, offsetof(struct run_args, checkpoint), 0,
          "make a step before it, so that it can be undone (a sandbox made with checkpoint always does)" },
        {},
};

struct cell {
        struct cay_context_start start;
        struct cay_exec_watcher watcher;
        struct cay_exec_input input;
        struct cay_service_call step;
        struct cay_frames frames;
        struct cay_timer timer;
        struct cay_deferred release;
        struct cay_loop *loop;
        struct cay_op_call *call; /* NULL: ended */
        char sandbox[CAY_NAME_MAX + 1], exec[CAY_NAME_MAX + 1], context[CAY_NAME_MAX + 1];
        char language[CAY_NAME_MAX + 1];
        struct cay_buf request; /* what the kernel reads */
        struct cay_buf out[2], results, error;
        struct cay_json results_json;
        struct cay_budget_owner *owner; /* whom they are charged to; NULL: nobody */
        struct cay_op_result event;
        ssize_t queued; /* of events, that the client has not taken */
        uint64_t begun_ns;
        bool cut[2], results_cut, has_error;
        bool streams;              /* answers with events */
        bool feeding;              /* the input's job is under way */
        bool takes_step, stepping; /* stepping: the step's job is under way */
        bool starting, gone;
        bool late; /* its time is over: it was interrupted */
};

static void release_cell(struct cay_deferred *d)
{
        struct cell *s = cay_container_of(d, struct cell, release);

        cay_context_start_done(&s->start);
        cay_frames_done(&s->frames);
        cay_op_result_done(&s->event);
        cay_buf_done(&s->request);
        cay_buf_done(&s->out[0]);
        cay_buf_done(&s->out[1]);
        cay_buf_done(&s->results);
        cay_buf_done(&s->error);
        cay_budget_owner_put(s->owner);
        free(s);
}

static void let_go(struct cell *s)
{
        s->release.run = release_cell;
        cay_loop_defer(s->loop, &s->release);
}

/*
 * The call is ended. Code that the kernel has not read yet must still come whole, or what follows would be
 * read as code: it is let go later.
 */
static void finish(struct cell *s)
{
        s->call->on_gone = NULL;
        s->call = NULL;
        cay_timer_clear(&s->timer);
        cay_service_exec_unwatch(&s->watcher);
        if (!s->feeding && !s->stepping)
                let_go(s);
}

static void fail(struct cell *s, const struct cay_error *err, const char *field)
{
        struct cay_op_call *c = s->call;

        finish(s);
        cay_op_fail(c, err, field);
}

static void drop(struct cell *s)
{
        struct cay_op_call *c = s->call;

        finish(s);
        cay_op_abort(c);
}

/* Events of a stream */

static void put_event(struct cell *s, const char *kind)
{
        char id[24];
        struct cay_exec_view view;

        cay_exec_watcher_view(&s->watcher, &view);
        snprintf(id, sizeof(id), "%" PRIu64, view.output_end);
        s->queued = cay_op_event_put(&s->event, s->call, id, kind);
}

static struct cay_json *begin_event(struct cell *s, const char *kind)
{
        cay_op_event_begin(&s->event, s->call);
        cay_op_key_text(&s->event.j, "event", kind);
        return &s->event.j;
}

/* What the run gives */

static struct cell *of_frames(struct cay_frames *f)
{
        return cay_container_of(f, struct cell, frames);
}

static void on_output_bytes(struct cay_frames *f, unsigned stream, const char *bytes, size_t len)
{
        struct cell *s = of_frames(f);
        unsigned i = stream == 2 ? 1 : 0;
        const char *kind = stream == 2 ? "stderr" : "stdout";
        size_t room = cay_buf_left(&s->out[i]), kept = len < room ? len : room;

        if (s->streams) {
                cay_op_put_bytes(begin_event(s, kind), "text", "base64", bytes, len);
                put_event(s, kind);
        } else if (cay_buf_put(&s->out[i], bytes, kept) < 0 || kept < len) {
                s->cut[i] = true;
        }
}

static void keep_result(struct cell *s, const char *bytes, size_t len)
{
        size_t before = s->results.len;

        if (s->results_cut || s->results.max - s->results.len < len + 64 ||
            cay_buf_check(&s->results, len + 64) < 0) {
                s->results_cut = true;
                return;
        }
        cay_json_begin_object(&s->results_json);
        if (cay_context_put_result(&s->results_json, bytes, len) < 0)
                cay_op_key_text(&s->results_json, "text", "(the kernel sent a result that is not valid)");
        cay_json_end_object(&s->results_json);
        if (s->results_json.failed) {
                cay_buf_cut(&s->results, before);
                s->results_cut = true;
        }
}

static void take_error(struct cell *s, const char *bytes, size_t len)
{
        struct cay_json j;

        cay_buf_clear(&s->error);
        cay_json_init(&j, &s->error);
        cay_json_begin_object(&j);
        cay_context_put_error(&j, bytes, len);
        cay_json_end_object(&j);
        s->has_error = cay_json_end(&j) == 0;
        if (s->streams && s->has_error) {
                cay_context_put_error(begin_event(s, "error"), bytes, len);
                put_event(s, "error");
        }
}

static void on_message(struct cay_frames *f, char kind, const char *bytes, size_t len, bool was_cut)
{
        struct cell *s = of_frames(f);

        if (kind == 'e') {
                take_error(s, bytes, len);
        } else if (was_cut) {
                s->results_cut = true;
        } else if (s->streams) {
                if (cay_context_put_result(begin_event(s, "result"), bytes, len) < 0)
                        cay_op_key_text(&s->event.j, "text", "(the kernel sent a result that is not valid)");
                put_event(s, "result");
        } else {
                keep_result(s, bytes, len);
        }
}

static const struct cay_frames_events frames_events = { .on_output = on_output_bytes,
                                                        .on_message = on_message };

/* The end */

struct ending { /* why it ended, when the code did not end by itself */
        enum cay_cause cause;
        char text[256];
};

static void judge(struct cell *s, struct ending *ret)
{
        struct cay_exec_view view;
        bool died = !cay_frames_is_over(&s->frames);

        cay_exec_watcher_view(&s->watcher, &view);
        *ret = (struct ending){ .cause = CAY_CAUSE_NONE };
        if (s->late) {
                ret->cause = CAY_CAUSE_WALL_TIME;
                snprintf(ret->text, sizeof(ret->text), "%s",
                         died ? "the run did not stop when its time was over; its interpreter was ended, and "
                                "its "
                                "variables are gone: restart the context"
                              : "the time of the run was over; it was interrupted");
        } else if (died) {
                ret->cause = view.cause;
                snprintf(ret->text, sizeof(ret->text),
                         "the interpreter ended during the run (%.150s); its variables are gone: restart the "
                         "context",
                         view.cause_text);
        }
}

static void put_end(struct cell *s, struct cay_json *j, const struct ending *end)
{
        bool has_cause = end->cause != CAY_CAUSE_NONE;

        cay_op_key_text(j, "context_id", s->context);
        cay_op_key_text(j, "language", s->language);
        cay_op_key_u64(j, "execution_count", s->frames.count);
        cay_op_key_u64(j, "duration_ms", (cay_clock_ns() - s->begun_ns) / 1000000);
        cay_op_key_text(j, "cause", has_cause ? cay_cause_word(end->cause) : NULL);
        cay_op_key_text(j, "cause_text", has_cause ? end->text : NULL);
        cay_op_key_text(j, "advice", has_cause ? cay_op_advice(end->cause, s->call->dialect) : NULL);
        cay_op_key_bool(j, "results_truncated", s->results_cut);
}

static void end_stream(struct cell *s, const struct ending *end)
{
        struct cay_op_call *c = s->call;

        put_end(s, begin_event(s, "end"), end);
        put_event(s, "end");
        finish(s);
        cay_op_end(c);
}

static void put_raw(struct cay_json *j, const char *key, const struct cay_buf *text)
{
        cay_json_key(j, key);
        cay_json_raw(j, cay_buf_data(text), text->len);
}

static void answer(struct cell *s)
{
        struct cay_op_call *c = s->call;
        struct ending end;
        struct cay_op_result o;

        judge(s, &end);
        if (s->streams) {
                end_stream(s, &end);
                return;
        }
        cay_json_end_array(&s->results_json);
        if (cay_json_end(&s->results_json) < 0) {
                cay_buf_clear(&s->results);
                cay_buf_puts(&s->results, "[]");
                s->results_cut = true;
        }
        cay_op_result_begin(&o, c);
        put_end(s, &o.j, &end);
        cay_op_put_bytes(&o.j, "stdout", "stdout_base64", cay_buf_data(&s->out[0]), s->out[0].len);
        cay_op_put_bytes(&o.j, "stderr", "stderr_base64", cay_buf_data(&s->out[1]), s->out[1].len);
        cay_op_key_bool(&o.j, "stdout_truncated", s->cut[0]);
        cay_op_key_bool(&o.j, "stderr_truncated", s->cut[1]);
        put_raw(&o.j, "results", &s->results);
        if (s->has_error)
                put_raw(&o.j, "error", &s->error);
        else
                cay_op_key_text(&o.j, "error", NULL);
        finish(s);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

/* Reading */

static void pump_output(struct cell *s)
{
        char bytes[PIECE];
        struct cay_exec_piece piece;
        struct cay_error err = { 0 };
        int r;

        while (s->queued >= 0 && s->queued < (ssize_t)CAY_OP_HIGH) {
                r = cay_exec_watcher_read(&s->watcher, bytes, sizeof(bytes), &piece, &err);
                if (r > 0)
                        cay_frames_feed(&s->frames, piece.stream, bytes, piece.len);
                if (r < 0) {
                        if (s->streams)
                                drop(s);
                        else
                                fail(s, &err, NULL);
                        return;
                }
                if (cay_frames_is_over(&s->frames) || (r == 0 && cay_exec_watcher_is_over(&s->watcher))) {
                        answer(s);
                        return;
                }
                if (r == 0)
                        return;
        }
        if (s->queued < 0)
                drop(s);
}

static void on_kernel_output(struct cay_exec_watcher *w)
{
        struct cell *s = cay_container_of(w, struct cell, watcher);

        if (s->call && !s->stepping)
                pump_output(s);
}

static void on_drain(struct cay_op_call *c)
{
        struct cell *s = c->state;

        s->queued = 0;
        if (!s->stepping)
                pump_output(s);
}

static void on_stuck(struct cay_timer *timer)
{
        struct cell *s = cay_container_of(timer, struct cell, timer);
        struct cay_viewer viewer = cay_op_viewer(s->call);

        cay_service_exec_abandon(s->call->world->service, &viewer, s->sandbox, s->exec);
}

static void on_late(struct cay_timer *timer)
{
        struct cell *s = cay_container_of(timer, struct cell, timer);

        s->late = true;
        cay_context_interrupt(s->call->world, s->sandbox, s->exec, false);
        cay_timer_set(s->loop, &s->timer, STOP_MS, on_stuck);
}

static void on_gone(struct cay_op_call *c)
{
        struct cell *s = c->state;

        s->gone = true;
        if (s->starting)
                return;                  /* then on_context_started ends it */
        if (!s->streams && !s->stepping) /* else the kernel has nothing of it */
                cay_context_interrupt(c->world, s->sandbox, s->exec, true);
        drop(s); /* another run may have the kernel from here on */
}

/* Sending */

static void on_fed(struct cay_job *job)
{
        struct cell *s = cay_container_of(job, struct cell, input.job);

        s->feeding = false; /* a kernel that takes nothing has ended, which its watcher is told */
        if (!s->call)
                let_go(s);
}

/* As Bash takes them, which is the strictest. */
static bool is_variable(const char *name)
{
        size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

        return len > 0 && len <= VARIABLE_NAME_MAX && name[len] == '\0' &&
               !(name[0] >= '0' && name[0] <= '9');
}

static int check_variables(const struct run_args *a, struct cay_error *err)
{
        for (unsigned i = 0; i < a->env.count; i++)
                if (!is_variable(a->env.pairs[i].name))
                        return cay_fail(err, CAY_INVALID,
                                        "env: '%.80s' must have letters, digits and '_' only, at most %u, "
                                        "and no digit "
                                        "at first",
                                        a->env.pairs[i].name, VARIABLE_NAME_MAX);
        return 0;
}

static int put_request(struct cay_buf *out, const struct cay_frames *f, const struct run_args *a)
{
        char head[96];
        size_t code_len = strlen(a->code);
        int r = cay_buf_put(out, head, cay_frames_request(f, code_len, a->env.count, head, sizeof(head)));

        for (unsigned i = 0; r == 0 && i < a->env.count; i++)
                r = cay_buf_printf(out, "%s %zu\n%s", a->env.pairs[i].name, strlen(a->env.pairs[i].value),
                                   a->env.pairs[i].value);
        return r < 0 ? r : cay_buf_put(out, a->code, code_len);
}

static void send_code(struct cell *s, const struct cay_viewer *viewer)
{
        cay_buf_init(&s->request,
                     128 + CAY_EXEC_STDIN_MAX + VARIABLES_MAX * (VARIABLE_MAX + VARIABLE_NAME_MAX + 24));
        if (put_request(&s->request, &s->frames, s->call->args) < 0) {
                struct cay_op_call *c = s->call;

                finish(s);
                cay_op_fail_memory(c);
                return;
        }
        s->feeding = true;
        s->input.bytes = cay_buf_data(&s->request);
        s->input.len = s->request.len;
        cay_job_init(&s->input.job, on_fed);
        cay_service_exec_input(s->call->world->service, viewer, s->sandbox, s->exec, &s->input);
}

static int check_alive(const struct cay_exec_view *view, struct cay_error *err)
{
        if (view->state != CAY_EXEC_ENDED)
                return 0;
        return cay_fail(err, CAY_CONFLICT, "context '%s' has ended (%s); restart it", view->context,
                        view->cause_text);
}

static int begin_stream(struct cell *s)
{
        struct cay_json *j;

        if (!s->streams)
                return 0;
        if (cay_op_begin(s->call, NULL) < 0)
                return -1;
        j = begin_event(s, "started");
        cay_op_key_text(j, "context_id", s->context);
        cay_op_key_text(j, "language", s->language);
        cay_op_key_text(j, "exec_id", s->exec);
        put_event(s, "started");
        return s->queued < 0 ? -1 : 0;
}

/* The kernel waits for it. */
static void go(struct cell *s)
{
        const struct run_args *a = s->call->args;
        struct cay_viewer viewer = cay_op_viewer(s->call);

        s->begun_ns = cay_clock_ns();
        cay_timer_set(s->loop, &s->timer,
                      cay_op_bound_time(s->call, a->timeout_ms ? a->timeout_ms : TIMEOUT_MS), on_late);
        if (begin_stream(s) < 0)
                drop(s);
        else
                send_code(s, &viewer);
}

static void on_step(struct cay_job *job)
{
        struct cell *s = cay_container_of(job, struct cell, step.job);
        struct cay_error err = job->err;

        s->stepping = false;
        if (!s->call) {
                let_go(s);
                return;
        }
        if (err.code == CAY_OK) {
                go(s);
                if (s->call)
                        pump_output(s); /* it may have ended meanwhile */
                return;
        }
        cay_wrap(&err, "the code did not run: the step before it could not be made");
        fail(s, &err, NULL);
}

static void take_step(struct cell *s, const struct cay_viewer *viewer)
{
        const struct run_args *a = s->call->args;
        char note[CAY_STEP_NOTE_MAX + 1];

        snprintf(note, sizeof(note), "%s: %s", s->language, a->code);
        note[cay_utf8_cut(note, strlen(note))] = '\0';
        s->stepping = true;
        cay_job_init(&s->step.job, on_step);
        cay_service_step(s->call->world->service, viewer, s->sandbox, note, &s->step);
}

static void begin_run(struct cell *s, const struct cay_exec_view *view)
{
        struct cay_viewer viewer = cay_op_viewer(s->call);
        struct cay_error err = { 0 };

        cay_str_copy(s->exec, sizeof(s->exec), view->id);
        cay_str_copy(s->language, sizeof(s->language), view->language);
        s->watcher.on_output = on_kernel_output;
        if (check_alive(view, &err) < 0 ||
            cay_service_exec_watch(s->call->world->service, &viewer, s->sandbox, s->exec, UINT64_MAX, true,
                                   &s->watcher, &err) < 0 ||
            cay_exec_watcher_take_kernel(&s->watcher, &err) < 0) {
                fail(s, &err, "context");
                return;
        }
        if (s->takes_step)
                take_step(s, &viewer);
        else
                go(s);
}

static void on_context_started(struct cay_context_start *start, const struct cay_error *err)
{
        struct cell *s = cay_container_of(start, struct cell, start);
        struct cay_exec_view view;
        struct cay_error why = *err;

        s->starting = false;
        if (s->gone)
                drop(s);
        else if (why.code != CAY_OK || cay_context_find(s->call, s->sandbox, s->context, &view, &why) < 0)
                fail(s, &why, "context");
        else
                begin_run(s, &view);
}

/* A context with a language's name need not be created. */
static void start_context(struct cell *s, const struct cay_kernel *kernel)
{
        s->starting = true;
        s->start.call = s->call;
        s->start.kernel = kernel;
        s->start.name = s->context;
        s->start.on_done = on_context_started;
        cay_context_start(&s->start, s->sandbox);
}

/* What finds no room is left out, which is told. */
static void charge(struct cell *s)
{
        struct cay_buf *bufs[] = { &s->out[0], &s->out[1], &s->results, &s->error, &s->frames.message };

        for (unsigned i = 0; s->owner && i < CAY_COUNT(bufs); i++)
                cay_buf_charge(bufs[i], &s->owner->budget);
}

static struct cell *new_cell(struct cay_op_call *c, const char *sandbox, const uint8_t random[16])
{
        const struct run_args *a = c->args;
        struct cell *s = calloc(1, sizeof(*s));

        if (!s)
                return NULL;
        s->call = c;
        s->loop = c->world->loop;
        s->streams = a->stream || c->wants_stream;
        cay_str_copy(s->sandbox, sizeof(s->sandbox), sandbox);
        cay_frames_init(&s->frames, &frames_events, random);
        cay_buf_init(&s->out[0], a->max_output ? a->max_output : OUTPUT_DEFAULT);
        cay_buf_init(&s->out[1], a->max_output ? a->max_output : OUTPUT_DEFAULT);
        cay_buf_init(&s->results, RESULTS_MAX);
        cay_buf_init(&s->error, CAY_FRAME_MESSAGE_MAX);
        if (c->world->budgets)
                s->owner = cay_budget_owner_get(c->world->budgets, c->caller.owner);
        charge(s);
        cay_json_init(&s->results_json, &s->results);
        cay_json_begin_array(&s->results_json);
        return s;
}

static void run_context_run(struct cay_op_call *c)
{
        const struct run_args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_sandbox_view box;
        struct cay_exec_view view;
        struct cay_error err = { 0 };
        const struct cay_kernel *kernel;
        uint8_t random[16];
        struct cell *s;

        if (cay_service_get(c->world->service, &viewer, a->id, &box, &err) < 0 ||
            cay_op_check_time(c, "timeout", a->timeout_ms, &err) < 0 || check_variables(a, &err) < 0) {
                cay_op_fail(c, &err, NULL);
                return;
        }
        s = cay_digest_random(random, sizeof(random)) < 0 ? NULL : new_cell(c, box.id, random);
        if (!s) {
                cay_op_fail_memory(c);
                return;
        }
        c->state = s;
        c->on_gone = on_gone;
        c->on_drain = on_drain;
        c->works_for_listener = !s->streams;
        s->takes_step = a->checkpoint || box.options.checkpoint;
        kernel = cay_kernel_find(a->context);
        cay_str_copy(s->context, sizeof(s->context), kernel ? kernel->language : a->context);
        if (cay_context_find(c, s->sandbox, s->context, &view, &err) == 0)
                begin_run(s, &view);
        else if (kernel && err.code == CAY_NOT_FOUND)
                start_context(s, kernel);
        else
                fail(s, &err, "context");
}

RESULT(result_context_run, "ContextRun", TEXT("context_id"), TEXT("language"), NUMBER("execution_count"),
       NUMBER("duration_ms"), MAYBE("cause", TEXT), MAYBE("cause_text", TEXT), MAYBE("advice", TEXT),
       BOOL("results_truncated"), IF("stdout", TEXT), IF("stdout_base64", TEXT), IF("stderr", TEXT),
       IF("stderr_base64", TEXT), BOOL("stdout_truncated"), BOOL("stderr_truncated"), WHATEVER("results"),
       WHATEVER("error"));

const struct cay_op cay_op_context_run = {
        .name = "context_run",
        .route = "POST /api/sandboxes/{id}/contexts/{context}/run",
        .doc = "Runs code in a context: variables of earlier runs are there, and the value of its last "
               "expression "
               "is a result",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_STREAM | CAY_OP_INSIDE,
        .fields = run_fields,
        .args_size = sizeof(struct run_args),
        .result = &result_context_run,
        .run = run_context_run,
};
