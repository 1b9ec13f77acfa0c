/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watched resource: a file by changes in its folder, output by following the command, a sandbox by its
 * events, a template by the registry. What cannot be followed (it does not exist yet, or its sandbox has
 * ended) is retried from time to time.
 */
#include <stdlib.h>
#include <string.h>

#include "dialects/mcp/subscriber.h"
#include "dialects/mcp/resource_uri.h"
#include "domain/sandboxes/exec.h"

#define SOON_MS 100u
#define AGAIN_MS 2000u

struct follow {                      /* a pending op call; outlives its watch */
        struct cay_call *ask;        /* NULL: the final message has arrived */
        struct cay_mcp_watch *watch; /* NULL: there is no receiver any more */
        struct cay_deferred gone;    /* an op gets no callback inside one of its own responder calls */
        bool leaves;
};

struct cay_mcp_watch {
        struct cay_mcp_watch *next;
        struct cay_mcp_subscriber *subscriber;
        struct cay_mcp_uri where;
        struct follow *follow;
        struct cay_event_watch events;
        struct cay_timer soon, again;
        bool was_lost; /* it is not followed yet, or was not for a while: things may have happened */
        bool is_final; /* nothing will change any more */
        char uri[];
};

const char *cay_mcp_watch_uri(const struct cay_mcp_watch *w)
{
        return w->uri;
}

struct cay_mcp_watch **cay_mcp_watch_next(struct cay_mcp_watch *w)
{
        return &w->next;
}

static void on_soon(struct cay_timer *t)
{
        struct cay_mcp_watch *w = cay_container_of(t, struct cay_mcp_watch, soon);

        cay_mcp_subscriber_say(w->subscriber, "notifications/resources/updated", "uri", w->uri);
}

static void changed(struct cay_mcp_watch *w)
{
        if (!w->soon.loop)
                cay_timer_set(w->subscriber->mcp->world->loop, &w->soon, SOON_MS, on_soon);
}

void cay_mcp_watch_registry(struct cay_mcp_watch *w)
{
        if (w->where.kind == CAY_URI_TEMPLATE)
                changed(w);
}

/* Following */

static void begin(struct cay_mcp_watch *w);

static void on_again(struct cay_timer *t)
{
        begin(cay_container_of(t, struct cay_mcp_watch, again));
}

static void conclude(struct follow *f)
{
        struct cay_mcp_watch *w = f->watch;

        f->ask = NULL;
        if (w) {
                w->follow = NULL;
                w->was_lost = true;
                if (!w->is_final)
                        cay_timer_set(w->subscriber->mcp->world->loop, &w->again, AGAIN_MS, on_again);
        }
        if (!f->leaves)
                free(f);
}

static void on_answer(struct cay_call *a, enum cay_op_status status, const struct cay_json_value *answer)
{
        (void)status;
        (void)answer;
        conclude(cay_call_user(a));
}

static void on_fail(struct cay_call *a, const struct cay_error *err, const char *field, const char *first)
{
        (void)err;
        (void)field;
        (void)first;
        conclude(cay_call_user(a));
}

static void on_end(struct cay_call *a, bool was_cut)
{
        (void)was_cut;
        conclude(cay_call_user(a));
}

static bool is_name(const struct cay_json_value *event, const char *key, const char *name)
{
        const char *text = cay_json_value_text(cay_json_value_find(event, key));

        return text && strcmp(text, name) == 0;
}

/* Events without a name are about all of the folder. */
static bool is_about(const struct cay_mcp_watch *w, const char *kind, const struct cay_json_value *event)
{
        const char *name = strrchr(w->where.rest, '/') + 1;

        if (strcmp(kind, "attributes") == 0 || strcmp(kind, "unwatched") == 0)
                return false;
        return is_name(event, "path", name) || is_name(event, "to", name) ||
               (!cay_json_value_find(event, "path") && !cay_json_value_find(event, "path_base64"));
}

static void take_file(struct cay_mcp_watch *w, const char *kind, const struct cay_json_value *event)
{
        if (strcmp(kind, "ready") == 0) {
                if (w->was_lost)
                        changed(w);
                w->was_lost = false;
        } else if (is_about(w, kind, event)) {
                changed(w);
        }
}

static ssize_t on_event(struct cay_call *a, const char *id, const char *kind,
                        const struct cay_json_value *event)
{
        struct follow *f = cay_call_user(a);
        struct cay_mcp_watch *w = f->watch;

        (void)id;
        if (!w)
                return -1;
        if (w->where.kind == CAY_URI_FILE) {
                take_file(w, kind, event);
        } else if (strcmp(kind, "started") != 0) {
                w->is_final = w->is_final || strcmp(kind, "exited") == 0;
                changed(w);
        }
        return 0;
}

static const struct cay_call_ops ops = {
        .on_answer = on_answer, .on_fail = on_fail, .on_event = on_event, .on_end = on_end
};

static void put_file(const struct cay_mcp_watch *w, struct cay_json *j)
{
        char folder[CAY_MCP_URI_MAX];
        size_t len = (size_t)(strrchr(w->where.rest, '/') - w->where.rest);

        memcpy(folder, w->where.rest, len);
        folder[len] = '\0';
        cay_op_key_text(j, "path", len > 0 ? folder : "/");
}

/* From its end on: what is there already was there when the client subscribed. */
static void put_output(const struct cay_mcp_watch *w, struct cay_json *j)
{
        struct cay_viewer viewer = cay_mcp_viewer(&w->subscriber->caller);
        struct cay_exec_view view;
        struct cay_error err = { 0 };

        cay_op_key_text(j, "exec", w->where.rest);
        cay_op_key_text(j, "stream", w->where.is_stderr ? "stderr" : "stdout");
        if (cay_service_exec_get(w->subscriber->mcp->world->service, &viewer, w->where.id, w->where.rest,
                                 &view, &err) == 0)
                cay_op_key_u64(j, "from", view.output_end);
}

static void ask(struct cay_mcp_watch *w)
{
        struct follow *f = calloc(1, sizeof(*f));
        bool is_file = w->where.kind == CAY_URI_FILE;
        struct cay_call_args args;
        struct cay_call_what what = { .op = cay_op_find(is_file ? "file_watch" : "exec_attach"),
                                      .world = w->subscriber->mcp->world,
                                      .caller = w->subscriber->caller,
                                      .is_known = true,
                                      .wants_stream = true,
                                      .fd = -1,
                                      .args = &args,
                                      .ops = &ops,
                                      .user = f };

        if (!f)
                return;
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "id", w->where.id);
        if (is_file)
                put_file(w, &args.j);
        else
                put_output(w, &args.j);
        f->watch = w;
        f->ask = cay_call(&what);
        if (f->ask)
                w->follow = f;
        else
                free(f);
}

static void on_box(struct cay_event_watch *e)
{
        changed(cay_container_of(e, struct cay_mcp_watch, events));
}

static void begin(struct cay_mcp_watch *w)
{
        struct cay_viewer viewer = cay_mcp_viewer(&w->subscriber->caller);

        if (w->where.kind == CAY_URI_FILE || w->where.kind == CAY_URI_OUTPUT) {
                ask(w);
        } else if (w->where.kind == CAY_URI_INFO) {
                w->events.on_event = on_box;
                cay_service_watch_events(w->subscriber->mcp->world->service, &viewer, w->where.id,
                                         &w->events);
        }
}

/* Life */

struct cay_mcp_watch *cay_mcp_watch_new(struct cay_mcp_subscriber *e, const char *uri)
{
        size_t len = strlen(uri);
        struct cay_mcp_watch *w = calloc(1, sizeof(*w) + len + 1);

        if (!w)
                return NULL;
        w->subscriber = e;
        w->was_lost = true; /* what happens before the first look at a file is told with it */
        memcpy(w->uri, uri, len + 1);
        cay_mcp_uri_read(uri, &w->where);
        if (cay_mcp_uri_is_seen(&w->where, e->sandbox))
                begin(w);
        return w;
}

static void on_leave(struct cay_deferred *d)
{
        struct follow *f = cay_container_of(d, struct follow, gone);

        f->leaves = false;
        if (f->ask)
                cay_call_gone(f->ask);
        else
                free(f);
}

void cay_mcp_watch_free(struct cay_mcp_watch *w)
{
        struct follow *f = w->follow;

        if (f) {
                f->watch = NULL;
                f->leaves = true;
                f->gone.run = on_leave;
                cay_loop_defer(w->subscriber->mcp->world->loop, &f->gone);
        }
        cay_service_unwatch_events(&w->events);
        cay_timer_clear(&w->soon);
        cay_timer_clear(&w->again);
        free(w);
}
