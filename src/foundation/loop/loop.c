/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop; its theory of operation is in loop.h. The timers are a binary heap of pointers into their
 * owners, and each timer knows its place, so that clearing needs no search.
 */

#include "foundation/loop/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>

#include "foundation/base/clock.h"

enum {
        BATCH = 64,
        HEAP_FIRST = 16,
        HEAP_MAX = 1 << 16,
};

struct cay_loop {
        int epoll_fd;
        bool stop;
        bool in_round;
        struct epoll_event batch[BATCH]; /* fetched in this round; data.ptr NULL: dead */
        int batch_at, batch_count;
        struct cay_timer **heap; /* owned; the timers are borrowed */
        unsigned heap_len, heap_cap;
        uint64_t order; /* of the next timer armed */
        struct cay_job_queue jobs;
        struct cay_deferred *deferred, **deferred_tail;
};

struct cay_loop *cay_loop_new(void)
{
        struct cay_loop *loop = calloc(1, sizeof(*loop));

        if (!loop) {
                errno = ENOMEM;
                return NULL;
        }
        loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (loop->epoll_fd < 0) {
                int saved_errno = errno;

                free(loop);
                errno = saved_errno;
                return NULL;
        }
        cay_job_queue_init(&loop->jobs);
        loop->deferred_tail = &loop->deferred;
        return loop;
}

static void run_deferred(struct cay_loop *loop)
{
        struct cay_deferred *d = loop->deferred;

        loop->deferred = NULL;
        loop->deferred_tail = &loop->deferred;
        while (d) {
                struct cay_deferred *next = d->next;

                d->next = NULL;
                d->run(d); /* d may be gone */
                d = next;
        }
}

void cay_loop_free(struct cay_loop *loop)
{
        if (!loop)
                return;
        assert(!loop->in_round);
        while (loop->deferred)
                run_deferred(loop);
        close(loop->epoll_fd);
        free(loop->heap);
        free(loop);
}

struct cay_job_queue *cay_loop_jobs(struct cay_loop *loop)
{
        return &loop->jobs;
}

void cay_loop_defer(struct cay_loop *loop, struct cay_deferred *d)
{
        d->next = NULL;
        *loop->deferred_tail = d;
        loop->deferred_tail = &d->next;
}

/* Watches */

int cay_watch_add(struct cay_loop *loop, struct cay_watch *w, int fd, uint32_t events,
                  void (*on_event)(struct cay_watch *w, uint32_t events))
{
        struct epoll_event e = { .events = events, .data.ptr = w };

        if (w->loop == loop)
                return -EEXIST;
        if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0)
                return -errno;
        *w = (struct cay_watch){ .on_event = on_event, .fd = fd, .events = events, .loop = loop };
        return 0;
}

int cay_watch_set(struct cay_watch *w, uint32_t events)
{
        struct epoll_event e = { .events = events, .data.ptr = w };

        if (!w->loop)
                return -ENOENT;
        if (w->events == events)
                return 0;
        if (epoll_ctl(w->loop->epoll_fd, EPOLL_CTL_MOD, w->fd, &e) < 0)
                return -errno;
        w->events = events;
        return 0;
}

/* What was fetched for it in this round is not told. */
static void forget(struct cay_watch *w)
{
        struct cay_loop *loop = w->loop;

        for (int i = loop->batch_at; i < loop->batch_count; i++) {
                if (loop->batch[i].data.ptr == w)
                        loop->batch[i].data.ptr = NULL;
        }
        w->loop = NULL;
}

void cay_watch_remove(struct cay_watch *w)
{
        if (!w->loop)
                return;
        /* Fails only for a descriptor that is already closed, and then the kernel has removed it too. */
        epoll_ctl(w->loop->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
        forget(w);
}

void cay_watch_close(struct cay_watch *w)
{
        assert(w->loop);
        forget(w);
        close(w->fd);
}

static void run_watches(struct cay_loop *loop)
{
        while (loop->batch_at < loop->batch_count) {
                struct epoll_event e = loop->batch[loop->batch_at++];
                struct cay_watch *w = e.data.ptr;

                if (w)
                        w->on_event(w, e.events); /* w may be gone */
        }
}

/* Timers */

static bool is_before(const struct cay_timer *a, const struct cay_timer *b)
{
        return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

static void place(struct cay_loop *loop, struct cay_timer *t, unsigned slot)
{
        loop->heap[slot] = t;
        t->slot = slot;
}

/* Moves t, whose slot in the heap is free to be written, to its correct position. */
static void settle(struct cay_loop *loop, struct cay_timer *t, unsigned slot)
{
        while (slot > 0 && is_before(t, loop->heap[(slot - 1) / 2])) {
                place(loop, loop->heap[(slot - 1) / 2], slot);
                slot = (slot - 1) / 2;
        }
        for (;;) {
                unsigned child = 2 * slot + 1;

                if (child + 1 < loop->heap_len && is_before(loop->heap[child + 1], loop->heap[child]))
                        child++;
                if (child >= loop->heap_len || !is_before(loop->heap[child], t))
                        break;
                place(loop, loop->heap[child], slot);
                slot = child;
        }
        place(loop, t, slot);
}

static int grow_heap(struct cay_loop *loop)
{
        unsigned cap = loop->heap_cap ? loop->heap_cap * 2 : HEAP_FIRST;
        struct cay_timer **heap;

        if (cap > HEAP_MAX)
                return -ENOMEM;
        heap = realloc(loop->heap, cap * sizeof(*heap));
        if (!heap)
                return -ENOMEM;
        loop->heap = heap;
        loop->heap_cap = cap;
        return 0;
}

/* Rounds the current time up, so that a timer never fires early. */
static uint64_t due_after(uint64_t after_ms)
{
        uint64_t now_ms = (cay_clock_ns() + 999999) / 1000000, due_ms;

        return __builtin_add_overflow(now_ms, after_ms, &due_ms) ? UINT64_MAX : due_ms;
}

int cay_timer_set(struct cay_loop *loop, struct cay_timer *t, uint64_t after_ms,
                  void (*on_time)(struct cay_timer *t))
{
        unsigned slot = t->slot;

        assert(!t->loop || t->loop == loop);
        if (!t->loop) {
                if (loop->heap_len == loop->heap_cap) {
                        int r = grow_heap(loop);

                        if (r < 0)
                                return r;
                }
                slot = loop->heap_len++;
        }
        t->on_time = on_time;
        t->due_ms = due_after(after_ms);
        t->loop = loop;
        t->order = loop->order++;
        settle(loop, t, slot);
        return 0;
}

void cay_timer_clear(struct cay_timer *t)
{
        struct cay_loop *loop = t->loop;
        struct cay_timer *last;

        if (!loop)
                return;
        last = loop->heap[--loop->heap_len];
        if (last != t)
                settle(loop, last, t->slot);
        t->loop = NULL;
}

static void run_timers(struct cay_loop *loop)
{
        uint64_t now_ms;

        if (loop->heap_len == 0)
                return;
        /* Reads the clock once: timers armed from here on are due later, so this loop ends. */
        now_ms = cay_clock_ms();
        while (loop->heap_len > 0 && loop->heap[0]->due_ms <= now_ms) {
                struct cay_timer *t = loop->heap[0];

                cay_timer_clear(t);
                t->on_time(t); /* t may be gone */
        }
}

/* Rounds */

static int wait_ms(const struct cay_loop *loop, int max_wait_ms)
{
        uint64_t now_ms, left_ms;

        if (loop->jobs.head || loop->deferred)
                return 0;
        if (loop->heap_len == 0)
                return max_wait_ms;
        now_ms = cay_clock_ms();
        left_ms = loop->heap[0]->due_ms > now_ms ? loop->heap[0]->due_ms - now_ms : 0;
        if (left_ms > INT_MAX)
                left_ms = INT_MAX;
        return max_wait_ms >= 0 && (uint64_t)max_wait_ms < left_ms ? max_wait_ms : (int)left_ms;
}

int cay_loop_round(struct cay_loop *loop, int max_wait_ms)
{
        int n;

        assert(!loop->in_round);
        n = epoll_wait(loop->epoll_fd, loop->batch, BATCH, wait_ms(loop, max_wait_ms));
        if (n < 0 && errno == EINTR) /* the process may have been stopped: handle what arrived meanwhile */
                n = epoll_wait(loop->epoll_fd, loop->batch, BATCH, 0);
        if (n < 0 && errno != EINTR)
                return -errno;
        loop->in_round = true;
        loop->batch_at = 0;
        loop->batch_count = n < 0 ? 0 : n;
        run_watches(loop);
        loop->batch_at = loop->batch_count = 0;
        cay_job_queue_drain(&loop->jobs); /* results before their deadlines */
        run_timers(loop);
        cay_job_queue_drain(&loop->jobs);
        run_deferred(loop);
        loop->in_round = false;
        return 0;
}

int cay_loop_run(struct cay_loop *loop)
{
        int r = 0;

        while (!loop->stop && r == 0)
                r = cay_loop_round(loop, -1);
        loop->stop = false;
        return r;
}

void cay_loop_stop(struct cay_loop *loop)
{
        loop->stop = true;
}
