/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of lists, and the subscribers that are notified. */
#include "dialects/mcp/subscriber.h"

#include <errno.h>
#include <string.h>

#include "dialects/mcp/task.h"
#include "domain/ops/template_use.h"

#define SOON_MS 100u
#define REGISTRY_MS 1000u
#define MESSAGE_MAX (64u * 1024)
#define PAGES_MAX 1000u
#define PAGE 100u

void cay_mcp_subscriber_say(struct cay_mcp_subscriber *e, const char *method, const char *key,
                            const char *value)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        cay_buf_init(&out, MESSAGE_MAX);
        cay_json_init(&j, &out);
        cay_json_begin_object(&j);
        cay_op_key_text(&j, "jsonrpc", "2.0");
        cay_op_key_text(&j, "method", method);
        cay_json_key(&j, "params");
        cay_json_begin_object(&j);
        if (key)
                cay_op_key_text(&j, key, value);
        cay_mcp_put_subscription(&j, e->subscription);
        cay_json_end_object(&j);
        cay_json_end_object(&j);
        if (cay_json_end(&j) == 0)
                e->tell(e, cay_buf_data(&out), out.len);
}

/* The set of sandboxes is hashed (FNV-1a), so that other events of sandboxes cause no notification. */

static void mix(void *ctx, const struct cay_sandbox_view *view)
{
        uint64_t *sum = ctx;

        for (const char *at = view->id; *at; at++)
                *sum = (*sum ^ (unsigned char)*at) * 1099511628211u;
}

static uint64_t look_at_boxes(const struct cay_mcp_subscriber *e)
{
        struct cay_viewer viewer = cay_mcp_viewer(&e->caller);
        const struct cay_sandbox_filter all = { 0 };
        char cursor[CAY_SERVICE_CURSOR_MAX] = "", next[CAY_SERVICE_CURSOR_MAX];
        struct cay_error err = { 0 };
        uint64_t sum = 14695981039346656037u;

        for (unsigned i = 0; i < PAGES_MAX; i++) {
                next[0] = '\0';
                if (cay_service_list(e->mcp->world->service, &viewer, &all, i > 0 ? cursor : NULL, PAGE, mix,
                                     &sum, next, &err) < 0 ||
                    !next[0])
                        break;
                memcpy(cursor, next, sizeof(cursor));
        }
        return sum;
}

static void on_soon(struct cay_timer *t)
{
        struct cay_mcp_subscriber *e = cay_container_of(t, struct cay_mcp_subscriber, soon);
        uint64_t now = look_at_boxes(e);

        if (now != e->seen)
                cay_mcp_subscriber_say(e, "notifications/resources/list_changed", NULL, NULL);
        e->seen = now;
}

static void on_boxes(struct cay_event_watch *w)
{
        struct cay_mcp_subscriber *e = cay_container_of(w, struct cay_mcp_subscriber, boxes);

        if (!e->soon.loop)
                cay_timer_set(e->mcp->world->loop, &e->soon, SOON_MS, on_soon);
}

/* The registry */

/*
 * When it was loaded, and where it lies: spread, so that what differs in both hardly ever comes to the same.
 */
static uint64_t registry_now(const struct cay_mcp *m)
{
        const struct cay_templates *t = m->world->templates;

        return t && t->set ? t->set->loaded_wall_ms * 1099511628211u ^ (uint64_t)(uintptr_t)t->set : 0;
}

static void tell_registry(struct cay_mcp_subscriber *e)
{
        if (e->wants_resources)
                cay_mcp_subscriber_say(e, "notifications/resources/list_changed", NULL, NULL);
        if (e->wants_prompts)
                cay_mcp_subscriber_say(e, "notifications/prompts/list_changed", NULL, NULL);
        for (struct cay_mcp_watch *w = e->watches; w; w = *cay_mcp_watch_next(w))
                cay_mcp_watch_registry(w);
}

static void on_registry(struct cay_timer *t)
{
        struct cay_mcp *m = cay_container_of(t, struct cay_mcp, registry);
        uint64_t now = registry_now(m);
        bool is_new = now != m->registry_seen;

        m->registry_seen = now;
        for (struct cay_mcp_subscriber *e = m->subscribers, *next; e && is_new; e = next) {
                next = e->next;
                tell_registry(e);
        }
        if (m->subscribers)
                cay_timer_set(m->world->loop, t, REGISTRY_MS, on_registry);
}

/* Life */

void cay_mcp_subscriber_open(struct cay_mcp_subscriber *e)
{
        struct cay_mcp *m = e->mcp;
        struct cay_viewer viewer = cay_mcp_viewer(&e->caller);

        e->next = m->subscribers;
        e->back = &m->subscribers;
        if (e->next)
                e->next->back = &e->next;
        m->subscribers = e;
        if (!m->registry.loop) {
                m->registry_seen = registry_now(m);
                cay_timer_set(m->world->loop, &m->registry, REGISTRY_MS, on_registry);
        }
        if (e->wants_resources && !e->sandbox[0]) {
                e->seen = look_at_boxes(e);
                e->boxes.on_event = on_boxes;
                cay_service_watch_events(m->world->service, &viewer, NULL, &e->boxes);
        }
}

void cay_mcp_subscriber_close(struct cay_mcp_subscriber *e)
{
        if (!e->back)
                return;
        *e->back = e->next;
        if (e->next)
                e->next->back = e->back;
        e->back = NULL;
        cay_service_unwatch_events(&e->boxes);
        cay_timer_clear(&e->soon);
        while (e->watches) {
                struct cay_mcp_watch *w = e->watches;

                e->watches = *cay_mcp_watch_next(w);
                cay_mcp_watch_free(w);
        }
        e->watch_count = 0;
}

void cay_mcp_subscribers_stop(struct cay_mcp *m)
{
        cay_timer_clear(&m->registry);
        for (struct cay_mcp_subscriber *e = m->subscribers, *next; e; e = next) {
                next = e->next;
                if (e->stop)
                        e->stop(e);
        }
}

/* Resources */

static struct cay_mcp_watch **find(struct cay_mcp_subscriber *e, const char *uri)
{
        struct cay_mcp_watch **at = &e->watches;

        while (*at && strcmp(cay_mcp_watch_uri(*at), uri) != 0)
                at = cay_mcp_watch_next(*at);
        return at;
}

int cay_mcp_subscriber_watch(struct cay_mcp_subscriber *e, const char *uri)
{
        struct cay_mcp_watch **at = find(e, uri);

        if (*at)
                return 0;
        if (e->watch_count >= CAY_MCP_WATCHES_MAX)
                return -ENOSPC;
        *at = cay_mcp_watch_new(e, uri);
        if (!*at)
                return -ENOMEM;
        e->watch_count++;
        return 0;
}

void cay_mcp_subscriber_unwatch(struct cay_mcp_subscriber *e, const char *uri)
{
        struct cay_mcp_watch **at = find(e, uri), *w = *at;

        if (!w)
                return;
        *at = *cay_mcp_watch_next(w);
        e->watch_count--;
        cay_mcp_watch_free(w);
}

/* Tasks */

static bool names_task(const struct cay_mcp_subscriber *e, const char *id)
{
        for (size_t i = 0; i < cay_json_value_count(e->tasks); i++) {
                const char *text = cay_json_value_text(cay_json_value_at(e->tasks, i));

                if (text && strcmp(text, id) == 0)
                        return true;
        }
        return false;
}

void cay_mcp_subscribers_tell_task(struct cay_mcp *m, const struct cay_mcp_task *t)
{
        for (struct cay_mcp_subscriber *e = m->subscribers, *next; e; e = next) {
                cay_auto_buf struct cay_buf out = { 0 };
                struct cay_json j;

                next = e->next;
                if (!e->tasks || !names_task(e, cay_mcp_task_id(t)) ||
                    !cay_mcp_task_is_of(t, &e->caller, e->sandbox))
                        continue;
                cay_buf_init(&out, CAY_MCP_RESULT_MAX + 4096);
                cay_json_init(&j, &out);
                cay_json_begin_object(&j);
                cay_op_key_text(&j, "jsonrpc", "2.0");
                cay_op_key_text(&j, "method", "notifications/tasks");
                cay_json_key(&j, "params");
                cay_json_begin_object(&j);
                cay_mcp_task_put(t, &j);
                cay_mcp_put_subscription(&j, e->subscription);
                cay_json_end_object(&j);
                cay_json_end_object(&j);
                if (cay_json_end(&j) == 0)
                        e->tell(e, cay_buf_data(&out), out.len);
        }
}
