/* SPDX-License-Identifier: Apache-2.0 */
/* All actions, by name. */
#include <string.h>

#include "domain/browser/action_steps.h"

static const struct cay_action_row *find(const struct cay_action_row *rows, unsigned count, const char *name)
{
        for (unsigned i = 0; i < count; i++)
                if (strcmp(rows[i].name, name) == 0)
                        return &rows[i];
        return NULL;
}

const struct cay_action_row *cay_action_find(const char *name)
{
        const struct cay_action_row *row = find(cay_action_rows_page, cay_action_rows_page_count, name);

        row = row ? row : find(cay_action_rows_input, cay_action_rows_input_count, name);
        row = row ? row : find(cay_action_rows_look, cay_action_rows_look_count, name);
        row = row ? row : find(cay_action_rows_outline, cay_action_rows_outline_count, name);
        return row ? row : find(cay_action_rows_state, cay_action_rows_state_count, name);
}
