/* SPDX-License-Identifier: Apache-2.0 */
/* Networks, published ports, volumes and labels: on their way to the engine, back, and over restarts. */
#include "unit/domain/sandboxes/service_test.h"

#include "domain/sandboxes/service_priv.h"

static const char *port_texts[] = { "80", "3000:8080", NULL };
static const char *volume_texts[] = { "data:/data:ro", "more:/more", NULL };

static int setup_bridge(void **state)
{
        struct test *t;

        setup(state);
        t = *state;
        fake_plan.can_bridge = fake_plan.can_keep = true;
        t->engine->caps = CAY_ENGINE_CAN_NETWORK_BRIDGE | CAY_ENGINE_CAN_PORTS | CAY_ENGINE_CAN_VOLUMES |
                          CAY_ENGINE_CAN_KEEP;
        return 0;
}

static struct cay_sandbox_new bridged(void)
{
        static struct cay_field_pair label = { "colour", "blue" };
        struct cay_sandbox_new what = plain();

        what.network = CAY_NETWORK_BRIDGE;
        what.ports = (struct cay_field_texts){ .items = port_texts, .count = 2 };
        what.volumes = (struct cay_field_texts){ .items = volume_texts, .count = 2 };
        what.labels = (struct cay_field_map){ &label, 1 };
        return what;
}

static void check_seen(void)
{
        assert_true(fake_seen.bridge);
        assert_int_equal(fake_seen.port_count, 2);
        assert_int_equal(fake_seen.volume_count, 2);
        assert_string_equal(fake_seen.volume, "data");
        assert_string_equal(fake_seen.target, "/data");
        assert_true(fake_seen.read_only);
        assert_int_equal(fake_seen.label_count, 1);
        assert_string_equal(fake_seen.label, "colour");
        assert_string_equal(fake_seen.value, "blue");
}

static void check_view(struct test *t, const char *id, unsigned first, unsigned second)
{
        struct cay_sandbox_view v = look(t, id);

        assert_int_equal(v.network, CAY_NETWORK_BRIDGE);
        assert_int_equal(v.port_count, 2);
        assert_int_equal(v.ports[0].inside, 80);
        assert_int_equal(v.ports[0].host, first);
        assert_int_equal(v.ports[1].inside, 8080);
        assert_int_equal(v.ports[1].host, second);
        assert_int_equal(v.volume_count, 2);
        assert_string_equal(v.volumes[1].name, "more");
        assert_string_equal(v.volumes[1].target, "/more");
        assert_true(v.volumes[0].read_only && !v.volumes[1].read_only);
}

static void they_stay_over_stops_and_restarts(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = bridged();
        char id[CAY_NAME_MAX + 1];
        struct call c;

        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        memcpy(id, c.call.id, sizeof(id));
        check_seen();
        check_view(t, id, 40000, 3001); /* 3000 was taken, says the fake */
        restart(t);
        check_view(t, id, 40000, 3001);
        assert_int_equal(change(t, stop, id), CAY_OK);
        check_view(t, id, 0, 0);
        restart(t);
        check_view(t, id, 0, 0);
        fake_seen = (struct fake_seen){ 0 };
        assert_int_equal(start(t, id), CAY_OK);
        check_seen();
        check_view(t, id, 40000, 3001);
}

static uint64_t relinks(struct test *t)
{
        struct cay_service_health health;

        cay_service_health(t->service, &health);
        return health.relinks;
}

static void a_link_that_comes_again_tells_ports(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = bridged();
        struct call c;
        uint64_t before;

        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        before = relinks(t);
        fake_engine_cut_link(t->engine, c.call.id);
        wait_for(t, relinks(t) > before);
        check_view(t, c.call.id, 40000, 3001);
}

static void without_a_network_there_are_no_ports(void **state)
{
        static const char *twice[] = { "80", "4000:80", NULL }, *bad[] = { "http", NULL },
                          *loose[] = { "data", NULL };
        struct test *t = *state;
        struct cay_sandbox_new what = bridged();
        struct call c;

        what.network = CAY_NETWORK_NONE;
        assert_int_equal(try_create(t, &what, &c), CAY_INVALID);
        what = bridged();
        what.ports = (struct cay_field_texts){ .items = twice, .count = 2 };
        assert_int_equal(try_create(t, &what, &c), CAY_INVALID);
        what.ports = (struct cay_field_texts){ .items = bad, .count = 1 };
        assert_int_equal(try_create(t, &what, &c), CAY_INVALID);
        what = bridged();
        what.ports.count = CAY_SPEC_PORTS_MAX + 1;
        assert_int_equal(try_create(t, &what, &c), CAY_INVALID);
        what = bridged();
        what.volumes.count = CAY_SPEC_VOLUMES_MAX + 1;
        assert_int_equal(try_create(t, &what, &c), CAY_INVALID);
        what.volumes = (struct cay_field_texts){ .items = loose, .count = 1 };
        assert_int_equal(try_create(t, &what, &c), CAY_INVALID);
        assert_int_equal(fake_engine_creates(), 0);
        what = bridged(); /* volumes need none */
        what.network = CAY_NETWORK_NONE;
        what.ports.count = 0;
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        assert_false(fake_seen.bridge);
        assert_int_equal(fake_seen.volume_count, 2);
        assert_int_equal(look(t, c.call.id).network, CAY_NETWORK_NONE);
}

static void an_engine_that_cannot_is_not_asked(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = bridged();
        struct call c;

        t->engine->caps = 0;
        assert_int_equal(try_create(t, &what, &c), CAY_UNSUPPORTED);
        assert_non_null(strstr(c.call.job.err.msg, "fake engine lacks the capability 'network_bridge'"));
        t->engine->caps = CAY_ENGINE_CAN_NETWORK_BRIDGE | CAY_ENGINE_CAN_VOLUMES;
        assert_int_equal(try_create(t, &what, &c), CAY_UNSUPPORTED);
        assert_non_null(strstr(c.call.job.err.msg, "fake engine lacks the capability 'ports'"));
        t->engine->caps = CAY_ENGINE_CAN_NETWORK_BRIDGE | CAY_ENGINE_CAN_PORTS;
        what.network = CAY_NETWORK_NONE;
        what.ports.count = 0;
        assert_int_equal(try_create(t, &what, &c), CAY_UNSUPPORTED);
        assert_non_null(strstr(c.call.job.err.msg, "fake engine lacks the capability 'volumes'"));
        assert_int_equal(fake_engine_creates(), 0);
}

/* An engine whose figures have no counts is not waited for. */

/*
 * For a command that ends: ticks ask as well, when they come, for boxes at rest and whether the engine is up.
 */
static unsigned asked;
static struct cay_service *service;

static void count_stats(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job)
{
        const struct cay_sandbox *sb = cay_table_find(service, box->id);

        asked += sb != NULL && sb->running > 0;
        cay_engine_fake_ops.stats(e, box, job);
}

static void fail_once(struct test *t)
{
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];

        create(t, id);
        exec(t, id, x, "exit", "5", NULL);
        assert_int_equal(wait_end(t, id, x).exit_code, 5);
}

static void figures_without_counts_are_not_waited_for(void **state)
{
        struct cay_engine_ops ops = cay_engine_fake_ops;
        struct test *t = *state;

        ops.stats = count_stats;
        t->engine->ops = &ops;
        service = t->service;
        asked = 0;
        fail_once(t);
        assert_true(asked > 0);
        asked = 0;
        ops.lacks = CAY_ENGINE_LACKS_COUNTS;
        fail_once(t);
        assert_int_equal(asked, 0);
        t->engine->ops = &cay_engine_fake_ops;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(they_stay_over_stops_and_restarts, setup_bridge, teardown),
                cmocka_unit_test_setup_teardown(a_link_that_comes_again_tells_ports, setup_bridge, teardown),
                cmocka_unit_test_setup_teardown(without_a_network_there_are_no_ports, setup_bridge, teardown),
                cmocka_unit_test_setup_teardown(an_engine_that_cannot_is_not_asked, setup_bridge, teardown),
                cmocka_unit_test_setup_teardown(figures_without_counts_are_not_waited_for, setup_bridge,
                                                teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
