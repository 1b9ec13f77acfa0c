/* SPDX-License-Identifier: Apache-2.0 */
/* A warden with a keeper: boxes outlive their front, and nothing outlives the keeper. */
#include "integration/warden/rig.h"

static struct rig rig;

static unsigned list(char ids[][CAY_NAME_MAX + 1], unsigned max, unsigned *ret_live)
{
        unsigned count = 0;

        *ret_live = 0;
        for (uint32_t from = 0; count < max;) {
                struct wire_request req = rig_request(&rig, WIRE_box_list);
                struct wire_answer a;

                req.list.from = from;
                a = rig_ask(&rig, &req, NULL, 0);
                rig_must(a);
                if (!a.list.id[0])
                        break;
                snprintf(ids[count++], CAY_NAME_MAX + 1, "%s", a.list.id);
                *ret_live += a.list.live;
                from = a.list.next;
        }
        return count;
}

static struct wire_answer ask_link(struct rig_box *box)
{
        struct wire_request req = rig_request(&rig, WIRE_box_link);
        struct wire_answer a;
        int links[2];

        snprintf(req.box.id, sizeof(req.box.id), "%s", box->id);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, links), 0);
        a = rig_ask(&rig, &req, &links[1], 1);
        close(links[1]);
        rig_box_close(box);
        box->link = links[0];
        return a;
}

static void relink(struct rig_box *box)
{
        rig_must(ask_link(box));
}

static void test_next_front(void **state)
{
        int keeper = rig_start_kept(&rig);
        char ids[4][CAY_NAME_MAX + 1];
        struct rig_box a, b;
        unsigned live;

        rig_must_make(&rig, "keep-a", &a);
        rig_must_make(&rig, "keep-b", &b);
        for (int i = 0; i < 3; i++) {
                rig_next_front(&rig, keeper);
                assert_int_equal(list(ids, 4, &live), 2);
                assert_int_equal(live, 2);
                assert_string_equal(ids[0], "keep-a");
                assert_string_equal(ids[1], "keep-b");
        }
        rig_must(rig_ask_box(&rig, WIRE_box_drop, "keep-a"));
        assert_int_equal(list(ids, 4, &live), 1);
        relink(&b); /* the init that the first front's box has is the same, and takes the new stream */
        rig_must(rig_ask_box(&rig, WIRE_box_stat, "keep-b"));
        rig_box_close(&a);
        rig_box_close(&b);
        close(keeper);
        assert_true(rig_ends(&rig));
        rig_stop(&rig);
}

/* Between two fronts there is none: the boxes do not mind. */
static void test_no_front_for_a_while(void **state)
{
        int keeper = rig_start_kept(&rig);
        char ids[4][CAY_NAME_MAX + 1];
        const struct timespec nap = { .tv_nsec = 100000000 };
        struct rig_box box;
        unsigned live;

        rig_must_make(&rig, "alone", &box);
        close(rig.sock);
        rig.sock = -1;
        nanosleep(&nap, NULL);
        assert_int_equal(waitpid(rig.pid, NULL, WNOHANG), 0);
        rig_next_front(&rig, keeper);
        assert_int_equal(list(ids, 4, &live), 1);
        assert_int_equal(live, 1);
        rig_box_close(&box);
        close(keeper);
        assert_true(rig_ends(&rig));
        rig_stop(&rig);
}

/*
 * What ended while there was no front was told to nobody: for the next one it is not there, but can be
 * dropped.
 */
static void test_ends_without_a_front(void **state)
{
        int keeper = rig_start_kept(&rig);
        char ids[4][CAY_NAME_MAX + 1];
        const struct timespec nap = { .tv_nsec = 5000000 };
        struct rig_box box;
        unsigned live = 1;

        rig_must_make(&rig, "brief", &box);
        close(rig.sock);
        rig.sock = -1;
        rig_tell(&box, "exit");
        rig_next_front(&rig, keeper);
        for (int i = 0; i < RIG_WAIT_MS / 5 && live > 0; i++) { /* until the warden knows */
                assert_int_equal(list(ids, 4, &live), 1);
                nanosleep(&nap, NULL);
        }
        assert_int_equal(live, 0);
        assert_int_equal(ask_link(&box).code, CAY_NOT_FOUND);
        rig_must(rig_ask_box(&rig, WIRE_box_stat, "brief"));
        rig_must(rig_ask_box(&rig, WIRE_box_drop, "brief"));
        assert_int_equal(list(ids, 4, &live), 0);
        rig_box_close(&box);
        close(keeper);
        assert_true(rig_ends(&rig));
        rig_stop(&rig);
}

/* A front that breaks the protocol is hung up on; the next one finds everything. */
static void test_bad_front(void **state)
{
        int keeper = rig_start_kept(&rig);
        char ids[4][CAY_NAME_MAX + 1];
        struct wire_answer a;
        struct rig_box box;
        unsigned live;

        rig_must_make(&rig, "held", &box);
        assert_int_equal(send(rig.sock, "nonsense", 8, MSG_NOSIGNAL), 8);
        assert_false(rig_receive(&rig, &a, 1000));
        rig_next_front(&rig, keeper);
        assert_int_equal(list(ids, 4, &live), 1);
        rig_box_close(&box);
        close(keeper);
        assert_true(rig_ends(&rig));
        rig_stop(&rig);
}

/* What the keeper says is looked at too: anything but a front ends all. */
static void test_bad_keeper(void **state)
{
        int keeper = rig_start_kept(&rig);
        struct rig_box box;

        rig_must_make(&rig, "gone", &box);
        assert_int_equal(send(keeper, "x", 1, MSG_NOSIGNAL), 1);
        assert_true(rig_ends(&rig));
        rig_box_close(&box);
        close(keeper);
        rig_stop(&rig);
}

/*
 * The operator's maxima: given by the keeper, and held against a front that asks for more, or for no limit at
 * all.
 */

#define MIB (1ull << 20)

static struct wire_keeper_ceiling ceiling_of_test(void)
{
        return (struct wire_keeper_ceiling){
                .magic = WIRE_KEEPER_MAGIC,
                .size = sizeof(struct wire_keeper_ceiling),
                .type = WIRE_KEEPER_CEILING,
                .ceiling = { .memory_bytes = 256 * MIB,
                             .cpu_milli = 2000,
                             .pids = 100,
                             .disk_bytes = 128 * MIB,
                             .inodes = 50000,
                             .boxes = 2 },
        };
}

static void say_ceiling(int keeper, const struct wire_keeper_ceiling *say)
{
        assert_int_equal(send(keeper, say, sizeof(*say), MSG_NOSIGNAL), sizeof(*say));
}

static void test_ceiling(void **state)
{
        int keeper = rig_start_kept(&rig);
        const struct wire_keeper_ceiling say = ceiling_of_test();
        const struct wire_ceiling *most = &say.ceiling;
        struct wire_plan plan = rig_plan("most");
        struct rig_box a, b;

        say_ceiling(keeper, &say);
        plan.memory_bytes = most->memory_bytes;
        plan.swap_bytes = 0;
        plan.cpu_milli = (uint32_t)most->cpu_milli;
        plan.pids = most->pids;
        plan.disk_bytes = most->disk_bytes;
        plan.inodes = 4096;
        rig_must(rig_make(&rig, &plan, -1, -1, &a)); /* what is allowed can be had */
        for (unsigned i = 0; i < 12; i++) {
                static const char *const words[] = { "memory", "swap", "cpus", "pids", "disk",   "inodes",
                                                     "memory", "cpus", "pids", "disk", "inodes", "disk" };
                struct wire_plan lie = plan;

                snprintf(lie.id, sizeof(lie.id), "lie");
                lie.may_skip = ~0u;
                lie.memory_bytes = i == 0 ? most->memory_bytes + 1 : i == 6 ? 0 : lie.memory_bytes;
                lie.swap_bytes = i == 1 ? most->memory_bytes + 1 : lie.swap_bytes;
                lie.cpu_milli = i == 2 ? (uint32_t)most->cpu_milli + 1 : i == 7 ? 0 : lie.cpu_milli;
                lie.pids = i == 3 ? most->pids + 1 : i == 8 ? 0 : lie.pids;
                lie.disk_bytes = i == 4    ? most->disk_bytes + 1
                                 : i == 9  ? 0
                                 : i == 11 ? 14ull << 40
                                           : lie.disk_bytes;
                lie.inodes = i == 5 ? most->inodes + 1 : i == 10 ? 0 : lie.inodes;
                rig_refused(&rig, &lie, -1, -1, CAY_INVALID, words[i]);
        }
        rig_must_make(&rig, "second", &b);
        plan = rig_plan("third");
        rig_refused(&rig, &plan, -1, -1, CAY_LIMIT, "max_sandboxes");
        rig_must(rig_ask_box(&rig, WIRE_box_drop, "second"));
        rig_box_close(&b);
        rig_must_make(&rig, "fourth", &b);
        rig_box_close(&a);
        rig_box_close(&b);
        close(keeper);
        assert_true(rig_ends(&rig));
        rig_stop(&rig);
}

/* It is said once, and by the keeper: whatever else comes in its place ends the link. */
static void test_ceiling_once(void **state)
{
        for (unsigned i = 0; i < 4; i++) {
                struct wire_keeper_ceiling say = ceiling_of_test();
                int keeper = rig_start_kept(&rig);

                if (i == 0)
                        say_ceiling(keeper, &say); /* and once more below */
                if (i == 1)
                        say.ceiling.pids = 0;
                if (i == 2)
                        say.type = WIRE_KEEPER_FRONT;
                if (i == 3)
                        say.size--;
                say_ceiling(keeper, &say);
                assert_true(rig_ends(&rig));
                close(keeper);
                rig_stop(&rig);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_next_front, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_no_front_for_a_while, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_ends_without_a_front, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_bad_front, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_bad_keeper, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_ceiling, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_ceiling_once, rig_set_up, rig_tear_down),
        };

        return cmocka_run_group_tests(tests, rig_group_set_up, rig_group_tear_down);
}
