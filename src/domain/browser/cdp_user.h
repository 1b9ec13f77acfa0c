/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of a browser that is code of ours: calls methods, gets each answer in a callback, hears events.
 *
 *      struct shot { struct cay_cdp_user user; struct cay_cdp_call call; … };
 *
 *      s->user.on_event = on_event;
 *      s->user.on_gone = on_gone;
 *      cay_cdp_user_open(&s->user, &browser->mux, loop, &err);
 *      s->call.on_done = on_version;
 *      cay_cdp_call(&s->user, &s->call, "", "Browser.getVersion", NULL, 10000);
 *
 *      static void on_version(struct cay_cdp_call *call)
 *      {
 *              char product[64];
 *
 *              if (call->err.code != CAY_OK) …                     (in words for a client)
 *              cay_cdp_find_text(call->result, "product", product, sizeof(product));
 *      }
 *
 * Calls may be made at once: they wait until the browser has attached this user. Each is done exactly once,
 * from the loop, never inside cay_cdp_call: with its result, with the browser's own error (CAY_CONFLICT;
 * `code` has the number), when its time is over (CAY_TIMEOUT), or when the browser goes (CAY_CONFLICT, with
 * the reason). Sessions of tabs: Target.attachToTarget {"targetId": …, "flatten": true} gives a sessionId,
 * which later calls name.
 */
#pragma once

#include "domain/browser/cdp_mux.h"
#include "foundation/loop/loop.h"

struct cay_cdp_call { /* embedded by its owner; kept until on_done */
        void (*on_done)(struct cay_cdp_call *call);
        struct cay_error err;        /* CAY_OK: there is a result */
        int code;                    /* of the browser's error; 0: none */
        struct cay_json_view result; /* an object; borrowed for on_done */
        /* private */
        struct cay_cdp_user *user; /* NULL: not pending */
        struct cay_cdp_call *next;
        struct cay_timer timer;
        struct cay_buf params;
        int32_t id;
        bool is_sent;
        char method[CAY_CDP_METHOD_MAX + 1], session[CAY_CDP_SESSION_LEN + 1];
};

struct cay_cdp_user { /* embedded by its owner, zeroed, then: */
        /* `session` is "" for events of the browser as a whole. Borrowed for the call. May be NULL. */
        void (*on_event)(struct cay_cdp_user *u, const struct cay_cdp_message *event);
        /* Called once, after its pending calls are done: the browser has gone. May be NULL. */
        void (*on_gone)(struct cay_cdp_user *u, const struct cay_error *why);
        /* private */
        struct cay_cdp_client client;
        struct cay_loop *loop;
        struct cay_cdp_call *calls; /* pending, oldest first */
        int32_t last_id;
        bool is_ready;
};

/* CAY_LIMIT, CAY_CONFLICT, as cay_cdp_client_open. */
int cay_cdp_user_open(struct cay_cdp_user *u, struct cay_cdp_mux *m, struct cay_loop *loop,
                      struct cay_error *err);
/*
 * No callback follows, also of pending calls. Chromium forgets what it enabled. May be called on a closed
 * one.
 */
void cay_cdp_user_close(struct cay_cdp_user *u);
bool cay_cdp_user_is_open(const struct cay_cdp_user *u);
/* session "": the browser as a whole. params: JSON text of an object, copied; NULL: none. */
void cay_cdp_call(struct cay_cdp_user *u, struct cay_cdp_call *call, const char *session, const char *method,
                  const char *params, uint64_t timeout_ms);
void cay_cdp_call_cancel(struct cay_cdp_call *call); /* no callback follows; may be called when it is done */
