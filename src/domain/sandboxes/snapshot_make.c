/* SPDX-License-Identifier: Apache-2.0 */
/* Takes snapshots: the engine copies the files, then the record is stored, then the call is answered. */
#include "foundation/base/fair.h"
#include "foundation/base/str.h"
#include "domain/sandboxes/snapshot_priv.h"

static int check_name(struct cay_service *s, const char *owner, const char *name, struct cay_error *err)
{
        const struct cay_snapshot *other;

        if (name == NULL || name[0] == '\0')
                return 0;
        if (!cay_id_is_valid(name))
                return cay_fail(err, CAY_INVALID,
                                "name: 1 to %u characters a-z, 0-9 or '-'; must not begin or end with '-'",
                                CAY_NAME_MAX);
        other = cay_snapshot_find_name(s, owner, name);
        if (other != NULL)
                return cay_fail(err, CAY_EXISTS, "name: '%s' is in use by snapshot %s; choose another", name,
                                other->id);
        return 0;
}

static int check_count(const struct cay_service *s, const char *owner, struct cay_error *err)
{
        unsigned own = 0;

        for (const struct cay_snapshot *n = s->snapshots->newest; n != NULL; n = n->older)
                own += strcmp(n->owner, owner) == 0;
        if (!cay_fair_has_room(CAY_SNAPSHOTS_MAX, CAY_SNAPSHOTS_MAX, s->snapshots->count, own))
                return cay_fail(err, CAY_LIMIT,
                                "you have %u snapshots, the most that there is room for; remove one first",
                                own);
        return 0;
}

/* Whether its engine can copy files at all. */
int cay_snapshot_check_engine(const struct cay_sandbox *sb, struct cay_error *err)
{
        if (cay_sandbox_check_engine(sb, err) < 0)
                return -1;
        if (sb->engine->engine->ops->clone == NULL)
                return cay_fail(err, CAY_UNSUPPORTED, "the %s engine has no snapshots; the engine native has",
                                sb->engine->name);
        if (!(sb->engine->engine->caps & CAY_ENGINE_CAN_KEEP))
                return cay_fail(
                        err, CAY_UNSUPPORTED,
                        "this daemon has no snapshots: they need loop devices and shifted ids, which only "
                        "root has; run the daemon as root");
        return 0;
}

/* Whether its files are where the engine can copy them. */
static int check_files(const struct cay_sandbox *sb, struct cay_error *err)
{
        if (cay_snapshot_check_engine(sb, err) < 0)
                return -1;
        if (!sb->kept)
                return cay_fail(
                        err, CAY_UNSUPPORTED,
                        "the files of sandbox '%s' cannot be copied: they are in memory, and go with it",
                        sb->id);
        return 0;
}

static int check_state(const struct cay_sandbox *sb, struct cay_error *err)
{
        switch (cay_sandbox_state(sb)) {
        case CAY_STATE_CREATING:
                return cay_fail(err, CAY_CONFLICT, "sandbox '%s' is still being created; try again", sb->id);
        case CAY_STATE_ERROR:
                if (sb->has_box || sb->cause == CAY_CAUSE_DISK)
                        return cay_fail(err, CAY_CONFLICT,
                                        "sandbox '%s' is in error (%s); start it again first", sb->id,
                                        sb->cause_text);
                break;
        default:
                break;
        }
        return cay_sandbox_check_free(sb, err);
}

static void give_up(struct cay_snapshot *n, const struct cay_error *err)
{
        struct cay_service *s = n->service;
        struct cay_service_call *c = cay_take(n->call);

        cay_snapshot_free(n);
        if (c != NULL)
                cay_service_fail_job(s, &c->job, err);
}

static void on_stored(struct cay_async *e, const struct cay_error *err)
{
        struct cay_snapshot *n = cay_snapshot_find(e->service, e->box.id);
        struct cay_service_call *c;

        if (n == NULL)
                return;
        if (err->code != CAY_OK) {
                cay_snapshot_remove_files(n);
                give_up(n, err);
                return;
        }
        cay_kill_point_reached(CAY_KILL_POINT_snapshot_stored);
        cay_snapshot_move(n, CAY_SNAPSHOT_READY);
        if (n->step > 0)
                cay_steps_thin(e->service, n->sandbox);
        if (n->expires_ms > 0)
                cay_tick_by(e->service, 0);
        c = cay_take(n->call);
        if (c != NULL)
                cay_service_fail_job(e->service, &c->job, err);
}

static void store(struct cay_snapshot *n)
{
        struct cay_service *s = n->service;
        struct cay_async *e = cay_async_new(s, NULL, NULL, on_stored);
        struct cay_store_batch *b = s->store->ops->begin(s->store);
        char number[24];

        cay_str_copy(e->box.id, sizeof(e->box.id), n->id);
        cay_snapshot_put(n, b);
        snprintf(number, sizeof(number), "%llu", (unsigned long long)n->step);
        if (n->step > 0)
                cay_event_put_of(e, b, n->sandbox, n->owner, CAY_EVENT_STEP_MADE, "step", number, "snapshot",
                                 n->id, NULL);
        else
                cay_event_put_of(e, b, n->sandbox, n->owner, CAY_EVENT_SNAPSHOT_CREATED, "snapshot", n->id,
                                 "name", n->name, NULL);
        cay_async_commit(e, b);
}

/* Known only now: what it adds to what its owner has. */
static int check_share(const struct cay_snapshot *n, struct cay_error *err)
{
        const struct cay_service *s = n->service;
        uint64_t most = s->env.max_disk_owner, all;

        if (most == 0)
                return 0;
        all = cay_service_disk_of(s, n->owner);
        if (all <= most)
                return 0;
        return cay_fail(
                err, CAY_LIMIT,
                "your sandboxes and snapshots would use %llu MiB of disk with this one (%llu MiB): an owner "
                "may have %llu MiB (max_disk_owner); remove one",
                (unsigned long long)(all >> 20), (unsigned long long)(n->added >> 20),
                (unsigned long long)(most >> 20));
}

static void on_cloned(struct cay_async *e, const struct cay_error *err)
{
        struct cay_snapshot *n = cay_snapshot_find(e->service, e->box.id);
        struct cay_sandbox *sb = e->sandbox;
        struct cay_error why = *err;

        if (sb != NULL) {
                sb->clones--;
                sb->misses = 0;
        }
        if (n == NULL)
                return;
        if (err->code != CAY_OK) {
                give_up(n, &why);
                return;
        }
        cay_kill_point_reached(CAY_KILL_POINT_snapshot_cloned);
        n->bytes = e->box.clone.bytes;
        n->added = e->box.clone.added;
        n->is_shared = e->box.clone.is_shared;
        n->frozen_us = e->box.clone.frozen_us;
        if (check_share(n, &why) < 0) {
                cay_snapshot_remove_files(n);
                give_up(n, &why);
                return;
        }
        store(n);
}

static void ask(struct cay_snapshot *n, struct cay_sandbox *sb)
{
        struct cay_async *e = cay_async_new(n->service, sb, NULL, on_cloned);
        struct cay_engine *engine;
        struct cay_job *job;

        e->clones = true;
        cay_str_copy(e->box.id, sizeof(e->box.id), n->id);
        sb->clones++;
        engine = cay_async_ask(e, CAY_SERVICE_CLONE_MS, &job);
        if (engine != NULL)
                engine->ops->clone(engine, sb->id, CAY_ENGINE_CLONE_SYNC, &e->box, job);
}

void cay_snapshot_take(struct cay_sandbox *sb, const struct cay_snapshot_new *what, const char *note,
                       struct cay_service_call *c)
{
        struct cay_service *s = sb->service;
        struct cay_error err = { 0 };
        struct cay_snapshot *n = NULL;

        c->next = NULL;
        if (check_files(sb, &err) == 0 && check_state(sb, &err) == 0 &&
            check_name(s, sb->owner, what->name, &err) == 0 && check_count(s, sb->owner, &err) == 0 &&
            cay_service_check_disk(s, &err) == 0) {
                n = cay_snapshot_new(s);
                if (cay_service_make_id(s, n->id, &err) == 0)
                        cay_snapshot_fill(n, sb, &err);
        }
        if (err.code != CAY_OK) {
                if (n != NULL)
                        cay_snapshot_free(n);
                cay_service_fail_job(s, &c->job, &err);
                return;
        }
        cay_str_copy(n->name, sizeof(n->name), what->name != NULL ? what->name : "");
        if (note != NULL) {
                n->step = cay_step_next_number(s, sb->id);
                cay_str_copy(n->note, sizeof(n->note), note);
        }
        n->expires_ms = what->timeout_ms > 0 ? cay_service_now(s) + what->timeout_ms : 0;
        n->call = c;
        cay_str_copy(c->id, sizeof(c->id), n->id);
        cay_snapshot_add(n);
        cay_sandbox_use(sb);
        cay_kill_point_reached(CAY_KILL_POINT_snapshot_asked);
        ask(n, sb);
}

void cay_service_snapshot(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                          const struct cay_snapshot_new *what, struct cay_service_call *c)
{
        struct cay_error err = { 0 };
        struct cay_sandbox *sb = cay_table_get(s, v, sandbox, &err);

        c->next = NULL;
        if (sb != NULL)
                cay_snapshot_take(sb, what, NULL, c);
        else
                cay_service_fail_job(s, &c->job, &err);
}
