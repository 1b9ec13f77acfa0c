/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A box's life under the warden: freeze, thaw, figures, new links, ends of every kind, many at once, deaths
 * of the warden.
 */
#include "rig.h"

#include <dirent.h>
#include <poll.h>
#include <sys/mount.h>

#include "foundation/sys/fd.h"
#include "foundation/sys/unix_socket.h"

static struct rig rig;

static int set_up(void **state)
{
        rig = (struct rig){ .sock = -1, .pid = -1 };
        return rig_set_up(state);
}

static int tear_down(void **state)
{
        rig_abandon(&rig);
        return rig_tear_down(state);
}

static void nap_ms(long ms)
{
        struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

        nanosleep(&t, NULL);
}

static void ok(uint32_t type, const char *id)
{
        struct wire_answer a = rig_ask_box(&rig, type, id);

        if (a.code != CAY_OK)
                fail_msg("%s '%s': %s", helper_request_name(&wire_protocol, type), id, a.text);
}

/* Nothing is said within this time. */
static bool is_silent(int fd, int ms)
{
        struct pollfd p = { .fd = fd, .events = POLLIN };

        return poll(&p, 1, ms) == 0;
}

static void test_freeze_and_thaw(void **state)
{
        struct rig_box box;
        char byte;

        rig_start(&rig, NULL);
        rig_must_make(&rig, "cold", &box);
        ok(WIRE_box_freeze, "cold");
        ok(WIRE_box_freeze, "cold"); /* twice is once */
        nap_ms(50);
        assert_int_equal(send(box.link, "ping\n", 5, MSG_NOSIGNAL), 5);
        assert_true(is_silent(box.link, 200));
        ok(WIRE_box_stat, "cold");
        ok(WIRE_box_thaw, "cold");
        assert_false(is_silent(box.link, RIG_WAIT_MS));
        while (read(box.link, &byte, 1) == 1 && byte)
                ;
        assert_string_equal(rig_tell(&box, "ping"), "pong");
        rig_box_close(&box);
        rig_stop(&rig);
}

static void test_drop_frozen(void **state)
{
        struct rig_box box;

        rig_start(&rig, NULL);
        rig_must_make(&rig, "cold", &box);
        assert_string_not_equal(rig_tell(&box, "spawn"), "error");
        ok(WIRE_box_freeze, "cold");
        ok(WIRE_box_drop, "cold");
        assert_int_equal(rig_ask_box(&rig, WIRE_box_stat, "cold").code, CAY_NOT_FOUND);
        rig_box_close(&box);
        rig_stop(&rig);
}

static void test_stats(void **state)
{
        struct wire_answer a;
        struct rig_box box;
        uint64_t cpu_us;

        rig_start(&rig, NULL);
        rig_must_make(&rig, "figures", &box);
        a = rig_ask_box(&rig, WIRE_box_stat, "figures");
        assert_int_equal(a.box.stats.pids, 0); /* init is not counted */
        for (int i = 0; i < 3; i++)
                assert_string_not_equal(rig_tell(&box, "spawn"), "error");
        a = rig_ask_box(&rig, WIRE_box_stat, "figures");
        if (rig.can_hold & HELPER_LIMIT_PIDS)
                assert_int_equal(a.box.stats.pids, 3);
        assert_true(a.box.stats.cpu_us > 0);
        assert_int_equal(a.box.stats.oom_kills, 0);
        cpu_us = a.box.stats.cpu_us;
        a = rig_ask_box(&rig, WIRE_box_drop, "figures"); /* the last figures come with the end */
        assert_int_equal(a.code, CAY_OK);
        assert_true(a.box.stats.cpu_us >= cpu_us);
        if (rig.can_hold & HELPER_LIMIT_MEMORY)
                assert_true(a.box.stats.memory_peak_bytes > 0);
        assert_string_equal(a.box.id, "figures");
        rig_box_close(&box);
        rig_stop(&rig);
}

static int new_link(const char *id, struct wire_answer *ret)
{
        struct wire_request req = rig_request(&rig, WIRE_box_link);
        int links[2];

        snprintf(req.box.id, sizeof(req.box.id), "%s", id);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, links), 0);
        *ret = rig_ask(&rig, &req, &links[1], 1);
        close(links[1]);
        return links[0];
}

static void test_relink(void **state)
{
        struct wire_answer a;
        struct rig_box box;
        char byte;

        rig_start(&rig, NULL);
        rig_must_make(&rig, "linked", &box);
        for (int i = 0; i < 20; i++) {
                int old = box.link;

                assert_string_equal(rig_tell(&box, "ping"), "pong");
                box.link = new_link("linked", &a);
                assert_int_equal(a.code, CAY_OK);
                assert_string_equal(rig_tell(&box, "ping"), "pong");
                assert_int_equal(read(old, &byte, 1), 0); /* the old stream has ended */
                close(old);
        }
        /* The front lets go of its end first, as after a crash of its own. */
        rig_box_close(&box);
        box.link = new_link("linked", &a);
        assert_string_equal(rig_tell(&box, "ping"), "pong");
        rig_box_close(&box);
        rig_stop(&rig);
}

/*
 * A box that does not read its control socket: a bounded number of links wait, then the warden says so and
 * goes on.
 */
static void test_relink_frozen(void **state)
{
        struct wire_answer a = { 0 };
        struct rig_box box;
        int links[1000], count = 0;

        rig_start(&rig, NULL);
        rig_must_make(&rig, "stuck", &box);
        ok(WIRE_box_freeze, "stuck");
        nap_ms(50);
        while (count < 1000 && a.code == CAY_OK)
                links[count++] = new_link("stuck", &a);
        assert_int_equal(a.code, CAY_UNAVAILABLE);
        assert_in_range(count, 2, 999);
        ok(WIRE_box_stat, "stuck");
        sys_close_fds(links, (unsigned)count);
        ok(WIRE_box_thaw, "stuck");
        ok(WIRE_box_drop, "stuck");
        rig_box_close(&box);
        rig_stop(&rig);
}

static void test_box_ends_by_itself(void **state)
{
        struct wire_answer a;
        struct rig_box box;

        rig_start(&rig, NULL);
        rig_must_make(&rig, "ends", &box);
        assert_string_equal(rig_tell(&box, "exit 7"), RIG_NOBODY);
        assert_true(rig_news(&rig, "ends", RIG_WAIT_MS));
        assert_int_equal(rig_ask_box(&rig, WIRE_box_stat, "ends").code,
                         CAY_OK); /* what it used is still known */
        close(new_link("ends", &a));
        assert_int_equal(a.code, CAY_NOT_FOUND); /* for a new stream it is not there */
        ok(WIRE_box_drop, "ends");
        ok(WIRE_box_drop, "ends");
        assert_int_equal(rig_ask_box(&rig, WIRE_box_stat, "ends").code, CAY_NOT_FOUND);
        rig_box_close(&box);
        rig_stop(&rig);
}

/* Processes and cgroup nodes that init made go with the box, with or without a drop. */
static void test_what_init_made_goes(void **state)
{
        for (int drop = 0; drop < 2; drop++) {
                struct rig_box box;

                rig_start(&rig, NULL);
                rig_must_make(&rig, "busy", &box);
                assert_string_equal(rig_tell(&box, "nodes"), "ok");
                for (int i = 0; i < 5; i++)
                        assert_string_not_equal(rig_tell(&box, "spawn"), "error");
                if (drop)
                        ok(WIRE_box_drop, "busy");
                rig_box_close(&box);
                rig_stop(&rig);
        }
}

/* A front that wants one box: its drop is answered, then the warden goes without being told. */
static void test_single(void **state)
{
        struct wire_request req;
        struct wire_answer a;
        struct rig_box box;

        rig_start_raw(&rig, NULL);
        req = rig_request(&rig, WIRE_hello);
        req.hello.version = WIRE_VERSION;
        req.hello.flags = WIRE_HELLO_SINGLE;
        a = rig_ask(&rig, &req, NULL, 0);
        assert_int_equal(a.code, CAY_OK);
        rig_must_make(&rig, "single", &box);
        ok(WIRE_box_stat, "single");
        ok(WIRE_box_drop, "single");
        assert_true(rig_ends(&rig));
        rig_box_close(&box);
        rig_stop(&rig);
}

static void test_fifty_at_once(void **state)
{
        enum { MANY = 50 };
        static struct rig_box boxes[MANY];
        struct wire_request reqs[MANY];
        unsigned made = 0;

        rig_start(&rig, NULL);
        for (int i = 0; i < MANY; i++) {
                int links[2];

                reqs[i] = rig_request(&rig, WIRE_box_make);
                snprintf(boxes[i].id, sizeof(boxes[i].id), "many-%d", i);
                reqs[i].plan = rig_plan(boxes[i].id);
                assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, links), 0);
                boxes[i].link = links[0];
                rig_send(&rig, &reqs[i], &links[1], 1);
                close(links[1]);
        }
        while (made < MANY) { /* answered once each, in any order */
                struct wire_answer a;
                bool known = false;

                assert_true(rig_receive(&rig, &a, RIG_WAIT_MS));
                if (a.code != CAY_OK)
                        fail_msg("%s", a.text);
                assert_int_equal(a.type, WIRE_box_make);
                for (int i = 0; i < MANY; i++)
                        if (reqs[i].seq == a.seq) {
                                assert_string_equal(a.box.id, boxes[i].id);
                                reqs[i].seq = 0;
                                known = true;
                        }
                assert_true(known);
                made++;
        }
        for (int i = 0; i < MANY; i++)
                assert_string_equal(rig_tell(&boxes[i], "ping"), "pong");
        for (int i = 0; i < MANY; i += 2)
                ok(WIRE_box_drop, boxes[i].id);
        for (int i = 0; i < MANY; i++) {
                if (i % 2)
                        assert_string_equal(rig_tell(&boxes[i], "ping"), "pong");
                rig_box_close(&boxes[i]);
        }
        rig_stop(&rig);
}

/* Every box has ids that no other has. */
static void test_ids_are_its_own(void **state)
{
        struct rig_box a, b;
        unsigned first[2];
        char text[256];

        rig_start(&rig, NULL);
        rig_must_make(&rig, "a", &a);
        rig_must_make(&rig, "b", &b);
        snprintf(text, sizeof(text), "%s", rig_tell(&a, "read /proc/self/uid_map"));
        assert_int_equal(sscanf(text, " 0 %u 65536", &first[0]), 1);
        snprintf(text, sizeof(text), "%s", rig_tell(&b, "read /proc/self/uid_map"));
        assert_int_equal(sscanf(text, " 0 %u 65536", &first[1]), 1);
        assert_true(first[0] >= 0x70000000u && first[1] >= 0x70000000u);
        assert_true(first[0] + 65536 <= first[1] || first[1] + 65536 <= first[0]);
        rig_box_close(&a);
        rig_box_close(&b);
        rig_stop(&rig);
}

/* Asks for a box and freezes it at once: its process stops somewhere on its way to cay-init. */
static int make_half(const char *id)
{
        struct wire_request make = rig_request(&rig, WIRE_box_make),
                            freeze = rig_request(&rig, WIRE_box_freeze);
        struct wire_answer a;
        int links[2];

        make.plan = rig_plan(id);
        make.plan.flags = 0; /* not one-shot */
        snprintf(freeze.box.id, sizeof(freeze.box.id), "%s", id);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, links), 0);
        rig_send(&rig, &make, &links[1], 1);
        rig_send(&rig, &freeze, NULL, 0);
        close(links[1]);
        do
                assert_true(rig_receive(&rig, &a, RIG_WAIT_MS));
        while (a.seq != freeze.seq);
        assert_int_equal(a.code, CAY_OK);
        return links[0];
}

/*
 * A box that is stuck on its way holds nothing of its neighbours: their ends are not mistaken for those of
 * later ones.
 */
static void test_neighbours_of_a_stuck_box(void **state)
{
        struct rig_box first, later;
        int stuck;

        rig_start(&rig, NULL);
        rig_must_make(&rig, "first", &first);
        stuck = make_half("stuck");
        ok(WIRE_box_drop, "first");
        rig_box_close(&first);
        rig_must_make(&rig, "later", &later); /* it has the row that the first one had */
        for (int i = 0; i < 10; i++) {
                assert_string_equal(rig_tell(&later, "ping"), "pong");
                ok(WIRE_box_stat, "later");
        }
        assert_false(rig_news(&rig, "later", 200));
        ok(WIRE_box_thaw, "stuck");
        ok(WIRE_box_drop, "stuck");
        close(stuck);
        rig_box_close(&later);
        rig_stop(&rig);
}

static unsigned records(void)
{
        DIR *dir = opendir("/run/cay");
        struct dirent *e;
        unsigned count = 0;

        assert_non_null(dir);
        while ((e = readdir(dir)))
                count += strncmp(e->d_name, "box-", 4) == 0;
        closedir(dir);
        return count;
}

/*
 * Wardens that follow sweep until no record is left. One may be too early: a record belongs to who is on the
 * way to a box until that has seen its warden go, and a box that has a file system to write out is waited for
 * with a bound.
 */
static void sweep_all(void)
{
        for (unsigned i = 0; i < 500; i++) {
                rig_start(&rig, NULL);
                rig_stop(&rig);
                if (records() == 0)
                        break;
                nap_ms(20);
        }
        assert_int_equal(records(), 0);
}

/* The warden is killed while a box of its own is stuck on its way: the next one still finds all of it. */
static void test_warden_killed_beside_a_stuck_box(void **state)
{
        struct rig_box box;
        int stuck;

        rig_start(&rig, NULL);
        rig_must_make(&rig, "first", &box);
        stuck = make_half("stuck");
        rig_kill(&rig);
        sweep_all();
        rig_box_close(&box);
        close(stuck);
}

/*
 * A warden that runs already is asked for a box of the same id as one that dies with another warden: it
 * removes what that one left, and does not take it for another's because its own record names the same.
 */
static void test_same_id_as_one_of_a_killed_warden(void **state)
{
        for (int round = 0; round < 5; round++) {
                struct rig second = { 0 };
                struct rig_box old, new;
                struct wire_plan plan = rig_plan("same");
                struct wire_answer a = { .code = CAY_EXISTS };

                rig_start(&rig, NULL);
                rig_must_make(&rig, "same", &old);
                rig_start(&second, NULL);
                rig_kill(&rig);
                for (int i = 0; i < 500 && a.code == CAY_EXISTS; i++) {
                        a = rig_make(&second, &plan, -1, -1, &new);
                        nap_ms(a.code == CAY_EXISTS ? 20 : 0); /* the kernel still ends the old one */
                }
                if (a.code != CAY_OK)
                        fail_msg("%s", a.text);
                assert_string_equal(rig_tell(&new, "ping"), "pong");
                rig_box_close(&old);
                rig_box_close(&new);
                rig_stop(&second);
        }
        sweep_all();
}

/* SIGKILL of the warden with boxes in every state; the next one leaves nothing of them. */
static void test_warden_killed(void **state)
{
        struct rig_box live, frozen, dead;

        for (int round = 0; round < 5; round++) {
                rig_start(&rig, NULL);
                rig_must_make(&rig, "live", &live);
                assert_string_not_equal(rig_tell(&live, "spawn"), "error");
                assert_string_equal(rig_tell(&live, "nodes"), "ok");
                rig_must_make(&rig, "frozen", &frozen);
                ok(WIRE_box_freeze, "frozen");
                rig_must_make(&rig, "dead", &dead);
                assert_string_equal(rig_tell(&dead, "exit 0"), RIG_NOBODY);
                assert_true(rig_news(&rig, "dead", RIG_WAIT_MS));
                rig_kill(&rig);
                rig_start(&rig, NULL);
                rig_must_make(&rig, "live", &live); /* the names are free again */
                assert_string_equal(rig_tell(&live, "ping"), "pong");
                rig_box_close(&live);
                rig_box_close(&frozen);
                rig_box_close(&dead);
                rig_stop(&rig);
        }
}

static void die_when_recorded(void)
{
        setenv("CAY_TEST_KILL", "warden@recorded", 1);
}

/*
 * A run that died before it could find its name taken: its record must not be the end of the box that has the
 * name.
 */
static void test_record_with_anothers_name(void **state)
{
#ifdef CAY_TEST_HOOKS
        struct wire_request req;
        struct rig_box box;
        struct rig other;
        int pair[2];

        rig_start(&other, NULL);
        rig_must_make(&other, "mine", &box);
        rig_start(&rig, die_when_recorded);
        req = rig_request(&rig, WIRE_box_make);
        req.plan = rig_plan("mine");
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        rig_send(&rig, &req, &pair[1], 1);
        sys_close_fds(pair, 2);
        assert_true(rig_ends(&rig));
        rig_stop(&rig);
        rig_start(&rig, NULL); /* sweeps */
        rig_stop(&rig);
        assert_string_equal(rig_tell(&box, "ping"), "pong");
        rig_box_close(&box);
        rig_stop(&other);
#else
        (void)die_when_recorded;
        print_message("skipped: this build has no kill points (test_hooks)\n");
        skip();
#endif
}

static void hide_cgroup2(void)
{
        rig_own_mounts();
        for (int i = 0; i < 16 && umount2("/sys/fs/cgroup/unified", MNT_DETACH) == 0; i++)
                ;
}

/*
 * A host that mounts cgroup2 nowhere: the warden's own, private mount of it is found again by the next
 * warden.
 */
static void test_warden_killed_without_cgroup2_mounted(void **state)
{
        struct rig_box box;

        rig_start(&rig, hide_cgroup2);
        rig_must_make(&rig, "hidden", &box);
        assert_string_equal(rig_tell(&box, "nodes"), "ok");
        ok(WIRE_box_freeze, "hidden");
        rig_kill(&rig);
        rig_start(&rig, hide_cgroup2);
        rig_box_close(&box);
        rig_must_make(&rig, "hidden", &box);
        rig_box_close(&box);
        rig_stop(&rig);
}

/* Killed at whatever moment: many times, with boxes on their way. */
static void test_warden_killed_at_random(void **state)
{
        struct timespec now;

        for (int round = 0; round < 40; round++) {
                int links[4];

                rig_start(&rig, NULL);
                for (int i = 0; i < 4; i++) {
                        struct wire_request req = rig_request(&rig, WIRE_box_make);
                        char id[32];
                        int pair[2];

                        snprintf(id, sizeof(id), "random-%d", i);
                        req.plan = rig_plan(id);
                        if (i % 2)
                                req.plan.flags = 0; /* a layer on a loop device */
                        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
                        rig_send(&rig, &req, &pair[1], 1);
                        close(pair[1]);
                        links[i] = pair[0];
                }
                clock_gettime(CLOCK_MONOTONIC, &now);
                now = (struct timespec){ .tv_nsec = (now.tv_nsec / 1000 % 25 + round % 5) * 1000000 };
                nanosleep(&now, NULL);
                rig_kill(&rig);
                sys_close_fds(links, 4);
        }
        sweep_all();
}

/* The trace: every step of the warden and the box has a time, in the order of the table. */
static void test_trace(void **state)
{
        struct wire_request req;
        struct wire_answer a;
        struct rig_box box;
        uint64_t first;

        rig_start(&rig, NULL);
        rig_must_make(&rig, "traced", &box);
        ok(WIRE_box_drop, "traced");
        req = rig_request(&rig, WIRE_trace);
        a = rig_ask(&rig, &req, NULL, 0);
        first = a.trace.at_ns[CAY_STEP_warden_up];
        for (unsigned i = 0; i < CAY_STEP_COUNT; i++) {
                if (cay_step_who(i) == CAY_WHO_CLI)
                        assert_true(a.trace.at_ns[i] == 0);
                else if (a.trace.at_ns[i] < first)
                        fail_msg("step %s was not reached", cay_step_name(i));
        }
        rig_box_close(&box);
        rig_stop(&rig);
}

#define rigged(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                rigged(test_freeze_and_thaw),
                rigged(test_drop_frozen),
                rigged(test_stats),
                rigged(test_relink),
                rigged(test_relink_frozen),
                rigged(test_box_ends_by_itself),
                rigged(test_what_init_made_goes),
                rigged(test_fifty_at_once),
                rigged(test_single),
                rigged(test_ids_are_its_own),
                rigged(test_neighbours_of_a_stuck_box),
                rigged(test_warden_killed_beside_a_stuck_box),
                rigged(test_same_id_as_one_of_a_killed_warden),
                rigged(test_warden_killed),
                rigged(test_record_with_anothers_name),
                rigged(test_warden_killed_without_cgroup2_mounted),
                rigged(test_warden_killed_at_random),
                rigged(test_trace),
        };

        return cmocka_run_group_tests(tests, rig_group_set_up, rig_group_tear_down);
}
