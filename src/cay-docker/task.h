/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request of the front that is being carried out, for the files that do it.
 *
 * Theory of operation. `step` is what is waited for: task_ask.c says how Docker is asked for it and who reads
 * the answer; task_make.c and task_end.c say what an answer means, and what is asked next. What fails after a
 * container was created is undone first, then told. Tasks of one box run in the order in which they came;
 * each task ends exactly once, in docker_task_finish().
 */
#pragma once

#include "cay-docker/broker.h"
#include "foundation/json/json_in.h"

enum docker_step {
        DOCKER_STEP_WAITING,
        DOCKER_STEP_FIND,
        DOCKER_STEP_IMAGE,
        DOCKER_STEP_VOLUME,
        DOCKER_STEP_NETWORK,
        DOCKER_STEP_CREATE,
        DOCKER_STEP_ACCOUNT, /* the image's users, one file after the other */
        DOCKER_STEP_ARCHIVE,
        DOCKER_STEP_WORKSPACE, /* a volume there becomes the sandbox's own */
        DOCKER_STEP_START,
        DOCKER_STEP_AGAIN, /* the container goes, to be created again */
        DOCKER_STEP_INSPECT,
        DOCKER_STEP_EXEC,
        DOCKER_STEP_ATTACH,
        DOCKER_STEP_JOIN, /* the streams of a container without init, before its start */
        DOCKER_STEP_UNPAUSE,
        DOCKER_STEP_STOP,
        DOCKER_STEP_REMOVE,
        DOCKER_STEP_FREEZE,
        DOCKER_STEP_THAW,
        DOCKER_STEP_UNDO,
        DOCKER_STEP_UNNET
};

#define DOCKER_TASK_RUN 200u /* type of a request of our own: the command of a box without init (no_init.h) */

struct docker_task {
        struct docker_task *next;
        struct docker_broker *broker;
        unsigned front_serial;
        struct docker_request req;
        struct docker_order order;
        struct docker_box *box; /* borrowed from the broker; NULL: none (any more) */
        int fd;                 /* owned: the link's end; -1: none */
        enum docker_step step;
        struct docker_call call;
        struct cay_timer timer;
        struct cay_buf body; /* of the call */
        char exec[DOCKER_CONTAINER];
        unsigned tries;
        unsigned volume; /* of the plan: the one that is seen to */
        char image_id[DOCKER_IMAGE_ID];
        unsigned account; /* enum docker_account: the one that is read */
        bool lacks_user;
        /* files that go in, with one line more; empty: as they are */
        struct cay_buf accounts[DOCKER_ACCOUNT_COUNT];
        struct docker_relay_wait wait;
        struct cay_error why; /* the first failure, kept while undoing */
        struct docker_answer answer;
        struct cay_deferred release;
};

/* task.c */
const char *docker_task_id(const struct docker_task *t);
void docker_task_finish(struct docker_task *t);
void docker_task_forget_box(struct docker_task *t);
void docker_task_give_up(struct docker_task *t); /* t->why says why */
void docker_task_fail(struct docker_task *t,
                      const char *what); /* the same; the answer of the call says why */

/* task_ask.c */
void docker_task_ask(struct docker_task *t, enum docker_step step);
const struct cay_json_value *docker_task_parse(struct docker_task *t,
                                               struct cay_json_in **ret); /* the answer; NULL: is no JSON */

/* task_make.c: answers on the way to a box that can be spoken to */
const char *docker_task_image(const struct docker_order *order);
enum docker_step docker_task_before_create(const struct docker_task *t); /* what there has to be next */
void docker_task_on_find(struct docker_task *t);
void docker_task_on_image(struct docker_task *t);
void docker_task_on_volume(struct docker_task *t);
void docker_task_on_network(struct docker_task *t);
void docker_task_on_account(struct docker_task *t);
void docker_task_on_archive(struct docker_task *t);
void docker_task_on_create(struct docker_task *t);
void docker_task_on_start(struct docker_task *t);
void docker_task_on_again(struct docker_task *t);
void docker_task_on_inspect(struct docker_task *t);
void docker_task_on_exec(struct docker_task *t);
void docker_task_on_no_stream(struct docker_task *t);
void docker_task_on_stream(struct docker_call *c, struct cay_duplex *duplex, struct cay_buf *rest);

/* task_end.c: answers about one that is there, and on the way to its end */
void docker_task_on_changed(struct docker_task *t, const char *what);
void docker_task_on_stop(struct docker_task *t);
void docker_task_on_remove(struct docker_task *t); /* also for UNDO */
void docker_task_on_unnet(struct docker_task *t);
