/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay-docker's state, shared by the files of this folder: broker.c answers the front, which helper/server
 * hears for it, task*.c carry one request out, measure.c asks for figures beside them, sync.c knows what
 * Docker has. One per process.
 *
 * Theory of operation. Docker's socket is root on that machine, so this program holds it and the front does
 * not. A front's request is a task: a short chain of API calls, each awaited in turn; tasks of one box run
 * one after the other. A box is a container with our labels that this program made or found by them, and is
 * spoken of to Docker by Docker's own id, so nothing that a front writes becomes a part of a path. When the
 * front goes, a keeper may bring the next one and boxes stay; without a keeper they are removed and the
 * program ends. When the keeper goes the daemon has ended: nobody would hold boxes to their time any more, so
 * they are stopped, and what is kept of them stays. Over an upgrade, of which the keeper tells, they go on.
 */
#pragma once

#include "cay-docker/api.h"
#include "cay-docker/build.h"
#include "cay-docker/order.h"
#include "cay-docker/relay.h"
#include "links/helper_server/helper_server.h"
#include "foundation/loop/loop.h"
#include "links/helper/docker_message.h"

#define DOCKER_BOXES_MAX 1024u
#define DOCKER_TASKS_MAX (4 * DOCKER_BOXES_MAX) /* of a front's */
#define DOCKER_CONTAINER 65                     /* of a container's id, with NUL */

#define DOCKER_WITH_USER_MAX 32u

struct docker_task;
struct docker_no_init;
struct docker_measure;

struct docker_box {
        struct docker_box *next;
        char id[CAY_NAME_MAX + 1];
        char container[DOCKER_CONTAINER]; /* "": being made, or none is left */
        char network[DOCKER_CONTAINER];   /* its own; "": none */
        struct docker_port ports[DOCKER_PORTS_MAX];
        unsigned port_count;
        bool live; /* runs */
        bool kept;
        bool making, ending; /* its end is no news */
        bool doomed;         /* its removal failed: the next look at Docker tries again */
        bool seen;           /* sync.c's */
        bool stirred;        /* a task changed it since Docker was asked for the list: that may be older */
        uint64_t oom_kills;
        /* owned: it has no init (no_init.h); NULL: it has, or is none of ours to speak to */
        struct docker_no_init *no_init;
        struct docker_measure *measure; /* owned: its figures are asked for; NULL: they are not */
};

struct docker_sync {
        struct docker_call call, events;
        struct cay_timer pause, first;
        struct cay_buf line; /* of the events */
        int64_t since_s;     /* Docker's clock at the start of the round */
        unsigned step;
        bool listed;  /* our containers were told once */
        bool removed; /* a box was, since Docker was asked for the list */
        bool settled; /* a first answer, good or bad, was had */
        bool away;
        struct cay_error why; /* away */
};

struct docker_broker {
        struct cay_loop *loop;
        struct docker_options options;
        struct docker_api api;
        struct docker_facts facts;
        bool has_facts;
        struct docker_sync sync;
        struct docker_box *boxes; /* owned */
        unsigned box_count;
        struct docker_task *tasks; /* owned; in the order they came */
        unsigned task_count;
        struct docker_relays relays;
        size_t no_init_bytes; /* reserved by boxes without init */
        struct docker_images images;
        struct docker_volume_task *volume_tasks; /* owned */
        struct cay_buf init;                     /* cay-init's bytes */
        struct cay_buf certificates; /* of the host, for containers that trust the daemon's, too */
        char with_user[DOCKER_WITH_USER_MAX]
                      [DOCKER_IMAGE_ID]; /* images that have the sandbox's user; "": none */
        unsigned with_user_next;         /* the one that makes room */

        struct helper_server server;   /* tasks of fronts before are not answered */
        struct docker_request request; /* the one that is heard now */
        uint32_t hello_seq;            /* waits for the first sync; 0: none */
        bool closing;                  /* no more is heard: boxes are seen to, then it ends */
        bool stopping;                 /* closing: kept boxes are stopped, not removed */
        bool left;                     /* closing: a container may run on */
};

/* broker.c */
void docker_broker_answer(struct docker_broker *b, struct docker_answer *a);
void docker_broker_settled(struct docker_broker *b); /* the first sync has come to an end */
void docker_broker_gone(struct docker_broker *b, struct docker_box *box);
void docker_broker_files_lost(struct docker_broker *b, struct docker_box *box);
void docker_broker_told_daemon(struct docker_broker *b); /* away, or back */
bool docker_broker_knows_user(const struct docker_broker *b, const char *image_id);
void docker_broker_note_user(struct docker_broker *b, const char *image_id);
void docker_broker_idle(struct docker_broker *b); /* a task ended */
struct docker_box *docker_box_find(struct docker_broker *b, const char *id);
struct docker_box *docker_box_add(struct docker_broker *b, const char *id); /* NULL: no room */
void docker_box_remove(struct docker_broker *b, struct docker_box *box);
int docker_main(int argc, char **argv);

/* task.c */
/* Takes fd (-1: none). seq 0: for nobody. */
void docker_task_begin_take(struct docker_broker *b, const struct docker_request *req, int fd);
void docker_task_begin_drop(struct docker_broker *b, const struct docker_box *box); /* for nobody */
void docker_task_begin_stop(struct docker_broker *b, const struct docker_box *box); /* for nobody */
bool docker_task_is_busy(const struct docker_broker *b, const char *id);
void docker_tasks_abort(struct docker_broker *b);

/* sync.c */
void docker_sync_start(struct docker_broker *b);
void docker_sync_stop(struct docker_broker *b);
