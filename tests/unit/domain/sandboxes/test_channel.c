/* SPDX-License-Identifier: Apache-2.0 */
/* Doors for files and ports: bytes come through, states are checked, idle clocks are held, ends are clean. */
#include "unit/domain/sandboxes/service_test.h"

struct side {
        struct cay_service_channel ch;
        size_t got;
        unsigned opened, eofs, ends;
        bool had_end;
        struct cay_error err;
        bool closes; /* itself, at its first bytes */
};

static void on_data(struct cay_service_channel *ch, const void *bytes, size_t len)
{
        struct side *d = cay_container_of(ch, struct side, ch);

        d->got += len;
        cay_service_channel_ack(ch, len);
        if (d->closes)
                cay_service_channel_close(ch);
}

static void on_opened(struct cay_service_channel *ch)
{
        cay_container_of(ch, struct side, ch)->opened++;
}

static void on_eof(struct cay_service_channel *ch)
{
        cay_container_of(ch, struct side, ch)->eofs++;
}

static void on_end(struct cay_service_channel *ch, const struct cay_box_end *end, const struct cay_error *err)
{
        struct side *d = cay_container_of(ch, struct side, ch);

        d->ends++;
        d->had_end = end != NULL;
        d->err = *err;
}

static struct side fresh(void)
{
        return (struct side){
                .ch = { .on_data = on_data, .on_opened = on_opened, .on_eof = on_eof, .on_end = on_end }
        };
}

static struct cay_box_open reading(const char *path)
{
        return (struct cay_box_open){ .kind = CAY_BOX_READ,
                                      .file = { .uid = CAY_BOX_ID_DEFAULT,
                                                .gid = CAY_BOX_ID_DEFAULT,
                                                .path = { path, (uint32_t)strlen(path) } } };
}

static void reads(void **state)
{
        struct test *t = *state;
        struct cay_box_open open = reading("/etc/passwd");
        struct cay_error err = { 0 };
        struct side d = fresh();
        char id[CAY_NAME_MAX + 1];

        fake_plan.script.passwd = "root:x:0:0::/:/bin/sh\n";
        create(t, id);
        assert_int_equal(cay_service_channel_open(t->service, &me, id, &open, &d.ch, &err), 0);
        assert_int_equal(look(t, id).channels, 1);
        wait_for(t, d.ends > 0);
        assert_int_equal(d.got, strlen(fake_plan.script.passwd));
        assert_int_equal(d.opened, 1);
        assert_int_equal(d.eofs, 1);
        assert_true(d.had_end);
        assert_int_equal(d.err.code, CAY_OK);
        assert_int_equal(look(t, id).channels, 0);
        cay_service_channel_close(&d.ch); /* fine */
        fake_plan.script.passwd = NULL;
        d = fresh();
        assert_int_equal(cay_service_channel_open(t->service, &me, id, &open, &d.ch, &err), 0);
        wait_for(t, d.ends > 0);
        assert_true(d.had_end);
        assert_int_equal(d.err.code, CAY_NOT_FOUND);
        fake_plan.script.passwd = "x";
        d = fresh();
        d.closes = true;
        assert_int_equal(cay_service_channel_open(t->service, &me, id, &open, &d.ch, &err), 0);
        wait_for(t, d.got > 0);
        settle(t);
        assert_int_equal(d.ends, 0);
}

static void refused(void **state)
{
        struct test *t = *state;
        struct cay_box_open open = reading("/x");
        struct cay_error err = { 0 };
        struct side d = fresh();
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        open.kind = CAY_BOX_EXEC;
        assert_int_equal(cay_service_channel_open(t->service, &me, id, &open, &d.ch, &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
        open = reading("");
        assert_int_equal(cay_service_channel_open(t->service, &me, id, &open, &d.ch, &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
        open = reading("/x");
        assert_int_equal(cay_service_channel_open(t->service, &me, "nobody", &open, &d.ch, &err), -1);
        assert_int_equal(err.code, CAY_NOT_FOUND);
        assert_int_equal(change(t, stop, id), CAY_OK);
        assert_int_equal(cay_service_channel_open(t->service, &me, id, &open, &d.ch, &err), -1);
        assert_int_equal(err.code, CAY_CONFLICT);
        assert_int_equal(d.ends, 0);
}

static void ends_with_its_sandbox(void **state)
{
        struct test *t = *state;
        struct cay_box_open open = reading("/etc/passwd");
        struct cay_error err = { 0 };
        struct side ports[3] = { fresh(), fresh(), fresh() };
        char id[CAY_NAME_MAX + 1];

        fake_plan.script.passwd = "x";
        fake_plan.script.mute = false;
        for (unsigned i = 0; i < 3; i++) {
                create(t, id);
                settle(t);
                fake_plan.script.mute = true; /* nothing more comes */
                assert_int_equal(cay_service_channel_open(t->service, &me, id, &open, &ports[i].ch, &err), 0);
                if (i == 0)
                        assert_int_equal(change(t, stop, id), CAY_OK);
                if (i == 1)
                        assert_int_equal(change(t, destroy, id), CAY_OK);
                if (i == 2)
                        fake_engine_vanish(t->engine, id, true);
                wait_for(t, ports[i].ends > 0);
                assert_int_equal(ports[i].ends, 1);
                assert_false(ports[i].had_end);
                assert_int_equal(ports[i].err.code, i == 1 ? CAY_NOT_FOUND : CAY_CONFLICT);
                fake_plan.script.mute = false;
                settle(t);
        }
}

static void holds_the_idle_clock(void **state)
{
        struct test *t = *state;
        struct cay_box_open open = reading("/etc/passwd");
        struct cay_sandbox_new what = plain();
        struct cay_error err = { 0 };
        struct side d = fresh();
        struct call c;

        what.idle_ms = 1000;
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        settle(t);
        fake_plan.script.mute = true;
        assert_int_equal(cay_service_channel_open(t->service, &me, c.call.id, &open, &d.ch, &err), 0);
        t->store->now_ms += 5000;
        cay_service_tick(t->service);
        settle(t);
        assert_true(exists(t, c.call.id));
        cay_service_channel_close(&d.ch);
        t->store->now_ms += 999;
        cay_service_tick(t->service);
        settle(t);
        assert_true(exists(t, c.call.id));
        t->store->now_ms += 1;
        cay_service_tick(t->service);
        settle(t);
        assert_false(exists(t, c.call.id));
}

static void too_many(void **state)
{
        struct test *t = *state;
        struct cay_box_open open = reading("/etc/passwd");
        static struct side ports[CAY_SERVICE_CHANNELS_MAX + 1];
        struct cay_error err = { 0 };
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        settle(t);
        fake_plan.script.mute = true;
        for (unsigned i = 0; i < CAY_SERVICE_CHANNELS_MAX; i++) {
                ports[i] = fresh();
                assert_int_equal(cay_service_channel_open(t->service, &me, id, &open, &ports[i].ch, &err), 0);
        }
        assert_int_equal(cay_service_channel_open(t->service, &me, id, &open,
                                                  &ports[CAY_SERVICE_CHANNELS_MAX].ch, &err),
                         -1);
        assert_int_equal(err.code, CAY_LIMIT);
        for (unsigned i = 0; i < CAY_SERVICE_CHANNELS_MAX; i++)
                cay_service_channel_close(&ports[i].ch);
        assert_int_equal(look(t, id).channels, 0);
}

/* Connections take no place of a transfer, and the other way round. */
static void ports_have_places_of_their_own(void **state)
{
        struct test *t = *state;
        struct cay_box_open open = reading("/etc/passwd");
        const struct cay_box_open port = { .kind = CAY_BOX_CONNECT, .connect.port = 80 };
        static struct side ports[CAY_SERVICE_PORTS_MAX + 2];
        struct cay_error err = { 0 };
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        settle(t);
        fake_plan.script.mute = true;
        for (unsigned i = 0; i < CAY_COUNT(ports); i++)
                ports[i] = fresh();
        for (unsigned i = 0; i < CAY_SERVICE_PORTS_MAX; i++)
                assert_int_equal(cay_service_channel_open(t->service, &me, id, &port, &ports[i].ch, &err), 0);
        assert_int_equal(cay_service_channel_open(t->service, &me, id, &port,
                                                  &ports[CAY_SERVICE_PORTS_MAX].ch, &err),
                         -1);
        assert_int_equal(err.code, CAY_LIMIT);
        assert_non_null(strstr(err.msg, "256 connections"));
        assert_int_equal(cay_service_channel_open(t->service, &me, id, &open,
                                                  &ports[CAY_SERVICE_PORTS_MAX + 1].ch, &err),
                         0);
        for (unsigned i = 0; i < CAY_COUNT(ports); i++)
                cay_service_channel_close(&ports[i].ch);
        assert_int_equal(look(t, id).channels, 0);
}

/* Watches leave room for what is over soon. */
static void too_many_watches(void **state)
{
        struct test *t = *state;
        struct cay_box_open open = reading("/etc/passwd"), watch = reading("/etc");
        static struct side ports[CAY_SERVICE_WATCHES_MAX + 2];
        struct cay_error err = { 0 };
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        settle(t);
        fake_plan.script.mute = true;
        watch.kind = CAY_BOX_WATCH;
        for (unsigned i = 0; i < CAY_COUNT(ports); i++)
                ports[i] = fresh();
        for (unsigned i = 0; i < CAY_SERVICE_WATCHES_MAX; i++)
                assert_int_equal(cay_service_channel_open(t->service, &me, id, &watch, &ports[i].ch, &err),
                                 0);
        assert_int_equal(cay_service_channel_open(t->service, &me, id, &watch,
                                                  &ports[CAY_SERVICE_WATCHES_MAX].ch, &err),
                         -1);
        assert_int_equal(err.code, CAY_LIMIT);
        assert_int_equal(cay_service_channel_open(t->service, &me, id, &open,
                                                  &ports[CAY_SERVICE_WATCHES_MAX + 1].ch, &err),
                         0);
        for (unsigned i = 0; i < CAY_COUNT(ports); i++)
                cay_service_channel_close(&ports[i].ch);
        assert_int_equal(look(t, id).channels, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
                TEST(reads),
                TEST(refused),
                TEST(ends_with_its_sandbox),
                TEST(holds_the_idle_clock),
                TEST(too_many),
                TEST(ports_have_places_of_their_own),
                TEST(too_many_watches),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
