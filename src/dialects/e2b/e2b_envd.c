/* SPDX-License-Identifier: Apache-2.0 */
/* envd: whether the sandbox runs. */
#include "dialects/e2b/e2b_priv.h"

/* One that does not run was refused before. */
static void run_health(struct e2b_request *q)
{
        e2b_answer_empty(q, 204);
}

static const struct e2b_row rows[] = {
        { "GET /health", run_health, E2B_FORM_REST, E2B_OPEN },
};

const struct e2b_rows e2b_envd_rows = { rows, CAY_COUNT(rows) };
