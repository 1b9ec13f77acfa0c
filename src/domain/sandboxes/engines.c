/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines that are there, and those that are only known by name.
 *
 * Theory of operation. The environment lists them in order of preference. Each sandbox belongs to one engine
 * for good, and an engine's messages concern its own sandboxes only. A known engine that is missing (not
 * enabled, not supported here, used by an earlier daemon) has a row too. So a request for it is answered with
 * the reason, and its records are kept.
 */
#include "foundation/base/str.h"
#include "domain/sandboxes/service_priv.h"

struct cay_engine_row *cay_engine_find(struct cay_service *s, const char *name)
{
        for (unsigned i = 0; i < s->engine_count; i++)
                if (strcmp(s->engines[i].name, name) == 0)
                        return &s->engines[i];
        return NULL;
}

static struct cay_engine_row *add(struct cay_service *s, const char *name, const char *note)
{
        struct cay_engine_row *row = &s->engines[s->engine_count];

        if (s->engine_count == CAY_SERVICE_ENGINES_MAX || !cay_str_copy(row->name, sizeof(row->name), name))
                return NULL;
        snprintf(row->note, sizeof(row->note), "%s", note != NULL ? note : "");
        row->service = s;
        row->up = true;
        s->engine_count++;
        return row;
}

void cay_engines_open(struct cay_service *s)
{
        for (unsigned i = 0; i < s->env.engine_count; i++) {
                const struct cay_service_engine *given = &s->env.engines[i];
                struct cay_engine_row *row = add(s, given->name, given->note);

                if (row == NULL || given->engine == NULL)
                        continue;
                row->engine = given->engine;
                if (row->engine->ops->on_gone != NULL)
                        row->engine->ops->on_gone(row->engine, cay_link_on_gone, row);
                if (row->engine->ops->on_files_lost != NULL)
                        row->engine->ops->on_files_lost(row->engine, cay_adopt_on_files_lost, row);
        }
}

void cay_engines_close(struct cay_service *s)
{
        for (unsigned i = 0; i < s->engine_count; i++) {
                struct cay_engine *engine = s->engines[i].engine;

                if (engine != NULL && engine->ops->on_gone != NULL)
                        engine->ops->on_gone(engine, NULL, NULL);
                if (engine != NULL && engine->ops->on_files_lost != NULL)
                        engine->ops->on_files_lost(engine, NULL, NULL);
        }
}

struct cay_engine_row *cay_engine_default(struct cay_service *s)
{
        for (unsigned i = 0; i < s->engine_count; i++)
                if (s->engines[i].engine != NULL)
                        return &s->engines[i];
        return &s->engines[0];
}

struct cay_engine_row *cay_engine_of_record(struct cay_service *s, const char *name)
{
        struct cay_engine_row *row = name[0] != '\0' ? cay_engine_find(s, name) : cay_engine_default(s);

        return row != NULL ? row : add(s, name, "this daemon does not know it");
}

/* "native, docker": the names that a request may use. */
static const char *names(const struct cay_service *s, char *buf, size_t size)
{
        size_t at = 0;

        buf[0] = '\0';
        for (unsigned i = 0; i < s->env.engine_count && at < size; i++)
                at += (size_t)snprintf(buf + at, size - at, "%s%s", i > 0 ? ", " : "", s->engines[i].name);
        return buf;
}

struct cay_engine_row *cay_engine_pick(struct cay_service *s, const char *name, struct cay_error *err)
{
        struct cay_engine_row *row;
        char all[128];

        if (name == NULL || strcmp(name, "auto") == 0)
                return cay_engine_default(s);
        row = cay_engine_find(s, name);
        if (row == NULL || row >= s->engines + s->env.engine_count) {
                cay_fail(err, CAY_INVALID, "engine: '%.40s' is unknown; choose auto, %s", name,
                         names(s, all, sizeof(all)));
                return NULL;
        }
        if (row->engine == NULL) {
                cay_fail(err, CAY_CONFLICT, "engine: %s is not available here: %s", row->name, row->note);
                return NULL;
        }
        return row;
}

/* Logs each change once. */
void cay_engine_set(struct cay_engine_row *row, bool up, const char *why)
{
        if (!up)
                cay_str_copy(row->why, sizeof(row->why), why);
        if (row->up && !up) {
                cay_log_warn("engine down", "engine=%s why=%s", row->name, row->why);
                cay_pool_clear(row, true);
        } else if (!row->up && up) {
                cay_log_info("engine up again", "engine=%s", row->name);
                cay_pool_tend(row->service, 0);
        }
        row->up = up;
}

/*
 * An engine that can report its health is believed. One slow or unavailable box does not mean that the engine
 * is down.
 */
void cay_engine_note(struct cay_engine_row *row, const struct cay_error *err)
{
        bool failed = err->code == CAY_UNAVAILABLE || err->code == CAY_TIMEOUT;
        struct cay_error ignored = { 0 };

        if (!failed)
                cay_engine_set(row, true, "");
        else if (row->engine == NULL || row->engine->ops->health == NULL ||
                 row->engine->ops->health(row->engine, &ignored) < 0)
                cay_engine_set(row, false, err->msg);
}

bool cay_engine_is_up(struct cay_engine_row *row, char why[256])
{
        struct cay_error err = { 0 };
        bool up = row->engine != NULL && row->up;

        snprintf(why, sizeof(row->why), "%s", up ? "" : row->engine != NULL ? row->why : row->note);
        if (!up || row->engine->ops->health == NULL)
                return up;
        up = row->engine->ops->health(row->engine, &err) == 0;
        snprintf(why, sizeof(row->why), "%s", up ? "" : err.msg);
        return up;
}

bool cay_sandbox_is_away(const struct cay_sandbox *sb)
{
        return sb->engine->engine == NULL;
}

int cay_sandbox_check_engine(const struct cay_sandbox *sb, struct cay_error *err)
{
        if (!cay_sandbox_is_away(sb))
                return 0;
        return cay_fail(err, CAY_UNAVAILABLE,
                        "sandbox '%s' belongs to the %s engine, which is not available: %.120s; it returns "
                        "when the daemon runs with that engine",
                        sb->id, sb->engine->name, sb->engine->note);
}

/* For others */

static unsigned count_alive(const struct cay_service *s, const struct cay_viewer *v,
                            const struct cay_engine_row *row)
{
        unsigned count = 0;

        for (unsigned i = 0; i < s->count; i++)
                count += s->sorted[i]->engine == row && cay_table_may_see(v, s->sorted[i]) &&
                         (s->sorted[i]->has_box || cay_state_has_box(cay_sandbox_state(s->sorted[i])));
        return count;
}

void cay_engines_health(struct cay_service *s, const struct cay_viewer *v, struct cay_service_health *ret)
{
        char ignored[256];

        ret->engine_up = cay_engine_is_up(cay_engine_default(s), ret->engine_why);
        for (unsigned i = 0; i < s->engine_count; i++) {
                struct cay_engine_row *row = &s->engines[i];

                if (row->engine != NULL)
                        ret->engines[ret->engine_count++] =
                                (struct cay_service_engine_health){ row->name, cay_engine_is_up(row, ignored),
                                                                    count_alive(s, v, row) };
        }
}

static const struct cay_viewer everybody = { .owner = "", .sees_all = true };

static void fill_view(struct cay_service *s, struct cay_engine_row *row, struct cay_engine_view *ret)
{
        const struct cay_engine *engine = row->engine;

        *ret = (struct cay_engine_view){ .name = row->name, .note = row->note, .is_there = engine != NULL };
        if (engine == NULL)
                return;
        ret->is_default = row == cay_engine_default(s);
        ret->up = cay_engine_is_up(row, ret->why);
        ret->isolates = !(engine->ops->lacks & CAY_ENGINE_LACKS_ISOLATION);
        ret->has_users = !(engine->ops->lacks & CAY_ENGINE_LACKS_USERS);
        ret->pauses = engine->ops->freeze != NULL && !(engine->ops->lacks & CAY_ENGINE_LACKS_FREEZER);
        ret->caps = engine->caps;
        ret->holds = engine->ops->can_hold(row->engine);
        ret->alive = count_alive(s, &everybody, row);
}

bool cay_service_engine_at(struct cay_service *s, unsigned nr, struct cay_engine_view *ret)
{
        if (nr >= s->engine_count)
                return false;
        fill_view(s, &s->engines[nr], ret);
        return true;
}

int cay_service_engine_choose(struct cay_service *s, const char *name, struct cay_engine_view *ret,
                              struct cay_error *err)
{
        struct cay_engine_row *row = cay_engine_pick(s, name, err);

        if (row == NULL)
                return -1;
        fill_view(s, row, ret);
        return 0;
}
