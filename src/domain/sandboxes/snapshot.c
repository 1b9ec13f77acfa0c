/* SPDX-License-Identifier: Apache-2.0 */
/* The table of snapshots: found, listed, counted, removed. */
#include "foundation/base/str.h"
#include "domain/sandboxes/snapshot_priv.h"

#define TEXTS_MAX (1024u * 1024)

static unsigned bucket_of(const char *id)
{
        unsigned hash = 2166136261u;

        for (; *id != '\0'; id++)
                hash = (hash ^ (unsigned char)*id) * 16777619u;
        return hash % CAY_SNAPSHOT_BUCKETS;
}

struct cay_snapshot *cay_snapshot_new(struct cay_service *s)
{
        struct cay_snapshot *n = cay_service_alloc(sizeof(*n));

        n->service = s;
        n->template_name = n->env_json = "";
        cay_arena_init(&n->mem, TEXTS_MAX);
        return n;
}

void cay_snapshot_add(struct cay_snapshot *n)
{
        struct cay_snapshots *t = n->service->snapshots;
        struct cay_snapshot **bucket = &t->buckets[bucket_of(n->id)];

        n->bucket_next = *bucket;
        *bucket = n;
        n->older = t->newest;
        if (t->newest != NULL)
                t->newest->newer = n;
        else
                t->oldest = n;
        t->newest = n;
        t->count++;
}

static bool take_out(struct cay_snapshot *n)
{
        struct cay_snapshots *t = n->service->snapshots;
        struct cay_snapshot **at = &t->buckets[bucket_of(n->id)];

        while (*at != NULL && *at != n)
                at = &(*at)->bucket_next;
        if (*at == NULL)
                return false;
        *at = n->bucket_next;
        *(n->newer != NULL ? &n->newer->older : &t->newest) = n->older;
        *(n->older != NULL ? &n->older->newer : &t->oldest) = n->newer;
        t->count--;
        return true;
}

void cay_snapshot_free(struct cay_snapshot *n)
{
        take_out(n);
        cay_arena_done(&n->mem);
        free(n);
}

void cay_snapshots_open(struct cay_service *s)
{
        s->snapshots = cay_service_alloc(sizeof(*s->snapshots));
}

void cay_snapshots_close(struct cay_service *s, const struct cay_error *err)
{
        if (s->snapshots == NULL)
                return;
        while (s->snapshots->newest != NULL) {
                struct cay_snapshot *n = s->snapshots->newest;

                if (n->call != NULL)
                        cay_service_fail_job(s, &cay_take(n->call)->job, err);
                cay_snapshot_free(n);
        }
        free(cay_take(s->snapshots));
}

/* Phases */

static const struct cay_phase_row phases[CAY_SNAPSHOT_PHASE_COUNT] = {
        [CAY_SNAPSHOT_MAKING] = { "making",
                                  CAY_PHASE_BIT(CAY_SNAPSHOT_UNSEEN) | CAY_PHASE_BIT(CAY_SNAPSHOT_READY) },
        [CAY_SNAPSHOT_UNSEEN] = { "unseen", CAY_PHASE_BIT(CAY_SNAPSHOT_READY) |
                                                    CAY_PHASE_BIT(CAY_SNAPSHOT_MISSING) |
                                                    CAY_PHASE_BIT(CAY_SNAPSHOT_DROPPING) },
        [CAY_SNAPSHOT_READY] = { "ready", CAY_PHASE_BIT(CAY_SNAPSHOT_DROPPING) },
        [CAY_SNAPSHOT_MISSING] = { "missing", CAY_PHASE_BIT(CAY_SNAPSHOT_DROPPING_MISSING) },
        [CAY_SNAPSHOT_DROPPING] = { "dropping", CAY_PHASE_BIT(CAY_SNAPSHOT_READY) },
        [CAY_SNAPSHOT_DROPPING_MISSING] = { "dropping missing", CAY_PHASE_BIT(CAY_SNAPSHOT_MISSING) },
};

const struct cay_phase_table cay_snapshot_phases = { "snapshot", phases, CAY_SNAPSHOT_PHASE_COUNT };

void cay_snapshot_move(struct cay_snapshot *n, enum cay_snapshot_phase to)
{
        n->phase = (enum cay_snapshot_phase)cay_phase_move(&cay_snapshot_phases, n->phase, to, n->id);
}

bool cay_snapshot_is_there(const struct cay_snapshot *n)
{
        return n->phase == CAY_SNAPSHOT_UNSEEN || n->phase == CAY_SNAPSHOT_READY ||
               n->phase == CAY_SNAPSHOT_MISSING;
}

bool cay_snapshot_is_missing(const struct cay_snapshot *n)
{
        return n->phase == CAY_SNAPSHOT_MISSING || n->phase == CAY_SNAPSHOT_DROPPING_MISSING;
}

struct cay_snapshot *cay_snapshot_find(struct cay_service *s, const char *id)
{
        for (struct cay_snapshot *n = s->snapshots->buckets[bucket_of(id)]; n != NULL; n = n->bucket_next)
                if (strcmp(n->id, id) == 0)
                        return n;
        return NULL;
}

struct cay_snapshot *cay_snapshot_find_name(struct cay_service *s, const char *owner, const char *name)
{
        for (struct cay_snapshot *n = s->snapshots->newest; n != NULL && name[0] != '\0'; n = n->older)
                if (strcmp(n->name, name) == 0 && strcmp(n->owner, owner) == 0)
                        return n;
        return NULL;
}

/* One that is not stored yet, or whose removal is stored, does not exist. */
static struct cay_snapshot *get(struct cay_service *s, const struct cay_viewer *v, const char *id,
                                struct cay_error *err)
{
        struct cay_snapshot *n;

        if (cay_service_check_ready(s, err) < 0)
                return NULL;
        n = cay_snapshot_find(s, id);
        if (n == NULL || (!v->sees_all && strcmp(n->owner, v->owner) != 0))
                n = cay_snapshot_find_name(s, v->owner, id);
        if (n != NULL && cay_snapshot_is_there(n))
                return n;
        cay_fail(err, CAY_NOT_FOUND, "snapshot: '%.63s' does not exist", id);
        return NULL;
}

void cay_snapshot_fill_view(const struct cay_snapshot *n, struct cay_snapshot_view *ret)
{
        uint64_t now = cay_service_now(n->service);

        *ret = (struct cay_snapshot_view){
                .id = n->id,
                .name = n->name,
                .owner = n->owner,
                .sandbox = n->sandbox,
                .template_name = n->template_name,
                .engine = n->engine->name,
                .limits = &n->limits,
                .options = n->options,
                .env = n->env,
                .bytes = n->bytes,
                .added = n->added,
                .is_shared = n->is_shared,
                .frozen_us = n->frozen_us,
                .created_wall_ms = n->created_wall_ms,
                .expires = n->expires_ms > 0,
                .expires_in_ms = n->expires_ms > now ? n->expires_ms - now : 0,
                .is_missing = cay_snapshot_is_missing(n),
                .step = n->step,
                .note = n->note,
        };
}

int cay_service_snapshot_get(struct cay_service *s, const struct cay_viewer *v, const char *id_or_name,
                             struct cay_snapshot_view *ret, struct cay_error *err)
{
        const struct cay_snapshot *n = get(s, v, id_or_name, err);

        if (n == NULL)
                return -1;
        cay_snapshot_fill_view(n, ret);
        return 0;
}

bool cay_service_snapshot_list(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                               const char *after, unsigned max,
                               void (*each)(void *ctx, const struct cay_snapshot_view *view), void *ctx)
{
        const struct cay_snapshot *n = s->snapshots->newest;
        struct cay_snapshot_view view;
        unsigned count = 0;

        if (after != NULL && after[0] != '\0') {
                n = cay_snapshot_find(s, after);
                n = n != NULL ? n->older : NULL;
        }
        for (; n != NULL; n = n->older) {
                if (!cay_snapshot_is_there(n) || n->step > 0 ||
                    (!v->sees_all && strcmp(n->owner, v->owner) != 0) ||
                    (sandbox != NULL && sandbox[0] != '\0' && strcmp(n->sandbox, sandbox) != 0))
                        continue;
                if (count++ == max)
                        return true;
                cay_snapshot_fill_view(n, &view);
                each(ctx, &view);
        }
        return false;
}

uint64_t cay_snapshots_disk(const struct cay_service *s, const char *owner)
{
        uint64_t bytes = 0;

        for (const struct cay_snapshot *n = s->snapshots->newest; n != NULL; n = n->older)
                if (strcmp(n->owner, owner) == 0)
                        bytes += n->added;
        return bytes;
}

/* Removal: the record first, then the files. */

static void on_files_removed(struct cay_async *e, const struct cay_error *err)
{
        if (err->code != CAY_OK)
                cay_log_warn("files of a snapshot not removed, the next start does it", "id=%s error=%s",
                             e->box.id, err->msg);
}

void cay_snapshot_remove_files(struct cay_snapshot *n)
{
        struct cay_async *e = cay_async_new(n->service, NULL, NULL, on_files_removed);

        e->engine = n->engine;
        cay_str_copy(e->box.id, sizeof(e->box.id), n->id);
        cay_async_unmake(e, false, CAY_SERVICE_UNMAKE_MS);
}

static void on_dropped(struct cay_async *e, const struct cay_error *err)
{
        struct cay_service *s = e->service;
        struct cay_snapshot *n = cay_snapshot_find(s, e->box.id);
        struct cay_service_call *c;

        if (n == NULL)
                return;
        c = cay_take(n->call);
        if (err->code != CAY_OK) {
                cay_snapshot_move(n, cay_snapshot_is_missing(n) ? CAY_SNAPSHOT_MISSING : CAY_SNAPSHOT_READY);
        } else {
                cay_kill_point_reached(CAY_KILL_POINT_snapshot_dropped);
                cay_snapshot_remove_files(n);
                cay_snapshot_free(n);
        }
        if (c != NULL)
                cay_service_fail_job(s, &c->job, err);
}

void cay_snapshot_drop(struct cay_snapshot *n, const char *why, struct cay_service_call *c)
{
        struct cay_service *s = n->service;
        struct cay_async *e = cay_async_new(s, NULL, NULL, on_dropped);
        struct cay_store_batch *b = s->store->ops->begin(s->store);

        cay_snapshot_move(n,
                          cay_snapshot_is_missing(n) ? CAY_SNAPSHOT_DROPPING_MISSING : CAY_SNAPSHOT_DROPPING);
        n->call = c;
        cay_str_copy(e->box.id, sizeof(e->box.id), n->id);
        s->store->ops->drop(b, CAY_STORE_SNAPSHOT, n->id);
        cay_event_put_of(e, b, n->sandbox, n->owner, CAY_EVENT_SNAPSHOT_REMOVED, "snapshot", n->id, "name",
                         n->name, "why", why, NULL);
        cay_async_commit(e, b);
}

void cay_service_snapshot_remove(struct cay_service *s, const struct cay_viewer *v, const char *id,
                                 struct cay_service_call *c)
{
        struct cay_error err = { 0 };
        struct cay_snapshot *n = get(s, v, id, &err);

        c->next = NULL;
        if (n != NULL && n->uses > 0)
                cay_fail(&err, CAY_CONFLICT, "sandboxes are being made of snapshot '%s'; try again", n->id);
        if (n != NULL && n->engine->engine == NULL)
                cay_fail(&err, CAY_UNAVAILABLE, "the %s engine, which has its files, is not available: %s",
                         n->engine->name, n->engine->note);
        if (err.code != CAY_OK) {
                cay_service_fail_job(s, &c->job, &err);
                return;
        }
        cay_str_copy(c->id, sizeof(c->id), n->id);
        cay_snapshot_drop(n, "asked", c);
}

void cay_snapshots_tick(struct cay_service *s, uint64_t now_ms)
{
        struct cay_snapshot *older;

        for (struct cay_snapshot *n = s->snapshots->newest; n != NULL; n = older) {
                older = n->older;
                if (!cay_snapshot_is_there(n) || n->uses > 0 || n->engine->engine == NULL)
                        continue;
                if (n->step > 0 && cay_table_find(s, n->sandbox) == NULL) {
                        cay_snapshot_drop(n, "destroyed", NULL);
                        continue;
                }
                if (n->expires_ms == 0)
                        continue;
                if (now_ms >= n->expires_ms)
                        cay_snapshot_drop(n, "expired", NULL);
                else
                        cay_tick_by(s, n->expires_ms - now_ms);
        }
}

/* Start-up */

bool cay_snapshots_note_layer(struct cay_service *s, const char *id)
{
        struct cay_snapshot *n = cay_snapshot_find(s, id);

        if (n != NULL && n->phase == CAY_SNAPSHOT_UNSEEN)
                cay_snapshot_move(n, CAY_SNAPSHOT_READY);
        return n != NULL;
}

void cay_snapshots_note_missing(struct cay_engine_row *row)
{
        for (struct cay_snapshot *n = row->service->snapshots->newest; n != NULL; n = n->older) {
                if (n->engine != row || n->phase != CAY_SNAPSHOT_UNSEEN)
                        continue;
                cay_snapshot_move(n, CAY_SNAPSHOT_MISSING);
                cay_log_warn("the files of a snapshot are gone", "id=%s", n->id);
        }
}

void cay_snapshot_count(const struct cay_service *s, const struct cay_viewer *v,
                        struct cay_snapshot_figures *ret)
{
        for (const struct cay_snapshot *n = s->snapshots->newest; n != NULL; n = n->older) {
                if (!cay_snapshot_is_there(n) || (!v->sees_all && strcmp(n->owner, v->owner) != 0))
                        continue;
                ret->snapshots += n->step == 0;
                ret->steps += n->step > 0;
                ret->added_bytes += n->added;
        }
}
