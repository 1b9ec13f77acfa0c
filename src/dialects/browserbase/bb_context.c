/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts: a profile of a browser that outlives sessions. It is a named volume of the owner; a sandbox that
 * lives for a moment makes it. A session mounts it, writable if it persists. A volume cannot be removed while
 * a sandbox has it: sessions that ended are destroyed first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/browserbase/bb_priv.h"
#include "foundation/base/str.h"

#define VOLUME "browser-"
#define USERS_MAX 64u

struct users { /* sandboxes that have it, to be destroyed */
        unsigned count, at;
        char ids[USERS_MAX][CAY_NAME_MAX + 1];
};

void bb_context_volume(const char *id, char ret[BB_VOLUME_MAX])
{
        snprintf(ret, BB_VOLUME_MAX, VOLUME "%.36s", id);
}

static const struct cay_json_value *find_volume(const struct bb_request *q,
                                                const struct cay_json_value *answer, const char *id)
{
        const struct cay_json_value *list = cay_json_value_find(answer, "volumes"), *v;
        char name[BB_VOLUME_MAX];

        bb_context_volume(id, name);
        for (size_t i = 0; (v = cay_json_value_at(list, i)); i++) {
                const char *got = bb_text(v, "name"), *owner = bb_text(v, "owner");

                if (got && owner && strcmp(got, name) == 0 && strcmp(owner, q->caller.owner) == 0)
                        return v;
        }
        return NULL;
}

static void ask_volumes(struct bb_request *q,
                        void (*then)(struct bb_request *q, const struct cay_json_value *answer))
{
        cay_auto_call_args struct cay_call_args args = { 0 };

        cay_call_args_begin(&args);
        bb_ask(q, "volume_list", &args, then);
}

static void refuse_none(struct bb_request *q, const char *id)
{
        bb_refuse(q, CAY_NOT_FOUND, "context '%s' does not exist", id);
}

/* For sessions */

static void on_check(struct bb_request *q, const struct cay_json_value *answer)
{
        if (find_volume(q, answer, q->context))
                q->on_seen(q);
        else
                refuse_none(q, q->context);
}

void bb_context_check(struct bb_request *q, const char *id, void (*then)(struct bb_request *q))
{
        cay_str_copy(q->context, sizeof(q->context), id);
        q->on_seen = then;
        ask_volumes(q, on_check);
}

/* Create */

static void answer_made(struct bb_request *q, const struct cay_json_value *answer)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        (void)answer;
        cay_buf_init(&out, BB_ANSWER_MAX);
        cay_json_init(&j, &out);
        cay_json_begin_object(&j);
        cay_op_key_text(&j, "id", q->context);
        cay_op_key_text(&j, "uploadUrl", ""); /* contexts cannot be uploaded */
        cay_op_key_text(&j, "publicKey", "");
        cay_op_key_text(&j, "cipherAlgorithm", "AES-256-CBC");
        cay_op_key_u64(&j, "initializationVectorSize", 16);
        cay_json_end_object(&j);
        bb_answer_json(q, 200, &j);
}

static void on_maker(struct bb_request *q, const struct cay_json_value *sandbox)
{
        cay_str_copy(q->id, sizeof(q->id), bb_text(sandbox, "name"));
        bb_ask_session(q, "sandbox_destroy", answer_made);
}

static void run_create(struct bb_request *q)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        char volume[BB_VOLUME_MAX], text[BB_VOLUME_MAX + 40], name[BB_ID_LEN + 1];

        bb_id_make(q->context);
        bb_id_make(name);
        bb_context_volume(q->context, volume);
        snprintf(text, sizeof(text), "%s:" BB_PROFILE, volume);
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "name", name);
        cay_op_key_text(&args.j, "template", "browser");
        cay_op_key_u64(&args.j, "timeout", 60);
        cay_json_key(&args.j, "volumes");
        cay_json_begin_array(&args.j);
        cay_json_text(&args.j, text);
        cay_json_end_array(&args.j);
        bb_ask(q, "sandbox_create", &args, on_maker);
}

/* Show */

static void on_shown(struct bb_request *q, const struct cay_json_value *answer)
{
        const struct cay_json_value *volume = find_volume(q, answer, q->id);
        cay_auto_buf struct cay_buf out = { 0 };
        char room[BB_ID_LEN + 1];
        struct cay_json j;

        if (!volume) {
                refuse_none(q, q->id);
                return;
        }
        cay_buf_init(&out, BB_ANSWER_MAX);
        cay_json_init(&j, &out);
        cay_json_begin_object(&j);
        cay_op_key_text(&j, "id", q->id);
        cay_op_key_text(&j, "projectId", bb_project(q, room));
        bb_put_copy(&j, "createdAt", cay_json_value_find(volume, "created_at"));
        bb_put_copy(&j, "updatedAt", cay_json_value_find(volume, "created_at"));
        cay_json_end_object(&j);
        bb_answer_json(q, 200, &j);
}

static void run_show(struct bb_request *q)
{
        ask_volumes(q, on_shown);
}

static void on_update(struct bb_request *q, const struct cay_json_value *answer)
{
        cay_str_copy(q->context, sizeof(q->context), q->id);
        if (find_volume(q, answer, q->id))
                answer_made(q, NULL);
        else
                refuse_none(q, q->id);
}

static void run_update(struct bb_request *q)
{
        ask_volumes(q, on_update);
}

/* Delete */

static void on_removed(struct bb_request *q, const struct cay_json_value *answer)
{
        (void)answer;
        bb_answer_empty(q, 204);
}

static void on_not_removed(struct bb_request *q, const struct cay_error *err)
{
        if (err->code == CAY_CONFLICT)
                bb_refuse(q, CAY_CONFLICT, "context '%s' is used by a session that runs; release it first",
                          q->context);
        else
                bb_fail(q, err);
}

static void remove_volume(struct bb_request *q)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        char volume[BB_VOLUME_MAX];

        bb_context_volume(q->context, volume);
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "name", volume);
        q->on_fail = on_not_removed;
        bb_ask(q, "volume_remove", &args, on_removed);
}

static void destroy_next(struct bb_request *q);

static void on_destroyed(struct bb_request *q, const struct cay_json_value *answer)
{
        (void)answer;
        destroy_next(q);
}

static void on_not_destroyed(struct bb_request *q, const struct cay_error *err)
{
        (void)err; /* the removal says what is wrong */
        destroy_next(q);
}

static void destroy_next(struct bb_request *q)
{
        struct users *u = q->state;

        if (u->at == u->count) {
                remove_volume(q);
                return;
        }
        cay_str_copy(q->id, sizeof(q->id), u->ids[u->at++]);
        q->on_fail = on_not_destroyed;
        bb_ask_session(q, "sandbox_destroy", on_destroyed);
}

/* Of those that have it: whose browser has ended? */
static void on_browsers(struct bb_request *q, const struct cay_json_value *answer)
{
        const struct cay_json_value *list = cay_json_value_find(answer, "browsers"), *browser;
        struct users *u = q->state;
        unsigned kept = 0;

        for (unsigned i = 0; i < u->count; i++) {
                for (size_t k = 0; (browser = cay_json_value_at(list, k)); k++) {
                        struct bb_state state;

                        bb_state_read(browser, &state);
                        if (strcmp(state.sandbox, u->ids[i]) == 0 && state.status > BB_RUNNING) {
                                memmove(u->ids[kept++], u->ids[i], sizeof(u->ids[0]));
                                break;
                        }
                }
        }
        u->count = kept;
        destroy_next(q);
}

static void on_users(struct bb_request *q, const struct cay_json_value *answer)
{
        const struct cay_json_value *list = cay_json_value_find(answer, "sandboxes"), *sandbox;
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct users *u = calloc(1, sizeof(*u));

        q->state = u;
        q->free_state = free;
        if (!u) {
                bb_fail_memory(q);
                return;
        }
        for (size_t i = 0; u->count < USERS_MAX && (sandbox = cay_json_value_at(list, i)); i++)
                cay_str_copy(u->ids[u->count++], sizeof(u->ids[0]), bb_text(sandbox, "sandbox_id"));
        cay_call_args_begin(&args);
        bb_ask(q, "browser_list", &args, on_browsers);
}

static void ask_users(struct bb_request *q)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        char label[sizeof(BB_LABEL_CONTEXT) + BB_ID_LEN + 2];

        snprintf(label, sizeof(label), BB_LABEL_CONTEXT "=%s", q->context);
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "label", label);
        cay_op_key_u64(&args.j, "limit", USERS_MAX);
        bb_ask(q, "sandbox_list", &args, on_users);
}

static void run_delete(struct bb_request *q)
{
        char id[BB_ID_LEN + 1];

        memcpy(id, q->id, sizeof(id));
        bb_context_check(q, id, ask_users);
}

static const struct bb_row rows[] = {
        { "POST /v1/contexts", run_create, BB_TAKES_JSON | BB_FINISHES },
        { "GET /v1/contexts/{id}", run_show, 0 },
        { "PUT /v1/contexts/{id}", run_update, 0 },
        { "DELETE /v1/contexts/{id}", run_delete, BB_FINISHES },
};

const struct bb_rows bb_context_rows = { rows, CAY_COUNT(rows) };
