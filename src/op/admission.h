/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many sandboxes of a template may be alive, and the queue for those that come when there are as many.
 *
 * Theory of operation. Nothing is counted here: the service knows what is alive, so a limit holds over restarts and whatever way a sandbox
 * ended. Whoever is let in makes its sandbox in the same call, so that the next one is counted with it. Who has to wait is
 * asked again when something happened to a sandbox (and, because an end may be noticed late, a few times a second), in
 * the order of coming; one that waits for its own template's limit holds nobody else up. Every wait has a deadline.
 */
#pragma once

#include "core/template.h"
#include "loop/loop.h"
#include "service/service.h"

struct cay_admission {
        struct cay_loop *loop;
        struct cay_service *service;
        const struct cay_template_set *const *set; /* the one in force */
        /* private */
        struct cay_waiter *first;
        unsigned waiting;
        struct cay_timer timer;
        struct cay_event_watch watch;
        bool watching;
};

struct cay_waiter { /* zeroed; embedded in the caller's */
        /* Exactly one of these ends the wait, from the loop. let_in: make the sandbox now; the template is still there and available. */
        void (*let_in)(struct cay_waiter *w);
        void (*refuse)(struct cay_waiter *w, const struct cay_error *err);
        char template_name[CAY_TEMPLATE_NAME_MAX + 1];
        /* private */
        struct cay_waiter *next;
        uint64_t deadline_ms;
        bool in_queue;
};

void cay_admission_init(struct cay_admission *a, struct cay_loop *loop, struct cay_service *service,
                        const struct cay_template_set *const *set);
void cay_admission_done(
        struct cay_admission *a); /* whoever waits is refused (CAY_UNAVAILABLE); safe on a zeroed struct */
/* Is there room for one more now? CAY_LIMIT says which limit is reached. */
int cay_admission_check(struct cay_admission *a, const struct cay_template *t, struct cay_error *err);
/* 1: come in, now. 0: wait for let_in or refuse. -1: CAY_LIMIT, the queue is full too. */
int cay_admission_ask(struct cay_admission *a, const struct cay_template *t, struct cay_waiter *w,
                      struct cay_error *err);
void cay_admission_leave(struct cay_admission *a, struct cay_waiter *w); /* fine when it does not wait */
