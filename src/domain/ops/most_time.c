/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/ops/most_time.h"

#include "domain/settings/config.h"
#include "domain/model/limits.h"

/* 0: there is no bound. */
static uint64_t find_most(const struct cay_op_call *c)
{
        return cay_scope_has(c->caller.scopes, CAY_SCOPE_ADMIN) ? 0 : c->world->config->most_time;
}

int cay_op_check_time(const struct cay_op_call *c, const char *field, uint64_t asked_ms,
                      struct cay_error *err)
{
        uint64_t most = find_most(c);
        char asked[32], bound[32];

        if (most == 0 || asked_ms <= most)
                return 0;
        cay_limit_value_text(CAY_LIMIT_NR_wall_ms, asked_ms, asked, sizeof(asked));
        cay_limit_value_text(CAY_LIMIT_NR_wall_ms, most, bound, sizeof(bound));
        return cay_fail(err, CAY_INVALID,
                        "%s: %s is longer than a command may take here (%s): ask for less, or have most_time "
                        "raised",
                        field, asked, bound);
}

uint64_t cay_op_bound_time(const struct cay_op_call *c, uint64_t ms)
{
        uint64_t most = find_most(c);

        return most > 0 && (ms == 0 || ms > most) ? most : ms;
}
