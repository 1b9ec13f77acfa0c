/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations: what Cay can do, one row each. A row names the op, its route, its fields and what it takes to be allowed; the
 * dialects (REST, MCP…) make routes, checks and reference pages from it and fill one plain struct by the field table,
 * wherever the values came from. Nothing here knows HTTP or JSON input.
 *
 * Theory of operation. A dialect makes a call (struct cay_op_call, embedded in its own), fills it and calls run. The op ends the call
 * exactly once, now or later: with an answer, fail, end (of a stream) or abort; the pointer is dead then. Until
 * then the pointer, the arguments and the caller are good, whatever the client does: when the client is gone on_gone tells (if
 * the op set it), and the call still has to be ended; abort will do. on_gone, on_body, on_body_end and on_drain come from the loop,
 * never inside a call of the responder. An op that holds nothing but a job under way needs none of them.
 *
 * Results. An answer is one object, whose members the op's row lists. The op writes them one by one (struct cay_op_result), and the dialect
 * has chosen where they go: REST's become JSON text at once, a caller in here gets a tree to look things up in. Nothing is parsed back.
 *
 * Streams. Or an answer is a stream: of events (begin, put_event…, end), each an object as above, which each dialect encodes in its
 * own way, or of bytes (begin, write…, end). They say how much waits to leave; from CAY_OP_HIGH on a writer waits for on_drain.
 *
 * Two ways. Some clients can go on speaking while their answer streams (is_two_way). An op that listens sets on_body, on_body_end and
 * on_order and calls read, all before its stream begins: bytes then come as a body does, as fast as it takes them, and small orders one
 * by one in between. An op that does none of it is not spoken to: its dialect refuses.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "domain/auth/scope.h"
#include "foundation/base/buf.h"
#include "foundation/base/field.h"
#include "foundation/base/json_out.h"
#include "domain/ops/op_tool.h"
#include "domain/ops/op_verb.h"
#include "domain/ops/result.h"
#include "domain/sandboxes/service.h"

#define CAY_OP_HIGH (256u * 1024)           /* bytes that wait: then a writer waits too */
#define CAY_OP_JSON_MAX (64u * 1024 * 1024) /* of one answer */
#define CAY_OP_EVENT_MAX (2u * 1024 * 1024) /* of one event: output with every byte escaped, and facts */
#define CAY_OP_REQUEST_ID 24
#define CAY_OP_UNKNOWN_LENGTH UINT64_MAX

struct cay_api_keys;
struct cay_config;
struct cay_logins;
struct cay_budgets;
struct cay_op_call;
struct cay_templates;

struct cay_op_use { /* of what there may be so many at once */
        unsigned followers;
};

/* What ops work with. Borrowed: outlives every call. */
struct cay_op_world {
        struct cay_loop *loop;
        struct cay_service *service;
        struct cay_store *store;
        const struct cay_clock *clock;
        const struct cay_config *config;
        struct cay_api_keys *keys;
        struct cay_logins *logins;
        struct cay_budgets *budgets;     /* of memory that clients make us hold; NULL: not counted */
        struct cay_templates *templates; /* domain/ops/template_use.h; NULL: there is host alone */
        struct cay_engine *builder;      /* that builds templates' images; NULL: none does */
        const char *url;                 /* how people reach this daemon: "http://127.0.0.1:8888" */
        struct cay_op_use *use;          /* NULL: not counted */
        uint64_t started_wall_ms;
        const uint64_t *http_answers; /* by the first digit of the status: [2], [4]…; NULL: nobody counts */
        /* A bearer token for somebody; fills ret (CAY_OP_TOKEN_MAX bytes). */
        int (*make_token)(const struct cay_op_world *w, const char *owner, unsigned scopes,
                          uint64_t lifetime_ms, char *ret, uint64_t *ret_expires_s, struct cay_error *err);
        /* A session of the page for whoever spent a login, CAY_SESSION_S long; the same room. */
        int (*make_session)(const struct cay_op_world *w, const struct cay_caller *who, char *ret,
                            uint64_t *ret_expires_s, struct cay_error *err);
        /* A host folder that clients without a descriptor may name, by names alone: in which of workspace_roots (from 1) and
         * where below it; ret points into path. Whether it is there, and whether it may be, is the warden's to find out. */
        int (*find_workspace)(const struct cay_op_world *w, const char *path, unsigned *ret_root,
                              const char **ret_below, struct cay_error *err);
        /* A credential for one port of one sandbox, "{port}-{id}", of that owner; the same room. */
        /* key: id of the API key that asks for it, with which it ends; NULL: none */
        int (*make_link)(const struct cay_op_world *w, const char *owner, const char *label, const char *key,
                         uint64_t lifetime_ms, char *ret, uint64_t *ret_expires_s, struct cay_error *err);
        void *ctx; /* of the four above */
};

#define CAY_OP_TOKEN_MAX 600

enum cay_op_status { CAY_OP_OK, CAY_OP_CREATED, CAY_OP_ACCEPTED };

enum {
        CAY_OP_RAW_IN = 1,      /* the body is bytes, taken with cay_op_read; fields come from elsewhere */
        CAY_OP_STREAM = 2,      /* may answer with a stream */
        CAY_OP_DESTRUCTIVE = 4, /* cannot be undone */
        CAY_OP_OPEN = 8,        /* nobody needs to say who they are */
        CAY_OP_LIVE_IN =
                16,        /* RAW_IN that acts on the body while it comes: who sends it is judged meanwhile */
        CAY_OP_BYTES = 32, /* its stream is of bytes, never of events */
};

struct cay_op {
        const char *name;  /* "sandbox_create" */
        const char *route; /* "POST /api/sandboxes"; names in braces are fields */
        const char *doc;
        unsigned scope; /* CAY_SCOPE_*, 0 with CAY_OP_OPEN */
        unsigned flags;
        const struct cay_field *fields; /* NULL: none */
        size_t args_size;
        const struct cay_result_table *result;       /* members of an answer; NULL: none that is JSON */
        enum cay_op_status status;                   /* of an answer, the most usual */
        enum cay_op_status other_status;             /* another that it may have; CAY_OP_OK: none */
        const struct cay_result_table *other_result; /* with that; NULL: the same */
        const char *bytes; /* content types of an answer of bytes, with blanks between; NULL: none */
        const struct cay_op_tool *tool; /* for models; NULL: none that is this op alone */
        const struct cay_op_verb *verb; /* of the command line; NULL: none that is this op alone */
        void (*run)(struct cay_op_call *c);
};

struct cay_op_bytes { /* what a stream of bytes is */
        const char *type;
        uint64_t length; /* CAY_OP_UNKNOWN_LENGTH */
        bool is_part;    /* a range of something of total bytes */
        uint64_t from, total;
        const char *name; /* for whoever saves it; NULL: none */
};

struct cay_op_order {        /* what a client says to a stream under way */
        const char *signal;  /* NULL: none */
        uint64_t rows, cols; /* 0: none */
};

/* An answer or an event in the making: an object, whose members the op writes to j. */
struct cay_op_result {
        struct cay_json j;
        struct cay_buf text;            /* what it comes to as JSON, unless there is a sink */
        struct cay_json_sink *sink;     /* owned: the responder's */
        struct cay_result_check *check; /* owned; with test hooks: holds an answer against the op's table */
};

/*
 * Where what an op says goes. Ops call it through the functions below (cay_op_begin, …), which are the base of all responders: what one leaves
 * NULL is done by the call that this one is part of (outer), and where there is none nothing is done: streams are refused, results
 * become text.
 */
struct cay_op_responder {
        /* What takes the members of a result. NULL: they become text. The sink is freed with the result. */
        struct cay_json_sink *(*open)(struct cay_op_call *c, bool is_event);
        /* r is complete, and borrowed for the call; what is to live longer is moved out of it (cay_op_result_move). */
        void (*answer)(struct cay_op_call *c, enum cay_op_status status, struct cay_op_result *r);
        /* err and field are borrowed for the call. */
        void (*fail)(struct cay_op_call *c, const struct cay_error *err, const char *field);
        /* A stream. bytes NULL: of events. 0, or -EPIPE: the client is gone (on_gone tells too; the call is still to be ended). */
        int (*begin)(struct cay_op_call *c, const struct cay_op_bytes *bytes);
        ssize_t (*write)(struct cay_op_call *c, const void *bytes,
                         size_t len); /* how much waits, or -errno */
        ssize_t (*put_event)(struct cay_op_call *c, const char *id, const char *kind,
                             struct cay_op_result *r);
        void (*end)(struct cay_op_call *c, bool was_cut); /* was_cut: it is not whole, or nobody is there */
        int (*read)(struct cay_op_call *c);               /* body to on_body; 0, -EFBIG */
        void (*resume)(struct cay_op_call *c);
};

enum cay_op_dialect { /* in whose words advice is given (domain/ops/advice.h) */
                      CAY_OP_REST,
                      CAY_OP_CONTAINERS,
                      CAY_OP_SERVICE,
                      CAY_OP_MCP,
                      CAY_OP_DIALECT_COUNT
};

struct cay_op_call {
        const struct cay_op *op;
        const struct cay_op_responder *responder;
        const struct cay_op_world *world;
        struct cay_caller caller;
        bool is_known; /* false: an open op, called by nobody in particular */
        enum cay_op_dialect dialect;
        const void *args;
        int fd;            /* that came with the call: borrowed; -1: none */
        int peer_fd;       /* connection over the unix socket that it came by: borrowed; 0: none */
        bool wants_stream; /* the client's way of asking says so (an Accept field…) */
        bool is_two_way;   /* the client may speak while its answer streams */
        char request_id[CAY_OP_REQUEST_ID + 1];
        char confirm
                [33]; /* set before fail with CAY_CONFLICT: the token to come back with (domain/ops/confirm.h) */
        char first[CAY_NAME_MAX + 1]; /* set before fail with CAY_EXISTS: what the first use made */
        bool is_outside; /* set before fail with CAY_INVALID: a part was asked for that is not there, of */
        uint64_t total;  /* so many bytes */
        char made[CAY_NAME_MAX + 1]; /* set before answer: the id of what was made, for callers in here */
        /* set before answer: what the client is to show from now on; "": is to forget; NULL: as it is */
        const char *session;
        /* Of an op that calls this one: its own call, which this one's answer becomes the answer of. NULL: none. */
        struct cay_op_call *outer;
        void (*add_members)(struct cay_op_call *c,
                            struct cay_json *j); /* at the end of that answer; may be NULL */

        /* the op's */
        void *state;
        size_t (*on_body)(struct cay_op_call *c, const void *bytes, size_t len); /* how many were taken */
        void (*on_body_end)(struct cay_op_call *c);
        /* 0, or -1 with err: told to the client, and the stream goes on. */
        int (*on_order)(struct cay_op_call *c, const struct cay_op_order *order, struct cay_error *err);
        void (*on_drain)(struct cay_op_call *c);
        void (*on_gone)(struct cay_op_call *c);
        bool works_for_listener; /* on_gone also when the client says that it will send no more */
};

/* The table, in the order of ops.def. */
extern const struct cay_op *const cay_ops[];
extern const unsigned cay_op_count;
const struct cay_op *cay_op_find(const char *name); /* NULL: none */
/* May this caller use this op at all? CAY_DENIED says what is missing. */
int cay_op_check_scope(const struct cay_op *op, const struct cay_caller *caller, struct cay_error *err);

/* For ops. */
/* An owner that somebody may be given; names of unix peers are the kernel's to give. */
int cay_op_check_owner(const char *owner, struct cay_error *err);
struct cay_viewer cay_op_viewer(const struct cay_op_call *c);
void cay_op_fail(struct cay_op_call *c, const struct cay_error *err, const char *field);
void cay_op_fail_memory(struct cay_op_call *c);
/* What the responder does, or else its base. The call is dead after end and abort. */
int cay_op_begin(struct cay_op_call *c, const struct cay_op_bytes *bytes);
ssize_t cay_op_write(struct cay_op_call *c, const void *bytes, size_t len);
void cay_op_end(struct cay_op_call *c);
void cay_op_abort(struct cay_op_call *c);
int cay_op_read(struct cay_op_call *c);
void cay_op_resume(struct cay_op_call *c);
/* Begins an object for the call's dialect; r may hold the last one (a stream's), but not garbage. Then r->j. */
void cay_op_result_begin(struct cay_op_result *r, struct cay_op_call *c);
void cay_op_event_begin(struct cay_op_result *r, struct cay_op_call *c);
/* Ends the object and the call; frees. */
void cay_op_result_answer(struct cay_op_result *r, struct cay_op_call *c, enum cay_op_status status);
/* Ends the object and tells it; how much waits, or -errno. r is kept for the next. */
ssize_t cay_op_event_put(struct cay_op_result *r, struct cay_op_call *c, const char *id, const char *kind);
void cay_op_result_done(struct cay_op_result *r); /* accepts one that is zeroed */
void cay_op_result_move(struct cay_op_result *to, struct cay_op_result *from); /* one that is complete */
struct cay_json_sink *cay_op_open_nowhere(struct cay_op_call *c,
                                          bool is_event); /* for results that nobody reads */
void cay_op_key_text(struct cay_json *j, const char *key, const char *value);
void cay_op_key_u64(struct cay_json *j, const char *key, uint64_t value);
void cay_op_key_bool(struct cay_json *j, const char *key, bool value);
