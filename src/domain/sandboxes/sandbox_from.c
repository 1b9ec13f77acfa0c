/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new sandbox with the files of a snapshot: they are copied before its box is made, and the box goes on
 * with them.
 */
#include "foundation/base/str.h"
#include "domain/sandboxes/snapshot_priv.h"

int cay_sandbox_from(struct cay_sandbox *sb, const char *snapshot, struct cay_error *err)
{
        const struct cay_snapshot *n = cay_snapshot_find(sb->service, snapshot);

        if (n == NULL || !cay_snapshot_is_there(n) || strcmp(n->owner, sb->owner) != 0)
                return cay_fail(err, CAY_NOT_FOUND, "snapshot: '%.63s' does not exist", snapshot);
        if (cay_snapshot_is_missing(n))
                return cay_fail(err, CAY_CONFLICT, "snapshot: the files of '%s' are gone; remove it", n->id);
        if (n->engine != sb->engine)
                return cay_fail(err, CAY_CONFLICT, "engine: snapshot '%s' is of the engine %s", n->id,
                                n->engine->name);
        if (cay_sandbox_check_engine(sb, err) < 0)
                return -1;
        if (strcmp(n->template_name, sb->template_name) != 0)
                return cay_fail(err, CAY_CONFLICT, "template: snapshot '%s' was made of the template '%s'",
                                n->id, n->template_name);
        /* Its file system has the size that it has. */
        if (sb->limits.disk_bytes != n->limits.disk_bytes)
                return cay_fail(
                        err, CAY_INVALID,
                        "limits.disk: a sandbox of snapshot '%s' has its disk, %llu MiB; leave it out", n->id,
                        (unsigned long long)(n->limits.disk_bytes >> 20));
        if (sb->limits.inodes != n->limits.inodes)
                return cay_fail(err, CAY_INVALID,
                                "limits.inodes: a sandbox of snapshot '%s' has its %llu; leave it out", n->id,
                                (unsigned long long)n->limits.inodes);
        cay_str_copy(sb->from, sizeof(sb->from), n->id);
        return 0;
}

int cay_sandbox_compare(struct cay_sandbox *sb, const char *const ids[2], struct cay_error *err)
{
        static const char *const targets[] = { CAY_SANDBOX_BEFORE, CAY_SANDBOX_AFTER };

        sb->volumes = cay_arena_array(&sb->mem, 2, sizeof(*sb->volumes));
        if (sb->volumes == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        for (unsigned i = 0; i < 2; i++) {
                const struct cay_snapshot *n = cay_snapshot_find(sb->service, ids[i]);

                if (n == NULL || !cay_snapshot_is_there(n) || cay_snapshot_is_missing(n) ||
                    strcmp(n->owner, sb->owner) != 0)
                        return cay_fail(err, CAY_NOT_FOUND, "snapshot: '%.63s' does not exist", ids[i]);
                if (n->engine != sb->engine)
                        return cay_fail(err, CAY_CONFLICT, "snapshot '%s' is of the engine %s", n->id,
                                        n->engine->name);
                sb->volumes[i] = (struct cay_spec_volume){
                        .name = cay_arena_copy(&sb->mem, n->id, strlen(n->id)),
                        .target = targets[i],
                        .read_only = true,
                        .is_layer = true,
                };
                if (sb->volumes[i].name == NULL)
                        return cay_fail(err, CAY_INTERNAL, "no memory");
        }
        sb->volume_count = 2;
        return 0;
}

static void on_cloned(struct cay_async *e, const struct cay_error *err)
{
        struct cay_snapshot *n = cay_snapshot_find(e->service, e->id);
        struct cay_sandbox *sb = e->sandbox;

        if (n != NULL && n->uses > 0)
                n->uses--;
        if (sb == NULL)
                return;
        sb->kept = err->code == CAY_OK;
        sb->on_files(sb, err);
}

void cay_sandbox_get_files(struct cay_sandbox *sb,
                           void (*then)(struct cay_sandbox *sb, const struct cay_error *err))
{
        struct cay_service *s = sb->service;
        struct cay_snapshot *n = cay_snapshot_find(s, sb->from);
        struct cay_async *e = cay_async_new(s, sb, NULL, on_cloned);
        struct cay_error err = { 0 };
        struct cay_engine *engine;
        struct cay_job *job;

        e->clones = true;
        sb->on_files = then;
        cay_str_copy(e->id, sizeof(e->id), sb->from);
        if (n == NULL || !cay_snapshot_is_there(n)) { /* removed while a claim was looked up */
                e->local = true;
                cay_fail(&err, CAY_NOT_FOUND, "snapshot: '%s' does not exist any more", sb->from);
                cay_service_fail_job(s, cay_async_engine(e, CAY_SERVICE_CLONE_MS), &err);
                return;
        }
        n->uses++;
        engine = cay_async_ask(e, CAY_SERVICE_CLONE_MS, &job);
        if (engine != NULL)
                engine->ops->clone(engine, n->id, 0, &e->box, job);
}
