/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and listing: pages that stay right, filters, clean-up. */
#include "unit/domain/sandboxes/service_test.h"

static void put_stopped(struct test *t, unsigned i)
{
        struct cay_store_batch *b = t->store->store.ops->begin(&t->store->store);
        struct cay_store_commit commit = { 0 };
        char id[40], labels[40];
        struct cay_store_sandbox r = { .id = id,
                                       .owner = i % 10 == 0 ? "you" : "me",
                                       .template_name = i % 2 ? "host" : "other",
                                       .engine = "fake",
                                       .labels = labels,
                                       .state = "stopped",
                                       .created_wall_ms = 1600000000000 + i / 3 };

        snprintf(id, sizeof(id), "box%04u", i * 7919 % 1000);
        snprintf(labels, sizeof(labels), "{\"n\":\"%u\"}", i % 4);
        cay_store_put_sandbox(&t->store->store, b, &r);
        t->store->store.ops->commit(&t->store->store, b, CAY_STORE_FAST, &commit);
        settle(t);
}

static int setup_many(void **state)
{
        struct test *t;

        setup(state);
        t = *state;
        service_close(t);
        for (unsigned i = 0; i < 1000; i++)
                put_stopped(t, i);
        service_open(t);
        return 0;
}

struct seen {
        unsigned count;
        char last[CAY_NAME_MAX + 1];
        uint64_t last_created;
        bool back;
        bool hit[1000];
};

static void each(void *ctx, const struct cay_sandbox_view *view)
{
        struct seen *s = ctx;
        unsigned n = (unsigned)strtoul(view->id + 3, NULL, 10);

        if (s->count > 0 && !s->back)
                assert_true(view->created_wall_ms > s->last_created ||
                            (view->created_wall_ms == s->last_created && strcmp(view->id, s->last) > 0));
        if (s->count > 0 && s->back)
                assert_true(view->created_wall_ms < s->last_created ||
                            (view->created_wall_ms == s->last_created && strcmp(view->id, s->last) < 0));
        snprintf(s->last, sizeof(s->last), "%s", view->id);
        s->last_created = view->created_wall_ms;
        if (strncmp(view->id, "box", 3) == 0) {
                assert_false(s->hit[n]);
                s->hit[n] = true;
        }
        s->count++;
}

static void pages(void **state)
{
        struct test *t = *state;

        for (unsigned size = 1; size < 1200; size = size * 3 + 4) {
                char cursor[CAY_SERVICE_CURSOR_MAX] = "";
                struct seen seen = { .back = size % 2 };
                struct cay_sandbox_filter filter = { .newest_first = seen.back };
                struct cay_error err = { 0 };
                unsigned before, got = 0;

                do {
                        before = seen.count;
                        assert_int_equal(cay_service_list(t->service, &root, &filter, cursor, size, each,
                                                          &seen, cursor, &err),
                                         0);
                        assert_true(seen.count - before <= size);
                        got++;
                } while (cursor[0] != '\0');
                assert_int_equal(seen.count, 1000);
                assert_int_equal(got, size >= 1000 ? 1 : (1000 + size - 1) / size);
        }
}

static void a_cursor_survives(void **state)
{
        struct test *t = *state;
        char cursor[CAY_SERVICE_CURSOR_MAX] = "";
        struct seen seen = { 0 };
        struct cay_error err = { 0 };
        char id[CAY_NAME_MAX + 1];

        assert_int_equal(cay_service_list(t->service, &root, NULL, NULL, 100, each, &seen, cursor, &err), 0);
        assert_int_equal(seen.count, 100);
        assert_int_equal(change(t, destroy, seen.last), CAY_OK); /* the very one that the cursor names */
        create(t, id);
        restart(t);
        assert_int_equal(cay_service_list(t->service, &root, NULL, cursor, 0, each, &seen, cursor, &err), 0);
        assert_int_equal(seen.count, 1001);
        assert_string_equal(seen.last, id);
        assert_string_equal(cursor, "");
        for (unsigned i = 0; i < 5; i++) {
                static const char *const bad[] = { "x", "12", "-", "12-", "99999999999999999999999-a" };

                assert_int_equal(
                        cay_service_list(t->service, &me, NULL, bad[i], 0, each, &seen, cursor, &err), -1);
                assert_int_equal(err.code, CAY_INVALID);
        }
}

static unsigned count(struct test *t, const struct cay_viewer *v, const struct cay_sandbox_filter *f)
{
        char cursor[CAY_SERVICE_CURSOR_MAX];
        struct seen seen = { 0 };
        struct cay_error err = { 0 };

        assert_int_equal(cay_service_list(t->service, v, f, NULL, 0, each, &seen, cursor, &err), 0);
        return seen.count;
}

static void filters(void **state)
{
        struct test *t = *state;
        struct cay_field_pair label = { "n", "2" }, any = { "n", NULL }, none = { "m", NULL };
        struct cay_sandbox_filter f = { 0 };
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        assert_int_equal(count(t, &me, NULL), 901);
        assert_int_equal(count(t, &you, NULL), 100);
        assert_int_equal(count(t, &root, NULL), 1000); /* a page, at most */
        f.states = 1u << CAY_STATE_READY;
        assert_int_equal(count(t, &me, &f), 1);
        f = (struct cay_sandbox_filter){ .template_name = "other" };
        assert_int_equal(count(t, &me, &f), 400);
        f = (struct cay_sandbox_filter){ .labels = { &label, 1 } };
        assert_int_equal(count(t, &root, &f), 250);
        f.labels.pairs = &any;
        assert_int_equal(count(t, &me, &f), 900);
        f.labels.pairs = &none;
        assert_int_equal(count(t, &me, &f), 0);
        f = (struct cay_sandbox_filter){ .name = "nobody" };
        assert_int_equal(count(t, &me, &f), 0);
        f = (struct cay_sandbox_filter){ .older_ms = 1000 };
        assert_int_equal(count(t, &me, &f), 900);
        t->wall_ms += 1000;
        assert_int_equal(count(t, &me, &f), 901);
        f = (struct cay_sandbox_filter){ .idle_ms = 500, .states = 1u << CAY_STATE_READY };
        assert_int_equal(count(t, &me, &f), 0);
        t->store->now_ms += 500;
        assert_int_equal(count(t, &me, &f), 1);
}

static void clean(struct test *t, const struct cay_sandbox_filter *f, bool dry, struct cay_service_cleanup *c)
{
        *c = (struct cay_service_cleanup){ 0 };
        cay_job_init(&c->job, NULL);
        cay_service_cleanup(t->service, &me, f, dry, c);
        assert_false(c->job.done && !c->job.queued);
        wait_for(t, c->job.done && !c->job.queued);
}

static void cleanup(void **state)
{
        struct test *t = *state;
        struct cay_field_pair label = { "n", "2" };
        struct cay_sandbox_filter f = { 0 };
        struct cay_service_cleanup c;
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        clean(t, &f, false, &c);
        assert_int_equal(c.job.err.code, CAY_INVALID);
        cay_service_cleanup_done(&c);
        f.labels = (struct cay_field_map){ &label, 1 };
        clean(t, &f, true, &c);
        assert_int_equal(c.job.err.code, CAY_OK);
        assert_int_equal(c.count, 200); /* of mine */
        assert_int_equal(c.gone, 0);
        assert_true(exists(t, c.ids[199]));
        cay_service_cleanup_done(&c);
        clean(t, &f, false, &c);
        assert_int_equal(c.gone, 200);
        assert_int_equal(c.failed, 0);
        assert_false(exists(t, c.ids[0]));
        cay_service_cleanup_done(&c);
        assert_int_equal(count(t, &me, NULL), 701);
        f = (struct cay_sandbox_filter){ .states = 1u << CAY_STATE_READY };
        fake_plan.destroy_fails = CAY_INTERNAL;
        clean(t, &f, false, &c);
        assert_int_equal(c.failed, 1);
        assert_int_equal(c.why.code, CAY_INTERNAL);
        cay_service_cleanup_done(&c);
        fake_plan.destroy_fails = CAY_OK;
        f = (struct cay_sandbox_filter){ .older_ms = 1000 };
        clean(t, &f, false, &c);
        assert_int_equal(c.gone, 700);
        cay_service_cleanup_done(&c);
        assert_int_equal(count(t, &you, NULL), 100);
        assert_int_equal(count(t, &me, NULL), 1);
        f.older_ms = 0;
        f.name = "nothing";
        clean(t, &f, false, &c);
        assert_int_equal(c.job.err.code, CAY_OK);
        assert_int_equal(c.count, 0);
        cay_service_cleanup_done(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_many, teardown)
                TEST(pages),
                TEST(a_cursor_survives),
                TEST(filters),
                TEST(cleanup),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
