/* SPDX-License-Identifier: Apache-2.0 */
/* No table grows for ever: claims, events, ended execs. */

#include "unit/daemon/store/store_test.h"

#include "daemon/store/db.h"

static struct fixture f;

static int64_t number(const char *sql)
{
        struct cay_db db;
        struct cay_error err;
        char path[256];
        int64_t n = -1;

        file_path(&f, "state.db", path);
        assert_int_equal(cay_db_open(&db, path, CAY_DB_READ, &err), 0);
        if (cay_db_number(&db, sql, &n, &err) < 0)
                fail_msg("%s", err.msg);
        cay_db_close(&db);
        return n;
}

static void claims_of(const char *owner, unsigned from, unsigned count)
{
        enum { AT_ONCE = 1000 };

        for (unsigned i = 0; i < count;) {
                struct cay_store_batch *b = f.store->ops->begin(f.store);

                for (unsigned k = 0; k < AT_ONCE && i < count; k++, i++) {
                        char key[24];
                        const struct cay_store_claim c = { .owner = owner, .key = key, .result = "r" };

                        snprintf(key, sizeof(key), "k%u", from + i);
                        cay_store_put_claim(f.store, b, &c);
                }
                assert_int_equal(commit(&f, b), CAY_OK);
        }
}

static void claims_are_bounded_and_fair(void **state)
{
        claims_of("small", 0, 10);
        f.clock.now.boot_ms++;
        claims_of("big", 0, CAY_STORE_CLAIMS_MAX - 10);
        assert_int_equal(number("SELECT count(*) FROM claims"), CAY_STORE_CLAIMS_MAX);
        /* The big one goes on: its own oldest go, not the small one's, though those are older. */
        f.clock.now.boot_ms++;
        claims_of("big", CAY_STORE_CLAIMS_MAX, 2500);
        assert_true(number("SELECT count(*) FROM claims") <= CAY_STORE_CLAIMS_MAX);
        assert_int_equal(number("SELECT count(*) FROM claims WHERE owner = 'small'"), 10);
        assert_int_equal(
                number("SELECT count(*) FROM claims WHERE created_ms = (SELECT max(created_ms) FROM claims)"),
                2500);
        /* The count is found again after a restart. */
        close_store(&f);
        must_open(&f);
        f.clock.now.boot_ms++;
        claims_of("third", 0, 1500);
        assert_true(number("SELECT count(*) FROM claims") <= CAY_STORE_CLAIMS_MAX);
        assert_int_equal(number("SELECT count(*) FROM claims WHERE owner = 'third'"), 1500);
        /* A day later all are over; they go with the next few hundred. */
        f.clock.now.boot_ms += CAY_STORE_CLAIM_MS;
        claims_of("late", 0, 300);
        assert_int_equal(number("SELECT count(*) FROM claims"), 300);
}

/* Nobody is big: the oldest of all go. */
static void many_small_owners_lose_the_oldest(void **state)
{
        for (unsigned i = 0; i < 68; i++) {
                char owner[16];

                snprintf(owner, sizeof(owner), "o%u", i);
                claims_of(owner, 0, 1500);
                f.clock.now.boot_ms++;
        }
        assert_true(number("SELECT count(*) FROM claims") <= CAY_STORE_CLAIMS_MAX);
        assert_true(number("SELECT count(*) FROM claims WHERE owner = 'o0'") <= 500);
        assert_int_equal(number("SELECT count(*) FROM claims WHERE owner = 'o67'"), 1500);
}

static void events_of(const char *owner, unsigned count)
{
        enum { AT_ONCE = 1000 };

        for (unsigned i = 0; i < count;) {
                struct cay_store_batch *b = f.store->ops->begin(f.store);

                for (unsigned k = 0; k < AT_ONCE && i < count; k++, i++) {
                        const struct cay_store_event e = {
                                .sandbox = "s", .owner = owner, .kind = "k", .detail = "{}"
                        };

                        cay_store_put_event(f.store, b, &e);
                }
                assert_int_equal(commit(&f, b), CAY_OK);
        }
}

static void events_are_bounded_by_count_and_age(void **state)
{
        events_of("one", CAY_STORE_EVENTS_MAX + 2000);
        assert_in_range(number("SELECT count(*) FROM events"), CAY_STORE_EVENTS_MAX - 2000,
                        CAY_STORE_EVENTS_MAX + 256);
        assert_true(number("SELECT min(seq) FROM events") > 1);
        f.clock.now.boot_ms += CAY_STORE_EVENT_MS + 1;
        events_of("one", 300);
        assert_int_equal(number("SELECT count(*) FROM events"), 300);
        assert_int_equal(number("SELECT max(seq) FROM events"),
                         CAY_STORE_EVENTS_MAX + 2300); /* numbers never repeat */
}

static void events_of_others_stay(void **state)
{
        events_of("calm", 20);
        events_of("loud", CAY_STORE_EVENTS_MAX + 3000);
        assert_true(number("SELECT count(*) FROM events") <= CAY_STORE_EVENTS_MAX + 256);
        assert_int_equal(number("SELECT count(*) FROM events WHERE owner = 'calm'"), 20);
        assert_int_equal(number("SELECT max(seq) FROM events WHERE owner = 'loud'"),
                         CAY_STORE_EVENTS_MAX + 3020); /* the newest of all are there */
        /* How many there are is found again after a restart. */
        close_store(&f);
        must_open(&f);
        events_of("third", 3000);
        assert_true(number("SELECT count(*) FROM events") <= CAY_STORE_EVENTS_MAX + 256);
        assert_int_equal(number("SELECT count(*) FROM events WHERE owner = 'calm'"), 20);
        assert_int_equal(number("SELECT count(*) FROM events WHERE owner = 'third'"), 3000);
}

static void ended_execs_are_bounded(void **state)
{
        struct cay_store_batch *b = f.store->ops->begin(f.store);

        for (unsigned i = 0; i < CAY_STORE_EXECS_MAX + 200; i++) {
                char id[16];
                const struct cay_store_exec e = {
                        .id = id, .sandbox = "s", .started_wall_ms = i + 1, .ended_wall_ms = i < 5 ? 0 : i + 2
                };

                snprintf(id, sizeof(id), "e%u", i);
                cay_store_put_exec(f.store, b, &e);
        }
        assert_int_equal(commit(&f, b), CAY_OK);
        assert_in_range(number("SELECT count(*) FROM execs WHERE ended_wall_ms > 0"), CAY_STORE_EXECS_MAX,
                        CAY_STORE_EXECS_MAX + 32);
        assert_int_equal(number("SELECT count(*) FROM execs WHERE ended_wall_ms = 0"),
                         5); /* the living stay */
        assert_int_equal(number("SELECT max(started_wall_ms) FROM execs"), CAY_STORE_EXECS_MAX + 200);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                STORE_TEST(claims_are_bounded_and_fair),
                STORE_TEST(many_small_owners_lose_the_oldest),
                STORE_TEST(events_are_bounded_by_count_and_age),
                STORE_TEST(events_of_others_stay),
                STORE_TEST(ended_execs_are_bounded),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
