/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills a struct by its table. The path of the current field is kept while nesting, so that an error names it
 * completely. Tables nest only by OBJECT rows, so the recursion is bounded by our own tables.
 */

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "foundation/json/json_in_priv.h"

enum { NUMBER_MAX = 32 };

struct reading {
        struct cay_json_in *doc;
        struct cay_error *err;
        char path[CAY_JSON_IN_FIELD_MAX + 1];
        size_t path_len;
};

/* Appends ".name" (truncated when too long) and returns the previous length, to restore it later. */
static size_t enter(struct reading *r, const char *name)
{
        size_t before = r->path_len, room = sizeof(r->path) - r->path_len;
        int n = snprintf(r->path + r->path_len, room, "%s%s", r->path_len > 0 ? "." : "", name);

        r->path_len += (size_t)n < room ? (size_t)n : room - 1;
        return before;
}

static void leave(struct reading *r, size_t before)
{
        r->path_len = before;
        r->path[before] = '\0';
}

static int wrong_type(struct reading *r, const struct cay_field *field, const json_t *node)
{
        return cay_fail(r->err, CAY_INVALID, "%s: must be %s, not %s", r->path,
                        cay_field_kind_text(field->kind),
                        cay_json_type_word(cay_json_value_type(as_value(node))));
}

static int no_memory(struct reading *r)
{
        return cay_fail(r->err, CAY_LIMIT, "%s: too much to keep", r->path);
}

/* A number as text for a parser of limits; reals in short form (0.1, not 0.1000000000000000055). */
static bool number_text(const json_t *node, char buf[NUMBER_MAX])
{
        if (json_is_integer(node))
                snprintf(buf, NUMBER_MAX, "%" JSON_INTEGER_FORMAT, json_integer_value(node));
        else if (json_is_real(node) && isfinite(json_real_value(node)))
                snprintf(buf, NUMBER_MAX, "%.15g", json_real_value(node));
        else
                return false;
        return true;
}

static int read_u64(struct reading *r, const struct cay_field *field, const json_t *node, void *at)
{
        json_int_t v;

        if (!json_is_integer(node))
                return wrong_type(r, field, node);
        v = json_integer_value(node);
        if (v < 0)
                return cay_fail(r->err, CAY_INVALID, "%s: %" PRId64 " is negative", r->path, (int64_t)v);
        if (cay_field_check_range(field, r->path, (uint64_t)v, r->err) < 0)
                return -1;
        *(uint64_t *)at = (uint64_t)v;
        return 0;
}

static int read_bool(struct reading *r, const struct cay_field *field, const json_t *node, bool *at)
{
        if (!json_is_boolean(node))
                return wrong_type(r, field, node);
        *at = json_is_true(node);
        return 0;
}

/* Kinds that accept a text or a number, and are parsed as text either way. */
static int read_parsed(struct reading *r, const struct cay_field *field, const json_t *node, void *args)
{
        char buf[NUMBER_MAX], *copy;

        if (json_is_string(node))
                return cay_field_set_text(field, r->path, json_string_value(node), args, r->err);
        if (!number_text(node, buf))
                return wrong_type(r, field, node);
        copy = cay_arena_copy(&r->doc->mem, buf, strlen(buf)); /* a parser may keep it */
        return copy ? cay_field_set_text(field, r->path, copy, args, r->err) : no_memory(r);
}

static int read_text(struct reading *r, const struct cay_field *field, const json_t *node, void *args)
{
        if (!json_is_string(node))
                return wrong_type(r, field, node);
        return cay_field_set_text(field, r->path, json_string_value(node), args, r->err);
}

static int check_count(struct reading *r, const struct cay_field *field, size_t count)
{
        uint64_t max = field->max > 0 ? field->max : CAY_FIELD_ITEMS_MAX;

        if (count > max)
                return cay_fail(r->err, CAY_INVALID, "%s: %zu entries are too many: at most %" PRIu64,
                                r->path, count, max);
        if (count < field->min)
                return cay_fail(r->err, CAY_INVALID, "%s: %zu entries are too few: at least %" PRIu64,
                                r->path, count, field->min);
        return 0;
}

/* A text inside a list or map, within the size that the row allows. */
static const char *number_item(struct reading *r, const json_t *node)
{
        char text[NUMBER_MAX];
        const char *copy;

        if (!number_text(node, text))
                text[0] = '\0';
        copy = cay_arena_copy(&r->doc->mem, text, strlen(text));
        if (!copy)
                no_memory(r);
        return copy;
}

static const char *item_text(struct reading *r, const struct cay_field *field, const json_t *node)
{
        size_t max = field->item_max > 0 ? field->item_max : CAY_FIELD_TEXT_MAX;

        if (json_is_integer(node) && field->flags & CAY_FIELD_NUMBERS)
                return number_item(r, node);
        if (!json_is_string(node)) {
                cay_fail(r->err, CAY_INVALID, "%s: must be a text, not %s", r->path,
                         cay_json_type_word(cay_json_value_type(as_value(node))));
                return NULL;
        }
        if (json_string_length(node) > max) {
                cay_fail(r->err, CAY_INVALID, "%s: %zu bytes are too many: at most %zu", r->path,
                         json_string_length(node), max);
                return NULL;
        }
        return json_string_value(node);
}

static int read_texts(struct reading *r, const struct cay_field *field, const json_t *node,
                      struct cay_field_texts *at)
{
        size_t count = json_array_size(node);
        const char **items;

        if (!json_is_array(node))
                return wrong_type(r, field, node);
        if (check_count(r, field, count) < 0)
                return -1;
        items = cay_arena_array(&r->doc->mem, count + 1, sizeof(*items));
        if (!items)
                return no_memory(r);
        for (size_t i = 0; i < count; i++) {
                char number[24];
                size_t before;

                snprintf(number, sizeof(number), "%zu", i);
                before = enter(r, number);
                items[i] = item_text(r, field, json_array_get(node, i));
                if (!items[i])
                        return -1;
                leave(r, before);
        }
        *at = (struct cay_field_texts){ .items = items, .count = (unsigned)count };
        return 0;
}

static int read_words(struct reading *r, const struct cay_field *field, const json_t *node,
                      struct cay_field_texts *at)
{
        const char *line;

        if (!json_is_string(node))
                return read_texts(r, field, node, at);
        line = item_text(r, field, node);
        if (!line)
                return -1;
        *at = (struct cay_field_texts){ .line = line };
        return 0;
}

static int read_map(struct reading *r, const struct cay_field *field, json_t *node, struct cay_field_map *at)
{
        size_t count = json_object_size(node), i = 0;
        struct cay_field_pair *pairs;

        if (!json_is_object(node))
                return wrong_type(r, field, node);
        if (check_count(r, field, count) < 0)
                return -1;
        pairs = cay_arena_array(&r->doc->mem, count, sizeof(*pairs));
        if (count > 0 && !pairs)
                return no_memory(r);
        for (void *it = json_object_iter(node); it; it = json_object_iter_next(node, it)) {
                const char *name = json_object_iter_key(it);
                size_t before = enter(r, name);

                pairs[i].name = name;
                pairs[i].value = item_text(r, field, json_object_iter_value(it));
                if (!pairs[i++].value)
                        return -1;
                leave(r, before);
        }
        *at = (struct cay_field_map){ .pairs = pairs, .count = (unsigned)count };
        return 0;
}

static int read_object(struct reading *r, const struct cay_field *fields, json_t *node, void *args);

static int read_field(struct reading *r, const struct cay_field *field, json_t *node, void *args)
{
        void *at = (char *)args + field->offset;

        switch (field->kind) {
        case CAY_FIELD_TEXT:
                return read_text(r, field, node, args);
        case CAY_FIELD_U64:
                return read_u64(r, field, node, at);
        case CAY_FIELD_BOOL:
                return read_bool(r, field, node, at);
        case CAY_FIELD_SIZE:
        case CAY_FIELD_DURATION:
        case CAY_FIELD_MILLI:
        case CAY_FIELD_PARSED:
                return read_parsed(r, field, node, args);
        case CAY_FIELD_TEXTS:
                return read_texts(r, field, node, at);
        case CAY_FIELD_WORDS:
                return read_words(r, field, node, at);
        case CAY_FIELD_MAP:
                return read_map(r, field, node, at);
        case CAY_FIELD_OBJECT:
                if (!json_is_object(node))
                        return wrong_type(r, field, node);
                return read_object(r, field->fields, node, at);
        case CAY_FIELD_ANY:
                *(const struct cay_json_value **)at = as_value(node);
                return 0;
        case CAY_FIELD_NONE:
        case CAY_FIELD_KIND_COUNT:
                break;
        }
        return cay_fail(r->err, CAY_INTERNAL, "%s: the table has no kind for it", r->path);
}

static int read_members(struct reading *r, const struct cay_field *fields, json_t *node, void *args)
{
        for (void *it = json_object_iter(node); it; it = json_object_iter_next(node, it)) {
                const char *name = json_object_iter_key(it);
                const struct cay_field *field = cay_field_find(fields, name, strlen(name));
                size_t before = enter(r, name);

                if (!field)
                        return cay_fail(r->err, CAY_INVALID, "%s: unknown field", r->path);
                if (!json_is_null(json_object_iter_value(it))) { /* null: not given */
                        if (read_field(r, field, json_object_iter_value(it), args) < 0)
                                return -1;
                        cay_field_note_given(field, args);
                }
                leave(r, before);
        }
        return 0;
}

static int read_object(struct reading *r, const struct cay_field *fields, json_t *node, void *args)
{
        for (const struct cay_field *f = fields; f->name; f++) {
                const json_t *member = json_object_get(node, f->name);

                if (!(f->flags & CAY_FIELD_REQUIRED))
                        continue;
                if (!member || json_is_null(member)) {
                        enter(r, f->name);
                        return cay_fail(r->err, CAY_INVALID, "%s: is required", r->path);
                }
        }
        return read_members(r, fields, node, args);
}

int cay_json_in_read(struct cay_json_in *doc, const struct cay_json_value *value,
                     const struct cay_field *fields, void *args, char ret_field[CAY_JSON_IN_FIELD_MAX + 1],
                     struct cay_error *err)
{
        struct reading r = { .doc = doc, .err = err };
        int result;

        if (cay_json_value_type(value) != CAY_JSON_OBJECT)
                result = cay_fail(err, CAY_INVALID, "must be an object, not %s",
                                  cay_json_type_word(cay_json_value_type(value)));
        else
                result = read_object(&r, fields, as_node(value), args);
        if (result < 0 && ret_field)
                snprintf(ret_field, CAY_JSON_IN_FIELD_MAX + 1, "%s", r.path);
        return result;
}
