/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon about itself: health, version, engines, settings. Who is not known gets no figures. */
#include "config/config.h"
#include "op/view.h"

static void answer_health(struct cay_op_call *c, bool ok, const struct cay_service_health *h)
{
        struct cay_op_json o;

        cay_op_json_begin(&o);
        cay_op_key_text(&o.j, "status", ok ? "ok" : "unavailable");
        cay_op_key_text(&o.j, "version", CAY_VERSION);
        if (c->is_known && h) {
                cay_op_key_bool(&o.j, "engine_up", h->engine_up);
                cay_op_key_text(&o.j, "engine_why", h->engine_why[0] ? h->engine_why : NULL);
                cay_op_key_u64(&o.j, "sandboxes", h->known);
                cay_op_key_u64(&o.j, "alive", h->alive);
                cay_op_key_u64(&o.j, "links_lost", h->links_lost);
                cay_op_key_u64(&o.j, "execs_running", h->execs_running);
                cay_op_key_u64(&o.j, "channels", h->channels);
                cay_op_key_u64(&o.j, "watchers", h->watchers);
                cay_op_key_u64(&o.j, "creates", h->creates);
                cay_op_key_u64(&o.j, "create_failures", h->create_failures);
                cay_op_key_u64(&o.j, "execs", h->execs);
                cay_op_key_u64(&o.j, "adoptions", h->adoptions);
                cay_op_key_u64(&o.j, "relinks", h->relinks);
                cay_op_key_u64(&o.j, "store_queued", h->store.queued);
                cay_op_key_bool(&o.j, "store_full", h->store.is_full);
                cay_op_key_u64(&o.j, "store_bytes", h->store.file_bytes);
                cay_op_key_time(&o.j, "started_at", c->world->started_wall_ms);
        }
        cay_op_json_answer(&o, c, CAY_OP_OK);
}

static void run_live(struct cay_op_call *c)
{
        answer_health(c, true, NULL);
}

const struct cay_op cay_op_health_live = {
        .name = "health_live",
        .route = "GET /api/health/live",
        .doc = "Is the daemon there? Answered to anybody",
        .flags = CAY_OP_OPEN,
        .run = run_live,
};

static void run_ready(struct cay_op_call *c)
{
        struct cay_service_health h = { 0 };
        struct cay_error err = { 0 };

        cay_service_health(c->world->service, &h);
        if (h.ready && h.engine_up) {
                answer_health(c, true, &h);
                return;
        }
        if (!h.ready)
                cay_fail(&err, CAY_UNAVAILABLE, "not ready: sandboxes are being adopted");
        else
                cay_fail(&err, CAY_UNAVAILABLE, "not ready: the engine does not answer%s%.150s",
                         c->is_known ? ": " : "", c->is_known ? h.engine_why : "");
        cay_op_fail(c, &err, NULL);
}

const struct cay_op cay_op_health_ready = {
        .name = "health_ready",
        .route = "GET /api/health/ready",
        .doc = "Can it make sandboxes? Answered to anybody; figures for those who say who they are",
        .flags = CAY_OP_OPEN,
        .run = run_ready,
};

static void run_version(struct cay_op_call *c)
{
        struct cay_op_json o;

        cay_op_json_begin(&o);
        cay_op_key_text(&o.j, "name", "cay");
        cay_op_key_text(&o.j, "version", CAY_VERSION);
        cay_op_json_answer(&o, c, CAY_OP_OK);
}

const struct cay_op cay_op_version_get = {
        .name = "version_get",
        .route = "GET /api/version",
        .doc = "The daemon's version",
        .scope = CAY_SCOPE_READ,
        .run = run_version,
};

static void run_engines(struct cay_op_call *c)
{
        struct cay_engine *e = c->world->engine;
        unsigned held = e->ops->can_hold(e);
        struct cay_error err = { 0 };
        struct cay_op_json o;

        cay_op_json_begin(&o);
        cay_json_key(&o.j, "engines");
        cay_json_begin_array(&o.j);
        cay_json_begin_object(&o.j);
        cay_op_key_text(&o.j, "name", e->ops->name);
        cay_op_key_bool(&o.j, "up", !e->ops->health || e->ops->health(e, &err) == 0);
        cay_op_key_text(&o.j, "why", err.code == CAY_OK ? NULL : err.msg);
        cay_op_key_bool(&o.j, "isolates", !(e->ops->lacks & CAY_ENGINE_LACKS_ISOLATION));
        cay_op_key_bool(&o.j, "keeps", e->caps & CAY_ENGINE_CAN_KEEP);
        cay_json_key(&o.j, "limits");
        cay_json_begin_array(&o.j);
        for (unsigned i = 0; i < CAY_LIMIT_NR_COUNT; i++)
                if (held & (1u << i))
                        cay_json_text(&o.j, cay_limit_word(i));
        cay_json_end_array(&o.j);
        cay_json_end_object(&o.j);
        cay_json_end_array(&o.j);
        cay_op_json_answer(&o, c, CAY_OP_OK);
}

const struct cay_op cay_op_engine_list = {
        .name = "engine_list",
        .route = "GET /api/engines",
        .doc = "The engines, and which limits they can hold on this machine",
        .scope = CAY_SCOPE_READ,
        .run = run_engines,
};

static void put_setting(struct cay_json *j, const struct cay_config *config, unsigned key)
{
        const struct cay_config_row *row = &cay_config_rows[key];
        cay_auto_buf struct cay_buf value = { 0 };
        bool secret = row->flags & CAY_CONFIG_SECRET;

        if (row->kind == CAY_CONFIG_LISTEN)
                return;
        cay_buf_init(&value, CAY_CONFIG_VALUE_MAX + 1);
        if (!secret)
                cay_config_value_text(config, key, &value);
        cay_json_key(j, row->name);
        cay_json_begin_object(j);
        cay_op_key_text(j, "value", secret ? "(hidden)" : cay_buf_data(&value));
        cay_op_key_text(j, "source", cay_config_source_word(config->source[key]));
        cay_op_key_text(j, "doc", row->doc);
        cay_json_end_object(j);
}

static void run_config(struct cay_op_call *c)
{
        struct cay_op_json o;

        cay_op_json_begin(&o);
        for (unsigned key = 0; key < CAY_CONFIG_KEY_COUNT; key++)
                put_setting(&o.j, c->world->config, key);
        cay_op_json_answer(&o, c, CAY_OP_OK);
}

const struct cay_op cay_op_config_get = {
        .name = "config_get",
        .route = "GET /api/config",
        .doc = "The daemon's settings, secrets left out",
        .scope = CAY_SCOPE_ADMIN,
        .run = run_config,
};
