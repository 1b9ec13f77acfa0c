/* SPDX-License-Identifier: Apache-2.0 */
/* Applies snapshots to requests. */
#include "domain/ops/snapshot_use.h"

#include <string.h>

#include "domain/model/spec.h"
#include "domain/ops/template_use.h"
#include "foundation/base/str.h"

#define SECRET_MARK "cay-secret-" /* how placeholders of secrets begin (secret_use.c) */

static const struct cay_template_set *registry(const struct cay_op_call *c)
{
        return c->world->templates ? c->world->templates->set : NULL;
}

static bool is_template(const struct cay_op_call *c, const char *name)
{
        return strcmp(name, CAY_TEMPLATE_DEFAULT) == 0 ||
               (registry(c) && cay_template_find(registry(c), name));
}

int cay_op_snapshot_choose(const struct cay_op_call *c, struct cay_snapshot_use *ret, const char **ret_field,
                           struct cay_error *err)
{
        const struct cay_create_args *a = c->args;
        const struct cay_viewer viewer = { .owner = c->caller.owner };
        const char *name = a->snapshot;
        struct cay_snapshot_view view;
        struct cay_error other = { 0 };

        *ret = (struct cay_snapshot_use){ 0 };
        if (!name && a->template_name && !is_template(c, a->template_name) &&
            cay_service_snapshot_get(c->world->service, &viewer, a->template_name, &view, &other) == 0)
                name = view.id;
        if (!name)
                return 0;
        *ret_field = "snapshot";
        if (cay_service_snapshot_get(c->world->service, &viewer, name, &view, err) < 0)
                return -1;
        if (a->snapshot && a->template_name && strcmp(a->template_name, view.template_name) != 0)
                return cay_fail(err, CAY_CONFLICT,
                                "template: snapshot '%s' was made of the template '%s'; leave template out",
                                name, view.template_name);
        cay_str_copy(ret->id, sizeof(ret->id), view.id);
        if (!cay_str_copy(ret->template_name, sizeof(ret->template_name), view.template_name))
                return cay_fail(err, CAY_CONFLICT, "snapshot: the name of its template is too long");
        *ret_field = "template";
        return 0;
}

static int find(const struct cay_op_call *c, const struct cay_snapshot_use *use,
                struct cay_snapshot_view *ret, struct cay_error *err)
{
        const struct cay_viewer viewer = { .owner = c->caller.owner };

        return cay_service_snapshot_get(c->world->service, &viewer, use->id, ret, err);
}

int cay_op_snapshot_fill(const struct cay_op_call *c, const struct cay_snapshot_use *use,
                         struct cay_sandbox_new *what, struct cay_error *err)
{
        struct cay_snapshot_view view;

        if (!use->id[0])
                return 0;
        if (find(c, use, &view, err) < 0)
                return -1;
        what->snapshot = use->id;
        cay_sandbox_options_fill(&what->options, &view.options);
#define CAY_LIMIT(field, word, kind, min, max, doc)                                                          \
        if (what->limits.field == 0 && !(CAY_LIMIT_MASK_NETWORK & CAY_LIMIT_BIT(field)))                     \
                what->limits.field = view.limits->field;
#include "domain/model/limits.def"
#undef CAY_LIMIT
        return 0;
}

static bool has_name(const struct cay_field_map *map, const char *name)
{
        for (unsigned i = 0; i < map->count; i++)
                if (strcmp(map->pairs[i].name, name) == 0)
                        return true;
        return false;
}

/* Those of its secrets are its own: a new one names its secrets itself. */
static bool is_of_secrets(const struct cay_field_pair *pair)
{
        return strncmp(pair->value, SECRET_MARK, strlen(SECRET_MARK)) == 0 ||
               strcmp(pair->value, CAY_SPEC_CA_FILE) == 0;
}

int cay_op_snapshot_env(const struct cay_op_call *c, const struct cay_snapshot_use *use,
                        const struct cay_field_map *own, struct cay_field_pair *pairs,
                        struct cay_field_map *ret, struct cay_error *err)
{
        struct cay_snapshot_view view;
        unsigned count = 0;

        *ret = *own;
        if (!use->id[0])
                return 0;
        if (find(c, use, &view, err) < 0)
                return -1;
        for (unsigned i = 0; i < view.env.count; i++)
                if (count < CAY_SERVICE_PAIRS_MAX && !is_of_secrets(&view.env.pairs[i]) &&
                    !has_name(own, view.env.pairs[i].name))
                        pairs[count++] = view.env.pairs[i];
        if (count + own->count > CAY_SERVICE_PAIRS_MAX)
                return cay_fail(err, CAY_INVALID, "env: has more than %d variables with the snapshot's own",
                                CAY_SERVICE_PAIRS_MAX);
        for (unsigned i = 0; i < own->count; i++)
                pairs[count++] = own->pairs[i];
        *ret = (struct cay_field_map){ pairs, count };
        return 0;
}
