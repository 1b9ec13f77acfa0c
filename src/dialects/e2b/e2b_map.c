/* SPDX-License-Identifier: Apache-2.0 */
/* Names of E2B's templates. */
#include <string.h>

#include "dialects/e2b/e2b_priv.h"
#include "domain/ops/template_use.h"
#include "domain/settings/config.h"

/* What clients ask for without saying so: the daemon's own default, unless the registry's `aliases` says otherwise. */
static const char *const unsaid[] = { "base", "code-interpreter-v1", "code-interpreter-beta" };

static const char *find_alias(const struct cay_template_set *set, const char *name)
{
        for (unsigned i = 0; set && i < set->aliases.count; i++)
                if (strcmp(set->aliases.pairs[i].name, name) == 0)
                        return set->aliases.pairs[i].value;
        return NULL;
}

const char *e2b_template_of(const struct cay_op_world *world, const char *template_id)
{
        const struct cay_template_set *set = world->templates ? world->templates->set : NULL;
        const char *found = find_alias(set, template_id);

        if (found)
                return found;
        if (set && cay_template_find(set, template_id))
                return template_id;
        for (unsigned i = 0; i < CAY_COUNT(unsaid); i++)
                if (strcmp(unsaid[i], template_id) == 0)
                        return world->config->default_template[0] ? world->config->default_template
                                                                  : CAY_TEMPLATE_DEFAULT;
        return template_id;
}
