/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/ops/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain/model/cause.h"
#include "domain/ops/replay_file.h"
#include "foundation/base/str.h"

#define QUIET_MS 2000u

struct cay_replay_exec {
        struct cay_replay_exec *next;
        struct cay_replay *replay;
        struct cay_exec_watcher watcher;
        char id[CAY_NAME_MAX + 1],
                now[CAY_NAME_MAX + 1]; /* in the recording, and here; now "": not started */
        char title[CAY_REPLAY_TEXT + 1];
        bool is_kernel, is_awaited;
        bool is_typed;  /* the input under way waits for its output */
        uint64_t shown; /* bytes of its terminal, so far */
        /* as recorded */
        int exit_code, signal;
        char cause[40], out[65], err[65];
};

/* Differences */

void cay_replay_differs(struct cay_replay *r, const char *exec, const char *command, const char *what,
                        const char *was, const char *is)
{
        struct cay_replay_difference *d = &r->differences[r->count];

        if (r->count == CAY_REPLAY_DIFFERENCES_MAX) {
                r->more++;
                return;
        }
        r->count++;
        cay_str_copy(d->exec, sizeof(d->exec), exec);
        cay_str_copy(d->command, sizeof(d->command), command);
        d->what = what;
        cay_str_copy(d->was, sizeof(d->was), was);
        cay_str_copy(d->is, sizeof(d->is), is);
}

static void compare_numbers(struct cay_replay_exec *x, const char *what, int was, int is)
{
        char a[16], b[16];

        if (was == is)
                return;
        snprintf(a, sizeof(a), "%d", was);
        snprintf(b, sizeof(b), "%d", is);
        cay_replay_differs(x->replay, x->id, x->title, what, a, b);
}

static void compare_texts(struct cay_replay_exec *x, const char *what, const char *was, const char *is)
{
        if (was[0] != '\0' && is[0] != '\0' && strcmp(was, is) != 0)
                cay_replay_differs(x->replay, x->id, x->title, what, was, is);
}

static void compare(struct cay_replay_exec *x, const struct cay_exec_view *view)
{
        x->replay->compared++;
        compare_numbers(x, "exit_code", x->exit_code, view->exit_code);
        compare_numbers(x, "signal", x->signal, view->signal);
        compare_texts(x, "cause", x->cause, cay_cause_word(view->cause));
        if (!x->is_kernel) {
                compare_texts(x, "stdout_sha256", x->out, view->out_digest);
                compare_texts(x, "stderr_sha256", x->err, view->err_digest);
        }
}

/* The end of all */

static void done(struct cay_recording_read *read, const struct cay_error *err)
{
        struct cay_replay *r = cay_container_of(read, struct cay_replay, read);
        struct cay_error why = *err;

        r->is_done = true;
        if (r->is_busy)
                return; /* the job of a start or an input is still to come */
        cay_timer_clear(&r->late);
        cay_timer_clear(&r->quiet);
        for (struct cay_replay_exec *x = r->execs, *next; x; x = next) {
                next = x->next;
                cay_service_exec_unwatch(&x->watcher);
                free(x);
        }
        r->execs = NULL;
        cay_replay_files_close(r);
        cay_buf_done(&r->bytes);
        if (r->is_late)
                why = (struct cay_error){ 0 };
        r->on_done(r, &why);
}

static void on_late(struct cay_timer *t)
{
        struct cay_replay *r = cay_container_of(t, struct cay_replay, late);

        r->is_late = true;
        if (r->current && r->current->is_awaited)
                cay_replay_differs(r, r->current->id, r->current->title, "end", r->current->cause, "runs");
        cay_recording_read_cancel(&r->read);
}

void cay_replay_cancel(struct cay_replay *r)
{
        cay_recording_read_cancel(&r->read);
}

/* The job of a start or an input is over: the next item, or the end that waited for it. */
static void over(struct cay_replay *r)
{
        r->is_busy = false;
        if (r->is_done)
                done(&r->read, &r->read.err);
        else
                cay_recording_read_go_on(&r->read);
}

static struct cay_replay_exec *find(struct cay_replay *r, const char *id)
{
        struct cay_replay_exec *x = r->execs;

        while (x && strcmp(x->id, id) != 0)
                x = x->next;
        return x && x->now[0] ? x : NULL;
}

/* Starts */

static void on_started(struct cay_job *job)
{
        struct cay_replay *r = cay_container_of(job, struct cay_replay, start.job);

        if (job->err.code == CAY_OK)
                cay_str_copy(r->current->now, sizeof(r->current->now), r->start.id);
        else
                cay_replay_differs(r, r->current->id, r->current->title, "start", "started", job->err.msg);
        r->current = NULL;
        over(r);
}

static int start(struct cay_replay *r, struct cay_item *item, struct cay_error *err)
{
        struct cay_replay_exec *x = r->commands < CAY_REPLAY_EXECS_MAX ? calloc(1, sizeof(*x)) : NULL;
        struct cay_recorded_exec was;
        struct cay_exec_new what;
        bool is_line;

        if (!x)
                return cay_fail(err, CAY_LIMIT, "the recording has more than %u commands",
                                CAY_REPLAY_EXECS_MAX);
        if (cay_recorded_exec_read(item, &was, err) < 0) {
                free(x);
                return -1;
        }
        is_line = was.flags & CAY_RECORDING_LINE && was.argv[0] && was.argv[1] && was.argv[2];
        what = (struct cay_exec_new){ .argv = is_line ? NULL : was.argv,
                                      .line = is_line ? was.argv[2] : NULL,
                                      .cwd = was.cwd[0] ? was.cwd : NULL,
                                      .env = { was.env, was.env_count },
                                      .user = was.user[0] ? was.user : NULL,
                                      .has_stdin = was.flags & CAY_RECORDING_STDIN,
                                      .tty = was.flags & CAY_RECORDING_TTY,
                                      .rows = (unsigned)was.rows,
                                      .cols = (unsigned)was.cols,
                                      .term = was.term[0] ? was.term : NULL,
                                      .background = true,
                                      .timeout_ms = was.timeout_ms,
                                      .cpu_time_ms = was.cpu_time_ms,
                                      .output_bytes = was.output_bytes,
                                      .output_cut = was.flags & CAY_RECORDING_CUT };
        x->replay = r;
        x->is_kernel = was.context[0] != '\0';
        cay_str_copy(x->id, sizeof(x->id), was.id);
        cay_recorded_exec_title(&was, x->title, sizeof(x->title));
        x->next = r->execs;
        r->execs = r->current = x;
        r->commands++;
        r->hidden += was.hidden;
        r->is_busy = true;
        r->start = (struct cay_exec_call){ 0 };
        cay_job_init(&r->start.job, on_started);
        cay_recording_read_hold(&r->read);
        cay_service_exec(r->world->service, &r->viewer, r->other, &what, &r->start);
        cay_recorded_exec_done(&was);
        return 0;
}

/* Input, signals, sizes: what a command that ended earlier cannot take is told by its end. */

static void on_input(struct cay_job *job)
{
        over(cay_container_of(job, struct cay_replay, input.job));
}

static void send(struct cay_replay *r)
{
        struct cay_replay_exec *x = cay_take(r->current);

        cay_timer_clear(&r->quiet);
        cay_service_exec_unwatch(&x->watcher);
        x->is_typed = false;
        r->is_busy = true;
        cay_job_init(&r->input.job, on_input);
        cay_service_exec_input(r->world->service, &r->viewer, r->other, x->now, &r->input);
}

static bool is_behind(const struct cay_replay_exec *x)
{
        struct cay_exec_view view;
        struct cay_error gone = { 0 };

        return cay_service_exec_get(x->replay->world->service, &x->replay->viewer, x->replay->other, x->now,
                                    &view, &gone) == 0 &&
               view.state != CAY_EXEC_ENDED && view.out_bytes < x->shown;
}

static void on_quiet(struct cay_timer *t)
{
        struct cay_replay *r = cay_container_of(t, struct cay_replay, quiet);

        if (!r->is_done)
                send(r);
}

static void on_typed_output(struct cay_replay_exec *x)
{
        struct cay_replay *r = x->replay;

        if (is_behind(x) && !cay_exec_watcher_is_over(&x->watcher))
                cay_timer_set(r->world->loop, &r->quiet, QUIET_MS, on_quiet);
        else
                send(r);
}

static void on_output(struct cay_exec_watcher *w);

static void give(struct cay_replay *r, struct cay_item *item)
{
        const uint64_t eof = item->numbers[0];
        struct cay_replay_exec *x = find(r, cay_item_word(item));
        struct cay_error none = { 0 };
        struct cay_view text;

        cay_item_next(item, &text);
        if (!x)
                return;
        cay_buf_clear(&r->bytes);
        if (cay_buf_put(&r->bytes, text.ptr, text.len) < 0)
                return;
        r->input =
                (struct cay_exec_input){ .bytes = cay_buf_data(&r->bytes), .len = text.len, .eof = eof != 0 };
        r->current = x;
        cay_recording_read_hold(&r->read);
        x->watcher = (struct cay_exec_watcher){ .on_output = on_output };
        x->is_typed = is_behind(x) && cay_service_exec_watch(r->world->service, &r->viewer, r->other, x->now,
                                                             UINT64_MAX, false, &x->watcher, &none) == 0;
        if (x->is_typed)
                cay_timer_set(r->world->loop, &r->quiet, QUIET_MS, on_quiet);
        else
                send(r);
}

static void note_shown(struct cay_replay *r, struct cay_item *item)
{
        struct cay_replay_exec *x = find(r, cay_item_word(item));
        struct cay_view text;

        cay_item_next(item, &text);
        if (x)
                x->shown += text.len;
}

static void change(struct cay_replay *r, struct cay_item *item)
{
        const struct cay_replay_exec *x = find(r, cay_item_word(item));
        struct cay_service *s = r->world->service;
        struct cay_error ignored = { 0 };

        if (!x)
                return;
        if (item->kind == CAY_ITEM_RESIZE)
                cay_service_exec_resize(s, &r->viewer, r->other, x->now, (unsigned)item->numbers[0],
                                        (unsigned)item->numbers[1], &ignored);
        else if (item->numbers[0] > 0)
                cay_service_exec_signal(s, &r->viewer, r->other, x->now, (int)item->numbers[0], &ignored);
        else
                cay_service_exec_kill(s, &r->viewer, r->other, x->now, &ignored);
}

/* Ends */

static bool look(struct cay_replay_exec *x)
{
        struct cay_exec_view view;
        struct cay_error gone = { 0 };

        if (cay_service_exec_get(x->replay->world->service, &x->replay->viewer, x->replay->other, x->now,
                                 &view, &gone) < 0)
                cay_replay_differs(x->replay, x->id, x->title, "end", x->cause, "not kept");
        else if (view.state != CAY_EXEC_ENDED)
                return false;
        else
                compare(x, &view);
        return true;
}

static void on_output(struct cay_exec_watcher *w)
{
        struct cay_replay_exec *x = cay_container_of(w, struct cay_replay_exec, watcher);
        struct cay_replay *r = x->replay;
        struct cay_error gone = { 0 };
        struct cay_exec_piece piece;
        char bytes[16 * 1024];

        while (cay_exec_watcher_read(w, bytes, sizeof(bytes), &piece, &gone) != 0)
                gone = (struct cay_error){ 0 }; /* what is not kept any more is not looked for */
        if (x->is_typed) {
                on_typed_output(x);
                return;
        }
        if (!cay_exec_watcher_is_over(w) || !look(x))
                return;
        cay_service_exec_unwatch(w);
        x->is_awaited = false;
        r->current = NULL;
        cay_recording_read_go_on(&r->read);
}

/* What nobody but whoever ran it could have caused: it is ended, and not compared. */
static bool was_ended_from_outside(const char *cause)
{
        static const enum cay_cause causes[] = { CAY_CAUSE_KILLED, CAY_CAUSE_DAEMON_LOST,
                                                 CAY_CAUSE_SANDBOX_GONE, CAY_CAUSE_ENGINE_LOST };

        for (unsigned i = 0; i < CAY_COUNT(causes); i++)
                if (strcmp(cause, cay_cause_word(causes[i])) == 0)
                        return true;
        return false;
}

static void await(struct cay_replay *r, struct cay_item *item)
{
        struct cay_replay_exec *x = find(r, cay_item_word(item));
        struct cay_error err = { 0 };

        if (!x)
                return;
        x->exit_code = (int)item->numbers[0] - 1;
        x->signal = (int)item->numbers[1];
        cay_str_copy(x->cause, sizeof(x->cause), cay_item_word(item));
        cay_str_copy(x->out, sizeof(x->out), cay_item_word(item));
        cay_str_copy(x->err, sizeof(x->err), cay_item_word(item));
        if (was_ended_from_outside(x->cause)) {
                cay_service_exec_abandon(r->world->service, &r->viewer, r->other, x->now);
                return;
        }
        if (look(x))
                return;
        x->watcher = (struct cay_exec_watcher){ .on_output = on_output };
        if (cay_service_exec_watch(r->world->service, &r->viewer, r->other, x->now, UINT64_MAX, false,
                                   &x->watcher, &err) < 0) {
                cay_replay_differs(r, x->id, x->title, "end", x->cause, err.msg);
                return;
        }
        x->is_awaited = true;
        r->current = x;
        cay_recording_read_hold(&r->read);
}

/* Items */

static int on_item(struct cay_recording_read *read, struct cay_item *item, struct cay_error *err)
{
        struct cay_replay *r = cay_container_of(read, struct cay_replay, read);

        switch (item->kind) {
        case CAY_ITEM_EXEC:
                return start(r, item, err);
        case CAY_ITEM_INPUT:
                give(r, item);
                return 0;
        case CAY_ITEM_OUTPUT:
                note_shown(r, item);
                return 0;
        case CAY_ITEM_RESIZE:
        case CAY_ITEM_SIGNAL:
                change(r, item);
                return 0;
        case CAY_ITEM_END:
                await(r, item);
                return 0;
        case CAY_ITEM_FILE:
                return cay_replay_file_open(r, item, err);
        case CAY_ITEM_FILE_DATA:
                return cay_replay_file_write(r, item, err);
        case CAY_ITEM_FILE_END:
                cay_replay_file_end(r, item);
                return 0;
        case CAY_ITEM_STOP:
                cay_str_copy(r->stopped, sizeof(r->stopped), cay_item_word(item));
                return 0;
        default:
                return 0;
        }
}

void cay_replay_begin(struct cay_replay *r)
{
        cay_buf_init(&r->bytes, CAY_SEALED_LOG_ENTRY_MAX);
        r->read.on_item = on_item;
        r->read.on_end = done;
        cay_timer_set(r->world->loop, &r->late, r->timeout_ms, on_late);
        cay_recording_read_begin(&r->read, r->world, &r->viewer, r->sandbox);
}
