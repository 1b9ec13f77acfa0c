/* SPDX-License-Identifier: Apache-2.0 */
#include "links/agent/agent_pause.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void pauses_double_up_to_a_ceiling(void **state)
{
        static const uint32_t most[] = { 250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000 };
        unsigned low = 0, high = 0;

        for (unsigned i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
                assert_int_equal(agent_pause_ms(&low, 0), most[i] / 2);
                assert_int_equal(agent_pause_ms(&high, most[i] / 2), most[i]);
        }
        for (uint32_t random = 0; random < 100000; random += 77) {
                uint32_t ms = agent_pause_ms(&low, random);

                assert_true(ms >= AGENT_PAUSE_MOST_MS / 2 && ms <= AGENT_PAUSE_MOST_MS);
        }
}

static void a_good_connection_makes_them_small_again(void **state)
{
        unsigned tries = 7;

        agent_pause_was_served(&tries, AGENT_STEADY_MS - 1);
        assert_int_equal(tries, AGENT_SHORT_TRIES);
        agent_pause_was_served(&tries, AGENT_STEADY_MS);
        assert_int_equal(tries, 0);
        agent_pause_was_served(&tries, 0);
        assert_int_equal(tries, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(pauses_double_up_to_a_ceiling),
                cmocka_unit_test(a_good_connection_makes_them_small_again),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
