/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subscribers to changes: a session or a connection of the legacy era, or a subscriptions/listen of the
 * modern one.
 *
 * Theory of operation. A subscriber is notified of lists and of single resources (watches, watch.c).
 * Sandboxes are tracked by the service's events, templates by checking the current registry each second while
 * there is a subscriber. Notifications are limited to ten per second and only say that something has changed;
 * the client reads the new state.
 */
#pragma once

#include "dialects/mcp/mcp_priv.h"

#define CAY_MCP_WATCHES_MAX 64u /* of one subscriber */

struct cay_mcp_watch;
struct cay_mcp_task;

struct cay_mcp_subscriber { /* embedded in its owner, zeroed, then filled as far as the line */
        struct cay_mcp *mcp;
        struct cay_caller caller;
        char sandbox[CAY_NAME_MAX + 1];        /* the only one; "": all */
        char subscription[CAY_RPC_ID_MAX + 1]; /* id that each message carries, as JSON; "": legacy era */
        bool wants_resources, wants_prompts;   /* their lists */
        const struct cay_json_value *tasks;    /* ids of tasks, texts; NULL: none */
        void (*tell)(struct cay_mcp_subscriber *e, const char *json, size_t len);
        void (*stop)(struct cay_mcp_subscriber *e); /* the daemon stops; may be NULL */
        /* ---- */
        struct cay_mcp_subscriber *next, **back; /* back NULL: closed */
        struct cay_event_watch boxes;
        struct cay_timer soon;
        uint64_t seen; /* of the list of sandboxes */
        struct cay_mcp_watch *watches;
        unsigned watch_count;
};

void cay_mcp_subscriber_open(struct cay_mcp_subscriber *e);
void cay_mcp_subscriber_close(struct cay_mcp_subscriber *e); /* fine when closed */
/* Watches a resource, even one that does not exist yet. 0, -ENOSPC or -ENOMEM. Repeating it has no effect. */
int cay_mcp_subscriber_watch(struct cay_mcp_subscriber *e, const char *uri);
void cay_mcp_subscriber_unwatch(struct cay_mcp_subscriber *e, const char *uri);
void cay_mcp_subscribers_stop(struct cay_mcp *m);
/* A notification: of the method, with one text when key is given, and the subscription's id. */
void cay_mcp_subscriber_say(struct cay_mcp_subscriber *e, const char *method, const char *key,
                            const char *value);
/* Notifies subscribers of this task about its state. */
void cay_mcp_subscribers_tell_task(struct cay_mcp *m, const struct cay_mcp_task *t);

/* watch.c */
struct cay_mcp_watch *cay_mcp_watch_new(struct cay_mcp_subscriber *e, const char *uri); /* NULL: no memory */
void cay_mcp_watch_free(struct cay_mcp_watch *w);
const char *cay_mcp_watch_uri(const struct cay_mcp_watch *w);
struct cay_mcp_watch **cay_mcp_watch_next(struct cay_mcp_watch *w);
void cay_mcp_watch_registry(struct cay_mcp_watch *w); /* there is a new one */

/* listen.c: methods. */
void cay_mcp_subscribe(struct cay_mcp_call *c);
void cay_mcp_unsubscribe(struct cay_mcp_call *c);
void cay_mcp_listen(struct cay_mcp_call *c);
