/* SPDX-License-Identifier: Apache-2.0 */
#include "foundation/base/phase.h"

#include <assert.h>

#include "foundation/base/log.h"

bool cay_phase_may(const struct cay_phase_table *t, unsigned from, unsigned to)
{
        return from < t->count && to < t->count && (t->rows[from].next & CAY_PHASE_BIT(to)) != 0;
}

unsigned cay_phase_move(const struct cay_phase_table *t, unsigned from, unsigned to, const char *id)
{
        bool may = cay_phase_may(t, from, to);
        const char *was = from < t->count ? t->rows[from].word : "?",
                   *is = to < t->count ? t->rows[to].word : "?";

        if (!may)
                cay_log_error("phase cannot follow", "thing=%s id=%s from=%s to=%s", t->thing, id, was, is);
        assert(may);
        cay_log_debug("phase", "thing=%s id=%s from=%s to=%s", t->thing, id, was, is);
        return to;
}

bool cay_phase_table_is_sound(const struct cay_phase_table *t)
{
        uint32_t seen = CAY_PHASE_BIT(0), before = 0;

        if (t->count == 0 || t->count > CAY_PHASE_MAX)
                return false;
        for (unsigned i = 0; i < t->count; i++) {
                if (!t->rows[i].word || !t->rows[i].word[0])
                        return false;
                if (t->count < CAY_PHASE_MAX && t->rows[i].next >= CAY_PHASE_BIT(t->count))
                        return false;
        }
        while (seen != before) {
                before = seen;
                for (unsigned i = 0; i < t->count; i++)
                        if (seen & CAY_PHASE_BIT(i))
                                seen |= t->rows[i].next;
        }
        return seen == (t->count == CAY_PHASE_MAX ? ~0u : CAY_PHASE_BIT(t->count) - 1);
}
