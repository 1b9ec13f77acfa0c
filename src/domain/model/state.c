/* SPDX-License-Identifier: Apache-2.0 */
/* The states of sandboxes: their words, and whether they have a box. */
#include "domain/model/state.h"

#include "foundation/base/banned.h"
#include "foundation/base/cleanup.h"

static const char *const words[] = {
#define CAY_STATE(name, word, doc) word,
#include "domain/model/state.def"
#undef CAY_STATE
};
_Static_assert(CAY_COUNT(words) == CAY_STATE_COUNT, "a word for every state");

bool cay_state_has_box(enum cay_state state)
{
        return state == CAY_STATE_CREATING || state == CAY_STATE_READY || state == CAY_STATE_BUSY ||
               state == CAY_STATE_PAUSED;
}

const char *cay_state_word(enum cay_state state)
{
        return state < CAY_STATE_COUNT ? words[state] : "?";
}

int cay_state_find(const char *word)
{
        for (unsigned i = 0; i < CAY_STATE_COUNT; i++)
                if (strcmp(words[i], word) == 0)
                        return (int)i;
        return -1;
}
