/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front's end of the link to cay-docker: starts it where nobody else has, sends requests, pairs answers with them by number.
 * Nothing here waits, except closing and the call that says so.
 */
#pragma once

#include "base/error.h"
#include "loop/loop.h"
#include "wire/docker_message.h"

struct docker_ask { /* embedded by whoever asks; pending until on_answer */
        void (*on_answer)(struct docker_ask *ask,
                          const struct docker_answer *a); /* a NULL: cay-docker is gone */
        struct docker_ask *next;
        uint32_t seq;
};

struct docker_client {
        struct cay_watch watch;
        int sock;  /* -1: gone */
        int pid;   /* 0: none of ours */
        int pidfd; /* owned; -1: none */
        uint32_t seq;
        struct docker_ask *asks;
        void (*on_news)(struct docker_client *c, const struct docker_answer *a); /* what comes unasked */
        void (*on_lost)(struct docker_client *c);
};

int docker_client_open(struct cay_loop *loop, struct docker_client *c, const char *program_dir,
                       struct cay_error *err);
int docker_client_open_link_take(struct cay_loop *loop, struct docker_client *c, int sock); /* 0 or -errno */
/* One that we started removes its boxes first; waits for that, bounded. -1: something may be left. */
int docker_client_close(struct docker_client *c);
void docker_client_send(struct docker_client *c, struct docker_ask *ask, struct docker_request *req, int fd);
/* Waits for the answer of one ask, handling others meanwhile; at most ms. */
void docker_client_await(struct docker_client *c, struct docker_ask *ask, int ms);
void docker_client_forget(struct docker_client *c, struct docker_ask *ask);
