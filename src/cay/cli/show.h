/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's answers in a form for people. */
#pragma once

#include <stdio.h>

#include "foundation/base/error.h"
#include "foundation/base/json_view.h"
#include "cay/cli/table.h"

enum cay_show {
        CAY_SHOW_JSON,    /* unchanged */
        CAY_SHOW_COLUMNS, /* as the op's row says: cay_show_columns */
        CAY_SHOW_SANDBOXES,
        CAY_SHOW_SANDBOX,
        CAY_SHOW_ID,
        CAY_SHOW_STATE,
        CAY_SHOW_REPLAY,
        CAY_SHOW_LIFE,
        CAY_SHOW_EVENTS,
        CAY_SHOW_PORTS,
        CAY_SHOW_CLEANUP,
        CAY_SHOW_SUGGESTION,
        CAY_SHOW_TEMPLATES, /* a list, or one */
};

/* -1: the answer reports a failure, which is in err. */
int cay_show(enum cay_show how, struct cay_json_view answer, FILE *out, struct cay_error *err);
/* A table of the member `list`, or with "" a record of the answer itself. */
int cay_show_columns(const char *list, const struct cay_column *columns, struct cay_json_view answer,
                     FILE *out, struct cay_error *err);
