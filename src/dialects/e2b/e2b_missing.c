/* SPDX-License-Identifier: Apache-2.0 */
/* What E2B's control plane has and this one has not: the answer says so. */
#include "dialects/e2b/e2b_priv.h"

static void run_templates(struct e2b_request *q)
{
        e2b_refuse(q, CAY_UNSUPPORTED,
                   "this request about templates is not supported by this server; see docs/e2b.md");
}

static void run_volumes(struct e2b_request *q)
{
        e2b_refuse(q, CAY_UNSUPPORTED,
                   "the files of volumes are reached through sandboxes here: mount it (volumeMounts)");
}

static void run_secrets(struct e2b_request *q)
{
        e2b_refuse(q, CAY_UNSUPPORTED,
                   "secrets are not supported by this server's E2B interface; see POST /api/secrets");
}

static const struct e2b_row rows[] = {
        { "* /templates/*rest", run_templates, E2B_FORM_REST, 0 },
        { "* /v2/templates/*rest", run_templates, E2B_FORM_REST, 0 },
        { "* /volumecontent/*rest", run_volumes, E2B_FORM_REST, 0 },
        { "* /secrets", run_secrets, E2B_FORM_REST, 0 },
        { "* /secrets/*rest", run_secrets, E2B_FORM_REST, 0 },
};

const struct e2b_rows e2b_missing_rows = { rows, CAY_COUNT(rows) };
