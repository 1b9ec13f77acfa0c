/* SPDX-License-Identifier: Apache-2.0 */
/* Parses and reads documents; the limits are checked on the text before the library sees it. */

#include "foundation/json/json_in.h"

#include <errno.h>
#include <jansson.h>

#include "foundation/base/arena.h"
#include "foundation/json/json_in_priv.h"

enum {
        BYTES_DEFAULT = 1024 * 1024,
        VALUES_DEFAULT = 20000,
};

void cay_json_in_seed(uint32_t random)
{
        json_object_seed(random > 0 ? random : 1); /* 0 would make the library choose a seed itself */
}

/* The end of a string that starts after `at`, or the end of the text. */
static const char *skip_string(const char *at, const char *end)
{
        for (; at < end && *at != '"'; at++) {
                if (*at == '\\' && at + 1 < end)
                        at++;
        }
        return at;
}

/*
 * Counts levels and values without parsing: an upper bound for any JSON in this text. Unbalanced brackets are
 * left to the parser.
 */
static int measure(const char *bytes, size_t len, unsigned depth_max, unsigned values_max,
                   struct cay_error *err)
{
        const char *end = bytes + len;
        unsigned depth = 0, values = 1;

        for (const char *at = bytes; at < end; at++) {
                switch (*at) {
                case '"':
                        at = skip_string(at + 1, end);
                        break;
                case '[':
                case '{':
                        if (++depth > depth_max)
                                return cay_fail(err, CAY_LIMIT,
                                                "the JSON is nested too deep: at most %u levels", depth_max);
                        values++;
                        break;
                case ']':
                case '}':
                        depth -= depth > 0;
                        break;
                case ',':
                        values++;
                        break;
                }
                if (values > values_max)
                        return cay_fail(err, CAY_LIMIT, "the JSON has too many values: at most %u",
                                        values_max);
        }
        return 0;
}

/* The library quotes the input after " near ". Untrusted input must not be repeated in the log. */
static int not_json(const json_error_t *e, struct cay_error *err)
{
        const char *near = strstr(e->text, " near ");

        if (json_error_code(e) == json_error_out_of_memory)
                return cay_fail(err, CAY_INTERNAL, "no memory for a JSON document");
        return cay_fail(err, CAY_INVALID, "not valid JSON: %.*s (line %d, column %d)",
                        (int)(near ? near - e->text : (ptrdiff_t)strlen(e->text)), e->text, e->line,
                        e->column);
}

int cay_json_in_parse(const char *bytes, size_t len, const struct cay_json_in_limits *limits,
                      struct cay_json_in **ret, struct cay_error *err)
{
        const struct cay_json_in_limits none = { 0 }, *max = limits ? limits : &none;
        size_t bytes_max = max->bytes > 0 ? max->bytes : BYTES_DEFAULT;
        unsigned depth_max =
                max->depth > 0 && max->depth < CAY_JSON_IN_DEPTH_MAX ? max->depth : CAY_JSON_IN_DEPTH_MAX;
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        json_error_t e;

        if (len > bytes_max)
                return cay_fail(err, CAY_LIMIT, "the JSON has %zu bytes: at most %zu", len, bytes_max);
        if (measure(bytes, len, depth_max, max->values > 0 ? max->values : VALUES_DEFAULT, err) < 0)
                return -1;
        doc = calloc(1, sizeof(*doc));
        if (!doc)
                return cay_fail(err, CAY_INTERNAL, "no memory for a JSON document");
        cay_arena_init(&doc->mem, bytes_max * 4 + 4096);
        doc->root = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &e);
        if (!doc->root)
                return not_json(&e, err);
        *ret = cay_take(doc);
        return 0;
}

void cay_json_in_free(struct cay_json_in *doc)
{
        if (!doc)
                return;
        json_decref(doc->root);
        cay_arena_done(&doc->mem);
        free(doc);
}

/* A value is the library's node under another type; only this folder knows that. */
const struct cay_json_value *cay_json_in_root(const struct cay_json_in *doc)
{
        return as_value(doc->root);
}

enum cay_json_type cay_json_value_type(const struct cay_json_value *v)
{
        if (!v)
                return CAY_JSON_NULL;
        switch (json_typeof(as_node(v))) {
        case JSON_OBJECT:
                return CAY_JSON_OBJECT;
        case JSON_ARRAY:
                return CAY_JSON_ARRAY;
        case JSON_STRING:
                return CAY_JSON_TEXT;
        case JSON_INTEGER:
                return CAY_JSON_INTEGER;
        case JSON_REAL:
                return CAY_JSON_REAL;
        case JSON_TRUE:
        case JSON_FALSE:
                return CAY_JSON_BOOL;
        case JSON_NULL:
                break;
        }
        return CAY_JSON_NULL;
}

const char *cay_json_type_word(enum cay_json_type type)
{
        static const char *const words[] = {
                [CAY_JSON_NULL] = "null",        [CAY_JSON_BOOL] = "true or false",
                [CAY_JSON_INTEGER] = "a number", [CAY_JSON_REAL] = "a number with decimals",
                [CAY_JSON_TEXT] = "a text",      [CAY_JSON_ARRAY] = "a list",
                [CAY_JSON_OBJECT] = "an object",
        };

        _Static_assert(CAY_COUNT(words) == CAY_JSON_TYPE_COUNT, "a word for every type");
        return (unsigned)type < CAY_COUNT(words) ? words[type] : "nothing";
}

size_t cay_json_value_count(const struct cay_json_value *v)
{
        switch (cay_json_value_type(v)) {
        case CAY_JSON_ARRAY:
                return json_array_size(as_node(v));
        case CAY_JSON_OBJECT:
                return json_object_size(as_node(v));
        default:
                return 0;
        }
}

const struct cay_json_value *cay_json_value_at(const struct cay_json_value *v, size_t i)
{
        return v ? as_value(json_array_get(as_node(v), i)) : NULL;
}

const struct cay_json_value *cay_json_value_find(const struct cay_json_value *v, const char *name)
{
        return v ? as_value(json_object_get(as_node(v), name)) : NULL;
}

const char *cay_json_value_text(const struct cay_json_value *v)
{
        return v ? json_string_value(as_node(v)) : NULL;
}

bool cay_json_value_i64(const struct cay_json_value *v, int64_t *ret)
{
        if (cay_json_value_type(v) != CAY_JSON_INTEGER)
                return false;
        *ret = json_integer_value(as_node(v));
        return true;
}

bool cay_json_value_is_true(const struct cay_json_value *v)
{
        return v && json_is_true(as_node(v));
}

void cay_json_value_each(const struct cay_json_value *v,
                         bool (*each)(void *ctx, const char *name, const struct cay_json_value *member),
                         void *ctx)
{
        json_t *node = v ? as_node(v) : NULL;

        for (void *at = json_object_iter(node); at; at = json_object_iter_next(node, at)) {
                if (!each(ctx, json_object_iter_key(at), as_value(json_object_iter_value(at))))
                        return;
        }
}

struct printing {
        struct cay_buf *out;
        int failed;
};

static int print_piece(const char *piece, size_t len, void *ctx)
{
        struct printing *p = ctx;

        if (p->failed == 0)
                p->failed = cay_buf_put(p->out, piece, len);
        return p->failed < 0 ? -1 : 0;
}

int cay_json_value_print(const struct cay_json_value *v, struct cay_buf *out)
{
        const size_t flags = JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15);
        struct printing p = { .out = out };

        if (!v)
                return cay_buf_puts(out, "null");
        if (json_dump_callback(as_node(v), print_piece, &p, flags) < 0)
                return p.failed < 0 ? p.failed : -ENOMEM;
        return 0;
}
