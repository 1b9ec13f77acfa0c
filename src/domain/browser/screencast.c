/* SPDX-License-Identifier: Apache-2.0 */
/* Which recordings there are; the rules are in screencast.h. */
#include "domain/browser/screencast.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain/browser/browser_priv.h"
#include "domain/browser/screencast_priv.h"
#include "foundation/base/clock.h"
#include "foundation/base/fair.h"
#include "foundation/base/id.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"

#define SWEEP_MS 250u
#define SWEEP_LATER_MS 2000u

static void remove_file(struct cay_screencasts *rs, const char *name)
{
        if (rs->env.remove_recording)
                rs->env.remove_recording(rs->env.ctx, name);
        else
                unlinkat(rs->env.screencasts_dir, name, 0);
}

static void add(struct cay_screencasts *rs, struct cay_screencast *r)
{
        struct cay_screencast **at = &rs->list;

        while (*at && (*at)->started_wall_ms <= r->started_wall_ms)
                at = &(*at)->next;
        r->next = *at;
        *at = r;
        rs->count++;
}

static void free_recording(struct cay_deferred *d)
{
        free(cay_container_of(d, struct cay_screencast, done));
}

static void drop(struct cay_screencast *r)
{
        struct cay_screencasts *rs = r->all;
        struct cay_screencast **at = &rs->list;
        char name[CAY_SCREENCAST_FILE_MAX];

        cay_recorder_end(r, "it was removed");
        while (*at != r)
                at = &(*at)->next;
        *at = r->next;
        rs->count--;
        cay_screencast_name(r, name);
        remove_file(rs, name);
        r->done.run = free_recording;
        cay_loop_defer(rs->env.loop, &r->done);
}

/* Sandboxes that have gone */

static void on_sweep(struct cay_timer *t)
{
        struct cay_screencasts *rs = cay_container_of(t, struct cay_screencasts, sweep);
        const struct cay_viewer everybody = { .owner = "", .sees_all = true };
        bool is_early = false; /* it is not known yet what becomes of a sandbox, and no event may follow */

        for (struct cay_screencast *r = rs->list, *next; r; r = next) {
                struct cay_sandbox_view view;
                struct cay_error err = { 0 };

                next = r->next;
                if (cay_service_get(rs->env.service, &everybody, r->sandbox, &view, &err) == 0)
                        is_early |= view.busy_with[0] != '\0';
                else if (err.code == CAY_NOT_FOUND)
                        drop(r);
                else
                        is_early = true;
        }
        if (is_early)
                cay_timer_set(rs->env.loop, &rs->sweep, SWEEP_LATER_MS, on_sweep);
}

static void on_event(struct cay_event_watch *w)
{
        struct cay_screencasts *rs = cay_container_of(w, struct cay_screencasts, watch);

        if (rs->list && !rs->env.keeps_unowned && !rs->sweep.loop)
                cay_timer_set(rs->env.loop, &rs->sweep, SWEEP_MS, on_sweep);
}

/* Beginning and end */

static void load_one(struct cay_screencasts *rs, const char *name)
{
        const char *dot = strrchr(name, '.');
        struct cay_screencast *r = rs->count < CAY_SCREENCASTS_MAX ? calloc(1, sizeof(*r)) : NULL;
        size_t len = dot ? (size_t)(dot - name) : 0;

        if (!r)
                return;
        r->all = rs;
        r->fd = -1;
        if (len == 0 || len > CAY_NAME_MAX || !cay_str_copy(r->id, sizeof(r->id), dot + 1)) {
                free(r);
                return;
        }
        memcpy(r->sandbox, name, len);
        if (cay_id_is_valid(r->sandbox) && cay_screencast_load(r, rs->env.screencasts_dir)) {
                add(rs, r);
                return;
        }
        cay_log_warn("a recording cannot be read, ignoring", "file=%s", name);
        free(r);
}

static void load_all(struct cay_screencasts *rs)
{
        int fd = openat(rs->env.screencasts_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        struct dirent *d;

        if (!dir) {
                if (fd >= 0)
                        close(fd);
                return;
        }
        while ((d = readdir(dir)) != NULL)
                if (d->d_name[0] != '.')
                        load_one(rs, d->d_name);
        closedir(dir);
}

struct cay_screencasts *cay_screencasts_new(const struct cay_browsers_env *env, struct cay_browsers *bs)
{
        const struct cay_viewer everybody = { .owner = "", .sees_all = true };
        struct cay_screencasts *rs = calloc(1, sizeof(*rs));

        if (!rs)
                return NULL;
        rs->env = *env;
        rs->browsers = bs;
        if (!env->has_recordings)
                return rs;
        load_all(rs);
        rs->watch.on_event = on_event;
        cay_service_watch_events(env->service, &everybody, NULL, &rs->watch);
        on_event(&rs->watch);
        return rs;
}

void cay_screencasts_free(struct cay_screencasts *rs)
{
        if (!rs)
                return;
        cay_service_unwatch_events(&rs->watch);
        cay_timer_clear(&rs->sweep);
        while (rs->list) {
                struct cay_screencast *r = rs->list;

                rs->list = r->next;
                cay_recorder_end(r, "the daemon's front ended");
                free(r);
        }
        free(rs);
}

uint64_t cay_screencasts_disk(const struct cay_browsers *bs, const char *owner)
{
        uint64_t bytes = 0;

        for (const struct cay_screencast *r = bs && bs->recordings ? bs->recordings->list : NULL; r;
             r = r->next)
                if (strcmp(r->owner, owner) == 0)
                        bytes += r->fd >= 0 ? r->limits.bytes : r->bytes;
        return bytes;
}

/* One of them */

static void view_of(const struct cay_screencast *r, struct cay_screencast_view *ret)
{
        *ret = (struct cay_screencast_view){ .id = r->id,
                                             .sandbox = r->sandbox,
                                             .is_running = r->fd >= 0,
                                             .why = r->why,
                                             .started_wall_ms = r->started_wall_ms,
                                             .duration_ms = r->duration_ms,
                                             .frames = r->frames,
                                             .bytes = r->bytes };
        if (r->fd >= 0)
                ret->duration_ms = cay_clock_ms() - r->begin_ms;
}

static struct cay_screencast *find(const struct cay_screencasts *rs, const char *sandbox, const char *id)
{
        for (struct cay_screencast *r = rs->list; r; r = r->next)
                if (strcmp(r->sandbox, sandbox) == 0 && strcmp(r->id, id) == 0)
                        return r;
        return NULL;
}

static struct cay_screencast *look_up(struct cay_browsers *bs, const struct cay_viewer *v,
                                      const char *sandbox, const char *id, struct cay_error *err)
{
        struct cay_sandbox_view view;
        struct cay_screencast *r;

        if (cay_service_get(bs->env.service, v, sandbox, &view, err) < 0)
                return NULL;
        r = find(bs->recordings, view.id, id);
        if (!r)
                cay_fail(err, CAY_NOT_FOUND, "recording: sandbox '%s' has no '%s'", view.id, id);
        return r;
}

int cay_screencast_get(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                       const char *id, struct cay_screencast_view *ret, struct cay_error *err)
{
        const struct cay_screencast *r = look_up(bs, v, sandbox, id, err);

        if (!r)
                return -1;
        view_of(r, ret);
        return 0;
}

int cay_screencast_list(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                        void (*each)(void *ctx, const struct cay_screencast_view *view), void *ctx,
                        struct cay_error *err)
{
        struct cay_sandbox_view box;
        struct cay_screencast_view view;

        if (cay_service_get(bs->env.service, v, sandbox, &box, err) < 0)
                return -1;
        for (const struct cay_screencast *r = bs->recordings->list; r; r = r->next) {
                if (strcmp(r->sandbox, box.id) != 0)
                        continue;
                view_of(r, &view);
                each(ctx, &view);
        }
        return 0;
}

int cay_screencast_stop(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                        const char *id, struct cay_screencast_view *ret, struct cay_error *err)
{
        struct cay_screencast *r = look_up(bs, v, sandbox, id, err);

        if (!r)
                return -1;
        cay_recorder_end(r, "it was stopped");
        view_of(r, ret);
        return 0;
}

int cay_screencast_remove(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                          const char *id, struct cay_error *err)
{
        struct cay_screencast *r = look_up(bs, v, sandbox, id, err);

        if (!r)
                return -1;
        drop(r);
        return 0;
}

int cay_screencast_open(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                        const char *id, uint64_t *ret_bytes, struct cay_error *err)
{
        const struct cay_screencast *r = look_up(bs, v, sandbox, id, err);
        char name[CAY_SCREENCAST_FILE_MAX];
        int fd;

        if (!r)
                return -1;
        cay_screencast_name(r, name);
        fd = openat(bs->env.screencasts_dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "open the recording's file");
        *ret_bytes = r->bytes;
        return fd;
}

/* Starting */

static int check_start(const struct cay_screencasts *rs, const struct cay_sandbox_view *box, uint64_t bytes,
                       struct cay_error *err)
{
        unsigned own = 0, of_owner = 0;

        if (!rs->env.has_recordings)
                return cay_fail(err, CAY_UNSUPPORTED, "this daemon keeps no recordings");
        for (const struct cay_screencast *r = rs->list; r; r = r->next) {
                of_owner += strcmp(r->owner, box->owner) == 0;
                if (strcmp(r->sandbox, box->id) != 0)
                        continue;
                own++;
                if (r->fd >= 0)
                        return cay_fail(err, CAY_CONFLICT,
                                        "recording '%s' of this browser is under way; stop it first", r->id);
        }
        if (own >= CAY_SCREENCASTS_SANDBOX_MAX)
                return cay_fail(err, CAY_LIMIT,
                                "%u recordings of this sandbox are kept, the maximum; remove one", own);
        if (!cay_fair_has_room(CAY_SCREENCASTS_MAX, CAY_SCREENCASTS_MAX, rs->count, of_owner))
                return cay_fail(err, CAY_LIMIT,
                                "%u recordings of your sandboxes are kept, the most that there is room for; "
                                "remove one",
                                of_owner);
        return cay_service_check_more_disk(rs->env.service, box->owner, bytes, err);
}

static void make_id(const struct cay_screencasts *rs, struct cay_screencast *r)
{
        uint64_t number = r->started_wall_ms;

        do
                snprintf(r->id, sizeof(r->id), "r%llx", (unsigned long long)(number++ & 0xffffffffffffull));
        while (find(rs, r->sandbox, r->id));
}

static struct cay_screencast *make(struct cay_screencasts *rs, const struct cay_sandbox_view *box,
                                   const struct cay_screencast_options *o)
{
        struct cay_screencast *r = calloc(1, sizeof(*r));

        if (!r)
                return NULL;
        r->all = rs;
        r->fd = -1;
        r->started_wall_ms = cay_clock_wall_ms();
        r->limits = *o;
        cay_str_copy(r->sandbox, sizeof(r->sandbox), box->id);
        cay_str_copy(r->owner, sizeof(r->owner), box->owner);
        make_id(rs, r);
        return r;
}

int cay_screencast_start(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                         const struct cay_screencast_options *o, struct cay_screencast_view *ret,
                         struct cay_error *err)
{
        const struct cay_screencast_options limits = { .bytes = o->bytes ? o->bytes : CAY_SCREENCAST_BYTES,
                                                       .time_ms = o->time_ms ? o->time_ms : CAY_SCREENCAST_MS,
                                                       .gap_ms = o->gap_ms ? o->gap_ms
                                                                           : CAY_SCREENCAST_GAP_MS };
        struct cay_screencasts *rs = bs->recordings;
        struct cay_sandbox_view box;
        struct cay_screencast *r;

        if (cay_service_get(bs->env.service, v, sandbox, &box, err) < 0 ||
            check_start(rs, &box, limits.bytes, err) < 0)
                return -1;
        r = make(rs, &box, &limits);
        if (!r)
                return cay_fail(err, CAY_INTERNAL, "no memory for a recording");
        if (cay_screencast_create(r, err) < 0) {
                cay_buf_done(&r->piece);
                free(r);
                return -1;
        }
        add(rs, r);
        if (cay_recorder_begin(r, v, err) < 0) {
                drop(r);
                return -1;
        }
        view_of(r, ret);
        return 0;
}
