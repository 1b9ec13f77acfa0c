/* SPDX-License-Identifier: Apache-2.0 */
/* One function per form of value. */
#include "domain/templates/read.h"

#include <inttypes.h>
#include <stdio.h>

#include "foundation/base/fold.h"
#include "domain/templates/fields.h"

#define WHERE_MAX 160

static const char *name_of(const char *where, const char *name, char *buf, size_t size)
{
        snprintf(buf, size, "%.100s%s%.50s", where, where[0] ? "." : "", name);
        return buf;
}

const struct cay_yaml_node *cay_registry_entry(const struct cay_yaml_node *mapping, const char *name)
{
        for (const struct cay_yaml_node *n = mapping->first; n; n = n->next)
                if (strcmp(n->key->text, name) == 0)
                        return n;
        return NULL;
}

/*
 * Keys of other tools that would change a container's permissions. Their author relies on them, so none is
 * ignored.
 */
static bool is_foreign(const char *name)
{
        static const char *const names[] = {
                "privileged", "cap_add",     "cap_drop",     "devices",      "device_cgroup_rules",
                "volumes",    "mounts",      "binds",        "network_mode", "networks",
                "user",       "group_add",   "pid",          "pid_mode",     "ipc",
                "ipc_mode",   "userns_mode", "uts",          "security_opt", "sysctls",
                "runtime",    "read_only",   "cgroup_parent"
        };

        for (unsigned i = 0; i < CAY_COUNT(names); i++)
                if (strcmp(names[i], name) == 0)
                        return true;
        return false;
}

/*
 * An ignored key is not harmless: `needs_comfirm: true` would leave a template without its confirmation. So
 * it is an error where keys control what runs (an object of a template, the settings), and wherever it looks
 * mistyped.
 */
void cay_registry_read_unknown(struct cay_registry_reader *r, const struct cay_yaml_node *mapping,
                               const struct cay_field *table, const char *where, bool strict)
{
        for (const struct cay_yaml_node *n = mapping->first; n; n = n->next) {
                const char *name = n->key->text, *meant;
                char full[WHERE_MAX];

                if (cay_field_find(table, name, strlen(name)))
                        continue;
                name_of(where, name, full, sizeof(full));
                meant = cay_registry_suggest(table, name);
                if (meant)
                        cay_note_error(r->notes, n->key->line, n->key->column,
                                       "%s: is not known; did you mean %s?", full, meant);
                else if (strict || (where[0] && is_foreign(name)))
                        cay_note_error(r->notes, n->key->line, n->key->column,
                                       "%s: is not known; take it out", full);
                else
                        cay_note_warning(r->notes, n->key->line, n->key->column,
                                         "%s: is not known and does nothing; take it out", full);
        }
}

static void wrong_kind(struct cay_registry_reader *r, const struct cay_yaml_node *node, const char *where,
                       const char *wanted)
{
        if (cay_yaml_is_null(node))
                cay_note_error(r->notes, node->line, node->column,
                               "%s: is empty; write %s, or leave the key out", where, wanted);
        else
                cay_note_error(r->notes, node->line, node->column, "%s: is %s; write %s", where,
                               cay_yaml_kind_text(node), wanted);
}

static void read_one(struct cay_registry_reader *r, const struct cay_yaml_node *node,
                     const struct cay_field *f, void *args, const char *where)
{
        struct cay_error err = { 0 };

        if (node->kind != CAY_YAML_SCALAR || cay_yaml_is_null(node)) {
                wrong_kind(r, node, where, cay_field_kind_text(f->kind));
        } else if (f->kind == CAY_FIELD_BOOL && (!node->is_plain || (strcmp(node->text, "true") != 0 &&
                                                                     strcmp(node->text, "false") != 0))) {
                cay_note_error(r->notes, node->line, node->column,
                               "%s: '%.40s' is not true or false; write one of them, without quotes", where,
                               node->text);
        } else if (cay_field_set_text(f, where, node->text, args, &err) < 0) {
                cay_note_error(r->notes, node->line, node->column, "%s", err.msg);
        }
}

/* A text of a list or map; NULL after a note. */
static const char *read_item(struct cay_registry_reader *r, const struct cay_yaml_node *node,
                             const struct cay_field *f, const char *where)
{
        size_t max = f->item_max > 0 ? f->item_max : CAY_FIELD_TEXT_MAX;

        if (node->kind != CAY_YAML_SCALAR || (cay_yaml_is_null(node) && node->text[0] == '\0')) {
                wrong_kind(r, node, where, "a text (in quotes when it is to be empty)");
                return NULL;
        }
        if (strlen(node->text) > max) {
                cay_note_error(r->notes, node->line, node->column, "%s: is longer than %zu bytes; shorten it",
                               where, max);
                return NULL;
        }
        return node->text;
}

static bool is_too_many(struct cay_registry_reader *r, const struct cay_yaml_node *node,
                        const struct cay_field *f, const char *where)
{
        uint64_t max = f->max > 0 ? f->max : CAY_FIELD_ITEMS_MAX;

        if (node->count <= max)
                return false;
        cay_note_error(r->notes, node->line, node->column,
                       "%s: has %u entries; at most %" PRIu64 " are taken", where, node->count, max);
        return true;
}

static void no_memory(struct cay_registry_reader *r)
{
        cay_note_error(r->notes, 0, 0, "the registry is too big; split it");
}

static bool is_blank(const char *text)
{
        while (*text)
                if (cay_fold_next(&text) != ' ')
                        return false;
        return true;
}

static void read_texts(struct cay_registry_reader *r, const struct cay_yaml_node *node,
                       const struct cay_field *f, struct cay_field_texts *at, const char *where)
{
        const char **items;

        *at = (struct cay_field_texts){ 0 }; /* a key that comes twice is an error, and still read */
        if (f->kind == CAY_FIELD_WORDS && node->kind == CAY_YAML_SCALAR && !cay_yaml_is_null(node)) {
                at->line = read_item(r, node, f, where);
                return;
        }
        if (node->kind != CAY_YAML_SEQUENCE) {
                wrong_kind(r, node, where, cay_field_kind_text(f->kind));
                return;
        }
        if (is_too_many(r, node, f, where))
                return;
        items = cay_arena_array(r->mem, node->count + 1, sizeof(*items));
        if (!items) {
                no_memory(r);
                return;
        }
        for (const struct cay_yaml_node *n = node->first; n; n = n->next) {
                const char *text = read_item(r, n, f, where);

                if (text && (text[0] == '\0' || (f->kind == CAY_FIELD_TEXTS && is_blank(text))))
                        cay_note_error(r->notes, n->line, n->column, "%s: an entry is empty; take it out",
                                       where);
                else if (text)
                        items[at->count++] = text;
        }
        at->items = items;
}

static void read_map(struct cay_registry_reader *r, const struct cay_yaml_node *node,
                     const struct cay_field *f, struct cay_field_map *at, const char *where)
{
        struct cay_field_pair *pairs;

        *at = (struct cay_field_map){ 0 };
        if (node->kind != CAY_YAML_MAPPING) {
                wrong_kind(r, node, where, "names with a text each");
                return;
        }
        if (is_too_many(r, node, f, where))
                return;
        pairs = cay_arena_array(r->mem, node->count + 1, sizeof(*pairs));
        if (!pairs) {
                no_memory(r);
                return;
        }
        for (const struct cay_yaml_node *n = node->first; n; n = n->next) {
                char full[WHERE_MAX];
                const char *text = read_item(r, n, f, name_of(where, n->key->text, full, sizeof(full)));

                if (n->key->text[0] == '\0' || strchr(n->key->text, '=') || strlen(n->key->text) > 255)
                        cay_note_error(r->notes, n->key->line, n->key->column,
                                       "%s: is no name of a variable; write 1 to 255 characters without '='",
                                       full);
                else if (text)
                        pairs[at->count++] = (struct cay_field_pair){ n->key->text, text };
        }
        at->pairs = pairs;
}

static void read_field(struct cay_registry_reader *r, const struct cay_yaml_node *node,
                       const struct cay_field *f, void *args, const char *where)
{
        void *at = (char *)args + f->offset;

        switch (f->kind) {
        case CAY_FIELD_OBJECT:
                cay_registry_read(r, node, f->fields, at, where, true);
                return;
        case CAY_FIELD_TEXTS:
        case CAY_FIELD_WORDS:
                read_texts(r, node, f, at, where);
                return;
        case CAY_FIELD_MAP:
                read_map(r, node, f, at, where);
                return;
        default:
                read_one(r, node, f, args, where);
        }
}

/* Two rows may be two names of one thing (timeout, wall_time): giving both is ambiguous. */
static void note_same(struct cay_registry_reader *r, const struct cay_yaml_node *mapping,
                      const struct cay_yaml_node *node, const struct cay_field *table,
                      const struct cay_field *f, const char *where)
{
        for (const struct cay_yaml_node *n = mapping->first; n != node; n = n->next) {
                const struct cay_field *other = cay_field_find(table, n->key->text, strlen(n->key->text));

                if (other && other != f && other->offset == f->offset && f->kind == CAY_FIELD_PARSED &&
                    other->parse == f->parse && other->nr == f->nr)
                        cay_note_error(r->notes, node->key->line, node->key->column,
                                       "%s: says the same as %s in line %u; keep one of them", where,
                                       other->name, n->key->line);
        }
}

void cay_registry_read(struct cay_registry_reader *r, const struct cay_yaml_node *node,
                       const struct cay_field *table, void *args, const char *where, bool strict)
{
        if (node->kind != CAY_YAML_MAPPING) {
                wrong_kind(r, node, where[0] ? where : "the registry",
                           "keys with their values, indented below it");
                return;
        }
        cay_registry_read_unknown(r, node, table, where, strict);
        for (const struct cay_yaml_node *n = node->first; n; n = n->next) {
                const struct cay_field *f = cay_field_find(table, n->key->text, strlen(n->key->text));
                char full[WHERE_MAX];

                if (!f)
                        continue;
                name_of(where, f->name, full, sizeof(full));
                note_same(r, node, n, table, f, full);
                read_field(r, n, f, args, full);
        }
}
