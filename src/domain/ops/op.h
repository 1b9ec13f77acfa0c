/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations: what Cay can do, one row each. A row has the op's name, route, fields and required scope. The
 * dialects (REST, MCP…) make routes, checks and reference pages from it and fill one plain struct by the
 * field table. Nothing here knows HTTP or JSON input.
 *
 * Theory of operation. A dialect makes a call (struct cay_op_call, embedded in its own), fills it and calls
 * run. The op ends the call exactly once, now or later: with an answer, fail, end (of a stream) or abort.
 * Then the pointer is invalid. Until then the pointer, the arguments and the caller are valid, whatever the
 * client does. When the client is gone, on_gone is called (if set), and the call still has to be ended; abort
 * is enough. on_gone, on_body, on_body_end and on_drain come from the loop, never inside a call of the
 * responder. An op that holds only a pending job needs none of them.
 *
 * Results. An answer is one object, whose members the op's row lists. The op writes them one by one (struct
 * cay_op_result), and the dialect decides where they go: for REST directly into JSON text, for internal
 * callers into a tree. Nothing is parsed back.
 *
 * Streams. An answer may be a stream: of events (begin, put_event…, end), each an object as above, encoded by
 * the dialect, or of bytes (begin, write…, end). The functions return how much is buffered; from CAY_OP_HIGH
 * on a writer waits for on_drain.
 *
 * Two-way streams. Some clients can send while their answer streams (is_two_way). An op that accepts this
 * sets on_body, on_body_end and on_order and calls read, all before its stream begins. Bytes then arrive like
 * a body, as fast as it takes them, with small orders in between. For other ops the dialect refuses.
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

#define CAY_OP_HIGH (256u * 1024)           /* buffered bytes from which a writer waits */
#define CAY_OP_JSON_MAX (64u * 1024 * 1024) /* of one answer */
#define CAY_OP_EVENT_MAX (2u * 1024 * 1024) /* of one event: output with every byte escaped, and some facts */
#define CAY_OP_REQUEST_ID 24
#define CAY_OP_UNKNOWN_LENGTH UINT64_MAX

struct cay_api_keys;
struct cay_browsers;
struct cay_vault;
struct cay_config;
struct cay_logins;
struct cay_machines;
struct cay_machine_facts;
struct cay_proof_pair;
struct cay_budgets;
struct cay_op_call;
struct cay_templates;
struct cay_seats;

struct cay_op_use { /* limits how many there may be at once */
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
        struct cay_vault *vault;       /* of secrets for sandboxes; NULL: there is none */
        struct cay_machines *machines; /* users' own ones; NULL: no agent can connect */
        struct cay_logins *logins;
        struct cay_budgets *budgets;     /* budget of memory for clients; NULL: not counted */
        struct cay_templates *templates; /* domain/ops/template_use.h; NULL: only host */
        struct cay_engine *builder;      /* builds templates' images; NULL: none */
        /* engines that keep volumes of owners, where they can (CAY_ENGINE_CAN_VOLUMES) */
        struct cay_engine *volume_keepers[CAY_SERVICE_ENGINES_MAX];
        unsigned volume_keeper_count;
        struct cay_seats *seats; /* who uses which desktop (domain/desktop); NULL: not kept apart */
        const char *url;         /* this daemon's address for people: "http://127.0.0.1:8888" */
        struct cay_op_use *use;  /* NULL: not counted */
        uint64_t started_wall_ms;
        struct cay_browsers *browsers; /* of sandboxes (domain/browser) */
        const uint64_t *http_answers;  /* by the first digit of the status: [2], [4]…; NULL: not counted */
        /* Makes a bearer token; fills ret (CAY_OP_TOKEN_MAX bytes). */
        int (*make_token)(const struct cay_op_world *w, const char *owner, unsigned scopes,
                          uint64_t lifetime_ms, char *ret, uint64_t *ret_expires_s, struct cay_error *err);
        /* Makes a session of the page from a login, for CAY_SESSION_S seconds; same buffer size. */
        int (*make_session)(const struct cay_op_world *w, const struct cay_caller *who, char *ret,
                            uint64_t *ret_expires_s, struct cay_error *err);
        /*
         * A host folder that a client without a descriptor names: in which of workspace_roots (from 1), and
         * the path below it, compared by name only; ret points into path. The warden checks whether it exists
         * and may be used.
         */
        int (*find_workspace)(const struct cay_op_world *w, const char *path, unsigned *ret_root,
                              const char **ret_below, struct cay_error *err);
        /* Makes a credential for one port of one sandbox, "{port}-{id}", of that owner; same buffer size. */
        /* key: id of the API key that requests it; the credential is revoked with it; NULL: none */
        int (*make_link)(const struct cay_op_world *w, const char *owner, const char *label, const char *key,
                         uint64_t lifetime_ms, char *ret, uint64_t *ret_expires_s, struct cay_error *err);
        /* Derives a token of a sandbox (domain/auth/sandbox_token.h); use: enum cay_sandbox_token_use. */
        void (*sandbox_token)(const struct cay_op_world *w, int use, const char *sandbox, char *ret);
        void *ctx; /* of the five above */
        /*
         * What is known of a machine that is connected; false: it is not. And: its connection and its
         * sandboxes end.
         */
        bool (*machine_facts)(void *agents, const char *owner, const char *name,
                              struct cay_machine_facts *ret);
        void (*machine_forget)(void *agents, const char *owner, const char *name);
        /*
         * It was added, disconnected, or may connect again: it is dialled, or its connection ends. NULL:
         * neither.
         */
        void (*machine_changed)(void *agents, const char *owner, const char *name);
        void *agents;                     /* of the three above */
        const struct cay_proof_pair *key; /* by which agents know this daemon; NULL: none */
};

#define CAY_OP_TOKEN_MAX 600

enum cay_op_status { CAY_OP_OK, CAY_OP_CREATED, CAY_OP_ACCEPTED };

enum {
        CAY_OP_RAW_IN = 1,      /* the body is bytes, taken with cay_op_read; fields come from elsewhere */
        CAY_OP_STREAM = 2,      /* may answer with a stream */
        CAY_OP_DESTRUCTIVE = 4, /* cannot be undone */
        CAY_OP_OPEN = 8,        /* no authentication needed */
        CAY_OP_LIVE_IN =
                16, /* RAW_IN that acts on the body as it arrives: the sender is authorised again meanwhile */
        CAY_OP_BYTES = 32,  /* its stream is bytes, never events */
        CAY_OP_INSIDE = 64, /* needs what runs in the sandbox `id`: one that sleeps is woken first */
};

struct cay_op {
        const char *name;  /* "sandbox_create" */
        const char *route; /* "POST /api/sandboxes"; names in braces are fields */
        const char *doc;
        unsigned scope; /* CAY_SCOPE_*, 0 with CAY_OP_OPEN */
        unsigned flags;
        const struct cay_field *fields; /* NULL: none */
        size_t args_size;
        const struct cay_result_table *result;       /* members of an answer; NULL: not JSON */
        enum cay_op_status status;                   /* the usual status of an answer */
        enum cay_op_status other_status;             /* another possible status; CAY_OP_OK: none */
        const struct cay_result_table *other_result; /* members with that status; NULL: the same */
        const char *bytes; /* content types of an answer of bytes, separated by spaces; NULL: none */
        const struct cay_op_tool *tool; /* for models; NULL: none that is this op alone */
        const struct cay_op_verb *verb; /* of the command line; NULL: none that is this op alone */
        void (*run)(struct cay_op_call *c);
};

struct cay_op_bytes { /* describes a stream of bytes */
        const char *type;
        uint64_t length; /* CAY_OP_UNKNOWN_LENGTH */
        bool is_part;    /* a range of something of total bytes */
        uint64_t from, total;
        const char *name; /* a file name for saving it; NULL: none */
};

struct cay_op_order {        /* what a client sends to a stream */
        const char *signal;  /* NULL: none */
        uint64_t rows, cols; /* 0: none */
};

/* An answer or an event under construction: an object, whose members the op writes to j. */
struct cay_op_result {
        struct cay_json j;
        struct cay_buf text;            /* the JSON text, unless there is a sink */
        struct cay_json_sink *sink;     /* owned: the responder's */
        struct cay_result_check *check; /* owned; with test hooks: checks an answer against the op's table */
};

/*
 * How an op answers. Ops use the functions below (cay_op_begin, …), which are the base of all responders. A
 * slot that is NULL is done by the outer call's responder. Without one, streams are refused and results
 * become text.
 */
struct cay_op_responder {
        /* What takes the members of a result. NULL: they become text. The sink is freed with the result. */
        struct cay_json_sink *(*open)(struct cay_op_call *c, bool is_event);
        /* r is complete, and borrowed for the call; move out what has to live longer (cay_op_result_move). */
        void (*answer)(struct cay_op_call *c, enum cay_op_status status, struct cay_op_result *r);
        /* err and field are borrowed for the call. */
        void (*fail)(struct cay_op_call *c, const struct cay_error *err, const char *field);
        /*
         * Begins a stream. bytes NULL: of events. 0, or -EPIPE: the client is gone (on_gone comes too; the
         * call still has to be ended).
         */
        int (*begin)(struct cay_op_call *c, const struct cay_op_bytes *bytes);
        ssize_t (*write)(struct cay_op_call *c, const void *bytes,
                         size_t len); /* how much is buffered, or -errno */
        ssize_t (*put_event)(struct cay_op_call *c, const char *id, const char *kind,
                             struct cay_op_result *r);
        /* was_cut: it is incomplete, or the client is gone */
        void (*end)(struct cay_op_call *c, bool was_cut);
        int (*read)(struct cay_op_call *c); /* body to on_body; 0, -EFBIG */
        void (*resume)(struct cay_op_call *c);
};

struct cay_op_call {
        const struct cay_op *op;
        const struct cay_op_responder *responder;
        const struct cay_op_world *world;
        struct cay_caller caller;
        bool is_known; /* false: an open op, called without authentication */
        enum cay_op_dialect dialect;
        const void *args;
        int fd;            /* came with the call: borrowed; -1: none */
        int peer_fd;       /* its connection over the unix socket: borrowed; 0: none */
        bool wants_stream; /* the client requested it (an Accept field…) */
        bool is_two_way;   /* the client may send while its answer streams */
        char request_id[CAY_OP_REQUEST_ID + 1];
        char confirm
                /*
                 * set before fail with CAY_CONFLICT: the token to repeat the request with
                 * (domain/ops/confirm.h)
                 */
                [33];
        char first[CAY_NAME_MAX + 1]; /* set before fail with CAY_EXISTS: the first use's result */
        bool is_outside; /* set before fail with CAY_INVALID: the requested range does not exist, of */
        uint64_t total;  /* so many bytes */
        char made[CAY_NAME_MAX + 1]; /* set before answer: the id of what was made, for internal callers */
        /* set before answer: the client's new credential; "": to be forgotten; NULL: unchanged */
        const char *session;
        /* For an op that calls this one: its own call, which gets this one's answer. NULL: none. */
        struct cay_op_call *outer;
        void (*add_members)(struct cay_op_call *c,
                            struct cay_json *j); /* adds to the end of that answer; may be NULL */

        /* the op's */
        void *state;
        size_t (*on_body)(struct cay_op_call *c, const void *bytes, size_t len); /* how many were taken */
        void (*on_body_end)(struct cay_op_call *c);
        /* 0, or -1 with err: reported to the client, and the stream continues. */
        int (*on_order)(struct cay_op_call *c, const struct cay_op_order *order, struct cay_error *err);
        void (*on_drain)(struct cay_op_call *c);
        void (*on_gone)(struct cay_op_call *c);
        bool works_for_listener; /* on_gone also when the client will send no more */
};

/* The table, in the order of ops.def. */
extern const struct cay_op *const cay_ops[];
extern const unsigned cay_op_count;
const struct cay_op *cay_op_find(const char *name); /* NULL: none */
/* Whether this caller may use this op. CAY_DENIED says what is missing. */
int cay_op_check_scope(const struct cay_op *op, const struct cay_caller *caller, struct cay_error *err);

/*
 * Runs the op, when the sandbox that it works in is awake (op_wake.c). What dialects call once the arguments
 * are filled.
 */
void cay_op_run(struct cay_op_call *c);

/* For ops. */
/* Whether a name can be given to an owner; only the kernel gives names of unix peers. */
int cay_op_check_owner(const char *owner, struct cay_error *err);
struct cay_viewer cay_op_viewer(const struct cay_op_call *c);
/* The sandbox with this id or name, as the caller sees it. false: the call is answered; its field is id. */
bool cay_op_get_sandbox(struct cay_op_call *c, const char *id, struct cay_sandbox_view *ret);
void cay_op_fail(struct cay_op_call *c, const struct cay_error *err, const char *field);
void cay_op_fail_memory(struct cay_op_call *c);
/* Zeroed memory for the call's state, to be freed. NULL: there is none, and the call is answered. */
void *cay_op_alloc(struct cay_op_call *c, size_t size);
/* The responder's functions, or their base. The call is invalid after end and abort. */
int cay_op_begin(struct cay_op_call *c, const struct cay_op_bytes *bytes);
ssize_t cay_op_write(struct cay_op_call *c, const void *bytes, size_t len);
void cay_op_end(struct cay_op_call *c);
void cay_op_abort(struct cay_op_call *c);
int cay_op_read(struct cay_op_call *c);
void cay_op_resume(struct cay_op_call *c);
/*
 * Begins an object for the call's dialect; r may hold the previous one (of a stream) or zeros. Then write to
 * r->j.
 */
void cay_op_result_begin(struct cay_op_result *r, struct cay_op_call *c);
void cay_op_event_begin(struct cay_op_result *r, struct cay_op_call *c);
/* Ends the object and the call; frees. */
void cay_op_result_answer(struct cay_op_result *r, struct cay_op_call *c, enum cay_op_status status);
/* Ends the object and sends it; returns how much is buffered, or -errno. r is kept for the next one. */
ssize_t cay_op_event_put(struct cay_op_result *r, struct cay_op_call *c, const char *id, const char *kind);
void cay_op_result_done(struct cay_op_result *r);                              /* accepts a zeroed one */
void cay_op_result_move(struct cay_op_result *to, struct cay_op_result *from); /* one that is complete */
struct cay_json_sink *cay_op_open_nowhere(struct cay_op_call *c,
                                          bool is_event); /* for results that nobody reads */
/*
 * Writes the rows of the table that have their value in `object` or compute it from there; the first for
 * tables without text in a dialect's terms. put_object: the same as one value.
 */
void cay_op_put_members(struct cay_json *j, const struct cay_result_table *table, const void *object);
void cay_op_put_members_for(struct cay_json *j, const struct cay_result_table *table, const void *object,
                            enum cay_op_dialect dialect);
void cay_op_put_object(struct cay_json *j, const struct cay_result_table *table, const void *object);
void cay_op_key_text(struct cay_json *j, const char *key, const char *value);
void cay_op_key_u64(struct cay_json *j, const char *key, uint64_t value);
void cay_op_key_bool(struct cay_json *j, const char *key, bool value);
