/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon about itself: health, version, engines, settings. Unknown callers get no figures, and only
 * admins get figures of others.
 */
#include "domain/settings/config.h"
#include "domain/ops/view.h"
#include "domain/ops/result_rows.h"

/* A caller without admin learns nothing about others: their number, load, or stored data. */
static void put_own_figures(const struct cay_service_health *own, struct cay_json *j)
{
        cay_op_key_u64(j, "sandboxes", own->known);
        cay_op_key_u64(j, "alive", own->alive);
        cay_op_key_u64(j, "execs_running", own->execs_running);
}

static void put_all_figures(const struct cay_op_call *c, const struct cay_service_health *h,
                            struct cay_json *j)
{
        cay_op_key_text(j, "engine_why", h->engine_why[0] ? h->engine_why : NULL);
        cay_op_key_u64(j, "sandboxes", h->known);
        cay_op_key_u64(j, "alive", h->alive);
        cay_op_key_u64(j, "links_lost", h->links_lost);
        cay_op_key_u64(j, "execs_running", h->execs_running);
        cay_op_key_u64(j, "channels", h->channels);
        cay_op_key_u64(j, "watchers", h->watchers);
        cay_op_key_u64(j, "creates", h->creates);
        cay_op_key_u64(j, "create_failures", h->create_failures);
        cay_op_key_u64(j, "execs", h->execs);
        cay_op_key_u64(j, "adoptions", h->adoptions);
        cay_op_key_u64(j, "relinks", h->relinks);
        cay_op_key_u64(j, "files_unclaimed", h->files_unclaimed);
        cay_op_key_u64(j, "store_queued", h->store.queued);
        cay_op_key_bool(j, "store_full", h->store.is_full);
        cay_op_key_bool(j, "store_damaged", h->store.is_damaged);
        cay_op_key_u64(j, "store_bytes", h->store.file_bytes);
        cay_op_key_time(j, "started_at", c->world->started_wall_ms);
}

static void put_engines_down(struct cay_json *j, struct cay_service *s)
{
        struct cay_engine_view e;

        cay_json_key(j, "engines_down");
        cay_json_begin_array(j);
        for (unsigned i = 0; cay_service_engine_at(s, i, &e); i++)
                if (e.is_there && !e.up)
                        cay_json_text(j, e.name);
        cay_json_end_array(j);
}

static void answer_health(struct cay_op_call *c, bool ok, const struct cay_service_health *h)
{
        struct cay_op_result o;

        cay_op_result_begin(&o, c);
        cay_op_key_text(&o.j, "status", ok ? "ok" : "unavailable");
        cay_op_key_text(&o.j, "version", CAY_VERSION);
        if (c->is_known && h) {
                cay_op_key_bool(&o.j, "engine_up", h->engine_up);
                put_engines_down(&o.j, c->world->service);
                if (cay_op_viewer(c).sees_all)
                        put_all_figures(c, h, &o.j);
                else
                        put_own_figures(h, &o.j);
        }
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

static void run_live(struct cay_op_call *c)
{
        answer_health(c, true, NULL);
}

RESULT(result_live, NULL, TEXT("status"), TEXT("version"));

const struct cay_op cay_op_health_live = {
        .name = "health_live",
        .route = "GET /api/health/live",
        .doc = "Says whether the daemon is alive; needs no token",
        .flags = CAY_OP_OPEN,
        .result = &result_live,
        .run = run_live,
};

static void run_ready(struct cay_op_call *c)
{
        struct cay_viewer viewer = cay_op_viewer(c);
        bool tells = c->is_known && viewer.sees_all;
        struct cay_service_health h = { 0 };
        struct cay_error err = { 0 };

        cay_service_figures(c->world->service, &viewer, &h);
        if (h.ready && h.engine_up && !h.store_full && !h.store_damaged) {
                answer_health(c, true, &h);
                return;
        }
        if (!h.ready)
                cay_fail(&err, CAY_UNAVAILABLE, "not ready: sandboxes are being adopted");
        else if (h.store_damaged)
                cay_fail(
                        &err, CAY_UNAVAILABLE,
                        "not ready: the daemon's database is damaged, and nothing can be stored; restart the "
                        "daemon: it keeps what can be read");
        else if (h.store_full)
                cay_fail(
                        &err, CAY_UNAVAILABLE,
                        "not ready: the disk of the daemon's data folder is full, and nothing can be stored");
        else
                cay_fail(&err, CAY_UNAVAILABLE, "not ready: the engine does not answer%s%.150s",
                         tells ? ": " : "", tells ? h.engine_why : "");
        cay_op_fail(c, &err, NULL);
}

RESULT(result_ready, NULL, TEXT("status"), TEXT("version"), IF("engine_up", BOOL), SOME("engine_why", TEXT),
       IF("sandboxes", NUMBER), IF("alive", NUMBER), IF("links_lost", NUMBER), IF("execs_running", NUMBER),
       IF("channels", NUMBER), IF("watchers", NUMBER), IF("creates", NUMBER), IF("create_failures", NUMBER),
       IF("execs", NUMBER), IF("adoptions", NUMBER), IF("relinks", NUMBER), IF("store_queued", NUMBER),
       IF("store_full", BOOL), IF("store_damaged", BOOL), IF("files_unclaimed", NUMBER),
       IF("store_bytes", NUMBER), IF("started_at", TIME), IF("engines_down", TEXTS));

const struct cay_op cay_op_health_ready = {
        .name = "health_ready",
        .route = "GET /api/health/ready",
        .doc = "Can it make sandboxes? Answered to anybody; with figures of one's own for those who say who "
               "they are, of everything for admin",
        .flags = CAY_OP_OPEN,
        .result = &result_ready,
        .run = run_ready,
};

static void run_version(struct cay_op_call *c)
{
        struct cay_op_result o;

        cay_op_result_begin(&o, c);
        cay_op_key_text(&o.j, "name", "cay");
        cay_op_key_text(&o.j, "version", CAY_VERSION);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

RESULT(result_version, NULL, TEXT("name"), TEXT("version"));

const struct cay_op cay_op_version_get = {
        .name = "version_get",
        .route = "GET /api/version",
        .doc = "Returns the daemon's version",
        .scope = CAY_SCOPE_READ,
        .result = &result_version,
        .run = run_version,
};

/* Reasons name sockets, files and addresses of the host: only admins get them in full. */
static const char *why_not(const struct cay_engine_view *e, bool sees_all)
{
        if (e->is_there && e->up)
                return NULL;
        if (!e->is_there)
                return sees_all ? e->note : "it does not run here";
        return sees_all ? e->why : "it does not answer now";
}

static void put_engine(struct cay_json *j, const struct cay_engine_view *e, bool sees_all)
{
        cay_op_key_text(j, "name", e->name);
        cay_op_key_bool(j, "available", e->is_there);
        cay_op_key_bool(j, "default", e->is_default);
        cay_op_key_bool(j, "up", e->up);
        cay_op_key_text(j, "why", why_not(e, sees_all));
        cay_op_key_text(j, "chosen", sees_all && e->is_there && e->note[0] ? e->note : NULL);
        if (!e->is_there)
                return;
        cay_op_key_bool(j, "isolates", e->isolates);
        cay_op_key_bool(j, "users", e->has_users);
        cay_op_key_bool(j, "keeps", e->caps & CAY_ENGINE_CAN_KEEP);
        cay_op_key_bool(j, "pauses", e->pauses);
        cay_op_key_bool(j, "bridges", e->caps & CAY_ENGINE_CAN_REACH_OUT);
        cay_op_key_bool(j, "ports", e->caps & CAY_ENGINE_CAN_PORTS);
        cay_op_key_bool(j, "volumes", e->caps & CAY_ENGINE_CAN_VOLUMES);
        cay_op_key_bool(j, "runs_once", e->caps & CAY_ENGINE_CAN_NO_INIT);
        cay_json_key(j, "limits");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < CAY_LIMIT_NR_COUNT; i++)
                if (e->holds & (1u << i))
                        cay_json_text(j, cay_limit_word(i));
        cay_json_end_array(j);
        if (sees_all)
                cay_op_key_u64(j, "alive", e->alive);
}

static void run_engines(struct cay_op_call *c)
{
        struct cay_engine_view e;
        struct cay_op_result o;

        cay_op_result_begin(&o, c);
        cay_json_key(&o.j, "engines");
        cay_json_begin_array(&o.j);
        for (unsigned i = 0; cay_service_engine_at(c->world->service, i, &e); i++) {
                cay_json_begin_object(&o.j);
                put_engine(&o.j, &e, cay_op_viewer(c).sees_all);
                cay_json_end_object(&o.j);
        }
        cay_json_end_array(&o.j);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

RESULT(result_engine, "Engine", TEXT("name"), BOOL("available"), BOOL("default"), BOOL("up"),
       MAYBE("why", TEXT), MAYBE("chosen", TEXT), IF("isolates", BOOL), IF("users", BOOL), IF("keeps", BOOL),
       IF("pauses", BOOL), IF("bridges", BOOL), IF("ports", BOOL), IF("volumes", BOOL), IF("runs_once", BOOL),
       IF("limits", TEXTS), IF("alive", NUMBER));
RESULT(result_engines, NULL, LIST("engines", result_engine));

const struct cay_op cay_op_engine_list = {
        .name = "engine_list",
        .route = "GET /api/engines",
        .doc = "The engines: which run here, what each can do, and why others do not run; reasons in full "
               "for "
               "admin",
        .scope = CAY_SCOPE_READ,
        .result = &result_engines,
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
        struct cay_op_result o;

        cay_op_result_begin(&o, c);
        for (unsigned key = 0; key < CAY_CONFIG_KEY_COUNT; key++)
                put_setting(&o.j, c->world->config, key);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

RESULT(result_setting, "Setting", TEXT("value"), TEXT("source"), TEXT("doc"));
RESULT(result_settings, NULL, MAP("*", result_setting));

const struct cay_op cay_op_config_get = {
        .name = "config_get",
        .route = "GET /api/config",
        .doc = "Returns the daemon's settings without secrets",
        .scope = CAY_SCOPE_ADMIN,
        .result = &result_settings,
        .run = run_config,
};
