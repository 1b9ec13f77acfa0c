/* SPDX-License-Identifier: Apache-2.0 */
/* Templates: lists them, and says whether they work here. */
#include "domain/settings/config.h"
#include "domain/ops/create_args.h"
#include "domain/ops/template_image.h"
#include "domain/ops/template_use.h"
#include "domain/ops/view.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/results.h"

static void put_texts(struct cay_json *j, const char *key, const struct cay_field_texts *texts)
{
        cay_json_key(j, key);
        if (texts->line) {
                cay_json_text(j, texts->line);
                return;
        }
        cay_json_begin_array(j);
        for (unsigned i = 0; i < texts->count; i++)
                cay_json_text(j, texts->items[i]);
        cay_json_end_array(j);
}

/* Names only: values may be the operator's secrets. */
static void put_env(struct cay_json *j, const struct cay_field_map *env)
{
        cay_json_key(j, "env");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < env->count; i++)
                cay_json_text(j, env->pairs[i].name);
        cay_json_end_array(j);
}

/* As a sandbox gets them: what a template leaves out has the daemon's default. */
static void put_times_and_limits(struct cay_json *j, const struct cay_template *t,
                                 const struct cay_config *config)
{
        struct cay_limits limits = t->limits;

        cay_op_fill_limits(&limits, config, CAY_LIMIT_BIT(disk_bytes));
        cay_json_key(j, "limits");
        cay_op_put_object(j, &cay_result_limits, &limits);
        cay_op_key_u64(j, "life_time_ms", t->life_ms ? t->life_ms : config->default_timeout);
        cay_op_key_u64(j, "idle_time_ms", t->idle_ms ? t->idle_ms : config->default_idle);
}

#define TEMPLATE struct cay_template

WORD_FUNCTION(root_word, cay_template_root_word)

static void put_has_system(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        cay_json_bool(j, ((const TEMPLATE *)object)->system_text != NULL);
}

RESULT(result_template_row, "Template", MEMBER(TEXT, TEMPLATE, name), MEMBER(TEXT, TEMPLATE, description),
       BOOL("available"), MAYBE("why", TEXT), WORD("root", TEMPLATE, root, root_word),
       MEMBER(TEXT, TEMPLATE, engine), WORDS("triggers"), MEMBER(TEXT, TEMPLATE, network), TEXTS("allow"),
       TEXTS("deny"), MEMBER(TEXT, TEMPLATE, init), ALSO_AS(cay_result_asked_options, TEMPLATE, options),
       MEMBER(BOOL, TEMPLATE, needs_confirm), MEMBER(BOOL, TEMPLATE, auto_cleanup),
       OBJECT("limits", cay_result_limits), NUMBER("life_time_ms"), NUMBER("idle_time_ms"),
       MEMBER(NUMBER, TEMPLATE, max_concurrent), MEMBER(NUMBER, TEMPLATE, pool),
       MEMBER(BOOL, TEMPLATE, pool_learned), TEXTS("warm"), TEXTS("warm_modules"), TEXTS("env"),
       WORDS("command"), WORDS("interpreter"), COMPUTED("has_system", BOOL, 0, put_has_system),
       IF_OBJECT("build", cay_result_image));

static void put_template(struct cay_json *j, const struct cay_template *t,
                         const struct cay_template_images *images, const struct cay_config *config)
{
        const struct cay_image *image = cay_template_images_find(images, t->name);
        char why[CAY_IMAGE_TEXT];
        const char *lacks = t->available ? cay_template_images_lack(images, t, why, sizeof(why)) : t->why;

        cay_op_put_members(j, &result_template_row, t);
        cay_op_key_bool(j, "available", !lacks);
        cay_op_key_text(j, "why", lacks);
        put_texts(j, "triggers", &t->triggers);
        put_texts(j, "allow", &t->allow);
        put_texts(j, "deny", &t->deny);
        put_times_and_limits(j, t, config);
        put_texts(j, "warm", &t->warm);
        put_texts(j, "warm_modules", &t->warm_modules);
        put_env(j, &t->env);
        put_texts(j, "command", &t->command);
        put_texts(j, "interpreter", &t->interpret);
        if (image) {
                cay_json_key(j, "build");
                cay_op_put_object(j, &cay_result_image, image);
        }
}

static const struct cay_template_set *set_of(struct cay_op_call *c)
{
        static const struct cay_template_set none = { .origin = "none" };

        return c->world->templates && c->world->templates->set ? c->world->templates->set : &none;
}

struct list_args {
        const char *task;
};

static const struct cay_field list_fields[] = {
        { "task", CAY_FIELD_TEXT, offsetof(struct list_args, task), 0,
          "only the template that this text selects by its triggers", .max = 65536 },
        {},
};

static void answer_list(struct cay_op_call *c, const struct cay_template_images *images)
{
        const struct cay_template_set *set = set_of(c);
        const struct list_args *a = c->args;
        const struct cay_template *meant = a->task ? cay_template_match(set, a->task) : NULL;
        struct cay_op_result o;

        cay_op_result_begin(&o, c);
        cay_json_key(&o.j, "templates");
        cay_json_begin_array(&o.j);
        for (unsigned i = 0; i < set->count; i++) {
                if (a->task && &set->rows[i] != meant)
                        continue;
                cay_json_begin_object(&o.j);
                put_template(&o.j, &set->rows[i], images, c->world->config);
                cay_json_end_object(&o.j);
        }
        cay_json_end_array(&o.j);
        cay_op_key_text(&o.j, "default_template",
                        cay_op_unnamed_template(c) ? cay_op_unnamed_template(c) : CAY_TEMPLATE_DEFAULT);
        cay_op_key_text(&o.j, "origin", set->origin);
        cay_op_key_time(&o.j, "loaded_at", set->loaded_wall_ms);
        cay_op_key_u64(&o.j, "max_concurrent", set->max_concurrent);
        cay_op_key_bool(&o.j, "auto_cleanup", set->auto_cleanup);
        cay_op_key_u64(&o.j, "waiting", c->world->templates ? c->world->templates->admission.waiting : 0);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

static void run_list(struct cay_op_call *c)
{
        cay_template_images_ask(c, set_of(c), NULL, answer_list);
}

RESULT(result_template_list, NULL, LIST("templates", result_template_row), TEXT("default_template"),
       TEXT("origin"), TIME("loaded_at"), NUMBER("max_concurrent"), BOOL("auto_cleanup"), NUMBER("waiting"));

const struct cay_op cay_op_template_list = {
        .name = "template_list",
        .route = "GET /api/templates",
        .doc = "Lists the templates, and whether each works on this machine",
        .scope = CAY_SCOPE_READ,
        .fields = list_fields,
        .args_size = sizeof(struct list_args),
        .result = &result_template_list,
        .tool = CAY_TOOL(
                "List templates",
                "Lists templates that containers (sandboxes) are started from: what for, whether "
                "available, network, whether a person must confirm.",
                "container_list", CAY_TOOL_FIRST,
                CAY_TOOL_PARAMS({ "task", "task", "Only the template that suits these words." }),
                "templates name description available why triggers network needs_confirm has_system"),
        .run = run_list,
};

struct get_args {
        const char *name;
};

static const struct cay_field get_fields[] = {
        { "name", CAY_FIELD_TEXT, offsetof(struct get_args, name), 0, "its name", .min = 1,
          .max = CAY_TEMPLATE_NAME_MAX },
        {},
};

static void answer_get(struct cay_op_call *c, const struct cay_template_images *images)
{
        const struct get_args *a = c->args;
        const struct cay_template *t = cay_template_find(set_of(c), a->name);
        struct cay_error err = { 0 };
        struct cay_op_result o;

        if (!t) {
                cay_fail(&err, CAY_NOT_FOUND,
                         "template: '%.63s' does not exist; GET /api/templates lists them", a->name);
                cay_op_fail(c, &err, "name");
                return;
        }
        cay_op_result_begin(&o, c);
        put_template(&o.j, t, images, c->world->config);
        cay_op_key_text(&o.j, "system", t->system_text);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

static void run_get(struct cay_op_call *c)
{
        const struct get_args *a = c->args;

        cay_template_images_ask(c, set_of(c), a->name, answer_get);
}

RESULT(result_template_whole, NULL, ALSO(result_template_row), MAYBE("system", TEXT));

const struct cay_op cay_op_template_get = {
        .name = "template_get",
        .route = "GET /api/templates/{name}",
        .doc = "Shows a template, with its instructions for models (SYSTEM.md)",
        .scope = CAY_SCOPE_READ,
        .fields = get_fields,
        .args_size = sizeof(struct get_args),
        .result = &result_template_whole,
        .run = run_get,
};
