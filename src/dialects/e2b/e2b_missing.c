/* SPDX-License-Identifier: Apache-2.0 */
/* What E2B's control plane has and this one has not: the answer says so. */
#include "dialects/e2b/e2b_priv.h"

static void run_templates(struct e2b_request *q)
{
        e2b_refuse(q, CAY_UNSUPPORTED,
                   "this request about templates is not supported by this server; see docs/e2b.md");
}

static void run_secrets(struct e2b_request *q)
{
        e2b_refuse(q, CAY_UNSUPPORTED,
                   "secrets are not supported by this server's E2B interface; see POST /api/secrets");
}

static void run_unsupported(struct e2b_request *q)
{
        e2b_refuse(q, CAY_UNSUPPORTED, "this request is not supported by this server; see docs/e2b.md");
}

/* Below the paths of E2B's control plane, also what it may get in later versions. */
static void run_unknown(struct e2b_request *q)
{
        e2b_refuse(q, CAY_NOT_FOUND, "nothing is at this path, or not with this method; see docs/e2b.md");
}

static const struct e2b_row rows[] = {
        { "* /templates", run_templates, E2B_FORM_REST, 0 },
        { "* /templates/*rest", run_templates, E2B_FORM_REST, 0 },
        { "* /v2/templates", run_templates, E2B_FORM_REST, 0 },
        { "* /v2/templates/*rest", run_templates, E2B_FORM_REST, 0 },
        { "* /volumecontent/*rest", run_unknown, E2B_FORM_REST, 0 },
        { "* /secrets", run_secrets, E2B_FORM_REST, 0 },
        { "* /secrets/*rest", run_secrets, E2B_FORM_REST, 0 },
        { "GET /sandboxes/metrics", run_unsupported, E2B_FORM_REST, 0 },
        { "GET /sandboxes/{id}/logs", run_unsupported, E2B_FORM_REST, 0 },
        { "GET /v2/sandboxes/{id}/logs", run_unsupported, E2B_FORM_REST, 0 },
        { "* /teams", run_unsupported, E2B_FORM_REST, 0 },
        { "* /teams/*rest", run_unsupported, E2B_FORM_REST, 0 },
        { "* /api-keys", run_unsupported, E2B_FORM_REST, 0 },
        { "* /api-keys/*rest", run_unsupported, E2B_FORM_REST, 0 },
        { "* /access-tokens", run_unsupported, E2B_FORM_REST, 0 },
        { "* /access-tokens/*rest", run_unsupported, E2B_FORM_REST, 0 },
        { "* /sandboxes/*rest", run_unknown, E2B_FORM_REST, 0 },
        { "* /snapshots/*rest", run_unknown, E2B_FORM_REST, 0 },
        { "* /volumes/*rest", run_unknown, E2B_FORM_REST, 0 },
        { "* /v2/*rest", run_unknown, E2B_FORM_REST, 0 },
        { "* /v3/*rest", run_unknown, E2B_FORM_REST, 0 },
};

const struct e2b_rows e2b_missing_rows = { rows, CAY_COUNT(rows) };
