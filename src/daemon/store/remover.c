/* SPDX-License-Identifier: Apache-2.0 */
/* A queue of names and a thread that unlinks them. See remover.h. */
#include "daemon/store/remover.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAMES 512u
#define NAME_SIZE 160u

struct cay_remover {
        int folder; /* borrowed */
        pthread_t thread;
        pthread_mutex_t lock; /* of what follows */
        pthread_cond_t wakes;
        bool ends;
        unsigned first, count;
        char names[NAMES][NAME_SIZE];
};

static void *run(void *arg)
{
        struct cay_remover *r = arg;
        char name[NAME_SIZE];

        pthread_mutex_lock(&r->lock);
        for (;;) {
                while (r->count == 0 && !r->ends)
                        pthread_cond_wait(&r->wakes, &r->lock);
                if (r->count == 0)
                        break;
                memcpy(name, r->names[r->first], sizeof(name));
                r->first = (r->first + 1) % NAMES;
                r->count--;
                pthread_mutex_unlock(&r->lock);
                unlinkat(r->folder, name, 0);
                pthread_mutex_lock(&r->lock);
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

void cay_remover_take(struct cay_remover *r, const char *name)
{
        size_t len = strlen(name);
        bool is_queued;

        pthread_mutex_lock(&r->lock);
        is_queued = r->count < NAMES && len < NAME_SIZE;
        if (is_queued)
                memcpy(r->names[(r->first + r->count++) % NAMES], name, len + 1);
        if (is_queued && r->count == 1)
                pthread_cond_signal(&r->wakes);
        pthread_mutex_unlock(&r->lock);
        if (!is_queued)
                unlinkat(r->folder, name, 0);
}

void cay_remover_free(struct cay_remover *r)
{
        if (!r)
                return;
        pthread_mutex_lock(&r->lock);
        r->ends = true;
        pthread_cond_signal(&r->wakes);
        pthread_mutex_unlock(&r->lock);
        pthread_join(r->thread, NULL);
        pthread_cond_destroy(&r->wakes);
        pthread_mutex_destroy(&r->lock);
        free(r);
}
