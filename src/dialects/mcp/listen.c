/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subscriptions: resources of a session (legacy era), or a request that stays open for notifications (modern
 * era).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/mcp/subscriber.h"
#include "dialects/mcp/resource_uri.h"

#define UNREAD_MAX (1024u * 1024)

struct listen {
        struct cay_mcp_subscriber subscriber;
        struct cay_mcp_call *call;
};

/* Legacy era */

static const char *read_uri(struct cay_mcp_call *c)
{
        const char *uri = cay_json_value_text(cay_json_value_find(c->rpc.params, "uri"));

        if (uri && strlen(uri) < CAY_MCP_URI_MAX)
                return uri;
        cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL, "uri: must be a text, and not too long");
        return NULL;
}

void cay_mcp_subscribe(struct cay_mcp_call *c)
{
        const char *uri = read_uri(c);

        if (!uri)
                return;
        if (!c->client->subscriber || cay_mcp_subscriber_watch(c->client->subscriber, uri) < 0)
                cay_mcp_call_error(
                        c, CAY_RPC_BAD_PARAMS, NULL,
                        "more than %u resources are watched in this session: unsubscribe from some",
                        CAY_MCP_WATCHES_MAX);
        else
                cay_mcp_call_done(c);
}

void cay_mcp_unsubscribe(struct cay_mcp_call *c)
{
        const char *uri = read_uri(c);

        if (!uri)
                return;
        if (c->client->subscriber)
                cay_mcp_subscriber_unwatch(c->client->subscriber, uri);
        cay_mcp_call_done(c);
}

/* Modern era */

static void tell(struct cay_mcp_subscriber *e, const char *json, size_t len)
{
        struct cay_mcp_call *c = cay_container_of(e, struct listen, subscriber)->call;

        if (!c->is_over && c->link->ops->queued(c->link) < UNREAD_MAX &&
            c->link->ops->fits(c->link, len)) /* a client that does not read misses some */
                c->link->ops->note(c->link, json, len);
}

static void stop(struct cay_mcp_subscriber *e)
{
        struct cay_mcp_call *c = cay_container_of(e, struct listen, subscriber)->call;

        cay_mcp_subscriber_close(e);
        if (!c->is_over)
                cay_mcp_call_done(c);
}

static void free_listen(struct cay_mcp_call *c)
{
        struct listen *l = c->state;

        cay_mcp_subscriber_close(&l->subscriber);
        free(l);
}

static void on_cancel(struct cay_mcp_call *c)
{
        cay_mcp_subscriber_close(&((struct listen *)c->state)->subscriber);
}

static bool wants(const struct cay_json_value *what, const char *key)
{
        return cay_json_value_is_true(cay_json_value_find(what, key));
}

/* Those that were taken, put into the open list. */
static void watch_all(struct listen *l, const struct cay_json_value *uris, struct cay_json *j)
{
        for (size_t i = 0; i < cay_json_value_count(uris); i++) {
                const char *uri = cay_json_value_text(cay_json_value_at(uris, i));

                if (uri && strlen(uri) < CAY_MCP_URI_MAX &&
                    cay_mcp_subscriber_watch(&l->subscriber, uri) == 0)
                        cay_json_text(j, uri);
        }
}

static void acknowledge(struct listen *l, const struct cay_json_value *what)
{
        const struct cay_json_value *uris = cay_json_value_find(what, "resourceSubscriptions");
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        cay_buf_init(&out, 1024u * 1024);
        cay_json_init(&j, &out);
        cay_json_begin_object(&j);
        cay_op_key_text(&j, "jsonrpc", "2.0");
        cay_op_key_text(&j, "method", "notifications/subscriptions/acknowledged");
        cay_json_key(&j, "params");
        cay_json_begin_object(&j);
        cay_json_key(&j, "notifications");
        cay_json_begin_object(&j);
        if (l->subscriber.wants_prompts)
                cay_op_key_bool(&j, "promptsListChanged", true);
        if (l->subscriber.wants_resources)
                cay_op_key_bool(&j, "resourcesListChanged", true);
        if (uris) {
                cay_json_key(&j, "resourceSubscriptions");
                cay_json_begin_array(&j);
                watch_all(l, uris, &j);
                cay_json_end_array(&j);
        }
        if (l->subscriber.tasks) {
                cay_json_key(&j, "taskIds");
                cay_json_value_put(&j, l->subscriber.tasks);
        }
        cay_json_end_object(&j);
        cay_mcp_put_subscription(&j, l->subscriber.subscription);
        cay_json_end_object(&j);
        cay_json_end_object(&j);
        if (cay_json_end(&j) == 0)
                tell(&l->subscriber, cay_buf_data(&out), out.len);
}

static bool is_list(const struct cay_json_value *v)
{
        return !v || cay_json_value_type(v) == CAY_JSON_ARRAY;
}

void cay_mcp_listen(struct cay_mcp_call *c)
{
        const struct cay_json_value *what = cay_json_value_find(c->rpc.params, "notifications");
        const struct cay_json_value *tasks = cay_json_value_find(what, "taskIds");
        struct listen *l;

        if (cay_json_value_type(what) != CAY_JSON_OBJECT || !is_list(tasks) ||
            !is_list(cay_json_value_find(what, "resourceSubscriptions"))) {
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL,
                                   "notifications: must be an object; lists in it are lists of texts");
                return;
        }
        if (tasks && cay_mcp_refuse_no_tasks(c))
                return;
        l = calloc(1, sizeof(*l));
        if (!l) {
                cay_mcp_call_error(c, CAY_RPC_INTERNAL, NULL, "no memory");
                return;
        }
        l->call = c;
        l->subscriber = (struct cay_mcp_subscriber){ .mcp = c->mcp,
                                                     .caller = c->caller,
                                                     .wants_resources = wants(what, "resourcesListChanged"),
                                                     .wants_prompts = wants(what, "promptsListChanged"),
                                                     .tasks = tasks,
                                                     .tell = tell,
                                                     .stop = stop };
        memcpy(l->subscriber.sandbox, c->client->sandbox, sizeof(l->subscriber.sandbox));
        memcpy(l->subscriber.subscription, c->rpc.id, sizeof(l->subscriber.subscription));
        c->state = l;
        c->free_state = free_listen;
        c->on_cancel = on_cancel;
        c->listens = true;
        cay_mcp_subscriber_open(&l->subscriber);
        acknowledge(l, what);
}
