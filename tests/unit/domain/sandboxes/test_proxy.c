/* SPDX-License-Identifier: Apache-2.0 */
/* The way out by a proxy: connections of a sandbox reach the broker, with all their bytes and their ends. */
#include "unit/domain/sandboxes/service_test.h"
#include "domain/sandboxes/proxy.h"

#include <errno.h>
#include <sys/socket.h>

#define POLICY "template public\nown list\nallow a.example\n"
#define MANY 400000u
#define MUCH 250000u

static struct {
        struct cay_network_broker broker;
        struct test *test;
        unsigned added, changed, dropped, connected;
        bool has;
        int fds[CAY_PROXIED_MAX + 1]; /* of what was connected */
} fake;

static void finish(struct cay_job *job)
{
        if (job != NULL)
                cay_job_finish(cay_loop_jobs(fake.test->loop), job, NULL);
}

static void add_take(struct cay_network_broker *n, const char *id, int fd, const char *policy,
                     const struct cay_limits *limits, struct cay_job *job)
{
        assert_int_equal(fd, -1); /* there are no sockets */
        assert_string_equal(policy, POLICY);
        fake.added++;
        fake.has = true;
        finish(job);
}

static void connect_take(struct cay_network_broker *n, const char *id, int fd)
{
        assert_true(fake.connected < CAY_COUNT(fake.fds));
        fake.fds[fake.connected++] = fd;
}

static void change_policy(struct cay_network_broker *n, const char *id, const char *policy,
                          const struct cay_limits *limits, struct cay_job *job)
{
        fake.changed++;
        finish(job);
}

static void set_secrets(struct cay_network_broker *n, const char *id, const char *text, size_t len)
{
}

static void drop(struct cay_network_broker *n, const char *id)
{
        fake.dropped++;
        fake.has = false;
}

static bool has(struct cay_network_broker *n, const char *id)
{
        return fake.has;
}

static void each(struct cay_network_broker *n, void (*told)(void *ctx, const char *id), void *ctx)
{
}

static bool is_ready(struct cay_network_broker *n)
{
        return true;
}

static void on_entry(struct cay_network_broker *n,
                     void (*entry)(void *ctx, const char *id, const struct cay_network_entry *e), void *ctx)
{
}

static void on_ready(struct cay_network_broker *n, void (*ready)(void *ctx), void *ctx)
{
}

static const struct cay_network_ops ops = {
        .add_take = add_take,
        .connect_take = connect_take,
        .change = change_policy,
        .set_secrets = set_secrets,
        .drop = drop,
        .has = has,
        .each = each,
        .is_ready = is_ready,
        .on_entry = on_entry,
        .on_ready = on_ready,
};

static int set_up(void **state)
{
        struct test *t;

        setup(state);
        t = *state;
        memset(&fake, 0, sizeof(fake));
        fake.broker.ops = &ops;
        fake.test = t;
        t->engine->caps |= CAY_ENGINE_CAN_PROXY;
        t->env.network = &fake.broker;
        restart(t);
        return 0;
}

static int tear_down(void **state)
{
        for (unsigned i = 0; i < fake.connected; i++)
                if (fake.fds[i] >= 0)
                        close(fake.fds[i]);
        return teardown(state);
}

static void make(struct test *t, char id[CAY_NAME_MAX + 1])
{
        struct cay_sandbox_new what = plain();
        struct call c;

        what.network = CAY_NETWORK_LIST;
        what.policy = POLICY;
        if (try_create(t, &what, &c) != CAY_OK)
                fail_msg("create: %s", c.call.job.err.msg);
        memcpy(id, c.call.id, CAY_NAME_MAX + 1);
}

/* What the other end says within some rounds: bytes, 0 at its end. */
static ssize_t hear(struct test *t, int fd, char *bytes, size_t len)
{
        ssize_t n = -1;

        wait_for(t, (n = recv(fd, bytes, len, MSG_DONTWAIT)) >= 0 || errno != EAGAIN);
        return n;
}

static void bytes_and_ends_pass(void **state)
{
        static char block[65536];
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];
        size_t sent = 0, got = 0;

        fake_plan.script.accept_most = 2;
        make(t, id);
        wait_for(t, fake.connected == 2);
        settle(t);
        assert_int_equal(fake.connected, 2); /* the third waits */
        assert_int_equal(fake.added, 1);
        memset(block, 'x', sizeof(block));
        while (got < MANY) { /* what goes in comes back: both directions, with more than a window */
                ssize_t n = sent < MANY ? send(fake.fds[0], block,
                                               MANY - sent < sizeof(block) ? MANY - sent : sizeof(block),
                                               MSG_DONTWAIT | MSG_NOSIGNAL)
                                        : 0;

                sent += n > 0 ? (size_t)n : 0;
                assert_int_equal(cay_loop_round(t->loop, 1), 0);
                n = recv(fake.fds[0], block, sizeof(block), MSG_DONTWAIT);
                got += n > 0 ? (size_t)n : 0;
        }
        assert_int_equal(got, MANY);
        shutdown(fake.fds[0], SHUT_WR);
        assert_int_equal(hear(t, fake.fds[0], block, 1), 0);
        assert_int_equal(send(fake.fds[1], "on", 2, 0), 2); /* the other one goes on */
        assert_int_equal(hear(t, fake.fds[1], block, 2), 2);
        assert_int_equal(change(t, destroy, id), CAY_OK);
        assert_int_equal(hear(t, fake.fds[1], block, 1), 0);
        assert_int_equal(fake.dropped, 1);
}

static void what_is_not_read_waits(void **state)
{
        static char block[65536];
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];
        size_t sent = 0, got = 0;
        ssize_t n;

        fake_plan.script.accept_most = 1;
        make(t, id);
        wait_for(t, fake.connected == 1);
        while (sent < MUCH) { /* nobody reads what comes back: more than a socket holds, less than a window */
                n = send(fake.fds[0], block, MUCH - sent < sizeof(block) ? MUCH - sent : sizeof(block),
                         MSG_DONTWAIT | MSG_NOSIGNAL);
                sent += n > 0 ? (size_t)n : 0;
                assert_int_equal(cay_loop_round(t->loop, 1), 0);
        }
        settle(t);
        while (got < sent) {
                n = hear(t, fake.fds[0], block, sizeof(block));
                assert_true(n > 0);
                got += (size_t)n;
        }
        assert_int_equal(change(t, destroy, id), CAY_OK);
}

/*
 * A sandbox that an older daemon left: it cannot have a proxy, all else works, and whoever asks for one is
 * told what to do.
 */
static void an_older_init_has_none(void **state)
{
        const struct cay_network_change rules = { .network = CAY_NETWORK_LIST, .policy = POLICY };
        struct test *t = *state;
        struct cay_service_health health;
        char id[CAY_NAME_MAX + 1];
        struct call c;

        fake_plan.script.accept_most = 1;
        fake_plan.script.knows_no_kinds = true;
        create(t, id);
        settle(t);
        call_init(&c);
        cay_service_network_update(t->service, &me, id, &rules, &c.call);
        assert_int_equal(call_wait(t, &c), CAY_CONFLICT);
        assert_non_null(strstr(c.call.job.err.msg, "stop the sandbox and start it"));
        settle(t);
        assert_int_equal(fake.added + fake.connected, 0);
        assert_int_equal(change(t, destroy, id), CAY_OK);
        /* One that has rules already keeps its link. */
        make(t, id);
        settle(t);
        assert_int_equal(fake.added, 1);
        assert_int_equal(fake.connected, 0);
        cay_service_health(t->service, &health);
        assert_int_equal(health.relinks, 0);
        assert_int_equal(health.links_lost, 0);
        assert_int_equal(change(t, destroy, id), CAY_OK);
}

static void there_is_a_limit(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];

        fake_plan.script.accept_most = 1000;
        make(t, id);
        wait_for(t, fake.connected == CAY_PROXIED_MAX);
        settle(t);
        assert_int_equal(fake.connected, CAY_PROXIED_MAX);
        shutdown(fake.fds[0], SHUT_WR); /* one ends: there is room for the next */
        wait_for(t, fake.connected == CAY_PROXIED_MAX + 1);
        assert_int_equal(change(t, destroy, id), CAY_OK);
}

static void the_next_front_goes_on(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], byte;

        fake_plan.script.accept_most = 1;
        make(t, id);
        wait_for(t, fake.connected == 1);
        service_close(t);
        assert_int_equal(hear(t, fake.fds[0], &byte, 1), 0); /* its bytes passed through the one before */
        fake_plan.script.accept_most = 2;
        service_open(t);
        wait_for(t, fake.connected == 2);
        assert_int_equal(send(fake.fds[1], "y", 1, 0), 1);
        assert_int_equal(hear(t, fake.fds[1], &byte, 1), 1);
        assert_int_equal(change(t, destroy, id), CAY_OK);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(bytes_and_ends_pass, set_up, tear_down),
                cmocka_unit_test_setup_teardown(what_is_not_read_waits, set_up, tear_down),
                cmocka_unit_test_setup_teardown(there_is_a_limit, set_up, tear_down),
                cmocka_unit_test_setup_teardown(an_older_init_has_none, set_up, tear_down),
                cmocka_unit_test_setup_teardown(the_next_front_goes_on, set_up, tear_down),
        };

        return cmocka_run_group_tests_name("sandboxes/proxy", tests, NULL, NULL);
}
