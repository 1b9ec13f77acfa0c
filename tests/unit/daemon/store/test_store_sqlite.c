/* SPDX-License-Identifier: Apache-2.0 */
/* The store port on SQLite: what goes in comes out, whole or not at all, also after a restart. */

#include "unit/daemon/store/store_test.h"

#include <pthread.h>

static struct fixture f;

static void restart(void)
{
        close_store(&f);
        must_open(&f);
}

static void a_new_store_is_private(void **state)
{
        static const char *const names[] = { "state.db", "state.db-wal", "state.db-shm", "state.lock",
                                             "state.reserve" };

        assert_true(f.report.is_new);
        for (size_t i = 0; i < CAY_COUNT(names); i++) {
                struct stat st;
                char path[256];

                file_path(&f, names[i], path);
                assert_int_equal(stat(path, &st), 0);
                assert_int_equal(st.st_mode & 077, 0);
        }
        restart();
        assert_false(f.report.is_new);
        assert_false(f.report.was_damaged);
}

static void sandboxes_come_back_as_they_were(void **state)
{
        struct cay_store_batch *b = f.store->ops->begin(f.store);
        struct cay_store_query q = { .kind = CAY_STORE_SANDBOX, .id = "box1" };
        struct cay_store_sandbox s = sample("box1");
        const struct cay_store_sandbox *back;

        cay_store_put_sandbox(f.store, b, &s);
        assert_int_equal(commit(&f, b), CAY_OK);
        restart();
        ask(&f, &q);
        assert_int_equal(q.count, 1);
        back = q.rows[0];
        assert_string_equal(back->id, "box1");
        assert_string_equal(back->env, s.env);
        assert_string_equal(back->cause_text, "");
        assert_int_equal(back->limits.memory_bytes, s.limits.memory_bytes);
        assert_int_equal(back->expires_ms, s.expires_ms);
        assert_memory_equal(back->secret, s.secret, sizeof(s.secret));
        cay_store_query_done(&q);
        /* Put again: replaced. */
        b = f.store->ops->begin(f.store);
        s.state = "paused";
        cay_store_put_sandbox(f.store, b, &s);
        assert_int_equal(commit(&f, b), CAY_OK);
        ask(&f, &q);
        assert_int_equal(q.count, 1);
        assert_string_equal(((const struct cay_store_sandbox *)q.rows[0])->state, "paused");
        cay_store_query_done(&q);
}

static void put_exec(struct cay_store_batch *b, const char *id, const char *sandbox, uint64_t started)
{
        const struct cay_store_exec e = { .id = id,
                                          .sandbox = sandbox,
                                          .argv = "[\"true\"]",
                                          .state = "running",
                                          .started_wall_ms = started,
                                          .exit_code = -1,
                                          .output_end = UINT32_MAX + 7ull };

        cay_store_put_exec(f.store, b, &e);
}

static void a_sandbox_goes_with_its_execs(void **state)
{
        struct cay_store_batch *b = f.store->ops->begin(f.store);
        struct cay_store_query q = { .kind = CAY_STORE_EXEC, .sandbox = "a", .newest_first = true };
        const struct cay_store_exec *e;

        put_sandbox(&f, b, "a");
        put_sandbox(&f, b, "b");
        put_exec(b, "e1", "a", 10);
        put_exec(b, "e2", "a", 20);
        put_exec(b, "e3", "b", 30);
        assert_int_equal(commit(&f, b), CAY_OK);
        ask(&f, &q);
        assert_int_equal(q.count, 2);
        e = q.rows[0];
        assert_string_equal(e->id, "e2");
        assert_int_equal(e->exit_code, -1);
        assert_int_equal(e->output_end, UINT32_MAX + 7ull);
        cay_store_query_done(&q);
        b = f.store->ops->begin(f.store);
        f.store->ops->drop(b, CAY_STORE_SANDBOX, "a");
        f.store->ops->drop(b, CAY_STORE_SANDBOX, "absent");
        assert_int_equal(commit(&f, b), CAY_OK);
        assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, NULL, NULL), 1);
        assert_int_equal(count_of(&f, CAY_STORE_EXEC, NULL, NULL), 1);
}

static enum cay_code claim(const char *owner, const char *key, const char *result,
                           char first[CAY_NAME_MAX + 1])
{
        struct cay_store_batch *b = f.store->ops->begin(f.store);
        const struct cay_store_claim c = { .owner = owner, .key = key, .result = result };
        struct cay_store_commit done;

        put_sandbox(&f, b, result);
        cay_store_put_claim(f.store, b, &c);
        commit_how(&f, b, CAY_STORE_FAST, &done);
        memcpy(first, done.first, sizeof(done.first));
        return done.job.err.code;
}

static void a_claim_is_taken_once(void **state)
{
        char first[CAY_NAME_MAX + 1];

        assert_int_equal(claim("alice", "k", "box1", first), CAY_OK);
        assert_string_equal(first, "");
        assert_int_equal(claim("alice", "k", "box2", first), CAY_EXISTS);
        assert_string_equal(first, "box1");
        assert_int_equal(claim("bob", "k", "box3", first), CAY_OK); /* unique per owner */
        /* What was refused left nothing. */
        assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, "box2", NULL), 0);
        restart();
        assert_int_equal(claim("alice", "k", "box4", first), CAY_EXISTS);
        assert_string_equal(first, "box1");
        /* 24 hours, by the store's time. */
        f.clock.now.boot_ms += CAY_STORE_CLAIM_MS - 1;
        assert_int_equal(claim("alice", "k", "box5", first), CAY_EXISTS);
        f.clock.now.boot_ms += 1;
        assert_int_equal(claim("alice", "k", "box6", first), CAY_OK);
}

/* Eight at once: exactly one wins, whatever group they fell into. */
static void eight_claims_at_once(void **state)
{
        struct cay_store_commit c[8] = { 0 };
        unsigned won = 0;

        for (unsigned i = 0; i < 8; i++) {
                struct cay_store_batch *b = f.store->ops->begin(f.store);
                char id[8];
                const struct cay_store_claim claim_ = { .owner = "a", .key = "k", .result = id };

                snprintf(id, sizeof(id), "box%u", i);
                put_sandbox(&f, b, id);
                cay_store_put_claim(f.store, b, &claim_);
                cay_job_init(&c[i].job, on_waited);
                f.store->ops->commit(f.store, b, CAY_STORE_FAST, &c[i]);
        }
        for (unsigned i = 0; i < 8; i++) {
                wait_for(&f, &c[i].job);
                won += c[i].job.err.code == CAY_OK;
                assert_true(c[i].job.err.code == CAY_OK || c[i].job.err.code == CAY_EXISTS);
                if (c[i].job.err.code == CAY_EXISTS)
                        assert_string_equal(c[i].first, "box0");
        }
        assert_int_equal(won, 1);
        assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, NULL, NULL), 1);
}

static uint64_t add_event(const char *sandbox, const char *kind)
{
        struct cay_store_batch *b = f.store->ops->begin(f.store);
        const struct cay_store_event e = {
                .sandbox = sandbox, .owner = "alice", .kind = kind, .detail = "{}", .seq = 3
        };
        struct cay_store_commit c;

        cay_store_put_event(f.store, b, &e);
        assert_int_equal(commit_how(&f, b, CAY_STORE_FAST, &c), CAY_OK);
        return c.seq;
}

static void events_are_numbered_and_paged(void **state)
{
        struct cay_store_query q = { .kind = CAY_STORE_EVENT, .max = 2 };
        uint64_t first = add_event("a", "created"), last = first;

        for (int i = 0; i < 4; i++) {
                uint64_t seq = add_event(i % 2 ? "a" : "b", "state");

                assert_true(seq > last);
                last = seq;
        }
        ask(&f, &q);
        assert_int_equal(q.count, 2);
        assert_int_equal(((const struct cay_store_event *)q.rows[0])->seq, first);
        q.after = ((const struct cay_store_event *)q.rows[1])->seq;
        cay_store_query_done(&q);
        ask(&f, &q);
        assert_int_equal(((const struct cay_store_event *)q.rows[0])->seq, q.after + 1);
        cay_store_query_done(&q);
        q = (struct cay_store_query){ .kind = CAY_STORE_EVENT,
                                      .sandbox = "a",
                                      .owner = "alice",
                                      .newest_first = true,
                                      .before = last };
        ask(&f, &q);
        assert_int_equal(q.count, 2);
        assert_true(((const struct cay_store_event *)q.rows[0])->seq >
                    ((const struct cay_store_event *)q.rows[1])->seq);
        cay_store_query_done(&q);
        restart();
        assert_true(add_event("a", "again") > last);
}

static void keys_and_values(void **state)
{
        struct cay_store_batch *b = f.store->ops->begin(f.store);
        const struct cay_store_key k = { .id = "k1", .owner = "a", .label = "l", .scopes = 3, .hash = { 7 } };
        struct cay_store_query q = { .kind = CAY_STORE_KEY, .owner = "a" };
        struct cay_store_commit c;

        cay_store_put_key(f.store, b, &k);
        cay_store_put_value(f.store, b, "node", "0");
        assert_int_equal(commit_how(&f, b, CAY_STORE_SURE, &c), CAY_OK);
        ask(&f, &q);
        assert_int_equal(q.count, 1);
        assert_int_equal(((const struct cay_store_key *)q.rows[0])->hash[0], 7);
        cay_store_query_done(&q);
        b = f.store->ops->begin(f.store);
        cay_store_put_value(f.store, b, "node", "1");
        assert_int_equal(commit(&f, b), CAY_OK); /* back at the ordinary speed */
        q = (struct cay_store_query){ .kind = CAY_STORE_VALUE, .id = "node" };
        ask(&f, &q);
        assert_string_equal(((const struct cay_store_value *)q.rows[0])->value, "1");
        cay_store_query_done(&q);
}

static bool gather(void *ctx, const void *record)
{
        strncat(ctx, ((const struct cay_store_sandbox *)record)->id, 8);
        return ((const struct cay_store_sandbox *)record)->id[0] != 'c';
}

static void load_gives_all_in_order(void **state)
{
        struct cay_store_batch *b = f.store->ops->begin(f.store);
        struct cay_error err = { 0 };
        char ids[64] = "";

        for (unsigned i = 0; i < 4; i++) {
                struct cay_store_sandbox s = sample((const char *[]){ "d", "c", "b", "a" }[i]);

                s.created_wall_ms = 100 - i;
                cay_store_put_sandbox(f.store, b, &s);
        }
        assert_int_equal(commit(&f, b), CAY_OK);
        assert_int_equal(f.store->ops->load(f.store, CAY_STORE_SANDBOX, gather, ids, &err), 0);
        assert_string_equal(ids, "abc"); /* and stops when told */
}

static void what_can_not_be_stored_is_refused_whole(void **state)
{
        struct cay_store_batch *b = f.store->ops->begin(f.store);
        char *big = calloc(1, CAY_STORE_TEXT_MAX + 2);
        struct cay_store_sandbox s = sample("big");

        memset(big, 'x', CAY_STORE_TEXT_MAX + 1);
        s.env = big;
        put_sandbox(&f, b, "small");
        cay_store_put_sandbox(f.store, b, &s);
        put_sandbox(&f, b, "small2");
        assert_int_equal(commit(&f, b), CAY_LIMIT);
        big[CAY_STORE_TEXT_MAX] = '\0';
        b = f.store->ops->begin(f.store);
        for (int i = 0; i < 5; i++)
                cay_store_put_sandbox(f.store, b, &s);
        assert_int_equal(commit(&f, b), CAY_LIMIT);
        b = f.store->ops->begin(f.store);
        f.store->ops->drop(b, CAY_STORE_EVENT, "1");
        assert_int_equal(commit(&f, b), CAY_INTERNAL);
        assert_int_equal(commit(&f, NULL), CAY_INTERNAL);
        f.store->ops->abandon(f.store->ops->begin(f.store));
        f.store->ops->abandon(NULL);
        f.store->ops->put(NULL, CAY_STORE_SANDBOX, &s);
        assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, NULL, NULL), 0);
        free(big);
}

static void wrong_filters_are_refused(void **state)
{
        struct cay_store_query q = { .kind = CAY_STORE_VALUE, .sandbox = "a" };

        ask(&f, &q);
        assert_int_equal(q.job.err.code, CAY_INTERNAL);
        cay_store_query_done(&q);
        q = (struct cay_store_query){ .kind = CAY_STORE_VALUE, .after = 1 };
        ask(&f, &q);
        assert_int_equal(q.job.err.code, CAY_INTERNAL);
}

/* Names are bound, not pasted. */
static void quotes_are_only_letters(void **state)
{
        const char evil[] = "x'; DROP TABLE sandboxes; --";
        struct cay_store_batch *b = f.store->ops->begin(f.store);

        put_sandbox(&f, b, evil);
        assert_int_equal(commit(&f, b), CAY_OK);
        assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, evil, NULL), 1);
        b = f.store->ops->begin(f.store);
        f.store->ops->drop(b, CAY_STORE_SANDBOX, evil);
        assert_int_equal(commit(&f, b), CAY_OK);
        assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, NULL, NULL), 0);
}

static void two_daemons_do_not_share_a_folder(void **state)
{
        struct fixture other = f;
        struct cay_error err;

        assert_int_equal(open_store(&other, &err), -1);
        assert_int_equal(err.code, CAY_CONFLICT);
        assert_non_null(strstr(err.msg, f.folder));
        /* and the first goes on */
        assert_int_equal(add_event("a", "x") > 0, 1);
}

static void folders_of_others_are_refused(void **state)
{
        struct fixture other = f;
        struct cay_error err;

        close_store(&f);
        assert_int_equal(chmod(f.folder, 0777), 0);
        assert_int_equal(open_store(&other, &err), -1);
        assert_int_equal(err.code, CAY_DENIED);
        assert_int_equal(chmod(f.folder, 0700), 0);
        snprintf(other.folder, sizeof(other.folder), "/tmp/cay-store-absent");
        assert_int_equal(open_store(&other, &err), -1);
        assert_int_equal(err.code, CAY_NOT_FOUND);
}

/* Closing with work in the queue: it is done, and told. */
static void close_stores_what_was_committed(void **state)
{
        struct cay_store_commit c[50] = { 0 };
        struct cay_store_query q[20] = { 0 };

        for (unsigned i = 0; i < 50; i++) {
                struct cay_store_batch *b = f.store->ops->begin(f.store);
                char id[8];

                snprintf(id, sizeof(id), "b%u", i);
                put_sandbox(&f, b, id);
                cay_job_init(&c[i].job, on_waited);
                f.store->ops->commit(f.store, b, CAY_STORE_FAST, &c[i]);
        }
        for (unsigned i = 0; i < 20; i++) {
                q[i].kind = CAY_STORE_SANDBOX;
                cay_job_init(&q[i].job, on_waited);
                f.store->ops->query(f.store, &q[i]);
        }
        close_store(&f);
        for (unsigned i = 0; i < 50; i++) {
                wait_for(&f, &c[i].job);
                assert_int_equal(c[i].job.err.code, CAY_OK);
        }
        for (unsigned i = 0; i < 20; i++) {
                wait_for(&f, &q[i].job);
                assert_true(q[i].job.err.code == CAY_OK || q[i].job.err.code == CAY_UNAVAILABLE);
                cay_store_query_done(&q[i]);
        }
        must_open(&f);
        assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, NULL, NULL), 50);
}

/* More than the queue takes: the rest is refused, and what was taken is stored. */
static void the_queue_is_bounded(void **state)
{
        enum { MANY = 20000 };
        struct cay_store_commit *c = calloc(MANY, sizeof(*c));
        unsigned ok = 0, refused = 0;
        struct cay_store_health h;

        for (unsigned i = 0; i < MANY; i++) {
                struct cay_store_batch *b = f.store->ops->begin(f.store);
                char id[16];

                snprintf(id, sizeof(id), "v%u", i);
                cay_store_put_value(f.store, b, id, "x");
                cay_job_init(&c[i].job, on_waited);
                f.store->ops->commit(f.store, b, CAY_STORE_FAST, &c[i]);
        }
        for (unsigned i = 0; i < MANY; i++) {
                wait_for(&f, &c[i].job);
                ok += c[i].job.err.code == CAY_OK;
                refused += c[i].job.err.code == CAY_LIMIT;
        }
        assert_int_equal(ok + refused, MANY);
        assert_true(ok >= 4096);
        f.store->ops->health(f.store, &h);
        assert_int_equal(h.commits, ok);
        assert_true(h.groups < h.commits); /* written in groups */
        assert_int_equal(h.queued, 0);
        assert_false(h.is_full);
        assert_true(h.file_bytes > 0);
        free(c);
}

/* Readers while the writer writes: each sees a whole batch or nothing of it. */
static void reads_see_whole_batches(void **state)
{
        enum { ROUNDS = 200 };

        for (unsigned i = 0; i < ROUNDS; i++) {
                struct cay_store_batch *b = f.store->ops->begin(f.store);
                struct cay_store_commit c = { 0 };
                struct cay_store_query q[4] = { 0 };
                char one[16], two[16];

                snprintf(one, sizeof(one), "one%u", i);
                snprintf(two, sizeof(two), "two%u", i);
                put_sandbox(&f, b, one);
                put_sandbox(&f, b, two);
                cay_job_init(&c.job, on_waited);
                f.store->ops->commit(f.store, b, CAY_STORE_FAST, &c);
                for (unsigned k = 0; k < 4; k++) {
                        q[k].kind = CAY_STORE_SANDBOX;
                        cay_job_init(&q[k].job, on_waited);
                        f.store->ops->query(f.store, &q[k]);
                }
                for (unsigned k = 0; k < 4; k++) {
                        wait_for(&f, &q[k].job);
                        assert_int_equal(q[k].count % 2, 0);
                        cay_store_query_done(&q[k]);
                }
                wait_for(&f, &c.job);
                assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, NULL, NULL),
                                 2 * i + 2); /* what is finished is seen */
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                STORE_TEST(a_new_store_is_private),
                STORE_TEST(sandboxes_come_back_as_they_were),
                STORE_TEST(a_sandbox_goes_with_its_execs),
                STORE_TEST(a_claim_is_taken_once),
                STORE_TEST(eight_claims_at_once),
                STORE_TEST(events_are_numbered_and_paged),
                STORE_TEST(keys_and_values),
                STORE_TEST(load_gives_all_in_order),
                STORE_TEST(what_can_not_be_stored_is_refused_whole),
                STORE_TEST(wrong_filters_are_refused),
                STORE_TEST(quotes_are_only_letters),
                STORE_TEST(two_daemons_do_not_share_a_folder),
                STORE_TEST(folders_of_others_are_refused),
                STORE_TEST(close_stores_what_was_committed),
                STORE_TEST(the_queue_is_bounded),
                STORE_TEST(reads_see_whole_batches),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
