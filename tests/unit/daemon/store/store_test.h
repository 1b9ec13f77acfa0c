/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the store share: a folder, a loop, a clock that can be set, and commits that are waited
 * for.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/loop/loop.h"
#include "daemon/store/store_sqlite.h"

struct fake_clock {
        struct cay_clock base;
        struct cay_clock_reading now;
};

struct fixture {
        char folder[64];
        struct cay_loop *loop;
        struct cay_store *store;
        struct cay_store_sqlite_report report;
        struct fake_clock clock;
};

static inline void read_fake(const struct cay_clock *c, struct cay_clock_reading *ret)
{
        *ret = cay_container_of((struct cay_clock *)(uintptr_t)c, struct fake_clock, base)->now;
}

static inline int open_store(struct fixture *f, struct cay_error *err)
{
        const struct cay_store_sqlite_env env = { .loop = f->loop,
                                                  .clock = &f->clock.base,
                                                  .folder = f->folder };

        *err = (struct cay_error){ 0 };
        return cay_store_sqlite_open(&env, &f->store, &f->report, err);
}

static inline void must_open(struct fixture *f)
{
        struct cay_error err;

        if (open_store(f, &err) < 0)
                fail_msg("open: %s", err.msg);
}

static inline void close_store(struct fixture *f)
{
        if (f->store)
                f->store->ops->close(f->store);
        f->store = NULL;
}

static inline void set_up(struct fixture *f)
{
        *f = (struct fixture){
                .clock = { .base = { .read = read_fake },
                           .now = { .wall_ms = 1700000000000, .boot_ms = 5000, .boot_id = "boot-1" } }
        };
        /* In memory where that is possible: what is tested is not how long a busy disk takes to sync. */
        snprintf(f->folder, sizeof(f->folder), "%s/cay-store-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        assert_non_null(mkdtemp(f->folder));
        f->loop = cay_loop_new();
        assert_non_null(f->loop);
}

static inline void empty_folder(const char *folder)
{
        DIR *d = opendir(folder);
        struct dirent *e;

        while (d && (e = readdir(d))) {
                if (e->d_name[0] != '.')
                        unlinkat(dirfd(d), e->d_name, 0);
        }
        if (d)
                closedir(d);
}

static inline void tear_down(struct fixture *f)
{
        close_store(f);
        cay_loop_free(f->loop);
        empty_folder(f->folder);
        rmdir(f->folder);
}

static inline void on_waited(struct cay_job *job)
{
}

/* Runs the loop until the job is done; a store that never answers fails the test. */
static inline void wait_for(struct fixture *f, struct cay_job *job)
{
        for (int i = 0; i < 3000 && (!job->done || job->queued); i++)
                assert_int_equal(cay_loop_round(f->loop, 10), 0);
        assert_true(job->done && !job->queued);
}

static inline enum cay_code commit_how(struct fixture *f, struct cay_store_batch *b, enum cay_store_how how,
                                       struct cay_store_commit *c)
{
        *c = (struct cay_store_commit){ 0 };
        cay_job_init(&c->job, on_waited);
        f->store->ops->commit(f->store, b, how, c);
        assert_false(c->job.done && !c->job.queued); /* never told inside the call */
        wait_for(f, &c->job);
        return c->job.err.code;
}

static inline enum cay_code commit(struct fixture *f, struct cay_store_batch *b)
{
        struct cay_store_commit c;

        return commit_how(f, b, CAY_STORE_FAST, &c);
}

static inline void ask(struct fixture *f, struct cay_store_query *q)
{
        cay_job_init(&q->job, on_waited);
        f->store->ops->query(f->store, q);
        wait_for(f, &q->job);
}

/* How many records a kind has that match the filters. */
static inline unsigned count_of(struct fixture *f, enum cay_store_kind kind, const char *id,
                                const char *sandbox)
{
        struct cay_store_query q = { .kind = kind, .id = id, .sandbox = sandbox };
        unsigned n;

        ask(f, &q);
        assert_int_equal(q.job.err.code, CAY_OK);
        n = q.count;
        cay_store_query_done(&q);
        return n;
}

static inline struct cay_store_sandbox sample(const char *id)
{
        return (struct cay_store_sandbox){
                .id = id,
                .name = "a name",
                .owner = "alice",
                .template_name = "host",
                .engine = "native",
                .labels = "{\"k\":\"v\"}",
                .metadata = "{}",
                .env = "{\"TOKEN\":\"hidden\"}",
                .spec = "{}",
                .state = "ready",
                .cause = "",
                .limits = { .memory_bytes = 256u << 20, .pids = 50, .output_cut = true },
                .created_wall_ms = 1700000000000,
                .expires_ms = 1700000600000,
                .idle_ms = 60000,
                .secret = { 1, 2, 3, [31] = 9 },
        };
}

static inline void put_sandbox(struct fixture *f, struct cay_store_batch *b, const char *id)
{
        struct cay_store_sandbox s = sample(id);

        cay_store_put_sandbox(f->store, b, &s);
}

static inline void file_path(const struct fixture *f, const char *name, char ret[256])
{
        snprintf(ret, 256, "%s/%s", f->folder, name);
}

static inline int setup_opened(void **state)
{
        set_up(*state);
        must_open(*state);
        return 0;
}

static inline int teardown_opened(void **state)
{
        tear_down(*state);
        return 0;
}

/* A test that begins with the file's `f`, its store open. */
#define STORE_TEST(name) cmocka_unit_test_prestate_setup_teardown(name, setup_opened, teardown_opened, &f)
