/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A descriptor of ours (standard output, standard error) that takes a run's output without ever stopping the
 * loop.
 *
 * Theory of operation. The file description is shared with our parent, so its flags must not be changed. A
 * pipe or a terminal is opened once more through /proc with O_NONBLOCK, which makes a description of our own;
 * a socket is written to with MSG_DONTWAIT; a file never blocks for long. What cannot be opened again is
 * written to in small pieces, each after epoll said that there is room.
 */
#pragma once

#include "cay/cli/safe.h"
#include "foundation/loop/loop.h"

struct cay_sink {
        int fd;    /* written to; owned when it differs from `given` */
        int given; /* borrowed */
        int kind;
        struct cay_loop *loop;
        struct cay_watch watch;
        bool is_shown; /* a terminal, which must not obey what it is given (safe.h) */
        struct cay_safe_tail tail;
        char shown[CAY_SAFE_SHOWN]; /* the current piece */
        size_t shown_len, shown_at; /* of that: all, and written */
        size_t shown_of; /* how many of the caller's bytes it stands for: taken when it is written */
        int failed;      /* -errno of the first write that failed; nothing is written after it */
        void (*on_room)(struct cay_sink *s);
        void (*on_failed)(struct cay_sink *s); /* once; inside cay_sink_write */
};

void cay_sink_open(struct cay_loop *loop, struct cay_sink *s, int fd);
/*
 * What is written to a terminal is shown, not obeyed: for bytes out of a sandbox. Does nothing where it is no
 * terminal.
 */
void cay_sink_show(struct cay_sink *s);
void cay_sink_close(struct cay_sink *s); /* fine when zeroed */
/* How many bytes were taken now; fewer than len: on_room follows. A failed sink takes everything. */
size_t cay_sink_write(struct cay_sink *s, const void *bytes, size_t len);
