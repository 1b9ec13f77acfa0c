/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities of engines. */
#include "domain/model/engine_caps.h"

static const struct {
        const char *name, *asked;
} rows[] = {
#define CAY_ENGINE_CAP(bit, name, asked) { name, asked },
#include "domain/model/engine_caps.def"
#undef CAY_ENGINE_CAP
};

int cay_engine_caps_check(const char *engine, unsigned caps, unsigned wanted, struct cay_error *err)
{
        for (unsigned i = 0; i < CAY_ENGINE_CAP_COUNT; i++)
                if (wanted & ~caps & (1u << i))
                        return cay_fail(err, CAY_UNSUPPORTED,
                                        "%s: the %s engine lacks the capability '%s'; name an engine that "
                                        "has it (/api/engines lists them)",
                                        rows[i].asked, engine, rows[i].name);
        return 0;
}
