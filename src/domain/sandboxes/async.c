/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs of the engine and of the store: what they borrow, their deadlines, and what happens to abandoned ones.
 */
#include "domain/sandboxes/service_priv.h"

static void unlink_async(struct cay_async *e)
{
        if (e->at == NULL)
                return;
        *e->at = e->next;
        if (e->next != NULL)
                e->next->at = e->at;
        e->at = NULL;
}

static void async_free(struct cay_async *e)
{
        unlink_async(e);
        cay_timer_clear(&e->timer);
        cay_store_query_done(&e->query);
        if (e->box.link_fd >= 0)
                close(e->box.link_fd);
        if (e->box.network_fd >= 0)
                close(e->box.network_fd);
        free(e->network_log.entries);
        cay_network_before_free(e->before);
        if (e->spec.rootfs_fd >= 0)
                close(e->spec.rootfs_fd);
        if (e->spec.workspace_fd >= 0)
                close(e->spec.workspace_fd);
        if (e->spec.workspace_peer > 0)
                close(e->spec.workspace_peer);
        explicit_bzero(e->box.secret, sizeof(e->box.secret));
        if (e->service != NULL)
                cay_exec_unref(e->exec);
        free(e);
}

struct cay_async *cay_async_new(struct cay_service *s, struct cay_sandbox *sb, struct cay_exec *x,
                                void (*on_done)(struct cay_async *e, const struct cay_error *err))
{
        struct cay_async *e = cay_service_alloc(sizeof(*e));

        e->service = s;
        e->sandbox = sb;
        e->exec = x != NULL ? cay_exec_ref(x) : NULL;
        e->on_done = on_done;
        e->box.link_fd = e->box.network_fd = -1;
        e->spec.rootfs_fd = e->spec.workspace_fd = -1;
        if (sb != NULL) {
                e->engine = sb->engine;
                memcpy(e->box.id, sb->id, sizeof(e->box.id));
                e->box.owner = sb->owner;
                e->box.machine = sb->options.machine;
        }
        e->next = s->async_ops;
        e->at = &s->async_ops;
        if (e->next != NULL)
                e->next->at = &e->next;
        s->async_ops = e;
        return e;
}

/* on_done may free the sandbox, the exec and even the service. */
static void tell(struct cay_async *e, const struct cay_error *err)
{
        e->told = true;
        if (e->on_done != NULL)
                e->on_done(e, err);
}

static void on_committed(struct cay_job *job)
{
        struct cay_async *e = cay_container_of(job, struct cay_async, commit.job);
        struct cay_service *s = e->service;

        if (s != NULL) {
                tell(e, &job->err);
                if (e->service != NULL && e->tells && job->err.code == CAY_OK)
                        cay_event_tell(s, e->owner, e->id);
        }
        async_free(e);
}

void cay_async_commit(struct cay_async *e, struct cay_store_batch *b)
{
        struct cay_store *store = e->service->store;

        cay_job_init(&e->commit.job, on_committed);
        store->ops->commit(store, b, CAY_STORE_FAST, &e->commit);
}

static void on_queried(struct cay_job *job)
{
        struct cay_async *e = cay_container_of(job, struct cay_async, query.job);

        if (e->service != NULL)
                tell(e, &job->err);
        async_free(e);
}

void cay_async_query(struct cay_async *e)
{
        struct cay_store *store = e->service->store;

        cay_job_init(&e->query.job, on_queried);
        store->ops->query(store, &e->query);
}

static void on_engine(struct cay_job *job)
{
        struct cay_async *e = cay_container_of(job, struct cay_async, job);
        struct cay_service *s = e->service;

        cay_timer_clear(&e->timer);
        if (s != NULL) {
                if (!e->local)
                        cay_engine_note(e->engine, &job->err);
                if (!e->told)
                        tell(e, &job->err);
                else if (e->makes && job->err.code == CAY_OK)
                        cay_async_remove_box(e->engine, e->box.id,
                                             e->spec.go_on &&
                                                     !e->is_new); /* the caller did not wait that long */
                else if (e->clones && job->err.code == CAY_OK)
                        cay_async_remove_box(e->engine, e->box.id, false);
        }
        async_free(e);
}

static void on_late(struct cay_timer *t)
{
        struct cay_async *e = cay_container_of(t, struct cay_async, timer);
        struct cay_error err = { 0 };

        cay_fail(&err, CAY_TIMEOUT, "the engine did not answer within %u s", e->deadline_ms / 1000);
        if (!e->local)
                cay_engine_note(e->engine, &err);
        tell(e, &err);
        e->sandbox = NULL;
}

struct cay_job *cay_async_engine(struct cay_async *e, unsigned ms)
{
        cay_job_init(&e->job, on_engine);
        e->deadline_ms = ms;
        cay_timer_set(e->service->loop, &e->timer, ms, on_late);
        return &e->job;
}

struct cay_engine *cay_async_ask(struct cay_async *e, unsigned ms, struct cay_job **ret_job)
{
        struct cay_job *job = cay_async_engine(e, ms);
        struct cay_error err = { 0 };

        *ret_job = job;
        if (e->engine->engine != NULL)
                return e->engine->engine;
        e->local = true;
        cay_fail(&err, CAY_UNAVAILABLE, "the %s engine is not available: %s", e->engine->name,
                 e->engine->note);
        cay_job_finish(cay_loop_jobs(e->service->loop), job, &err);
        return NULL;
}

void cay_async_forget_sandbox(struct cay_service *s, struct cay_sandbox *sb)
{
        for (struct cay_async *e = s->async_ops; e != NULL; e = e->next)
                if (e->sandbox == sb)
                        e->sandbox = NULL;
}

void cay_async_let_go_all(struct cay_service *s)
{
        while (s->async_ops != NULL) {
                struct cay_async *e = s->async_ops;

                unlink_async(e);
                cay_timer_clear(&e->timer);
                cay_exec_unref(cay_take(e->exec));
                e->sandbox = NULL;
                e->service = NULL;
        }
}

static void on_removed(struct cay_async *e, const struct cay_error *err)
{
        if (err->code != CAY_OK)
                cay_log_warn("box not removed, ignoring", "id=%s error=%s", e->box.id, err->msg);
}

void cay_async_unmake(struct cay_async *e, bool keep, unsigned ms)
{
        struct cay_job *job;
        struct cay_engine *engine = cay_async_ask(e, ms, &job);

        cay_network_drop(e->service, e->box.id);
        if (engine == NULL)
                return;
        if (keep && engine->ops->stop != NULL)
                engine->ops->stop(engine, &e->box, job);
        else
                engine->ops->destroy(engine, &e->box, job);
}

void cay_async_remove_box(struct cay_engine_row *row, const char *id, bool keep)
{
        struct cay_async *e = cay_async_new(row->service, NULL, NULL, on_removed);

        e->engine = row;
        snprintf(e->box.id, sizeof(e->box.id), "%s", id);
        cay_async_unmake(e, keep, CAY_SERVICE_UNMAKE_MS);
}
