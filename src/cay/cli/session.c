/* SPDX-License-Identifier: Apache-2.0 */
/* The streams of a session; its input is in session_input.c. */
#include "cay/cli/session.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/base64.h"
#include "foundation/base/str.h"
#include "cay/cli/safe.h"
#include "cay/cli/session_priv.h"
#include "cay/cli/tty.h"
#include "domain/model/cause.h"

#define LINE_MAX_BYTES (4u * 1024 * 1024)
#define CONTROL_MS 10000

/* The end */

static enum cay_cause find_cause(const char *word)
{
        for (unsigned c = 1; c < CAY_CAUSE_COUNT; c++)
                if (strcmp(cay_cause_word(c), word) == 0)
                        return c;
        return CAY_CAUSE_NONE;
}

static int find_signal(const char *name)
{
        char text[CAY_SIGNAL_NAME_MAX];

        for (int signo = 1; signo <= 64; signo++)
                if (strcmp(cay_signal_name(signo, text), name) == 0)
                        return signo;
        return 0;
}

static void copy_safe(struct cay_json_view v, char *ret, size_t size)
{
        char text[300];

        cay_safe_copy(cay_json_view_copy(v, text, sizeof(text)), ret, size);
}

/*
 * Lines of what it could not reach. Names come from programs in a sandbox: they are made safe for a terminal.
 */
static void read_network(struct cay_session *s, struct cay_json_view exec)
{
        struct cay_json_walk w = cay_json_view_walk(cay_json_view_find(exec, "network_blocked"));
        struct cay_json_view item;
        size_t len = 0;

        s->lacks_network = cay_json_view_is_true(cay_json_view_find(exec, "lacks_network"));
        while (cay_json_view_next(&w, NULL, &item) && len < sizeof(s->network)) {
                char host[300], port_text[16] = "";
                bool is_allowed = cay_json_view_is_true(cay_json_view_find(item, "allowed"));
                uint64_t port = 0, count = 0;
                const char *v6;

                copy_safe(cay_json_view_find(item, "host"), host, sizeof(host));
                cay_json_view_u64(cay_json_view_find(item, "port"), &port);
                cay_json_view_u64(cay_json_view_find(item, "count"), &count);
                if (port > 0)
                        snprintf(port_text, sizeof(port_text), ":%u", (unsigned)port);
                v6 = port > 0 ? strchr(host, ':') : NULL;
                len += (size_t)snprintf(s->network + len, sizeof(s->network) - len,
                                        "cay: network: %s %s%s%s%s (%" PRIu64 " time%s)",
                                        is_allowed ? "could not reach" : "blocked", v6 ? "[" : "", host,
                                        v6 ? "]" : "", port_text, count, count == 1 ? "" : "s");
                if (len < sizeof(s->network))
                        len += (size_t)snprintf(s->network + len, sizeof(s->network) - len,
                                                is_allowed
                                                        ? "\n"
                                                        : "; allow it with `cay network set %s --add-allow "
                                                          "%s%s%s%s`\n",
                                                s->sandbox, v6 ? "[" : "", host, v6 ? "]" : "", port_text);
        }
}

void cay_session_read_end(struct cay_session *s, struct cay_json_view exec, int asked)
{
        struct cay_cause_facts facts = { .exit_code = -1 };
        char name[32];
        uint64_t code;

        if (cay_json_view_u64(cay_json_view_find(exec, "exit_code"), &code) && code < 256)
                facts.exit_code = (int)code;
        facts.signal =
                find_signal(cay_json_view_copy(cay_json_view_find(exec, "signal"), name, sizeof(name)));
        copy_safe(cay_json_view_find(exec, "cause"), s->cause, sizeof(s->cause));
        copy_safe(cay_json_view_find(exec, "cause_text"), s->text, sizeof(s->text));
        copy_safe(cay_json_view_find(exec, "advice"), s->advice, sizeof(s->advice));
        if (find_cause(s->cause) !=
            CAY_CAUSE_NONE) /* the daemon's advice names fields; users here have options */
                cay_str_copy(s->advice, sizeof(s->advice), cay_cause_advice(find_cause(s->cause)));
        read_network(s, exec);
        s->ended = true;
        s->status = cay_cause_exit_status(&facts, find_cause(s->cause), asked);
}

void cay_session_print_end(const struct cay_session *s)
{
        if (s->cause[0] != '\0' && strcmp(s->cause, "exited") != 0)
                fprintf(stderr, "cay: %s: %s%s%s\n", s->cause, s->text, s->advice[0] != '\0' ? "; " : "",
                        s->advice);
        else if (s->text[0] != '\0' && (s->status == 126 || s->status == 127))
                fprintf(stderr, "cay: %s\n", s->text);
        fputs(s->network, stderr);
        if (s->lacks_network)
                fprintf(stderr,
                        "cay: network: this sandbox has no network; give it one with `cay network set %s "
                        "--add-allow HOST` (preset:python, pypi.org …)\n",
                        s->sandbox);
}

/* Small calls in between; their errors do not end the session. */

static int control(struct session *t, const char *op, const char *name, const char *value, const char *more,
                   const char *more_value)
{
        cay_auto_values struct cay_values v;
        cay_auto_answer struct cay_reach_answer answer = { 0 };
        struct cay_error ignored = { 0 };

        cay_values_init(&v, cay_cli_op_find(op));
        if (cay_values_set(&v, "id", t->s->sandbox, &ignored) < 0 ||
            cay_values_set(&v, "exec", t->s->exec_id, &ignored) < 0 ||
            (name != NULL && cay_values_set(&v, name, value, &ignored) < 0) ||
            (more != NULL && cay_values_set(&v, more, more_value, &ignored) < 0))
                return -1;
        return cay_reach_call(t->s->reach, &v, -1, CONTROL_MS, &answer, &ignored);
}

static unsigned number_of(const struct cay_values *v, const char *name)
{
        const char *text = cay_values_get(v, name);

        return text != NULL ? (unsigned)strtoul(text, NULL, 10) : 0;
}

static void tell_size(struct session *t)
{
        char rows_text[12], cols_text[12];
        unsigned rows, cols;

        if (!t->s->is_terminal || t->s->exec_id[0] == '\0' || !cay_tty_size(STDIN_FILENO, &rows, &cols) ||
            (rows == t->rows && cols == t->cols))
                return;
        snprintf(rows_text, sizeof(rows_text), "%u", rows);
        snprintf(cols_text, sizeof(cols_text), "%u", cols);
        if (control(t, "exec_resize", "rows", rows_text, "cols", cols_text) < 0)
                return;
        t->rows = rows;
        t->cols = cols;
}

/* The first signal goes to the command; repeating it ends us. */
static void tell_signal(struct session *t)
{
        char number[12];

        snprintf(number, sizeof(number), "%d", t->asked);
        if (t->signals < 3)
                control(t, "exec_signal", "signal", number, NULL, NULL);
        else
                control(t, "exec_kill", NULL, NULL, NULL, NULL);
}

static void on_signal(struct cay_signal *sig, int signo, int pid)
{
        struct session *t = cay_container_of(sig, struct session, signal);

        if (signo == SIGWINCH) {
                tell_size(t);
                return;
        }
        t->asked = signo;
        t->signals++;
        if (t->s->exec_id[0] != '\0') /* otherwise when it has one */
                tell_signal(t);
}

/* Output */

static void fail_session(struct session *t, const struct cay_error *err)
{
        if (t->failure.code == CAY_OK)
                t->failure = *err;
        cay_loop_stop(t->loop);
}

static bool has_pending(const struct session *t)
{
        return t->pending[0].len > 0 || t->pending[1].len > 0;
}

/* Passes waiting output to its sink; done when the command has ended and nothing waits. */
static void flush_pending(struct session *t)
{
        for (unsigned i = 0; i < 2; i++) {
                struct cay_buf *b = &t->pending[i];

                cay_buf_drop(b, cay_sink_write(&t->sinks[i], cay_buf_data(b), b->len));
        }
        if (t->is_over && !has_pending(t))
                cay_loop_stop(t->loop);
}

static void pump(struct session *t);

static void on_out_room(struct cay_sink *s)
{
        struct session *t = cay_container_of(s, struct session, sinks[0]);

        flush_pending(t);
        pump(t);
}

static void on_err_room(struct cay_sink *s)
{
        struct session *t = cay_container_of(s, struct session, sinks[1]);

        flush_pending(t);
        pump(t);
}

static void sink_failed(struct session *t, int r)
{
        struct cay_error err = { 0 };

        if (t->broken)
                return;
        t->broken = true;
        if (t->s->passes_signals)
                control(t, "exec_kill", NULL, NULL, NULL, NULL);
        if (r != -EPIPE) {
                cay_fail_sys(&err, CAY_INTERNAL, r, "write the output");
                fail_session(t, &err);
        }
        cay_loop_stop(t->loop);
}

static void on_out_failed(struct cay_sink *s)
{
        sink_failed(cay_container_of(s, struct session, sinks[0]), s->failed);
}

static void on_err_failed(struct cay_sink *s)
{
        sink_failed(cay_container_of(s, struct session, sinks[1]), s->failed);
}

static int take_output(struct session *t, struct cay_json_view event, unsigned stream)
{
        struct cay_json_view text = cay_json_view_find(event, "text");
        cay_auto_buf struct cay_buf coded = { 0 };
        int r;

        cay_json_view_u64(cay_json_view_find(event, "next"), &t->cursor);
        if (text.len > 0)
                return cay_json_view_text(text, &t->pending[stream]);
        text = cay_json_view_find(event, "base64");
        cay_buf_init(&coded, text.len + 1);
        r = cay_json_view_text(text, &coded);
        return r < 0 ? r : cay_base64_decode(cay_buf_data(&coded), coded.len, &t->pending[stream]);
}

static void on_started(struct session *t, struct cay_json_view event)
{
        cay_json_view_copy(cay_json_view_find(event, "exec_id"), t->s->exec_id, sizeof(t->s->exec_id));
        tell_size(t); /* another terminal was attached before, or the size changed while disconnected */
        if (t->started)
                return;
        t->started = true;
        if (t->s->exec == NULL && t->signals > 0) /* the user who pressed Ctrl-C repeatedly */
                tell_signal(t);
        if (t->s->wants_input)
                cay_session_input_begin(t);
}

static void on_error_event(struct session *t, struct cay_json_view event)
{
        struct cay_error err = { 0 };
        char text[256];

        copy_safe(cay_json_view_find(event, "message"), text, sizeof(text));
        cay_fail(&err, CAY_CONFLICT, "%s", text);
        fail_session(t, &err);
}

static int take_event(struct session *t, const char *line, size_t len)
{
        struct cay_json_view event;
        char kind[16];
        int r = cay_json_view_open(line, len, &event);

        if (r < 0)
                return r;
        cay_json_view_copy(cay_json_view_find(event, "event"), kind, sizeof(kind));
        if (t->s->as_events) {
                r = cay_buf_put(&t->pending[0], line, len);
                if (r == 0)
                        r = cay_buf_putc(&t->pending[0], '\n');
                cay_json_view_u64(cay_json_view_find(event, "next"), &t->cursor);
        } else if (strcmp(kind, "stdout") == 0 || strcmp(kind, "stderr") == 0) {
                r = take_output(t, event, strcmp(kind, "stderr") == 0);
        }
        if (strcmp(kind, "started") == 0)
                on_started(t, event);
        else if (strcmp(kind, "error") == 0)
                on_error_event(t, event);
        else if (strcmp(kind, "exited") == 0)
                cay_session_read_end(t->s, event, t->asked);
        t->is_over = t->s->ended || (!t->s->follows && t->cursor >= t->s->until);
        return r;
}

/* Handles complete lines. */
static int take_lines(struct session *t)
{
        char *newline;
        int r = 0;

        while (r == 0 && !t->is_over &&
               (newline = memchr(cay_buf_data(&t->line), '\n', t->line.len)) != NULL) {
                size_t len = (size_t)(newline - cay_buf_data(&t->line));

                if (len > 0) /* a blank line is a keep-alive */
                        r = take_event(t, cay_buf_data(&t->line), len);
                cay_buf_drop(&t->line, len + 1);
        }
        return r;
}

static void on_retry(struct cay_timer *timer);

/* The connection is lost, the command is not. */
static void lose(struct session *t, int r)
{
        struct cay_error err = { 0 };

        cay_watch_remove(&t->watch);
        cay_client_conn_close(&t->out);
        cay_client_conn_init(&t->out);
        if (!t->started || t->retries == SESSION_RETRIES_MAX || r == -EBADMSG) {
                cay_fail(&err, CAY_UNAVAILABLE,
                         r == -EBADMSG ? "the daemon's answer is not valid"
                                       : "the connection to the daemon is lost");
                fail_session(t, &err);
                return;
        }
        cay_buf_clear(&t->line);
        t->retries++;
        cay_timer_set(t->loop, &t->timer, SESSION_RETRY_MS, on_retry);
}

static void pump(struct session *t)
{
        if (t->out.fd < 0)
                return;
        while (!has_pending(t) && !t->is_over && t->failure.code == CAY_OK) {
                const char *bytes;
                size_t len;
                int r = cay_client_conn_take_bytes(&t->out, &bytes, &len);

                if (r == -EAGAIN) {
                        cay_watch_set(&t->watch, EPOLLIN);
                        return;
                }
                if (r == 1 && cay_buf_put(&t->line, bytes, len) < 0)
                        r = -EBADMSG;
                if (r == 1 && take_lines(t) < 0)
                        r = -EBADMSG;
                flush_pending(t);
                if (r < 1 && !t->is_over) {
                        lose(t, r);
                        return;
                }
                if (r == 1)
                        t->retries = 0;
        }
        if (t->out.fd >= 0)
                cay_watch_set(&t->watch, 0);
        flush_pending(t);
}

static void on_readable(struct cay_watch *w, uint32_t events)
{
        pump(cay_container_of(w, struct session, watch));
}

static int watch_output(struct session *t, struct cay_error *err)
{
        int r = cay_watch_add(t->loop, &t->watch, t->out.fd, EPOLLIN, on_readable);

        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "watch the connection") : 0;
}

static void on_retry(struct cay_timer *timer)
{
        struct session *t = cay_container_of(timer, struct session, timer);
        cay_auto_values struct cay_values v;
        struct cay_error err = { 0 };
        char from[24];

        cay_values_init(&v, cay_cli_op_find("exec_attach"));
        snprintf(from, sizeof(from), "%" PRIu64, t->cursor);
        if (cay_values_set(&v, "id", t->s->sandbox, &err) == 0 &&
            cay_values_set(&v, "exec", t->s->exec_id, &err) == 0 &&
            cay_values_set(&v, "from", from, &err) == 0 &&
            cay_reach_begin(t->s->reach, &t->out, &v, -1, CONTROL_MS, &err) == 0 &&
            watch_output(t, &err) == 0) {
                pump(t);
                return;
        }
        if (err.code == CAY_UNAVAILABLE || err.code == CAY_TIMEOUT || err.code == CAY_LIMIT)
                lose(t, -ECONNRESET);
        else
                fail_session(t, &err);
}

/* A whole session */

static int watch_signals(struct session *t, struct cay_error *err)
{
        static const int wanted[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH };
        int signals[CAY_COUNT(wanted)], r;
        unsigned count = 0;

        signal(SIGPIPE, SIG_IGN); /* write returns EPIPE instead */
        if (!t->s->passes_signals)
                return 0;
        for (unsigned i = 0; i < CAY_COUNT(wanted); i++) {
                struct sigaction now;

                if (sigaction(wanted[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
                        signals[count++] = wanted[i];
        }
        r = cay_signal_open(t->loop, &t->signal, signals, count, on_signal);
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "watch for signals") : 0;
}

static void open_sinks(struct session *t)
{
        cay_sink_open(t->loop, &t->sinks[0], STDOUT_FILENO);
        cay_sink_open(t->loop, &t->sinks[1], STDERR_FILENO);
        t->sinks[0].on_room = on_out_room;
        t->sinks[1].on_room = on_err_room;
        t->sinks[0].on_failed = on_out_failed;
        t->sinks[1].on_failed = on_err_failed;
        for (unsigned i = 0; i < 2; i++) {
                cay_buf_init(&t->pending[i], LINE_MAX_BYTES);
                if (!t->s->is_terminal && !t->s->is_raw)
                        cay_sink_show(&t->sinks[i]);
        }
}

static int run_session(struct session *t, struct cay_error *err)
{
        int r;

        t->loop = cay_loop_new();
        if (t->loop == NULL)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make an event loop");
        open_sinks(t);
        if (cay_reach_begin(t->s->reach, &t->out, t->s->begins, -1, CAY_REACH_WAIT_MS, err) < 0 ||
            watch_output(t, err) < 0 || watch_signals(t, err) < 0)
                return -1;
        if (t->s->is_terminal && isatty(STDIN_FILENO))
                cay_tty_raw(STDIN_FILENO);
        t->is_over = !t->s->follows && t->cursor >= t->s->until;
        pump(t);
        if ((t->is_over && !has_pending(t)) || t->failure.code != CAY_OK || t->broken)
                r = 0; /* all of it came with the head */
        else
                r = cay_loop_run(t->loop);
        cay_tty_restore();
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "run the event loop");
        if (t->failure.code != CAY_OK) {
                *err = t->failure;
                return -1;
        }
        if (t->broken) {
                t->s->status = 128 + SIGPIPE; /* as the shell would report a command killed by a signal */
                t->s->ended = false;
        }
        return 0;
}

static void done(struct session *t)
{
        cay_session_input_done(t);
        cay_timer_clear(&t->timer);
        cay_watch_remove(&t->watch);
        cay_client_conn_close(&t->out);
        for (unsigned i = 0; i < 2; i++) {
                cay_sink_close(&t->sinks[i]);
                cay_buf_done(&t->pending[i]);
        }
        cay_buf_done(&t->line);
        cay_signal_close(&t->signal);
        cay_loop_free(t->loop);
        free(t);
}

int cay_session_run(struct cay_session *s, struct cay_error *err)
{
        struct session *t = calloc(1, sizeof(*t));
        int r;

        if (t == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        t->s = s;
        t->cursor = s->from;
        cay_client_conn_init(&t->out);
        cay_client_conn_init(&t->in.conn);
        cay_buf_init(&t->line, LINE_MAX_BYTES);
        if (s->exec != NULL)
                snprintf(s->exec_id, sizeof(s->exec_id), "%s", s->exec);
        t->rows = number_of(s->begins, "rows");
        t->cols = number_of(s->begins, "cols");
        r = run_session(t, err);
        done(t);
        return r;
}
