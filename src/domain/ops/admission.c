/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts live sandboxes, and queues requests. Requests wait for the daemon's own limits (max_sandboxes) as
 * for a template's.
 */
#include "domain/ops/admission.h"

#include <inttypes.h>

#include "foundation/base/clock.h"
#include "foundation/base/str.h"

#define LOOK_MS 250 /* between checks while somebody waits */
#define STATES_ALIVE                                                                                         \
        ((1u << CAY_STATE_CREATING) | (1u << CAY_STATE_READY) | (1u << CAY_STATE_BUSY) |                     \
         (1u << CAY_STATE_PAUSED))

static void on_time(struct cay_timer *t);

struct count {
        const struct cay_template_set *set;
        const char *name;
        uint64_t own, all;
};

static void count_one(void *ctx, const struct cay_sandbox_view *view)
{
        struct count *c = ctx;

        if (strcmp(view->template_name, c->name) == 0)
                c->own++;
        if (cay_template_find(c->set, view->template_name))
                c->all++;
}

/* Page by page: there may be more than one page. */
static int count_alive(struct cay_admission *a, struct count *c, struct cay_error *err)
{
        const struct cay_viewer everybody = { .owner = "", .sees_all = true };
        const struct cay_sandbox_filter alive = { .states = STATES_ALIVE };
        char cursor[CAY_SERVICE_CURSOR_MAX] = "", next[CAY_SERVICE_CURSOR_MAX];

        for (unsigned i = 0; i <= CAY_SERVICE_KNOWN_MAX / CAY_SERVICE_PAGE_MAX; i++) {
                if (cay_service_list(a->service, &everybody, &alive, cursor, 0, count_one, c, next, err) < 0)
                        return -1;
                if (next[0] == '\0')
                        break;
                cay_str_copy(cursor, sizeof(cursor), next);
        }
        return 0;
}

/* 0: there is room. CAY_LIMIT: none; err names the limit. t NULL: no template, so only the total counts. */
static int has_room(struct cay_admission *a, const struct cay_template *t, const char *owner,
                    struct cay_error *err)
{
        const struct cay_template_set *set = *a->set;
        struct count c = { .set = set, .name = t ? t->name : "" };

        if (cay_service_check_room(a->service, owner, err) < 0)
                return -1;
        if (!t || (t->max_concurrent == 0 && set->max_concurrent == 0))
                return 0;
        if (count_alive(a, &c, err) < 0)
                return -1;
        if (t->max_concurrent > 0 && c.own >= t->max_concurrent)
                return cay_fail(err, CAY_LIMIT,
                                "%" PRIu64
                                " sandboxes of template '%s' are alive, and max_concurrent is %" PRIu64
                                "; end one, or try again later",
                                c.own, t->name, t->max_concurrent);
        if (set->max_concurrent > 0 && c.all >= set->max_concurrent)
                return cay_fail(err, CAY_LIMIT,
                                "%" PRIu64
                                " sandboxes of the registry's templates are alive, and max_concurrent is "
                                "%" PRIu64 "; end one, or try again later",
                                c.all, set->max_concurrent);
        return 0;
}

static void on_event(struct cay_event_watch *w)
{
        struct cay_admission *a = cay_container_of(w, struct cay_admission, watch);

        cay_timer_set(a->loop, &a->timer, 0, on_time);
}

/* The timer runs only while somebody waits. */
static void rearm(struct cay_admission *a)
{
        const struct cay_viewer everybody = { .owner = "", .sees_all = true };

        if (a->waiting == 0) {
                cay_timer_clear(&a->timer);
                cay_service_unwatch_events(&a->watch);
                a->watching = false;
                return;
        }
        if (!a->watching) {
                a->watch = (struct cay_event_watch){ .on_event = on_event };
                cay_service_watch_events(a->service, &everybody, NULL, &a->watch);
                a->watching = true;
        }
        cay_timer_set(a->loop, &a->timer, LOOK_MS, on_time);
}

static void unhook(struct cay_admission *a, struct cay_waiter *w)
{
        struct cay_waiter **at = &a->first;

        while (*at && *at != w)
                at = &(*at)->next;
        if (*at) {
                *at = w->next;
                a->waiting--;
        }
        w->next = NULL;
        w->in_queue = false;
}

static const struct cay_template *find_template(const struct cay_admission *a, const struct cay_waiter *w)
{
        return w->template_name[0] ? cay_template_find(*a->set, w->template_name) : NULL;
}

/* Checks one request: true when its wait is over (and it may be freed). */
static bool judge(struct cay_admission *a, struct cay_waiter *w, uint64_t now_ms)
{
        const struct cay_template *t = find_template(a, w);
        bool is_of_none = w->template_name[0] == '\0';
        struct cay_error err = { 0 };

        if (!t && !is_of_none)
                cay_fail(&err, CAY_NOT_FOUND, "template: '%s' no longer exists", w->template_name);
        else if ((is_of_none || cay_template_check(t, &err) == 0) && has_room(a, t, w->owner, &err) == 0) {
                unhook(a, w);
                a->turn = w->turn > a->turn ? w->turn : a->turn;
                w->let_in(w);
                return true;
        }
        if (err.code == CAY_LIMIT && now_ms < w->deadline_ms)
                return false;
        unhook(a, w);
        w->refuse(w, &err);
        return true;
}

/* Requests that came meanwhile are checked the next time. */
static void on_time(struct cay_timer *timer)
{
        struct cay_admission *a = cay_container_of(timer, struct cay_admission, timer);
        uint64_t now_ms = cay_clock_ms();
        struct cay_waiter *w = a->first;

        while (w) {
                struct cay_waiter *next = w->next;

                judge(a, w, now_ms);
                w = next;
        }
        rearm(a);
}

void cay_admission_init(struct cay_admission *a, struct cay_loop *loop, struct cay_service *service,
                        const struct cay_template_set *const *set)
{
        *a = (struct cay_admission){ .loop = loop, .service = service, .set = set };
}

void cay_admission_done(struct cay_admission *a)
{
        struct cay_error err = { 0 };

        cay_fail(&err, CAY_UNAVAILABLE, "the daemon is stopping");
        while (a->first) {
                struct cay_waiter *w = a->first;

                unhook(a, w);
                w->refuse(w, &err);
        }
        if (a->loop)
                rearm(a);
}

/* An earlier request waits for the same room: a new one is not served before it. */
static bool has_rival(struct cay_admission *a, const struct cay_template *t)
{
        unsigned before = 0;

        for (const struct cay_waiter *w = a->first; w; w = w->next) {
                const struct cay_template *other = find_template(a, w);
                struct cay_error ignored = { 0 };

                if ((!other && w->template_name[0]) || has_room(a, other, w->owner, &ignored) < 0)
                        continue;
                if (t && other && (other == t || (*a->set)->max_concurrent > 0))
                        return true;
                before++;
        }
        return before > 0 && before >= cay_service_room(a->service);
}

static int fail_behind(const struct cay_admission *a, const struct cay_template *t, struct cay_error *err)
{
        return cay_fail(err, CAY_LIMIT,
                        "requests wait for a sandbox%s%s%s already (%u in all); try again later",
                        t ? " of template '" : "", t ? t->name : "", t ? "'" : "", a->waiting);
}

int cay_admission_check(struct cay_admission *a, const struct cay_template *t, const char *owner,
                        struct cay_error *err)
{
        if (has_room(a, t, owner, err) < 0)
                return -1;
        return has_rival(a, t) ? fail_behind(a, t, err) : 0;
}

/* After those of its owner, and after those of the same turn. */
static void queue_up(struct cay_admission *a, struct cay_waiter *w)
{
        struct cay_waiter **at = &a->first;

        w->turn = a->turn;
        for (const struct cay_waiter *o = a->first; o; o = o->next)
                if (strcmp(o->owner, w->owner) == 0 && o->turn > w->turn)
                        w->turn = o->turn;
        w->turn++;
        while (*at && (*at)->turn <= w->turn)
                at = &(*at)->next;
        w->next = *at;
        *at = w;
        w->in_queue = true;
        a->waiting++;
}

int cay_admission_ask(struct cay_admission *a, const struct cay_template *t, struct cay_waiter *w,
                      struct cay_error *err)
{
        const struct cay_template_set *set = *a->set;
        struct cay_error full = { 0 };
        uint64_t own = 0;
        bool has_place = has_room(a, t, w->owner, &full) == 0;

        if (has_place && !has_rival(a, t))
                return 1;
        for (const struct cay_waiter *o = a->first; o; o = o->next)
                own += strcmp(o->owner, w->owner) == 0;
        if (has_place)
                fail_behind(a, t, &full);
        if (full.code != CAY_LIMIT || own >= set->queue || a->waiting >= CAY_ADMISSION_WAITING_MAX) {
                *err = full;
                return -1;
        }
        cay_str_copy(w->template_name, sizeof(w->template_name), t ? t->name : "");
        w->deadline_ms = cay_clock_ms() + set->queue_ms;
        queue_up(a, w);
        rearm(a);
        if (has_place)
                cay_timer_set(a->loop, &a->timer, 0, on_time);
        return 0;
}

void cay_admission_leave(struct cay_admission *a, struct cay_waiter *w)
{
        if (!w->in_queue)
                return;
        unhook(a, w);
        rearm(a);
}
