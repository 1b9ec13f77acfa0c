/* SPDX-License-Identifier: Apache-2.0 */
/* What E2B's control plane has and this one has not: the answer says so. */
#include "dialects/e2b/e2b_priv.h"

static void run_snapshots(struct e2b_request *q)
{
        e2b_refuse(q, CAY_UNSUPPORTED,
                   "snapshots and forks are not supported by this server's E2B interface; see POST "
                   "/api/sandboxes/{id}/snapshots");
}

static void run_templates(struct e2b_request *q)
{
        e2b_refuse(q, CAY_UNSUPPORTED,
                   "templates cannot be built by clients here; the operator adds them to the registry");
}

static void run_volumes(struct e2b_request *q)
{
        e2b_refuse(q, CAY_UNSUPPORTED, "volumes are not supported by this server's E2B interface");
}

static void run_secrets(struct e2b_request *q)
{
        e2b_refuse(q, CAY_UNSUPPORTED,
                   "secrets are not supported by this server's E2B interface; see POST /api/secrets");
}

static const struct e2b_row rows[] = {
        { "POST /sandboxes/{id}/snapshots", run_snapshots, E2B_FORM_REST, 0 },
        { "POST /sandboxes/{id}/fork", run_snapshots, E2B_FORM_REST, 0 },
        { "GET /snapshots", run_snapshots, E2B_FORM_REST, 0 },
        { "* /templates/*rest", run_templates, E2B_FORM_REST, 0 },
        { "* /v2/templates/*rest", run_templates, E2B_FORM_REST, 0 },
        { "* /v3/templates", run_templates, E2B_FORM_REST, 0 },
        { "* /volumes", run_volumes, E2B_FORM_REST, 0 },
        { "* /volumes/*rest", run_volumes, E2B_FORM_REST, 0 },
        { "* /volumecontent/*rest", run_volumes, E2B_FORM_REST, 0 },
        { "* /secrets", run_secrets, E2B_FORM_REST, 0 },
        { "* /secrets/*rest", run_secrets, E2B_FORM_REST, 0 },
};

const struct e2b_rows e2b_missing_rows = { rows, CAY_COUNT(rows) };
