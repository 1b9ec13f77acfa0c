/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A front that lies about roots: only what lies below the registry's folder becomes a box's root, as the
 * keeper named it last.
 */
#include "integration/warden/rig.h"

static struct rig rig;
static int keeper = -1;

static int folder(const char *name)
{
        char path[200];

        snprintf(path, sizeof(path), "%s/%s", rig_folder(), name);
        if (mkdir(path, 0755) < 0)
                assert_int_equal(errno, EEXIST);
        return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void say_registry(int fd)
{
        rig_say(keeper, WIRE_KEEPER_REGISTRY, 0, fd);
        rig_say(keeper, WIRE_KEEPER_CHECK, 0, -1); /* answered in order: by then it was heard */
        rig_hear(keeper);
}

/* Makes a box with this root, and drops it again. */
static struct wire_answer ask(int rootfs)
{
        struct wire_request req = rig_request(&rig, WIRE_box_make);
        struct wire_answer a;
        int links[2], fds[2];

        req.plan = rig_plan("root");
        req.plan.flags |= WIRE_PLAN_ROOTFS;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, links), 0);
        fds[0] = links[1];
        fds[1] = rootfs;
        a = rig_ask(&rig, &req, fds, 2);
        close(links[0]);
        close(links[1]);
        if (a.code == CAY_OK)
                rig_must(rig_ask_box(&rig, WIRE_box_drop, "root"));
        return a;
}

static void is_refused(int fd)
{
        struct wire_answer a = ask(fd);

        assert_int_equal(a.code, CAY_DENIED);
        assert_non_null(strstr(a.text, "no rootfs but those below the registry's folder"));
        assert_int_equal(rig_ask_box(&rig, WIRE_box_stat, "root").code, CAY_NOT_FOUND);
}

static void is_taken(int fd)
{
        struct wire_answer a = ask(fd);

        if (a.code != CAY_OK)
                fail_msg("%u: %s", a.code, a.text);
}

static void test_roots(void **state)
{
        static const char *const others[] = { "/", "/etc", "/usr", "/proc", "/tmp" };
        cay_auto_close int registry = folder("registry"), near = folder("registry/near"),
                           deep = folder("registry/near/deep"), beside = folder("registry-not"),
                           above = open(rig_folder(), O_PATH | O_DIRECTORY | O_CLOEXEC);

        keeper = rig_start_kept(&rig);
        is_refused(near); /* nobody has named a folder yet */
        say_registry(registry);
        is_taken(near);
        is_taken(deep);
        is_refused(registry); /* itself: what lies in it beside roots is not for boxes */
        is_refused(above);
        is_refused(beside);
        for (unsigned i = 0; i < CAY_COUNT(others); i++) {
                cay_auto_close int fd = open(others[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

                assert_true(fd >= 0);
                is_refused(fd);
        }
        say_registry(beside); /* the last one counts */
        is_refused(near);
        close(keeper);
        assert_true(rig_ends(&rig));
        rig_stop(&rig);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_roots, rig_set_up, rig_tear_down),
        };

        return cmocka_run_group_tests(tests, rig_group_set_up, rig_group_tear_down);
}
