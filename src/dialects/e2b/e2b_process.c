/* SPDX-License-Identifier: Apache-2.0 */
/*
 * envd: processes. A process of E2B is a command of Cay; clients name it by its pid, which is found among the
 * sandbox's commands. A stream that is cut leaves its command running: a client connects to it again.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/e2b/e2b_stream.h"
#include "foundation/base/base64.h"
#include "foundation/base/parse.h"
#include "foundation/base/str.h"

#define KEEPALIVE "{\"event\":{\"keepalive\":{}}}"
#define INPUT_MAX (1u << 20)

struct process { /* a request about one */
        struct e2b_stream stream;
        bool is_pty, has_ended;
        const char *why; /* the stream's error, a code of Connect; NULL: none */
        /* of requests that name a pid */
        int64_t pid;
        void (*on_found)(struct e2b_request *q, const char *exec, const struct cay_json_value *view);
        struct cay_buf input;
        size_t taken;
        bool is_given; /* all of the input */
};

static void free_process(void *state)
{
        struct process *p = state;

        e2b_stream_done(&p->stream);
        cay_buf_done(&p->input);
        free(p);
}

static struct process *new_process(struct e2b_request *q)
{
        struct process *p = calloc(1, sizeof(*p));

        q->state = p;
        q->free_state = free_process;
        if (!p)
                e2b_fail_memory(q);
        else {
                cay_buf_init(&p->input, INPUT_MAX);
                e2b_charge(q, &p->input);
        }
        return p;
}

/* Events */

static void begin_event(struct cay_json *j, const char *kind)
{
        cay_json_key(j, "event");
        cay_json_begin_object(j);
        cay_json_key(j, kind);
        cay_json_begin_object(j);
}

static ssize_t put_event(struct process *p, struct cay_json *j)
{
        cay_json_end_object(j);
        cay_json_end_object(j);
        return e2b_stream_put(&p->stream, j);
}

static ssize_t put_start(struct process *p, const struct cay_json_value *event)
{
        struct cay_json j;
        int64_t pid = 0;

        e2b_number(event, "pid", &pid);
        p->is_pty = e2b_flag(event, "tty", false);
        begin_event(e2b_stream_message(&p->stream, &j), "start");
        cay_op_key_u64(&j, "pid", (uint64_t)pid);
        return put_event(p, &j);
}

static ssize_t put_data(struct process *p, const char *kind, const struct cay_json_value *event)
{
        const char *text = e2b_text(event, "text"), *base64 = e2b_text(event, "base64");
        cay_auto_buf struct cay_buf packed = { 0 };
        struct cay_json j;

        if (text) {
                cay_buf_init(&packed, 2 * strlen(text) + 8);
                if (cay_base64_encode(text, strlen(text), &packed) < 0)
                        return -1;
                base64 = cay_buf_data(&packed);
        }
        begin_event(e2b_stream_message(&p->stream, &j), "data");
        cay_op_key_text(&j, p->is_pty ? "pty" : kind, base64);
        return put_event(p, &j);
}

/* As a shell's wait would say it. */
static void put_status(struct cay_json *j, const struct cay_json_value *event)
{
        const char *signal = e2b_text(event, "signal");
        int64_t code = 0;
        char text[64];

        if (e2b_number(event, "exit_code", &code)) {
                cay_json_key(j, "exitCode");
                cay_json_i64(j, code);
                cay_op_key_bool(j, "exited", true);
                snprintf(text, sizeof(text), "exit status %" PRId64, code);
        } else {
                cay_json_key(j, "exitCode");
                cay_json_i64(j, -1);
                snprintf(text, sizeof(text), "signal: %s",
                         !signal || strcmp(signal, "SIGKILL") == 0 ? "killed"
                         : strcmp(signal, "SIGTERM") == 0          ? "terminated"
                                                                   : signal);
                code = -1;
        }
        cay_op_key_text(j, "status", text);
        if (code != 0)
                cay_op_key_text(j, "error", text);
}

static ssize_t put_end(struct process *p, const struct cay_json_value *event)
{
        const char *cause = e2b_text(event, "cause");
        struct cay_json j;

        if (!e2b_runs(p->stream.q->world, p->stream.q->sandbox))
                return 0; /* it ended with its sandbox: the stream is cut */
        p->has_ended = true;
        if (cause && strcmp(cause, "wall_time") == 0) {
                p->why = "the command's time is over";
                return 0;
        }
        begin_event(e2b_stream_message(&p->stream, &j), "end");
        put_status(&j, event);
        return put_event(p, &j);
}

static int on_begin(struct e2b_request *q, const struct cay_op_bytes *bytes)
{
        struct process *p = q->state;

        (void)bytes;
        return e2b_stream_begin(&p->stream, q, KEEPALIVE);
}

static ssize_t on_event(struct e2b_request *q, const char *kind, const struct cay_json_value *event)
{
        struct process *p = q->state;

        if (strcmp(kind, "started") == 0)
                return put_start(p, event);
        if (strcmp(kind, "stdout") == 0 || strcmp(kind, "stderr") == 0)
                return put_data(p, kind, event);
        return strcmp(kind, "exited") == 0 ? put_end(p, event) : 0;
}

/* A stream without its end is cut, so that the client asks whether the sandbox lives. */
static void on_end(struct e2b_request *q, bool was_cut)
{
        struct process *p = q->state;

        (void)was_cut;
        if (p->has_ended && p->why)
                e2b_refuse(q, CAY_TIMEOUT, "%s", p->why);
        else if (p->has_ended)
                e2b_stream_end(&p->stream);
        else
                e2b_cut(q);
}

static const struct e2b_stream_ops stream_ops = { .on_begin = on_begin,
                                                  .on_event = on_event,
                                                  .on_end = on_end };

/* Start */

static void put_command(struct cay_json *j, const struct cay_json_value *process)
{
        const struct cay_json_value *args = cay_json_value_find(process, "args");

        cay_json_key(j, "command");
        cay_json_begin_array(j);
        cay_json_value_put(j, cay_json_value_find(process, "cmd"));
        for (size_t i = 0; i < cay_json_value_count(args); i++)
                cay_json_value_put(j, cay_json_value_at(args, i));
        cay_json_end_array(j);
}

static bool copy_member(void *ctx, const char *name, const struct cay_json_value *value)
{
        cay_json_key(ctx, name);
        cay_json_value_put(ctx, value);
        return true;
}

static void put_env(const struct e2b_request *q, struct cay_json *j, const struct cay_json_value *env,
                    bool is_root)
{
        static const char *const root[][2] = { { "HOME", "/root" },
                                               { "USER", "root" },
                                               { "LOGNAME", "root" } };

        cay_json_key(j, "env");
        cay_json_begin_object(j);
        if (!cay_json_value_find(env, "E2B_SANDBOX_ID"))
                cay_op_key_text(j, "E2B_SANDBOX_ID", q->sandbox);
        for (unsigned i = 0; is_root && i < CAY_COUNT(root); i++)
                if (!cay_json_value_find(env, root[i][0]))
                        cay_op_key_text(j, root[i][0], root[i][1]);
        cay_json_value_each(env, copy_member, j);
        cay_json_end_object(j);
}

static void put_terminal(struct cay_json *j, const struct cay_json_value *pty)
{
        const struct cay_json_value *size = cay_json_value_find(pty, "size");
        int64_t n;

        cay_op_key_bool(j, "tty", true);
        if (e2b_number(size, "rows", &n) && n > 0)
                cay_op_key_u64(j, "rows", (uint64_t)n);
        if (e2b_number(size, "cols", &n) && n > 0)
                cay_op_key_u64(j, "cols", (uint64_t)n);
}

static void put_timeout(struct e2b_request *q, struct cay_json *j)
{
        const char *text = cay_http_request_header(q->req, "Connect-Timeout-Ms");
        char ms[40];
        uint64_t n;

        if (!text || cay_parse_u64(text, &n) < 0 || n == 0)
                return;
        snprintf(ms, sizeof(ms), "%" PRIu64 "ms", n);
        cay_op_key_text(j, "timeout", ms);
}

static void start(struct e2b_request *q)
{
        const struct cay_json_value *process = e2b_member(q, "process"), *pty = e2b_member(q, "pty");
        cay_auto_call_args struct cay_call_args args = { 0 };
        char cwd[E2B_PATH_MAX];
        const char *user = e2b_user(q, false);

        if (!user)
                return;
        if (e2b_path(q, user, e2b_text(process, "cwd"), cwd) < 0 || !new_process(q))
                return;
        e2b_args_begin(q, &args);
        put_command(&args.j, process);
        cay_op_key_text(&args.j, "cwd", cwd);
        put_env(q, &args.j, cay_json_value_find(process, "envs"), e2b_is_root(user));
        if (e2b_is_root(user))
                cay_op_key_text(&args.j, "user", "root");
        put_timeout(q, &args.j);
        if (pty)
                put_terminal(&args.j, pty);
        if (pty || e2b_flag(cay_json_in_root(q->body), "stdin", true))
                cay_op_key_bool(&args.j, "open_stdin", true);
        e2b_ask_stream(q, "exec_run", &args, &stream_ops);
}

/*
 * A folder that is not there is the client's mistake, which the command itself could not tell from its own.
 */
static void on_no_folder(struct e2b_request *q, const struct cay_error *err)
{
        struct cay_error told = *err;

        if (told.code == CAY_NOT_FOUND)
                cay_fail(&told, CAY_INVALID, "cwd '%.200s' does not exist",
                         e2b_text(e2b_member(q, "process"), "cwd"));
        e2b_fail(q, &told);
}

static void on_folder(struct e2b_request *q, const struct cay_json_value *file)
{
        if (strcmp(e2b_text(file, "type"), "directory") == 0)
                start(q);
        else
                e2b_refuse(q, CAY_INVALID, "cwd '%.200s' is not a directory",
                           e2b_text(e2b_member(q, "process"), "cwd"));
}

static void run_start(struct e2b_request *q)
{
        const struct cay_json_value *process = e2b_member(q, "process");
        cay_auto_call_args struct cay_call_args args = { 0 };
        const char *cwd = e2b_text(process, "cwd"), *user;
        char path[E2B_PATH_MAX];

        if (!e2b_text(process, "cmd")) {
                e2b_refuse(q, CAY_INVALID, "process.cmd: required");
                return;
        }
        if (!cwd || !cwd[0]) {
                start(q);
                return;
        }
        user = e2b_user(q, false);
        if (!user || e2b_path(q, user, cwd, path) < 0)
                return;
        e2b_args_begin(q, &args);
        cay_op_key_text(&args.j, "path", path);
        cay_op_key_bool(&args.j, "follow", true);
        cay_op_key_bool(&args.j, "as_root", e2b_is_root(user));
        q->on_fail = on_no_folder;
        e2b_ask(q, "file_stat", &args, on_folder);
}

/* Finding one by its pid: a running one, else the last that had it. */

static void on_execs(struct e2b_request *q, const struct cay_json_value *answer)
{
        const struct cay_json_value *list = cay_json_value_find(answer, "execs"), *x, *found = NULL;
        struct process *p = q->state;
        char exec[CAY_NAME_MAX + 1];
        bool found_runs = false;
        int64_t pid;

        for (size_t i = 0; (x = cay_json_value_at(list, i)); i++) {
                bool runs = strcmp(e2b_text(x, "status"), "ended") != 0;

                if (e2b_number(x, "pid", &pid) && pid == p->pid && (runs || !found_runs)) {
                        found = x;
                        found_runs = runs;
                }
        }
        if (!found || !cay_str_copy(exec, sizeof(exec), e2b_text(found, "exec_id")))
                e2b_refuse(q, CAY_NOT_FOUND, "process with pid %" PRId64 " not found", p->pid);
        else
                p->on_found(q, exec, found);
}

static void find(struct e2b_request *q,
                 void (*on_found)(struct e2b_request *q, const char *exec, const struct cay_json_value *view))
{
        struct process *p = new_process(q);

        if (!p)
                return;
        p->on_found = on_found;
        if (!e2b_number(e2b_member(q, "process"), "pid", &p->pid))
                e2b_refuse(q, CAY_INVALID, "process.pid: required");
        else
                e2b_ask_sandbox(q, "exec_list", on_execs);
}

static void begin_exec(const struct e2b_request *q, struct cay_call_args *args, const char *exec)
{
        e2b_args_begin(q, args);
        cay_op_key_text(&args->j, "exec", exec);
}

/* Unary requests about one that has ended do not find it. */
static bool is_over(struct e2b_request *q, const struct cay_json_value *view)
{
        const struct process *p = q->state;

        if (strcmp(e2b_text(view, "status"), "ended") != 0)
                return false;
        e2b_refuse(q, CAY_NOT_FOUND, "process with pid %" PRId64 " not found", p->pid);
        return true;
}

static void answer_empty(struct e2b_request *q, const struct cay_json_value *answer)
{
        cay_auto_buf struct cay_buf out = { 0 };

        (void)answer;
        cay_buf_init(&out, 8);
        cay_buf_puts(&out, "{}");
        e2b_answer(q, 200, &out);
}

static void connect_to(struct e2b_request *q, const char *exec, const struct cay_json_value *view)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        int64_t from = 0;

        begin_exec(q, &args, exec);
        if (e2b_number(view, "output_end", &from))
                cay_op_key_u64(&args.j, "from", (uint64_t)from);
        e2b_ask_stream(q, "exec_attach", &args, &stream_ops);
}

static void run_connect(struct e2b_request *q)
{
        find(q, connect_to);
}

/* List */

static void put_listed(struct cay_json *j, const struct cay_json_value *x)
{
        const struct cay_json_value *command = cay_json_value_find(x, "command");
        const char *line = cay_json_value_text(command);
        int64_t pid = 0;

        e2b_number(x, "pid", &pid);
        cay_json_begin_object(j);
        cay_op_key_u64(j, "pid", (uint64_t)pid);
        cay_json_key(j, "config");
        cay_json_begin_object(j);
        cay_op_key_text(j, "cmd", line ? line : cay_json_value_text(cay_json_value_at(command, 0)));
        cay_json_key(j, "args");
        cay_json_begin_array(j);
        for (size_t i = 1; !line && i < cay_json_value_count(command); i++)
                cay_json_value_put(j, cay_json_value_at(command, i));
        cay_json_end_array(j);
        cay_json_key(j, "envs");
        cay_json_begin_object(j);
        cay_json_end_object(j);
        cay_op_key_text(j, "cwd", e2b_text(x, "workdir"));
        cay_json_end_object(j);
        cay_json_end_object(j);
}

static void on_list(struct e2b_request *q, const struct cay_json_value *answer)
{
        const struct cay_json_value *list = cay_json_value_find(answer, "execs"), *x;
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        cay_buf_init(&out, E2B_ANSWER_MAX);
        cay_json_init(&j, &out);
        cay_json_begin_object(&j);
        cay_json_key(&j, "processes");
        cay_json_begin_array(&j);
        for (size_t i = 0; (x = cay_json_value_at(list, i)); i++)
                if (strcmp(e2b_text(x, "status"), "running") == 0)
                        put_listed(&j, x);
        cay_json_end_array(&j);
        cay_json_end_object(&j);
        if (cay_json_end(&j) < 0)
                e2b_fail_memory(q);
        else
                e2b_answer(q, 200, &out);
}

static void run_list(struct e2b_request *q)
{
        e2b_ask_sandbox(q, "exec_list", on_list);
}

/* Input */

static void on_room(struct e2b_request *q)
{
        struct process *p = q->state;

        while (p->taken < p->input.len) {
                size_t n =
                        cay_call_write(q->ask, cay_buf_data(&p->input) + p->taken, p->input.len - p->taken);

                if (n == 0)
                        return;
                p->taken += n;
        }
        if (p->is_given)
                return;
        p->is_given = true;
        cay_call_write_end(q->ask);
}

/* Input that is closed, or was never open. */
static void on_input_failed(struct e2b_request *q, const struct cay_error *err)
{
        struct cay_error told = *err;

        if (told.code == CAY_CONFLICT || told.code == CAY_INVALID)
                told.code = CAY_INTERNAL;
        e2b_fail(q, &told);
}

static void give(struct e2b_request *q, const char *exec, bool ends)
{
        static const struct e2b_stream_ops input_ops = { .on_room = on_room };
        cay_auto_call_args struct cay_call_args args = { 0 };

        begin_exec(q, &args, exec);
        cay_op_key_bool(&args.j, "eof", ends);
        q->stream_ops = &input_ops;
        q->on_fail = on_input_failed;
        e2b_ask(q, "exec_input", &args, answer_empty);
}

static void send_input(struct e2b_request *q, const char *exec, const struct cay_json_value *view)
{
        const struct cay_json_value *input = e2b_member(q, "input");
        bool is_pty = e2b_flag(view, "tty", false);
        const char *text = e2b_text(input, is_pty ? "pty" : "stdin");
        struct process *p = q->state;
        int r;

        if (is_over(q, view))
                return;
        if (!text)
                e2b_refuse(q, CAY_INTERNAL, "this process takes input as %s", is_pty ? "pty" : "stdin");
        else if ((r = cay_base64_decode(text, strlen(text), &p->input)) == -ENOBUFS || r == -ENOMEM)
                e2b_refuse(q, CAY_UNAVAILABLE, "no memory for this input now: client_memory is in use");
        else if (r < 0)
                e2b_refuse(q, CAY_INVALID, "input: not base64, or more than %u bytes", INPUT_MAX);
        else
                give(q, exec, false);
}

static void close_input(struct e2b_request *q, const char *exec, const struct cay_json_value *view)
{
        if (is_over(q, view))
                return;
        if (e2b_flag(view, "tty", false))
                e2b_refuse(q, CAY_INTERNAL, "the input of a terminal cannot be closed");
        else
                give(q, exec, true);
}

static void run_input(struct e2b_request *q)
{
        find(q, send_input);
}

static void run_close(struct e2b_request *q)
{
        find(q, close_input);
}

/* Signals and sizes */

static void send_signal(struct e2b_request *q, const char *exec, const struct cay_json_value *view)
{
        const struct cay_json_value *signal = e2b_member(q, "signal");
        const char *word = cay_json_value_text(signal);
        cay_auto_call_args struct cay_call_args args = { 0 };
        int64_t number = 0;
        bool kills;

        if (is_over(q, view))
                return;
        cay_json_value_i64(signal, &number);
        kills = number == 9 || (word && strcmp(word, "SIGNAL_SIGKILL") == 0);
        if (!kills && number != 15 && !(word && strcmp(word, "SIGNAL_SIGTERM") == 0)) {
                e2b_refuse(q, CAY_INVALID, "signal: must be SIGNAL_SIGKILL or SIGNAL_SIGTERM");
                return;
        }
        begin_exec(q, &args, exec);
        if (!kills)
                cay_op_key_text(&args.j, "signal", "TERM");
        e2b_ask(q, kills ? "exec_kill" : "exec_signal", &args, answer_empty);
}

static void run_signal(struct e2b_request *q)
{
        find(q, send_signal);
}

static void resize(struct e2b_request *q, const char *exec, const struct cay_json_value *view)
{
        const struct cay_json_value *size = cay_json_value_find(e2b_member(q, "pty"), "size");
        cay_auto_call_args struct cay_call_args args = { 0 };
        int64_t rows = 0, cols = 0;

        if (is_over(q, view))
                return;
        if (!e2b_number(size, "rows", &rows) || !e2b_number(size, "cols", &cols) || rows < 1 || cols < 1) {
                e2b_refuse(q, CAY_INVALID, "pty.size: cols and rows are needed");
                return;
        }
        begin_exec(q, &args, exec);
        cay_op_key_u64(&args.j, "rows", (uint64_t)rows);
        cay_op_key_u64(&args.j, "cols", (uint64_t)cols);
        e2b_ask(q, "exec_resize", &args, answer_empty);
}

static void run_update(struct e2b_request *q)
{
        find(q, resize);
}

#define STREAM E2B_FORM_STREAM, E2B_TAKES_JSON | E2B_ENVELOPED
#define UNARY E2B_FORM_UNARY, E2B_TAKES_JSON

static const struct e2b_row rows[] = {
        { "POST /process.Process/Start", run_start, STREAM },
        { "POST /process.Process/Connect", run_connect, STREAM },
        { "POST /process.Process/List", run_list, UNARY },
        { "POST /process.Process/SendInput", run_input, UNARY },
        { "POST /process.Process/CloseStdin", run_close, UNARY },
        { "POST /process.Process/SendSignal", run_signal, UNARY },
        { "POST /process.Process/Update", run_update, UNARY },
};

const struct e2b_rows e2b_process_rows = { rows, CAY_COUNT(rows) };
