/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper's copies of a registry: what the next front gets, whatever became of the file and of the last
 * one.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cay/keeper/registry_keep.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/unix_socket.h"

static char folder[] = "/tmp/cay-keep-XXXXXX", path[64];
static struct cay_registry_keep keep;
static int socks[2];

static void put(const char *text)
{
        unlink(path);
        assert_int_equal(sys_make_file(AT_FDCWD, path, 0600, text, strlen(text)), 0);
}

static int reading(const char *text)
{
        struct cay_error err = { 0 };

        put(text);
        return cay_registry_keep_read(&keep, path, &err);
}

/* What a front would get. */
static struct cay_hand_registry front_gets(const char *text)
{
        struct cay_hand_registry say = { 0 };
        int fds[SYS_FDS_MAX];
        unsigned count = 0;
        char got[64] = "";

        assert_int_equal(cay_registry_keep_send(&keep, socks[0]), 0);
        assert_int_equal(sys_recv_fds(socks[1], &say, sizeof(say), fds, &count, MSG_DONTWAIT), sizeof(say));
        assert_int_equal(say.magic, CAY_HAND_MAGIC);
        assert_int_equal(say.has_usr, 1);
        assert_int_equal(say.has_text, text != NULL);
        assert_int_equal(count, text ? 3 : 1);
        if (text) {
                assert_true(sys_read_fd(fds[1], got, sizeof(got)) >= 0);
                assert_string_equal(got, text);
                assert_int_equal(write(fds[1], "x", 1), -1); /* sealed */
                assert_int_equal(faccessat(fds[2], "registry.yaml", F_OK, 0), 0);
        }
        sys_close_fds(fds, count);
        return say;
}

static void judged(struct cay_hand_registry say, bool taken)
{
        const struct cay_hand_verdict v = {
                .magic = CAY_HAND_MAGIC, .size = sizeof(v), .serial = say.serial, .taken = taken
        };

        cay_registry_keep_on_verdict(&keep, &v);
}

static int setup(void **state)
{
        memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
        if (!mkdtemp(folder) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
                return -1;
        snprintf(path, sizeof(path), "%s/registry.yaml", folder);
        keep = CAY_REGISTRY_KEEP_NONE;
        return 0;
}

static int teardown(void **state)
{
        cay_registry_keep_done(&keep);
        close(socks[0]);
        close(socks[1]);
        unlink(path);
        return rmdir(folder);
}

static void none_is_fine(void **state)
{
        struct cay_error err = { 0 };

        assert_int_equal(cay_registry_keep_read(&keep, "", &err), 0);
        judged(front_gets(NULL), true);
        front_gets(NULL);
        assert_int_equal(cay_registry_keep_folder(&keep), -1);
}

static void a_good_one_stays_whatever_the_file_becomes(void **state)
{
        assert_int_equal(reading("one"), 0);
        judged(front_gets("one"), true);
        put("changed");
        cay_registry_keep_before_front(&keep);
        front_gets("one");
}

static void a_refused_one_is_forgotten(void **state)
{
        assert_int_equal(reading("one"), 0);
        judged(front_gets("one"), true);
        assert_int_equal(reading("bad"), 0);
        judged(front_gets("bad"), false);
        front_gets("one");
}

static void one_that_cost_a_front_its_life_is_not_tried_again(void **state)
{
        assert_int_equal(reading("one"), 0);
        judged(front_gets("one"), true);
        assert_int_equal(reading("deadly"), 0);
        front_gets("deadly"); /* and no word of it */
        cay_registry_keep_before_front(&keep);
        front_gets("one");
}

static void one_that_came_while_there_was_no_front_is_for_the_next(void **state)
{
        assert_int_equal(reading("one"), 0);
        judged(front_gets("one"), true);
        assert_int_equal(reading("two"), 0);
        cay_registry_keep_before_front(&keep);
        judged(front_gets("two"), true);
        cay_registry_keep_before_front(&keep);
        front_gets("two");
}

static void a_late_word_is_about_another(void **state)
{
        struct cay_hand_registry first;

        assert_int_equal(reading("one"), 0);
        judged(front_gets("one"), true);
        assert_int_equal(reading("two"), 0);
        first = front_gets("two");
        assert_int_equal(reading("three"), 0);
        judged(first, true); /* of two: three is not judged by it */
        cay_registry_keep_before_front(&keep);
        judged(front_gets("three"), false);
        front_gets("one");
}

static void what_cannot_be_read_changes_nothing(void **state)
{
        struct cay_error err = { 0 };
        char *big = calloc(1, CAY_HAND_REGISTRY_MAX + 2);

        assert_int_equal(reading("one"), 0);
        judged(front_gets("one"), true);
        unlink(path);
        assert_int_equal(cay_registry_keep_read(&keep, path, &err), -1);
        assert_int_equal(err.code, CAY_NOT_FOUND);
        assert_int_equal(cay_registry_keep_read(&keep, folder, &err), -1);
        memset(big, '#', CAY_HAND_REGISTRY_MAX + 1);
        assert_int_equal(reading(big), -1);
        free(big);
        front_gets("one");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(none_is_fine, setup, teardown),
                cmocka_unit_test_setup_teardown(a_good_one_stays_whatever_the_file_becomes, setup, teardown),
                cmocka_unit_test_setup_teardown(a_refused_one_is_forgotten, setup, teardown),
                cmocka_unit_test_setup_teardown(one_that_cost_a_front_its_life_is_not_tried_again, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(one_that_came_while_there_was_no_front_is_for_the_next, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(a_late_word_is_about_another, setup, teardown),
                cmocka_unit_test_setup_teardown(what_cannot_be_read_changes_nothing, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
