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

/* What ended while there was no front was told to nobody: for the next one it is not there, but can be dropped. */
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

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_next_front, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_no_front_for_a_while, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_ends_without_a_front, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_bad_front, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_bad_keeper, rig_set_up, rig_tear_down),
        };

        return cmocka_run_group_tests(tests, rig_group_set_up, rig_group_tear_down);
}
