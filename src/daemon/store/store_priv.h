/* SPDX-License-Identifier: Apache-2.0 */
/* The store's state, shared by store_open.c and store_sqlite.c. */
#pragma once

#include <pthread.h>

#include "foundation/loop/loop.h"
#include "daemon/store/apply.h"
#include "daemon/store/batch.h"
#include "daemon/store/newest.h"
#include "daemon/store/store_sqlite.h"

/* A query under way: filled by the reader, handed to the caller by the loop. */
struct cay_store_ask {
        struct cay_store_ask *next;
        struct cay_store_query *query; /* borrowed; the reader reads its filters, the loop the rest */
        struct cay_arena mem;
        const void **rows;
        unsigned count;
        struct cay_error err;
};

struct cay_batch_queue {
        struct cay_store_batch *first, **last;
        unsigned count;
        size_t bytes;
};

struct cay_call_queue {
        struct cay_store_ask *first, **last;
        unsigned count;
};

struct cay_store_sqlite {
        struct cay_store base;
        struct cay_loop *loop; /* borrowed */
        char *path;            /* owned: of the database */
        int dirfd, lock_fd;    /* owned */

        struct cay_apply apply;   /* the writer's */
        struct cay_newest newest; /* likewise */
        struct cay_db reader;     /* the reader's */
        pthread_t write_thread, read_thread;
        bool has_writer, has_reader;
        uint64_t log_minded_ms; /* the writer's; monotonic */

        pthread_mutex_t lock; /* guards all below */
        pthread_cond_t writer_wakes, reader_wakes;
        struct cay_batch_queue batches, batches_done;
        struct cay_call_queue asks, asks_done;
        bool is_closing;
        struct cay_store_health health;

        int event_fd; /* owned */
        struct cay_watch watch;
};

/* A store without a folder, to be filled, started and closed. NULL: no memory. */
struct cay_store_sqlite *cay_store_new(struct cay_loop *loop);
/* Everything is open: starts the threads and the event descriptor. */
int cay_store_start(struct cay_store_sqlite *s, struct cay_error *err);
void cay_store_close(struct cay_store_sqlite *s); /* also for one that is partly open */
