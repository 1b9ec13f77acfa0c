/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles an engine whose helper program was replaced. Requests to the old one may have been done without an
 * answer, so the store decides: boxes and files that were never reported are removed, freezers are set as
 * stored, and links are requested again at once.
 */
#include "foundation/base/str.h"
#include "domain/sandboxes/service_priv.h"

static void on_frozen_again(struct cay_async *e, const struct cay_error *err)
{
        if (err->code != CAY_OK)
                cay_log_warn("box not frozen or thawed, ignoring", "id=%s error=%s", e->box.id, err->msg);
}

static void put_freezer(struct cay_sandbox *sb)
{
        struct cay_engine *engine = sb->engine->engine;
        struct cay_async *e;

        if (engine->ops->lacks & CAY_ENGINE_LACKS_FREEZER || engine->ops->freeze == NULL ||
            sb->options.no_init)
                return;
        e = cay_async_new(sb->service, sb, NULL, on_frozen_again);
        if (cay_sandbox_state(sb) == CAY_STATE_PAUSED)
                engine->ops->freeze(engine, &e->box, cay_async_engine(e, CAY_SERVICE_ENGINE_MS));
        else
                engine->ops->thaw(engine, &e->box, cay_async_engine(e, CAY_SERVICE_ENGINE_MS));
}

/* machine NULL: all of the engine. */
static void come_back(struct cay_service *s, struct cay_engine_row *row, const char *owner,
                      const char *machine)
{
        cay_engine_set(row, true, "");
        cay_pool_clear(row, false); /* they have no record either */
        cay_adopt_remove_unowned(row);
        for (unsigned i = 0; i < s->count; i++) {
                struct cay_sandbox *sb = s->sorted[i];

                if (sb->engine != row || !sb->has_box || cay_sandbox_pending(sb) != CAY_PENDING_NONE ||
                    sb->client == NULL)
                        continue;
                if (machine != NULL &&
                    (sb->options.machine == NULL || strcmp(sb->options.machine, machine) != 0 ||
                     strcmp(sb->owner, owner) != 0))
                        continue;
                put_freezer(sb);
                cay_link_again(sb);
        }
        cay_network_tend(s);
        cay_tick_all(s);
}

void cay_service_engine_back(struct cay_service *s, const char *name)
{
        struct cay_engine_row *row = cay_engine_find(s, name);

        if (row == NULL || row->engine == NULL)
                return;
        cay_log_info("engine has another helper", "engine=%s", name);
        come_back(s, row, NULL, NULL);
        cay_adopt_remove_left_layers(row);
        cay_undo_go_on_all(s);
}

void cay_service_machine_back(struct cay_service *s, const char *engine, const char *owner,
                              const char *machine)
{
        struct cay_engine_row *row = cay_engine_find(s, engine);

        if (s->ready && row != NULL && row->engine != NULL)
                come_back(s, row, owner, machine);
}

static void on_news_stored(struct cay_async *e, const struct cay_error *err)
{
        (void)e;
        if (err->code != CAY_OK)
                cay_log_warn("an event of a machine was not stored, ignoring", "error=%s", err->msg);
}

void cay_service_machine_news(struct cay_service *s, const char *owner, const char *machine,
                              enum cay_machine_news news, const char *name, const char *value)
{
        static const enum cay_event_kind kinds[] = {
                [CAY_MACHINE_PAIRED] = CAY_EVENT_MACHINE_PAIRED,
                [CAY_MACHINE_CONNECTED] = CAY_EVENT_MACHINE_CONNECTED,
                [CAY_MACHINE_AWAY] = CAY_EVENT_MACHINE_AWAY,
                [CAY_MACHINE_OFF] = CAY_EVENT_MACHINE_OFF,
                [CAY_MACHINE_REMOVED] = CAY_EVENT_MACHINE_REMOVED,
        };
        struct cay_store_batch *b;
        struct cay_async *e;

        if (!s->ready)
                return;
        e = cay_async_new(s, NULL, NULL, on_news_stored);
        b = s->store->ops->begin(s->store);
        cay_event_put_of(e, b, "", owner, kinds[news], "machine", machine, value ? name : NULL, value, NULL);
        cay_async_commit(e, b);
}

bool cay_service_machine_may_have(struct cay_service *s, const char *engine, const char *owner,
                                  const char *machine, const char *id)
{
        const struct cay_sandbox *sb = cay_table_find(s, id);

        return sb == NULL || (strcmp(sb->engine->name, engine) == 0 && sb->options.machine != NULL &&
                              strcmp(sb->options.machine, machine) == 0 && strcmp(sb->owner, owner) == 0);
}
