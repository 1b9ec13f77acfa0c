/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks what an op writes against its table, as a watcher of the JSON writer. Builds with test hooks do so
 * for every answer, so every test of an op tests its table, too. In other builds a table costs nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "domain/ops/result.h"
#include "foundation/base/json_out.h"

#define CAY_RESULT_MEMBERS_MAX 64 /* of one table, including those that it inserts */

struct cay_result_check {
        struct cay_json_sink watch; /* its `free` does nothing: it lives where it was made */
        struct cay_result_level {
                const struct cay_result_table *table; /* NULL: the content is not described */
                bool is_list, is_map;
                uint64_t seen;
                const struct cay_result_field *due; /* a key was written, its value was not yet */
                enum cay_result_kind items; /* of a list or map without a table: TEXT, NUMBER; WHATEVER */
        } levels[CAY_JSON_DEPTH_MAX];
        unsigned depth;
        char wrong[120]; /* the faulty member, after the writer failed with -EPROTO */
};

void cay_result_check_init(struct cay_result_check *c, const struct cay_result_table *table);
