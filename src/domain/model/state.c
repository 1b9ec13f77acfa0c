/* SPDX-License-Identifier: Apache-2.0 */
/* The transition table of sandboxes. */
#include "domain/model/state.h"

#include "foundation/base/banned.h"
#include "foundation/base/cleanup.h"

#define TO(name) (1u << CAY_STATE_##name)

static const struct {
        const char *word;
        unsigned next;
} rows[] = {
#define CAY_STATE(name, word, next, doc) { word, next },
#include "domain/model/state.def"
#undef CAY_STATE
};
_Static_assert(CAY_COUNT(rows) == CAY_STATE_COUNT, "a row for every state");

bool cay_state_can_move(enum cay_state from, enum cay_state to)
{
        return from < CAY_STATE_COUNT && to < CAY_STATE_COUNT && (rows[from].next >> to & 1);
}

bool cay_state_has_box(enum cay_state state)
{
        return state == CAY_STATE_CREATING || state == CAY_STATE_READY || state == CAY_STATE_BUSY ||
               state == CAY_STATE_PAUSED;
}

const char *cay_state_word(enum cay_state state)
{
        return state < CAY_STATE_COUNT ? rows[state].word : "?";
}

int cay_state_find(const char *word)
{
        for (unsigned i = 0; i < CAY_STATE_COUNT; i++)
                if (strcmp(rows[i].word, word) == 0)
                        return (int)i;
        return -1;
}
