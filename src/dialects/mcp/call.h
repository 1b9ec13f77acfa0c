/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request being handled, and its op calls.
 *
 * Lifetime. A call is made by dispatch.c and ends once: cay_mcp_result_send, _error or _cancel; its memory is
 * freed at the end of the round. Op calls that are still pending are abandoned: their results are dropped. A
 * tool keeps its state in `state`, freed by `free_state`.
 */
#pragma once

#include "dialects/call/call.h"
#include "dialects/mcp/client.h"
#include "dialects/mcp/rpc.h"
#include "foundation/loop/loop.h"

#define CAY_MCP_RESULT_MAX (9u * 1024 * 1024) /* stock clients drop a line of more than 10 MiB */

struct cay_mcp_link;
struct cay_mcp_tool;

/* where messages of a call are sent */
struct cay_mcp_link_ops {
        void (*note)(struct cay_mcp_link *l, const char *json, size_t len); /* before the answer */
        /*
         * The final message; the link is dead then. status: HTTP's, 0: the default. NULL json: cancelled, no
         * answer.
         */
        void (*answer)(struct cay_mcp_link *l, unsigned status, const char *json, size_t len);
        size_t (*queued)(struct cay_mcp_link *l); /* bytes that are queued */
        bool (*fits)(struct cay_mcp_link *l,
                     size_t len); /* whether there is memory for an answer of that size */
};

struct cay_mcp_link {
        const struct cay_mcp_link_ops *ops;
        struct cay_mcp_call *call; /* NULL: it has ended */
};

struct cay_mcp_call {
        struct cay_mcp_client *client; /* NULL: ended */
        struct cay_mcp_call *next, **back;
        struct cay_mcp *mcp;
        struct cay_mcp_link *link;
        struct cay_caller caller;
        struct cay_rpc rpc; /* the message */
        bool is_modern, is_over;
        bool waits;               /* it is queued: nothing was begun */
        enum cay_mcp_level level; /* of log messages for it */
        bool can_elicit;
        bool can_task;                 /* modern era: its client knows tasks */
        bool is_task;                  /* it belongs to a task: no client waits for its answer */
        bool listens;                  /* modern era: a subscription */
        struct cay_mcp_op_call *asked; /* under way */
        uint64_t started_ms, started_wall_ms;
        struct cay_deferred release;

        /* of a tool */
        const struct cay_mcp_tool *tool;
        const struct cay_json_value *args;
        void *state;
        void (*free_state)(struct cay_mcp_call *c);
        void (*on_cancel)(struct cay_mcp_call *c);
        /* a question to the user of the client (legacy era) */
        char question[16]; /* id of our request; "": none */
        void (*on_reply)(struct cay_mcp_call *c, const struct cay_json_value *result);
        char confirm[40];  /* token that a confirmation stands for */
        bool has_state;    /* modern era: it came as the request's state */
        bool has_bad_meta; /* modern era: about the request as such */
        bool asks_input;   /* modern era: its result is a question */
};

struct cay_mcp_call *cay_mcp_call_new(struct cay_mcp_client *p, struct cay_rpc *rpc,
                                      struct cay_mcp_link *link); /* takes rpc on success; NULL: no memory */
void cay_mcp_call_error(struct cay_mcp_call *c, int code, const char *data, const char *fmt, ...)
        CAY_PRINTF(4, 5);
void cay_mcp_call_cancel(struct cay_mcp_call *c); /* fine when ended */
/*
 * Its client was disconnected. A call that only watches, or waits for a user, is cancelled. A tool may have
 * started something, so it runs to its end, and its result is dropped.
 */
void cay_mcp_call_let_go(struct cay_mcp_call *c);
/* From now on it belongs to another client, and its answer is sent elsewhere. */
void cay_mcp_call_move(struct cay_mcp_call *c, struct cay_mcp_client *p, struct cay_mcp_link *link);
/*
 * Modern era, for calls about tasks: true: the client does not support them, and the call was ended with that
 * error.
 */
bool cay_mcp_refuse_no_tasks(struct cay_mcp_call *c);

/* A result being built: an object is open. */
struct cay_mcp_result {
        struct cay_buf buf;
        struct cay_json j;
};
void cay_mcp_result_begin(struct cay_mcp_result *r);
enum cay_mcp_cache { CAY_MCP_UNCACHED, CAY_MCP_PRIVATE, CAY_MCP_PUBLIC }; /* modern era: what is said of it */
/* Adds what the era asks for; ends object and call; frees. */
void cay_mcp_result_send(struct cay_mcp_result *r, struct cay_mcp_call *c, enum cay_mcp_cache cache);
void cay_mcp_result_drop(struct cay_mcp_result *r);
/* An empty result. */
void cay_mcp_call_done(struct cay_mcp_call *c);

/* Messages before the answer. */
void cay_mcp_call_log(struct cay_mcp_call *c, enum cay_mcp_level level, const char *logger, const char *data,
                      size_t len); /* data: JSON */
void cay_mcp_call_progress(struct cay_mcp_call *c, uint64_t progress, const char *message, size_t len);
/* Sends a request to the client, in the legacy era; params: JSON. The answer is passed to on_reply. */
void cay_mcp_call_request(struct cay_mcp_call *c, const char *method, const char *params,
                          void (*on_reply)(struct cay_mcp_call *c, const struct cay_json_value *result));
/* Asks the user to approve; the answer is passed to on_reply. Only with can_elicit, in the legacy era. */
void cay_mcp_call_elicit(struct cay_mcp_call *c, const char *message,
                         void (*on_reply)(struct cay_mcp_call *c, const struct cay_json_value *result));
void cay_mcp_put_elicit(struct cay_json *j, const char *message); /* its params, an object */

/* Calling ops for a call. */
struct cay_mcp_op_call {
        struct cay_mcp_call *call; /* NULL: it has no receiver any more */
        struct cay_mcp_op_call *next;
        struct cay_call *ask;
        struct cay_mcp *mcp;
        void (*done)(struct cay_mcp_call *c, struct cay_mcp_op_call *q); /* NULL: nobody asks */
        void (*event)(struct cay_mcp_call *c, const char *kind, const struct cay_json_value *json);
        struct cay_buf bytes; /* of a stream of bytes: the first of them */
        size_t bytes_max;
        uint64_t total;      /* of what is streamed */
        struct cay_buf body; /* for an op that takes bytes */
        size_t body_at;
        struct cay_deferred gone; /* an op gets no callback inside one of its own responder calls */
        bool leaves;
        bool kills; /* a command: killed if it starts after its caller has gone */
        struct cay_caller caller;
        /* its outcome, valid inside done */
        struct cay_error err; /* CAY_OK: fine */
        const char *field;
        char first[CAY_NAME_MAX + 1], confirm[40];
        const struct cay_json_value *json; /* the answer; NULL: a stream */
        bool was_cut;
        void *user;
};

/*
 * q: zeroed but for done, event, bytes_max, body (taken). Made on the heap by cay_mcp_op_call_new and freed
 * after done. args: taken. NULL from _new, or a failure to start: the call is ended with an error.
 */
struct cay_mcp_op_call *cay_mcp_op_call_new(struct cay_mcp_call *c,
                                            void (*done)(struct cay_mcp_call *c, struct cay_mcp_op_call *q));
void cay_mcp_call_op(struct cay_mcp_op_call *q, const struct cay_op *op, struct cay_call_args *args,
                     bool wants_stream);
void cay_mcp_op_call_leave(struct cay_mcp_op_call *q); /* its client is gone: done will not be called */
/*
 * Without a receiver: an op is run on a sandbox, or on an exec of it (NULL: none), and its result is ignored.
 */
void cay_mcp_order(struct cay_mcp *mcp, const struct cay_caller *caller, const struct cay_op *op,
                   const char *sandbox, const char *exec);

/* _meta of results of the modern era, and of what a subscription is told (id "": none). */
void cay_mcp_put_server_info(struct cay_json *j);
void cay_mcp_put_subscription(struct cay_json *j, const char *id);
