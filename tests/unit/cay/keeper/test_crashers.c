/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that end fronts: two crashes at the same one, and the next front is told. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cay/keeper/crashers.h"

#define CRASH SIGSEGV
#define MINUTES(n) ((n)*60000u)

/* A front's life: it was at this request when it ended. Returns whether the next one refuses `wanted`. */
static bool live(struct cay_crashers *t, uint64_t key, int status, uint64_t now_ms, uint64_t wanted)
{
        struct cay_hand_crashers say;

        assert_int_equal(cay_crashers_before_front(t, now_ms), 0);
        assert_int_equal(pread(t->fd, &say, sizeof(say), 0), sizeof(say));
        assert_int_equal(say.key, 0);
        say.key = key;
        snprintf(say.text, sizeof(say.text), "GET /x\033[2J of %u", (unsigned)key);
        assert_int_equal(pwrite(t->fd, &say, sizeof(say), 0), sizeof(say));
        cay_crashers_on_end(t, status, now_ms);
        assert_int_equal(cay_crashers_before_front(t, now_ms), 0);
        assert_int_equal(pread(t->fd, &say, sizeof(say), 0), sizeof(say));
        for (unsigned i = 0; i < CAY_HAND_REFUSED_MAX; i++)
                if (say.refused[i] == wanted)
                        return true;
        return false;
}

static void two_crashes(void **state)
{
        struct cay_crashers t = { 0 };

        (void)state;
        assert_false(live(&t, 7, CRASH, MINUTES(1), 7));
        assert_false(live(&t, 8, CRASH, MINUTES(1), 7));
        assert_false(live(&t, 0, CRASH, MINUTES(1), 7)); /* at nobody's */
        assert_true(live(&t, 7, CAY_HAND_DENIED << 8, MINUTES(2), 7));
        assert_false(live(&t, 0, CRASH, MINUTES(3), 8));
        assert_true(live(&t, 0, CRASH, MINUTES(11), 7));
        assert_false(live(&t, 0, CRASH, MINUTES(13), 7)); /* for a while */
        assert_false(live(&t, 7, CRASH, MINUTES(14), 7)); /* the first strike again */
        cay_crashers_done(&t);
}

/* Killed by somebody, by the kernel for its memory, or ended by itself: that tells nothing of the request. */
static void other_ends_do_not_count(void **state)
{
        static const int ends[] = { SIGKILL, SIGTERM, SIGINT, 0, 1 << 8 };
        struct cay_crashers t = { 0 };

        (void)state;
        for (unsigned i = 0; i < 10; i++)
                assert_false(live(&t, 7, ends[i % 5], MINUTES(1), 7));
        cay_crashers_done(&t);
}

/* A front that lies fills the table with what it likes: it stays as large as it is. */
static void many(void **state)
{
        struct cay_crashers t = { 0 };

        (void)state;
        for (unsigned i = 1; i < 200; i++)
                for (unsigned times = 0; times < 2; times++)
                        live(&t, i, CRASH, MINUTES(1) + i, i);
        assert_true(live(&t, 0, 0, MINUTES(1) + 200, 199) || live(&t, 0, 0, MINUTES(1) + 200, 198));
        cay_crashers_done(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(two_crashes),
                cmocka_unit_test(other_ends_do_not_count),
                cmocka_unit_test(many),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
