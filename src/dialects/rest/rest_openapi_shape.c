/* SPDX-License-Identifier: Apache-2.0 */
/* Answers as schemas. */
#include "dialects/rest/rest_openapi_priv.h"

#include <stdio.h>
#include <string.h>

void cay_openapi_begin(struct cay_json *j, const char *key)
{
        cay_json_key(j, key);
        cay_json_begin_object(j);
}

void cay_openapi_put_type(struct cay_json *j, const char *type, bool nullable)
{
        if (!nullable) {
                cay_op_key_text(j, "type", type);
                return;
        }
        cay_json_key(j, "type");
        cay_json_begin_array(j);
        cay_json_text(j, type);
        cay_json_text(j, "null");
        cay_json_end_array(j);
}

void cay_openapi_put_types(struct cay_json *j, const char *one, const char *other, bool nullable)
{
        cay_json_key(j, "type");
        cay_json_begin_array(j);
        cay_json_text(j, one);
        cay_json_text(j, other);
        if (nullable)
                cay_json_text(j, "null");
        cay_json_end_array(j);
}

void cay_openapi_put_items(struct cay_json *j, const char *key, const char *type)
{
        cay_openapi_begin(j, key);
        cay_op_key_text(j, "type", type);
        cay_json_end_object(j);
}

static void put_ref(struct cay_json *j, const struct cay_result_table *shape)
{
        char text[80];

        if (!shape->name) {
                cay_openapi_put_shape(j, shape);
                return;
        }
        snprintf(text, sizeof(text), "#/components/schemas/%s", shape->name);
        cay_op_key_text(j, "$ref", text);
}

void cay_openapi_put_ref_at(struct cay_json *j, const char *key, const struct cay_result_table *shape)
{
        cay_openapi_begin(j, key);
        put_ref(j, shape);
        cay_json_end_object(j);
}

static const char *simple_type(enum cay_result_kind kind)
{
        static const char *const words[CAY_RESULT_KIND_COUNT] = {
                [CAY_RESULT_TEXT] = "string",   [CAY_RESULT_TIME] = "string", [CAY_RESULT_NUMBER] = "integer",
                [CAY_RESULT_BOOL] = "boolean",  [CAY_RESULT_TEXTS] = "array", [CAY_RESULT_NUMBERS] = "array",
                [CAY_RESULT_LIST] = "array",    [CAY_RESULT_MAP] = "object",  [CAY_RESULT_PAIRS] = "object",
                [CAY_RESULT_COUNTS] = "object", [CAY_RESULT_ANY] = "object",
        };

        return words[kind];
}

static void put_member_schema(struct cay_json *j, const struct cay_result_field *f)
{
        if (f->kind == CAY_RESULT_OBJECT) {
                put_ref(j, f->table);
                return;
        }
        if (f->kind == CAY_RESULT_WHATEVER)
                return;
        if (f->kind == CAY_RESULT_WORDS)
                cay_openapi_put_types(j, "string", "array", false);
        else if (f->kind == CAY_RESULT_EITHER)
                cay_openapi_put_types(j, "integer", "string", false);
        else
                cay_openapi_put_type(j, simple_type(f->kind), f->flags & CAY_RESULT_NULLABLE);
        if (f->kind == CAY_RESULT_TIME)
                cay_op_key_text(j, "format", "date-time");
        if (f->kind == CAY_RESULT_TEXTS || f->kind == CAY_RESULT_WORDS)
                cay_openapi_put_items(j, "items", "string");
        if (f->kind == CAY_RESULT_NUMBERS)
                cay_openapi_put_items(j, "items", "integer");
        if (f->kind == CAY_RESULT_LIST)
                cay_openapi_put_ref_at(j, "items", f->table);
        if (f->kind == CAY_RESULT_PAIRS)
                cay_openapi_put_items(j, "additionalProperties", "string");
        if (f->kind == CAY_RESULT_COUNTS)
                cay_openapi_put_items(j, "additionalProperties", "integer");
}

static void put_members(struct cay_json *j, const struct cay_result_table *shape)
{
        for (const struct cay_result_field *f = shape->fields; f->name; f++) {
                if (f->kind == CAY_RESULT_ALSO) {
                        put_members(j, f->table);
                        continue;
                }
                cay_openapi_begin(j, f->name);
                put_member_schema(j, f);
                cay_json_end_object(j);
        }
}

static void put_required(struct cay_json *j, const struct cay_result_table *shape)
{
        for (const struct cay_result_field *f = shape->fields; f->name; f++) {
                if (f->kind == CAY_RESULT_ALSO && !(f->flags & CAY_RESULT_OPTIONAL))
                        put_required(j, f->table);
                else if (!(f->flags & CAY_RESULT_OPTIONAL))
                        cay_json_text(j, f->name);
        }
}

/* A shape of one row "*" is a map as a whole. */
void cay_openapi_put_shape(struct cay_json *j, const struct cay_result_table *shape)
{
        cay_op_key_text(j, "type", "object");
        if (shape->fields[0].name && strcmp(shape->fields[0].name, "*") == 0) {
                cay_openapi_put_ref_at(j, "additionalProperties", shape->fields[0].table);
                return;
        }
        cay_openapi_begin(j, "properties");
        put_members(j, shape);
        cay_json_end_object(j);
        cay_json_key(j, "required");
        cay_json_begin_array(j);
        put_required(j, shape);
        cay_json_end_array(j);
        cay_op_key_bool(j, "additionalProperties", false);
}
