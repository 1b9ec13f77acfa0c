/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who follows a build, and what is kept of its output for them.
 *
 * Theory of operation. Lines are kept, the newest of them (up to DOCKER_KEPT_MAX bytes), and each reader has
 * a place in there. All begin at the first line, also those that come when the build has run for a while.
 * Lines go to a reader's descriptor, one message each, as fast as it takes them, so a slow one holds up
 * neither the build nor the others; what is no longer kept when its turn comes is left out, and the reader is
 * told how many lines that was.
 *
 * A reader is done once: when the build has ended and it has the last line, or when it hangs up. When nobody
 * is left, `on_alone` is called, during the build as behind it.
 */
#pragma once

#include "foundation/base/buf.h"
#include "foundation/loop/loop.h"
#include "links/helper/docker_message.h"

#define DOCKER_READERS_MAX 16u
#define DOCKER_KEPT_MAX (256u * 1024)

struct docker_readers;

struct docker_reader {
        uint32_t seq;          /* of its request */
        unsigned front_serial; /* of who asked */

        /* below: private */
        struct docker_readers *all;
        struct cay_watch watch;
        int fd;              /* owned; -1: this place is free */
        uint64_t byte, line; /* what comes next, counted from the beginning of the build */
        uint64_t missed;     /* lines that were not kept until it took them */
        bool is_late,
                broken; /* came when there was output already, and was not told so; takes nothing more */
};

struct docker_readers {
        /* Its descriptor is closed; `who` is good during the call. Not inside docker_readers_put. */
        void (*on_done)(struct docker_readers *all, const struct docker_reader *who);
        void (*on_alone)(struct docker_readers *all); /* the last thing that is done with `all`: it may go */

        /* below: private */
        struct cay_loop *loop;
        struct cay_buf kept;
        uint64_t first_byte, first_line; /* of what is kept */
        bool ended;
        unsigned count;
        struct cay_timer patience; /* with those who have not taken all of a build that has ended */
        struct docker_reader rows[DOCKER_READERS_MAX];
};

void docker_readers_init(struct docker_readers *all, struct cay_loop *loop,
                         void (*on_done)(struct docker_readers *all, const struct docker_reader *who),
                         void (*on_alone)(struct docker_readers *all));
void docker_readers_done(struct docker_readers *all); /* calls nobody; safe on a zeroed struct */
/* Takes fd, also when it fails: 0, -EMFILE (no room) or -errno. */
int docker_readers_add_take(struct docker_readers *all, int fd, uint32_t seq, unsigned front_serial);
void docker_readers_put(struct docker_readers *all, const char *line, size_t len); /* < DOCKER_LINE_MAX */
/* No more lines come. Who has all of them is done, the others when they do, or do not for a long time. */
void docker_readers_end(struct docker_readers *all);
