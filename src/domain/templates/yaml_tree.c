/* SPDX-License-Identifier: Apache-2.0 */
/* libyaml's events into the tree. */
#include "domain/templates/yaml_tree.h"

#include <string.h>
#include <yaml.h>

struct builder {
        struct cay_arena *mem;
        struct cay_notes *notes;
        const char *text;
        size_t len;
        struct cay_yaml_node *root;
        struct cay_yaml_node *open[CAY_YAML_DEPTH_MAX]; /* the innermost last */
        struct cay_yaml_node *last[CAY_YAML_DEPTH_MAX]; /* the newest child of each */
        struct cay_yaml_node *key;                      /* of the innermost mapping: waits for its value */
        unsigned depth, nodes, documents;
        bool done;
};

static unsigned line_of(const yaml_mark_t *mark)
{
        return (unsigned)mark->line + 1;
}

static unsigned column_of(const yaml_mark_t *mark)
{
        return (unsigned)mark->column + 1;
}

/* Bytes to a place: characters are counted, as the library does. */
static void place_of(const struct builder *b, size_t offset, unsigned *ret_line, unsigned *ret_column)
{
        *ret_line = *ret_column = 1;
        for (size_t i = 0; i < offset && i < b->len; i++) {
                if (b->text[i] == '\n') {
                        *ret_line += 1;
                        *ret_column = 1;
                } else if (((unsigned char)b->text[i] & 0xc0) != 0x80) {
                        *ret_column += 1;
                }
        }
}

/* The byte at a place, which is counted in characters; 0 beyond the end. */
static char byte_at(const struct builder *b, const yaml_mark_t *mark)
{
        size_t line = 0, column = 0;

        for (size_t i = 0; i < b->len; i++) {
                if (((unsigned char)b->text[i] & 0xc0) == 0x80)
                        continue;
                if (line == mark->line && column == mark->column)
                        return b->text[i];
                column++;
                if (b->text[i] == '\n') {
                        line++;
                        column = 0;
                }
        }
        return 0;
}

/* The library's message, and the most common cause. */
static void note_problem(struct builder *b, const yaml_parser_t *p)
{
        const yaml_mark_t *mark = &p->problem_mark;
        unsigned line = line_of(mark), column = column_of(mark);
        const char *problem = p->problem ? p->problem : "cannot be read";

        if (p->error == YAML_MEMORY_ERROR) {
                cay_note_error(b->notes, 0, 0, "no memory to read it; make it smaller");
        } else if (p->error == YAML_READER_ERROR) {
                place_of(b, p->problem_offset, &line, &column);
                cay_note_error(b->notes, line, column, "%s; write the file as plain UTF-8 text", problem);
        } else if (byte_at(b, mark) == '\t') {
                cay_note_error(b->notes, line, column, "a tab cannot stand here; indent with blanks");
        } else {
                cay_note_error(b->notes, line, column, "%s%s%s; look at indentation, colons and quotes here",
                               p->context ? p->context : "", p->context ? ": " : "", problem);
        }
}

static int refuse(struct builder *b, const yaml_event_t *e, const char *what)
{
        cay_note_error(b->notes, line_of(&e->start_mark), column_of(&e->start_mark), "%s", what);
        return -1;
}

static int refuse_names(struct builder *b, const yaml_event_t *e, const yaml_char_t *anchor,
                        const yaml_char_t *tag)
{
        if (anchor)
                return refuse(b, e, "anchors (&name) are not supported; write the value where it is needed");
        if (tag)
                return refuse(b, e, "tags (!name) are not supported; write the value without one");
        return 0;
}

static struct cay_yaml_node *new_node(struct builder *b, const yaml_event_t *e, enum cay_yaml_kind kind)
{
        struct cay_yaml_node *node =
                b->nodes++ < CAY_YAML_NODES_MAX ? cay_arena_alloc(b->mem, sizeof(*node)) : NULL;

        if (!node) {
                refuse(b, e, "too many values; split the registry");
                return NULL;
        }
        node->kind = kind;
        node->line = line_of(&e->start_mark);
        node->column = column_of(&e->start_mark);
        return node;
}

static int check_key(struct builder *b, const struct cay_yaml_node *parent, const yaml_event_t *e,
                     const struct cay_yaml_node *key)
{
        if (key->kind != CAY_YAML_SCALAR)
                return refuse(b, e, "a key must be one word; lists and mappings cannot be keys");
        if (key->is_plain && strcmp(key->text, "<<") == 0)
                return refuse(b, e,
                              "merge keys (<<) are not supported; write the values where they are needed");
        for (const struct cay_yaml_node *n = parent->first; n; n = n->next) {
                if (strcmp(n->key->text, key->text) == 0) {
                        cay_note_error(b->notes, key->line, key->column,
                                       "'%.60s' stands in line %u already; keep one of them", key->text,
                                       n->key->line);
                        return 0;
                }
        }
        return 0;
}

/* Into the innermost collection, as a key or as a child. */
static int place(struct builder *b, const yaml_event_t *e, struct cay_yaml_node *node)
{
        struct cay_yaml_node *parent = b->depth > 0 ? b->open[b->depth - 1] : NULL;
        struct cay_yaml_node **last = b->depth > 0 ? &b->last[b->depth - 1] : NULL;

        if (!parent) {
                b->root = node;
                return 0;
        }
        if (parent->kind == CAY_YAML_MAPPING && !b->key) {
                b->key = node;
                return check_key(b, parent, e, node);
        }
        if (parent->count == CAY_YAML_ENTRIES_MAX)
                return refuse(b, e, "too many entries; at most 1024 may stand together");
        node->key = cay_take(b->key);
        if (*last)
                (*last)->next = node;
        else
                parent->first = node;
        *last = node;
        parent->count++;
        return 0;
}

static int add_scalar(struct builder *b, const yaml_event_t *e)
{
        struct cay_yaml_node *node;

        if (refuse_names(b, e, e->data.scalar.anchor, e->data.scalar.tag) < 0)
                return -1;
        if (memchr(e->data.scalar.value, '\0', e->data.scalar.length))
                return refuse(b, e, "a NUL character cannot be part of a value; take it out");
        node = new_node(b, e, CAY_YAML_SCALAR);
        if (!node)
                return -1;
        node->is_plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        node->text = cay_arena_copy(b->mem, (const char *)e->data.scalar.value, e->data.scalar.length);
        if (!node->text)
                return refuse(b, e, "too much text; split the registry");
        return place(b, e, node);
}

static int begin(struct builder *b, const yaml_event_t *e, enum cay_yaml_kind kind)
{
        bool is_map = kind == CAY_YAML_MAPPING;
        struct cay_yaml_node *node;

        if (refuse_names(b, e, is_map ? e->data.mapping_start.anchor : e->data.sequence_start.anchor,
                         is_map ? e->data.mapping_start.tag : e->data.sequence_start.tag) < 0)
                return -1;
        if (b->depth == CAY_YAML_DEPTH_MAX)
                return refuse(b, e, "nested too deep; at most 12 levels are taken");
        node = new_node(b, e, kind);
        if (!node || place(b, e, node) < 0)
                return -1;
        b->open[b->depth] = node;
        b->last[b->depth++] = NULL;
        return 0;
}

static int begin_document(struct builder *b, const yaml_event_t *e)
{
        if (e->data.document_start.tag_directives.start != e->data.document_start.tag_directives.end)
                return refuse(b, e, "%TAG is not supported; remove the line");
        if (++b->documents > 1)
                return refuse(b, e, "a second document begins here; a registry is one document");
        return 0;
}

static int take(struct builder *b, const yaml_event_t *e)
{
        switch (e->type) {
        case YAML_DOCUMENT_START_EVENT:
                return begin_document(b, e);
        case YAML_ALIAS_EVENT:
                return refuse(b, e, "aliases (*name) are not supported; write the value where it is needed");
        case YAML_SCALAR_EVENT:
                return add_scalar(b, e);
        case YAML_SEQUENCE_START_EVENT:
                return begin(b, e, CAY_YAML_SEQUENCE);
        case YAML_MAPPING_START_EVENT:
                return begin(b, e, CAY_YAML_MAPPING);
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT:
                b->depth--;
                return 0;
        case YAML_STREAM_END_EVENT:
                b->done = true;
                return 0;
        default:
                return 0;
        }
}

struct cay_yaml_node *cay_yaml_parse(const char *text, size_t len, struct cay_arena *mem,
                                     struct cay_notes *notes)
{
        struct builder b = { .mem = mem, .notes = notes, .text = text, .len = len };
        yaml_parser_t p;
        int r = 0;

        if (!yaml_parser_initialize(&p)) {
                cay_note_error(notes, 0, 0, "no memory to read it");
                return NULL;
        }
        yaml_parser_set_encoding(&p, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&p, (const unsigned char *)text, len);
        while (r == 0 && !b.done) {
                yaml_event_t e;

                if (!yaml_parser_parse(&p, &e)) {
                        note_problem(&b, &p);
                        r = -1;
                        break;
                }
                r = take(&b, &e);
                yaml_event_delete(&e);
        }
        yaml_parser_delete(&p);
        if (r == 0 && !b.root)
                cay_note_error(notes, 1, 1, "is empty; a registry begins with 'containers:'");
        return r == 0 ? b.root : NULL;
}

bool cay_yaml_is_null(const struct cay_yaml_node *node)
{
        return node->kind == CAY_YAML_SCALAR && node->is_plain &&
               (node->text[0] == '\0' || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}

const char *cay_yaml_kind_text(const struct cay_yaml_node *node)
{
        static const char *const texts[] = {
                [CAY_YAML_SCALAR] = "one value",
                [CAY_YAML_SEQUENCE] = "a list",
                [CAY_YAML_MAPPING] = "a mapping",
        };

        return cay_yaml_is_null(node) ? "empty" : texts[node->kind];
}
