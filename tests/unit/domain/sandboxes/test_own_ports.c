/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports that the daemon answers itself: published without the engine, kept over restarts, gone with the box.
 */
#include "unit/domain/sandboxes/service_test.h"

#define OWN 18765u

static struct publisher {
        struct cay_loop *loop;
        bool fails;
        unsigned shift; /* what is wished for is taken: the answer is so much higher */
        unsigned asked, open;
        uint16_t wish; /* of the last time */
} pub;

static bool is_own(void *ctx, uint16_t inside)
{
        (void)ctx;
        return inside == OWN || inside == OWN + 1;
}

static void publish(void *ctx, const char *id, struct cay_spec_port *ports, unsigned count,
                    struct cay_job *job)
{
        struct cay_error err = { 0 };

        (void)ctx;
        (void)id;
        pub.asked++;
        pub.wish = ports[0].host;
        if (pub.fails)
                cay_fail(&err, CAY_LIMIT, "no more");
        for (unsigned i = 0; i < count && !pub.fails; i++)
                ports[i].host =
                        ports[i].host ? (uint16_t)(ports[i].host + pub.shift) : (uint16_t)(50000u + i);
        pub.open = pub.fails ? 0 : count;
        cay_job_finish(cay_loop_jobs(pub.loop), job, pub.fails ? &err : NULL);
}

static void unpublish(void *ctx, const char *id)
{
        (void)ctx;
        (void)id;
        pub.open = 0;
}

static int setup_own(void **state)
{
        struct test *t;

        setup(state);
        t = *state;
        service_close(t);
        pub = (struct publisher){ .loop = t->loop };
        t->env.is_own_port = is_own;
        t->env.publish = publish;
        t->env.unpublish = unpublish;
        service_open(t);
        return 0;
}

static struct cay_sandbox_new with_ports(const char **texts, unsigned count)
{
        struct cay_sandbox_new what = plain();

        what.ports = (struct cay_field_texts){ .items = texts, .count = count };
        return what;
}

static unsigned host_of(struct test *t, const char *id, unsigned nr)
{
        return look(t, id).ports[nr].host;
}

static void the_engine_hears_nothing_of_them(void **state)
{
        static const char *texts[] = { "18765", "8080", "6000:18766", NULL };
        struct test *t = *state;
        struct cay_sandbox_new what = with_ports(texts, 3);
        struct call c;

        assert_int_equal(try_create(t, &what, &c), CAY_INVALID); /* 8080 needs a network */
        assert_non_null(strstr(c.call.job.err.msg, "8080"));
        t->engine->caps = CAY_ENGINE_CAN_NETWORK_BRIDGE | CAY_ENGINE_CAN_PORTS | CAY_ENGINE_CAN_VOLUMES;
        what.network = CAY_NETWORK_BRIDGE;
        fake_plan.can_bridge = true;
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        assert_int_equal(fake_seen.port_count, 1);
        assert_int_equal(look(t, c.call.id).port_count, 3);
        assert_int_equal(host_of(t, c.call.id, 0), 50000);
        assert_int_equal(host_of(t, c.call.id, 1), 40000); /* the engine's word */
        assert_int_equal(host_of(t, c.call.id, 2), 6000);
}

static void they_need_no_network_and_come_again(void **state)
{
        static const char *texts[] = { "18765", NULL };
        struct test *t = *state;
        struct cay_sandbox_new what = with_ports(texts, 1);
        char id[CAY_NAME_MAX + 1];
        struct call c;

        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        memcpy(id, c.call.id, sizeof(id));
        assert_int_equal(host_of(t, id, 0), 50000);
        restart(t);
        assert_int_equal(pub.wish, 50000); /* the same again */
        assert_int_equal(host_of(t, id, 0), 50000);
        pub.shift = 3; /* somebody else has it now */
        restart(t);
        assert_int_equal(host_of(t, id, 0), 50003);
        pub.shift = 0;
        settle(t);
        restart(t);
        assert_int_equal(pub.wish, 50003); /* what it became was stored */
        assert_int_equal(change(t, stop, id), CAY_OK);
        assert_int_equal(pub.open, 0);
        assert_int_equal(host_of(t, id, 0), 0);
        pub.asked = 0;
        restart(t);
        assert_int_equal(pub.asked, 0); /* what has no box has no port */
        assert_int_equal(start(t, id), CAY_OK);
        assert_int_equal(pub.wish, 50003);
        assert_int_equal(host_of(t, id, 0), 50003);
        assert_int_equal(change(t, destroy, id), CAY_OK);
        assert_int_equal(pub.open, 0);
}

/* One owner takes all that it is given: another still gets some. */
static void owners_share_them(void **state)
{
        static const char *texts[] = { "18765", "18766", NULL };
        struct test *t = *state;
        struct cay_sandbox_new what = with_ports(texts, 2);
        char id[CAY_NAME_MAX + 1] = "";
        struct call c;
        unsigned made = 0;

        service_close(t);
        t->env.max_alive = 1000;
        service_open(t);
        for (; try_create(t, &what, &c) == CAY_OK; made++)
                memcpy(id, c.call.id, sizeof(id));
        assert_int_equal(c.call.job.err.code, CAY_LIMIT);
        assert_non_null(strstr(c.call.job.err.msg, "an owner may have half"));
        assert_int_equal(made, CAY_SERVICE_OWN_PORTS_MAX / 4);
        assert_int_equal(change(t, stop, id), CAY_OK); /* the engine of these tests has no more boxes */
        what.owner = "you";
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
}

static void without_one_nothing_is_made_and_what_there_is_lives(void **state)
{
        static const char *texts[] = { "18765", NULL };
        struct test *t = *state;
        struct cay_sandbox_new what = with_ports(texts, 1);
        char id[CAY_NAME_MAX + 1];
        struct call c;

        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        memcpy(id, c.call.id, sizeof(id));
        pub.fails = true;
        assert_int_equal(try_create(t, &what, &c), CAY_LIMIT);
        assert_int_equal(fake_engine_boxes(), 1);
        restart(t);
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
        assert_int_equal(host_of(t, id, 0), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(the_engine_hears_nothing_of_them, setup_own, teardown),
                cmocka_unit_test_setup_teardown(they_need_no_network_and_come_again, setup_own, teardown),
                cmocka_unit_test_setup_teardown(owners_share_them, setup_own, teardown),
                cmocka_unit_test_setup_teardown(without_one_nothing_is_made_and_what_there_is_lives,
                                                setup_own, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
