/* SPDX-License-Identifier: Apache-2.0 */
/* The only file of this layer that knows every engine. */
#include "engines/engine_table.h"

#define CAY_ENGINE(name, lacks, caps, helper, start, doc)                                                    \
        extern const struct cay_engine_ops cay_engine_##name##_ops;
#include "engines/engines.def"
#undef CAY_ENGINE

static const struct cay_engine_ops *const engines[CAY_ENGINE_COUNT] = {
#define CAY_ENGINE(name, lacks, caps, helper, start, doc) [CAY_ENGINE_##name] = &cay_engine_##name##_ops,
#include "engines/engines.def"
#undef CAY_ENGINE
};

const struct cay_engine_ops *cay_engine_ops(enum cay_engine_nr nr)
{
        return engines[nr];
}

const struct cay_engine_ops *cay_engine_ops_find(const char *name)
{
        int nr = cay_engine_list_find(name);

        return nr >= 0 ? engines[nr] : NULL;
}
