/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a command: every pair of phase and event, every way, and what follows from a phase. */
#include "domain/sandboxes/exec_phase.h"

#include "domain/sandboxes/service_priv.h"
#include "unit/domain/sandboxes/machine_test.h"

static int next(unsigned state, unsigned event)
{
        return cay_exec_phase_next((enum cay_exec_phase)state, (enum cay_exec_event)event);
}

static const char *state_word(unsigned state)
{
        return cay_exec_phase_word((enum cay_exec_phase)state);
}

static const char *event_word(unsigned event)
{
        return cay_exec_event_word((enum cay_exec_event)event);
}

static const struct machine machine = {
        .states = CAY_EXEC_PHASE_COUNT,
        .events = CAY_EXEC_EVENT_COUNT,
        .next = next,
        .state_word = state_word,
        .event_word = event_word,
        .finals = UINT64_C(1) << CAY_EXEC_PHASE_ENDED | UINT64_C(1) << CAY_EXEC_PHASE_GONE,
};

/* A second copy, so that no row of the table changes by accident. */
static void pairs(void **state)
{
        static const struct machine_row rows[] = {
                { "new", "tried", "quick sent" },
                { "quick sent", "opened", "quick opened" },
                { "quick sent", "sent", "sent" },
                { "quick sent", "refused", "gone" },
                { "quick sent", "ended", "quick ending" },
                { "quick sent", "cut off", "quick judged" },
                { "quick opened", "sent", "opened" },
                { "quick opened", "ended", "quick ending" },
                { "quick opened", "cut off", "quick judged" },
                { "quick ending", "sent", "early ending" },
                { "quick ending", "judged", "quick judged" },
                { "quick ending", "cut off", "quick judged" },
                { "quick judged", "end sent", "quick closing" },
                { "quick judged", "told", "ended" },
                { "quick closing", "start stored", "ended" },
                { "quick closing", "start not stored", "gone" },
                { "quick closing", "told", "early told" },
                { "new", "sent", "sent" },
                { "new", "refused", "gone" },
                { "new", "cut off", "gone" },
                { "new", "found running", "adopted" },
                { "new", "found ended", "ended" },
                { "sent", "opened", "opened" },
                { "sent", "start stored", "stored" },
                { "sent", "start not stored", "gone" },
                { "sent", "refused", "refused" },
                { "sent", "ended", "early ending" },
                { "sent", "cut off", "early judged" },
                { "opened", "start stored", "running" },
                { "opened", "start not stored", "gone" },
                { "opened", "ended", "early ending" },
                { "opened", "cut off", "early judged" },
                { "stored", "opened", "running" },
                { "stored", "refused", "gone" },
                { "stored", "ended", "ending" },
                { "stored", "cut off", "judged" },
                { "running", "ended", "ending" },
                { "running", "cut off", "judged" },
                { "adopted", "opened", "running" },
                { "adopted", "ended", "ending" },
                { "adopted", "cut off", "judged" },
                { "refused", "start stored", "gone" },
                { "refused", "start not stored", "gone" },
                { "early ending", "start stored", "ending" },
                { "early ending", "start not stored", "gone" },
                { "early ending", "judged", "early judged" },
                { "early ending", "cut off", "early judged" },
                { "early judged", "start stored", "judged" },
                { "early judged", "start not stored", "gone" },
                { "early judged", "told", "early told" },
                { "early told", "start stored", "ended" },
                { "early told", "start not stored", "ended" },
                { "ending", "judged", "judged" },
                { "ending", "cut off", "judged" },
                { "judged", "end sent", "closing" },
                { "judged", "told", "ended" },
                { "closing", "end stored", "ended" },
                { "closing", "told", "ended" },
                { "ended", "end stored", "ended" },
        };

        machine_check_pairs(&machine, rows, sizeof(rows) / sizeof(rows[0]));
}

static void ways(void **state)
{
        machine_check_words(&machine);
        machine_check_ways(&machine);
}

static unsigned rank(enum cay_exec_end end)
{
        return end == CAY_EXEC_END_NEVER ? 99 : (unsigned)end;
}

/* An end that is known stays known, a cause stays what it is, and nobody is told twice. */
static void ends_stay(void **state)
{
        for (unsigned p = 0; p < CAY_EXEC_PHASE_COUNT; p++) {
                for (unsigned e = 0; e < CAY_EXEC_EVENT_COUNT; e++) {
                        int to = next(p, e);
                        enum cay_exec_end from_end = cay_exec_phase_end((enum cay_exec_phase)p);

                        if (to < 0)
                                continue;
                        assert_true(rank(cay_exec_phase_end((enum cay_exec_phase)to)) >= rank(from_end));
                        if (e == CAY_EXEC_EVENT_TELL)
                                assert_int_equal(from_end, CAY_EXEC_END_JUDGED);
                        if (e == CAY_EXEC_EVENT_JUDGE)
                                assert_int_equal(from_end, CAY_EXEC_END_KNOWN);
                        if (e == CAY_EXEC_EVENT_CUT)
                                assert_true(from_end == CAY_EXEC_END_ALIVE || from_end == CAY_EXEC_END_KNOWN);
                }
        }
}

/* The commit of a start ends once, whatever happens meanwhile: only where it is under way can it be done. */
static void commits_end_once(void **state)
{
        for (unsigned p = 0; p < CAY_EXEC_PHASE_COUNT; p++) {
                bool pending = cay_exec_phase_record((enum cay_exec_phase)p) == CAY_EXEC_RECORD_PENDING;

                assert_int_equal(next(p, CAY_EXEC_EVENT_STORE) >= 0, pending);
                assert_int_equal(next(p, CAY_EXEC_EVENT_UNSTORE) >= 0, pending);
                if (pending)
                        assert_int_equal(next(p, CAY_EXEC_EVENT_UNSTORE), p == CAY_EXEC_PHASE_EARLY_TOLD
                                                                                  ? CAY_EXEC_PHASE_ENDED
                                                                                  : CAY_EXEC_PHASE_GONE);
        }
}

/* Along every way the sandbox's count is what the phase says, and clients see three states in order. */
static void counts(void **state)
{
        for (unsigned p = 0; p < CAY_EXEC_PHASE_COUNT; p++) {
                for (unsigned e = 0; e < CAY_EXEC_EVENT_COUNT; e++) {
                        struct cay_sandbox sb = { .running = 5 };
                        struct cay_exec x = { .sandbox = &sb, .phase = (enum cay_exec_phase)p };
                        bool was = cay_exec_is_stored(&x) && !cay_exec_is_ended(&x), moved;
                        enum cay_exec_state before = cay_exec_state(&x);

                        if (next(p, e) < 0)
                                continue;
                        moved = cay_exec_move(&x, (enum cay_exec_event)e);
                        assert_int_equal(moved, x.phase != p);
                        assert_int_equal(sb.running,
                                         5 - was + (cay_exec_is_stored(&x) && !cay_exec_is_ended(&x)));
                        assert_true(cay_exec_state(&x) >= before);
                        if (e == CAY_EXEC_EVENT_OPEN)
                                assert_int_equal(cay_exec_state(&x), CAY_EXEC_RUNNING);
                }
        }
}

/*
 * What others can cause at any time, as far as the code lets it through: init's END while its channel is
 * open, a sandbox that goes, and a commit that speaks for whatever is judged. No phase may lack a row for
 * these: it would stop the front.
 */
static void strangers_stop_nobody(void **state)
{
        for (unsigned p = CAY_EXEC_PHASE_NEW + 1; p < CAY_EXEC_PHASE_COUNT; p++) {
                enum cay_exec_phase phase = (enum cay_exec_phase)p;
                enum cay_exec_end end = cay_exec_phase_end(phase);
                bool is_pending = cay_exec_phase_record(phase) == CAY_EXEC_RECORD_PENDING;
                const bool needs[CAY_EXEC_EVENT_COUNT] = {
                        [CAY_EXEC_EVENT_END] = end == CAY_EXEC_END_ALIVE,
                        [CAY_EXEC_EVENT_CUT] = end == CAY_EXEC_END_ALIVE || end == CAY_EXEC_END_KNOWN,
                        [CAY_EXEC_EVENT_JUDGE] = end == CAY_EXEC_END_KNOWN,
                        [CAY_EXEC_EVENT_TELL] = end == CAY_EXEC_END_JUDGED,
                        [CAY_EXEC_EVENT_STORE] = is_pending,
                        [CAY_EXEC_EVENT_UNSTORE] = is_pending,
                };

                for (unsigned e = 0; e < CAY_EXEC_EVENT_COUNT; e++)
                        if (needs[e] && cay_exec_phase_next(phase, (enum cay_exec_event)e) < 0)
                                fail_msg("%s, %s", cay_exec_phase_word(phase),
                                         cay_exec_event_word((enum cay_exec_event)e));
        }
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(pairs),     cmocka_unit_test(ways),
                cmocka_unit_test(ends_stay), cmocka_unit_test(commits_end_once),
                cmocka_unit_test(counts),    cmocka_unit_test(strangers_stop_nobody),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
