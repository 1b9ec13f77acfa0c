/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input of a command: bytes in order, at the pace of the reader; signals; the terminal's size.
 *
 * Theory of operation. A piece is answered when the link has taken it, which is before the box has. So the
 * spool records how much was taken and whether the input has ended. A front that adopts the command compares
 * this with what the box has received. If all arrived, the front sends end of input again, because the
 * previous front may have recorded it without sending it. If some is missing, it was lost with the previous
 * front. The command would take a part for the whole, or wait forever; so it is ended with that reason. An
 * open terminal is an exception: lost keys are typed again.
 */
#include "foundation/base/clock.h"
#include "domain/sandboxes/service_priv.h"

#define ABANDONED_MS 1000u /* between two attempts to tell a box to end a command */

static void finish(struct cay_exec *x, struct cay_exec_input *in, const struct cay_error *err)
{
        struct cay_exec_input **at = &x->inputs;

        while (*at != in)
                at = &(*at)->after;
        *at = in->after;
        x->input_count--;
        in->after = NULL;
        in->exec = NULL;
        if (err != NULL)
                cay_service_fail_job(x->service, &in->job, err);
}

/* Skips what arrived before of a piece with an offset. False: there is a gap before it. */
static bool settle_place(struct cay_exec *x, struct cay_exec_input *in, struct cay_error *err)
{
        uint64_t have = cay_box_channel_in_written(&x->ch), known;

        if (!in->has_offset || in->placed)
                return true;
        if (in->offset > have) {
                cay_fail(err, CAY_CONFLICT,
                         "offset: exec '%s' has received %llu bytes of input; continue from there", x->id,
                         (unsigned long long)have);
                return false;
        }
        in->placed = true;
        known = have - in->offset;
        in->done = known < in->len ? (size_t)known : in->len;
        return true;
}

/*
 * A piece with an offset counts as taken when it is answered. Until then its client keeps it, and sends it
 * again to the next front.
 */
static void note_taken(struct cay_exec *x, const struct cay_exec_input *in)
{
        if (!in->has_offset || in->done == in->len)
                cay_spool_set_in_taken(&x->spool, cay_box_channel_in_written(&x->ch));
}

static void pump(struct cay_exec *x)
{
        static const struct cay_error fine = { 0 };
        struct cay_error err = { 0 };

        while (x->inputs != NULL && x->phase != CAY_EXEC_PHASE_ADOPTED && cay_box_channel_is_open(&x->ch)) {
                struct cay_exec_input *in = x->inputs;

                if (!settle_place(x, in, &err)) {
                        finish(x, in, &err);
                        continue;
                }
                if (in->done < in->len) {
                        const char *from = (const char *)in->bytes + in->done;
                        size_t taken = cay_box_channel_write(&x->ch, from, in->len - in->done);

                        cay_recording_input(x, from, taken);
                        in->done += taken;
                        note_taken(x, in);
                }
                if (in->done < in->len)
                        return; /* on_room continues */
                if (in->eof) {
                        cay_spool_set_in_closed(&x->spool); /* first: a later front must not send more */
                        x->in_closed = true;
                        cay_recording_input_end(x);
                        cay_box_channel_write_eof(&x->ch);
                }
                in->next = cay_box_channel_in_written(&x->ch);
                finish(x, in, &fine);
        }
}

void cay_exec_on_room(struct cay_box_channel *ch)
{
        pump(cay_container_of(ch, struct cay_exec, ch));
}

void cay_exec_end_inputs(struct cay_exec *x, const struct cay_error *err)
{
        while (x->inputs != NULL)
                finish(x, x->inputs, err);
}

static bool ends_input(const struct cay_exec *x)
{
        for (const struct cay_exec_input *in = x->inputs; in != NULL; in = in->after)
                if (in->eof)
                        return true;
        return x->in_closed;
}

/* All of it arrived, and its end if it has one: it was sent before, and the answer was lost. */
static bool is_known(const struct cay_exec *x, const struct cay_exec_input *in)
{
        uint64_t have = cay_box_channel_in_written(&x->ch);

        return in->has_offset && x->inputs == NULL && x->phase != CAY_EXEC_PHASE_ADOPTED &&
               cay_box_channel_is_open(&x->ch) && in->offset <= have && in->len <= have - in->offset;
}

static int check_running(const struct cay_exec *x, const struct cay_sandbox *sb, struct cay_error *err)
{
        if (!cay_exec_is_alive(x))
                return cay_fail(err, CAY_CONFLICT, "exec '%s' has ended", x->id);
        if (cay_sandbox_state(sb) == CAY_STATE_PAUSED)
                return cay_fail_because(err, CAY_CONFLICT, CAY_REASON_PAUSED,
                                        "sandbox '%s' is paused; resume it first", sb->id);
        if (x->phase == CAY_EXEC_PHASE_ADOPTED && !cay_box_channel_is_open(&x->ch))
                return cay_fail_because(err, CAY_UNAVAILABLE, CAY_REASON_RETRY,
                                        "sandbox '%s' does not answer yet; try again", sb->id);
        return 0;
}

/* While its user is looked up, there is no process to signal. */
static int check_sent(const struct cay_exec *x, struct cay_error *err)
{
        if (cay_box_channel_is_open(&x->ch))
                return 0;
        return cay_fail_because(err, CAY_UNAVAILABLE, CAY_REASON_RETRY,
                                "exec '%s' has not started yet; try again", x->id);
}

void cay_service_exec_input(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                            const char *exec, struct cay_exec_input *in)
{
        struct cay_error err = { 0 };
        struct cay_sandbox *sb;
        struct cay_exec *x = cay_exec_get(s, v, sandbox, exec, &sb, &err);
        struct cay_exec_input **at;

        in->after = NULL;
        in->exec = NULL;
        in->done = 0;
        in->next = 0;
        in->placed = false;
        if (x != NULL && check_running(x, sb, &err) == 0) {
                if (!x->has_stdin)
                        cay_fail(&err, CAY_CONFLICT, "exec '%s' was started without stdin", x->id);
                else if (ends_input(x) && is_known(x, in)) {
                        static const struct cay_error fine = { 0 };

                        in->next = cay_box_channel_in_written(&x->ch);
                        cay_service_fail_job(s, &in->job, &fine);
                        return;
                } else if (ends_input(x))
                        cay_fail(&err, CAY_CONFLICT, "the input of exec '%s' has ended", x->id);
                else if (x->input_count >= CAY_SERVICE_INPUTS_MAX)
                        cay_fail(&err, CAY_LIMIT,
                                 "%u pieces of input are pending for exec '%s', which is the maximum",
                                 x->input_count, x->id);
        }
        if (err.code != CAY_OK) {
                cay_service_fail_job(s, &in->job, &err);
                return;
        }
        cay_sandbox_use(sb);
        cay_exec_use(x);
        in->exec = x;
        at = &x->inputs;
        while (*at != NULL)
                at = &(*at)->after;
        *at = in;
        x->input_count++;
        pump(x);
}

void cay_exec_input_cancel(struct cay_exec_input *in)
{
        struct cay_exec *x = in->exec;
        bool first;

        if (x == NULL)
                return;
        first = x->inputs == in;
        finish(x, in, NULL);
        if (first)
                pump(x);
}

int cay_service_exec_resize(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                            const char *exec, unsigned rows, unsigned cols, struct cay_error *err)
{
        struct cay_sandbox *sb;
        struct cay_exec *x = cay_exec_get(s, v, sandbox, exec, &sb, err);

        if (x == NULL || check_running(x, sb, err) < 0)
                return -1;
        if (!x->tty)
                return cay_fail(err, CAY_CONFLICT, "exec '%s' has no terminal", x->id);
        if (check_sent(x, err) < 0)
                return -1;
        if (rows == 0 || cols == 0 || cay_box_channel_resize(&x->ch, rows, cols) < 0)
                return cay_fail(err, CAY_INVALID, "terminal: rows and columns must be 1 to 65,535");
        cay_recording_resize(x, rows, cols);
        cay_sandbox_use(sb);
        return 0;
}

int cay_service_exec_signal(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                            const char *exec, int signo, struct cay_error *err)
{
        struct cay_sandbox *sb;
        struct cay_exec *x = cay_exec_get(s, v, sandbox, exec, &sb, err);

        if (x == NULL || check_running(x, sb, err) < 0)
                return -1;
        if (check_sent(x, err) < 0)
                return -1;
        if (cay_box_channel_signal(&x->ch, signo) < 0)
                return cay_fail(err, CAY_INVALID, "signal: must be 1 to %d", CAY_BOX_SIGNAL_MAX);
        cay_recording_signal(x, signo);
        cay_sandbox_use(sb);
        return 0;
}

static void kill_as(struct cay_exec *x, enum cay_cause as)
{
        cay_box_channel_kill(&x->ch, CAY_KILLED_ASKED);
        if (x->force_at_ms == 0) {
                x->force_at_ms = cay_clock_ms() + CAY_SERVICE_KILL_MS;
                x->force_as = as;
                cay_tick_sandbox(x->sandbox, CAY_SERVICE_KILL_MS);
        }
}

/* A command that already ended keeps its end; processes that it left behind are killed. */
static void lose_input(struct cay_exec *x)
{
        struct cay_error err = { 0 };

        x->in_lost = x->in_closed = true;
        cay_fail(&err, CAY_CONFLICT, "exec '%s': part of its input was lost with the daemon", x->id);
        cay_log_warn("input lost", "exec=%s taken=%llu arrived=%llu", x->id,
                     (unsigned long long)cay_spool_get_in_taken(&x->spool),
                     (unsigned long long)cay_box_channel_in_written(&x->ch));
        cay_exec_end_inputs(x, &err);
        kill_as(x, CAY_CAUSE_DAEMON_LOST);
}

/* Lost keys of a terminal do not count. */
static void go_on(struct cay_exec *x)
{
        cay_spool_set_in_taken(&x->spool, cay_box_channel_in_written(&x->ch));
        pump(x);
}

void cay_exec_resume_input(struct cay_exec *x)
{
        if ((!x->tty || x->in_closed) &&
            cay_box_channel_in_written(&x->ch) < cay_spool_get_in_taken(&x->spool))
                lose_input(x);
        else if (x->in_closed)
                cay_box_channel_write_eof(&x->ch);
        else
                go_on(x);
}

static int kill_running(struct cay_exec *x, struct cay_sandbox *sb, struct cay_error *err)
{
        if (check_running(x, sb, err) < 0)
                return -1;
        kill_as(x, CAY_CAUSE_KILLED);
        cay_recording_signal(x, 0);
        cay_sandbox_use(sb);
        return 0;
}

int cay_service_exec_kill(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                          const char *exec, struct cay_error *err)
{
        struct cay_sandbox *sb;
        struct cay_exec *x = cay_exec_get(s, v, sandbox, exec, &sb, err);

        return x == NULL ? -1 : kill_running(x, sb, err);
}

void cay_exec_kill_abandoned(struct cay_exec *x)
{
        struct cay_error err = { 0 };

        x->abandoned = kill_running(x, x->sandbox, &err) < 0 && cay_exec_is_alive(x);
        if (x->abandoned)
                cay_tick_sandbox(x->sandbox, ABANDONED_MS);
}

void cay_service_exec_abandon(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                              const char *exec)
{
        struct cay_error err = { 0 };
        struct cay_sandbox *sb;
        struct cay_exec *x = cay_exec_get(s, v, sandbox, exec, &sb, &err);

        if (x != NULL)
                cay_exec_kill_abandoned(x);
}
