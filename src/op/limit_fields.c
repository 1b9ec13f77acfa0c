/* SPDX-License-Identifier: Apache-2.0 */
/* Limits as fields. */
#include "op/limit_fields.h"

/* `at` is the whole struct: cay_limit_parse knows its member by number. */
int cay_op_parse_limit(const struct cay_field *field, const char *where, const char *text, void *at,
                       struct cay_error *err)
{
        return cay_limit_parse(at, (enum cay_limit)field->nr, where, text, err);
}

const struct cay_field cay_op_limit_fields[] = {
#define CAY_LIMIT(field, word, kind, min, max, doc)                                                          \
        { word, CAY_FIELD_PARSED, 0, 0, doc, .parse = cay_op_parse_limit, .nr = CAY_LIMIT_NR_##field },
#include "core/limits.def"
#undef CAY_LIMIT
        {},
};
