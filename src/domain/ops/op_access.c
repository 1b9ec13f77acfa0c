/* SPDX-License-Identifier: Apache-2.0 */
/* Short-lived tokens and long-lived keys, made by admins. A key is shown once; only its hash is kept. */
#include <string.h>

#include "domain/auth/api_key.h"
#include "domain/settings/config.h"
#include "domain/ops/view.h"
#include "domain/ops/result_rows.h"

struct args {
        const char *owner, *scope, *label, *key, *form;
        uint64_t lifetime_ms;
};

static int find_scopes(const char *text, unsigned *ret, struct cay_error *err)
{
        *ret = CAY_SCOPE_READ | CAY_SCOPE_EXEC;
        return text ? cay_scope_parse(text, ret, err) : 0;
}

int cay_op_check_owner(const char *owner, struct cay_error *err)
{
        if (!cay_owner_is_valid(owner) || strncmp(owner, "uid:", 4) == 0)
                return cay_fail(err, CAY_INVALID,
                                "owner: 1 to 63 letters, digits or . _ @ : + -; must not begin with uid:");
        return 0;
}

#define OWNER_FIELD                                                                                          \
        {                                                                                                    \
                "owner", CAY_FIELD_TEXT, offsetof(struct args, owner), CAY_FIELD_REQUIRED,                   \
                        "whom it speaks for", .min = 1, .max = CAY_OWNER_MAX                                 \
        }
#define SCOPE_FIELD                                                                                          \
        {                                                                                                    \
                "scope", CAY_FIELD_TEXT, offsetof(struct args, scope), 0, "read, exec (default) or admin",   \
                        .max = 63                                                                            \
        }

/* Tokens */

static const struct cay_field token_fields[] = {
        OWNER_FIELD,
        SCOPE_FIELD,
        { "lifetime", CAY_FIELD_DURATION, offsetof(struct args, lifetime_ms), 0,
          "how long it is good for; at most a day", .min = 1000, .max = 86400000 },
        {},
};

/*
 * An admin of the unix socket is root or the daemon's user, who could read the secret anyway: to them local
 * users are owners like others.
 */
static int check_token_owner(const struct cay_op_call *c, const char *owner, struct cay_error *err)
{
        if (c->caller.credential == CAY_CREDENTIAL_PEER && cay_owner_is_valid(owner))
                return 0;
        return cay_op_check_owner(owner, err);
}

static void run_token(struct cay_op_call *c)
{
        const struct args *a = c->args;
        char token[CAY_OP_TOKEN_MAX];
        struct cay_error err = { 0 };
        uint64_t expires_s = 0;
        unsigned scopes;
        struct cay_op_result o;

        if (check_token_owner(c, a->owner, &err) < 0) {
                cay_op_fail(c, &err, "owner");
                return;
        }
        if (find_scopes(a->scope, &scopes, &err) < 0) {
                cay_op_fail(c, &err, "scope");
                return;
        }
        if (c->world->make_token(c->world, a->owner, scopes,
                                 a->lifetime_ms ? a->lifetime_ms : c->world->config->token_lifetime, token,
                                 &expires_s, &err) < 0) {
                cay_op_fail(c, &err, NULL);
                return;
        }
        cay_op_result_begin(&o, c);
        cay_op_key_text(&o.j, "token", token);
        cay_op_key_text(&o.j, "owner", a->owner);
        cay_op_key_text(&o.j, "scope", cay_scope_text(scopes));
        cay_op_key_time(&o.j, "expires_at", expires_s * 1000);
        cay_op_result_answer(&o, c, CAY_OP_CREATED);
}

RESULT(result_token, NULL, TEXT("token"), TEXT("owner"), TEXT("scope"), TIME("expires_at"));

const struct cay_op cay_op_token_make = {
        .name = "token_make",
        .route = "POST /api/tokens",
        .doc = "Makes a bearer token for an owner",
        .scope = CAY_SCOPE_ADMIN,
        .fields = token_fields,
        .args_size = sizeof(struct args),
        .result = &result_token,
        .status = CAY_OP_CREATED,
        .run = run_token,
};

/* Keys */

static const struct cay_field key_fields[] = {
        OWNER_FIELD,
        SCOPE_FIELD,
        { "label", CAY_FIELD_TEXT, offsetof(struct args, label), 0, "what it is for", .max = 128 },
        { "form", CAY_FIELD_TEXT, offsetof(struct args, form), 0,
          "cay (default), or e2b: the shape that clients of E2B ask for", .max = 15 },
        {},
};

struct storing {
        struct cay_store_commit commit;
        struct cay_op_call *call;
        char id[CAY_API_KEY_ID_LEN + 1];
        char text[CAY_API_KEY_MAX + 1]; /* "" when it is revoked */
};

static uint64_t wall_ms(const struct cay_op_call *c)
{
        struct cay_clock_reading now;

        c->world->clock->read(c->world->clock, &now);
        return now.wall_ms;
}

#define KEY struct cay_store_key

static void put_scope(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        cay_json_text(j, cay_scope_text((unsigned)((const KEY *)object)->scopes));
}

RESULT(result_key, "Key", AS("key_id", TEXT, KEY, id), MEMBER(TEXT, KEY, owner),
       COMPUTED("scope", TEXT, 0, put_scope), MEMBER(TEXT, KEY, label),
       AS("created_at", TIME, KEY, created_wall_ms), AS("used_at", TIME, KEY, used_wall_ms),
       AS("revoked_at", TIME, KEY, revoked_wall_ms));

struct found {
        const char *id;
        const struct cay_store_key *key;
};

static bool match(void *ctx, const struct cay_store_key *record)
{
        struct found *f = ctx;

        if (strcmp(record->id, f->id) != 0)
                return true;
        f->key = record;
        return false;
}

static void on_stored(struct cay_job *job)
{
        struct storing *s = cay_container_of(job, struct storing, commit.job);
        struct cay_op_call *c = s->call;
        struct found f = { .id = s->id };
        struct cay_op_result o;

        if (job->err.code != CAY_OK) {
                if (s->text[0])
                        cay_api_keys_drop(c->world->keys, s->id);
                cay_op_fail(c, &job->err, NULL);
        } else {
                cay_api_keys_each(c->world->keys, match, &f);
                cay_op_result_begin(&o, c);
                if (f.key)
                        cay_op_put_members(&o.j, &result_key, f.key);
                if (s->text[0])
                        cay_op_key_text(&o.j, "key", s->text);
                cay_op_result_answer(&o, c, s->text[0] ? CAY_OP_CREATED : CAY_OP_OK);
        }
        explicit_bzero(s, sizeof(*s));
        free(s);
}

/* Nothing is shown before it is stored; a revoked key stays revoked after a power cut. */
static void store_key(struct storing *s, const struct cay_store_key *record)
{
        struct cay_store *store = s->call->world->store;
        struct cay_store_batch *b = store->ops->begin(store);

        memccpy(s->id, record->id, '\0', CAY_API_KEY_ID_LEN);
        cay_store_put_key(store, b, record);
        cay_job_init(&s->commit.job, on_stored);
        store->ops->commit(store, b, CAY_STORE_SURE, &s->commit);
}

static void run_key_make(struct cay_op_call *c)
{
        const struct args *a = c->args;
        const struct cay_store_key *record;
        struct cay_error err = { 0 };
        struct storing *s;
        unsigned scopes;
        int form = cay_api_key_form_find(a->form ? a->form : "cay");

        if (form < 0) {
                cay_fail(&err, CAY_INVALID, "form: must be cay or e2b");
                cay_op_fail(c, &err, "form");
                return;
        }
        if (cay_op_check_owner(a->owner, &err) < 0 || find_scopes(a->scope, &scopes, &err) < 0) {
                cay_op_fail(c, &err, NULL);
                return;
        }
        s = cay_op_alloc(c, sizeof(*s));
        if (!s)
                return;
        s->call = c;
        if (cay_api_keys_make(c->world->keys, (enum cay_api_key_form)form, a->owner, scopes,
                              a->label ? a->label : "", wall_ms(c), s->text, &record, &err) < 0) {
                free(s);
                cay_op_fail(c, &err, NULL);
                return;
        }
        store_key(s, record);
}

RESULT(result_key_made, NULL, ALSO(result_key), TEXT("key"));

const struct cay_op cay_op_key_make = {
        .name = "key_make",
        .route = "POST /api/keys",
        .doc = "Makes a long-lived API key; it is shown once",
        .scope = CAY_SCOPE_ADMIN,
        .fields = key_fields,
        .args_size = sizeof(struct args),
        .result = &result_key_made,
        .verb = CAY_OP_VERB("key make", "owner"),
        .status = CAY_OP_CREATED,
        .run = run_key_make,
};

static bool put_each(void *ctx, const struct cay_store_key *record)
{
        cay_op_put_object(ctx, &result_key, record);
        return true;
}

static void run_key_list(struct cay_op_call *c)
{
        struct cay_op_result o;

        cay_op_result_begin(&o, c);
        cay_json_key(&o.j, "keys");
        cay_json_begin_array(&o.j);
        cay_api_keys_each(c->world->keys, put_each, &o.j);
        cay_json_end_array(&o.j);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

RESULT(result_keys, NULL, LIST("keys", result_key));

const struct cay_op cay_op_key_list = {
        .name = "key_list",
        .route = "GET /api/keys",
        .doc = "Lists API keys: what they are for, never the keys themselves",
        .scope = CAY_SCOPE_ADMIN,
        .result = &result_keys,
        .verb = CAY_OP_VERB("key", "",
                            .shows =
                                    "keys: KEY=key_id OWNER=owner SCOPE=scope LABEL=label CREATED=created_at "
                                    "USED=used_at REVOKED=revoked_at"),
        .run = run_key_list,
};

static const struct cay_field revoke_fields[] = {
        { "key", CAY_FIELD_TEXT, offsetof(struct args, key), 0, "its key_id", .min = 1,
          .max = CAY_API_KEY_ID_LEN },
        {},
};

static void run_key_revoke(struct cay_op_call *c)
{
        const struct args *a = c->args;
        const struct cay_store_key *record = cay_api_keys_revoke(c->world->keys, a->key, wall_ms(c));
        struct cay_error err = { 0 };
        struct storing *s;

        if (!record) {
                cay_fail(&err, CAY_NOT_FOUND, "key '%.40s' does not exist", a->key);
                cay_op_fail(c, &err, "key");
                return;
        }
        s = cay_op_alloc(c, sizeof(*s));
        if (!s)
                return;
        s->call = c;
        store_key(s, record);
}

const struct cay_op cay_op_key_revoke = {
        .name = "key_revoke",
        .route = "DELETE /api/keys/{key}",
        .doc = "Revokes an API key at once and for good",
        .scope = CAY_SCOPE_ADMIN,
        .flags = CAY_OP_DESTRUCTIVE,
        .fields = revoke_fields,
        .args_size = sizeof(struct args),
        .result = &result_key,
        .verb = CAY_OP_VERB("key rm", "key"),
        .run = run_key_revoke,
};
