/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boxes made ahead.
 *
 * Theory of operation. A template (or the setting `pool`) says how many boxes of each of its shapes are kept
 * ready. The first create of a shape is made as always and starts its pool; later ones claim a box. A waiting
 * box has an id that nobody knows, a secret of its own, no record and no link: its init waits for the first
 * HELLO, so nothing was ever run, written or said in it (but an interpreter that waits, cay-init/warm.h). The
 * claim gives the box's id to the sandbox; name, owner, labels and environment are the sandbox's and were
 * never the box's. What differs inside (a workspace, a network, ports, volumes, limits) is another shape or
 * is made cold.
 *
 * A claimed box never returns. One that dies is dropped when the engine says so, and its link is looked at
 * once more at the claim. After the death of this process, the next one removes boxes without a record.
 *
 * Boxes are made one at a time and a moment after the last create, so that they do not compete with the work
 * that took one; a pool that is half empty is filled at once.
 *
 * Not chosen: a pool in the warden, which knows neither templates nor owners and would have to be told both.
 */
#include <poll.h>
#include <sys/stat.h>

#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "domain/sandboxes/service_priv.h"

#define REST_MS 15   /* after a create, until the next box is made */
#define TEND_MS 5000 /* between looks for boxes that are too many or too old */

struct cay_pool_made { /* what a box was made with */
        struct cay_engine_row *engine;
        struct cay_engine_box box; /* link_fd is owned */
};

static void made_free(struct cay_pool_made *m)
{
        if (m == NULL)
                return;
        if (m->box.link_fd >= 0)
                close(m->box.link_fd);
        explicit_bzero(m->box.secret, sizeof(m->box.secret));
        free(m);
}

/* Shapes */

static bool is_plain(const struct cay_sandbox *sb)
{
        return sb->from[0] == '\0' && !sb->has_workspace && sb->port_count == 0 && sb->volume_count == 0 &&
               sb->secrets == NULL && sb->policy == NULL && sb->network == CAY_NETWORK_NONE &&
               sb->egress == CAY_EGRESS_NONE && !sb->options.no_init && sb->engine->engine != NULL &&
               sb->engine->engine->caps & CAY_ENGINE_CAN_POOL;
}

static int shape_of(const struct cay_sandbox *sb, struct cay_pool_shape *ret)
{
        struct cay_service *s = sb->service;
        struct cay_error ignored = { 0 };
        struct stat st = { 0 };
        int fd = -1;

        *ret = (struct cay_pool_shape){ .engine = sb->engine,
                                        .kind = CAY_TEMPLATE_HOST,
                                        .memory_bytes = sb->limits.memory_bytes,
                                        .swap_bytes = sb->limits.swap_bytes,
                                        .cpu_milli = sb->limits.cpu_milli,
                                        .pids = sb->limits.pids,
                                        .disk_bytes = sb->limits.disk_bytes,
                                        .inodes = sb->limits.inodes,
                                        .may_skip = sb->may_skip,
                                        .read_only = sb->options.read_only,
                                        .own_user_only = sb->options.own_user_only,
                                        .brief = sb->brief,
                                        .warm = sb->options.warm };
        if (!cay_str_copy(ret->template_name, sizeof(ret->template_name), sb->template_name))
                return -1;
        if (sb->options.warm && sb->options.warm_modules &&
            !cay_str_copy(ret->warm_modules, sizeof(ret->warm_modules), sb->options.warm_modules))
                return -1;
        if (s->env.open_template == NULL)
                return strcmp(sb->template_name, "host") == 0 ? 0 : -1;
        if (s->env.open_template(s->env.ctx, sb->template_name, &ret->kind, &fd, &ignored) < 0)
                return -1;
        if (fd >= 0) {
                int r = fstat(fd, &st);

                close(fd);
                if (r < 0)
                        return -1;
                ret->root_dev = st.st_dev;
                ret->root_ino = st.st_ino;
        }
        return 0;
}

static int make_spec(struct cay_service *s, const struct cay_pool_shape *shape, struct cay_spec *spec,
                     struct cay_error *err)
{
        const struct cay_engine_row *row = shape->engine;

        if (cay_service_make_id(s, spec->id, err) < 0)
                return -1;
        spec->rootfs_fd = spec->workspace_fd = -1;
        spec->template_kind = CAY_TEMPLATE_HOST;
        if (s->env.open_template != NULL &&
            s->env.open_template(s->env.ctx, shape->template_name, &spec->template_kind, &spec->rootfs_fd,
                                 err) < 0)
                return -1;
        spec->options.read_only = shape->read_only;
        spec->options.own_user_only = spec->host_plain = shape->own_user_only;
        spec->limits.memory_bytes = shape->memory_bytes;
        spec->limits.swap_bytes = shape->swap_bytes;
        spec->limits.cpu_milli = shape->cpu_milli;
        spec->limits.pids = shape->pids;
        spec->limits.disk_bytes = shape->disk_bytes;
        spec->limits.inodes = shape->inodes;
        spec->may_skip = shape->may_skip;
        spec->brief = shape->brief;
        spec->options.warm = shape->warm;
        spec->options.warm_modules = shape->warm_modules[0] ? shape->warm_modules : NULL;
        spec->keep = row->engine->caps & CAY_ENGINE_CAN_KEEP && !shape->brief;
        return cay_spec_check(spec, err);
}

/* Leaving */

static void drop(struct cay_service *s, const char *id, bool remove_box)
{
        struct cay_pool_box b;

        if (!cay_pool_drop(&s->pool, id, &b))
                return;
        if (remove_box && b.made != NULL) /* one that is being made is removed when it is */
                cay_async_remove_box(b.made->engine, b.id, false);
        made_free(b.made);
}

void cay_pool_on_gone(struct cay_engine_row *row, const char *id)
{
        if (!cay_pool_is_of(&row->service->pool, id, row))
                return;               /* another engine's, whatever this one says */
        drop(row->service, id, true); /* what is left of it */
        cay_pool_tend(row->service, REST_MS);
}

void cay_pool_clear(struct cay_engine_row *row, bool remove_boxes)
{
        const char *id;

        while ((id = cay_pool_spare(&row->service->pool, row, 0)) != NULL) {
                char copy[CAY_NAME_MAX + 1];

                cay_str_copy(copy, sizeof(copy), id);
                drop(row->service, copy, remove_boxes);
        }
}

void cay_pool_close(struct cay_service *s)
{
        cay_timer_clear(&s->pool_timer);
        for (unsigned i = 0; i < s->engine_count; i++)
                cay_pool_clear(&s->engines[i], false); /* the next process removes them */
        cay_pool_done(&s->pool);
}

/* Making */

static void on_made(struct cay_async *e, const struct cay_error *err)
{
        struct cay_service *s = e->service;
        struct cay_pool_made *made = NULL;

        s->pool_making = false;
        if (err->code == CAY_OK) {
                made = cay_service_alloc(sizeof(*made));
                made->engine = e->engine;
                made->box = e->box;
                made->box.workspace = NULL; /* engines with one of their own have no pool */
                e->box.link_fd = -1;
        } else {
                cay_log_warn("no box made ahead, ignoring", "engine=%s error=%s", e->engine->name, err->msg);
        }
        if (!cay_pool_end(&s->pool, e->box.id, made, cay_clock_ms()) && made != NULL) {
                cay_async_remove_box(e->engine, e->box.id, false);
                made_free(made);
        }
        cay_pool_tend(s, 0);
}

static void make_one(struct cay_service *s, const struct cay_pool_shape *shape)
{
        struct cay_async *e = cay_async_new(s, NULL, NULL, on_made);
        struct cay_error err = { 0 };
        struct cay_engine *engine;
        struct cay_job *job;

        e->engine = (struct cay_engine_row *)(uintptr_t)shape->engine;
        s->pool_making = true;
        if (make_spec(s, shape, &e->spec, &err) < 0) {
                cay_str_copy(e->box.id, sizeof(e->box.id), e->spec.id);
                cay_pool_begin(&s->pool, shape, e->box.id);
                e->local = true;
                cay_service_fail_job(s, cay_async_engine(e, CAY_SERVICE_MAKE_MS), &err);
                return;
        }
        cay_str_copy(e->box.id, sizeof(e->box.id), e->spec.id);
        cay_pool_begin(&s->pool, shape, e->box.id);
        e->makes = true;
        engine = cay_async_ask(e, CAY_SERVICE_MAKE_MS, &job);
        if (engine != NULL)
                engine->ops->create(engine, &e->spec, &e->box, job);
}

static void on_tend(struct cay_timer *t)
{
        struct cay_service *s = cay_container_of(t, struct cay_service, pool_timer);
        const struct cay_pool_shape *next;
        uint64_t now = cay_clock_ms();
        const char *spare;

        while ((spare = cay_pool_spare(&s->pool, NULL, now)) != NULL) {
                char id[CAY_NAME_MAX + 1];

                cay_str_copy(id, sizeof(id), spare);
                drop(s, id, true);
        }
        next = s->pool_making || !s->ready ? NULL : cay_pool_next(&s->pool, now);
        if (next != NULL &&
            cay_engine_is_up((struct cay_engine_row *)(uintptr_t)next->engine, (char[256]){ 0 }))
                make_one(s, next);
        else
                cay_timer_set(s->loop, &s->pool_timer, TEND_MS, on_tend);
}

void cay_pool_tend(struct cay_service *s, uint64_t in_ms)
{
        if (s->pool.most > 0)
                cay_timer_set(s->loop, &s->pool_timer, in_ms, on_tend);
}

/* Claiming */

static bool is_alive(const struct cay_pool_made *m)
{
        struct pollfd p = { .fd = m->box.link_fd, .events = POLLIN };

        /* init says nothing before HELLO: whatever is there to read is not what it should be */
        return m->box.link_fd >= 0 && poll(&p, 1, 0) == 0;
}

static bool is_half_empty(const struct cay_service *s)
{
        struct cay_pool_figures f;

        cay_pool_figures(&s->pool, &f);
        return f.ready < f.wanted / 2;
}

void cay_pool_try(struct cay_sandbox *sb, unsigned want)
{
        struct cay_service *s = sb->service;
        struct cay_pool_shape shape;
        struct cay_pool_box b;

        if (s->pool.most == 0 || !is_plain(sb) || shape_of(sb, &shape) < 0)
                return;
        while (cay_pool_claim(&s->pool, &shape, want, cay_clock_ms(), &b)) {
                if (is_alive(b.made)) {
                        cay_str_copy(sb->id, sizeof(sb->id), b.id);
                        sb->template_kind = shape.kind;
                        sb->pooled = b.made;
                        break;
                }
                cay_log_warn("a box that was made ahead has ended", "id=%s", b.id);
                cay_async_remove_box(b.made->engine, b.id, false);
                made_free(b.made);
        }
        cay_pool_tend(s, is_half_empty(s) ? 0 : REST_MS);
}

bool cay_pool_use(struct cay_sandbox *sb, struct cay_async *e)
{
        struct cay_pool_made *m = cay_take(sb->pooled);
        static const struct cay_error fine = { 0 };

        if (m == NULL)
                return false;
        e->box = m->box;
        m->box.link_fd = -1;
        made_free(m);
        e->spec.rootfs_fd = e->spec.workspace_fd = -1;
        e->local = true;
        sb->has_box = true;
        cay_service_fail_job(sb->service, cay_async_engine(e, CAY_SERVICE_MAKE_MS), &fine);
        return true;
}

void cay_pool_unuse(struct cay_sandbox *sb)
{
        struct cay_pool_made *m = cay_take(sb->pooled);

        if (m == NULL)
                return;
        cay_async_remove_box(m->engine, m->box.id, false);
        made_free(m);
}
