/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this folder: engine, sessions and their pending requests. */
#pragma once

#include "engines/remote/remote.h"
#include "foundation/base/phase.h"
#include "links/agent/agent_channels.h"

struct remote_box { /* one that a machine has */
        struct remote_box *next;
        char *workspace; /* owned; NULL: the usual place */
        char id[CAY_NAME_MAX + 1];
};

struct remote_call { /* a request under way */
        struct remote_call *next;
        uint32_t number, channel;
        enum agent_what what;
        struct cay_engine_box *box; /* borrowed; NULL: freeze, thaw */
        struct cay_job *job;
        char id[CAY_NAME_MAX + 1];
};

enum remote_session_phase {
        REMOTE_SESSION_GREETING, /* its boxes are being told */
        REMOTE_SESSION_READY,
        REMOTE_SESSION_OVER, /* its connection still has to end */
        REMOTE_SESSION_PHASE_COUNT
};
extern const struct cay_phase_table remote_session_phases;

struct cay_remote_session {
        struct cay_engine_remote *engine;
        struct cay_remote_session *next;
        char owner[CAY_NAME_MAX + 1], machine[CAY_NAME_MAX + 1];
        const struct cay_remote_transport *transport;
        void *ctx;
        struct agent_channels channels;
        struct remote_box *boxes;
        struct remote_call *calls;
        unsigned box_count;
        unsigned listed;   /* messages that told of a box */
        uint32_t numbers;  /* of requests and channels, the last one used */
        uint32_t can_hold; /* CAY_LIMIT_BIT */
        struct cay_timer beat;
        uint64_t since_ms, heard_ms, pinged_ns;
        uint64_t latency_us;
        enum remote_session_phase phase;
        bool is_open; /* commands run there without isolation */
};

struct cay_engine_remote {
        struct cay_engine engine;
        struct cay_loop *loop; /* borrowed */
        struct cay_remote_env env;
        struct cay_remote_session *sessions;
        unsigned session_count;
        struct cay_remote_session
                *only; /* `list`, and what is said about boxes without a record, is about this one */
        void (*gone)(void *ctx, const char *id);
        void *gone_ctx;
};

void remote_session_move(struct cay_remote_session *s, enum remote_session_phase to); /* the only writer */
/* No more is asked of it, and its connection is ended. */
void remote_session_hang_up(struct cay_remote_session *s, const char *why);
struct cay_remote_session *remote_find_machine(struct cay_engine_remote *e, const char *owner,
                                               const char *machine);
struct cay_remote_session *remote_find_box(struct cay_engine_remote *e, const char *id);
bool remote_session_has(const struct cay_remote_session *s, const char *id);
void remote_finish(struct cay_engine_remote *e, struct cay_job *job, const struct cay_error *err);
/*
 * Sends a request; the job is finished with its answer, or when the session ends. link_fd: the box's end of
 * its link, taken; -1: none.
 */
void remote_session_ask(struct cay_remote_session *s, struct agent_ask *ask, struct cay_engine_box *box,
                        struct cay_job *job, int link_fd);

/* Limits on the wire. */
uint32_t remote_limits_to_wire(unsigned core);
unsigned remote_limits_from_wire(uint32_t wire);
