/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds what an op writes against its table while it writes, as a watch of the JSON writer. Builds with test hooks do that for every answer,
 * so every test that asks an op tests its table, too; in others a table costs nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "domain/ops/result.h"
#include "foundation/base/json_out.h"

#define CAY_RESULT_MEMBERS_MAX 64 /* of one table, with those that it takes over */

struct cay_result_check {
        struct cay_json_sink watch; /* its `free` does nothing: it lives where it was made */
        struct cay_result_level {
                const struct cay_result_table *table; /* NULL: nothing is known about what is in here */
                bool is_list, is_map;
                uint64_t seen;
                const struct cay_result_field *due; /* a key of it was written; its value is not yet */
                enum cay_result_kind items; /* of a list or map without a table: TEXT, NUMBER; WHATEVER */
        } levels[CAY_JSON_DEPTH_MAX];
        unsigned depth;
        char wrong[120]; /* the member that is at fault, once the writer has failed with -EPROTO */
};

void cay_result_check_init(struct cay_result_check *c, const struct cay_result_table *table);
