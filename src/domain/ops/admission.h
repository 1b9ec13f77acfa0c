/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many sandboxes of a template, and of all, may be alive, and the queue for those that come when there are as many.
 *
 * Theory of operation. Nothing is counted here: the service knows what is alive, so a limit holds over restarts and whatever way a sandbox
 * ended. Whoever is let in makes its sandbox in the same call, so that the next one is counted with it. Who has to wait is
 * asked again when something happened to a sandbox (and, because an end may be noticed late, a few times a second); one that waits for its
 * own template's limit holds nobody else up, and one that comes when others wait for the same waits behind them. Every wait has a deadline.
 *
 * Owners take turns. A request's turn is one behind the last of its owner's that waits, or behind the turn that was served last;
 * those of the same turn go in the order of coming. So of ten requests of one owner and one of another, the other's is the second to be let
 * in. The queue's length is each owner's own: who fills it fills nobody else's. All together are bounded as well.
 */
#pragma once

#include "domain/model/template.h"
#include "foundation/loop/loop.h"
#include "domain/sandboxes/service.h"

#define CAY_ADMISSION_WAITING_MAX 1024u /* of all owners together */

struct cay_admission {
        struct cay_loop *loop;
        struct cay_service *service;
        const struct cay_template_set *const *set; /* the one in force */
        /* private */
        struct cay_waiter *first;
        unsigned waiting;
        uint64_t turn; /* the last that was served */
        struct cay_timer timer;
        struct cay_event_watch watch;
        bool watching;
};

struct cay_waiter { /* zeroed; embedded in the caller's */
        /* Exactly one of these ends the wait, from the loop. let_in: make the sandbox now; the template is still there and available. */
        void (*let_in)(struct cay_waiter *w);
        void (*refuse)(struct cay_waiter *w, const struct cay_error *err);
        char owner[CAY_NAME_MAX + 1];                  /* set by the caller */
        char template_name[CAY_TEMPLATE_NAME_MAX + 1]; /* "": of none */
        /* private */
        struct cay_waiter *next;
        uint64_t deadline_ms, turn;
        bool in_queue;
};

void cay_admission_init(struct cay_admission *a, struct cay_loop *loop, struct cay_service *service,
                        const struct cay_template_set *const *set);
void cay_admission_done(
        struct cay_admission *a); /* whoever waits is refused (CAY_UNAVAILABLE); safe on a zeroed struct */
/* Is there room for one more now that nobody waits for? CAY_LIMIT says which limit is reached. */
int cay_admission_check(struct cay_admission *a, const struct cay_template *t, const char *owner,
                        struct cay_error *err);
/* t NULL: a sandbox of no template. 1: come in, now. 0: wait for let_in or refuse. -1: CAY_LIMIT, the owner's part of the queue is full too. */
int cay_admission_ask(struct cay_admission *a, const struct cay_template *t, struct cay_waiter *w,
                      struct cay_error *err);
void cay_admission_leave(struct cay_admission *a, struct cay_waiter *w); /* fine when it does not wait */
