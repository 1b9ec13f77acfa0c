/* SPDX-License-Identifier: Apache-2.0 */
/* A text into a set of templates: rules that tables do not have. */
#include "domain/templates/registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "domain/model/engine_caps.h"
#include "foundation/base/id.h"
#include "domain/network/policy.h"
#include "domain/templates/fields.h"
#include "domain/templates/read.h"
#include "domain/templates/registry_priv.h"

#define MEMORY_MAX (8u << 20)
#define QUEUE_DEFAULT 256
#define QUEUE_MS_DEFAULT 10000

static const char *const interpreter_default[] = { "python3", "-", NULL };

struct loading {
        struct cay_registry *registry;
        struct cay_registry_reader reader;
        struct cay_registry_settings settings;
};

/* A root was given, and its error has been reported. */
static bool has_wrong_root(const struct cay_yaml_node *node)
{
        const struct cay_yaml_node *host = cay_registry_entry(node, "host");

        return cay_registry_entry(node, "dockerfile") || cay_registry_entry(node, "rootfs") ||
               cay_registry_entry(node, "image") ||
               (host && (host->kind != CAY_YAML_SCALAR || strcmp(host->text, "false") != 0));
}

/* The one root there must be. */
static void choose_root(struct loading *l, struct cay_registry_row *row, const struct cay_yaml_node *node)
{
        const struct {
                const char *text;
                enum cay_template_root root;
        } roots[] = {
                { row->host ? "" : NULL, CAY_TEMPLATE_ROOT_HOST },
                { row->rootfs, CAY_TEMPLATE_ROOT_ROOTFS },
                { row->dockerfile, CAY_TEMPLATE_ROOT_DOCKERFILE },
                { row->image, CAY_TEMPLATE_ROOT_IMAGE },
        };
        struct cay_template *t = &row->t;
        unsigned count = 0;

        for (unsigned i = 0; i < CAY_COUNT(roots); i++) {
                if (roots[i].text) {
                        t->root = roots[i].root;
                        t->root_text = roots[i].text;
                        count++;
                }
        }
        if (count == 0 && !has_wrong_root(node))
                cay_note_error(
                        l->reader.notes, node->key->line, node->key->column,
                        "containers.%s: has no root; add one of dockerfile, rootfs, image or 'host: true'",
                        t->name);
        else if (count > 1)
                cay_note_error(l->reader.notes, node->key->line, node->key->column,
                               "containers.%s: has %u roots; keep one of dockerfile, rootfs, image and host",
                               t->name, count);
}

/* `sub/Dockerfile` has `sub/SYSTEM.md`; what has no file of its own has a folder of its own. */
static void choose_system(struct loading *l, struct cay_template *t)
{
        const char *slash = strrchr(t->root_text, '/');
        char path[1200];

        if (t->system_path[0])
                return;
        if (t->root == CAY_TEMPLATE_ROOT_DOCKERFILE || t->root == CAY_TEMPLATE_ROOT_ROOTFS)
                snprintf(path, sizeof(path), "%.*sSYSTEM.md", slash ? (int)(slash - t->root_text + 1) : 0,
                         t->root_text);
        else
                snprintf(path, sizeof(path), "%s/SYSTEM.md", t->name);
        t->system_path = cay_arena_copy(&l->registry->mem, path, strlen(path));
        if (!t->system_path)
                t->system_path = "";
}

/* One path, or several with | between. */
static bool are_below_usr(const char *paths)
{
        for (const char *at = paths; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
                if (strncmp(at, "/usr/", 5) != 0)
                        return false;
        return !strstr(paths, "/..");
}

static void check_programs(struct loading *l, const struct cay_template *t, const struct cay_yaml_node *node)
{
        const struct cay_yaml_node *list = cay_registry_entry(node, "requires");

        for (unsigned i = 0; i < t->requires.count; i++)
                if (!are_below_usr(t->requires.items[i]))
                        cay_note_error(l->reader.notes, list->line, list->column,
                                       "containers.%s.requires: '%.80s' is not below /usr; name it like "
                                       "/usr/bin/python3",
                                       t->name, t->requires.items[i]);
}

/* The template that has the same trigger in another entry before this one; NULL: none. */
static const struct cay_template *find_trigger(const struct cay_registry *r, unsigned nr, unsigned entry)
{
        const char *trigger = r->rows[nr].triggers.items[entry];

        for (unsigned i = 0; i <= nr; i++) {
                const struct cay_field_texts *other = &r->rows[i].triggers;

                for (unsigned k = 0; k < (i < nr ? other->count : entry); k++)
                        if (cay_template_trigger_is(trigger, other->items[k]))
                                return &r->rows[i];
        }
        return NULL;
}

/* A duplicate trigger selects the first template that has it: the other one is never selected by it. */
static void check_triggers(struct loading *l, unsigned nr, const struct cay_yaml_node *node)
{
        const struct cay_template *t = &l->registry->rows[nr];
        const struct cay_yaml_node *list = cay_registry_entry(node, "triggers");

        for (unsigned i = 0; i < t->triggers.count; i++) {
                const struct cay_template *first = find_trigger(l->registry, nr, i);

                if (first == t)
                        cay_note_warning(l->reader.notes, list->line, list->column,
                                         "containers.%s.triggers: '%.80s' comes twice; take one out", t->name,
                                         t->triggers.items[i]);
                else if (first)
                        cay_note_warning(
                                l->reader.notes, list->line, list->column,
                                "containers.%s.triggers: '%.80s' is also a trigger of '%s', which comes "
                                "first and is chosen; take one out",
                                t->name, t->triggers.items[i], first->name);
        }
}

static void check_resources(struct loading *l, const struct cay_template *t, const struct cay_yaml_node *node)
{
        if (t->pool > 0 && t->max_concurrent > 0 && t->pool > t->max_concurrent)
                cay_note_error(l->reader.notes, node->key->line, node->key->column,
                               "containers.%s: pool %" PRIu64 " is more than max_concurrent %" PRIu64
                               "; lower the pool",
                               t->name, t->pool, t->max_concurrent);
        if (t->pool > 0 && t->pool_learned)
                cay_note_error(l->reader.notes, node->key->line, node->key->column,
                               "containers.%s: pool and pool_learned exclude each other; keep one", t->name);
        for (unsigned i = 0; i < t->warm.count; i++)
                if (strcmp(t->warm.items[i], "python") != 0)
                        cay_note_error(
                                l->reader.notes, node->key->line, node->key->column,
                                "containers.%s.warm: '%.16s' is not a language that can wait; only python is",
                                t->name, t->warm.items[i]);
        if (t->interpret.count == 0 && cay_registry_entry(node, "interpreter"))
                cay_note_error(l->reader.notes, node->key->line, node->key->column,
                               "containers.%s.interpreter: names no program; write one, or leave the key out",
                               t->name);
}

/* A module's name, with dots between packages: what `import` takes. */
static bool is_module(const char *name)
{
        bool at_start = true;

        for (; *name; name++) {
                bool is_digit = *name >= '0' && *name <= '9';
                bool is_letter =
                        (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') || *name == '_';

                if (at_start ? !is_letter : !is_letter && !is_digit && *name != '.')
                        return false;
                at_start = *name == '.';
        }
        return !at_start;
}

/* They travel as one text: template, record, plan, and the interpreter's arguments. */
static void choose_modules(struct loading *l, struct cay_template *t, const struct cay_yaml_node *node)
{
        char text[CAY_WARM_MODULES_MAX];
        size_t len = 0;

        for (unsigned i = 0; i < t->warm_modules.count; i++) {
                const char *name = t->warm_modules.items[i];

                if (!is_module(name)) {
                        cay_note_error(l->reader.notes, node->key->line, node->key->column,
                                       "containers.%s.warm_modules: '%.64s' is not the name of a module; "
                                       "write it as in `import`, for instance numpy or os.path",
                                       t->name, name);
                        return;
                }
                if (len + strlen(name) + 2 > sizeof(text)) {
                        cay_note_error(
                                l->reader.notes, node->key->line, node->key->column,
                                "containers.%s.warm_modules: the names have more than %zu bytes together; "
                                "name packages that import the others",
                                t->name, sizeof(text) - 1);
                        return;
                }
                len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i > 0 ? "," : "", name);
        }
        if (len > 0 && t->has_warm && t->warm.count == 0)
                cay_note_error(
                        l->reader.notes, node->key->line, node->key->column,
                        "containers.%s: no interpreter waits (warm: []), so warm_modules has no use; take "
                        "one of them out",
                        t->name);
        t->options.warm_modules = len > 0 ? cay_arena_copy(&l->registry->mem, text, len) : NULL;
        if (len > 0 && !t->options.warm_modules)
                cay_note_error(
                        l->reader.notes, node->key->line, node->key->column,
                        "containers.%s.warm_modules: no memory is left for it; make the registry smaller",
                        t->name);
}

/* The first rule of a list that is wrong is an error, where the list is. */
static void check_rules(struct loading *l, const char *name, const char *key,
                        const struct cay_field_texts *rules, const struct cay_yaml_node *network)
{
        const struct cay_yaml_node *list = cay_registry_entry(network, key);
        struct cay_policy policy;

        cay_policy_init(&policy, CAY_POLICY_LIST);
        for (unsigned i = 0; i < rules->count; i++) {
                struct cay_error err = { 0 };

                if (cay_policy_add(&policy, rules->items[i], key[0] == 'd', &err) == 0)
                        continue;
                cay_note_error(l->reader.notes, list->line, list->column,
                               "containers.%s.security.network.%s: %s", name, key, err.msg);
                break;
        }
        cay_policy_done(&policy);
}

static const char *why_not_network(const struct cay_registry_row *row)
{
        const struct cay_template *t = &row->t;

        if (row->network_mode)
                return "says the same as network_mode; keep one of them";
        if (strcmp(t->network, "list") == 0 && t->allow.count == 0)
                return "has the mode list, and allow names nothing; add rules, or write mode: none";
        if (strcmp(t->network, "none") == 0 && (t->allow.count > 0 || t->deny.count > 0))
                return "has rules and no network; write mode: list or mode: bridge";
        return NULL;
}

static void check_network(struct loading *l, struct cay_registry_row *row, const struct cay_yaml_node *node)
{
        const struct cay_yaml_node *security = cay_registry_entry(node, "security");
        const struct cay_yaml_node *network = security && security->kind == CAY_YAML_MAPPING
                                                      ? cay_registry_entry(security, "network")
                                                      : NULL;
        struct cay_template *t = &row->t;
        const char *why;

        t->network = row->mode            ? row->mode
                     : t->allow.count > 0 ? "list"
                     : row->network_mode  ? row->network_mode
                                          : "none";
        if (!network || network->kind != CAY_YAML_MAPPING)
                return;
        why = why_not_network(row);
        if (why)
                cay_note_error(l->reader.notes, network->line, network->column,
                               "containers.%s.security.network: %s", t->name, why);
        check_rules(l, t->name, "allow", &t->allow, network);
        check_rules(l, t->name, "deny", &t->deny, network);
}

/* Every engine has programs of the machine, or of an image that replaces it. */
static const char *engine_for(enum cay_template_root root)
{
        if (root == CAY_TEMPLATE_ROOT_DOCKERFILE || root == CAY_TEMPLATE_ROOT_IMAGE)
                return cay_registry_engine_with(CAY_ENGINE_CAN_IMAGES)->name;
        return root == CAY_TEMPLATE_ROOT_ROOTFS ? cay_registry_engines[0].name : "auto";
}

/*
 * Requests without a template use this one. What it leaves out is the daemon's default (default_memory…);
 * otherwise a sandbox would differ depending on whether its template was named. Runs have the same limits as
 * all others.
 */
static bool is_default(const char *name)
{
        return strcmp(name, CAY_TEMPLATE_DEFAULT) == 0;
}

static void fill_defaults(struct loading *l, struct cay_registry_row *row)
{
        struct cay_template *t = &row->t;

        if (!row->has_auto_cleanup)
                t->auto_cleanup = l->settings.auto_cleanup;
        if (t->auto_cleanup && t->idle_ms == 0 && (!is_default(t->name) || row->has_auto_cleanup))
                t->idle_ms = CAY_REGISTRY_AUTO_IDLE_MS;
        if (!t->engine || strcmp(t->engine, "auto") == 0)
                t->engine = engine_for(t->root);
        if (t->interpret.count == 0)
                t->interpret = (struct cay_field_texts){ (const char **)(uintptr_t)interpreter_default,
                                                         CAY_COUNT(interpreter_default) - 1, NULL };
}

static void read_template(struct loading *l, const struct cay_yaml_node *node, unsigned nr)
{
        struct cay_registry_row row = { .t = { .name = node->key->text,
                                               .description = "",
                                               .root_text = "",
                                               .network = "none",
                                               .init = "cay",
                                               .build_network = "none",
                                               .system_path = "",
                                               .limits = cay_limits_default_run(),
                                               .root_fd = -1 } };
        char where[100];

        if (is_default(row.t.name))
                row.t.limits = (struct cay_limits){ 0 };
        if (!cay_id_is_valid(row.t.name)) {
                cay_note_error(l->reader.notes, node->key->line, node->key->column,
                               "containers: '%.70s' is no name; write 1 to 63 of a-z, 0-9 and -, with no - "
                               "at the ends",
                               row.t.name);
                return;
        }
        snprintf(where, sizeof(where), "containers.%s", row.t.name);
        cay_registry_read(&l->reader, node, cay_registry_template_fields, &row, where, false);
        if (node->kind == CAY_YAML_MAPPING) {
                choose_root(l, &row, node);
                check_network(l, &row, node);
                check_programs(l, &row.t, node);
                row.t.has_warm = cay_registry_entry(node, "warm") != NULL;
                choose_modules(l, &row.t, node);
                check_resources(l, &row.t, node);
                choose_system(l, &row.t);
        }
        fill_defaults(l, &row);
        l->registry->rows[nr] = row.t;
        l->registry->lines[nr] = node->key->line;
        l->registry->columns[nr] = node->key->column;
        if (node->kind == CAY_YAML_MAPPING)
                check_triggers(l, nr, node);
}

static void read_templates(struct loading *l, const struct cay_yaml_node *containers)
{
        struct cay_registry *r = l->registry;
        unsigned nr = 0;

        if (containers->kind != CAY_YAML_MAPPING || containers->count == 0) {
                cay_note_error(l->reader.notes, containers->line, containers->column,
                               "containers: names no template; write 'name:' below it, indented");
                return;
        }
        if (containers->count > CAY_REGISTRY_TEMPLATES_MAX) {
                cay_note_error(l->reader.notes, containers->line, containers->column,
                               "containers: has %u templates; at most %d are taken", containers->count,
                               CAY_REGISTRY_TEMPLATES_MAX);
                return;
        }
        r->rows = cay_arena_array(&r->mem, containers->count, sizeof(*r->rows));
        r->lines = cay_arena_array(&r->mem, containers->count, sizeof(*r->lines));
        r->columns = cay_arena_array(&r->mem, containers->count, sizeof(*r->columns));
        if (!r->rows || !r->lines || !r->columns) {
                cay_note_error(l->reader.notes, 0, 0, "the registry is too big; split it");
                return;
        }
        for (unsigned i = 0; i < containers->count; i++)
                r->rows[i].root_fd = -1;
        for (const struct cay_yaml_node *n = containers->first; n; n = n->next)
                read_template(l, n, nr++);
        r->set.rows = r->rows;
        r->set.count = nr;
}

static void read_all(struct loading *l, const struct cay_yaml_node *root)
{
        const struct cay_yaml_node *containers, *settings;

        if (root->kind != CAY_YAML_MAPPING) {
                cay_note_error(l->reader.notes, root->line, root->column,
                               "the registry is %s; it begins with 'containers:'", cay_yaml_kind_text(root));
                return;
        }
        cay_registry_read_unknown(&l->reader, root, cay_registry_root_fields, "", false);
        settings = cay_registry_entry(root, "settings");
        if (settings)
                cay_registry_read(&l->reader, settings, cay_registry_settings_fields, &l->settings,
                                  "settings", true);
        containers = cay_registry_entry(root, "containers");
        if (containers)
                read_templates(l, containers);
        else
                cay_note_error(l->reader.notes, root->line, root->column,
                               "there is no 'containers:'; add it, with a template below");
        l->registry->set.max_concurrent = l->settings.max_concurrent;
        l->registry->set.auto_cleanup = l->settings.auto_cleanup;
        l->registry->set.aliases = l->settings.aliases;
        for (unsigned i = 0; settings && containers && i < l->settings.aliases.count; i++)
                if (!cay_template_find(&l->registry->set, l->settings.aliases.pairs[i].value))
                        cay_note_error(l->reader.notes, settings->line, settings->column,
                                       "settings.aliases.%.63s: there is no template '%.63s'",
                                       l->settings.aliases.pairs[i].name, l->settings.aliases.pairs[i].value);
        l->registry->set.queue = l->settings.queue;
        l->registry->set.queue_ms = l->settings.queue_ms;
}

int cay_registry_parse_all(const char *origin, const char *text, size_t len, struct cay_notes *notes,
                           struct cay_registry **ret)
{
        cay_auto(cay_registry_freep) struct cay_registry *r = calloc(1, sizeof(*r));
        struct loading l = {
                .registry = r,
                .settings = { .auto_cleanup = true, .queue = QUEUE_DEFAULT, .queue_ms = QUEUE_MS_DEFAULT }
        };
        const struct cay_yaml_node *root = NULL;

        if (!r) {
                cay_note_error(notes, 0, 0, "no memory to read it");
                return -1;
        }
        cay_arena_init(&r->mem, MEMORY_MAX);
        cay_arena_init(&r->seen, CAY_REGISTRY_SYSTEMS_MAX);
        l.reader = (struct cay_registry_reader){ &r->mem, notes };
        r->set.origin = cay_arena_copy(&r->mem, origin, strlen(origin));
        if (len > CAY_REGISTRY_FILE_MAX)
                cay_note_error(notes, 0, 0, "has more than %u bytes; split it", CAY_REGISTRY_FILE_MAX);
        else
                root = cay_yaml_parse(text, len, &r->mem, notes);
        if (root)
                read_all(&l, root);
        cay_notes_sort(notes);
        *ret = cay_take(r);
        return notes->errors > 0 ? -1 : 0;
}

int cay_registry_parse(const char *origin, const char *text, size_t len, struct cay_notes *notes,
                       struct cay_registry **ret)
{
        cay_auto(cay_registry_freep) struct cay_registry *r = NULL;

        if (cay_registry_parse_all(origin, text, len, notes, &r) < 0)
                return -1;
        *ret = cay_take(r);
        return 0;
}

void cay_registry_free(struct cay_registry *r)
{
        if (!r)
                return;
        for (unsigned i = 0; i < r->set.count; i++)
                if (r->rows[i].root_fd >= 0)
                        close(r->rows[i].root_fd);
        cay_arena_done(&r->mem);
        cay_arena_done(&r->seen);
        free(r);
}

const struct cay_template_set *cay_registry_set(const struct cay_registry *r)
{
        return &r->set;
}
