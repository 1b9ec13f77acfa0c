/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A descriptor of ours (standard output, standard error) that takes a run's output without ever blocking the
 * loop.
 *
 * Theory of operation. The file description is shared with our parent, so its flags must not be changed. A
 * pipe or a terminal is opened again through /proc with O_NONBLOCK, which makes a new description. A socket
 * is written with MSG_DONTWAIT; a file never blocks for long. What cannot be opened again is written in small
 * pieces, each after epoll reported room.
 */
#pragma once

#include "cay/cli/safe.h"
#include "foundation/loop/loop.h"

struct cay_sink {
        int fd;    /* written to; owned if it differs from `given` */
        int given; /* borrowed */
        int kind;
        struct cay_loop *loop;
        struct cay_watch watch;
        bool is_shown; /* a terminal, for which output is escaped (safe.h) */
        struct cay_safe_tail tail;
        char shown[CAY_SAFE_SHOWN]; /* the current piece */
        size_t shown_len, shown_at; /* of that: all, and written */
        size_t shown_of;            /* how many of the caller's bytes it stands for: taken when written */
        int failed;                 /* -errno of the first failed write; nothing is written after it */
        void (*on_room)(struct cay_sink *s);
        void (*on_failed)(struct cay_sink *s); /* once; inside cay_sink_write */
};

void cay_sink_open(struct cay_loop *loop, struct cay_sink *s, int fd);
/* Escapes what is written to a terminal: for bytes from a sandbox. Does nothing for others. */
void cay_sink_show(struct cay_sink *s);
void cay_sink_close(struct cay_sink *s); /* also on a zeroed one */
/* How many bytes were taken; fewer than len: on_room follows. A failed sink takes everything. */
size_t cay_sink_write(struct cay_sink *s, const void *bytes, size_t len);
