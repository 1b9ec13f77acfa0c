/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes come as a flat array; children are named by id. So the array is read once into a table, which is
 * then walked from the root.
 */
#include "domain/browser/outline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/str.h"
#include "foundation/base/utf8.h"

#define TEXT_MAX 400u /* of a name or a value */
/*
 * Looks at nodes while ids are searched: a page with as many nodes as are read needs two for each. Whoever
 * makes up ids could need without end.
 */
#define LOOKS_MAX (50u * CAY_OUTLINE_NODES_MAX)

struct node {
        struct cay_json_view json;
        char id[24];
        unsigned next_same; /* in a bucket of the table of ids, from 1; 0: none */
        bool was_seen;
};

struct tree {
        struct node *nodes; /* owned */
        unsigned count;
        unsigned *buckets; /* owned; from 1 */
        unsigned bucket_count;
        unsigned looks;
        struct cay_buf *out;
        size_t begin, end;
        const struct cay_outline_options *options;
        struct cay_outline *ret;
};

static unsigned bucket_of(const struct tree *t, const char *id)
{
        unsigned h = 5381;

        for (; *id; id++)
                h = h * 33 + (unsigned char)*id;
        return h % t->bucket_count;
}

static struct node *find(struct tree *t, const char *id)
{
        unsigned at = t->looks < LOOKS_MAX ? t->buckets[bucket_of(t, id)] : 0;

        t->looks++;
        while (at > 0 && strcmp(t->nodes[at - 1].id, id) != 0) {
                at = t->looks < LOOKS_MAX ? t->nodes[at - 1].next_same : 0;
                t->looks++;
        }
        t->ret->truncated |= t->looks >= LOOKS_MAX;
        return at > 0 ? &t->nodes[at - 1] : NULL;
}

static int read_nodes(struct tree *t, struct cay_json_view array)
{
        struct cay_json_walk walk = cay_json_view_walk(array);
        struct cay_json_view key, value;

        t->bucket_count = 4099;
        t->nodes = calloc(CAY_OUTLINE_NODES_MAX, sizeof(*t->nodes));
        t->buckets = calloc(t->bucket_count, sizeof(*t->buckets));
        if (!t->nodes || !t->buckets)
                return -ENOMEM;
        while (cay_json_view_next(&walk, &key, &value)) {
                struct node *n = &t->nodes[t->count];
                unsigned *bucket;

                if (t->count == CAY_OUTLINE_NODES_MAX) {
                        t->ret->truncated = true;
                        break;
                }
                n->json = value;
                cay_json_view_copy(cay_json_view_find(value, "nodeId"), n->id, sizeof(n->id));
                bucket = &t->buckets[bucket_of(t, n->id)];
                n->next_same = *bucket;
                *bucket = ++t->count;
        }
        return t->count > 0 ? 0 : -EBADMSG;
}

/* Blanks become one, quotation marks are escaped: a name may not look like another line. */
static void put_text(struct tree *t, const char *text, bool quoted)
{
        size_t len = cay_utf8_cut(text, strlen(text));
        bool blank = true;

        if (quoted)
                cay_buf_putc(t->out, '"');
        for (size_t i = 0; i < len; i++) {
                unsigned char c = (unsigned char)text[i];
                bool is_blank = c <= ' ' || c == 0x7f;

                if (is_blank && (blank || i + 1 == len))
                        continue;
                if (quoted && (c == '"' || c == '\\'))
                        cay_buf_putc(t->out, '\\');
                cay_buf_putc(t->out, is_blank ? ' ' : (char)c);
                blank = is_blank;
        }
        if (quoted)
                cay_buf_putc(t->out, '"');
}

static void copy_value(const struct node *n, const char *member, char *ret, size_t size)
{
        struct cay_json_view v = cay_json_view_find(n->json, member);

        ret[0] = '\0';
        if (cay_json_view_is_text(v))
                cay_json_view_copy(v, ret, size);
        else if (v.len > 0 && v.len < size && v.at[0] != '{' && v.at[0] != '[')
                memcpy(ret, v.at, v.len), ret[v.len] = '\0';
}

static bool is_one_of(const char *word, const char *const *words)
{
        for (; *words; words++)
                if (strcmp(*words, word) == 0)
                        return true;
        return false;
}

static const char *const acted_on[] = { "button",        "link",           "textbox",  "searchbox",
                                        "checkbox",      "radio",          "combobox", "listbox",
                                        "option",        "menuitem",       "tab",      "switch",
                                        "slider",        "spinbutton",     "treeitem", "menuitemcheckbox",
                                        "menuitemradio", "Iframe",         "image",    "DisclosureTriangle",
                                        "PopUpButton",   "Date",           "DateTime", "InputTime",
                                        "ColorWell",     "Canvas",         "Video",    "gridcell",
                                        "MenuListPopup", "MenuListOption", "dialog",   NULL };
static const char *const shapeless[] = {
        "none",        "generic",        "InlineTextBox",   "LineBreak",     "presentation", "RootWebArea",
        "LayoutTable", "LayoutTableRow", "LayoutTableCell", "MenuListPopup", "Section",      "",
        NULL
};

static bool is_focusable(const struct node *n)
{
        struct cay_json_walk walk = cay_json_view_walk(cay_json_view_find(n->json, "properties"));
        struct cay_json_view key, p;
        char name[24];

        while (cay_json_view_next(&walk, &key, &p))
                if (strcmp(cay_json_view_copy(cay_json_view_find(p, "name"), name, sizeof(name)),
                           "focusable") == 0)
                        return cay_json_view_is_true(cay_json_view_find(p, "value.value"));
        return false;
}

/* Its state, as words: "disabled", "level=2". */
static void put_properties(struct tree *t, const struct node *n)
{
        static const char *const words[] = { "disabled", "required", "focused", "selected", "checked",
                                             "pressed",  "expanded", "modal",   NULL };
        static const char *const numbers[] = { "level", "valuemin", "valuemax", NULL };
        struct cay_json_walk walk = cay_json_view_walk(cay_json_view_find(n->json, "properties"));
        struct cay_json_view key, p, v;
        char name[24], text[24];

        while (cay_json_view_next(&walk, &key, &p)) {
                cay_json_view_copy(cay_json_view_find(p, "name"), name, sizeof(name));
                v = cay_json_view_find(p, "value.value");
                cay_json_view_copy(v, text, sizeof(text));
                if (is_one_of(name, words) && (cay_json_view_is_true(v) || strcmp(text, "true") == 0))
                        cay_buf_printf(t->out, " %s", name);
                else if (is_one_of(name, words) && strcmp(text, "mixed") == 0)
                        cay_buf_printf(t->out, " %s=mixed", name);
                else if (strcmp(name, "expanded") == 0)
                        cay_buf_puts(t->out, " collapsed");
                else if (is_one_of(name, numbers) && v.len > 0 && v.len < 12)
                        cay_buf_printf(t->out, " %s=%.*s", name, (int)v.len, v.at);
        }
}

static void put_reference(struct tree *t, uint64_t number)
{
        if (t->options->frame > 0)
                cay_buf_printf(t->out, " [f%ue%llu]", t->options->frame, (unsigned long long)number);
        else
                cay_buf_printf(t->out, " [e%llu]", (unsigned long long)number);
}

static void note_hole(struct tree *t, uint64_t number, unsigned depth)
{
        for (unsigned i = 0; i < t->options->hole_count; i++) {
                struct cay_outline_hole *h = &t->options->holes[i];

                if (h->owner == number && !h->is_found) {
                        h->is_found = true;
                        h->at = t->out->len;
                        h->depth = depth + 1;
                }
        }
}

static void put_line(struct tree *t, const struct node *n, unsigned depth, const char *role, const char *name)
{
        char value[TEXT_MAX];
        bool has_number;
        uint64_t number;

        cay_buf_printf(t->out, "%*s", (int)(depth * 2), "");
        t->ret->lines++;
        if (strcmp(role, "StaticText") == 0) {
                cay_buf_puts(t->out, "text: ");
                put_text(t, name, false);
                cay_buf_putc(t->out, '\n');
                return;
        }
        cay_buf_puts(t->out, role);
        if (name[0] != '\0') {
                cay_buf_putc(t->out, ' ');
                put_text(t, name, true);
        }
        has_number = cay_json_view_u64(cay_json_view_find(n->json, "backendDOMNodeId"), &number);
        if (has_number && (is_one_of(role, acted_on) || is_focusable(n)))
                put_reference(t, number);
        copy_value(n, "value.value", value, sizeof(value));
        if (value[0] != '\0') {
                cay_buf_puts(t->out, " value=");
                put_text(t, value, true);
        }
        put_properties(t, n);
        cay_buf_putc(t->out, '\n');
        if (has_number)
                note_hole(t, number, depth);
}

static void walk_node(struct tree *t, struct node *n, unsigned depth, unsigned level, const char *above);

static void walk_children(struct tree *t, const struct node *n, unsigned depth, unsigned level,
                          const char *above)
{
        struct cay_json_walk walk = cay_json_view_walk(cay_json_view_find(n->json, "childIds"));
        struct cay_json_view key, id;
        char text[24];

        while (t->looks < LOOKS_MAX && cay_json_view_next(&walk, &key, &id)) {
                struct node *child = find(t, cay_json_view_copy(id, text, sizeof(text)));

                if (child)
                        walk_node(t, child, depth, level, above);
        }
}

static void walk_node(struct tree *t, struct node *n, unsigned depth, unsigned level, const char *above)
{
        char role[32], name[TEXT_MAX];

        if (n->was_seen || level > 400 || t->out->len >= t->end) {
                t->ret->truncated |= !n->was_seen;
                return;
        }
        n->was_seen = true;
        copy_value(n, "role.value", role, sizeof(role));
        copy_value(n, "name.value", name, sizeof(name));
        if (cay_json_view_is_true(cay_json_view_find(n->json, "ignored")) ||
            strcmp(role, "InlineTextBox") == 0 ||
            (is_one_of(role, shapeless) && (name[0] == '\0' || !is_focusable(n)))) {
                walk_children(t, n, depth, level + 1, above);
                return;
        }
        if (strcmp(role, "StaticText") == 0 &&
            (name[strspn(name, " \n")] == '\0' || strcmp(name, above) == 0))
                return; /* its element has said so */
        put_line(t, n, depth < CAY_OUTLINE_DEPTH_MAX ? depth : CAY_OUTLINE_DEPTH_MAX, role, name);
        walk_children(t, n, depth + 1, level + 1, name);
}

static void cut(struct tree *t)
{
        const char *text = cay_buf_data(t->out), *line;

        if (t->out->len <= t->end)
                return;
        t->ret->truncated = true;
        line = memrchr(text + t->begin, '\n', t->end - t->begin);
        cay_buf_cut(t->out, line ? (size_t)(line - text) + 1 : t->begin);
        for (unsigned i = 0; i < t->options->hole_count; i++) {
                struct cay_outline_hole *h = &t->options->holes[i];

                if (h->is_found && h->at > t->out->len)
                        h->is_found = false;
        }
}

int cay_outline_write(struct cay_json_view nodes, const struct cay_outline_options *o, size_t max,
                      struct cay_buf *out, struct cay_outline *ret)
{
        struct tree t = { .out = out, .begin = out->len, .end = out->len + max, .options = o, .ret = ret };
        int r;

        *ret = (struct cay_outline){ 0 };
        r = cay_json_view_is_array(nodes) ? read_nodes(&t, nodes) : -EBADMSG;
        for (unsigned i = 0; r == 0 && i < t.count;
             i++) /* roots: those that nobody names as a child come first */
                if (cay_json_view_is_null(cay_json_view_find(t.nodes[i].json, "parentId")))
                        walk_node(&t, &t.nodes[i], 0, 0, "");
        if (r == 0)
                cut(&t);
        free(t.nodes);
        free(t.buckets);
        return r;
}
