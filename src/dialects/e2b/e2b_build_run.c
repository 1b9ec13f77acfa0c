/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A build under way: a sandbox of the base is made, the steps are run in it, then one snapshot is taken for
 * each tag, and the sandbox is removed. Each state is one call of an op, whose end begins the next one. If
 * one fails, the sandbox is removed, and the build says why.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/e2b/e2b_build_steps.h"
#include "dialects/e2b/e2b_create.h"
#include "dialects/e2b/e2b_start.h"
#include "domain/settings/config.h"
#include "foundation/base/base64.h"
#include "foundation/base/str.h"
#include "foundation/base/utf8.h"

#define SANDBOX_TIME "2h" /* at most, also if the daemon is restarted meanwhile */
#define IDLE_TIME "10m"   /* of one that nobody works in: the front that did was restarted */
#define STEP_MS (30u * 60 * 1000)
#define COPY_PLACE "/tmp/.e2b-copy"
#define PIECE (256u * 1024)

static void next_step(struct e2b_build *b);
static void take_snapshots(struct e2b_build *b);
static void remove_sandbox(struct e2b_build *b);

/* Why it fails; step NULL: the one that is run. */
static void give_up(struct e2b_build *b, const char *step, const char *why)
{
        if (b->fails)
                return;
        b->fails = true;
        snprintf(b->reason, sizeof(b->reason), "%.480s", why);
        if (step)
                cay_str_copy(b->reason_step, sizeof(b->reason_step), step);
        else
                snprintf(b->reason_step, sizeof(b->reason_step), "%u", b->step);
        e2b_build_log(b, "error", b->reason, strlen(b->reason));
}

/* Calls */

static struct e2b_build *of_call(struct cay_call *a)
{
        struct e2b_build *b = cay_call_user(a);

        b->ask = NULL;
        return b;
}

static void on_answer(struct cay_call *a, enum cay_op_status status, const struct cay_json_value *answer)
{
        struct e2b_build *b = of_call(a);

        (void)status;
        b->on_done(b, answer);
}

static void on_fail(struct cay_call *a, const struct cay_error *err, const char *field, const char *first)
{
        struct e2b_build *b = of_call(a);

        (void)field;
        (void)first;
        give_up(b, b->step > 0 ? NULL : "base", err->msg);
        remove_sandbox(b);
}

static void flush_line(struct e2b_build *b, unsigned stream)
{
        struct cay_buf *line = &b->line[stream];

        if (line->len > 0)
                e2b_build_log(b, stream == 0 ? "info" : "warn", cay_buf_data(line), line->len);
        cay_buf_clear(line);
}

static void add_output(struct e2b_build *b, unsigned stream, const char *text, size_t len)
{
        for (size_t at = 0; at < len;) {
                const char *end = memchr(text + at, '\n', len - at);
                size_t n = end ? (size_t)(end - text) - at : len - at, room = cay_buf_left(&b->line[stream]);

                if (n > room) { /* a line that is too long is two */
                        cay_buf_put(&b->line[stream], text + at, room);
                        flush_line(b, stream);
                        at += room;
                        continue;
                }
                cay_buf_put(&b->line[stream], text + at, n);
                if (end)
                        flush_line(b, stream);
                at += n + (end ? 1 : 0);
        }
}

static void on_output(struct e2b_build *b, unsigned stream, const struct cay_json_value *event)
{
        const char *text = e2b_text(event, "text"), *base64 = e2b_text(event, "base64");
        cay_auto_buf struct cay_buf bytes = { 0 };

        if (text) {
                add_output(b, stream, text, strlen(text));
                return;
        }
        cay_buf_init(&bytes, base64 ? strlen(base64) + 8 : 8);
        if (base64 && cay_base64_decode(base64, strlen(base64), &bytes) == 0)
                add_output(b, stream, cay_buf_data(&bytes), bytes.len);
}

static void on_exit_code(struct e2b_build *b, const struct cay_json_value *event)
{
        const char *text = e2b_text(event, "cause_text");
        char why[512];

        b->has_exit = true;
        flush_line(b, 0);
        flush_line(b, 1);
        if (!e2b_number(event, "exit_code", &b->exit_code))
                snprintf(why, sizeof(why), "the command of step %u was ended: %.300s", b->step,
                         text ? text : "killed");
        else if (b->exit_code != 0)
                snprintf(why, sizeof(why), "the command of step %u failed: exit status %" PRId64, b->step,
                         b->exit_code);
        else
                return;
        give_up(b, NULL, why);
}

static ssize_t on_event(struct cay_call *a, const char *id, const char *kind,
                        const struct cay_json_value *event)
{
        struct e2b_build *b = cay_call_user(a);

        (void)id;
        if (strcmp(kind, "stdout") == 0 || strcmp(kind, "stderr") == 0)
                on_output(b, strcmp(kind, "stderr") == 0, event);
        else if (strcmp(kind, "exited") == 0)
                on_exit_code(b, event);
        return 0;
}

static void on_end(struct cay_call *a, bool was_cut)
{
        struct e2b_build *b = of_call(a);

        (void)was_cut;
        if (!b->has_exit)
                give_up(b, NULL, "the command did not end: its sandbox is gone, or the daemon stops");
        if (b->fails)
                remove_sandbox(b);
        else
                b->on_done(b, NULL);
}

static void on_room(struct cay_call *a)
{
        struct e2b_build *b = cay_call_user(a);

        while (b->sending && b->sent < b->sending->bytes.len) {
                size_t left = b->sending->bytes.len - b->sent,
                       n = cay_call_write(a, cay_buf_data(&b->sending->bytes) + b->sent,
                                          left < PIECE ? left : PIECE);

                if (n == 0)
                        return;
                b->sent += n;
        }
        if (!b->sending)
                return;
        b->sending = NULL;
        cay_call_write_end(a);
}

static void ask(struct e2b_build *b, const char *op, struct cay_call_args *args, bool wants_stream,
                void (*on_done)(struct e2b_build *b, const struct cay_json_value *answer))
{
        static const struct cay_call_ops ops = { .on_answer = on_answer,
                                                 .on_fail = on_fail,
                                                 .on_event = on_event,
                                                 .on_end = on_end,
                                                 .on_room = on_room };
        const struct cay_call_what what = { .op = cay_op_find(op),
                                            .world = b->e2b->world,
                                            .caller = b->caller,
                                            .is_known = true,
                                            .dialect = CAY_OP_E2B,
                                            .wants_stream = wants_stream,
                                            .fd = -1,
                                            .args = args,
                                            .ops = &ops,
                                            .user = b };

        b->on_done = on_done;
        b->ask = cay_call(&what);
        if (b->ask)
                return;
        give_up(b, b->step > 0 ? NULL : "base", "no memory");
        e2b_build_end(b, E2B_BUILD_FAILED); /* its sandbox ends with its time */
}

static void begin_args(const struct e2b_build *b, struct cay_call_args *args)
{
        cay_call_args_begin(args);
        cay_op_key_text(&args->j, "id", b->sandbox);
}

/* Commands */

/* words ends with NULL. */
static void run_command(struct e2b_build *b, const char *user, const char *cwd, const char *const *words,
                        void (*on_done)(struct e2b_build *b, const struct cay_json_value *answer))
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        bool is_root = strcmp(user, "root") == 0;
        char time[32];

        b->has_exit = false;
        begin_args(b, &args);
        cay_json_key(&args.j, "command");
        cay_json_begin_array(&args.j);
        cay_json_text(&args.j, "/usr/bin/env");
        e2b_step_put_unset(b, &args.j);
        for (; *words; words++)
                cay_json_text(&args.j, *words);
        cay_json_end_array(&args.j);
        cay_op_key_text(&args.j, "cwd", cwd);
        if (is_root)
                cay_op_key_text(&args.j, "user", "root");
        e2b_step_put_environment(b, &args.j, is_root);
        cay_op_key_text(&args.j, "timeout", e2b_time_at_most(b->e2b->world, &b->caller, STEP_MS, time));
        ask(b, "exec_run", &args, true, on_done);
}

static void on_step_done(struct e2b_build *b, const struct cay_json_value *answer)
{
        (void)answer;
        next_step(b);
}

static void run_run(struct e2b_build *b, unsigned i)
{
        const char *const words[] = { "/bin/bash", "-l", "-c", e2b_step_arg(b, i, 0), NULL };

        run_command(b, e2b_step_user(b, e2b_step_arg(b, i, 1)), b->workdir, words, on_step_done);
}

/*
 * Root has no capabilities in a sandbox: it cannot give files away, and needs a folder's rights like
 * everybody.
 */
static const char *writer_of(const char *user, const char *path)
{
        static const char *const of_user[] = { "/home/user", "/tmp", "/workspace", "/var/tmp" };

        for (unsigned i = 0; i < CAY_COUNT(of_user); i++) {
                size_t len = strlen(of_user[i]);

                if (strncmp(path, of_user[i], len) == 0 && (path[len] == '/' || path[len] == '\0'))
                        return i == 0 ? "user" : user;
        }
        return "root";
}

/* New folders that root makes for a user: who may write there is what matters, not whose they are. */
#define MAKE_FOLDER                                                                                          \
        "make() { [ -d \"$1\" ] || { make \"$(dirname -- \"$1\")\" && mkdir -- \"$1\" && chmod "             \
        "\"$folders\" "                                                                                      \
        "\"$1\"; }; }\n"

static const char *folder_mode(const char *user, const char *writer)
{
        return strcmp(user, writer) == 0 ? "755" : "777";
}

static void run_workdir(struct e2b_build *b, unsigned i)
{
        static const char script[] = "folders=$2\n" MAKE_FOLDER "make \"$1\"\n";
        char to[sizeof(b->workdir)];
        const char *writer, *words[] = { "/bin/bash", "-c", script, "workdir", to, NULL /* mode */, NULL };

        if (e2b_step_resolve(b, e2b_step_arg(b, i, 0), to, sizeof(to)) < 0) {
                give_up(b, NULL, "WORKDIR: the path is too long");
                remove_sandbox(b);
                return;
        }
        writer = writer_of(b->user, to);
        words[5] = folder_mode(b->user, writer);
        memcpy(b->workdir, to, sizeof(to));
        run_command(b, writer, "/", words, on_step_done);
}

/* What was unpacked into COPY_PLACE goes where Docker's COPY would put it. */
static const char copy_script[] =
        "set -e; umask 022; shopt -s dotglob nullglob globstar\n"
        "src=${1#./} dest=$2 mode=$3 folders=$4\n" MAKE_FOLDER "cd " COPY_PLACE "; trap 'rm -rf " COPY_PLACE
        "' EXIT\n"
        "src=${src%/}; [ -n \"$src\" ] || src=.\n"
        "if [ -e \"$src\" ] || [ -L \"$src\" ]; then found=(\"$src\")\n"
        "else IFS=; found=($src); unset IFS; fi\n"
        "[ ${#found[@]} -gt 0 ] || { echo \"COPY: nothing is called '$1' in what was uploaded\" >&2; exit 1; "
        "}\n"
        "[ -z \"$mode\" ] || chmod -R \"$mode\" -- \"${found[@]}\"\n"
        "into=\n"
        "if [[ $dest == */ || -d $dest || ${#found[@]} -gt 1 ]]; then into=1; fi\n"
        "for f in \"${found[@]}\"; do\n"
        "if [ -d \"$f\" ] && [ ! -L \"$f\" ]; then make \"$dest\"\n"
        "for c in \"$f\"/*; do cp -a -- \"$c\" \"$dest/\"; done\n"
        "elif [ \"$into\" ]; then make \"$dest\"; cp -a -- \"$f\" \"$dest/\"\n"
        "else make \"$(dirname -- \"$dest\")\"; cp -a -- \"$f\" \"$dest\"; fi; done\n";

static const char *copier(const struct e2b_build *b, const char *to)
{
        return writer_of(e2b_step_user(b, e2b_step_arg(b, b->step - 1, 2)), to);
}

static void on_unpacked(struct e2b_build *b, const struct cay_json_value *answer)
{
        unsigned i = b->step - 1;
        const char *mode = e2b_step_arg(b, i, 3), *user = e2b_step_user(b, e2b_step_arg(b, i, 2)), *writer;
        char to[4096];

        (void)answer;
        if (e2b_step_resolve(b, e2b_step_arg(b, i, 1), to, sizeof(to)) < 0) {
                give_up(b, NULL, "COPY: the path is too long");
                remove_sandbox(b);
                return;
        }
        writer = copier(b, to);
        run_command(b, writer, "/",
                    (const char *const[]){ "/bin/bash", "-c", copy_script, "copy", e2b_step_arg(b, i, 0), to,
                                           mode ? mode : "", folder_mode(user, writer), NULL },
                    on_step_done);
}

static void run_copy(struct e2b_build *b, unsigned i)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        char to[4096] = "";

        e2b_step_resolve(b, e2b_step_arg(b, i, 1), to, sizeof(to));
        b->sending = e2b_build_file_find(b, e2b_text(e2b_step(b, i), "filesHash"));
        b->sent = 0;
        begin_args(b, &args);
        cay_op_key_text(&args.j, "path", COPY_PLACE);
        cay_op_key_bool(&args.j, "parents", true);
        cay_op_key_bool(&args.j, "as_root", strcmp(copier(b, to), "root") == 0);
        ask(b, "archive_put", &args, false, on_unpacked);
}

static void log_step(struct e2b_build *b, unsigned i)
{
        const char *type = e2b_step_type(b, i);
        char text[512];

        snprintf(text, sizeof(text), "[builder %u/%u] %s %.400s", i + 1, b->step_count, type,
                 e2b_step_arg(b, i, 0));
        text[cay_utf8_cut(text, strlen(text))] = '\0';
        e2b_build_log(b, "info", text, strlen(text));
}

/* Who may no longer call gets no further step. */
static bool is_over(struct e2b_build *b)
{
        const char *why = cay_pass_over(&b->pass);

        if (!why)
                return false;
        give_up(b, NULL, why);
        remove_sandbox(b);
        return true;
}

static void next_step(struct e2b_build *b)
{
        if (is_over(b))
                return;
        while (b->step < b->step_count) {
                unsigned i = b->step++;
                const char *type = e2b_step_type(b, i);

                log_step(b, i);
                if (strcmp(type, "USER") == 0)
                        cay_str_copy(b->user, sizeof(b->user), e2b_step_arg(b, i, 0));
                if (strcmp(type, "USER") == 0 || strcmp(type, "ENV") == 0)
                        continue;
                if (strcmp(type, "COPY") == 0)
                        run_copy(b, i);
                else if (strcmp(type, "WORKDIR") == 0)
                        run_workdir(b, i);
                else
                        run_run(b, i);
                return;
        }
        take_snapshots(b);
}

/* The end */

static void on_removed(struct e2b_build *b, const struct cay_json_value *answer)
{
        (void)answer;
        if (!b->fails)
                e2b_build_log(b, "info", "Build finished", 14);
        e2b_build_end(b, b->fails ? E2B_BUILD_FAILED : E2B_BUILD_READY);
}

static void removal_answer(struct cay_call *a, enum cay_op_status status, const struct cay_json_value *answer)
{
        (void)status;
        on_removed(of_call(a), answer);
}

/* It is gone, or its engine is: it ends when that is back. */
static void removal_fail(struct cay_call *a, const struct cay_error *err, const char *field,
                         const char *first)
{
        static const struct cay_viewer all = { .sees_all = true };
        struct e2b_build *b = of_call(a);

        (void)err;
        (void)field;
        (void)first;
        cay_service_discard(b->e2b->world->service, &all, b->sandbox);
        on_removed(b, NULL);
}

static void remove_sandbox(struct e2b_build *b)
{
        static const struct cay_call_ops ops = { .on_answer = removal_answer, .on_fail = removal_fail };
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_call_what what = { .op = cay_op_find("sandbox_destroy"),
                                      .world = b->e2b->world,
                                      .caller = b->caller,
                                      .is_known = true,
                                      .dialect = CAY_OP_E2B,
                                      .fd = -1,
                                      .args = &args,
                                      .ops = &ops,
                                      .user = b };

        b->sending = NULL;
        if (b->sandbox[0]) {
                begin_args(b, &args);
                b->ask = cay_call(&what);
        }
        if (!b->ask)
                on_removed(b, NULL);
}

static void on_taken(struct e2b_build *b, const struct cay_json_value *snapshot)
{
        (void)snapshot;
        b->snapshot_at++;
        take_snapshots(b);
}

static void take_snapshot(struct e2b_build *b, const struct cay_json_value *answer)
{
        cay_auto_call_args struct cay_call_args args = { 0 };

        (void)answer;
        begin_args(b, &args);
        cay_op_key_text(&args.j, "name", b->snapshots[b->snapshot_at]);
        ask(b, "snapshot_create", &args, false, on_taken);
}

/* A tag means the newest build that has it. */
static void take_snapshots(struct e2b_build *b)
{
        cay_auto_call_args struct cay_call_args args = { 0 };

        if (b->snapshot_at == b->snapshot_count) {
                remove_sandbox(b);
                return;
        }
        if (!e2b_is_snapshot(b->e2b->world, b->caller.owner, b->snapshots[b->snapshot_at])) {
                take_snapshot(b, NULL);
                return;
        }
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "snapshot", b->snapshots[b->snapshot_at]);
        ask(b, "snapshot_remove", &args, false, take_snapshot);
}

/* The beginning */

static void on_made(struct e2b_build *b, const struct cay_json_value *sandbox)
{
        cay_str_copy(b->sandbox, sizeof(b->sandbox), e2b_text(sandbox, "sandbox_id"));
        if (b->spec)
                next_step(b);
        else
                take_snapshots(b);
}

/* As USER and WORKDIR leave them. */
static void find_last(const struct e2b_build *b, const char **ret_user, char *workdir, size_t size)
{
        struct e2b_build at = { 0 };

        *ret_user = b->user;
        cay_str_copy(at.workdir, sizeof(at.workdir), b->workdir);
        for (unsigned i = 0; i < b->step_count; i++) {
                if (strcmp(e2b_step_type(b, i), "USER") == 0)
                        *ret_user = e2b_step_arg(b, i, 0);
                if (strcmp(e2b_step_type(b, i), "WORKDIR") == 0 &&
                    e2b_step_resolve(&at, e2b_step_arg(b, i, 0), workdir, size) == 0)
                        cay_str_copy(at.workdir, sizeof(at.workdir), workdir);
        }
        cay_str_copy(workdir, size, at.workdir);
}

static void put_template(const struct e2b_build *b, struct cay_json *j)
{
        static const char *const own[][2] = { E2B_OWN_VARIABLES };
        const char *start = e2b_text(cay_json_in_root(b->spec), "startCmd"),
                   *ready = e2b_text(cay_json_in_root(b->spec), "readyCmd"), *user;
        char workdir[sizeof(b->workdir)];

        find_last(b, &user, workdir, sizeof(workdir));
        cay_json_key(j, "env");
        cay_json_begin_object(j);
        for (unsigned i = 0; i < CAY_COUNT(own); i++)
                if (!e2b_steps_set(b, 0, b->step_count, 0, own[i][0]))
                        cay_op_key_text(j, own[i][0], own[i][1]);
        e2b_steps_put_variables(b, j, b->step_count);
        cay_op_key_text(j, E2B_VARIABLE_USER, user);
        cay_op_key_text(j, E2B_VARIABLE_WORKDIR, workdir);
        if (start && start[0])
                cay_op_key_text(j, E2B_VARIABLE_START, start);
        if (ready && ready[0])
                cay_op_key_text(j, E2B_VARIABLE_READY, ready);
        cay_json_end_object(j);
}

static void put_limits(const struct e2b_build *b, struct cay_json *j)
{
        char text[32];

        cay_json_key(j, "limits");
        cay_json_begin_object(j);
        if (b->cpus > 0) {
                snprintf(text, sizeof(text), "%" PRId64, b->cpus);
                cay_op_key_text(j, "cpus", text);
        }
        if (b->memory_mb > 0) {
                snprintf(text, sizeof(text), "%" PRId64 "m", b->memory_mb);
                cay_op_key_text(j, "memory", text);
        }
        if (b->disk_mb > 0) {
                snprintf(text, sizeof(text), "%" PRId64 "m", b->disk_mb);
                cay_op_key_text(j, "disk", text);
        }
        cay_json_end_object(j);
}

/* What the base says about its user and its folder. */
static void begin_place(struct e2b_build *b)
{
        if (!e2b_template_variable(b->e2b->world, b->caller.owner, b->base, E2B_VARIABLE_USER, b->user,
                                   sizeof(b->user)) ||
            !e2b_is_build_user(b->user))
                cay_str_copy(b->user, sizeof(b->user), "user");
        if (!e2b_template_variable(b->e2b->world, b->caller.owner, b->base, E2B_VARIABLE_WORKDIR, b->workdir,
                                   sizeof(b->workdir)))
                cay_str_copy(b->workdir, sizeof(b->workdir), "/home/user");
}

int e2b_build_run(struct e2b_build *b, struct e2b_request *q, const char *base, struct cay_json_in *spec,
                  struct cay_error *err)
{
        cay_auto_call_args struct cay_call_args args = { 0 };

        b->spec = spec;
        cay_str_copy(b->base, sizeof(b->base), base);
        begin_place(b);
        if (spec && e2b_steps_check(b, err) < 0) {
                cay_json_in_free(b->spec);
                b->spec = NULL;
                return -1;
        }
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "template", base);
        cay_op_key_text(&args.j, "timeout", SANDBOX_TIME);
        cay_op_key_text(&args.j, "idle_timeout", IDLE_TIME);
        if (spec) {
                put_template(b, &args.j);
                put_limits(b, &args.j);
                e2b_network_put(q, &args.j, NULL, true, err); /* nothing to refuse */
        }
        cay_json_key(&args.j, "labels");
        cay_json_begin_object(&args.j);
        cay_op_key_text(&args.j, E2B_LABEL "build", b->id);
        cay_json_end_object(&args.j);
        b->state = E2B_BUILD_BUILDING;
        cay_timer_clear(&b->expiry);
        ask(b, "sandbox_create", &args, false, on_made);
        return 0;
}
