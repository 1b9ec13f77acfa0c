/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal: events go into the batch of the change that they describe, and are announced when that is
 * stored.
 */
#include <stdarg.h>

#include "foundation/base/str.h"
#include "domain/sandboxes/service_priv.h"

#define DETAIL_MAX 16384 /* two lists of hosts, or two paths with every byte escaped */

static const char *const words[] = {
#define CAY_EVENT_KIND(name, word, doc) word,
#include "domain/sandboxes/event_kinds.def"
#undef CAY_EVENT_KIND
};
_Static_assert(CAY_COUNT(words) == CAY_EVENT_KIND_COUNT, "a word for every kind");

/* Changes that somebody asks for; the others happen. */
static bool is_asked_for(enum cay_event_kind kind)
{
        switch (kind) {
        case CAY_EVENT_CREATED:
        case CAY_EVENT_STARTED:
        case CAY_EVENT_STOPPED:
        case CAY_EVENT_PAUSED:
        case CAY_EVENT_RESUMED:
        case CAY_EVENT_EXTENDED:
        case CAY_EVENT_NETWORK_CHANGED:
        case CAY_EVENT_DESTROYED:
                return true;
        default:
                return false;
        }
}

static void put(struct cay_async *e, struct cay_store_batch *b, const char *sandbox, const char *owner,
                const char *by, enum cay_event_kind kind, va_list more)
{
        struct cay_service *s = e->service;
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_store_event record = { .sandbox = sandbox, .owner = owner, .kind = words[kind] };
        struct cay_json j;
        const char *name;

        cay_buf_init(&text, DETAIL_MAX);
        cay_json_init(&j, &text);
        cay_json_begin_object(&j);
        while ((name = va_arg(more, const char *)) != NULL) {
                const char *value = va_arg(more, const char *);

                if (value == NULL || value[0] == '\0')
                        continue;
                cay_json_key(&j, name);
                cay_json_text(&j, value);
        }
        if (by[0] != '\0' && is_asked_for(kind)) {
                cay_json_key(&j, "by");
                cay_json_text(&j, by);
        }
        cay_json_end_object(&j);
        record.detail = cay_json_end(&j) == 0 ? cay_buf_data(&text) : "{}";
        record.wall_ms = cay_service_wall(s);
        cay_store_put_event(s->store, b, &record);
        e->tells = true;
        cay_str_copy(e->owner, sizeof(e->owner), owner);
        cay_str_copy(e->id, sizeof(e->id), sandbox);
}

void cay_event_put(struct cay_async *e, struct cay_store_batch *b, const struct cay_sandbox *sb,
                   enum cay_event_kind kind, ...)
{
        va_list more;

        va_start(more, kind);
        put(e, b, sb->id, sb->owner, sb->by, kind, more);
        va_end(more);
}

void cay_event_put_of(struct cay_async *e, struct cay_store_batch *b, const char *sandbox, const char *owner,
                      enum cay_event_kind kind, ...)
{
        va_list more;

        va_start(more, kind);
        put(e, b, sandbox, owner, "", kind, more);
        va_end(more);
}

void cay_event_put_daemon(struct cay_async *e, struct cay_store_batch *b, enum cay_event_kind kind, ...)
{
        va_list more;

        va_start(more, kind);
        put(e, b, "", "", "", kind, more);
        va_end(more);
}

void cay_sandbox_asked_by(struct cay_sandbox *sb, const struct cay_viewer *v)
{
        cay_str_copy(sb->by, sizeof(sb->by), v != NULL && v->by != NULL ? v->by : "");
}

static bool concerns(const struct cay_event_watch *w, const char *owner, const char *sandbox, bool of_network)
{
        return w->of_network == of_network && (w->sees_all || strcmp(w->owner, owner) == 0) &&
               (w->sandbox[0] == '\0' || strcmp(w->sandbox, sandbox) == 0);
}

static void tell(struct cay_service *s, const char *owner, const char *sandbox, bool of_network)
{
        struct cay_event_watch *w;

        for (w = s->event_watches; w != NULL; w = w->next)
                w->due = concerns(w, owner, sandbox, of_network);
        do { /* a watcher may remove itself and others meanwhile */
                for (w = s->event_watches; w != NULL && !w->due; w = w->next)
                        ;
                if (w != NULL) {
                        w->due = false;
                        w->on_event(w);
                }
        } while (w != NULL);
}

void cay_event_tell(struct cay_service *s, const char *owner, const char *sandbox)
{
        tell(s, owner, sandbox, false);
}

void cay_event_tell_network(struct cay_service *s, const char *owner, const char *sandbox)
{
        tell(s, owner, sandbox, true);
}

void cay_service_watch_network(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                               struct cay_event_watch *w)
{
        cay_service_watch_events(s, v, sandbox, w);
        w->of_network = true;
}

void cay_service_watch_events(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                              struct cay_event_watch *w)
{
        w->service = s;
        w->due = false;
        w->sees_all = v->sees_all;
        cay_str_copy(w->owner, sizeof(w->owner), v->owner);
        cay_str_copy(w->sandbox, sizeof(w->sandbox), sandbox != NULL ? sandbox : "");
        w->next = s->event_watches;
        s->event_watches = w;
}

unsigned cay_service_event_watches(const struct cay_service *s, const char *owner)
{
        unsigned count = 0;

        for (const struct cay_event_watch *w = s->event_watches; w != NULL; w = w->next)
                count += strcmp(w->owner, owner) == 0;
        return count;
}

void cay_service_unwatch_events(struct cay_event_watch *w)
{
        if (w->service == NULL)
                return;
        for (struct cay_event_watch **at = &w->service->event_watches; *at != NULL; at = &(*at)->next) {
                if (*at == w) {
                        *at = w->next;
                        break;
                }
        }
        w->service = NULL;
        w->next = NULL;
}

void cay_event_drop_all(struct cay_service *s)
{
        while (s->event_watches != NULL)
                cay_service_unwatch_events(s->event_watches);
}

void cay_service_events(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                        struct cay_store_query *q)
{
        q->kind = CAY_STORE_EVENT;
        q->owner = v->sees_all ? NULL : v->owner;
        q->sandbox = sandbox != NULL && sandbox[0] != '\0' ? sandbox : NULL;
        s->store->ops->query(s->store, q);
}
