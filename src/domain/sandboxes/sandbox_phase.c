/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a sandbox: its table, its only writer, and what is derived from its phase. */
#include "domain/sandboxes/sandbox_phase.h"

#include <assert.h>
#include <stdint.h>

#include "domain/sandboxes/service_priv.h"

enum { RECORD_NO, RECORD_YES };

static const struct {
        const char *word;
        enum cay_state state;
        enum cay_pending pending;
        bool is_stored;
} phases[] = {
#define CAY_SANDBOX_PHASE(name, word, state, operation, record, doc)                                         \
        { word, CAY_STATE_##state, CAY_PENDING_##operation, RECORD_##record },
#include "domain/sandboxes/sandbox_phases.def"
};
_Static_assert(CAY_COUNT(phases) == CAY_SANDBOX_PHASE_COUNT, "a row for every phase");

static const char *const event_words[] = {
#define CAY_SANDBOX_EVENT(name, word, doc) word,
#include "domain/sandboxes/sandbox_phases.def"
};
_Static_assert(CAY_COUNT(event_words) == CAY_SANDBOX_EVENT_COUNT, "a word for every event");

/* 0: not legal; else the next phase plus 1. Two rows for one pair do not compile (-Woverride-init). */
static const uint8_t moves[CAY_SANDBOX_PHASE_COUNT][CAY_SANDBOX_EVENT_COUNT] = {
#define CAY_SANDBOX_MOVE(phase, event, next)                                                                 \
        [CAY_SANDBOX_PHASE_##phase][CAY_SANDBOX_EVENT_##event] = CAY_SANDBOX_PHASE_##next + 1,
#include "domain/sandboxes/sandbox_phases.def"
};

const char *cay_sandbox_phase_word(enum cay_sandbox_phase phase)
{
        return phase < CAY_SANDBOX_PHASE_COUNT ? phases[phase].word : "?";
}

const char *cay_sandbox_event_word(enum cay_sandbox_event event)
{
        return event < CAY_SANDBOX_EVENT_COUNT ? event_words[event] : "?";
}

enum cay_state cay_sandbox_phase_state(enum cay_sandbox_phase phase, unsigned running)
{
        enum cay_state state = phases[phase].state;

        return state == CAY_STATE_READY && running > 0 ? CAY_STATE_BUSY : state;
}

enum cay_pending cay_sandbox_phase_pending(enum cay_sandbox_phase phase)
{
        return phases[phase].pending;
}

bool cay_sandbox_phase_is_stored(enum cay_sandbox_phase phase)
{
        return phases[phase].is_stored;
}

int cay_sandbox_phase_next(enum cay_sandbox_phase phase, enum cay_sandbox_event event)
{
        if (phase >= CAY_SANDBOX_PHASE_COUNT || event >= CAY_SANDBOX_EVENT_COUNT)
                return -1;
        return moves[phase][event] - 1;
}

/* CREATING is never stored; if it were, the box would not have been reported. */
enum cay_sandbox_event cay_sandbox_found(enum cay_state state)
{
        static const enum cay_sandbox_event events[CAY_STATE_COUNT] = {
                [CAY_STATE_CREATING] = CAY_SANDBOX_EVENT_FIND_ERROR,
                [CAY_STATE_READY] = CAY_SANDBOX_EVENT_FIND_LIVE,
                [CAY_STATE_BUSY] = CAY_SANDBOX_EVENT_FIND_LIVE,
                [CAY_STATE_PAUSED] = CAY_SANDBOX_EVENT_FIND_PAUSED,
                [CAY_STATE_STOPPED] = CAY_SANDBOX_EVENT_FIND_STOPPED,
                [CAY_STATE_ERROR] = CAY_SANDBOX_EVENT_FIND_ERROR,
        };

        return events[state];
}

enum cay_state cay_sandbox_state(const struct cay_sandbox *sb)
{
        return cay_sandbox_phase_state(sb->phase, sb->running);
}

enum cay_pending cay_sandbox_pending(const struct cay_sandbox *sb)
{
        return phases[sb->phase].pending;
}

bool cay_sandbox_is_stored(const struct cay_sandbox *sb)
{
        return phases[sb->phase].is_stored;
}

static bool rests(enum cay_state state)
{
        return state == CAY_STATE_ERROR || state == CAY_STATE_STOPPED;
}

/* What clients see may have changed. */
static void note_change(struct cay_sandbox *sb, enum cay_state from)
{
        enum cay_state to = cay_sandbox_state(sb);

        if (from == to)
                return;
        sb->changed_wall_ms = cay_service_wall(sb->service);
        if (to == CAY_STATE_STOPPED)
                cay_sandbox_unpublish(sb);
        /*
         * Not between READY and BUSY: a sandbox that goes has its cause already while its last commands end.
         */
        if (rests(from) && !rests(to))
                cay_sandbox_set_cause(sb, CAY_CAUSE_NONE, "");
}

void cay_sandbox_move(struct cay_sandbox *sb, enum cay_sandbox_event event)
{
        enum cay_sandbox_phase from = sb->phase;
        enum cay_state was = cay_sandbox_state(sb);
        int to = cay_sandbox_phase_next(from, event);

        if (to < 0)
                cay_log_error("sandbox cannot move", "id=%s event=%s in=%s", sb->id,
                              cay_sandbox_event_word(event), cay_sandbox_phase_word(from));
        assert(to >= 0);
        cay_log_debug("sandbox moved", "id=%s event=%s from=%s to=%s", sb->id, cay_sandbox_event_word(event),
                      cay_sandbox_phase_word(from), cay_sandbox_phase_word((enum cay_sandbox_phase)to));
        sb->phase = (enum cay_sandbox_phase)to;
        if (from != CAY_SANDBOX_PHASE_NEW) /* new or just found: no change for anybody */
                note_change(sb, was);
}

void cay_sandbox_count(struct cay_sandbox *sb, bool more)
{
        enum cay_state was = cay_sandbox_state(sb);

        sb->running += more ? 1u : -1u;
        note_change(sb, was);
}
