/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a request from texts. */
#include "cay/cli/values.h"

#include <string.h>

#include "foundation/base/json_out.h"
#include "foundation/base/json_view.h"
#include "foundation/base/parse.h"
#include "foundation/base/utf8.h"
#include "cay/client/url.h"

void cay_values_init(struct cay_values *v, const struct cay_cli_op *op)
{
        *v = (struct cay_values){ .op = op };
}

void cay_values_done(struct cay_values *v)
{
        free(v->items);
        *v = (struct cay_values){ 0 };
}

const struct cay_field *cay_values_find(const struct cay_cli_op *op, const char *name,
                                        const struct cay_field **ret_object)
{
        const char *dot = strchr(name, '.');
        const struct cay_field *f;

        *ret_object = NULL;
        if (dot == NULL)
                return cay_field_find(op->fields, name, strlen(name));
        f = cay_field_find(op->fields, name, (size_t)(dot - name));
        if (f == NULL || f->kind != CAY_FIELD_OBJECT)
                return NULL;
        *ret_object = f;
        return cay_field_find(f->fields, dot + 1, strlen(dot + 1));
}

static bool is_many(const struct cay_field *f)
{
        return f->kind == CAY_FIELD_TEXTS || f->kind == CAY_FIELD_WORDS || f->kind == CAY_FIELD_MAP;
}

static int check(const struct cay_field *f, const char *where, const char *text, struct cay_error *err)
{
        struct cay_json_view any;
        uint64_t number;

        if (!cay_utf8_valid(text, strlen(text)))
                return cay_fail(err, CAY_INVALID, "%s: is not valid UTF-8", where);
        if (f->kind == CAY_FIELD_U64 && cay_parse_u64(text, &number) < 0)
                return cay_fail(err, CAY_INVALID, "%s: '%.40s' is not a whole number", where, text);
        if (f->kind == CAY_FIELD_BOOL && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
                return cay_fail(err, CAY_INVALID, "%s: '%.40s' is neither true nor false", where, text);
        if (f->kind == CAY_FIELD_MAP && (text[0] == '=' || strchr(text, '=') == NULL))
                return cay_fail(err, CAY_INVALID, "%s: '%.80s' is not NAME=VALUE", where, text);
        if (f->kind == CAY_FIELD_ANY && cay_json_view_open(text, strlen(text), &any) < 0)
                return cay_fail(err, CAY_INVALID, "%s: is not JSON", where);
        if (f->kind == CAY_FIELD_OBJECT)
                return cay_fail(err, CAY_INVALID, "%s: give its members: %s.%s…", where, where,
                                f->fields->name);
        return 0;
}

static struct cay_value *find_value(const struct cay_values *v, const struct cay_field *f)
{
        for (unsigned i = 0; i < v->count; i++)
                if (v->items[i].field == f)
                        return &v->items[i];
        return NULL;
}

int cay_values_add(struct cay_values *v, const char *name, const char *where, const char *text,
                   struct cay_error *err)
{
        const struct cay_field *object, *f = cay_values_find(v->op, name, &object);
        struct cay_value *there, *items;

        if (f == NULL)
                return cay_fail(err, CAY_INVALID, "%s: %s has no such field", where, v->op->name);
        if (check(f, where, text, err) < 0)
                return -1;
        there = is_many(f) ? NULL : find_value(v, f);
        if (there != NULL) {
                there->text = text;
                return 0;
        }
        if (v->count == CAY_VALUES_MAX)
                return cay_fail(err, CAY_INVALID, "%s: at most %u words are allowed", where, CAY_VALUES_MAX);
        items = reallocarray(v->items, v->count + 1, sizeof(*items));
        if (items == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        v->items = items;
        items[v->count++] = (struct cay_value){ f, object, text };
        return 0;
}

int cay_values_set(struct cay_values *v, const char *name, const char *text, struct cay_error *err)
{
        return cay_values_add(v, name, name, text, err);
}

const char *cay_values_get(const struct cay_values *v, const char *name)
{
        const struct cay_field *object, *f = cay_values_find(v->op, name, &object);
        const struct cay_value *value = f != NULL ? find_value(v, f) : NULL;

        return value != NULL ? value->text : NULL;
}

/* The path */

static bool is_in_path(const struct cay_cli_op *op, const struct cay_field *f)
{
        char name[64];

        return snprintf(name, sizeof(name), "{%s}", f->name) < (int)sizeof(name) &&
               strstr(op->path, name) != NULL;
}

static int put_path(const struct cay_values *v, struct cay_buf *out, struct cay_error *err)
{
        const char *at = v->op->path;
        int r = 0;

        while (*at != '\0' && r == 0) {
                size_t len = strcspn(at, "{");
                char name[64] = "";
                const char *value;

                r = cay_buf_put(out, at, len);
                at += len;
                if (*at == '\0' || r < 0)
                        break;
                len = strcspn(at, "}");
                memcpy(name, at + 1, len < sizeof(name) ? len - 1 : sizeof(name) - 1);
                value = cay_values_get(v, name);
                if (value == NULL || value[0] == '\0')
                        return cay_fail(err, CAY_INVALID, "%s: is required", name);
                r = cay_url_escape(out, value, false);
                at += len + 1;
        }
        return r < 0 ? cay_fail_sys(err, CAY_INVALID, r, "make the request") : 0;
}

static int put_query(const struct cay_values *v, struct cay_buf *out)
{
        char mark = '?';
        int r = 0;

        for (unsigned i = 0; i < v->count && r == 0; i++) {
                if (is_in_path(v->op, v->items[i].field))
                        continue;
                r = cay_buf_putc(out, mark);
                if (r == 0)
                        r = cay_url_escape(out, v->items[i].field->name, false);
                if (r == 0)
                        r = cay_buf_putc(out, '=');
                if (r == 0)
                        r = cay_url_escape(out, v->items[i].text, true);
                mark = '&';
        }
        return r;
}

/* The body */

static void put_raw(struct cay_json *j, const char *json)
{
        cay_json_null(j);
        if (j->failed != 0)
                return;
        j->out->len -= strlen("null");
        j->failed = cay_buf_puts(j->out, json);
}

static void put_one(struct cay_json *j, const struct cay_value *value)
{
        uint64_t number = 0;

        switch (value->field->kind) {
        case CAY_FIELD_U64:
                cay_parse_u64(value->text, &number);
                cay_json_u64(j, number);
                break;
        case CAY_FIELD_BOOL:
                cay_json_bool(j, strcmp(value->text, "true") == 0);
                break;
        case CAY_FIELD_ANY:
                put_raw(j, value->text);
                break;
        default:
                cay_json_text(j, value->text);
        }
}

static void put_pair(struct cay_json *j, const char *pair)
{
        const char *equals = strchr(pair, '=');
        cay_auto_buf struct cay_buf key = { 0 };

        cay_buf_init(&key, strlen(pair));
        cay_buf_put(&key, pair, (size_t)(equals - pair));
        cay_json_key(j, cay_buf_data(&key));
        cay_json_text(j, equals + 1);
}

static void put_many(const struct cay_values *v, struct cay_json *j, const struct cay_field *f)
{
        bool is_map = f->kind == CAY_FIELD_MAP;

        if (is_map)
                cay_json_begin_object(j);
        else
                cay_json_begin_array(j);
        for (unsigned i = 0; i < v->count; i++) {
                if (v->items[i].field != f)
                        continue;
                if (is_map)
                        put_pair(j, v->items[i].text);
                else
                        cay_json_text(j, v->items[i].text);
        }
        if (is_map)
                cay_json_end_object(j);
        else
                cay_json_end_array(j);
}

static bool has_member(const struct cay_values *v, const struct cay_field *object)
{
        for (unsigned i = 0; i < v->count; i++)
                if (v->items[i].object == object)
                        return true;
        return false;
}

static void put_members(const struct cay_values *v, struct cay_json *j, const struct cay_field *fields)
{
        cay_json_begin_object(j);
        for (const struct cay_field *f = fields; f->name != NULL; f++) {
                const struct cay_value *value = find_value(v, f);

                if (f->kind == CAY_FIELD_OBJECT && has_member(v, f)) {
                        cay_json_key(j, f->name);
                        put_members(v, j, f->fields);
                } else if (value != NULL && !is_in_path(v->op, f)) {
                        cay_json_key(j, f->name);
                        if (is_many(f))
                                put_many(v, j, f);
                        else
                                put_one(j, value);
                }
        }
        cay_json_end_object(j);
}

int cay_values_format(const struct cay_values *v, struct cay_buf *target, struct cay_buf *body,
                      bool *ret_has_body, struct cay_error *err)
{
        bool in_query = v->op->takes_bytes || strcmp(v->op->method, "GET") == 0 ||
                        strcmp(v->op->method, "DELETE") == 0;
        struct cay_json j;
        int r;

        if (put_path(v, target, err) < 0)
                return -1;
        *ret_has_body = !in_query;
        if (in_query) {
                r = put_query(v, target);
        } else {
                cay_json_init(&j, body);
                put_members(v, &j, v->op->fields);
                r = cay_json_end(&j);
        }
        return r < 0 ? cay_fail_sys(err, CAY_INVALID, r, "make the request") : 0;
}
