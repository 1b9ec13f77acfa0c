/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store port: the two threads, and how results return to the loop. store_sqlite.h has the theory of
 * operation.
 *
 * One lock guards the queues and the list of finished jobs. Neither thread holds it while it works. Only the
 * loop's thread touches callers' jobs, commits and queries. The writer works on batches, the reader on asks;
 * on_finished hands their results over.
 */

#include "daemon/store/store_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "foundation/base/clock.h"
#include "daemon/store/mend.h"
#include "daemon/store/select.h"
#include "daemon/store/store_priv.h"

enum {
        QUEUE_MAX = 4096, /* pending batches; each is at most CAY_STORE_BATCH_MAX, most are 1 KiB */
        QUEUE_BYTES_MAX = 32 * 1024 * 1024,
        ASKS_MAX = 1024,
        GROUP_MAX = 256, /* batches of one transaction */
        REST_MS = 200,
        LOG_MIND_MS = 200,
};

static struct cay_store_sqlite *store_of(const struct cay_store *s)
{
        return cay_container_of((struct cay_store *)(uintptr_t)s, struct cay_store_sqlite, base);
}

/* Queues */

static void push_batch(struct cay_batch_queue *q, struct cay_store_batch *b)
{
        b->next = NULL;
        *q->last = b;
        q->last = &b->next;
        q->count++;
        q->bytes += b->mem.used;
}

static void clear_batches(struct cay_batch_queue *q)
{
        *q = (struct cay_batch_queue){ 0 };
        q->last = &q->first;
}

/* At most `max` from the front, as a list of their own. */
static struct cay_store_batch *take_batches(struct cay_batch_queue *q, unsigned max)
{
        struct cay_store_batch *list = q->first, **end = &q->first;

        while (*end && max-- > 0) {
                q->count--;
                q->bytes -= (*end)->mem.used;
                end = &(*end)->next;
        }
        if (end == &q->first)
                return NULL;
        q->first = *end;
        *end = NULL;
        if (!q->first)
                q->last = &q->first;
        return list;
}

static void push_ask(struct cay_call_queue *q, struct cay_store_ask *a)
{
        a->next = NULL;
        *q->last = a;
        q->last = &a->next;
        q->count++;
}

static void clear_asks(struct cay_call_queue *q)
{
        *q = (struct cay_call_queue){ 0 };
        q->last = &q->first;
}

/* Threads */

static void tell_loop(struct cay_store_sqlite *s)
{
        const uint64_t one = 1;
        ssize_t n;

        do
                n = write(s->event_fd, &one, sizeof(one));
        while (n < 0 && errno == EINTR);
}

/* Under the lock: statistics of a group that took `us`. */
static void note_group(struct cay_store_sqlite *s, const struct cay_store_batch *list, uint64_t us)
{
        bool any = false;

        for (const struct cay_store_batch *b = list; b; b = b->next) {
                s->health.commits += b->err.code == CAY_OK;
                any = any || b->err.code == CAY_OK;
                if (b->err.code == CAY_OK)
                        cay_newest_set(&s->newest, b->seq);
                s->health.is_damaged = s->health.is_damaged || cay_db_is_damage(&b->err);
                if (b->err.code == CAY_OK || b->err.code == CAY_NO_SPACE)
                        s->health.is_full = b->err.code == CAY_NO_SPACE;
        }
        s->health.groups += any;
        if (us > s->health.worst_us)
                s->health.worst_us = us;
}

/* Under the lock, which is released meanwhile. */
static void tidy(struct cay_store_sqlite *s, bool is_idle)
{
        pthread_mutex_unlock(&s->lock);
        cay_apply_checkpoint(&s->apply, is_idle);
        pthread_mutex_lock(&s->lock);
}

/* In the writer's thread: allocates blocks ahead of the log again when there is room. */
static void mind_log(struct cay_store_sqlite *s)
{
        uint64_t now_ms = cay_clock_ms();

        if (now_ms - s->log_minded_ms < LOG_MIND_MS)
                return;
        s->log_minded_ms = now_ms;
        cay_reserve_log(s->dirfd, CAY_STORE_FILE "-wal");
}

/* The same, and wakes the loop. Not under the lock, which the loop takes first when it wakes up. */
static void tell_and_tidy(struct cay_store_sqlite *s)
{
        pthread_mutex_unlock(&s->lock);
        tell_loop(s);
        cay_apply_checkpoint(&s->apply, false);
        mind_log(s);
        pthread_mutex_lock(&s->lock);
}

/* Waits for work; when idle for a moment, does maintenance. */
static void rest(struct cay_store_sqlite *s)
{
        struct timespec until;

        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += REST_MS * 1000000l;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (!cay_apply_is_untidy(&s->apply))
                pthread_cond_wait(&s->writer_wakes, &s->lock);
        else if (pthread_cond_timedwait(&s->writer_wakes, &s->lock, &until) == ETIMEDOUT && !s->batches.first)
                tidy(s, true);
}

static void *write_loop(void *arg)
{
        struct cay_store_sqlite *s = arg;

        pthread_mutex_lock(&s->lock);
        for (;;) {
                struct cay_store_batch *list = take_batches(&s->batches, GROUP_MAX), *next;
                uint64_t start_ns;

                if (!list && s->is_closing)
                        break;
                if (!list) {
                        rest(s);
                        continue;
                }
                pthread_mutex_unlock(&s->lock);
                start_ns = cay_clock_ns();
                cay_apply_group(&s->apply, list);
                pthread_mutex_lock(&s->lock);
                note_group(s, list, (cay_clock_ns() - start_ns) / 1000);
                for (; list; list = next) {
                        next = list->next;
                        push_batch(&s->batches_done, list);
                }
                tell_and_tidy(s);
        }
        pthread_mutex_unlock(&s->lock);
        return NULL;
}

static void *read_loop(void *arg)
{
        struct cay_store_sqlite *s = arg;

        pthread_mutex_lock(&s->lock);
        while (!s->is_closing) {
                struct cay_store_ask *a = s->asks.first;

                if (!a) {
                        pthread_cond_wait(&s->reader_wakes, &s->lock);
                        continue;
                }
                s->asks.first = a->next;
                if (!s->asks.first)
                        s->asks.last = &s->asks.first;
                s->asks.count--;
                pthread_mutex_unlock(&s->lock);
                if (cay_select_query(&s->reader, a->query, &a->mem, &a->rows, &a->count, &a->err) < 0)
                        cay_arena_done(&a->mem);
                pthread_mutex_lock(&s->lock);
                s->health.is_damaged = s->health.is_damaged || cay_db_is_damage(&a->err);
                push_ask(&s->asks_done, a);
                pthread_mutex_unlock(&s->lock);
                tell_loop(s);
                pthread_mutex_lock(&s->lock);
        }
        pthread_mutex_unlock(&s->lock);
        return NULL;
}

/* Signals are handled by the loop, not by the threads. */
static int start_thread(pthread_t *ret, void *(*run)(void *), struct cay_store_sqlite *s)
{
        sigset_t all, before;
        int r;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        r = pthread_create(ret, NULL, run, s);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return -r;
}

/* Back on the loop */

static void finish_batch(struct cay_store_sqlite *s, struct cay_store_batch *b)
{
        struct cay_store_commit *c = b->commit;

        c->seq = b->err.code == CAY_OK ? b->seq : 0;
        memcpy(c->first, b->taken, sizeof(c->first));
        if (b->err.code != CAY_EXISTS)
                c->first[0] = '\0';
        cay_job_finish(cay_loop_jobs(s->loop), &c->job, b->err.code == CAY_OK ? NULL : &b->err);
        cay_batch_free(b);
}

static void finish_ask(struct cay_store_sqlite *s, struct cay_store_ask *a)
{
        a->query->mem = a->mem;
        a->query->rows = a->rows;
        a->query->count = a->count;
        cay_job_finish(cay_loop_jobs(s->loop), &a->query->job, a->err.code == CAY_OK ? NULL : &a->err);
        free(a);
}

static void finish_all(struct cay_store_sqlite *s)
{
        struct cay_store_batch *b, *next_batch;
        struct cay_store_ask *a, *next_ask;

        pthread_mutex_lock(&s->lock);
        b = s->batches_done.first;
        a = s->asks_done.first;
        clear_batches(&s->batches_done);
        clear_asks(&s->asks_done);
        pthread_mutex_unlock(&s->lock);
        for (; b; b = next_batch) {
                next_batch = b->next;
                finish_batch(s, b);
        }
        for (; a; a = next_ask) {
                next_ask = a->next;
                finish_ask(s, a);
        }
}

static void on_finished(struct cay_watch *w, uint32_t events)
{
        struct cay_store_sqlite *s = cay_container_of(w, struct cay_store_sqlite, watch);
        uint64_t count;

        while (read(s->event_fd, &count, sizeof(count)) < 0 && errno == EINTR)
                ;
        finish_all(s);
}

/* The port's operations */

static struct cay_store_batch *op_begin(struct cay_store *base)
{
        return cay_batch_new();
}

static void refuse(struct cay_store_sqlite *s, struct cay_store_batch *b, struct cay_store_commit *c,
                   const struct cay_error *err)
{
        c->first[0] = '\0';
        c->seq = 0;
        cay_job_finish(cay_loop_jobs(s->loop), &c->job, err);
        cay_batch_free(b);
}

static void op_commit(struct cay_store *base, struct cay_store_batch *b, enum cay_store_how how,
                      struct cay_store_commit *c)
{
        struct cay_store_sqlite *s = store_of(base);
        struct cay_error err = { 0 };

        if (!b) {
                cay_fail(&err, CAY_INTERNAL, "no memory to store it");
                refuse(s, b, c, &err);
                return;
        }
        err = b->err;
        pthread_mutex_lock(&s->lock);
        if (err.code == CAY_OK && s->is_closing)
                cay_fail(&err, CAY_UNAVAILABLE, "the store is closing");
        else if (err.code == CAY_OK && (s->batches.count >= QUEUE_MAX || s->batches.bytes >= QUEUE_BYTES_MAX))
                cay_fail_because(&err, CAY_LIMIT, CAY_REASON_RETRY,
                                 "the store is busy: %u changes are pending; try again", s->batches.count);
        if (err.code == CAY_OK) {
                b->how = how;
                b->commit = c;
                push_batch(&s->batches, b);
                pthread_cond_signal(&s->writer_wakes);
        }
        pthread_mutex_unlock(&s->lock);
        if (err.code != CAY_OK)
                refuse(s, b, c, &err);
}

static void op_query(struct cay_store *base, struct cay_store_query *q)
{
        struct cay_store_sqlite *s = store_of(base);
        struct cay_store_ask *a = calloc(1, sizeof(*a));
        struct cay_error err = { 0 };

        q->rows = NULL;
        q->count = 0;
        q->mem = (struct cay_arena){ 0 };
        if (!a) {
                cay_fail(&err, CAY_INTERNAL, "no memory to ask the store");
                cay_job_finish(cay_loop_jobs(s->loop), &q->job, &err);
                return;
        }
        pthread_mutex_lock(&s->lock);
        if (s->is_closing)
                cay_fail(&err, CAY_UNAVAILABLE, "the store is closing");
        else if (s->asks.count >= ASKS_MAX)
                cay_fail_because(&err, CAY_LIMIT, CAY_REASON_RETRY,
                                 "the store is busy: %u queries are pending; try again", s->asks.count);
        if (err.code == CAY_OK) {
                a->query = q;
                cay_arena_init(&a->mem, CAY_SELECT_BYTES_MAX);
                push_ask(&s->asks, a);
                pthread_cond_signal(&s->reader_wakes);
        }
        pthread_mutex_unlock(&s->lock);
        if (err.code != CAY_OK) {
                cay_job_finish(cay_loop_jobs(s->loop), &q->job, &err);
                free(a);
        }
}

static int op_load(struct cay_store *base, enum cay_store_kind kind,
                   bool (*each)(void *ctx, const void *record), void *ctx, struct cay_error *err)
{
        struct cay_store_sqlite *s = store_of(base);
        struct cay_db db;
        int r;

        if (cay_db_open(&db, s->path, CAY_DB_READ, err) < 0)
                return -1;
        r = cay_select_all(&db, kind, CAY_SELECT_ORDERED, each, ctx, err);
        cay_db_close(&db);
        return r;
}

static uint64_t op_now_ms(const struct cay_store *base)
{
        return cay_apply_now_ms(&store_of(base)->apply); /* both parts are constant after open */
}

static uint64_t size_of(int dirfd, const char *name)
{
        struct stat st;

        return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_size : 0;
}

static void op_health(struct cay_store *base, struct cay_store_health *ret)
{
        struct cay_store_sqlite *s = store_of(base);

        pthread_mutex_lock(&s->lock);
        *ret = s->health;
        ret->queued = s->batches.count;
        pthread_mutex_unlock(&s->lock);
        ret->file_bytes = size_of(s->dirfd, CAY_STORE_FILE) + size_of(s->dirfd, CAY_STORE_FILE "-wal");
}

static void refuse_asks(struct cay_store_sqlite *s)
{
        struct cay_store_ask *next;

        for (struct cay_store_ask *a = s->asks.first; a; a = next) {
                next = a->next;
                cay_fail(&a->err, CAY_UNAVAILABLE, "the store is closing");
                push_ask(&s->asks_done, a);
        }
        clear_asks(&s->asks);
}

static void stop_threads(struct cay_store_sqlite *s)
{
        pthread_mutex_lock(&s->lock);
        s->is_closing = true;
        pthread_cond_signal(&s->writer_wakes);
        pthread_cond_signal(&s->reader_wakes);
        pthread_mutex_unlock(&s->lock);
        if (s->has_writer)
                pthread_join(s->write_thread, NULL);
        if (s->has_reader)
                pthread_join(s->read_thread, NULL);
        refuse_asks(s);
}

void cay_store_close(struct cay_store_sqlite *s)
{
        stop_threads(s);
        cay_watch_remove(&s->watch);
        finish_all(s);
        cay_db_close(&s->reader);
        /* On a full disk the database may not take all of its log: then only the log has the rest. */
        if (s->apply.db.handle && cay_db_close_last(&s->apply.db))
                cay_reserve_empty_log(s->dirfd, CAY_STORE_FILE "-wal");
        cay_reserve_close(&s->apply.reserve);
        cay_newest_close(&s->newest);
        pthread_cond_destroy(&s->writer_wakes);
        pthread_cond_destroy(&s->reader_wakes);
        pthread_mutex_destroy(&s->lock);
        cay_closep(&s->event_fd);
        cay_closep(&s->lock_fd); /* last: from now on another daemon may take the folder */
        cay_closep(&s->dirfd);
        free(s->path);
        free(s);
}

static void op_close(struct cay_store *base)
{
        if (base)
                cay_store_close(store_of(base));
}

static const struct cay_store_ops ops = {
        .begin = op_begin,
        .put = cay_batch_put,
        .drop = cay_batch_drop,
        .abandon = cay_batch_free,
        .commit = op_commit,
        .query = op_query,
        .load = op_load,
        .now_ms = op_now_ms,
        .health = op_health,
        .close = op_close,
};

/* Birth */

/* On the monotonic clock, which cannot be set. */
static void init_wakes(struct cay_store_sqlite *s)
{
        pthread_condattr_t attr;

        pthread_condattr_init(&attr);
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        pthread_cond_init(&s->writer_wakes, &attr);
        pthread_cond_init(&s->reader_wakes, &attr);
        pthread_condattr_destroy(&attr);
}

struct cay_store_sqlite *cay_store_new(struct cay_loop *loop)
{
        struct cay_store_sqlite *s = calloc(1, sizeof(*s));

        if (!s)
                return NULL;
        s->base.ops = &ops;
        s->loop = loop;
        s->dirfd = s->lock_fd = s->event_fd = s->apply.reserve.fd = -1;
        pthread_mutex_init(&s->lock, NULL);
        init_wakes(s);
        clear_batches(&s->batches);
        clear_batches(&s->batches_done);
        clear_asks(&s->asks);
        clear_asks(&s->asks_done);
        return s;
}

int cay_store_start(struct cay_store_sqlite *s, struct cay_error *err)
{
        int r;

        s->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (s->event_fd < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "eventfd");
        r = cay_watch_add(s->loop, &s->watch, s->event_fd, EPOLLIN, on_finished);
        if (r == 0) {
                r = start_thread(&s->write_thread, write_loop, s);
                s->has_writer = r == 0;
        }
        if (r == 0) {
                r = start_thread(&s->read_thread, read_loop, s);
                s->has_reader = r == 0;
        }
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "start the store") : 0;
}
