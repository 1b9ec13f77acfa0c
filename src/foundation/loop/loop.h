/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop: level-triggered epoll, timers in a heap, a job queue, deferred release. One per process,
 * one thread. A watch or timer is embedded in its owner, which is found by cay_container_of; nothing here
 * allocates per event.
 *
 * Theory of operation. Each round handles ready descriptors and the jobs that they finished, then due timers
 * and their jobs, then deferred calls. Descriptors come first: after a delay a process may find both an
 * answer and its expired deadline. Then the answer counts and clears the timer. A watch that is removed
 * inside a callback gets no more events, not even those fetched in the same round: removal marks the fetched
 * slot dead. Owners free themselves through cay_loop_defer, at the end of the round.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "foundation/base/job.h"

struct cay_loop;

struct cay_watch {
        void (*on_event)(struct cay_watch *w,
                         uint32_t events); /* EPOLLIN | EPOLLOUT | EPOLLHUP | EPOLLERR … */
        int fd;                            /* borrowed: the owner closes it after cay_watch_remove */
        uint32_t events;                   /* as last set */
        struct cay_loop *loop;             /* NULL while not added */
};

struct cay_timer {
        void (*on_time)(struct cay_timer *t);
        uint64_t due_ms;
        struct cay_loop *loop; /* NULL while not armed */
        unsigned slot;         /* place in the heap */
        /* order of arming: of two timers due at the same time the earlier one fires first */
        uint64_t order;
};

struct cay_deferred {
        void (*run)(struct cay_deferred *d);
        struct cay_deferred *next;
};

struct cay_loop *cay_loop_new(void);       /* NULL: no memory or no epoll (errno says) */
void cay_loop_free(struct cay_loop *loop); /* accepts NULL; runs deferred calls, but not the jobs */
CAY_DEFINE_AUTO(struct cay_loop, cay_loop_free)

struct cay_job_queue *cay_loop_jobs(struct cay_loop *loop);
void cay_loop_defer(struct cay_loop *loop, struct cay_deferred *d);

int cay_loop_run(struct cay_loop *loop); /* runs until cay_loop_stop and finishes that round; 0 or -errno */
int cay_loop_round(struct cay_loop *loop, int max_wait_ms); /* one round; -1 waits forever; 0 or -errno */
void cay_loop_stop(struct cay_loop *loop);

/*
 * 0 or -errno. -EPERM: a regular file or folder, which epoll does not support (it is always ready); -EEXIST:
 * added already. Watch and timer structs must be zeroed first.
 */
int cay_watch_add(struct cay_loop *loop, struct cay_watch *w, int fd, uint32_t events,
                  void (*on_event)(struct cay_watch *w, uint32_t events));
int cay_watch_set(struct cay_watch *w, uint32_t events); /* no-op when unchanged */
void cay_watch_remove(struct cay_watch *w);              /* allowed when not added */
/*
 * Removes it and closes its descriptor, of which nobody has a copy: the kernel then forgets it by itself.
 * Must be added.
 */
void cay_watch_close(struct cay_watch *w);

int cay_timer_set(struct cay_loop *loop, struct cay_timer *t, uint64_t after_ms,
                  void (*on_time)(struct cay_timer *t)); /* re-arms if armed; 0 or -ENOMEM */
void cay_timer_clear(struct cay_timer *t);               /* allowed when not armed */
