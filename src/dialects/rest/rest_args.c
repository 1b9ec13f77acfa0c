/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to the struct that an op's field table describes. */
#include "dialects/rest/rest_args.h"

#include <stdio.h>
#include <string.h>

#include "foundation/base/utf8.h"
#include "foundation/http/target.h"

#define MEM_MAX (256u * 1024)
#define ROOM 16384u /* one decoded parameter */
#define FIELDS_MAX 64u

void cay_rest_args_init(struct cay_rest_args *a, const struct cay_field *fields, void *args)
{
        static const struct cay_field none[1] = { { 0 } };

        *a = (struct cay_rest_args){ .fields = fields ? fields : none, .args = args };
        cay_arena_init(&a->mem, MEM_MAX);
}

void cay_rest_args_done(struct cay_rest_args *a)
{
        cay_json_in_free(a->doc);
        a->doc = NULL;
        cay_arena_done(&a->mem);
}

static void name_field(struct cay_rest_args *a, const char *name, size_t len)
{
        snprintf(a->field, sizeof(a->field), "%.*s",
                 (int)(len < CAY_JSON_IN_FIELD_MAX ? len : CAY_JSON_IN_FIELD_MAX), name);
}

bool cay_rest_args_has(const struct cay_rest_args *a, const char *name)
{
        return cay_field_find(a->fields, name, strlen(name)) != NULL;
}

bool cay_rest_args_is_set(const struct cay_rest_args *a, const char *name)
{
        const struct cay_field *f = cay_field_find(a->fields, name, strlen(name));

        return f && (size_t)(f - a->fields) < FIELDS_MAX && a->seen & (1ull << (f - a->fields));
}

int cay_rest_args_set(struct cay_rest_args *a, const char *name, size_t name_len, const char *value,
                      struct cay_error *err)
{
        const struct cay_field *f = cay_field_find(a->fields, name, name_len);
        size_t nr = f ? (size_t)(f - a->fields) : 0;
        const char *copy;

        name_field(a, name, name_len);
        if (!f)
                return cay_fail(err, CAY_INVALID, "%.100s: unknown field", a->field);
        if (nr >= FIELDS_MAX || a->seen & (1ull << nr))
                return cay_fail(err, CAY_INVALID, "%s: is given twice", f->name);
        if (!(f->flags & CAY_FIELD_BYTES) && !cay_utf8_valid(value, strlen(value)))
                return cay_fail(err, CAY_INVALID, "%s: is not UTF-8", f->name);
        copy = cay_arena_copy(&a->mem, value, strlen(value));
        if (!copy)
                return cay_fail(err, CAY_LIMIT, "%s: the parameters are too long", f->name);
        if (cay_field_set_text(f, f->name, copy, a->args, err) < 0)
                return -1;
        a->seen |= 1ull << nr;
        return 0;
}

int cay_rest_args_overrule(struct cay_rest_args *a, const char *name, const char *value,
                           struct cay_error *err)
{
        const struct cay_field *f = cay_field_find(a->fields, name, strlen(name));

        if (f && (size_t)(f - a->fields) < FIELDS_MAX)
                a->seen &= ~(1ull << (f - a->fields));
        return cay_rest_args_set(a, name, strlen(name), value, err);
}

int cay_rest_args_path(struct cay_rest_args *a, const struct cay_route_match *match, struct cay_error *err)
{
        for (unsigned i = 0; i < match->name_count; i++)
                if (cay_rest_args_set(a, match->names[i], match->name_lens[i], match->values[i], err) < 0)
                        return -1;
        return 0;
}

int cay_rest_args_query(struct cay_rest_args *a, const char *query, struct cay_error *err)
{
        char room[ROOM];
        struct cay_http_query q = {
                .at = query, .room = room, .room_size = sizeof(room), .takes_bytes = true
        };
        int r;

        while ((r = cay_http_query_next(&q)) > 0)
                if (cay_rest_args_set(a, q.name, strlen(q.name), q.value, err) < 0)
                        return -1;
        if (r < 0)
                return cay_fail(err, CAY_INVALID, "the query is malformed, or a parameter is too long");
        return 0;
}

/* A null counts as not given. */
static bool is_given(const struct cay_json_value *root, const char *name)
{
        const struct cay_json_value *value = cay_json_value_find(root, name);

        return value && cay_json_value_type(value) != CAY_JSON_NULL;
}

/* A field that is in the path or the query may not be given again. */
static int refuse_twice(struct cay_rest_args *a, const struct cay_json_value *root, struct cay_error *err)
{
        for (size_t nr = 0; a->fields[nr].name && nr < FIELDS_MAX; nr++) {
                if (!(a->seen & (1ull << nr)) || !is_given(root, a->fields[nr].name))
                        continue;
                name_field(a, a->fields[nr].name, strlen(a->fields[nr].name));
                return cay_fail(err, CAY_INVALID, "%s: is given twice", a->fields[nr].name);
        }
        return 0;
}

static void note_seen(struct cay_rest_args *a, const struct cay_json_value *root)
{
        for (size_t nr = 0; a->fields[nr].name && nr < FIELDS_MAX; nr++)
                if (is_given(root, a->fields[nr].name))
                        a->seen |= 1ull << nr;
}

int cay_rest_args_body(struct cay_rest_args *a, const char *bytes, size_t len,
                       const struct cay_json_in_limits *limits, struct cay_error *err)
{
        const struct cay_json_value *root;

        a->field[0] = '\0';
        if (cay_json_in_parse(bytes, len, limits, &a->doc, err) < 0) {
                if (err->code == CAY_LIMIT)
                        err->code =
                                CAY_INVALID; /* its size was checked before: too deep or too many values */
                return -1;
        }
        root = cay_json_in_root(a->doc);
        if (cay_json_value_type(root) != CAY_JSON_OBJECT)
                return cay_fail(err, CAY_INVALID, "the body must be a JSON object");
        if (refuse_twice(a, root, err) < 0 ||
            cay_json_in_read(a->doc, root, a->fields, a->args, a->field, err) < 0)
                return -1;
        note_seen(a, root);
        return 0;
}

int cay_rest_args_check(struct cay_rest_args *a, struct cay_error *err)
{
        for (size_t nr = 0; a->fields[nr].name && nr < FIELDS_MAX; nr++) {
                if (!(a->fields[nr].flags & CAY_FIELD_REQUIRED) || a->seen & (1ull << nr))
                        continue;
                name_field(a, a->fields[nr].name, strlen(a->fields[nr].name));
                return cay_fail(err, CAY_INVALID, "%s: is required", a->fields[nr].name);
        }
        return 0;
}
