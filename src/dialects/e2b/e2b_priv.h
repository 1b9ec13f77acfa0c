/* SPDX-License-Identifier: Apache-2.0 */
/* A request of an E2B client, and what the files of this folder share. */
#pragma once

#include "dialects/call/call.h"
#include "dialects/e2b/e2b.h"
#include "dialects/rest/rest_stream.h"
#include "foundation/base/json_out.h"
#include "foundation/http/router.h"
#include "foundation/json/json_in.h"

#define E2B_ENVD_VERSION "0.6.13" /* clients of 2.51 use everything from 0.6.4 on */
#define E2B_ROUTES_MAX 96u
#define E2B_JSON "application/json"
#define E2B_ANSWER_MAX (16u << 20) /* bytes of an answer */

struct e2b_request;
struct e2b_build;
struct e2b_execution;
struct e2b_watcher;

enum e2b_form {                  /* of errors */
                E2B_FORM_REST,   /* {"code": 404, "message": …} */
                E2B_FORM_UNARY,  /* {"code": "not_found", "message": …} */
                E2B_FORM_STREAM, /* the same in the last frame of a stream */
                E2B_FORM_TEXT,   /* the message alone */
                E2B_FORM_COUNT
};

enum {
        E2B_TAKES_JSON = 1, /* the body is JSON; there may be none */
        E2B_OPEN = 2,       /* for anybody */
        E2B_ENVELOPED = 4,  /* the JSON is in an envelope */
        E2B_OWN_AUTH = 8,   /* finds out itself who calls */
        E2B_RAW_BODY = 16,  /* reads the body itself */
        E2B_ANY_STATE = 32, /* also when the sandbox does not run */
};

struct e2b_row {
        const char *row; /* as in foundation/http/router.h */
        void (*run)(struct e2b_request *q);
        enum e2b_form form;
        unsigned flags;
};

struct e2b_rows {
        const struct e2b_row *rows;
        unsigned count;
};

/* Of the control plane, of envd, and of the code interpreter. */
extern const struct e2b_rows e2b_control_rows, e2b_lifecycle_rows, e2b_snapshot_rows, e2b_template_rows,
        e2b_tag_rows, e2b_volume_rows, e2b_content_rows, e2b_metrics_rows, e2b_missing_rows;
extern const struct e2b_rows e2b_envd_rows, e2b_process_rows, e2b_filesystem_rows, e2b_watcher_rows,
        e2b_files_rows, e2b_code_rows;

struct cay_e2b {
        const struct cay_op_world *world;
        struct cay_router *control, *envd, *code;
        struct cay_route control_routes[E2B_ROUTES_MAX], envd_routes[E2B_ROUTES_MAX],
                code_routes[E2B_ROUTES_MAX]; /* the routers' */
        struct cay_rest_stream *streams;     /* under way */
        struct e2b_build *builds;            /* of templates, the newest first */
        unsigned build_count;
        struct e2b_watcher *watchers; /* that are polled */
        size_t build_bytes;           /* of files that were uploaded for them */
        struct e2b_execution
                *executions; /* e2b_code.c: those that wait for their context, the oldest first */
};

/* How a request follows a stream of an op. All come from the loop. */
struct e2b_stream_ops {
        int (*on_begin)(struct e2b_request *q, const struct cay_op_bytes *bytes); /* 0 or -errno */
        ssize_t (*on_event)(struct e2b_request *q, const char *kind, const struct cay_json_value *event);
        ssize_t (*on_bytes)(struct e2b_request *q, const void *bytes, size_t len);
        void (*on_end)(struct e2b_request *q, bool was_cut); /* has to answer */
        void (*on_room)(struct e2b_request *q);              /* the op takes bytes */
};

struct e2b_request {
        struct cay_e2b *e2b;
        const struct cay_op_world *world;
        struct cay_http_request *req; /* NULL: answered */
        const struct e2b_row *row;
        enum e2b_form form;
        struct cay_caller caller;
        bool is_known;
        char request_id[CAY_GATE_ID + 1];
        char sandbox[CAY_NAME_MAX + 1]; /* the path's {id}, or that of the port */
        struct cay_route_match match;
        struct cay_json_in *body; /* owned; NULL: none */
        struct cay_call *ask;     /* the op's call under way; NULL: none */
        /* of that call */
        void (*on_answer)(struct e2b_request *q, const struct cay_json_value *answer);
        void (*on_fail)(struct e2b_request *q, const struct cay_error *err); /* NULL: an error's answer */
        const struct e2b_stream_ops *stream_ops;
        void (*on_client_gone)(struct e2b_request *q); /* before the op is told; may be NULL */
        size_t (*on_body)(struct e2b_request *q, const void *bytes, size_t len); /* with E2B_RAW_BODY */
        void (*on_body_end)(struct e2b_request *q);
        void *state; /* the row's, freed with the request by free_state */
        void (*free_state)(void *state);
        struct cay_rest_stream stream;
        struct cay_guard guard;         /* while it streams */
        struct cay_budget_owner *payer; /* of what the row keeps; NULL: nobody yet */
        struct cay_deferred release;
        bool is_gone;
        bool has_begun; /* the head of a streamed answer is out */
};

/* e2b_request.c: calling ops. args is taken. After these, the request is the callback's. */
void e2b_ask(struct e2b_request *q, const char *op, struct cay_call_args *args,
             void (*on_answer)(struct e2b_request *q, const struct cay_json_value *answer));
void e2b_ask_sandbox(struct e2b_request *q, const char *op,
                     void (*on_answer)(struct e2b_request *q, const struct cay_json_value *answer));
void e2b_ask_stream(struct e2b_request *q, const char *op, struct cay_call_args *args,
                    const struct e2b_stream_ops *ops);
/* The beginning of most arguments: {"id": the sandbox. */
void e2b_args_begin(const struct e2b_request *q, struct cay_call_args *args);

/* For a stream, or a wait: ends when the daemon stops, or when the key that it came with is revoked. Once. */
void e2b_request_watch(struct e2b_request *q);
/* What b holds counts in the caller's share of client_memory. It goes before the request does. */
void e2b_charge(struct e2b_request *q, struct cay_buf *b);
/*
 * Whether the caller may use this op; else the request was refused. For rows that begin with something of
 * their own.
 */
bool e2b_may(struct e2b_request *q, const char *op);

/* Answering: each ends the request. */
void e2b_answer(struct e2b_request *q, unsigned status, const struct cay_buf *json);
/* JSON of an answer: begin, write one value, then answer. */
void e2b_begin_json(struct cay_json *j, struct cay_buf *out);
void e2b_answer_json(struct e2b_request *q, unsigned status, struct cay_json *j, const struct cay_buf *out);
void e2b_answer_empty(struct e2b_request *q, unsigned status);
void e2b_fail(struct e2b_request *q, const struct cay_error *err);
void e2b_refuse(struct e2b_request *q, enum cay_code code, const char *text, ...) CAY_PRINTF(3, 4);
void e2b_refuse_status(struct e2b_request *q, unsigned status, const char *text);
void e2b_fail_memory(struct e2b_request *q);
/* A streamed answer: begin, write (how much is queued, or -errno), then end or cut. */
int e2b_begin(struct e2b_request *q, const char *type, uint64_t length);
ssize_t e2b_write(struct e2b_request *q, const void *bytes, size_t len);
void e2b_end(struct e2b_request *q);
void e2b_cut(struct e2b_request *q);

/* Reading a body and a query. NULL or the default: not there, or of another type. */
const struct cay_json_value *e2b_member(const struct e2b_request *q, const char *name);
const char *e2b_text(const struct cay_json_value *object, const char *name);
bool e2b_number(const struct cay_json_value *object, const char *name, int64_t *ret);
bool e2b_flag(const struct cay_json_value *object, const char *name, bool otherwise);
/* 1, 0: not given, -1: malformed (answered) */
int e2b_query(struct e2b_request *q, const char *name, char *room, size_t size, const char **ret);

/* e2b_error.c */
unsigned e2b_status(enum cay_code code);
const char *e2b_connect_code(enum cay_code code);
unsigned e2b_connect_status(const char *connect_code);
void e2b_put_error(struct cay_buf *out, enum e2b_form form, unsigned status, const char *connect_code,
                   const char *message);
void e2b_put_frame_error(struct cay_buf *out, const char *connect_code, const char *message);

/* e2b_view.c: a sandbox in E2B's words; answer is a Sandbox of Cay. Members of an open object. */
void e2b_put_made(struct e2b_request *q, struct cay_json *j, const struct cay_json_value *sandbox);
void e2b_put_listed(struct e2b_request *q, struct cay_json *j, const struct cay_json_value *sandbox);
void e2b_put_detail(struct e2b_request *q, struct cay_json *j, const struct cay_json_value *sandbox);
const char *e2b_state(const struct cay_json_value *sandbox); /* "running", "paused"; NULL: it is neither */

/* A label of a sandbox; NULL: it has none. Borrowed, until the loop goes on. */
const char *e2b_label(const struct cay_op_world *world, const char *id, const char *label);
bool e2b_runs(const struct cay_op_world *world, const char *id); /* e2b.c: it is there, and stays */

/* e2b_map.c: templates of E2B and labels that keep what Cay has no field for. */
#define E2B_LABEL "e2b."
#define E2B_LABEL_TEMPLATE E2B_LABEL "template"
#define E2B_LABEL_RESUME E2B_LABEL "auto_resume"
#define E2B_LABEL_ON_TIMEOUT E2B_LABEL "on_timeout"
#define E2B_LABEL_PRIVATE E2B_LABEL "private_ports"
#define E2B_LABEL_USER E2B_LABEL "user"       /* "root": of commands that name no user */
#define E2B_LABEL_WORKDIR E2B_LABEL "workdir" /* what relative paths begin with, if not at home */
/*
 * The template of the registry, or the snapshot, that a client's name means. Names of E2B are
 * "team/name:tag". A snapshot has letters, digits and '-' only: a tag stands behind "--", and the tag
 * "default" is left out. "": it is too long to be one.
 */
void e2b_template_of(const struct cay_op_world *world, const char *template_id, char ret[CAY_NAME_MAX + 1]);
/*
 * A new name for a snapshot; tag NULL: the one in name, or none. CAY_INVALID: it has other characters, or is
 * too long.
 */
int e2b_snapshot_name(const char *name, const char *tag, char ret[CAY_NAME_MAX + 1], struct cay_error *err);
/* Of the registry, or another word for one of those. */
bool e2b_is_template(const struct cay_op_world *world, const char *name);
bool e2b_is_snapshot(const struct cay_op_world *world, const char *owner,
                     const char *name); /* by name or id */
#define E2B_TAGGED_MAX (CAY_NAME_MAX + 16u)
void e2b_tagged_name(const char *snapshot, char ret[E2B_TAGGED_MAX]); /* back: "name:tag" */
