/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a sandbox: every pair of phase and event, every way, and what follows from a phase. */
#include "domain/sandboxes/sandbox_phase.h"

#include <stdio.h>

#include "unit/domain/sandboxes/machine_test.h"

static int next(unsigned state, unsigned event)
{
        return cay_sandbox_phase_next((enum cay_sandbox_phase)state, (enum cay_sandbox_event)event);
}

static const char *state_word(unsigned state)
{
        return cay_sandbox_phase_word((enum cay_sandbox_phase)state);
}

static const char *event_word(unsigned event)
{
        return cay_sandbox_event_word((enum cay_sandbox_event)event);
}

static enum cay_state shown(unsigned phase)
{
        return cay_sandbox_phase_state((enum cay_sandbox_phase)phase, 0);
}

static enum cay_pending pending(unsigned phase)
{
        return cay_sandbox_phase_pending((enum cay_sandbox_phase)phase);
}

static const struct machine machine = {
        .states = CAY_SANDBOX_PHASE_COUNT,
        .events = CAY_SANDBOX_EVENT_COUNT,
        .next = next,
        .state_word = state_word,
        .event_word = event_word,
        .finals = UINT64_C(1) << CAY_SANDBOX_PHASE_REMOVED,
};

/* A second copy, so that no row of the table changes by accident. */
static void pairs(void **state)
{
        static const struct machine_row rows[] = {
                { "new", "make", "making" },
                { "new", "claim files", "claiming" },
                { "new", "found live", "live" },
                { "new", "found paused", "paused" },
                { "new", "found stopped", "stopped" },
                { "new", "found in error", "error" },
                { "making", "done", "live" },
                { "making", "undone", "removed" },
                { "claiming", "done", "stopped" },
                { "claiming", "undone", "removed" },
                { "starting", "done", "live" },
                { "starting", "undone", "stopped" },
                { "starting", "failed", "error" },
                { "live", "adopt", "adopting" },
                { "live", "pause", "pausing" },
                { "live", "stop", "stopping" },
                { "live", "destroy", "destroying" },
                { "live", "lost", "cleaning" },
                { "live", "failed", "error" },
                { "paused", "adopt", "adopting paused" },
                { "paused", "resume", "resuming" },
                { "paused", "stop", "stopping paused" },
                { "paused", "destroy", "destroying paused" },
                { "paused", "lost", "cleaning paused" },
                { "paused", "failed", "error" },
                { "stopped", "start", "starting" },
                { "stopped", "destroy", "destroying stopped" },
                { "stopped", "failed", "error" },
                { "error", "adopt", "adopting error" },
                { "error", "start", "starting" },
                { "error", "stop", "stopping error" },
                { "error", "destroy", "destroying error" },
                { "error", "lost", "cleaning error" },
                { "error", "failed", "error" },
                { "error", "answered", "live" },
                { "adopting", "met", "live" },
                { "adopting", "lost", "cleaning" },
                { "adopting paused", "met", "paused" },
                { "adopting paused", "lost", "cleaning paused" },
                { "adopting error", "met", "error" },
                { "adopting error", "lost", "cleaning error" },
                { "pausing", "done", "paused" },
                { "pausing", "undone", "live" },
                { "resuming", "done", "live" },
                { "resuming", "thawed", "greeting" },
                { "resuming", "undone", "paused" },
                { "greeting", "done", "live" },
                { "stopping", "stored", "unmaking" },
                { "stopping", "undone", "live" },
                { "stopping paused", "stored", "unmaking" },
                { "stopping paused", "undone", "paused" },
                { "stopping error", "stored", "unmaking" },
                { "stopping error", "undone", "error" },
                { "unmaking", "done", "stopped" },
                { "unmaking", "failed", "error" },
                { "destroying", "stored", "dropped" },
                { "destroying", "undone", "live" },
                { "destroying paused", "stored", "dropped paused" },
                { "destroying paused", "undone", "paused" },
                { "destroying stopped", "stored", "dropped stopped" },
                { "destroying stopped", "undone", "stopped" },
                { "destroying error", "stored", "dropped error" },
                { "destroying error", "undone", "error" },
                { "dropped", "done", "removed" },
                { "dropped", "failed", "error" },
                { "dropped paused", "done", "removed" },
                { "dropped paused", "failed", "error" },
                { "dropped stopped", "done", "removed" },
                { "dropped stopped", "failed", "error" },
                { "dropped error", "done", "removed" },
                { "dropped error", "failed", "error" },
                { "cleaning", "cleaned", "cleaning error" },
                { "cleaning paused", "cleaned", "cleaning error" },
                { "cleaning error", "cleaned", "cleaning error" },
                { "cleaning error", "done", "error" },
        };

        machine_check_pairs(&machine, rows, sizeof(rows) / sizeof(rows[0]));
}

static void ways(void **state)
{
        machine_check_words(&machine);
        machine_check_ways(&machine);
}

/* What clients see changes only in these ways: the promise of the API. */
static void what_clients_see(void **state)
{
        static const char *const allowed[] = {
                "creating ready", "creating stopped", "creating error", "ready paused",  "ready stopped",
                "ready error",    "paused ready",     "paused stopped", "paused error",  "stopped creating",
                "stopped error",  "error creating",   "error ready",    "error stopped",
        };

        for (unsigned p = CAY_SANDBOX_PHASE_NEW + 1; p < CAY_SANDBOX_PHASE_COUNT; p++) {
                for (unsigned e = 0; e < CAY_SANDBOX_EVENT_COUNT; e++) {
                        int to = next(p, e);
                        char text[40];
                        bool found = false;

                        if (to < 0 || to == CAY_SANDBOX_PHASE_REMOVED || shown(p) == shown((unsigned)to))
                                continue;
                        snprintf(text, sizeof(text), "%s %s", cay_state_word(shown(p)),
                                 cay_state_word(shown((unsigned)to)));
                        for (unsigned i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
                                found |= strcmp(allowed[i], text) == 0;
                        if (!found)
                                fail_msg("%s + %s: %s", state_word(p), event_word(e), text);
                }
        }
}

/*
 * One operation at a time: none begins in the middle of another, save that a box may go while it is adopted.
 */
static void one_at_a_time(void **state)
{
        for (unsigned p = 0; p < CAY_SANDBOX_PHASE_COUNT; p++) {
                for (unsigned e = 0; e < CAY_SANDBOX_EVENT_COUNT; e++) {
                        int to = next(p, e);

                        if (to < 0 || pending(p) == CAY_PENDING_NONE ||
                            pending((unsigned)to) == CAY_PENDING_NONE || pending(p) == pending((unsigned)to))
                                continue;
                        assert_int_equal(pending(p), CAY_PENDING_ADOPT);
                        assert_int_equal(pending((unsigned)to), CAY_PENDING_CLEAN);
                }
        }
}

/*
 * An operation that came to nothing leaves what clients see as it was, and can be destroyed from wherever one
 * is at rest.
 */
static void undone_is_as_before(void **state)
{
        for (unsigned p = 0; p < CAY_SANDBOX_PHASE_COUNT; p++) {
                int undone = next(p, CAY_SANDBOX_EVENT_UNDO);
                bool is_made = p != CAY_SANDBOX_PHASE_MAKING && p != CAY_SANDBOX_PHASE_STARTING &&
                               p != CAY_SANDBOX_PHASE_CLAIMING;

                if (undone >= 0 && is_made)
                        assert_int_equal(shown((unsigned)undone), shown(p));
                if (p != CAY_SANDBOX_PHASE_NEW && p != CAY_SANDBOX_PHASE_REMOVED)
                        assert_int_equal(next(p, CAY_SANDBOX_EVENT_DESTROY) >= 0,
                                         pending(p) == CAY_PENDING_NONE);
        }
}

static void found_in_records(void **state)
{
        for (unsigned s = 0; s < CAY_STATE_COUNT; s++) {
                int to = next(CAY_SANDBOX_PHASE_NEW, cay_sandbox_found((enum cay_state)s));

                assert_true(to >= 0);
                assert_int_equal(pending((unsigned)to), CAY_PENDING_NONE);
                assert_true(cay_sandbox_phase_is_stored((enum cay_sandbox_phase)to));
                assert_int_equal(cay_sandbox_phase_state((enum cay_sandbox_phase)to, s == CAY_STATE_BUSY),
                                 s == CAY_STATE_CREATING ? CAY_STATE_ERROR : (enum cay_state)s);
        }
}

/*
 * A box can go or fall silent when no operation is under way, and go while it is adopted: cay_sandbox_gone
 * and cay_link_ping ask no more.
 */
static void boxes_stop_nobody(void **state)
{
        for (unsigned p = CAY_SANDBOX_PHASE_NEW + 1; p < CAY_SANDBOX_PHASE_COUNT; p++) {
                enum cay_sandbox_phase phase = (enum cay_sandbox_phase)p;
                enum cay_pending pending = cay_sandbox_phase_pending(phase);
                bool has_box = cay_sandbox_phase_is_stored(phase) &&
                               cay_sandbox_phase_state(phase, 0) != CAY_STATE_STOPPED;

                if (!has_box || (pending != CAY_PENDING_NONE && pending != CAY_PENDING_ADOPT))
                        continue;
                if (cay_sandbox_phase_next(phase, CAY_SANDBOX_EVENT_LOSE) < 0)
                        fail_msg("%s, lost", cay_sandbox_phase_word(phase));
                if (pending == CAY_PENDING_NONE && cay_sandbox_phase_next(phase, CAY_SANDBOX_EVENT_FAIL) < 0)
                        fail_msg("%s, failed", cay_sandbox_phase_word(phase));
        }
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(pairs),
                cmocka_unit_test(ways),
                cmocka_unit_test(what_clients_see),
                cmocka_unit_test(one_at_a_time),
                cmocka_unit_test(undone_is_as_before),
                cmocka_unit_test(found_in_records),
                cmocka_unit_test(boxes_stop_nobody),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
