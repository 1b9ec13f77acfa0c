/* SPDX-License-Identifier: Apache-2.0 */
/* A queue of names and a thread that unlinks them or makes spare files of them. See remover.h. */
#include "daemon/store/remover.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"

#define NAMES 512u
#define NAME_SIZE 160u
#define SPARE_NAME_SIZE 32u

struct entry {
        char name[NAME_SIZE];
        bool is_closed; /* nobody has it open */
};

struct cay_remover {
        int folder; /* borrowed */
        pthread_t thread;
        pthread_mutex_t lock; /* of what follows */
        pthread_cond_t wakes;
        bool ends;
        unsigned first, count;
        struct entry entries[NAMES];
        unsigned spare_count;
        uint64_t spares[CAY_REMOVER_SPARES]; /* numbers in their names */
        uint64_t spare_last;                 /* the thread's alone */
};

static void spare_name(uint64_t number, char ret[SPARE_NAME_SIZE])
{
        snprintf(ret, SPARE_NAME_SIZE, CAY_REMOVER_SPARE "%" PRIu64, number);
}

/* Nothing of what it had is left. */
static bool empty(int folder, const char *name)
{
        static const char zeros[CAY_REMOVER_PAGE];
        cay_auto_close int fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
                return false;
        if (st.st_size > (off_t)sizeof(zeros) && ftruncate(fd, sizeof(zeros)) < 0)
                return false;
        return pwrite(fd, zeros, sizeof(zeros), 0) == (ssize_t)sizeof(zeros);
}

/* Without the lock. The old name goes first: whoever looks for it finds the whole file or none. */
static bool make_spare(struct cay_remover *r, const char *name)
{
        char spare[SPARE_NAME_SIZE];

        spare_name(++r->spare_last, spare);
        if (renameat2(r->folder, name, r->folder, spare, RENAME_NOREPLACE) < 0)
                return false;
        if (empty(r->folder, spare))
                return true;
        unlinkat(r->folder, spare, 0);
        return false;
}

static void *run(void *arg)
{
        struct cay_remover *r = arg;
        struct entry e;

        pthread_mutex_lock(&r->lock);
        for (;;) {
                bool is_spare;

                while (r->count == 0 && !r->ends)
                        pthread_cond_wait(&r->wakes, &r->lock);
                if (r->count == 0)
                        break;
                e = r->entries[r->first];
                r->first = (r->first + 1) % NAMES;
                r->count--;
                is_spare = e.is_closed && !r->ends && r->spare_count < CAY_REMOVER_SPARES;
                pthread_mutex_unlock(&r->lock);
                is_spare = is_spare && make_spare(r, e.name);
                if (!is_spare)
                        unlinkat(r->folder, e.name, 0);
                pthread_mutex_lock(&r->lock);
                if (is_spare) /* only this thread adds to them */
                        r->spares[r->spare_count++] = r->spare_last;
        }
        pthread_mutex_unlock(&r->lock);
        return NULL;
}

struct cay_remover *cay_remover_new(int folder)
{
        struct cay_remover *r = calloc(1, sizeof(*r));
        sigset_t all, before;
        int failed;

        if (!r)
                return NULL;
        r->folder = folder;
        pthread_mutex_init(&r->lock, NULL);
        pthread_cond_init(&r->wakes, NULL);
        sigfillset(&all); /* signals are the loop's */
        pthread_sigmask(SIG_SETMASK, &all, &before);
        failed = pthread_create(&r->thread, NULL, run, r);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (!failed)
                return r;
        free(r);
        return NULL;
}

static void take(struct cay_remover *r, const char *name, bool is_closed)
{
        size_t len = strlen(name);
        bool is_queued;

        pthread_mutex_lock(&r->lock);
        is_queued = r->count < NAMES && len < NAME_SIZE;
        if (is_queued) {
                struct entry *e = &r->entries[(r->first + r->count++) % NAMES];

                memcpy(e->name, name, len + 1);
                e->is_closed = is_closed;
        }
        if (is_queued && r->count == 1)
                pthread_cond_signal(&r->wakes);
        pthread_mutex_unlock(&r->lock);
        if (!is_queued)
                unlinkat(r->folder, name, 0);
}

void cay_remover_take(struct cay_remover *r, const char *name)
{
        take(r, name, false);
}

void cay_remover_recycle(struct cay_remover *r, const char *name)
{
        take(r, name, true);
}

bool cay_remover_reuse(struct cay_remover *r, const char *name)
{
        char spare[SPARE_NAME_SIZE];
        uint64_t number = 0;

        pthread_mutex_lock(&r->lock);
        if (r->spare_count > 0)
                number = r->spares[--r->spare_count];
        pthread_mutex_unlock(&r->lock);
        if (number == 0)
                return false;
        spare_name(number, spare);
        if (renameat2(r->folder, spare, r->folder, name, RENAME_NOREPLACE) == 0)
                return true;
        unlinkat(r->folder, spare, 0);
        return false;
}

void cay_remover_free(struct cay_remover *r)
{
        char spare[SPARE_NAME_SIZE];

        if (!r)
                return;
        pthread_mutex_lock(&r->lock);
        r->ends = true;
        pthread_cond_signal(&r->wakes);
        pthread_mutex_unlock(&r->lock);
        pthread_join(r->thread, NULL);
        for (unsigned i = 0; i < r->spare_count; i++) {
                spare_name(r->spares[i], spare);
                unlinkat(r->folder, spare, 0);
        }
        pthread_cond_destroy(&r->wakes);
        pthread_mutex_destroy(&r->lock);
        free(r);
}
