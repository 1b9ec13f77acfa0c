/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The remote engine: boxes on users' own machines, made there by an agent (`cay agent`) with the native
 * engine.
 *
 * Theory of operation. A session is one proven connection to an agent (links/agent). Who accepts connections
 * proves both sides first and carries the messages; this folder opens no socket to anywhere and knows no
 * keys. The agent lists its boxes, then the session is ready. A call of the port becomes a request of the
 * session of the box's machine, and its box link a channel. A machine without a ready session is away: calls
 * about its boxes fail with CAY_UNAVAILABLE and may be repeated, since the boxes live on there. Destroying
 * one succeeds: the box has no record any more and is removed when the machine is back.
 *
 * Hostile agents. An agent is believed about its own boxes alone: an id that is recorded for another owner or
 * machine, or for another engine, is ignored whatever it says about it, requests about a box go to the
 * machine of its record, and messages are checked (agent_message.h).
 *
 * Heartbeat. The daemon sends PING every CAY_REMOTE_HEARTBEAT_MS. A session from which nothing came for
 * CAY_REMOTE_SILENT beats is over.
 */
#pragma once

#include "domain/model/port_engine.h"
#include "foundation/base/budget.h"

#define CAY_REMOTE_HEARTBEAT_MS 5000u
#define CAY_REMOTE_SILENT 3u
#define CAY_REMOTE_SESSIONS_MAX 1000u
#define CAY_REMOTE_BOXES_MAX 1024u /* of one machine */

struct cay_remote_session;

struct cay_remote_transport { /* of the session's owner */
        /*
         * A whole message: how many bytes are queued now, or -errno. A failure is also told with
         * cay_remote_session_end, later.
         */
        ssize_t (*send)(void *ctx, const void *bytes, size_t len);
        /* The session is over: cay_remote_session_end follows, not inside this call. */
        void (*hang_up)(void *ctx, const char *why);
};

struct cay_remote_env {
        /* A machine of this owner was paired and not removed. */
        bool (*is_known)(void *ctx, const char *owner, const char *machine);
        /* Its boxes are known: those without a record may be removed, the others are reached again. */
        void (*on_ready)(void *ctx, const char *owner, const char *machine);
        /*
         * Whether this id may be a box of that machine: it is recorded for it, or not at all. NULL: it always
         * may.
         */
        bool (*may_have)(void *ctx, const char *owner, const char *machine, const char *id);
        void *ctx;
        uint32_t heartbeat_ms; /* 0: CAY_REMOTE_HEARTBEAT_MS */
};

struct cay_remote_facts {
        bool is_ready;
        bool is_open;                /* commands run there without isolation, as its user allows */
        uint64_t since_ms, heard_ms; /* cay_clock_ms: of its session's begin, of its last message */
        uint64_t latency_us;         /* of the last heartbeat; 0: none yet */
        unsigned boxes;
        unsigned holds; /* limits (mask) that it can enforce */
};

extern const struct cay_engine_ops cay_engine_remote_link_ops; /* of the engine that this makes: */
int cay_engine_remote_new(struct cay_loop *loop, struct cay_engine **ret, struct cay_error *err);
void cay_engine_remote_set(struct cay_engine *e, const struct cay_remote_env *env); /* before any session */

/*
 * Begins a session after both sides were proven; one of the same machine is ended. name and owner are copied.
 * NULL: no memory, or there are too many.
 */
struct cay_remote_session *cay_remote_session_new(struct cay_engine *e, const char *owner,
                                                  const char *machine,
                                                  const struct cay_remote_transport *transport, void *ctx);
void cay_remote_session_charge(struct cay_remote_session *s,
                               struct cay_budget *budget); /* for what it keeps; outlives it */
int cay_remote_session_hear(struct cay_remote_session *s, const void *bytes,
                            size_t len);                       /* 0, or -EPROTO: end it */
void cay_remote_session_drained(struct cay_remote_session *s); /* little is queued again */
void cay_remote_session_end(struct cay_remote_session *s);     /* frees it; no more calls of the transport */

void cay_remote_tell_ready(
        struct cay_engine *e); /* on_ready again for each machine that is: nobody could hear it before */
bool cay_remote_find(struct cay_engine *e, const char *owner, const char *machine,
                     struct cay_remote_facts *ret);
/* Its session is ended; its boxes live on there. */
void cay_remote_hang_up(struct cay_engine *e, const char *owner, const char *machine, const char *why);
/* Its session is ended, and its boxes are reported as gone. */
void cay_remote_forget(struct cay_engine *e, const char *owner, const char *machine, const char *why);
