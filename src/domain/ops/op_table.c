/* SPDX-License-Identifier: Apache-2.0 */
/* All ops in one list. */
#include <string.h>

#include "domain/ops/op.h"

#define CAY_OP(name) extern const struct cay_op cay_op_##name;
#include "domain/ops/ops.def"
#undef CAY_OP

const struct cay_op *const cay_ops[] = {
#define CAY_OP(name) &cay_op_##name,
#include "domain/ops/ops.def"
#undef CAY_OP
};

const unsigned cay_op_count = CAY_COUNT(cay_ops);

const struct cay_op *cay_op_find(const char *name)
{
        for (unsigned i = 0; i < cay_op_count; i++)
                if (strcmp(cay_ops[i]->name, name) == 0)
                        return cay_ops[i];
        return NULL;
}
