/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many sandboxes of a template, and in all, may be alive, and the queue of requests that exceed this.
 *
 * Theory of operation. Nothing is counted here: the service knows what is alive, so a limit holds across
 * restarts and however a sandbox ended. An admitted request makes its sandbox in the same call, so the next
 * one is counted correctly. Waiting requests are checked when something happened to a sandbox and a few times
 * a second, because an end may be noticed late. A request that waits for its template's limit delays nobody
 * else. A new request waits behind those that wait for the same limit. Every wait has a deadline.
 *
 * Owners take turns. A request's turn is one after its owner's last waiting request, or after the turn that
 * was served last. Requests of the same turn are served in order of arrival. So of ten requests of one owner
 * and one of another, the other owner's is the second to be admitted. Each owner has its own queue length,
 * and the total is bounded as well.
 */
#pragma once

#include "domain/model/template.h"
#include "foundation/loop/loop.h"
#include "domain/sandboxes/service.h"

#define CAY_ADMISSION_WAITING_MAX 1024u /* of all owners together */

struct cay_admission {
        struct cay_loop *loop;
        struct cay_service *service;
        const struct cay_template_set *const *set; /* the current set */
        /* private */
        struct cay_waiter *first;
        unsigned waiting;
        uint64_t turn; /* the turn served last */
        struct cay_timer timer;
        struct cay_event_watch watch;
        bool watching;
};

struct cay_waiter { /* zeroed; embedded in the caller's struct */
        /*
         * Exactly one of these ends the wait, from the loop. let_in: make the sandbox now; the template still
         * exists and is available.
         */
        void (*let_in)(struct cay_waiter *w);
        void (*refuse)(struct cay_waiter *w, const struct cay_error *err);
        char owner[CAY_NAME_MAX + 1];                  /* set by the caller */
        char template_name[CAY_TEMPLATE_NAME_MAX + 1]; /* "": none */
        /* private */
        struct cay_waiter *next;
        uint64_t deadline_ms, turn;
        bool in_queue;
};

void cay_admission_init(struct cay_admission *a, struct cay_loop *loop, struct cay_service *service,
                        const struct cay_template_set *const *set);
void cay_admission_done(
        struct cay_admission *a); /* refuses all that wait (CAY_UNAVAILABLE); safe on a zeroed struct */
/* Whether there is room for one more that nobody waits for. CAY_LIMIT names the limit. */
int cay_admission_check(struct cay_admission *a, const struct cay_template *t, const char *owner,
                        struct cay_error *err);
/*
 * t NULL: no template. 1: admitted, make it now. 0: wait for let_in or refuse. -1: CAY_LIMIT, the owner's
 * queue is full too.
 */
int cay_admission_ask(struct cay_admission *a, const struct cay_template *t, struct cay_waiter *w,
                      struct cay_error *err);
/* may be called when it does not wait */
void cay_admission_leave(struct cay_admission *a, struct cay_waiter *w);
