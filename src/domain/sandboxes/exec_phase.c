/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a command: its table, its only writer, and what is derived from its phase. */
#include "domain/sandboxes/exec_phase.h"

#include <assert.h>
#include <stdint.h>

#include "domain/sandboxes/service_priv.h"

static const struct {
        const char *word;
        enum cay_exec_record record;
        enum cay_exec_end end;
} phases[] = {
#define CAY_EXEC_PHASE(name, word, record, end, doc) { word, CAY_EXEC_RECORD_##record, CAY_EXEC_END_##end },
#include "domain/sandboxes/exec_phases.def"
};
_Static_assert(CAY_COUNT(phases) == CAY_EXEC_PHASE_COUNT, "a row for every phase");

static const char *const event_words[] = {
#define CAY_EXEC_EVENT(name, word, doc) word,
#include "domain/sandboxes/exec_phases.def"
};
_Static_assert(CAY_COUNT(event_words) == CAY_EXEC_EVENT_COUNT, "a word for every event");

/* 0: not legal; else the next phase plus 1. Two rows for one pair do not compile (-Woverride-init). */
static const uint8_t moves[CAY_EXEC_PHASE_COUNT][CAY_EXEC_EVENT_COUNT] = {
#define CAY_EXEC_MOVE(phase, event, next)                                                                    \
        [CAY_EXEC_PHASE_##phase][CAY_EXEC_EVENT_##event] = CAY_EXEC_PHASE_##next + 1,
#include "domain/sandboxes/exec_phases.def"
};

const char *cay_exec_phase_word(enum cay_exec_phase phase)
{
        return phase < CAY_EXEC_PHASE_COUNT ? phases[phase].word : "?";
}

const char *cay_exec_event_word(enum cay_exec_event event)
{
        return event < CAY_EXEC_EVENT_COUNT ? event_words[event] : "?";
}

enum cay_exec_record cay_exec_phase_record(enum cay_exec_phase phase)
{
        return phases[phase].record;
}

enum cay_exec_end cay_exec_phase_end(enum cay_exec_phase phase)
{
        return phases[phase].end;
}

int cay_exec_phase_next(enum cay_exec_phase phase, enum cay_exec_event event)
{
        if (phase >= CAY_EXEC_PHASE_COUNT || event >= CAY_EXEC_EVENT_COUNT)
                return -1;
        return moves[phase][event] - 1;
}

bool cay_exec_is_alive(const struct cay_exec *x)
{
        return phases[x->phase].end == CAY_EXEC_END_ALIVE;
}

bool cay_exec_is_judged(const struct cay_exec *x)
{
        return phases[x->phase].end == CAY_EXEC_END_JUDGED;
}

bool cay_exec_is_due(const struct cay_exec *x)
{
        return x->phase == CAY_EXEC_PHASE_JUDGED || x->phase == CAY_EXEC_PHASE_QUICK_JUDGED;
}

bool cay_exec_is_ended(const struct cay_exec *x)
{
        return phases[x->phase].end == CAY_EXEC_END_TOLD;
}

bool cay_exec_is_stored(const struct cay_exec *x)
{
        return phases[x->phase].record == CAY_EXEC_RECORD_STORED;
}

/* Whether the sandbox counts it as running: stored, and its end not announced. */
static bool is_counted(enum cay_exec_phase phase)
{
        return phases[phase].record == CAY_EXEC_RECORD_STORED && phases[phase].end != CAY_EXEC_END_TOLD;
}

/* Clients see three states. A command that is known to end keeps its state until the end is stored. */
enum cay_exec_state cay_exec_state(const struct cay_exec *x)
{
        if (cay_exec_is_ended(x))
                return CAY_EXEC_ENDED;
        return x->ran ? CAY_EXEC_RUNNING : CAY_EXEC_STARTING;
}

bool cay_exec_move(struct cay_exec *x, enum cay_exec_event event)
{
        enum cay_exec_phase from = x->phase;
        int to = cay_exec_phase_next(from, event);

        if (to < 0)
                cay_log_error("exec cannot move", "exec=%s event=%s in=%s", x->id, cay_exec_event_word(event),
                              cay_exec_phase_word(from));
        assert(to >= 0);
        cay_log_debug("exec moved", "exec=%s event=%s from=%s to=%s", x->id, cay_exec_event_word(event),
                      cay_exec_phase_word(from), cay_exec_phase_word((enum cay_exec_phase)to));
        x->phase = (enum cay_exec_phase)to;
        x->ran |= event == CAY_EXEC_EVENT_OPEN || event == CAY_EXEC_EVENT_FIND_RUNNING ||
                  event == CAY_EXEC_EVENT_FIND_ENDED;
        x->begun |= event == CAY_EXEC_EVENT_OPEN;
        if (x->sandbox != NULL && is_counted(from) != is_counted(x->phase))
                cay_sandbox_count(x->sandbox, is_counted(x->phase));
        return x->phase != from;
}
