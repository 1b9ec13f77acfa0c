/* SPDX-License-Identifier: Apache-2.0 */
/* Names of E2B's templates and snapshots. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "dialects/e2b/e2b_priv.h"
#include "domain/ops/template_use.h"
#include "domain/sandboxes/snapshot.h"
#include "domain/settings/config.h"
#include "foundation/base/str.h"

#define E2B_TAG "--" /* between a name and a tag, in names of snapshots */

/*
 * What clients ask for without saying so: the daemon's own default, unless the registry's `aliases` says
 * otherwise.
 */
static const char *const unsaid[] = { "base", "code-interpreter-v1", "code-interpreter-beta" };

static const char *find_alias(const struct cay_template_set *set, const char *name)
{
        for (unsigned i = 0; set && i < set->aliases.count; i++)
                if (strcmp(set->aliases.pairs[i].name, name) == 0)
                        return set->aliases.pairs[i].value;
        return NULL;
}

static const char *find(const struct cay_op_world *world, const char *template_id)
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
        return NULL;
}

/* The text behind the team's name, with a length without the tag. */
static const char *split(const char *text, size_t *ret_len, const char **ret_tag)
{
        const char *slash = strrchr(text, '/'), *name = slash ? slash + 1 : text;

        *ret_len = strcspn(name, ":");
        *ret_tag = name[*ret_len] == ':' ? name + *ret_len + 1 : NULL;
        return name;
}

static bool is_default(const char *tag)
{
        return !tag || strcmp(tag, "default") == 0;
}

void e2b_template_of(const struct cay_op_world *world, const char *template_id, char ret[CAY_NAME_MAX + 1])
{
        const char *found = find(world, template_id), *tag, *name;
        struct cay_error ignored = { 0 };
        size_t len;

        if (!found && e2b_snapshot_name(template_id, NULL, ret, &ignored) == 0) {
                name = split(template_id, &len, &tag);
                found = is_default(tag) && len == strlen(ret) && strncasecmp(name, ret, len) == 0
                                ? find(world, ret)
                                : NULL;
                if (!found)
                        return;
        }
        if (!cay_str_copy(ret, CAY_NAME_MAX + 1, found ? found : template_id))
                ret[0] = '\0';
}

/* Both parts alone are names, without what stands between them. */
static bool is_part(const char *text)
{
        return cay_id_is_valid(text) && !strstr(text, E2B_TAG);
}

static bool read_part(const char *text, size_t len, char ret[CAY_NAME_MAX + 1])
{
        if (len > CAY_NAME_MAX)
                return false;
        for (size_t i = 0; i < len; i++)
                ret[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + 32) : text[i];
        ret[len] = '\0';
        return is_part(ret);
}

int e2b_snapshot_name(const char *name, const char *tag, char ret[CAY_NAME_MAX + 1], struct cay_error *err)
{
        char first[CAY_NAME_MAX + 1], second[CAY_NAME_MAX + 1], text[2 * CAY_NAME_MAX + 8];
        const char *own_tag, *at;
        size_t len;

        at = split(name, &len, &own_tag);
        if (!tag)
                tag = own_tag;
        if (is_default(tag))
                tag = NULL;
        if (read_part(at, len, first) && (!tag || read_part(tag, strlen(tag), second))) {
                snprintf(text, sizeof(text), "%s%s%s", first, tag ? E2B_TAG : "", tag ? second : "");
                if (cay_str_copy(ret, CAY_NAME_MAX + 1, text))
                        return 0;
        }
        return cay_fail(err, CAY_INVALID,
                        "name: '%.80s': name and tag must have letters, digits and '-' here, no '--', and "
                        "together at most %u characters",
                        name, CAY_NAME_MAX - 2);
}

void e2b_tagged_name(const char *snapshot, char ret[E2B_TAGGED_MAX])
{
        const char *tag = strstr(snapshot, E2B_TAG);

        if (tag)
                snprintf(ret, E2B_TAGGED_MAX, "%.*s:%s", (int)(tag - snapshot), snapshot,
                         tag + strlen(E2B_TAG));
        else
                snprintf(ret, E2B_TAGGED_MAX, "%s:default", snapshot);
}

bool e2b_is_template(const struct cay_op_world *world, const char *name)
{
        return find(world, name) != NULL;
}

bool e2b_is_snapshot(const struct cay_op_world *world, const char *owner, const char *name)
{
        const struct cay_viewer viewer = { .owner = owner };
        struct cay_snapshot_view view;
        struct cay_error ignored = { 0 };

        return cay_service_snapshot_get(world->service, &viewer, name, &view, &ignored) == 0;
}
