/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A box without init: cay-docker itself speaks init's side of the box link (docs/box-link.md), for the one
 * command that such a box runs.
 *
 * Theory of operation. Nothing is copied into the container, so there is nobody in it to speak with; its
 * first process is the command. The box is made when plan and image are fine; the container only when the
 * command is known, as a task of the box (task.h), so that all that is asked about the box meanwhile waits
 * for it. Its streams come over one attach, in Docker's frames, and go to the front's windows: what the front
 * has not consumed is not read from Docker, which then holds the command back. The command has ended when
 * Docker says so and its streams are complete; then one look at the container tells how.
 *
 * Life: IDLE (no command yet, or one that could not be started), STARTING, RUNNING, ENDED (END is known and
 * kept until the front closes the channel). LOST: the connection to Docker was lost while it started or ran
 * and its output with it, or somebody removed the container; then the box is told as gone. The link may break
 * and come again in each of them, as with an init. Everything else that a front may ask of an init is
 * answered with a refusal, and nothing is kept of it.
 */
#pragma once

#include "links/box/message.h"
#include "links/box/peer.h"
#include "links/box/stream.h"
#include "cay-docker/broker.h"
#include "cay-docker/stream.h"
#include "foundation/http/duplex.h"

#define DOCKER_NO_INIT_ALL_MAX (256u * 1024 * 1024) /* windows of all such boxes together */
#define DOCKER_NO_INIT_HELD_MAX                                                                              \
        (1024u * 1024) /* from Docker, not taken yet; it sends less ahead (socket.c) */

enum docker_no_init_state {
        DOCKER_NO_INIT_IDLE,
        DOCKER_NO_INIT_STARTING,
        DOCKER_NO_INIT_RUNNING,
        DOCKER_NO_INIT_ENDED,
        DOCKER_NO_INIT_LOST
};

struct docker_no_init {
        struct docker_broker *broker;
        struct docker_box *box;    /* borrowed: it owns us */
        struct docker_order order; /* order.exec: the command, while there is one */
        enum docker_no_init_state state;
        bool spent; /* a command has run */

        /* no_init_link.c's: the link, and the command's channel on it */
        struct cay_peer peer;
        bool welcomed;                                 /* HELLO came on this stream */
        uint32_t number;                               /* of the channel; 0: none that the front knows */
        uint32_t refused;                              /* the highest number that was refused */
        bool attached, opened_sent, ack_due, end_sent; /* on this stream */
        struct cay_buf request;                        /* OPEN, as it came */
        struct cay_box_open open;                      /* views into it */
        struct cay_sender outs[2];
        struct cay_receiver in;
        struct cay_buf waiting; /* of IN, not yet taken by Docker */
        uint8_t end[CAY_FRAME_END_MAX];
        size_t end_len;
        size_t reserved; /* of DOCKER_NO_INIT_ALL_MAX */

        /* no_init_run.c's: the container */
        struct cay_duplex *docker; /* owned: its streams; NULL: none, or complete */
        struct cay_duplex_user user;
        struct docker_stream frames;
        struct cay_buf held; /* from Docker, not yet in a window */
        struct docker_call wait, kill, look;
        struct cay_timer wall, cpu, quiet, again, kill_again;
        int signal;      /* on its way to the command; 0: none */
        int next_signal; /* waits for that one */
        bool shut;       /* its input has ended */
        bool drained;    /* its streams are complete */
        bool exited;     /* says Docker */
        unsigned looks;
        uint32_t killed; /* enum cay_box_killed; the first reason stands */
        uint64_t begun_ns, wall_us, cpu_us;
        uint64_t bytes[2], cut_bytes;
        uint64_t oom_before;

        struct cay_deferred release;
};

/* no_init_link.c */
/* Makes the box's; takes the link's end, also on failure. 0 or -errno. */
int docker_no_init_open_take(struct docker_broker *b, struct docker_box *box,
                             const struct docker_order *order, int fd);
int docker_no_init_link_take(struct docker_no_init *o, int fd); /* the next stream; 0 or -errno */
void docker_no_init_free(
        struct docker_no_init *o); /* accepts NULL; the container is somebody else's business */
void docker_no_init_step(struct docker_no_init *o); /* says what there is to say, as far as there is room */
void docker_no_init_end(struct docker_no_init *o,
                        const struct cay_box_end *end); /* the command's; from now on ENDED */
void docker_no_init_fail(struct docker_no_init *o, const struct cay_error *why); /* it was not started */

/* no_init_run.c */
void docker_no_init_start(struct docker_no_init *o); /* the command is in order.exec: asks for a task */
void docker_no_init_join_take(struct docker_no_init *o, struct cay_duplex *docker,
                              const struct cay_buf *rest); /* the container's streams */
void docker_no_init_cut(struct docker_no_init *o);         /* something of it may be lost: the box is gone */
void docker_no_init_started(struct docker_no_init *o,
                            const struct cay_error *why);  /* the task's end; CAY_OK: it runs */
void docker_no_init_take_output(struct docker_no_init *o); /* there may be room */
void docker_no_init_feed(struct docker_no_init *o);        /* IN has come, or there is room for it */
void docker_no_init_kill(struct docker_no_init *o, enum cay_box_killed why);
void docker_no_init_signal(struct docker_no_init *o, int signo);
void docker_no_init_stop(struct docker_no_init *o); /* nothing more is heard of the container */

/* no_init_explain.c */
/* Whether something of it may be lost, by the answer to its start. */
bool docker_no_init_is_cut(const struct docker_no_init *o, const struct docker_call *start);
/*
 * Why a container was not made (is_made: not started), where that is the command's own fault; else err stays
 * as it is.
 */
void docker_no_init_explain(const struct docker_no_init *o, const struct docker_call *call, bool is_made,
                            struct cay_error *err);
