/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control plane: named volumes. A volume's id is its name. One is made by the first sandbox that names
 * it, so a request that makes one makes such a sandbox and removes it.
 */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "dialects/e2b/e2b_content.h"
#include "foundation/base/str.h"

#define PLACE "/volume"
#define SANDBOX_TIME "5m" /* at most, of the sandbox that only makes the volume */

struct volume {
        char name[CAY_NAME_MAX + 1];
        bool is_wanted; /* one of that name is looked for; else it must not be there */
};

static void put_volume(const struct e2b_request *q, struct cay_json *j, const char *name)
{
        char token[E2B_VOLUME_TOKEN_MAX];

        cay_json_begin_object(j);
        cay_op_key_text(j, "volumeID", name);
        cay_op_key_text(j, "name", name);
        if (cay_scope_has(q->caller.scopes, CAY_SCOPE_EXEC)) { /* who has it may write */
                e2b_volume_token(q->world, q->caller.owner, name, token);
                cay_op_key_text(j, "token", token);
        }
        cay_json_end_object(j);
        explicit_bzero(token, sizeof(token));
}

static void answer_volume(struct e2b_request *q, unsigned status)
{
        const struct volume *v = q->state;
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        e2b_begin_json(&j, &out);
        put_volume(q, &j, v->name);
        e2b_answer_json(q, status, &j, &out);
}

/* POST /volumes */

static void on_removed(struct e2b_request *q, const struct cay_json_value *answer)
{
        (void)answer;
        answer_volume(q, 201);
}

static void on_made(struct e2b_request *q, const struct cay_json_value *sandbox)
{
        cay_str_copy(q->sandbox, sizeof(q->sandbox), e2b_text(sandbox, "sandbox_id"));
        e2b_ask_sandbox(q, "sandbox_destroy", on_removed);
}

static void make(struct e2b_request *q)
{
        const struct volume *v = q->state;
        cay_auto_call_args struct cay_call_args args = { 0 };
        char template_name[CAY_NAME_MAX + 1], text[CAY_NAME_MAX + 32];

        e2b_template_of(q->world, "base", template_name);
        snprintf(text, sizeof(text), "%s:" PLACE, v->name);
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "template", template_name);
        cay_op_key_text(&args.j, "timeout", SANDBOX_TIME);
        cay_json_key(&args.j, "volumes");
        cay_json_begin_array(&args.j);
        cay_json_text(&args.j, text);
        cay_json_end_array(&args.j);
        e2b_ask(q, "sandbox_create", &args, on_made);
}

/* GET /volumes/{volume}, and whether a new one's name is free. */

static bool lists(const struct cay_json_value *list, const char *name)
{
        const struct cay_json_value *v;

        for (size_t i = 0; (v = cay_json_value_at(list, i)); i++)
                if (strcmp(e2b_text(v, "name"), name) == 0)
                        return true;
        return false;
}

static void on_looked(struct e2b_request *q, const struct cay_json_value *answer)
{
        const struct volume *v = q->state;
        bool is_there = lists(cay_json_value_find(answer, "volumes"), v->name);

        if (v->is_wanted && is_there)
                answer_volume(q, 200);
        else if (v->is_wanted)
                e2b_refuse(q, CAY_NOT_FOUND, "there is no volume '%s'", v->name);
        else if (is_there)
                e2b_refuse(q, CAY_EXISTS, "there is a volume '%s' already", v->name);
        else
                make(q);
}

static void ask_list(struct e2b_request *q,
                     void (*on_answer)(struct e2b_request *q, const struct cay_json_value *answer))
{
        cay_auto_call_args struct cay_call_args args = { 0 };

        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "owner", q->caller.owner);
        e2b_ask(q, "volume_list", &args, on_answer);
}

static void look(struct e2b_request *q, const char *name, bool is_wanted)
{
        struct volume *v = calloc(1, sizeof(*v));

        q->state = v;
        q->free_state = free;
        if (!v) {
                e2b_fail_memory(q);
                return;
        }
        v->is_wanted = is_wanted;
        if (name && cay_id_is_valid(name) && cay_str_copy(v->name, sizeof(v->name), name))
                ask_list(q, on_looked);
        else if (is_wanted)
                e2b_refuse(q, CAY_NOT_FOUND, "there is no such volume");
        else
                e2b_refuse(q, CAY_INVALID, "name: 1 to %u of a-z, 0-9 and '-', not '-' at the ends",
                           CAY_NAME_MAX);
}

static void run_make(struct e2b_request *q)
{
        look(q, cay_json_value_text(e2b_member(q, "name")), false);
}

static void run_get(struct e2b_request *q)
{
        look(q, cay_route_value(&q->match, "volume"), true);
}

/* GET /volumes */

static void on_listed(struct e2b_request *q, const struct cay_json_value *answer)
{
        const struct cay_json_value *list = cay_json_value_find(answer, "volumes"), *v;
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        e2b_begin_json(&j, &out);
        cay_json_begin_array(&j);
        for (size_t i = 0; (v = cay_json_value_at(list, i)); i++)
                put_volume(q, &j, e2b_text(v, "name"));
        cay_json_end_array(&j);
        e2b_answer_json(q, 200, &j, &out);
}

static void run_list(struct e2b_request *q)
{
        ask_list(q, on_listed);
}

/* DELETE /volumes/{volume} */

static void on_dropped(struct e2b_request *q, const struct cay_json_value *answer)
{
        (void)answer;
        e2b_answer_empty(q, 204);
}

static void drop(struct e2b_request *q)
{
        cay_auto_call_args struct cay_call_args args = { 0 };

        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "name", cay_route_value(&q->match, "volume"));
        e2b_ask(q, "volume_remove", &args, on_dropped);
}

static void run_drop(struct e2b_request *q)
{
        const char *name = cay_route_value(&q->match, "volume");

        if (cay_id_is_valid(name))
                e2b_content_end(q, name, drop);
        else
                e2b_refuse(q, CAY_NOT_FOUND, "there is no such volume");
}

static const struct e2b_row rows[] = {
        { "POST /volumes", run_make, E2B_FORM_REST, E2B_TAKES_JSON },
        { "GET /volumes", run_list, E2B_FORM_REST, 0 },
        { "GET /volumes/{volume}", run_get, E2B_FORM_REST, 0 },
        { "DELETE /volumes/{volume}", run_drop, E2B_FORM_REST, 0 },
};

const struct e2b_rows e2b_volume_rows = { rows, CAY_COUNT(rows) };
