/* SPDX-License-Identifier: Apache-2.0 */
/* A request of a Browserbase client, and what the files of this folder share. */
#pragma once

#include "dialects/browserbase/browserbase.h"
#include "dialects/call/call.h"
#include "dialects/rest/rest_stream.h"
#include "foundation/base/json_out.h"
#include "foundation/http/router.h"
#include "foundation/json/json_in.h"

#define BB_ROUTES_MAX 64u
#define BB_JSON "application/json"
#define BB_ANSWER_MAX (16u << 20) /* bytes of an answer */
#define BB_ID_LEN 36u             /* of sessions, contexts, projects: a UUID */
#define BB_LIST_MAX 1000u
#define BB_SECONDS_MIN 60
#define BB_SECONDS_MAX 21600
#define BB_SECONDS 3600
#define BB_PROFILE "/mnt/browser-context"

#define BB_LABEL "browserbase."
#define BB_LABEL_SESSION BB_LABEL "session" /* "yes" */
#define BB_LABEL_PROJECT BB_LABEL "project"
#define BB_LABEL_REGION BB_LABEL "region"
#define BB_LABEL_KEEP BB_LABEL "keep_alive"
#define BB_LABEL_CONTEXT BB_LABEL "context"
#define BB_LABEL_EXPIRES BB_LABEL "expires_at"
#define BB_LABEL_VALUES BB_LABEL "values" /* names of metadata whose values are JSON, not texts */

struct bb_request;

enum {
        BB_TAKES_JSON = 1, /* the body is JSON; there may be none */
        BB_RAW_BODY = 2,   /* reads the body itself */
        BB_FINISHES = 4,   /* what it has begun is finished when the client goes away */
};

struct bb_row {
        const char *row; /* as in foundation/http/router.h */
        void (*run)(struct bb_request *q);
        unsigned flags;
};

struct bb_rows {
        const struct bb_row *rows;
        unsigned count;
};

extern const struct bb_rows bb_session_rows, bb_create_rows, bb_look_rows, bb_file_rows, bb_context_rows,
        bb_project_rows, bb_recording_rows, bb_missing_rows;

struct cay_bb {
        const struct cay_op_world *world;
        struct cay_router *router;
        struct cay_route routes[BB_ROUTES_MAX]; /* the router's */
        struct cay_rest_stream *streams;        /* under way */
};

/* How a request follows a stream of bytes of an op. All come from the loop. */
struct bb_stream_ops {
        int (*on_begin)(struct bb_request *q, const struct cay_op_bytes *bytes); /* 0 or -errno */
        ssize_t (*on_bytes)(struct bb_request *q, const void *bytes, size_t len);
        void (*on_end)(struct bb_request *q, bool was_cut); /* has to answer */
        void (*on_room)(struct bb_request *q);              /* the op takes bytes */
};

enum bb_status { BB_PENDING, BB_RUNNING, BB_ERROR, BB_TIMED_OUT, BB_COMPLETED };

struct bb_state { /* of a session: what the list of browsers says */
        char sandbox[CAY_NAME_MAX + 1];
        enum bb_status status;
        char started_at[32], ended_at[32]; /* "": not yet */
};

struct bb_request {
        struct cay_bb *bb;
        const struct cay_op_world *world;
        struct cay_http_request *req; /* NULL: answered */
        const struct bb_row *row;
        struct cay_caller caller;
        char request_id[CAY_GATE_ID + 1];
        char id[BB_ID_LEN + 1];      /* the path's {id}, or the one that is being made */
        char context[BB_ID_LEN + 1]; /* that it is about */
        struct cay_route_match match;
        struct cay_json_in *body; /* owned; NULL: none */
        struct cay_call *ask;     /* the op's call under way; NULL: none */
        /* of that call */
        void (*on_answer)(struct bb_request *q, const struct cay_json_value *answer);
        void (*on_fail)(struct bb_request *q, const struct cay_error *err); /* NULL: an error's answer */
        const struct bb_stream_ops *stream_ops;
        size_t (*on_body)(struct bb_request *q, const void *bytes, size_t len); /* with BB_RAW_BODY */
        void (*on_body_end)(struct bb_request *q);
        struct cay_budget_owner *payer; /* of the row's buffers (bb_charge); NULL: nobody yet */
        void *state;                    /* the row's, freed with the request by free_state */
        void (*free_state)(void *state);
        struct bb_state seen; /* of the session: bb_look */
        void (*on_seen)(struct bb_request *q);
        char link[CAY_OP_TOKEN_MAX + 400]; /* to its control channel; "": none was asked for */
        struct cay_rest_stream stream;
        struct cay_guard guard;
        struct cay_deferred release;
        bool is_gone, has_begun;
};

/* bb_request.c: calling ops. args is taken. After these, the request is the callback's. */
void bb_ask(struct bb_request *q, const char *op, struct cay_call_args *args,
            void (*on_answer)(struct bb_request *q, const struct cay_json_value *answer));
void bb_ask_session(struct bb_request *q, const char *op,
                    void (*on_answer)(struct bb_request *q, const struct cay_json_value *answer));
void bb_ask_stream(struct bb_request *q, const char *op, struct cay_call_args *args,
                   const struct bb_stream_ops *ops);
void bb_args_begin(const struct bb_request *q, struct cay_call_args *args); /* {"id": the session */

/* Answering: each ends the request. */
void bb_answer(struct bb_request *q, unsigned status, const struct cay_buf *json);
/* The JSON that was begun with bb_json_begin. */
void bb_answer_json(struct bb_request *q, unsigned status, struct cay_json *j);
void bb_answer_empty(struct bb_request *q, unsigned status);
void bb_fail(struct bb_request *q, const struct cay_error *err);
void bb_refuse(struct bb_request *q, enum cay_code code, const char *text, ...) CAY_PRINTF(3, 4);
void bb_refuse_status(struct bb_request *q, unsigned status, const char *text);
void bb_fail_memory(struct bb_request *q);
int bb_begin(struct bb_request *q, const char *type, uint64_t length);
ssize_t bb_write(struct bb_request *q, const void *bytes, size_t len);
void bb_end(struct bb_request *q);
void bb_cut(struct bb_request *q);
void bb_refuse_plain(struct cay_http_request *req, unsigned status,
                     const char *text); /* before there is one */

/* What outlives a round of the loop counts as the caller's memory. Free the buffer with the row's state. */
void bb_charge(struct bb_request *q, struct cay_buf *b);

/* Reading. NULL, false or the default: not there, or of another type. */
const struct cay_json_value *bb_member(const struct bb_request *q, const char *name);
const char *bb_text(const struct cay_json_value *object, const char *name);
bool bb_number(const struct cay_json_value *object, const char *name, int64_t *ret);
bool bb_flag(const struct cay_json_value *object, const char *name, bool otherwise);
bool bb_has(const struct cay_json_value *object, const char *name); /* there, and not null */
/* 1, 0: not given, -1: malformed (answered) */
int bb_query(struct bb_request *q, const char *name, char *room, size_t size, const char **ret);
bool bb_id_is_one(const char *text); /* a UUID in small letters */
void bb_id_make(char ret[BB_ID_LEN + 1]);
void bb_put_copy(struct cay_json *j, const char *key, const struct cay_json_value *value);
const char *bb_project(const struct bb_request *q, char room[BB_ID_LEN + 1]); /* the caller's */

/* bb_view.c: a session in Browserbase's words */
void bb_state_read(const struct cay_json_value *browser, struct bb_state *ret);
const char *bb_status_word(enum bb_status status);
/* Members of an open object. link "": without connectUrl. */
void bb_put_session(struct cay_json *j, const struct bb_request *q, const struct cay_json_value *sandbox,
                    const struct bb_state *state, const char *link);
/* Asks how it is, for a link if it runs, and answers with it. */
void bb_show(struct bb_request *q);
/* Finds out how it is: q->seen. Answers if there is no such session. */
void bb_look(struct bb_request *q, void (*then)(struct bb_request *q));

/* bb_context.c: calls `then` if the caller has this context; else answers */
void bb_context_check(struct bb_request *q, const char *id, void (*then)(struct bb_request *q));
#define BB_VOLUME_MAX 48u
void bb_context_volume(const char *id, char ret[BB_VOLUME_MAX]);
