/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes: making, changing, ending; what is refused changes nothing; what fails leaves nothing. */
#include "unit/domain/sandboxes/service_test.h"

static void create_makes_and_stores(void **state)
{
        struct test *t = *state;
        struct cay_field_pair label = { "team", "a" }, env = { "SECRET", "s3cret" };
        struct cay_sandbox_new what = plain();
        struct cay_sandbox_view view;
        struct call c;

        what.name = "box-1";
        what.labels = (struct cay_field_map){ &label, 1 };
        what.env = (struct cay_field_map){ &env, 1 };
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        assert_true(cay_id_is_made(c.call.id));
        view = look(t, c.call.id);
        assert_int_equal(view.state, CAY_STATE_READY);
        assert_string_equal(view.name, "box-1");
        assert_string_equal(view.owner, "me");
        assert_string_equal(view.template_name, "host");
        assert_string_equal(view.engine, "fake");
        assert_int_equal(view.labels.count, 1);
        assert_string_equal(view.labels.pairs[0].value, "a");
        assert_int_equal(view.created_wall_ms, t->wall_ms);
        assert_true(fake_engine_has(t->engine, c.call.id));
        assert_non_null(record(t, c.call.id));
        assert_string_equal(record(t, c.call.id)->state, "ready");
        assert_string_equal(record(t, c.call.id)->env, "{\"SECRET\":\"s3cret\"}");
        assert_non_null(fake_store_find(t->store, CAY_STORE_EVENT, "sandbox_created"));
}

static void names_find_and_are_unique(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = plain();
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };
        struct call c;

        what.name = "mine";
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        assert_int_equal(cay_service_get(t->service, &me, "mine", &view, &err), 0);
        assert_string_equal(view.id, c.call.id);
        assert_int_equal(try_create(t, &what, &c), CAY_EXISTS);
        what.owner = "you";
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        assert_int_equal(cay_service_get(t->service, &you, "mine", &view, &err), 0);
        assert_string_equal(view.id, c.call.id);
        what.owner = "me";
        what.name = "Not-A-Name";
        assert_int_equal(try_create(t, &what, &c), CAY_INVALID);
        assert_int_equal(fake_engine_boxes(), 2);
}

static void others_do_not_exist(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_view view;
        struct cay_exec_view exec_view;
        struct cay_error err = { 0 };
        struct cay_service_channel ch = { 0 };
        struct cay_box_open open = { .kind = CAY_BOX_PROCESSES };
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct cay_exec_watcher w = { 0 };
        struct call c;

        create(t, id);
        exec(t, id, x, "wait", NULL);
        assert_int_equal(cay_service_get(t->service, &you, id, &view, &err), -1);
        assert_int_equal(err.code, CAY_NOT_FOUND);
        assert_int_equal(cay_service_exec_get(t->service, &you, id, x, &exec_view, &err), -1);
        assert_int_equal(err.code, CAY_NOT_FOUND);
        assert_int_equal(cay_service_exec_watch(t->service, &you, id, x, 0, false, &w, &err), -1);
        assert_int_equal(err.code, CAY_NOT_FOUND);
        assert_int_equal(cay_service_exec_kill(t->service, &you, id, x, &err), -1);
        assert_int_equal(err.code, CAY_NOT_FOUND);
        assert_int_equal(cay_service_channel_open(t->service, &you, id, &open, &ch, &err), -1);
        assert_int_equal(err.code, CAY_NOT_FOUND);
#define REFUSED(call_)                                                                                       \
        call_init(&c);                                                                                       \
        call_;                                                                                               \
        assert_int_equal(call_wait(t, &c), CAY_NOT_FOUND)
        REFUSED(cay_service_destroy(t->service, &you, id, &c.call));
        REFUSED(cay_service_stop(t->service, &you, id, &c.call));
        REFUSED(cay_service_start(t->service, &you, id, NULL, &c.call));
        REFUSED(cay_service_pause(t->service, &you, id, &c.call));
        REFUSED(cay_service_resume(t->service, &you, id, &c.call));
        REFUSED(cay_service_extend(t->service, &you, id,
                                   &(struct cay_service_life){ .set_timeout = true, .timeout_ms = 1 },
                                   &c.call));
        assert_int_equal(look(t, id).state, CAY_STATE_BUSY);
        assert_int_equal(cay_service_get(t->service, &root, id, &view, &err), 0);
}

static void bad_input_makes_nothing(void **state)
{
        struct test *t = *state;
        struct cay_field_pair twice[] = { { "a", "1" }, { "a", "2" } }, bad_env = { "A=B", "x" },
                              empty = { "", "x" }, broken = { "a", "\xff" };
        struct cay_sandbox_new what;
        unsigned commits = t->store->commits;
        char *long_text;
        struct cay_field_pair long_pair = { "a", NULL };
        struct call c;

#define BAD(field, value, code)                                                                              \
        what = plain();                                                                                      \
        what.field = value;                                                                                  \
        assert_int_equal(try_create(t, &what, &c), code)
#define MAP(pairs, n) ((struct cay_field_map){ pairs, n })
        BAD(labels, MAP(twice, 2), CAY_INVALID);
        BAD(labels, MAP(&empty, 1), CAY_INVALID);
        BAD(metadata, MAP(&broken, 1), CAY_INVALID);
        BAD(env, MAP(&bad_env, 1), CAY_INVALID);
        BAD(owner, "", CAY_INVALID);
        BAD(template_name, "unheard-of", CAY_NOT_FOUND);
        BAD(limits.memory_bytes, 1, CAY_INVALID);
        BAD(limits.pids, UINT64_MAX, CAY_INVALID);
        BAD(claim, "", CAY_INVALID);
        BAD(network, CAY_NETWORK_BRIDGE, CAY_UNSUPPORTED); /* this engine has none */
        BAD(network, (enum cay_network)7, CAY_UNSUPPORTED);
        what = plain();
        what.has_workspace = true;
        what.folder = CAY_FOLDER_NONE;
        assert_int_equal(try_create(t, &what, &c), CAY_INVALID);
        long_text = calloc(1, 200000);
        memset(long_text, 'x', 199999);
        long_pair.value = long_text;
        BAD(metadata, MAP(&long_pair, 1), CAY_INVALID);
        free(long_text);
        assert_int_equal(fake_engine_boxes(), 0);
        assert_int_equal(t->store->commits, commits);
        assert_int_equal(fake_store_count(t->store, CAY_STORE_SANDBOX), 0);
}

static void the_engine_refuses(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = plain();
        struct cay_service_health health;
        struct call c;

        stop_pings(t); /* an answer to one says that the engine is up */
        what.claim = "once";
        fake_plan.create_fails = CAY_UNSUPPORTED;
        assert_int_equal(try_create(t, &what, &c), CAY_UNSUPPORTED);
        fake_plan.create_fails = CAY_UNAVAILABLE;
        assert_int_equal(try_create(t, &what, &c), CAY_UNAVAILABLE);
        cay_service_health(t->service, &health);
        assert_false(health.engine_up);
        assert_int_equal(health.known, 0);
        fake_plan.create_fails = CAY_OK;
        assert_int_equal(try_create(t, &what, &c), CAY_OK); /* the claim was not used up */
        cay_service_health(t->service, &health);
        assert_true(health.engine_up);
}

static void a_failed_commit_undoes_the_box(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = plain();
        struct call c;

        t->store->fail_with = CAY_NO_SPACE;
        t->store->fail_count = 1;
        assert_int_equal(try_create(t, &what, &c), CAY_NO_SPACE);
        assert_int_equal(fake_engine_boxes(), 0);
        assert_false(exists(t, c.call.id));
        assert_int_equal(fake_store_count(t->store, CAY_STORE_SANDBOX), 0);
}

static void nothing_is_answered_before_it_is_stored(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = plain();
        struct call c, d;

        t->store->hold = true;
        call_init(&c);
        cay_service_create(t->service, &what, &c.call);
        settle(t);
        assert_false(c.done);
        assert_int_equal(look(t, c.call.id).state, CAY_STATE_CREATING);
        fake_store_let_go(t->store);
        assert_int_equal(call_wait(t, &c), CAY_OK);
        assert_int_equal(look(t, c.call.id).state, CAY_STATE_READY);
        t->store->hold = true;
        call_init(&d);
        cay_service_stop(t->service, &me, c.call.id, &d.call);
        settle(t);
        assert_false(d.done);
        assert_int_equal(look(t, c.call.id).state, CAY_STATE_READY);
        assert_int_equal(fake_engine_boxes(), 1); /* nothing is done before it is stored, either */
        fake_store_let_go(t->store);
        assert_int_equal(call_wait(t, &d), CAY_OK);
}

static void limits_on_how_many(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = plain();
        char id[CAY_NAME_MAX + 1];
        struct call c;

        t->env.max_alive = 3;
        t->env.max_alive_owner = 2;
        restart(t);
        create(t, id);
        create(t, id);
        assert_int_equal(try_create(t, &what, &c), CAY_LIMIT);
        what.owner = "you";
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        what.owner = "them";
        assert_int_equal(try_create(t, &what, &c), CAY_LIMIT);
        assert_int_equal(change(t, stop, id), CAY_OK); /* has no box: does not count */
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        assert_int_equal(start(t, id), CAY_LIMIT);
        assert_int_equal(look(t, id).state, CAY_STATE_STOPPED);
}

/*
 * What is stopped counts for nobody's places among the living, but for its owner's part of the table and of
 * the disk.
 */
static void stopped_ones_have_a_share(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = plain();
        char id[CAY_NAME_MAX + 1];
        struct call c;

        t->env.max_known = 6;
        restart(t);
        for (unsigned i = 0; i < 3; i++) {
                create(t, id);
                assert_int_equal(change(t, stop, id), CAY_OK);
        }
        assert_int_equal(try_create(t, &what, &c), CAY_LIMIT);
        assert_non_null(strstr(c.call.job.err.msg, "you have 3 sandboxes"));
        what.owner = "you";
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        what.owner = "me";
        assert_int_equal(change(t, destroy, id), CAY_OK);
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
}

static void disk_has_a_share(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = plain();
        struct call c;

        t->env.max_disk_owner = 100u << 20;
        restart(t);
        what.limits.disk_bytes = 60u << 20;
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        assert_int_equal(change(t, stop, c.call.id), CAY_OK);
        assert_int_equal(try_create(t, &what, &c), CAY_LIMIT);
        assert_non_null(strstr(c.call.job.err.msg, "may use 60 MiB of disk, and with this one 120 MiB"));
        what.owner = "you";
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        what.owner = "me";
        what.limits.disk_bytes = 40u << 20;
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        what.limits.disk_bytes = 1u << 20;
        assert_int_equal(try_create(t, &what, &c), CAY_LIMIT);
}

static void claims_are_single_use(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = plain();
        struct call c, many[8];
        unsigned made = 0;
        char first[CAY_NAME_MAX + 1];

        what.claim = "job-7";
        for (unsigned i = 0; i < 8; i++) {
                call_init(&many[i]);
                cay_service_create(t->service, &what, &many[i].call);
        }
        for (unsigned i = 0; i < 8; i++) {
                enum cay_code code = call_join(t, &many[i]);

                made += code == CAY_OK;
                assert_true(code == CAY_OK || code == CAY_EXISTS);
        }
        assert_int_equal(made, 1);
        assert_int_equal(fake_engine_boxes(), 1);
        memcpy(first, many[0].call.id, sizeof(first));
        for (unsigned i = 1; i < 8; i++)
                assert_string_equal(many[i].call.first, first);
        assert_int_equal(try_create(t, &what, &c), CAY_EXISTS);
        assert_string_equal(c.call.first, first);
        restart(t);
        assert_int_equal(try_create(t, &what, &c), CAY_EXISTS);
        assert_string_equal(c.call.first, first);
        what.owner = "you"; /* whose claims are their own */
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        assert_non_null(fake_store_find(t->store, CAY_STORE_CLAIM, "job-7"));
}

static void stop_and_start(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_view view;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];

        create(t, id);
        exec(t, id, x, "wait", NULL);
        assert_int_equal(change(t, stop, id), CAY_OK);
        view = look(t, id);
        assert_int_equal(view.state, CAY_STATE_STOPPED);
        assert_false(view.kept); /* this engine keeps nothing */
        assert_int_equal(view.cause, CAY_CAUSE_KILLED);
        assert_int_equal(view.execs_running, 0);
        assert_string_equal(record(t, id)->state, "stopped");
        assert_int_equal(fake_engine_boxes(), 0);
        assert_int_equal(wait_end(t, id, x).cause, CAY_CAUSE_KILLED);
        assert_string_equal(
                ((const struct cay_store_exec *)fake_store_find(t->store, CAY_STORE_EXEC, x))->state,
                "ended");
        assert_int_equal(change(t, stop, id), CAY_OK); /* it is so already */
        assert_int_equal(look(t, id).state, CAY_STATE_STOPPED);
        assert_int_equal(change(t, pause, id), CAY_CONFLICT);
        assert_int_equal(start(t, id), CAY_OK);
        view = look(t, id);
        assert_int_equal(view.state, CAY_STATE_READY);
        assert_int_equal(view.cause, CAY_CAUSE_NONE);
        assert_string_equal(record(t, id)->state, "ready");
        assert_int_equal(start(t, id), CAY_CONFLICT);
        exec(t, id, x, "exit", "3", NULL);
        assert_int_equal(wait_end(t, id, x).exit_code, 3);
}

/* Both are answered when it is stopped, and not before. */
static void two_who_stop_it_at_once(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];
        struct call a, b;

        create(t, id);
        call_init(&a);
        call_init(&b);
        fake_plan.destroy_fails = CAY_INTERNAL;
        cay_service_stop(t->service, &me, id, &a.call);
        cay_service_stop(t->service, &me, id, &b.call);
        assert_int_equal(call_join(t, &a), CAY_INTERNAL);
        assert_int_equal(call_join(t, &b), CAY_INTERNAL);
        fake_plan.destroy_fails = CAY_OK;
        call_init(&a);
        call_init(&b);
        cay_service_stop(t->service, &me, id, &a.call);
        cay_service_stop(t->service, &me, id, &b.call);
        assert_int_equal(call_join(t, &b), CAY_OK);
        assert_int_equal(fake_engine_boxes(), 0);
        assert_int_equal(call_join(t, &a), CAY_OK);
        assert_string_equal(b.call.id, id);
}

/* What is left of a request that failed goes when its engine can remove it, also if it was to rest then. */
static void one_that_nobody_wants_goes_later(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = plain();
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };
        struct call c;
        char id[CAY_NAME_MAX + 1];

        what.options.on_timeout = "stop";
        what.timeout_ms = 3600 * 1000;
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        memcpy(id, c.call.id, sizeof(id));
        fake_plan.destroy_fails = CAY_UNAVAILABLE;
        assert_int_equal(change(t, destroy, id), CAY_UNAVAILABLE);
        cay_service_discard(t->service, &me, id);
        settle(t);
        assert_int_equal(cay_service_get(t->service, &me, id, &view, &err), 0);
        fake_plan.destroy_fails = CAY_OK;
        cay_service_tick(t->service);
        wait_for(t, cay_service_get(t->service, &me, id, &view, &err) < 0);
        assert_int_equal(fake_engine_boxes(), 0);
        cay_service_discard(t->service, &me, id); /* is gone */
}

static void a_second_story_is_refused(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];
        struct call a, b;

        create(t, id);
        assert_int_equal(change(t, stop, id), CAY_OK);
        fake_plan.create_hangs = true;
        call_init(&a);
        call_init(&b);
        cay_service_start(t->service, &me, id, NULL, &a.call);
        cay_service_start(t->service, &me, id, NULL, &b.call);
        assert_int_equal(call_join(t, &b), CAY_CONFLICT);
        assert_string_equal(look(t, id).busy_with, "start");
        assert_int_equal(change(t, stop, id), CAY_CONFLICT);
        fake_engine_go_on(t->engine, id);
        assert_int_equal(call_wait(t, &a), CAY_OK);
        assert_int_equal(fake_engine_boxes(), 1);
}

static void a_start_that_fails_changes_nothing(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        assert_int_equal(change(t, stop, id), CAY_OK);
        fake_plan.create_fails = CAY_LIMIT;
        assert_int_equal(start(t, id), CAY_LIMIT);
        assert_int_equal(look(t, id).state, CAY_STATE_STOPPED);
        fake_plan.create_fails = CAY_OK;
        t->store->fail_with = CAY_INTERNAL;
        t->store->fail_count = 1;
        assert_int_equal(start(t, id), CAY_INTERNAL);
        settle(t);
        assert_int_equal(look(t, id).state, CAY_STATE_STOPPED);
        assert_string_equal(record(t, id)->state, "stopped");
        assert_int_equal(fake_engine_boxes(), 0);
        assert_int_equal(start(t, id), CAY_OK);
}

static void destroy_takes_everything(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct watcher w = { 0 };
        struct cay_exec_view view;
        struct call a, b;

        create(t, id);
        exec(t, id, x, "wait", NULL);
        assert_int_equal(watch(t, id, x, 0, true, &w), CAY_OK);
        assert_int_equal(count_files(t, false), 1);
        call_init(&a);
        call_init(&b);
        cay_service_destroy(t->service, &me, id, &a.call);
        cay_service_destroy(t->service, &me, id, &b.call);
        assert_int_equal(call_wait(t, &a), CAY_OK);
        assert_int_equal(call_join(t, &b), CAY_OK);
        assert_false(exists(t, id));
        assert_int_equal(fake_engine_boxes(), 0);
        assert_int_equal(fake_store_count(t->store, CAY_STORE_SANDBOX), 0);
        assert_int_equal(fake_store_count(t->store, CAY_STORE_EXEC), 0);
        assert_int_equal(count_files(t, false), 0);
        wait_for(t, w.over); /* who watched is told why */
        cay_exec_watcher_view(&w.w, &view);
        assert_int_equal(view.cause, CAY_CAUSE_KILLED);
        watcher_done(&w);
        assert_int_equal(change(t, destroy, id), CAY_NOT_FOUND);
        assert_non_null(fake_store_find(t->store, CAY_STORE_EVENT, "sandbox_destroyed"));
}

static void count_one(void *ctx, const struct cay_sandbox_view *view)
{
        (void)view;
        ++*(unsigned *)ctx;
}

static unsigned count_listed(struct test *t)
{
        char cursor[CAY_SERVICE_CURSOR_MAX];
        struct cay_error err = { 0 };
        unsigned count = 0;

        assert_int_equal(cay_service_list(t->service, &me, NULL, "", 0, count_one, &count, cursor, &err), 0);
        return count;
}

/* Whoever hears of the end and then reads the list does not find it there, however long the engine takes. */
static void the_list_agrees_with_the_event(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];
        struct call c;

        create(t, id);
        assert_int_equal(count_listed(t), 1);
        fake_plan.destroy_hangs = true;
        call_init(&c);
        cay_service_destroy(t->service, &me, id, &c.call);
        settle(t);
        assert_non_null(fake_store_find(t->store, CAY_STORE_EVENT, "sandbox_destroyed"));
        assert_false(c.done);
        assert_int_equal(count_listed(t), 0);
        cay_service_free(cay_take(t->service));
        settle(t);
        assert_true(c.done);
}

static void destroy_while_it_is_made(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = plain();
        struct call a, b;

        fake_plan.create_ms = 20;
        call_init(&a);
        call_init(&b);
        cay_service_create(t->service, &what, &a.call);
        cay_service_destroy(t->service, &me, a.call.id, &b.call);
        assert_int_equal(call_wait(t, &a), CAY_CONFLICT);
        assert_int_equal(call_join(t, &b), CAY_OK);
        assert_false(exists(t, a.call.id));
        assert_int_equal(fake_engine_boxes(), 0);
        assert_int_equal(fake_store_count(t->store, CAY_STORE_SANDBOX), 0);
        fake_plan.create_ms = 0; /* while READY is stored */
        t->store->hold = true;
        call_init(&a);
        call_init(&b);
        cay_service_create(t->service, &what, &a.call);
        settle(t);
        cay_service_destroy(t->service, &me, a.call.id, &b.call);
        fake_store_let_go(t->store);
        assert_int_equal(call_wait(t, &a), CAY_OK);
        assert_int_equal(call_join(t, &b), CAY_OK);
        assert_int_equal(fake_engine_boxes(), 0);
}

static void destroy_that_fails_can_be_tried_again(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        t->store->fail_with = CAY_NO_SPACE;
        t->store->fail_count = 1;
        assert_int_equal(change(t, destroy, id), CAY_NO_SPACE);
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
        assert_int_equal(fake_engine_boxes(), 1);
        fake_plan.destroy_fails = CAY_INTERNAL;
        assert_int_equal(change(t, destroy, id), CAY_INTERNAL);
        settle(t);
        assert_int_equal(look(t, id).state, CAY_STATE_ERROR);
        assert_string_equal(record(t, id)->state, "error");
        assert_int_equal(change(t, destroy, id),
                         CAY_INTERNAL); /* for the same reason: its record is back again */
        settle(t);
        assert_string_equal(record(t, id)->state, "error");
        fake_plan.destroy_fails = CAY_OK;
        assert_int_equal(change(t, destroy, id), CAY_OK);
        assert_false(exists(t, id));
        assert_int_equal(fake_store_count(t->store, CAY_STORE_SANDBOX), 0);
}

static void pause_and_resume(void **state)
{
        struct test *t = *state;
        struct cay_exec_new what = { .line = "true" };
        struct cay_service_channel ch = { 0 };
        struct cay_box_open open = { .kind = CAY_BOX_PROCESSES };
        struct cay_error err = { 0 };
        char id[CAY_NAME_MAX + 1];
        struct exec_call x;

        create(t, id);
        assert_int_equal(change(t, resume, id), CAY_CONFLICT);
        assert_int_equal(change(t, pause, id), CAY_OK);
        assert_true(fake_engine_is_frozen(t->engine, id));
        assert_int_equal(look(t, id).state, CAY_STATE_PAUSED);
        assert_string_equal(record(t, id)->state, "paused");
        assert_int_equal(change(t, pause, id), CAY_CONFLICT);
        assert_int_equal(try_exec(t, id, &what, &x), CAY_CONFLICT);
        assert_int_equal(cay_service_channel_open(t->service, &me, id, &open, &ch, &err), -1);
        assert_int_equal(err.code, CAY_CONFLICT);
        assert_int_equal(start(t, id), CAY_CONFLICT);
        assert_int_equal(change(t, resume, id), CAY_OK);
        assert_false(fake_engine_is_frozen(t->engine, id));
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
        /* Neither a freezer that fails nor a store that fails leaves the two apart. */
        fake_plan.freeze_fails = CAY_INTERNAL;
        assert_int_equal(change(t, pause, id), CAY_INTERNAL);
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
        fake_plan.freeze_fails = CAY_OK;
        t->store->fail_with = CAY_NO_SPACE;
        t->store->fail_count = 1;
        assert_int_equal(change(t, pause, id), CAY_NO_SPACE);
        assert_false(fake_engine_is_frozen(t->engine, id));
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
        assert_int_equal(change(t, pause, id), CAY_OK);
        t->store->fail_count = 1;
        assert_int_equal(change(t, resume, id), CAY_NO_SPACE);
        assert_true(fake_engine_is_frozen(t->engine, id));
        assert_int_equal(look(t, id).state, CAY_STATE_PAUSED);
        assert_int_equal(change(t, stop, id), CAY_OK);
        assert_int_equal(look(t, id).state, CAY_STATE_STOPPED);
}

static void pause_keeps_commands(void **state)
{
        struct test *t = *state;
        struct cay_error err = { 0 };
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];

        create(t, id);
        exec(t, id, x, "wait", NULL);
        assert_int_equal(look(t, id).state, CAY_STATE_BUSY);
        assert_int_equal(change(t, pause, id), CAY_OK);
        assert_int_equal(cay_service_exec_signal(t->service, &me, id, x, 15, &err), -1);
        assert_int_equal(err.code, CAY_CONFLICT);
        assert_int_equal(change(t, resume, id), CAY_OK);
        assert_int_equal(look(t, id).state, CAY_STATE_BUSY);
        assert_int_equal(cay_service_exec_signal(t->service, &me, id, x, 15, &err), 0);
        assert_int_equal(wait_end(t, id, x).signal, 15);
        assert_int_equal(look(t, id).state, CAY_STATE_READY);
        assert_string_equal(record(t, id)->state, "ready");
}

static void expiry_and_extension(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = plain();
        struct call c, e;

        what.timeout_ms = 10000;
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        assert_true(look(t, c.call.id).expires);
        assert_int_equal(look(t, c.call.id).expires_in_ms, 10000);
        t->store->now_ms += 9999;
        t->wall_ms += 3600 * 1000; /* which says nothing */
        cay_service_tick(t->service);
        settle(t);
        assert_true(exists(t, c.call.id));
        call_init(&e);
        cay_service_extend(t->service, &me, c.call.id,
                           &(struct cay_service_life){ .set_timeout = true, .timeout_ms = 5000 }, &e.call);
        assert_int_equal(call_wait(t, &e), CAY_OK);
        assert_int_equal(record(t, c.call.id)->expires_ms, t->store->now_ms + 5000);
        t->store->now_ms += 4999;
        restart(t); /* it holds over a restart, too */
        cay_service_tick(t->service);
        settle(t);
        assert_true(exists(t, c.call.id));
        t->store->now_ms += 1;
        cay_service_tick(t->service);
        settle(t);
        assert_false(exists(t, c.call.id));
        assert_int_equal(fake_engine_boxes(), 0);
        t->store->fail_with = CAY_NO_SPACE;
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        t->store->fail_count = 1;
        call_init(&e);
        cay_service_extend(t->service, &me, c.call.id,
                           &(struct cay_service_life){ .set_timeout = true, .set_idle = true, .idle_ms = 77 },
                           &e.call);
        assert_int_equal(call_wait(t, &e), CAY_NO_SPACE);
        assert_int_equal(look(t, c.call.id).expires_in_ms, 10000); /* as before */
        assert_int_equal(look(t, c.call.id).idle_limit_ms, 0);
        call_init(&e); /* what is not set stays */
        cay_service_extend(t->service, &me, c.call.id,
                           &(struct cay_service_life){ .set_idle = true, .idle_ms = 77 }, &e.call);
        assert_int_equal(call_wait(t, &e), CAY_OK);
        assert_int_equal(look(t, c.call.id).expires_in_ms, 10000);
        assert_int_equal(look(t, c.call.id).idle_limit_ms, 77);
        call_init(&e);
        cay_service_extend(t->service, &me, c.call.id, &(struct cay_service_life){ 0 }, &e.call);
        assert_int_equal(call_wait(t, &e), CAY_INVALID);
}

static void idle_sandboxes_end(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = plain();
        struct cay_error err = { 0 };
        char x[CAY_NAME_MAX + 1];
        struct call c;

        what.idle_ms = 1000;
        assert_int_equal(try_create(t, &what, &c), CAY_OK);
        t->store->now_ms += 900;
        exec(t, c.call.id, x, "wait", NULL); /* is use, and while it runs nothing is idle */
        t->store->now_ms += 100000;
        cay_service_tick(t->service);
        settle(t);
        assert_true(exists(t, c.call.id));
        assert_int_equal(look(t, c.call.id).idle_ms, 0);
        assert_int_equal(cay_service_exec_kill(t->service, &me, c.call.id, x, &err), 0);
        wait_end(t, c.call.id, x);
        t->store->now_ms += 999;
        cay_service_tick(t->service);
        settle(t);
        assert_true(exists(t, c.call.id));
        assert_int_equal(look(t, c.call.id).idle_ms, 999);
        t->store->now_ms += 1;
        cay_service_tick(t->service);
        settle(t);
        assert_false(exists(t, c.call.id));
}

static void figures(void **state)
{
        struct test *t = *state;
        struct cay_service_stats c = { 0 };
        struct call d;
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        fake_plan.stats = (struct cay_engine_stats){ .memory_bytes = 77, .pids = 3 };
        call_init(&d);
        c.call = d.call;
        c.call.job.on_done = NULL;
        cay_service_stats(t->service, &me, id, &c);
        wait_for(t, c.call.job.done && !c.call.job.queued);
        assert_int_equal(c.call.job.err.code, CAY_OK);
        assert_int_equal(c.stats.memory_bytes, 77);
        assert_int_equal(change(t, stop, id), CAY_OK);
        cay_job_init(&c.call.job, NULL);
        cay_service_stats(t->service, &me, id, &c);
        wait_for(t, c.call.job.done && !c.call.job.queued);
        assert_int_equal(c.call.job.err.code, CAY_CONFLICT);
}

/* An engine that takes its time for figures, as Docker does. */
static struct {
        struct cay_job *job;
        struct cay_engine_box *box;
        unsigned asked;
} held;

static void hold_stats(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job)
{
        if (strcmp(box->id, "nobody") == 0) { /* whether the engine answers at all */
                cay_engine_fake_ops.stats(e, box, job);
                return;
        }
        held.job = job;
        held.box = box;
        held.asked++;
}

static void answer_held(struct test *t)
{
        struct cay_engine_box *box = cay_take(held.box);

        cay_engine_fake_ops.stats(t->engine, box, cay_take(held.job));
}

static void ask_figures(struct test *t, const char *id, struct cay_service_stats *c)
{
        *c = (struct cay_service_stats){ 0 };
        cay_job_init(&c->call.job, NULL);
        cay_service_stats(t->service, &me, id, c);
}

static void figures_are_asked_for_once(void **state)
{
        struct cay_engine_ops ops = cay_engine_fake_ops;
        struct test *t = *state;
        struct cay_service_stats c[40];
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        ops.stats = hold_stats;
        t->engine->ops = &ops;
        held.asked = 0;
        for (unsigned i = 0; i < 40; i++)
                ask_figures(t, id, &c[i]);
        settle(t);
        assert_int_equal(held.asked, 1);
        fake_plan.stats = (struct cay_engine_stats){ .memory_bytes = 77 };
        answer_held(t);
        for (unsigned i = 0; i < 40; i++) {
                wait_for(t, c[i].call.job.done && !c[i].call.job.queued);
                assert_int_equal(c[i].call.job.err.code, CAY_OK);
                assert_int_equal(c[i].stats.memory_bytes, 77);
        }
        ask_figures(t, id, &c[0]); /* the next one gets new ones */
        assert_int_equal(held.asked, 2);
        answer_held(t);
        wait_for(t, c[0].call.job.done && !c[0].call.job.queued);
        t->engine->ops = &cay_engine_fake_ops;
}

static void figures_hold_up_nothing(void **state)
{
        struct cay_engine_ops ops = cay_engine_fake_ops;
        struct test *t = *state;
        struct cay_service_stats c;
        char id[CAY_NAME_MAX + 1];

        create(t, id);
        ops.stats = hold_stats;
        t->engine->ops = &ops;
        ask_figures(t, id, &c);
        assert_int_equal(change(t, pause, id), CAY_OK);
        wait_for(t, c.call.job.done && !c.call.job.queued);
        assert_int_equal(c.call.job.err.code, CAY_CONFLICT);
        answer_held(t);
        ask_figures(t, id, &c);
        assert_int_equal(change(t, stop, id), CAY_OK);
        wait_for(t, c.call.job.done && !c.call.job.queued);
        assert_int_equal(c.call.job.err.code, CAY_CONFLICT);
        answer_held(t);
        t->engine->ops = &cay_engine_fake_ops;
}

static void calls_end_with_the_service(void **state)
{
        struct test *t = *state;
        struct cay_sandbox_new what = plain();
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct watcher w = { 0 };
        struct call a, b;

        create(t, id);
        exec(t, id, x, "wait", NULL);
        assert_int_equal(watch(t, id, x, 0, true, &w), CAY_OK);
        fake_plan.create_hangs = true;
        call_init(&a);
        cay_service_create(t->service, &what, &a.call);
        t->store->hold = true;
        call_init(&b);
        cay_service_destroy(t->service, &me, id, &b.call);
        cay_service_free(cay_take(t->service));
        assert_false(a.done || b.done);
        settle(t);
        assert_true(a.done && b.done);
        assert_int_equal(a.call.job.err.code, CAY_UNAVAILABLE);
        assert_int_equal(b.call.job.err.code, CAY_UNAVAILABLE);
        watcher_done(&w);
}

/* Who does not want to wait for the box's end is answered when the store knows; others wait for it. */
static void an_early_answer_to_destroy(void **state)
{
        struct test *t = *state;
        char id[CAY_NAME_MAX + 1];
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };
        struct call early, late;

        create(t, id);
        settle(t);
        call_init(&early);
        call_init(&late);
        early.call.early = true;
        fake_plan.destroy_ms = 200;
        cay_service_destroy(t->service, &me, id, &early.call);
        cay_service_destroy(t->service, &me, id, &late.call);
        wait_for(t, early.done);
        assert_int_equal(early.call.job.err.code, CAY_OK);
        assert_false(late.done);
        assert_int_equal(cay_service_get(t->service, &me, id, &view, &err), -1);
        assert_int_equal(err.code, CAY_NOT_FOUND);
        assert_null(fake_store_find(t->store, CAY_STORE_SANDBOX, id));
        assert_int_equal(call_wait(t, &late), CAY_OK);
        assert_int_equal(fake_engine_boxes(), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
                TEST(create_makes_and_stores),
                TEST(an_early_answer_to_destroy),
                TEST(names_find_and_are_unique),
                TEST(others_do_not_exist),
                TEST(bad_input_makes_nothing),
                TEST(the_engine_refuses),
                TEST(a_failed_commit_undoes_the_box),
                TEST(nothing_is_answered_before_it_is_stored),
                TEST(limits_on_how_many),
                TEST(stopped_ones_have_a_share),
                TEST(disk_has_a_share),
                TEST(claims_are_single_use),
                TEST(stop_and_start),
                TEST(two_who_stop_it_at_once),
                TEST(one_that_nobody_wants_goes_later),
                TEST(a_second_story_is_refused),
                TEST(a_start_that_fails_changes_nothing),
                TEST(destroy_takes_everything),
                TEST(the_list_agrees_with_the_event),
                TEST(destroy_while_it_is_made),
                TEST(destroy_that_fails_can_be_tried_again),
                TEST(pause_and_resume),
                TEST(pause_keeps_commands),
                TEST(expiry_and_extension),
                TEST(idle_sandboxes_end),
                TEST(figures),
                TEST(figures_are_asked_for_once),
                TEST(figures_hold_up_nothing),
                TEST(calls_end_with_the_service),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
