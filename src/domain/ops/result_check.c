/* SPDX-License-Identifier: Apache-2.0 */
/* Levels as they open and close; each has its table, or is not described. */
#include "domain/ops/result_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int wrong(struct cay_result_check *c, const char *what, const char *name)
{
        snprintf(c->wrong, sizeof(c->wrong), "%s: %.80s", what, name);
        return -EPROTO;
}

/* The member of that name, with its number among all; ALSO's are counted in place. */
static const struct cay_result_field *find(const struct cay_result_table *t, const char *name, size_t len,
                                           unsigned *nr)
{
        for (const struct cay_result_field *f = t->fields; f->name; f++) {
                if (f->kind == CAY_RESULT_ALSO) {
                        const struct cay_result_field *inner = find(f->table, name, len, nr);

                        if (inner)
                                return inner;
                        continue;
                }
                if (strlen(f->name) == len && memcmp(f->name, name, len) == 0)
                        return f;
                ++*nr;
        }
        return NULL;
}

static const char *find_missing(const struct cay_result_table *t, uint64_t seen, unsigned *nr)
{
        for (const struct cay_result_field *f = t->fields; f->name; f++) {
                /* Members that may be left out together are all there in `seen`. */
                uint64_t counted = f->flags & CAY_RESULT_OPTIONAL ? UINT64_MAX : seen;
                const char *inner = f->kind == CAY_RESULT_ALSO ? find_missing(f->table, counted, nr) : NULL;

                if (inner)
                        return inner;
                if (f->kind == CAY_RESULT_ALSO)
                        continue;
                if (!(f->flags & CAY_RESULT_OPTIONAL) && !(seen & UINT64_C(1) << *nr))
                        return f->name;
                ++*nr;
        }
        return NULL;
}

static bool is_map(const struct cay_result_table *t)
{
        return t->fields[0].name && strcmp(t->fields[0].name, "*") == 0;
}

static int take_key(struct cay_result_check *c, const char *key, size_t len)
{
        struct cay_result_level *l = &c->levels[c->depth - 1];
        unsigned nr = 0;
        char name[81];

        if (!l->table || l->is_map)
                return 0;
        snprintf(name, sizeof(name), "%.*s", (int)len, key);
        l->due = find(l->table, key, len, &nr);
        if (!l->due || nr >= CAY_RESULT_MEMBERS_MAX)
                return wrong(c, "no row has", name);
        if (l->seen & UINT64_C(1) << nr)
                return wrong(c, "written twice", name);
        l->seen |= UINT64_C(1) << nr;
        return 0;
}

static bool is_allowed(enum cay_result_kind kind, unsigned flags, enum cay_json_part part)
{
        if (part == CAY_JSON_PART_NULL)
                return flags & CAY_RESULT_NULLABLE || kind == CAY_RESULT_ANY || kind == CAY_RESULT_WHATEVER;
        switch (kind) {
        case CAY_RESULT_TEXT:
        case CAY_RESULT_TIME:
                return part == CAY_JSON_PART_TEXT;
        case CAY_RESULT_NUMBER:
                return part == CAY_JSON_PART_NUMBER;
        case CAY_RESULT_BOOL:
                return part == CAY_JSON_PART_BOOL;
        case CAY_RESULT_TEXTS:
        case CAY_RESULT_NUMBERS:
        case CAY_RESULT_LIST:
                return part == CAY_JSON_PART_ARRAY;
        case CAY_RESULT_WORDS:
                return part == CAY_JSON_PART_TEXT || part == CAY_JSON_PART_ARRAY;
        case CAY_RESULT_EITHER:
                return part == CAY_JSON_PART_TEXT || part == CAY_JSON_PART_NUMBER;
        case CAY_RESULT_WHATEVER:
                return true;
        case CAY_RESULT_ANY:
                return part == CAY_JSON_PART_OBJECT || part == CAY_JSON_PART_RAW;
        default: /* OBJECT, MAP, PAIRS, COUNTS */
                return part == CAY_JSON_PART_OBJECT;
        }
}

static enum cay_result_kind items_of(enum cay_result_kind kind)
{
        switch (kind) {
        case CAY_RESULT_TEXTS:
        case CAY_RESULT_WORDS:
        case CAY_RESULT_PAIRS:
                return CAY_RESULT_TEXT;
        case CAY_RESULT_NUMBERS:
        case CAY_RESULT_COUNTS:
                return CAY_RESULT_NUMBER;
        default:
                return CAY_RESULT_WHATEVER;
        }
}

/* What is known about the next value: a row, an item of a list or map, or nothing. */
static int take_value(struct cay_result_check *c, enum cay_json_part part, struct cay_result_level *ret)
{
        struct cay_result_level *l = &c->levels[c->depth - 1];
        const struct cay_result_field *due = l->due;

        *ret = (struct cay_result_level){ .is_list = part == CAY_JSON_PART_ARRAY,
                                          .items = CAY_RESULT_WHATEVER };
        l->due = NULL;
        if (due) {
                if (!is_allowed(due->kind, due->flags, part))
                        return wrong(c, "not of its kind", due->name);
                ret->table = due->table;
                ret->is_map = due->kind == CAY_RESULT_MAP;
                ret->items = items_of(due->kind);
        } else if (l->is_list || l->is_map) {
                if (l->table && part != CAY_JSON_PART_OBJECT)
                        return wrong(c, "not an object", l->table->name ? l->table->name : "an item");
                ret->table = l->table;
        }
        if (!due && !l->table && !is_allowed(l->items, 0, part))
                return wrong(c, "not of its kind", "an item");
        return 0;
}

static int end_level(struct cay_result_check *c)
{
        struct cay_result_level *l = &c->levels[--c->depth];
        unsigned nr = 0;
        const char *missing =
                l->table && !l->is_list && !l->is_map ? find_missing(l->table, l->seen, &nr) : NULL;

        return missing ? wrong(c, "not written", missing) : 0;
}

static int put(struct cay_json_sink *sink, enum cay_json_part part, const char *text, size_t len,
               int64_t number)
{
        struct cay_result_check *c = cay_container_of(sink, struct cay_result_check, watch);
        bool opens = part == CAY_JSON_PART_OBJECT || part == CAY_JSON_PART_ARRAY;
        struct cay_result_level next;
        int r;

        (void)number;
        if (part == CAY_JSON_PART_END)
                return end_level(c);
        if (part == CAY_JSON_PART_KEY)
                return take_key(c, text, len);
        if (c->depth == 0) { /* the whole result: its table is set already */
                c->depth = 1;
                return opens ? 0 : wrong(c, "not an object", "the result");
        }
        r = take_value(c, part, &next);
        if (r == 0 && opens)
                c->levels[c->depth++] = next;
        return r;
}

static void free_nothing(struct cay_json_sink *sink)
{
        (void)sink;
}

void cay_result_check_init(struct cay_result_check *c, const struct cay_result_table *table)
{
        *c = (struct cay_result_check){ .watch = { .put = put, .free = free_nothing } };
        c->levels[0].is_map = is_map(table);
        c->levels[0].table = c->levels[0].is_map ? table->fields[0].table : table;
        c->levels[0].items = CAY_RESULT_WHATEVER;
}
