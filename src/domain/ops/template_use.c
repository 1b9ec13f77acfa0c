/* SPDX-License-Identifier: Apache-2.0 */
/* Applies templates to requests. */
#include "domain/ops/template_use.h"

#include "domain/settings/config.h"

_Static_assert(sizeof(((struct cay_op_call *)NULL)->confirm) == CAY_CONFIRM_TOKEN + 1, "a token fits");

/* Where templates are listed, for callers of each dialect; some have no such list. */
static const char *const lists[CAY_OP_DIALECT_COUNT] = {
        [CAY_OP_REST] = "; GET /api/templates lists them",
        [CAY_OP_CONTAINERS] = "; GET /containers lists them",
        [CAY_OP_SERVICE] = "",
        [CAY_OP_MCP] = "; container_list lists them",
        [CAY_OP_E2B] = "",
        [CAY_OP_BROWSERBASE] = "",
};

const char *cay_op_unnamed_template(const struct cay_op_call *c)
{
        const char *name = c->world->config ? c->world->config->default_template : NULL;

        return name && name[0] ? name : NULL;
}

int cay_op_find_template(const struct cay_op_call *c, const char *name, const struct cay_template **ret,
                         struct cay_error *err)
{
        const struct cay_op_world *w = c->world;
        const struct cay_template_set *set = w->templates ? w->templates->set : NULL;

        *ret = NULL;
        if (!set) /* the service knows its engines */
                return 0;
        if (!name) /* as if it was named */
                name = cay_op_unnamed_template(c) ? cay_op_unnamed_template(c) : CAY_TEMPLATE_DEFAULT;
        *ret = cay_template_find(set, name);
        if (*ret)
                return cay_template_check(*ret, err);
        if (strcmp(name, CAY_TEMPLATE_DEFAULT) == 0)
                return 0;
        return cay_fail(err, CAY_NOT_FOUND, "template: '%.63s' does not exist%s", name, lists[c->dialect]);
}

/* Each dialect says how its callers confirm. */
static int ask_first(const struct cay_template *t, const char *danger, struct cay_error *err)
{
        if (danger)
                return cay_fail(err, CAY_CONFLICT, "this run needs a confirmation, because %s", danger);
        return cay_fail(err, CAY_CONFLICT, "template '%s' needs a confirmation", t->name);
}

int cay_op_confirm(struct cay_op_call *c, const struct cay_template *t, const char *danger, const char *token,
                   const struct cay_buf *what, struct cay_confirmation *ret, struct cay_error *err)
{
        static const struct cay_confirms none = { 0 };
        const struct cay_confirms *confirms = c->world->templates ? &c->world->templates->confirms : &none;
        uint64_t now_ms = c->world->store->ops->now_ms(c->world->store);

        if (token)
                return cay_confirm_check(confirms, c->caller.owner, what, token, now_ms, &ret->is_right,
                                         ret->claim, err);
        if (cay_confirm_ask(confirms, c->caller.owner, what, now_ms, c->confirm, err) < 0)
                return -1;
        return ask_first(t, danger, err);
}

int cay_op_check_room(const struct cay_op_world *w, const struct cay_viewer *v, const char *id,
                      struct cay_error *err)
{
        const struct cay_template_set *set = w->templates ? w->templates->set : NULL;
        const struct cay_template *t;
        struct cay_sandbox_view view;
        struct cay_error other = { 0 };

        if (!set || cay_service_get(w->service, v, id, &view, &other) < 0 ||
            (view.state != CAY_STATE_STOPPED && view.state != CAY_STATE_ERROR))
                return 0;
        t = cay_template_find(set, view.template_name);
        return t ? cay_admission_check(&w->templates->admission, t, view.owner, err) : 0;
}

int cay_op_template_engine(const struct cay_template *t, const char *engine, const char **ret,
                           struct cay_error *err)
{
        bool says = engine && strcmp(engine, "auto") != 0, bound = t && strcmp(t->engine, "auto") != 0;

        if (says && bound && strcmp(engine, t->engine) != 0)
                return cay_fail(
                        err, CAY_CONFLICT,
                        "engine: template '%s' is for the engine %s; leave engine out, or name another "
                        "template",
                        t->name, t->engine);
        *ret = says ? engine : bound ? t->engine : "auto";
        return 0;
}

int cay_op_template_init(const struct cay_template *t, const char *init, const char **ret,
                         struct cay_error *err)
{
        *ret = init ? init : t ? t->init : "cay";
        if (strcmp(*ret, "cay") != 0 && strcmp(*ret, "none") != 0)
                return cay_fail(err, CAY_INVALID, "init: '%.40s' must be cay or none", *ret);
        if (t && strcmp(t->init, "none") == 0 && strcmp(*ret, "none") != 0)
                return cay_fail(err, CAY_DENIED,
                                "init: nothing is copied into sandboxes of the template '%s' (init: none)",
                                t->name);
        return 0;
}

void cay_op_template_limits(const struct cay_template *t, struct cay_limits *l)
{
        if (!t)
                return;
#define CAY_LIMIT(field, word, kind, min, max, doc)                                                          \
        if (l->field == 0)                                                                                   \
                l->field = t->limits.field;
#include "domain/model/limits.def"
#undef CAY_LIMIT
}

static bool has_name(const struct cay_field_map *map, const char *name)
{
        for (unsigned i = 0; i < map->count; i++)
                if (strcmp(map->pairs[i].name, name) == 0)
                        return true;
        return false;
}

int cay_op_template_env(const struct cay_template *t, const struct cay_field_map *own,
                        struct cay_field_pair *pairs, struct cay_field_map *ret, struct cay_error *err)
{
        unsigned count = 0;

        *ret = *own;
        if (!t || t->env.count == 0)
                return 0;
        for (unsigned i = 0; i < t->env.count; i++)
                if (count < CAY_SERVICE_PAIRS_MAX && !has_name(own, t->env.pairs[i].name))
                        pairs[count++] = t->env.pairs[i];
        if (count + own->count > CAY_SERVICE_PAIRS_MAX)
                return cay_fail(err, CAY_INVALID, "env: has more than %d variables with the template's own",
                                CAY_SERVICE_PAIRS_MAX);
        for (unsigned i = 0; i < own->count; i++)
                pairs[count++] = own->pairs[i];
        *ret = (struct cay_field_map){ pairs, count };
        return 0;
}
