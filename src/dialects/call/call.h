/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls an op from inside the daemon, for dialects that translate another API. Arguments and answers are
 * values in memory (foundation/json/json_tree.h); no text is made or parsed in between. The op's own table
 * checks the arguments, so a dialect has no checks of its own.
 *
 * Theory of operation. cay_call starts a call and returns. The op's answers come through the call's `ops`,
 * from the loop or from inside a call into the op (a write, a drain), never inside cay_call itself. Exactly
 * one of on_answer, on_fail and on_end is the final callback; then the pointer is invalid. Before that, the
 * caller may say that its own client is gone (cay_call_gone); the final callback still comes. A streaming op
 * needs on_event, on_event_text or on_bytes; a call without them is answered with CAY_UNSUPPORTED.
 */
#pragma once

#include "domain/ops/op.h"
#include "foundation/json/json_tree.h"

struct cay_call;

struct cay_call_ops {
        /* answer: the members of the op's result, valid until this returns. */
        void (*on_answer)(struct cay_call *a, enum cay_op_status status, const struct cay_json_value *answer);
        /*
         * first: after CAY_EXISTS, the result of the single-use id's first use; else "". field: NULL: none in
         * particular.
         */
        void (*on_fail)(struct cay_call *a, const struct cay_error *err, const char *field,
                        const char *first);
        /*
         * Streams: returns how many bytes the caller has buffered (from CAY_OP_HIGH on the op waits for
         * cay_call_drained), or -errno.
         */
        int (*on_begin)(struct cay_call *a,
                        const struct cay_op_bytes *bytes); /* NULL bytes: events. May be NULL */
        ssize_t (*on_event)(struct cay_call *a, const char *id, const char *kind,
                            const struct cay_json_value *event);
        /* In place of on_event, for a caller that passes events on: as REST would send them. */
        ssize_t (*on_event_text)(struct cay_call *a, const char *id, const char *kind, const char *json,
                                 size_t len);
        ssize_t (*on_bytes)(struct cay_call *a, const void *bytes, size_t len);
        void (*on_end)(struct cay_call *a, bool was_cut); /* of a stream; was_cut: it is incomplete */
        /* An op that takes bytes (CAY_OP_RAW_IN) is ready for the next cay_call_write. May be NULL. */
        void (*on_room)(struct cay_call *a);
};

/* Arguments under construction: an object, whose members are written to j. */
struct cay_call_args {
        struct cay_json j;
        struct cay_json_sink *tree; /* owned */
};

void cay_call_args_begin(struct cay_call_args *args); /* then args->j */
void cay_call_args_done(struct cay_call_args *args);  /* accepts NULL, and one that is zeroed or was taken */
#define cay_auto_call_args cay_auto(cay_call_args_done)

struct cay_call_what {
        const struct cay_op *op;
        const struct cay_op_world *world;
        struct cay_caller caller;
        bool is_known; /* false: unauthenticated; only open ops answer */
        enum cay_op_dialect dialect;
        bool wants_stream;
        int fd; /* a folder's descriptor that came along, borrowed until the final callback; -1: none */
        struct cay_call_args *args; /* taken; NULL: none */
        const char *request_id;     /* may be NULL */
        const struct cay_call_ops *ops;
        void *user;
};

/*
 * NULL: no memory, and no callback will come. Scope and arguments are checked; errors come through on_fail.
 */
struct cay_call *cay_call(const struct cay_call_what *what);
void *cay_call_user(const struct cay_call *a);
/* Inside on_fail: the token to repeat the request with; "": none. */
const char *cay_call_confirm(const struct cay_call *a);
/* Whether a client that only stopped sending counts as gone. */
bool cay_call_works_for_listener(const struct cay_call *a);
void cay_call_drained(struct cay_call *a);
void cay_call_gone(struct cay_call *a);
/* Bytes for an op that takes them: returns how many were taken; send the rest after on_room. */
size_t cay_call_write(struct cay_call *a, const void *bytes, size_t len);
void cay_call_write_end(struct cay_call *a);
