/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets of an owner, for requests of sandboxes: set, listed without their values, removed
 * (docs/network.md).
 */
#include <stdlib.h>
#include <string.h>

#include "domain/auth/vault.h"
#include "domain/network/secret_text.h"
#include "domain/ops/op.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"

#define RECORD_MAX 8192

struct args {
        const char *name, *host, *header, *value;
};

struct storing {
        struct cay_store_commit commit;
        struct cay_op_call *call;
        char name[CAY_VAULT_NAME_MAX + 1];
        char record_name[CAY_VAULT_RECORD_NAME];
        struct cay_buf record; /* empty: it is removed */
};

#define NAME_FIELD(flags)                                                                                    \
        {                                                                                                    \
                "name", CAY_FIELD_TEXT, offsetof(struct args, name), flags,                                  \
                        "its name, and that of the variable in sandboxes: A-Z, 0-9 and _",                   \
                        .min = 1, .max = CAY_VAULT_NAME_MAX                                                  \
        }

static bool has_vault(struct cay_op_call *c)
{
        struct cay_error err = { 0 };

        if (c->world->vault)
                return true;
        cay_fail(&err, CAY_UNAVAILABLE,
                 "this daemon keeps no secrets: " CAY_VAULT_KEY_FILE " could not be read or made");
        cay_op_fail(c, &err, NULL);
        return false;
}

#define ITEM struct cay_vault_item

RESULT(result_secret, "Secret", MEMBER(TEXT, ITEM, name), MEMBER(TEXT, ITEM, host),
       MEMBER(TEXT, ITEM, header), AS("created_at", TIME, ITEM, created_wall_ms));

/* Storing */

static void free_storing(struct storing *s)
{
        cay_buf_done(&s->record);
        free(s);
}

static void answer_stored(struct storing *s)
{
        struct cay_op_call *c = s->call;
        struct cay_vault_item item;
        struct cay_op_result o;

        cay_op_result_begin(&o, c);
        if (cay_vault_find(c->world->vault, c->caller.owner, s->name, &item, NULL))
                cay_op_put_members(&o.j, &result_secret, &item);
        if (s->record.len == 0)
                cay_vault_drop(c->world->vault, c->caller.owner, s->name);
        cay_service_secrets_changed(c->world->service, c->caller.owner, s->name);
        cay_op_result_answer(&o, c, s->record.len > 0 ? CAY_OP_CREATED : CAY_OP_OK);
}

static void on_stored(struct cay_job *job)
{
        struct storing *s = cay_container_of(job, struct storing, commit.job);
        struct cay_error err = job->err;

        if (err.code == CAY_OK && s->record.len > 0)
                cay_vault_add(s->call->world->vault, s->record_name, cay_buf_data(&s->record), &err);
        if (err.code != CAY_OK)
                cay_op_fail(s->call, &err, NULL);
        else
                answer_stored(s);
        free_storing(s);
}

static struct storing *begin(struct cay_op_call *c, const char *name)
{
        struct storing *s = cay_op_alloc(c, sizeof(*s));

        if (!s)
                return NULL;
        s->call = c;
        memccpy(s->name, name, '\0', sizeof(s->name) - 1);
        cay_buf_init(&s->record, RECORD_MAX);
        cay_job_init(&s->commit.job, on_stored);
        return s;
}

/* A removed secret stays removed over a power cut. */
static void store(struct storing *s)
{
        struct cay_store *to = s->call->world->store;
        struct cay_store_batch *b = to->ops->begin(to);

        if (s->record.len > 0)
                cay_store_put_value(to, b, s->record_name, cay_buf_data(&s->record));
        else
                to->ops->drop(b, CAY_STORE_VALUE, s->record_name);
        to->ops->commit(to, b, CAY_STORE_SURE, &s->commit);
}

/* Setting */

static const struct cay_field set_fields[] = {
        NAME_FIELD(CAY_FIELD_REQUIRED),
        { "host", CAY_FIELD_TEXT, offsetof(struct args, host), CAY_FIELD_REQUIRED,
          "the only host that gets it, over HTTPS: api.example.com", .min = 1, .max = CAY_VAULT_HOST_MAX },
        { "header", CAY_FIELD_TEXT, offsetof(struct args, header), 0,
          "the only header in which it is put; default: Authorization", .min = 1,
          .max = CAY_VAULT_HEADER_MAX },
        { "value", CAY_FIELD_TEXT, offsetof(struct args, value), CAY_FIELD_REQUIRED,
          "the secret itself; never shown again", .min = 1, .max = CAY_VAULT_VALUE_MAX },
        {},
};

static int check_args(const struct args *a, const char *header, char host[CAY_POLICY_NAME_MAX + 1],
                      struct cay_error *err)
{
        if (!cay_vault_name_is_valid(a->name))
                return cay_fail(err, CAY_INVALID,
                                "name: 1 to %d characters A-Z, 0-9 or _; must not begin with a digit",
                                CAY_VAULT_NAME_MAX);
        if (!cay_policy_name_fold(a->host, strlen(a->host), host) || strchr(host, '.') == NULL ||
            strspn(host, "0123456789.") == strlen(host))
                return cay_fail(err, CAY_INVALID,
                                "host: '%.80s' is not a host name like api.example.com; one name, no port",
                                a->host);
        if (!cay_secret_header_is_valid(header))
                return cay_fail(err, CAY_INVALID, "header: '%.63s' cannot have a secret", header);
        if (!cay_secret_value_is_valid(a->value))
                return cay_fail(err, CAY_INVALID,
                                "value: 1 to %d printable ASCII characters, no blank at either end",
                                CAY_VAULT_VALUE_MAX);
        return 0;
}

static void run_set(struct cay_op_call *c)
{
        const struct args *a = c->args;
        const char *header = a->header ? a->header : "Authorization";
        char host[CAY_POLICY_NAME_MAX + 1];
        struct cay_clock_reading now;
        struct cay_error err = { 0 };
        struct storing *s;

        if (!has_vault(c))
                return;
        if (check_args(a, header, host, &err) < 0) {
                cay_op_fail(c, &err, NULL);
                return;
        }
        s = begin(c, a->name);
        if (!s)
                return;
        c->world->clock->read(c->world->clock, &now);
        if (cay_vault_seal(c->world->vault,
                           &(struct cay_vault_item){ c->caller.owner, a->name, host, header, now.wall_ms },
                           a->value, s->record_name, &s->record, &err) < 0) {
                free_storing(s);
                cay_op_fail(c, &err, NULL);
                return;
        }
        store(s);
}

const struct cay_op cay_op_secret_set = {
        .name = "secret_set",
        .route = "POST /api/secrets",
        .doc = "Sets a secret of the caller, for requests of sandboxes to one host; its value is never shown "
               "again",
        .scope = CAY_SCOPE_EXEC,
        .fields = set_fields,
        .args_size = sizeof(struct args),
        .result = &result_secret,
        .status = CAY_OP_CREATED,
        .run = run_set,
};

/* Listing */

static void put_each(void *ctx, const struct cay_vault_item *item)
{
        cay_op_put_object(ctx, &result_secret, item);
}

static void run_list(struct cay_op_call *c)
{
        struct cay_op_result o;

        if (!has_vault(c))
                return;
        cay_op_result_begin(&o, c);
        cay_json_key(&o.j, "secrets");
        cay_json_begin_array(&o.j);
        cay_vault_each(c->world->vault, c->caller.owner, put_each, &o.j);
        cay_json_end_array(&o.j);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

RESULT(result_secrets, NULL, LIST("secrets", result_secret));

const struct cay_op cay_op_secret_list = {
        .name = "secret_list",
        .route = "GET /api/secrets",
        .doc = "Lists the caller's secrets: names, hosts and headers, never values",
        .scope = CAY_SCOPE_READ,
        .result = &result_secrets,
        .verb = CAY_OP_VERB("secret", "",
                            "Lists your secrets, without their values. `cay secret set NAME` sets one, `cay "
                            "secret rm NAME`\n"
                            "removes it.",
                            "secrets: NAME=name HOST=host HEADER=header SET=created_at"),
        .run = run_list,
};

/* Removing */

static const struct cay_field remove_fields[] = { NAME_FIELD(0), {} };

static void run_remove(struct cay_op_call *c)
{
        const struct args *a = c->args;
        char record_name[CAY_VAULT_RECORD_NAME];
        struct cay_error err = { 0 };
        struct cay_vault_item item;
        struct storing *s;

        if (!has_vault(c))
                return;
        if (!cay_vault_find(c->world->vault, c->caller.owner, a->name, &item, record_name)) {
                cay_fail(&err, CAY_NOT_FOUND, "there is no secret '%.63s'", a->name);
                cay_op_fail(c, &err, "name");
                return;
        }
        s = begin(c, a->name);
        if (!s)
                return;
        memcpy(s->record_name, record_name, sizeof(record_name));
        store(s);
}

const struct cay_op cay_op_secret_remove = {
        .name = "secret_remove",
        .route = "DELETE /api/secrets/{name}",
        .doc = "Removes a secret; running sandboxes lose it at once",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_DESTRUCTIVE,
        .fields = remove_fields,
        .args_size = sizeof(struct args),
        .result = &result_secret,
        .verb = CAY_OP_VERB("secret rm", "name", "Removes a secret; running sandboxes lose it at once."),
        .run = run_remove,
};
