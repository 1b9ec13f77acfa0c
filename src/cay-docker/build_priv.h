/* SPDX-License-Identifier: Apache-2.0 */
/* A request about images while it is carried out; for build*.c alone. */
#pragma once

#include "cay-docker/broker.h"
#include "cay-docker/build_child.h"
#include "cay-docker/build_readers.h"
#include "cay-docker/build_stream.h"

struct docker_image_task {
        struct docker_image_task *next;
        struct docker_broker *broker;
        unsigned front_serial;
        struct docker_request req;
        unsigned step; /* build_steps.c's */
        struct docker_child child;
        struct docker_call call;
        struct cay_buf path;
        struct docker_context context; /* of what is built */
        void *tar;                     /* mapped; NULL: none */
        size_t tar_len;
        struct docker_build_stream stream;
        struct docker_readers readers; /* of a build */
        bool goes_on;                  /* somebody who came did not ask for its end when all have left */
        bool ended;                    /* a build: readers have not taken all of it */
        struct docker_answer answer;   /* ended: to each of them */
        struct docker_found found[DOCKER_FOUND_MAX];
        unsigned found_count, sweep_at, check_at;
        bool up_to_date, failed; /* how a build ended */
        unsigned dropped;
        struct cay_error why;
        struct cay_deferred release;
};

/* build.c. Each task ends exactly once, with one of these. */
void docker_image_finish(struct docker_image_task *t);
void docker_image_end_build(struct docker_image_task *t, const char *step, const char *error); /* "": none */
/* The task that builds this template now, `but` another; NULL: none. */
struct docker_image_task *docker_image_building(const struct docker_images *all, const char *name,
                                                const struct docker_image_task *but);

/* build_steps.c */
void docker_image_steps_begin(struct docker_image_task *t);
void docker_image_steps_stop(struct docker_image_task *t); /* frees what they hold; twice is fine */
