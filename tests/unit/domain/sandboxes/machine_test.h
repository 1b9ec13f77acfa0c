/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for every table of states and events: a walk over all pairs, and over all ways. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MACHINE_MAX 64

struct machine {
        unsigned states, events;
        int (*next)(unsigned state, unsigned event); /* -1: refused */
        const char *(*state_word)(unsigned state);
        const char *(*event_word)(unsigned event);
        uint64_t finals; /* bits: states from which nothing leads away */
};

struct machine_row { /* one that is legal, by words */
        const char *state, *event, *next;
};

static inline bool machine_is_final(const struct machine *m, unsigned state)
{
        return m->finals >> state & 1;
}

/* Every pair is legal exactly if `rows` has it, and then leads where it says. */
static inline void machine_check_pairs(const struct machine *m, const struct machine_row *rows,
                                       unsigned count)
{
        unsigned legal = 0;

        for (unsigned s = 0; s < m->states; s++) {
                for (unsigned e = 0; e < m->events; e++) {
                        int next = m->next(s, e);
                        const char *expected = "refused", *found = "refused";

                        for (unsigned i = 0; i < count; i++)
                                if (strcmp(rows[i].state, m->state_word(s)) == 0 &&
                                    strcmp(rows[i].event, m->event_word(e)) == 0)
                                        expected = rows[i].next;
                        if (next >= 0) {
                                assert_true((unsigned)next < m->states);
                                found = m->state_word((unsigned)next);
                                legal++;
                        }
                        if (strcmp(found, expected) != 0)
                                fail_msg("%s + %s: %s instead of %s", m->state_word(s), m->event_word(e),
                                         found, expected);
                }
        }
        assert_int_equal(legal, count);
        assert_int_equal(m->next(m->states, 0), -1);
        assert_int_equal(m->next(0, m->events), -1);
}

/* The states that can be reached from a set of them, themselves included. */
static inline uint64_t machine_reach(const struct machine *m, uint64_t from)
{
        uint64_t last = 0;

        while (from != last) {
                last = from;
                for (unsigned s = 0; s < m->states; s++)
                        for (unsigned e = 0; from >> s & 1 && e < m->events; e++)
                                if (m->next(s, e) >= 0)
                                        from |= UINT64_C(1) << m->next(s, e);
        }
        return from;
}

/*
 * The first state leads to all others, each of them leads to an end, and no end leads anywhere. Every event
 * has a use.
 */
static inline void machine_check_ways(const struct machine *m)
{
        assert_true(m->states <= MACHINE_MAX);
        assert_true(machine_reach(m, 1) == (m->states == 64 ? UINT64_MAX : (UINT64_C(1) << m->states) - 1));
        for (unsigned s = 0; s < m->states; s++) {
                uint64_t reach = machine_reach(m, UINT64_C(1) << s);

                if (!(reach & m->finals))
                        fail_msg("%s leads to no end", m->state_word(s));
                if (machine_is_final(m, s) && reach != UINT64_C(1) << s)
                        fail_msg("%s is an end, and leads on", m->state_word(s));
        }
        for (unsigned e = 0; e < m->events; e++) {
                unsigned uses = 0;

                for (unsigned s = 0; s < m->states; s++)
                        uses += m->next(s, e) >= 0;
                if (uses == 0)
                        fail_msg("%s never happens", m->event_word(e));
        }
}

static inline void machine_check_words(const struct machine *m)
{
        for (unsigned s = 0; s < m->states; s++)
                for (unsigned k = 0; k < s; k++)
                        assert_string_not_equal(m->state_word(s), m->state_word(k));
        for (unsigned e = 0; e < m->events; e++)
                for (unsigned k = 0; k < e; k++)
                        assert_string_not_equal(m->event_word(e), m->event_word(k));
        assert_string_equal(m->state_word(m->states), "?");
        assert_string_equal(m->event_word(m->events), "?");
}
