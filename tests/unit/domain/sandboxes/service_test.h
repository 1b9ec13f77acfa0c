/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service on the fake engine, the fake store and a folder of its own; restarts of it; waiting with a bound.
 */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake/fake_engine.h"
#include "fake/fake_store.h"
#include "foundation/json/json_in.h"
#include "foundation/loop/loop.h"
#include "domain/sandboxes/channel.h"
#include "domain/sandboxes/exec.h"
#include "domain/sandboxes/service.h"

#define ROUNDS 20000 /* of at most 10 ms each while something is awaited */

struct test {
        struct cay_loop *loop;
        struct cay_engine *engine;
        struct fake_store *store;
        struct cay_service *service;
        struct cay_service_env env;
        struct cay_clock clock;
        uint64_t wall_ms;
        char dir[64];
        int dir_fd;
        bool ready;
};

static const struct cay_viewer me = { .owner = "me" }, you = { .owner = "you" },
                               root = { .owner = "root", .sees_all = true };

static inline void test_clock_read(const struct cay_clock *clock, struct cay_clock_reading *ret)
{
        const struct test *t = cay_container_of((struct cay_clock *)clock, struct test, clock);

        *ret = (struct cay_clock_reading){ .wall_ms = t->wall_ms };
}

static inline int test_read_json(void *ctx, const char *text, const struct cay_field *fields, void *args,
                                 void **ret_doc, struct cay_error *err)
{
        struct cay_json_in *doc;

        if (cay_json_in_parse(text, strlen(text), NULL, &doc, err) < 0)
                return -1;
        if (cay_json_in_read(doc, cay_json_in_root(doc), fields, args, NULL, err) < 0) {
                cay_json_in_free(doc);
                return -1;
        }
        *ret_doc = doc;
        return 0;
}

static inline void test_free_json(void *ctx, void *doc)
{
        cay_json_in_free(doc);
}

static inline void test_on_ready(struct cay_service *s, void *ctx)
{
        struct test *t = ctx;

        assert_false(t->ready);
        t->ready = true;
}

#define wait_for(t, cond)                                                                                    \
        do {                                                                                                 \
                unsigned rounds_ = 0;                                                                        \
                while (!(cond)) {                                                                            \
                        assert_true(rounds_++ < ROUNDS);                                                     \
                        assert_int_equal(cay_loop_round((t)->loop, 10), 0);                                  \
                }                                                                                            \
        } while (0)

static inline void settle(struct test *t) /* whatever can happen without waiting has happened */
{
        for (unsigned i = 0; i < 30; i++)
                assert_int_equal(cay_loop_round(t->loop, 0), 0);
}

static inline void service_open(struct test *t)
{
        struct cay_error err = { 0 };

        t->ready = false;
        if (cay_service_open(&t->env, test_on_ready, t, &t->service, &err) < 0)
                fail_msg("%s", err.msg);
        wait_for(t, t->ready);
        assert_true(cay_service_is_ready(t->service));
}

/* As if the process had died: boxes, store and folder stay. */
static inline void service_close(struct test *t)
{
        cay_service_free(cay_take(t->service));
        settle(t);
}

static inline void restart(struct test *t)
{
        service_close(t);
        service_open(t);
}

/*
 * From here on nobody asks engines and boxes how they are, however slow the machine: what is heard of them is
 * the test's doing.
 */
static inline void stop_pings(struct test *t)
{
        t->env.ping_ms = 3600 * 1000;
        restart(t);
        cay_service_tick(t->service); /* the first of all is due with the first tick */
        settle(t);
}

static inline int setup(void **state)
{
        struct test *t = calloc(1, sizeof(*t));
        struct cay_engine_env env = { 0 };
        struct cay_error err = { 0 };

        assert_non_null(t);
        fake_plan_reset();
        t->loop = cay_loop_new();
        assert_non_null(t->loop);
        env.loop = t->loop;
        assert_int_equal(cay_engine_fake_ops.open(&env, &t->engine, &err), 0);
        t->store = fake_store_new(t->loop);
        snprintf(t->dir, sizeof(t->dir), "/tmp/cay-service-XXXXXX");
        assert_non_null(mkdtemp(t->dir));
        t->dir_fd = open(t->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        t->wall_ms = 1700000000000;
        t->clock.read = test_clock_read;
        t->env = (struct cay_service_env){
                .loop = t->loop,
                .engines = { { "fake", t->engine, "" } },
                .engine_count = 1,
                .store = &t->store->store,
                .clock = &t->clock,
                .spool_dir = t->dir_fd,
                .read_json = test_read_json,
                .free_json = test_free_json,
        };
        service_open(t);
        *state = t;
        return 0;
}

static inline unsigned count_files(const struct test *t, bool remove)
{
        DIR *dir = opendir(t->dir);
        struct dirent *d;
        unsigned count = 0;

        assert_non_null(dir);
        while ((d = readdir(dir)) != NULL) {
                if (d->d_name[0] == '.')
                        continue;
                count++;
                if (remove)
                        unlinkat(t->dir_fd, d->d_name, 0);
        }
        closedir(dir);
        return count;
}

static inline int teardown(void **state)
{
        struct test *t = *state;

        cay_service_free(t->service);
        fake_store_let_go(t->store);
        settle(t);
        cay_engine_fake_ops.close(t->engine);
        settle(t);
        fake_store_free(t->store);
        cay_loop_free(t->loop);
        count_files(t, true);
        rmdir(t->dir);
        close(t->dir_fd);
        free(t);
        assert_int_equal(fake_engine_boxes(), 0);
        return 0;
}

struct call {
        struct cay_service_call call;
        bool done;
};

static inline void on_call(struct cay_job *job)
{
        struct call *c = cay_container_of(job, struct call, call.job);

        assert_false(c->done);
        c->done = true;
}

static inline void call_init(struct call *c)
{
        *c = (struct call){ 0 };
        cay_job_init(&c->call.job, on_call);
}

static inline enum cay_code call_join(struct test *t, struct call *c) /* of several */
{
        wait_for(t, c->done);
        return c->call.job.err.code;
}

static inline enum cay_code call_wait(struct test *t, struct call *c)
{
        assert_false(c->done); /* never inside the call */
        return call_join(t, c);
}

static inline struct cay_sandbox_new plain(void)
{
        return (struct cay_sandbox_new){ .owner = "me", .limits = { .memory_bytes = 64u << 20, .pids = 50 } };
}

static inline enum cay_code try_create(struct test *t, const struct cay_sandbox_new *what, struct call *c)
{
        call_init(c);
        cay_service_create(t->service, what, &c->call);
        return call_wait(t, c);
}

/* Gives the id. */
static inline void create(struct test *t, char id[CAY_NAME_MAX + 1])
{
        struct cay_sandbox_new what = plain();
        struct call c;
        enum cay_code code = try_create(t, &what, &c);

        if (code != CAY_OK)
                fail_msg("create: %s", c.call.job.err.msg);
        memcpy(id, c.call.id, CAY_NAME_MAX + 1);
}

#define change(t, verb, id)                                                                                  \
        ({                                                                                                   \
                struct call c_;                                                                              \
                call_init(&c_);                                                                              \
                cay_service_##verb((t)->service, &me, id, &c_.call);                                         \
                call_wait(t, &c_);                                                                           \
        })

static inline enum cay_code start(struct test *t, const char *id)
{
        struct call c;

        call_init(&c);
        cay_service_start(t->service, &me, id, NULL, &c.call);
        return call_wait(t, &c);
}

static inline struct cay_sandbox_view look(struct test *t, const char *id)
{
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };

        if (cay_service_get(t->service, &root, id, &view, &err) < 0)
                fail_msg("%s", err.msg);
        return view;
}

static inline bool exists(struct test *t, const char *id)
{
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };

        return cay_service_get(t->service, &root, id, &view, &err) == 0;
}

static inline const struct cay_store_sandbox *record(struct test *t, const char *id)
{
        return fake_store_find(t->store, CAY_STORE_SANDBOX, id);
}

struct exec_call {
        struct cay_exec_call call;
        bool done;
};

static inline void on_exec_call(struct cay_job *job)
{
        struct exec_call *c = cay_container_of(job, struct exec_call, call.job);

        assert_false(c->done);
        c->done = true;
}

static inline void exec_begin(struct test *t, const char *sandbox, const struct cay_exec_new *what,
                              struct exec_call *c)
{
        *c = (struct exec_call){ 0 };
        cay_job_init(&c->call.job, on_exec_call);
        cay_service_exec(t->service, &me, sandbox, what, &c->call);
        assert_false(c->done);
}

static inline enum cay_code try_exec(struct test *t, const char *sandbox, const struct cay_exec_new *what,
                                     struct exec_call *c)
{
        exec_begin(t, sandbox, what, c);
        wait_for(t, c->done);
        return c->call.job.err.code;
}

/* Words end with NULL. */
static inline void exec(struct test *t, const char *sandbox, char id[CAY_NAME_MAX + 1], const char *word, ...)
{
        const char *argv[8] = { word };
        struct cay_exec_new what = { .argv = argv, .has_stdin = true };
        struct exec_call c;
        va_list more;

        va_start(more, word);
        for (unsigned i = 1; i < 7 && argv[i - 1] != NULL; i++)
                argv[i] = va_arg(more, const char *);
        va_end(more);
        if (try_exec(t, sandbox, &what, &c) != CAY_OK)
                fail_msg("exec: %s", c.call.job.err.msg);
        memcpy(id, c.call.id, CAY_NAME_MAX + 1);
}

static inline struct cay_exec_view look_exec(struct test *t, const char *sandbox, const char *id)
{
        struct cay_exec_view view;
        struct cay_error err = { 0 };

        if (cay_service_exec_get(t->service, &root, sandbox, id, &view, &err) < 0)
                fail_msg("%s", err.msg);
        return view;
}

static inline struct cay_exec_view wait_end(struct test *t, const char *sandbox, const char *id)
{
        wait_for(t, look_exec(t, sandbox, id).state == CAY_EXEC_ENDED);
        return look_exec(t, sandbox, id);
}

struct watcher {
        struct cay_exec_watcher w;
        struct test *t;
        uint8_t *bytes; /* owned */
        size_t len, cap;
        size_t out, err;
        unsigned told, overtaken;
        bool lazy; /* does not read by itself */
        bool over;
};

static inline void watcher_read(struct watcher *w)
{
        struct cay_exec_piece piece;
        struct cay_error err = { 0 };
        uint8_t buf[10000];
        int r;

        while ((r = cay_exec_watcher_read(&w->w, buf, sizeof(buf), &piece, &err)) != 0) {
                if (r < 0) {
                        assert_int_equal(err.code, CAY_CONFLICT);
                        w->overtaken++;
                        continue;
                }
                if (w->len + piece.len > w->cap) {
                        w->cap = (w->len + piece.len) * 2;
                        w->bytes = realloc(w->bytes, w->cap);
                        assert_non_null(w->bytes);
                }
                memcpy(w->bytes + w->len, buf, piece.len);
                w->len += piece.len;
                *(piece.stream == 1 ? &w->out : &w->err) += piece.len;
        }
        w->over = cay_exec_watcher_is_over(&w->w);
}

static inline void on_output(struct cay_exec_watcher *cw)
{
        struct watcher *w = cay_container_of(cw, struct watcher, w);

        w->told++;
        if (!w->lazy)
                watcher_read(w);
}

static inline enum cay_code watch(struct test *t, const char *sandbox, const char *id, uint64_t from,
                                  bool holds, struct watcher *w)
{
        struct cay_error err = { 0 };
        bool lazy = w->lazy;

        *w = (struct watcher){ .w.on_output = on_output, .t = t, .lazy = lazy };
        if (cay_service_exec_watch(t->service, &me, sandbox, id, from, holds, &w->w, &err) < 0)
                return err.code;
        return CAY_OK;
}

static inline void watcher_done(struct watcher *w)
{
        cay_service_exec_unwatch(&w->w);
        free(w->bytes);
        *w = (struct watcher){ 0 };
}

static inline void check_pattern(const struct watcher *w, uint64_t from, uint64_t len)
{
        assert_int_equal(w->len, len);
        for (uint64_t i = 0; i < len; i++)
                if (w->bytes[i] != fake_pattern(from + i))
                        fail_msg("byte %llu of %llu is wrong", (unsigned long long)i,
                                 (unsigned long long)len);
}
