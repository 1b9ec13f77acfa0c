/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots as records of the store, and back. */
#include <errno.h>

#include "foundation/base/str.h"
#include "domain/sandboxes/snapshot_priv.h"

#define SPEC_MAX (16u * 1024)

struct texts {
        struct cay_field_map env;
        struct spec {
                struct cay_sandbox_options options;
                bool is_shared;
                uint64_t frozen_us;
        } spec;
};

static const struct cay_field spec_fields[] = {
#define CAY_SANDBOX_FIELD(kind, name, uses, head, doc)                                                       \
        CAY_OPTION_ROW(kind, name, offsetof(struct spec, options.name), NULL),
#include "domain/model/sandbox_fields.def"
#undef CAY_SANDBOX_FIELD
        { .name = "is_shared", .kind = CAY_FIELD_BOOL, .offset = offsetof(struct spec, is_shared) },
        { .name = "frozen_us", .kind = CAY_FIELD_U64, .offset = offsetof(struct spec, frozen_us) },
        { 0 },
};

static const struct cay_field fields[] = {
        { .name = "env",
          .kind = CAY_FIELD_MAP,
          .offset = offsetof(struct texts, env),
          .max = CAY_SERVICE_PAIRS_MAX,
          .item_max = CAY_SERVICE_TEXT_MAX },
        { .name = "spec",
          .kind = CAY_FIELD_OBJECT,
          .offset = offsetof(struct texts, spec),
          .fields = spec_fields },
        { 0 },
};

int cay_snapshot_fill(struct cay_snapshot *n, const struct cay_sandbox *sb, struct cay_error *err)
{
        n->engine = sb->engine;
        cay_str_copy(n->owner, sizeof(n->owner), sb->owner);
        cay_str_copy(n->sandbox, sizeof(n->sandbox), sb->id);
        n->limits = sb->limits;
        n->template_name = cay_arena_copy(&n->mem, sb->template_name, strlen(sb->template_name));
        n->env_json = cay_arena_copy(&n->mem, sb->env_json, strlen(sb->env_json));
        if (n->template_name == NULL || n->env_json == NULL ||
            cay_record_copy_map(&n->mem, &sb->env, &n->env) < 0 ||
            cay_sandbox_options_copy(&n->mem, &sb->options, &n->options) < 0)
                return cay_fail(err, CAY_INTERNAL, "no memory for the snapshot");
        n->options.undo_step = n->options.undo_kept = 0; /* of the sandbox alone */
        n->options.undo_ran = n->options.asleep = false;
        n->created_wall_ms = cay_service_wall(n->service);
        return 0;
}

void cay_snapshot_put(struct cay_snapshot *n, struct cay_store_batch *b)
{
        cay_auto_buf struct cay_buf spec = { 0 };
        struct cay_json j;
        struct cay_store_snapshot r = {
                .id = n->id,
                .name = n->name,
                .owner = n->owner,
                .sandbox = n->sandbox,
                .template_name = n->template_name,
                .engine = n->engine->name,
                .env = n->env_json,
                .limits = n->limits,
                .created_wall_ms = n->created_wall_ms,
                .expires_ms = n->expires_ms,
                .bytes = n->bytes,
                .added = n->added,
                .step = n->step,
                .note = n->note,
        };

        cay_buf_init(&spec, SPEC_MAX);
        cay_json_init(&j, &spec);
        cay_json_begin_object(&j);
        cay_record_print_options(&j, &n->options);
        cay_json_key(&j, "is_shared");
        cay_json_bool(&j, n->is_shared);
        cay_json_key(&j, "frozen_us");
        cay_json_u64(&j, n->frozen_us);
        cay_json_end_object(&j);
        cay_json_end(&j);
        r.spec = cay_buf_data(&spec);
        cay_store_put_snapshot(n->service->store, b, &r);
}

static const char *text_or(const char *text, const char *other)
{
        return text != NULL && text[0] != '\0' ? text : other;
}

static int fill(struct cay_snapshot *n, const struct cay_store_snapshot *r, const struct texts *t)
{
        n->engine = cay_engine_of_record(n->service, text_or(r->engine, ""));
        if (n->engine == NULL)
                return -ENOSPC;
        if (!cay_id_is_valid(r->id) || !cay_str_copy(n->id, sizeof(n->id), r->id) ||
            !cay_str_copy(n->name, sizeof(n->name), text_or(r->name, "")) ||
            !cay_str_copy(n->owner, sizeof(n->owner), text_or(r->owner, "")) ||
            !cay_str_copy(n->sandbox, sizeof(n->sandbox), text_or(r->sandbox, "")))
                return -EBADMSG;
        n->template_name = cay_arena_copy(&n->mem, r->template_name, strlen(r->template_name));
        n->env_json = cay_arena_copy(&n->mem, text_or(r->env, "{}"), strlen(text_or(r->env, "{}")));
        if (n->template_name == NULL || n->env_json == NULL ||
            cay_record_copy_map(&n->mem, &t->env, &n->env) < 0 ||
            cay_sandbox_options_copy(&n->mem, &t->spec.options, &n->options) < 0)
                return -ENOMEM;
        n->limits = r->limits;
        n->created_wall_ms = r->created_wall_ms;
        n->expires_ms = r->expires_ms;
        n->bytes = r->bytes;
        n->added = r->added;
        n->step = r->step;
        cay_str_copy(n->note, sizeof(n->note), text_or(r->note, ""));
        n->is_shared = t->spec.is_shared;
        n->frozen_us = t->spec.frozen_us;
        cay_snapshot_move(n, CAY_SNAPSHOT_UNSEEN);
        return 0;
}

static int read_record(struct cay_service *s, const struct cay_store_snapshot *r, struct cay_error *err)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_snapshot *n;
        struct texts t = { 0 };
        void *doc = NULL;
        int result;

        cay_buf_init(&text, 2u << 20);
        if (cay_buf_printf(&text, "{\"env\":%s,\"spec\":%s}", text_or(r->env, "{}"), text_or(r->spec, "{}")) <
            0)
                return cay_fail(err, CAY_INTERNAL, "record of snapshot '%.63s' is too long", r->id);
        if (s->env.read_json(s->env.ctx, cay_buf_data(&text), fields, &t, &doc, err) < 0)
                return cay_wrap(err, "record of snapshot '%.63s'", r->id);
        n = cay_snapshot_new(s);
        result = fill(n, r, &t);
        s->env.free_json(s->env.ctx, doc);
        if (result < 0) {
                cay_snapshot_free(n);
                return cay_fail_sys(err, CAY_INTERNAL, result, "record of snapshot '%.63s'", r->id);
        }
        cay_snapshot_add(n);
        return 0;
}

static bool load(void *ctx, const void *record)
{
        struct cay_service *s = ctx;
        struct cay_error err = { 0 };

        if (read_record(s, record, &err) == 0)
                return true;
        cay_log_error("record not understood, left in the store", "error=%s", err.msg);
        s->report.unreadable++;
        return true;
}

int cay_snapshots_load(struct cay_service *s, struct cay_error *err)
{
        return s->store->ops->load(s->store, CAY_STORE_SNAPSHOT, load, s, err);
}
