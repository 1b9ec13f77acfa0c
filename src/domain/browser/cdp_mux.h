/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many clients on one browser: bytes of its debugging pipe on one side, clients on the other. Knows neither
 * sandboxes nor sockets.
 *
 * Theory of operation. A browser has one pipe and takes whoever writes there for one client. So each client
 * gets a session of its own with the browser as a whole (Target.attachToBrowserTarget): its root session,
 * which it never sees. Every message is read and built anew:
 *
 *   to the browser    the id becomes one of ours; no sessionId becomes the root session; a sessionId must be
 *                     the client's
 *   to the client     a reply gets the client's id back; an event goes to the client that its sessionId
 *                     belongs to; the root session is left out
 *
 * Sessions get an owner when Target.attachedToTarget comes on a session that has one, and lose it with
 * Target.detachedFromTarget, together with those below them. When a client leaves, its root session is
 * detached: Chromium then drops everything below it, such as rules for requests and contexts of its own. Tabs
 * of the default context stay.
 *
 * So no client sees another's ids, replies, events or sessions. They do share tabs and cookies: they are
 * clients of one browser.
 *
 * Limits. A message has at most CAY_CDP_MESSAGE_MAX bytes: a longer one from the browser is dropped, and the
 * client that waits for it gets an error instead. A client has at most CAY_CDP_CALLS_MAX unanswered calls and
 * CAY_CDP_SESSIONS_MAX sessions. When CAY_CDP_OUT_HIGH bytes wait for the browser, clients are held (-EAGAIN)
 * until on_room.
 *
 * Callbacks may close any client and may send. The mux itself must not be freed in one.
 */
#pragma once

#include "domain/browser/cdp_message.h"
#include "foundation/base/error.h"

#define CAY_CDP_NO_SESSION (-32001) /* code of an error: there is no session of that id (any more) */
#define CAY_CDP_MESSAGE_MAX (64u << 20)
#define CAY_CDP_OUT_HIGH (1u << 20)
#define CAY_CDP_CALLS_MAX 4096u    /* unanswered, of one client */
#define CAY_CDP_SESSIONS_MAX 1024u /* of one client */
#define CAY_CDP_CLIENTS_MAX 32u

struct cay_cdp_mux;

struct cay_cdp_client {                             /* embedded by its owner: zeroed, then the callbacks */
        void (*on_ready)(struct cay_cdp_client *c); /* it may send now */
        void (*on_room)(struct cay_cdp_client *c);  /* it may send again, after -EAGAIN; may be NULL */
        /*
         * A reply (has_id; `id` is what the client sent) or an event. `session` is "" for what concerns the
         * browser as a whole. The views point into the message: borrowed for the call.
         */
        void (*on_message)(struct cay_cdp_client *c, const struct cay_cdp_message *in);
        /* The browser has gone, or does not take this client. Called once; the client is closed by then. */
        void (*on_gone)(struct cay_cdp_client *c, const struct cay_error *why);

        /* private to cdp_mux.c */
        struct cay_cdp_mux *mux; /* NULL: closed */
        struct cay_cdp_client *next;
        char root[CAY_CDP_SESSION_LEN + 1]; /* "": not attached yet */
        unsigned calls, sessions;
        bool waits_for_room;
};

struct cay_cdp_session; /* private */

struct cay_cdp_call_slot {             /* private: an unanswered call */
        struct cay_cdp_client *client; /* NULL: it has left */
        int32_t id;                    /* the client's; of a question: its number */
        uint16_t turn;                 /* of this slot: the upper part of our id */
        bool is_used, is_attach, is_question;
        uint32_t next_free;
};

#define CAY_CDP_SESSION_BUCKETS 256u

struct cay_cdp_mux {        /* embedded by its owner */
        struct cay_buf out; /* for the browser; whoever takes bytes calls cay_cdp_mux_sent */
        void (*on_output)(struct cay_cdp_mux *m); /* out was empty and is not; may be NULL */
        /*
         * Every event that goes to a client, before the client gets it; for who keeps a list (of downloads).
         * May be NULL.
         */
        void (*on_event)(struct cay_cdp_mux *m, const struct cay_cdp_message *in);
        /*
         * Every command that a client has sent, after it was passed on; for who shows what clients do. May be
         * NULL.
         */
        void (*on_command)(struct cay_cdp_mux *m, const struct cay_cdp_client *c,
                           const struct cay_cdp_message *in);
        /*
         * Whether somebody else has mouse and keys, so that this client's input (cdp_methods.def) is refused.
         * NULL: nobody.
         */
        bool (*is_taken)(struct cay_cdp_mux *m, const struct cay_cdp_client *c);
        void (*on_clients)(struct cay_cdp_mux *m); /* client_count has changed; may be NULL */
        /* The reply to a question. May be NULL. */
        void (*on_told)(struct cay_cdp_mux *m, int32_t question, const struct cay_cdp_message *in);
        /* folder in the sandbox that all downloads go to; borrowed; NULL: as clients say */
        const char *downloads;

        unsigned client_count;

        /* private */
        struct cay_buf in;
        struct cay_budget *budget; /* borrowed; NULL: none */
        struct cay_buf small;      /* parameters in the making */
        struct cay_cdp_client *clients;
        struct cay_cdp_session *sessions[CAY_CDP_SESSION_BUCKETS];
        uint64_t seed; /* of which bucket an id is in: whoever makes ids up cannot fill one */
        struct cay_cdp_call_slot *slots;
        uint32_t slot_count, free_slot;
        bool drops; /* the rest of a message that is too long, or whose beginning is not known */
        /* other clients were there before this mux: their sessions are detached when they are heard */
        bool has_past;
        bool has_ended;
};

void cay_cdp_mux_init(struct cay_cdp_mux *m);
void cay_cdp_mux_charge(struct cay_cdp_mux *m, struct cay_budget *budget); /* for what it holds; borrowed */
/*
 * The browser was there before, with clients that are not: the first bytes may be the rest of a message, and
 * the last client may have left an incomplete one.
 */
void cay_cdp_mux_join(struct cay_cdp_mux *m);
/* Tells all clients (on_gone) and refuses new ones. */
void cay_cdp_mux_end(struct cay_cdp_mux *m, const struct cay_error *why);
void cay_cdp_mux_done(struct cay_cdp_mux *m); /* after cay_cdp_mux_end; frees */

/*
 * Asks the browser as a whole, without a client: what may not wait until one is attached. The reply comes to
 * on_told with the question's number, an error of the browser's too. 0, -ENOSPC, -ENOMEM.
 */
int cay_cdp_mux_ask(struct cay_cdp_mux *m, int32_t question, const char *method, const char *params);

/* Bytes from the browser, in pieces of any size. */
void cay_cdp_mux_feed(struct cay_cdp_mux *m, const char *bytes, size_t len);
/* The first bytes of m->out were taken. */
void cay_cdp_mux_sent(struct cay_cdp_mux *m, size_t len);

/* on_ready follows, never inside the call. CAY_LIMIT; CAY_CONFLICT: the browser has gone. */
int cay_cdp_client_open(struct cay_cdp_mux *m, struct cay_cdp_client *c, struct cay_error *err);
void cay_cdp_client_close(struct cay_cdp_client *c); /* no callback follows; may be called on a closed one */

struct cay_cdp_refusal {
        int code; /* of JSON-RPC */
        const char *text;
};

/*
 * Sends a command: id, method, params and session of the message count. 0; 1: refused, and ret says why (a
 * client is told with its id); -EAGAIN: on_room follows; -EPIPE: closed or not ready; -ENOMEM, -ENOSPC.
 */
int cay_cdp_client_send(struct cay_cdp_client *c, const struct cay_cdp_message *m,
                        struct cay_cdp_refusal *ret);

/*
 * The targetId of the page that a client's session is attached to; "": of none. Borrowed until the next
 * message.
 */
const char *cay_cdp_session_page(const struct cay_cdp_mux *m, const char *session);
