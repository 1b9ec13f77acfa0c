/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a chat message asks for, and what its code would run in. Nothing is run here: the caller runs it with
 * code_run, or asks a person.
 *
 * The template is the one whose trigger is in the message, unless it is for another language than the code's;
 * else the one for the code's language. Code in a language without a template is not executed, whatever the
 * message says. Destructive code is not executed before a person was asked (code_run with from_message
 * enforces that).
 */
#include <stdio.h>

#include "foundation/base/language.h"
#include "domain/intent/intent.h"
#include "domain/ops/run_choice.h"
#include "domain/ops/template_use.h"
#include "domain/ops/view.h"
#include "domain/ops/result_rows.h"

#define PICK_MEM (256u * 1024) /* the words of an interpreter */
#define OBSTACLE_MAX (CAY_INTENT_LANGUAGE_MAX + 64u)

struct args {
        const char *message;
};

static const struct cay_field fields[] = {
        { "message", CAY_FIELD_TEXT, offsetof(struct args, message), CAY_FIELD_REQUIRED,
          "what was written, with its code in fenced blocks (```), between backticks or as it is", .min = 1,
          .max = CAY_INTENT_TEXT_MAX },
        {},
};

struct choice {
        const struct cay_template *row; /* NULL: none */
        const char *by;                 /* "trigger", "language" */
};

static const struct cay_template *find_by_language(const struct cay_template_set *set, const char *language)
{
        cay_auto_arena struct cay_arena mem = { 0 };
        struct cay_run_choice choice;
        struct cay_error err = { 0 };
        const char *field;

        if (language[0] == '\0')
                return NULL;
        cay_arena_init(&mem, PICK_MEM);
        if (cay_run_choose(set, &(struct cay_run_asks){ .language = language, .has_code = true }, &mem,
                           &choice, &field, &err) < 0)
                return NULL;
        return choice.row;
}

/* A template for one of the languages with an interpreter serves no other. */
static bool is_for_another(const struct cay_template_set *set, const struct cay_template *t,
                           const char *language)
{
        const struct cay_language *l;

        for (size_t i = 0; language[0] && (l = cay_language_at(i)); i++)
                if (l->program[0] && strcmp(l->name, language) != 0 && find_by_language(set, l->name) == t &&
                    find_by_language(set, language) != t)
                        return true;
        return false;
}

static struct choice choose(const struct cay_template_set *set, const struct cay_intent_result *r,
                            const char *prose)
{
        const struct cay_template *t;

        if (!set || r->code.kind == CAY_INTENT_NO_CODE)
                return (struct choice){ 0 };
        t = cay_template_match(set, prose);
        if (t && !is_for_another(set, t, r->code.language))
                return (struct choice){ t, "trigger" };
        t = find_by_language(set, r->code.language);
        return (struct choice){ t, t ? "language" : NULL };
}

static void put_code(struct cay_json *j, const struct cay_intent_code *code)
{
        if (code->kind == CAY_INTENT_NO_CODE)
                return;
        cay_json_key(j, "code");
        cay_json_begin_object(j);
        cay_json_key(j, "text");
        cay_json_string(j, code->text, code->len);
        cay_op_key_text(j, "language", code->language[0] ? code->language : NULL);
        cay_op_key_bool(j, "guessed", !code->is_tagged && code->language[0]);
        cay_op_key_text(j, "kind", cay_intent_code_kind_word(code->kind));
        cay_op_key_u64(j, "block", code->nr);
        cay_op_key_u64(j, "blocks", code->count);
        cay_json_end_object(j);
}

static void put_template(struct cay_json *j, const struct choice *choice)
{
        if (!choice->row)
                return;
        cay_json_key(j, "template");
        cay_json_begin_object(j);
        cay_op_key_text(j, "name", choice->row->name);
        cay_op_key_text(j, "matched_by", choice->by);
        cay_op_key_bool(j, "available", choice->row->available);
        cay_op_key_bool(j, "needs_confirm", choice->row->needs_confirm);
        cay_json_end_object(j);
}

static void put_phrases(struct cay_json *j, const struct cay_intent_result *r)
{
        cay_json_key(j, "phrases");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < r->hit_count; i++) {
                cay_json_begin_object(j);
                cay_json_key(j, "text");
                cay_json_string(j, r->hits[i].text, r->hits[i].len);
                cay_op_key_text(j, "means",
                                r->hits[i].is_veto ? "must not run" : cay_intent_word(r->hits[i].what));
                cay_op_key_u64(j, "weight", r->hits[i].weight);
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
}

static void put_scores(struct cay_json *j, const struct cay_intent_result *r)
{
        cay_json_key(j, "scores");
        cay_json_begin_object(j);
        for (unsigned i = 0; i < CAY_INTENT_COUNT; i++)
                cay_op_key_u64(j, cay_intent_word((enum cay_intent)i), r->scores[i]);
        cay_json_end_object(j);
}

static void put_danger(struct cay_json *j, const struct cay_intent_result *r)
{
        if (!r->danger.what)
                return;
        cay_json_key(j, "danger");
        cay_json_begin_object(j);
        cay_op_key_text(j, "what", r->danger.what);
        cay_json_key(j, "text");
        cay_json_string(j, r->danger.text, r->danger.len);
        cay_op_key_text(j, "where", r->danger.in_words ? "words" : "code");
        cay_json_end_object(j);
}

/* Why a message that asks for a run is not executed; NULL: it is executed, or asks for none. */
static const char *find_obstacle(const struct cay_intent_result *r, const struct choice *choice,
                                 char ret[OBSTACLE_MAX])
{
        if (r->decision != CAY_INTENT_RUN)
                return NULL;
        if (choice->row)
                return choice->row->available ? NULL : "the template is not available here";
        if (!r->code.language[0])
                return "the language of the code could not be recognized; name it behind the three backticks";
        snprintf(ret, OBSTACLE_MAX, "no template runs %s; add one",
                 cay_intent_language_title(r->code.language));
        return ret;
}

/* The words of a message do not confirm destructive code. */
static void answer(struct cay_op_call *c, const struct cay_intent_result *r, const struct choice *choice)
{
        char text[OBSTACLE_MAX];
        const char *obstacle = find_obstacle(r, choice, text);
        bool needs_confirm = r->danger.what || (choice->row && choice->row->needs_confirm);
        struct cay_op_result o;

        cay_op_result_begin(&o, c);
        cay_op_key_text(&o.j, "decision", cay_intent_word(r->decision));
        cay_op_key_bool(&o.j, "execute", r->decision == CAY_INTENT_RUN && !obstacle && !needs_confirm);
        cay_op_key_bool(&o.j, "needs_confirm", needs_confirm);
        cay_op_key_u64(&o.j, "confidence", r->confidence);
        cay_op_key_text(&o.j, "reason", r->reason);
        cay_op_key_text(&o.j, "obstacle", obstacle);
        cay_op_key_text(&o.j, "speech", r->speech[0] ? r->speech : NULL);
        put_danger(&o.j, r);
        put_code(&o.j, &r->code);
        put_template(&o.j, choice);
        put_phrases(&o.j, r);
        put_scores(&o.j, r);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

static void run_intent(struct cay_op_call *c)
{
        const struct cay_templates *templates = c->world->templates;
        const struct args *a = c->args;
        cay_auto_buf struct cay_buf prose = { 0 };
        struct cay_intent_result r;
        struct cay_error err = { 0 };
        struct choice choice;

        cay_buf_init(&prose, CAY_INTENT_TEXT_MAX);
        if (cay_intent_detect(a->message, strlen(a->message), &r, &prose, &err) < 0) {
                cay_op_fail(c, &err, "message");
                return;
        }
        choice = choose(templates ? templates->set : NULL, &r, cay_buf_data(&prose));
        answer(c, &r, &choice);
}

RESULT(result_intent_danger, "IntentDanger", TEXT("what"), TEXT("text"), TEXT("where"));
RESULT(result_intent_code, "IntentCode", TEXT("text"), MAYBE("language", TEXT), BOOL("guessed"), TEXT("kind"),
       NUMBER("block"), NUMBER("blocks"));
RESULT(result_intent_template, "IntentTemplate", TEXT("name"), TEXT("matched_by"), BOOL("available"),
       BOOL("needs_confirm"));
RESULT(result_intent_phrase, "IntentPhrase", TEXT("text"), TEXT("means"), NUMBER("weight"));
RESULT(result_intent, "Intent", TEXT("decision"), BOOL("execute"), BOOL("needs_confirm"),
       NUMBER("confidence"), TEXT("reason"), MAYBE("obstacle", TEXT), MAYBE("speech", TEXT),
       IF_OBJECT("danger", result_intent_danger), IF_OBJECT("code", result_intent_code),
       IF_OBJECT("template", result_intent_template), LIST("phrases", result_intent_phrase),
       COUNTS("scores"));

const struct cay_op cay_op_intent_detect = {
        .name = "intent_detect",
        .route = "POST /api/intent",
        .doc = "What a chat message asks for: whether its code is to be run, in which template, and why; "
               "runs nothing",
        .scope = CAY_SCOPE_READ,
        .fields = fields,
        .args_size = sizeof(struct args),
        .result = &result_intent,
        .tool = CAY_TOOL("What a message asks for",
                         "Whether a chat message asks for its code to be run, where, and why. Runs nothing.",
                         .params = CAY_TOOL_PARAMS({ "message", "message", "The chat message with its code.",
                                                     NULL, true, "text prompt" }),
                         .picks = "decision execute confidence reason obstacle code text language template "
                                  "name needs_confirm"),
        .run = run_intent,
};
