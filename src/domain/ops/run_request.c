/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation. A confirmation covers everything that decides what runs: it is passed to
 * sandbox_create as the purpose. The template can require it; for code from a chat message, the code's effect
 * can (domain/intent/danger.c). A sandbox that is not kept has a lifetime that ends soon after its command's,
 * so a front that dies in the middle leaves nothing forever.
 */
#include "domain/ops/run_request.h"

#include <stdio.h>
#include <string.h>

#include "domain/intent/intent.h"
#include "domain/ops/most_time.h"
#include "domain/ops/template_use.h"
#include "foundation/base/utf8.h"

#define FILES_MAX 64u
#define WORDS_MAX (1024u * 1024) /* of a template's command */
#define PURPOSE_MAX (3u << 20)
#define DANGER_MAX 256u
#define DANGER_SHOWN 60u          /* bytes of the code */
#define TIMEOUT_MS 60000u         /* if neither request nor template has one */
#define TIMEOUT_MAX_MS 2592000000 /* 30 days */
#define SLACK_MS 60000u           /* lifetime of the sandbox beyond its command's */

const struct cay_field cay_run_fields[] = {
        { "code", CAY_FIELD_TEXT, offsetof(struct cay_run_args, code), 0,
          "code for the template's interpreter, on its standard input", .min = 1, .max = CAY_EXEC_STDIN_MAX },
        { "language", CAY_FIELD_TEXT, offsetof(struct cay_run_args, language), 0,
          "language of the code: python (default), javascript, shell, bash, or a template's name", .min = 1,
          .max = 63 },
        { "command", CAY_FIELD_WORDS, offsetof(struct cay_run_args, exec.command), 0,
          "instead of code: program and arguments as a list, or a line for /bin/sh; default: the template's "
          "command",
          .max = 4096, .item_max = 128 * 1024 },
        { "template", CAY_FIELD_TEXT, offsetof(struct cay_run_args, create.template_name), 0,
          "template of the sandbox; default: by task, by language, then host", .min = 1, .max = 63 },
        { "task", CAY_FIELD_TEXT, offsetof(struct cay_run_args, task), 0,
          "text that selects the template by its triggers", .min = 1, .max = 65536 },
        { "trigger", CAY_FIELD_TEXT, offsetof(struct cay_run_args, trigger), 0, "the same as task", .min = 1,
          .max = 65536 },
        { "files", CAY_FIELD_MAP, offsetof(struct cay_run_args, files), 0,
          "text files to create: path (below the workspace unless it starts with /) to text",
          .max = FILES_MAX, .item_max = CAY_EXEC_STDIN_MAX },
        { "keep", CAY_FIELD_BOOL, offsetof(struct cay_run_args, keep), 0,
          "keep the sandbox afterwards; default: as the template's auto_cleanup says",
          .given = CAY_FIELD_GIVEN(struct cay_run_args, has_keep) },
        { "idle_timeout", CAY_FIELD_DURATION, offsetof(struct cay_run_args, create.idle_ms), 0,
          "idle time after which a kept sandbox is destroyed",
          .given = CAY_FIELD_GIVEN(struct cay_run_args, create.has_idle) },
        { "from_message", CAY_FIELD_TEXT, offsetof(struct cay_run_args, from_message), 0,
          "the chat message that the code was taken from: what destroys, overwrites or sends data away, or "
          "is for production, then needs a confirmation",
          .min = 1, .max = CAY_INTENT_TEXT_MAX },
        CAY_EXEC_FIELDS(struct cay_run_args, exec),
#define CAY_CREATE_AT(member) offsetof(struct cay_run_args, create.member)
#include "domain/ops/create_fields.def"
#undef CAY_CREATE_AT
        { "execution_id", CAY_FIELD_TEXT, offsetof(struct cay_run_args, create.execution_id), 0,
          "single-use id: a second request with it runs nothing (409)", .min = 1,
          .max = CAY_SERVICE_CLAIM_MAX },
        {},
};

static int put_purpose(const struct cay_run_args *a, struct cay_buf *out)
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

static bool find_danger(const struct cay_run_args *a, const struct cay_intent_danger *in_message,
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
static int fill_danger(struct cay_run_request *r, const struct cay_run_args *a, const char **field,
                       struct cay_error *err)
{
        struct cay_intent_danger found;
        struct cay_intent_result said;
        char why[DANGER_MAX];
        int len;

        if (!a->from_message)
                return 0;
        *field = "from_message";
        if (cay_intent_detect(a->from_message, strlen(a->from_message), &said, NULL, err) < 0)
                return -1;
        *field = NULL;
        if (!find_danger(a, &said.danger, &found))
                return 0;
        len = snprintf(why, sizeof(why), "it %s ('%.*s')", found.what,
                       (int)cay_utf8_cut(found.text, found.len < DANGER_SHOWN ? found.len : DANGER_SHOWN),
                       found.text);
        r->create.danger = cay_arena_copy(&r->mem, why, (size_t)len);
        return r->create.danger ? 0 : cay_fail(err, CAY_INTERNAL, "no memory for a confirmation");
}

static int fill_purpose(struct cay_run_request *r, const struct cay_run_args *a, struct cay_error *err)
{
        cay_auto_buf struct cay_buf text = { 0 };

        if (!r->create.danger && (!r->choice.row || !r->choice.row->needs_confirm))
                return 0;
        cay_buf_init(&text, PURPOSE_MAX);
        if (put_purpose(a, &text) < 0)
                return cay_fail(err, CAY_INVALID, "code: too long to be confirmed");
        r->create.purpose = cay_arena_copy(&r->mem, cay_buf_data(&text), text.len);
        return r->create.purpose ? 0 : cay_fail(err, CAY_INTERNAL, "no memory for a confirmation");
}

static bool has_command(const struct cay_field_texts *words)
{
        return words->line || words->count > 0;
}

static int fill_command(struct cay_run_request *r, const struct cay_run_args *a, const char **field,
                        struct cay_error *err)
{
        const struct cay_template *t = r->choice.row;

        if (a->code) {
                r->exec.command = r->choice.interpreter;
                r->exec.input = a->code;
        } else if (!has_command(&a->exec.command) && t && has_command(&t->command)) {
                if (cay_run_copy_words(&r->mem, &t->command, &r->exec.command) < 0)
                        return cay_fail(err, CAY_INTERNAL, "no memory for a command");
        }
        if (has_command(&r->exec.command))
                return 0;
        *field = "code";
        return cay_fail(err, CAY_INVALID, "code: required, unless command is set");
}

static uint64_t find_timeout(const struct cay_run_request *r)
{
        const struct cay_template *t = r->choice.row;

        return r->exec.timeout_ms         ? r->exec.timeout_ms
               : r->create.limits.wall_ms ? r->create.limits.wall_ms
               : t && t->limits.wall_ms   ? t->limits.wall_ms
                                          : TIMEOUT_MS;
}

static void fill_times(struct cay_run_request *r, const struct cay_op_call *call)
{
        r->exec.timeout_ms = cay_op_bound_time(call, find_timeout(r));
        if (r->keep)
                return;
        r->create.brief = true;
        r->create.has_timeout = true;
        r->create.timeout_ms = r->exec.timeout_ms + SLACK_MS;
}

static int check(const struct cay_run_args *a, const char **ret_field, struct cay_error *err)
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
                return cay_fail(err, CAY_INVALID, "timeout: at most 2592000 seconds (30 days)");
        *ret_field = NULL;
        return 0;
}

int cay_run_request_fill(struct cay_run_request *r, const struct cay_op_call *call,
                         const struct cay_run_args *a, const char **field, struct cay_error *err)
{
        const struct cay_op_world *w = call->world;
        const struct cay_run_asks asks = { .template_name = a->create.template_name,
                                           .task = a->task ? a->task : a->trigger,
                                           .language = a->language,
                                           .has_code = a->code != NULL };

        cay_arena_init(&r->mem, WORDS_MAX + PURPOSE_MAX + 4096);
        if (check(a, field, err) < 0 || cay_run_choose(w->templates ? w->templates->set : NULL, &asks,
                                                       &r->mem, &r->choice, field, err) < 0)
                return -1;
        r->create = a->create;
        r->exec = a->exec;
        r->create.template_name = r->choice.template_name;
        r->exec.claimed_id = a->create.execution_id ? a->create.execution_id : call->request_id;
        r->keep = a->has_keep ? a->keep : r->choice.row && !r->choice.row->auto_cleanup;
        if (fill_command(r, a, field, err) < 0 || fill_danger(r, a, field, err) < 0 ||
            fill_purpose(r, a, err) < 0)
                return -1;
        *field = "timeout";
        if (cay_op_check_time(call, *field, a->exec.timeout_ms, err) < 0)
                return -1;
        *field = NULL;
        fill_times(r, call);
        return 0;
}

void cay_run_request_done(struct cay_run_request *r)
{
        cay_arena_done(&r->mem);
}
