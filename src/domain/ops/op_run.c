/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-shot: makes a sandbox, runs code or a command in it, and destroys it.
 *
 * Theory of operation. This op calls others: sandbox_create, file_write, then exec_run, each with its own
 * arguments and responder (`make`, `exec`). They define templates, limits, confirmations and commands; only
 * the order is here. exec_run's output goes to the client unchanged. The answer waits until it is stored that
 * the sandbox is gone, not until the last of its mounts is: no caller waits for that, and what fails there
 * becomes a sandbox in error, with an event.
 *
 * A sandbox that is not kept has a lifetime that ends soon after its command's, so a front that dies in the
 * middle leaves nothing forever. If the client goes away, the run ends and the sandbox is destroyed, kept or
 * not, unless a stream has sent its id.
 *
 * A confirmation covers everything that decides what runs: it is passed to sandbox_create as the purpose. The
 * template can require it; for code from a chat message, the code's effect can (domain/intent/danger.c).
 */
#include <stdio.h>
#include <string.h>

#include "foundation/base/arena.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"
#include "foundation/base/utf8.h"
#include "domain/intent/intent.h"
#include "foundation/loop/loop.h"
#include "domain/ops/create_args.h"
#include "domain/ops/exec_args.h"
#include "domain/ops/put_files.h"
#include "domain/ops/run_choice.h"
#include "domain/ops/template_use.h"
#include "domain/ops/most_time.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/results.h"

#define FILES_MAX 64u
#define WORDS_MAX (1024u * 1024) /* of a template's command */
#define PURPOSE_MAX (3u << 20)
#define DANGER_MAX 256u
#define DANGER_SHOWN 60u          /* bytes of the code */
#define TIMEOUT_MS 60000u         /* if neither request nor template has one */
#define TIMEOUT_MAX_MS 2592000000 /* 30 days */
#define SLACK_MS 60000u           /* lifetime of the sandbox beyond its command's */

struct args {
        struct cay_create_args create;
        struct cay_exec_args exec;
        const char *code, *language, *task, *trigger, *from_message;
        struct cay_field_map files;
        bool keep, has_keep;
};

static const struct cay_field fields[] = {
        { "code", CAY_FIELD_TEXT, offsetof(struct args, code), 0,
          "code for the template's interpreter, on its standard input", .min = 1, .max = CAY_EXEC_STDIN_MAX },
        { "language", CAY_FIELD_TEXT, offsetof(struct args, language), 0,
          "language of the code: python (default), javascript, shell, bash, or a template's name", .min = 1,
          .max = 63 },
        { "command", CAY_FIELD_WORDS, offsetof(struct args, exec.command), 0,
          "instead of code: program and arguments as a list, or a line for /bin/sh; default: the template's "
          "command",
          .max = 4096, .item_max = 128 * 1024 },
        { "template", CAY_FIELD_TEXT, offsetof(struct args, create.template_name), 0,
          "template of the sandbox; default: by task, by language, then host", .min = 1, .max = 63 },
        { "task", CAY_FIELD_TEXT, offsetof(struct args, task), 0,
          "text that selects the template by its triggers", .min = 1, .max = 65536 },
        { "trigger", CAY_FIELD_TEXT, offsetof(struct args, trigger), 0, "the same as task", .min = 1,
          .max = 65536 },
        { "files", CAY_FIELD_MAP, offsetof(struct args, files), 0,
          "text files to create: path (below the workspace unless it starts with /) to text",
          .max = FILES_MAX, .item_max = CAY_EXEC_STDIN_MAX },
        { "keep", CAY_FIELD_BOOL, offsetof(struct args, keep), 0,
          "keep the sandbox afterwards; default: as the template's auto_cleanup says",
          .given = CAY_FIELD_GIVEN(struct args, has_keep) },
        { "idle_timeout", CAY_FIELD_DURATION, offsetof(struct args, create.idle_ms), 0,
          "idle time after which a kept sandbox is destroyed",
          .given = CAY_FIELD_GIVEN(struct args, create.has_idle) },
        { "from_message", CAY_FIELD_TEXT, offsetof(struct args, from_message), 0,
          "the chat message that the code was taken from: what destroys, overwrites or sends data away, or "
          "is for production, then needs a confirmation",
          .min = 1, .max = CAY_INTENT_TEXT_MAX },
        CAY_EXEC_FIELDS(struct args, exec),
#define CAY_CREATE_AT(member) offsetof(struct args, create.member)
#include "domain/ops/create_fields.def"
#undef CAY_CREATE_AT
        { "execution_id", CAY_FIELD_TEXT, offsetof(struct args, create.execution_id), 0,
          "single-use id: a second request with it runs nothing (409)", .min = 1,
          .max = CAY_SERVICE_CLAIM_MAX },
        {},
};

enum word { NO_WORD, ANSWER, FAIL, END, ABORT };

struct shot {
        struct cay_op_call *call; /* the client's */
        struct cay_op_call make, exec;
        struct cay_create_args create_args;
        struct cay_exec_args exec_args;
        struct cay_put_files files;
        struct cay_service_call unmake;
        struct cay_deferred release;
        struct cay_arena mem; /* words that must outlive a reload of the registry */
        struct cay_run_choice choice;
        char sandbox[CAY_NAME_MAX + 1]; /* "": none */
        bool keep, streams, gone;
        enum { MAKES, FILES, RUNS } phase;

        /* the answer, while the sandbox is being destroyed */
        enum word word;
        enum cay_op_status status;
        struct cay_op_result answer;
        struct cay_error err;
        const char *field;
        char field_copy[64]; /* the field name given to fail is valid only during that call */
};

static void release_one_shot(struct cay_deferred *d)
{
        struct shot *s = cay_container_of(d, struct shot, release);

        cay_op_result_done(&s->answer);
        cay_arena_done(&s->mem);
        free(s);
}

static void say(struct shot *s)
{
        struct cay_op_call *c = s->call;

        s->release.run = release_one_shot;
        cay_loop_defer(c->world->loop, &s->release);
        c->on_gone = NULL;
        switch (s->gone && s->word != FAIL ? ABORT : s->word) {
        case ANSWER:
                c->responder->answer(c, s->status, &s->answer);
                break;
        case FAIL:
                c->responder->fail(c, &s->err, s->field);
                break;
        case END:
                cay_op_end(c);
                break;
        default:
                cay_op_abort(c);
                break;
        }
}

/* A sandbox that could not be destroyed ends with its lifetime. */
static void on_unmade(struct cay_job *job)
{
        struct shot *s = cay_container_of(job, struct shot, unmake.job);

        if (job->err.code != CAY_OK && job->err.code != CAY_NOT_FOUND)
                cay_log_warn("a one-shot sandbox stays until its life ends", "id=%s sandbox=%s error=%s",
                             s->call->request_id, s->sandbox, job->err.msg);
        say(s);
}

static void finish(struct shot *s, enum word word)
{
        struct cay_viewer viewer = cay_op_viewer(s->call);

        s->word = word;
        if (s->sandbox[0] == '\0' || (s->keep && (!s->gone || s->streams) && word != FAIL)) {
                say(s);
                return;
        }
        s->unmake.early = true;
        cay_job_init(&s->unmake.job, on_unmade);
        cay_service_destroy(s->call->world->service, &viewer, s->sandbox, &s->unmake);
}

static void fail(struct shot *s, const struct cay_error *err, const char *field)
{
        s->err = *err;
        s->field = NULL;
        if (field) {
                cay_str_copy(s->field_copy, sizeof(s->field_copy), field);
                s->field = s->field_copy;
        }
        finish(s, FAIL);
}

/* Responder of exec_run's call */

static struct shot *of_exec(struct cay_op_call *c)
{
        return cay_container_of(c, struct shot, exec);
}

/* The lifetime and idle time of a kept sandbox. */
static void put_life(const struct shot *s, struct cay_json *j)
{
        struct cay_viewer viewer = cay_op_viewer(s->call);
        struct cay_sandbox_view view = { 0 };
        struct cay_error err = { 0 };
        bool is_there =
                s->keep && cay_service_get(s->call->world->service, &viewer, s->sandbox, &view, &err) == 0;

        cay_json_key(j, "expires_in_ms");
        if (is_there && view.expires)
                cay_json_u64(j, view.expires_in_ms);
        else
                cay_json_null(j);
        cay_json_key(j, "sandbox_idle_limit_ms");
        if (is_there)
                cay_json_u64(j, view.idle_limit_ms);
        else
                cay_json_null(j);
}

/* Our own members, at the end of the answer. */
static void exec_add_members(struct cay_op_call *c, struct cay_json *j)
{
        const struct shot *s = of_exec(c);

        cay_op_key_text(j, "template", s->choice.template_name);
        cay_op_key_bool(j, "kept", s->keep);
        put_life(s, j);
}

static void exec_answer(struct cay_op_call *c, enum cay_op_status status, struct cay_op_result *r)
{
        struct shot *s = of_exec(c);

        s->status = status;
        cay_op_result_move(&s->answer, r);
        finish(s, ANSWER);
}

static void exec_fail(struct cay_op_call *c, const struct cay_error *err, const char *field)
{
        fail(of_exec(c), err, field);
}

static int exec_begin(struct cay_op_call *c, const struct cay_op_bytes *bytes)
{
        struct shot *s = of_exec(c);

        s->streams = s->streams || !bytes;
        return cay_op_begin(s->call, bytes);
}

static void exec_end(struct cay_op_call *c, bool was_cut)
{
        struct shot *s = of_exec(c);

        s->gone = s->gone || was_cut;
        finish(s, was_cut ? ABORT : END);
}

static size_t on_body(struct cay_op_call *c, const void *bytes, size_t len)
{
        struct shot *s = c->state;

        return s->word == NO_WORD && s->exec.on_body ? s->exec.on_body(&s->exec, bytes, len) : len;
}

static void on_body_end(struct cay_op_call *c)
{
        struct shot *s = c->state;

        if (s->word == NO_WORD && s->exec.on_body_end)
                s->exec.on_body_end(&s->exec);
}

static int on_order(struct cay_op_call *c, const struct cay_op_order *order, struct cay_error *err)
{
        struct shot *s = c->state;

        if (s->word != NO_WORD || !s->exec.on_order)
                return cay_fail(err, CAY_CONFLICT, "the command has ended");
        return s->exec.on_order(&s->exec, order, err);
}

static int exec_read(struct cay_op_call *c)
{
        struct shot *s = of_exec(c);

        s->call->on_body = on_body;
        s->call->on_body_end = on_body_end;
        s->call->on_order = on_order;
        return cay_op_read(s->call);
}

/* The rest comes from the client. */
static const struct cay_op_responder exec_responder = {
        .answer = exec_answer,
        .fail = exec_fail,
        .begin = exec_begin,
        .end = exec_end,
        .read = exec_read,
};

/* The code is the command's input: no other input is allowed. */
static void start_exec(struct shot *s)
{
        const struct cay_op_call *c = s->call;
        const struct args *a = c->args;

        s->exec = (struct cay_op_call){ .op = &cay_op_exec_run,
                                        .responder = &exec_responder,
                                        .world = c->world,
                                        .caller = c->caller,
                                        .is_known = c->is_known,
                                        .dialect = c->dialect,
                                        .args = &s->exec_args,
                                        .fd = -1,
                                        .wants_stream = c->wants_stream,
                                        .is_two_way = c->is_two_way && !a->code,
                                        .add_members = exec_add_members,
                                        .outer = s->call };
        memcpy(s->exec.request_id, c->request_id, sizeof(s->exec.request_id));
        s->exec_args.id = s->sandbox;
        s->phase = RUNS;
        cay_op_run(&s->exec);
}

static void on_files(struct cay_put_files *files, const struct cay_error *err)
{
        struct shot *s = cay_container_of(files, struct shot, files);

        if (s->gone)
                finish(s, ABORT);
        else if (err->code != CAY_OK)
                fail(s, err, "files");
        else
                start_exec(s);
}

static void start_files(struct shot *s)
{
        const struct args *a = s->call->args;

        if (a->files.count == 0) {
                start_exec(s);
                return;
        }
        s->phase = FILES;
        s->files.on_done = on_files;
        cay_put_files_begin(&s->files, s->call, s->sandbox, &a->files);
}

/* Responder of sandbox_create's call: one JSON answer, or a failure */

static struct shot *of_make(struct cay_op_call *c)
{
        return cay_container_of(c, struct shot, make);
}

static void make_answer(struct cay_op_call *c, enum cay_op_status status, struct cay_op_result *r)
{
        struct shot *s = of_make(c);

        (void)status;
        (void)r;
        memcpy(s->sandbox, c->made, sizeof(s->sandbox));
        if (s->gone)
                finish(s, ABORT);
        else
                start_files(s);
}

static void make_fail(struct cay_op_call *c, const struct cay_error *err, const char *field)
{
        struct shot *s = of_make(c);

        memcpy(s->call->first, c->first, sizeof(c->first));
        memcpy(s->call->confirm, c->confirm, sizeof(c->confirm));
        fail(s, err, field);
}

static void make_end(struct cay_op_call *c, bool was_cut)
{
        (void)was_cut;
        finish(of_make(c), ABORT);
}

static const struct cay_op_responder make_responder = {
        .open = cay_op_open_nowhere, .answer = make_answer, .fail = make_fail, .end = make_end
};

/* The client */

static void on_gone(struct cay_op_call *c)
{
        struct shot *s = c->state;
        struct cay_op_call *sub = s->phase == RUNS ? &s->exec : &s->make;

        s->gone = true;
        if (s->word != NO_WORD)
                return;
        if (s->phase == FILES)
                cay_put_files_stop(&s->files);
        else if (sub->on_gone)
                sub->on_gone(sub);
}

static void on_drain(struct cay_op_call *c)
{
        struct shot *s = c->state;

        if (s->word == NO_WORD && s->phase == RUNS && s->exec.on_drain)
                s->exec.on_drain(&s->exec);
}

/* The request */

static int put_purpose(const struct args *a, struct cay_buf *out)
{
        struct cay_json j;

        cay_json_init(&j, out);
        cay_json_begin_array(&j);
        cay_json_text(&j, a->code);
        cay_json_text(&j, a->language);
        cay_json_text(&j, a->exec.command.line);
        for (unsigned i = 0; i < a->exec.command.count; i++)
                cay_json_text(&j, a->exec.command.items[i]);
        cay_json_null(&j);
        cay_json_text(&j, a->exec.workdir);
        cay_json_text(&j, a->exec.cwd);
        cay_json_text(&j, a->exec.user);
        cay_json_text(&j, a->exec.input);
        cay_json_bool(&j, a->keep);
        for (unsigned i = 0; i < a->files.count; i++) {
                cay_json_text(&j, a->files.pairs[i].name);
                cay_json_text(&j, a->files.pairs[i].value);
        }
        cay_json_end_array(&j);
        return cay_json_end(&j);
}

static bool find_danger(const struct args *a, const struct cay_intent_danger *in_message,
                        struct cay_intent_danger *ret)
{
        const struct cay_field_texts *command = &a->exec.command;

        *ret = *in_message;
        if (ret->what || (a->code && cay_intent_find_danger(a->code, strlen(a->code), ret)) ||
            (command->line && cay_intent_find_danger(command->line, strlen(command->line), ret)) ||
            (a->exec.input &&
             cay_intent_find_danger(a->exec.input, strlen(a->exec.input), ret))) /* a shell's */
                return true;
        for (unsigned i = 0; i < command->count; i++)
                if (cay_intent_find_danger(command->items[i], strlen(command->items[i]), ret))
                        return true;
        for (unsigned i = 0; i < a->files.count; i++)
                if (cay_intent_find_danger(a->files.pairs[i].value, strlen(a->files.pairs[i].value), ret))
                        return true;
        return false;
}

/*
 * A message does not confirm anything: destructive code from a message needs a confirmation, whatever the
 * message said.
 */
static int fill_danger(struct shot *s, const struct args *a, struct cay_error *err)
{
        struct cay_intent_danger found;
        struct cay_intent_result said;
        char why[DANGER_MAX];
        int len;

        if (!a->from_message)
                return 0;
        s->field = "from_message";
        if (cay_intent_detect(a->from_message, strlen(a->from_message), &said, NULL, err) < 0)
                return -1;
        s->field = NULL;
        if (!find_danger(a, &said.danger, &found))
                return 0;
        len = snprintf(why, sizeof(why), "it %s ('%.*s')", found.what,
                       (int)cay_utf8_cut(found.text, found.len < DANGER_SHOWN ? found.len : DANGER_SHOWN),
                       found.text);
        s->create_args.danger = cay_arena_copy(&s->mem, why, (size_t)len);
        return s->create_args.danger ? 0 : cay_fail(err, CAY_INTERNAL, "no memory for a confirmation");
}

static int fill_purpose(struct shot *s, const struct args *a, struct cay_error *err)
{
        cay_auto_buf struct cay_buf text = { 0 };

        if (!s->create_args.danger && (!s->choice.row || !s->choice.row->needs_confirm))
                return 0;
        cay_buf_init(&text, PURPOSE_MAX);
        if (put_purpose(a, &text) < 0)
                return cay_fail(err, CAY_INVALID, "code: too long to be confirmed");
        s->create_args.purpose = cay_arena_copy(&s->mem, cay_buf_data(&text), text.len);
        return s->create_args.purpose ? 0 : cay_fail(err, CAY_INTERNAL, "no memory for a confirmation");
}

static bool has_command(const struct cay_field_texts *words)
{
        return words->line || words->count > 0;
}

static int fill_command(struct shot *s, const struct args *a, struct cay_error *err)
{
        const struct cay_template *t = s->choice.row;

        if (a->code) {
                s->exec_args.command = s->choice.interpreter;
                s->exec_args.input = a->code;
        } else if (!has_command(&a->exec.command) && t && has_command(&t->command)) {
                if (cay_run_copy_words(&s->mem, &t->command, &s->exec_args.command) < 0)
                        return cay_fail(err, CAY_INTERNAL, "no memory for a command");
        }
        if (has_command(&s->exec_args.command))
                return 0;
        s->field = "code";
        return cay_fail(err, CAY_INVALID, "code: required, unless command is set");
}

static uint64_t find_timeout(const struct shot *s)
{
        const struct cay_template *t = s->choice.row;

        return s->exec_args.timeout_ms         ? s->exec_args.timeout_ms
               : s->create_args.limits.wall_ms ? s->create_args.limits.wall_ms
               : t && t->limits.wall_ms        ? t->limits.wall_ms
                                               : TIMEOUT_MS;
}

static void fill_times(struct shot *s)
{
        s->exec_args.timeout_ms = cay_op_bound_time(s->call, find_timeout(s));
        if (s->keep)
                return;
        s->create_args.brief = true;
        s->create_args.has_timeout = true;
        s->create_args.timeout_ms = s->exec_args.timeout_ms + SLACK_MS;
}

static int check(const struct args *a, const char **ret_field, struct cay_error *err)
{
        *ret_field = "code";
        if (a->code && has_command(&a->exec.command))
                return cay_fail(err, CAY_INVALID, "code: excludes command; set only one");
        *ret_field = "stdin";
        if (a->code && a->exec.input)
                return cay_fail(err, CAY_INVALID,
                                "stdin: excludes code, which is read from standard input; write the code to "
                                "a file and run that");
        *ret_field = "open_stdin";
        if (a->code && a->exec.has_stdin)
                return cay_fail(err, CAY_INVALID,
                                "open_stdin: excludes code, which is read from standard input");
        *ret_field = "language";
        if (a->language && !a->code)
                return cay_fail(err, CAY_INVALID, "language: needs code");
        *ret_field = "trigger";
        if (a->trigger && a->task)
                return cay_fail(err, CAY_INVALID, "trigger: the same as task; set only one");
        *ret_field = "timeout";
        if (a->exec.timeout_ms > TIMEOUT_MAX_MS)
                return cay_fail(err, CAY_INVALID, "timeout: at most 30 days");
        *ret_field = NULL;
        return 0;
}

static int fill(struct shot *s, const struct args *a, struct cay_error *err)
{
        const struct cay_op_world *w = s->call->world;
        const struct cay_run_asks asks = { .template_name = a->create.template_name,
                                           .task = a->task ? a->task : a->trigger,
                                           .language = a->language,
                                           .has_code = a->code != NULL };

        if (check(a, &s->field, err) < 0 || cay_run_choose(w->templates ? w->templates->set : NULL, &asks,
                                                           &s->mem, &s->choice, &s->field, err) < 0)
                return -1;
        s->create_args = a->create;
        s->exec_args = a->exec;
        s->create_args.template_name = s->choice.template_name;
        s->exec_args.claimed_id = a->create.execution_id ? a->create.execution_id : s->call->request_id;
        s->keep = a->has_keep ? a->keep : s->choice.row && !s->choice.row->auto_cleanup;
        if (fill_command(s, a, err) < 0 || fill_danger(s, a, err) < 0 || fill_purpose(s, a, err) < 0)
                return -1;
        s->field = "timeout";
        if (cay_op_check_time(s->call, s->field, a->exec.timeout_ms, err) < 0)
                return -1;
        s->field = NULL;
        fill_times(s);
        return 0;
}

static void start_make(struct shot *s)
{
        const struct cay_op_call *c = s->call;

        s->make = (struct cay_op_call){ .op = &cay_op_sandbox_create,
                                        .responder = &make_responder,
                                        .world = c->world,
                                        .caller = c->caller,
                                        .is_known = c->is_known,
                                        .dialect = c->dialect,
                                        .args = &s->create_args,
                                        .fd = c->fd,
                                        .peer_fd = c->peer_fd };
        memcpy(s->make.request_id, c->request_id, sizeof(s->make.request_id));
        s->make.op->run(&s->make);
}

static void run_one_shot(struct cay_op_call *c)
{
        struct shot *s = calloc(1, sizeof(*s));
        const struct args *a = c->args;
        struct cay_error err = { 0 };

        if (!s) {
                cay_op_fail_memory(c);
                return;
        }
        s->call = c;
        cay_arena_init(&s->mem, WORDS_MAX + PURPOSE_MAX + 4096);
        if (fill(s, a, &err) < 0) {
                fail(s, &err, s->field);
                return;
        }
        c->state = s;
        c->on_gone = on_gone;
        c->on_drain = on_drain;
        c->works_for_listener = !a->exec.stream && !c->wants_stream;
        start_make(s);
}

RESULT(result_run_output, "RunResult", ALSO(cay_result_exec_output), TEXT("template"), BOOL("kept"),
       MAYBE("expires_in_ms", NUMBER), MAYBE("sandbox_idle_limit_ms", NUMBER));

const struct cay_op cay_op_code_run = {
        .name = "code_run",
        .route = "POST /api/run",
        .doc = "Runs code or a command in a new sandbox, which is destroyed afterwards",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_STREAM,
        .fields = fields,
        .args_size = sizeof(struct args),
        .result = &result_run_output,
        .run = run_one_shot,
};
