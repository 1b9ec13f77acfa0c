/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine port over a link: what is the same for every engine whose boxes a helper makes. A call of the
 * port is one request; its answer finishes the job.
 *
 * Theory of operation. An engine has a struct engine_linked as its first member. Its kind describes what is
 * specific: the numbers of its requests, and the meaning of its answers. The functions below implement the
 * remaining slots of the port. The helpers' messages are structs of their own, made of the heads and bodies
 * that all links share (links/helper/helper_message.h); only those are used here. Boxes of earlier fronts are
 * listed after the hello.
 */
#pragma once

#include <assert.h>

#include "domain/model/port_engine.h"
#include "engines/helper_client/boxes.h"
#include "engines/helper_client/link.h"

#define ENGINE_LINKED_REQUEST_MAX 8192u

struct engine_linked_request { /* any helper's, as far as it is filled here */
        struct helper_request_head head;
        union {
                struct helper_box_id box;
                struct helper_list list;
                char room[ENGINE_LINKED_REQUEST_MAX - sizeof(struct helper_request_head)];
        };
};

struct engine_linked_answer { /* any helper's, as far as it is read here */
        struct helper_answer_head head;
        union {
                struct helper_hello_answer hello;
                struct helper_box_id box;
                struct helper_list_answer list;
        };
};

/* At file level of each engine: what is kept of its messages has room for them. */
#define ENGINE_LINKED_FITS(request, answer)                                                                  \
        static_assert(sizeof(request) <= ENGINE_LINKED_REQUEST_MAX &&                                        \
                              sizeof(answer) <= ENGINE_LINK_ANSWER_MAX,                                      \
                      "one message has room")

struct engine_linked;

struct engine_linked_call { /* one request for one job; freed with its answer */
        struct engine_call call;
        struct engine_linked *engine;
        struct cay_engine_box *box; /* borrowed; NULL: the request only names it (freeze, thaw) */
        struct cay_job *job;
        uint32_t type; /* the request's */
};

struct engine_linked_kind {
        struct engine_link_kind link;
        const struct cay_engine_ops *ops;
        size_t size;   /* of the engine */
        unsigned caps; /* CAY_ENGINE_CAN_… from the start */
        int answer_ms; /* where an answer is waited for */
        bool outlives; /* boxes survive the end of a helper that another process owns */

        /* Types of messages; 0: this helper has none. */
        uint32_t box_make, box_link, box_list, box_freeze, box_thaw, box_stat, box_stop, box_drop;
        uint32_t box_reclaim; /* 0: its helper has none */
        uint32_t box_gone;

        /* What is its own. Answers are whole ones, of the kind's size. */
        void (*on_hello)(struct engine_linked *e,
                         const struct helper_answer_head *a); /* let in; may be NULL */
        void (*on_listed)(struct engine_linked *e, const char *id, const struct helper_answer_head *a);
        void (*on_unasked)(struct engine_linked *e,
                           const struct helper_answer_head *a); /* all but box_gone; may be NULL */
        /*
         * The answer to a request about a box: stores its facts, before the job is finished. NULL: it failed.
         */
        void (*on_answer)(struct engine_linked_call *c, const struct helper_answer_head *a,
                          enum cay_code code);
};

struct engine_reopen { /* private to reopen.c */
        struct engine_link link;
        struct engine_call call;
        struct cay_timer timer;
        struct cay_job *job; /* borrowed; NULL: none is under way */
        uint32_t from;
        unsigned listed;
};

struct engine_linked {
        struct cay_engine engine;
        const struct engine_linked_kind *kind;
        struct cay_loop *loop; /* borrowed */
        struct engine_link link;
        struct engine_call hello;
        struct engine_linked_request hello_request; /* as it was said */
        struct engine_reopen reopen;
        struct cay_error refused; /* what the hello was answered with */
        bool greeted;
        bool lost_boxes;   /* the helper exited before the boxes ended */
        unsigned can_hold; /* wire bits */
        struct engine_boxes boxes;
};

static inline struct engine_linked *engine_linked_of(struct cay_engine *e)
{
        return cay_container_of(e, struct engine_linked, engine);
}

/* Opening. The link is not open yet; free() undoes it until then. */
struct engine_linked *engine_linked_new(const struct engine_linked_kind *kind,
                                        const struct cay_engine_env *env, struct cay_error *err);
void engine_linked_say_hello(struct engine_linked *e, void *request); /* its answer may be awaited later */
/* Says hello and waits; then learns which boxes there are. Closes and frees the engine where it fails. */
int engine_linked_greet(struct engine_linked *e, void *request, struct cay_engine **ret,
                        struct cay_error *err);
/* All of it over a socket to a helper that outlives us. Takes sock, also on failure. */
int engine_linked_open_take(const struct engine_linked_kind *kind, const struct cay_engine_env *env, int sock,
                            void *hello, struct cay_engine **ret, struct cay_error *err);

/* For reopen.c. */
void engine_linked_take_hello(struct engine_linked *e, const struct helper_answer_head *a); /* let in */
void engine_linked_on_unasked(struct engine_linked *e, const struct helper_answer_head *a);
void engine_linked_reopen_cancel(struct engine_linked *e); /* its job fails; allowed when none is running */

/* Asking */
void engine_linked_ask(struct engine_linked *e, void *request, struct cay_engine_box *box,
                       struct cay_job *job, const int *fds, unsigned fd_count);
void engine_linked_finish(struct engine_linked *e, struct cay_job *job, const struct cay_error *err);

/* Slots of the port. */
void engine_linked_reopen_take(struct cay_engine *engine, int sock, struct cay_job *job);
int engine_linked_close(struct cay_engine *engine);
unsigned engine_linked_can_hold(struct cay_engine *engine);
void engine_linked_relink(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job);
void engine_linked_freeze(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job);
void engine_linked_thaw(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job);
void engine_linked_reclaim(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job);
void engine_linked_stats(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job);
void engine_linked_stop(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job);
void engine_linked_destroy(struct cay_engine *engine, struct cay_engine_box *box, struct cay_job *job);
void engine_linked_on_gone(struct cay_engine *engine, void (*gone)(void *ctx, const char *id), void *ctx);
void engine_linked_list(struct cay_engine *engine, void (*each)(void *ctx, const char *id), void *ctx);
int engine_linked_health(struct cay_engine *engine, struct cay_error *err);
void engine_linked_trace(struct cay_engine *engine,
                         void (*each)(void *ctx, const char *who, const char *step, uint64_t ns),
                         void *ctx); /* none is kept */
