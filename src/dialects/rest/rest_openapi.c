/* SPDX-License-Identifier: Apache-2.0 */
/* The op table as an OpenAPI document. */
#include "dialects/rest/rest_openapi.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "dialects/rest/rest_call.h"
#include "dialects/rest/rest_error.h"
#include "dialects/rest/rest_fill.h"
#include "dialects/rest/rest_openapi_priv.h"

#define SHAPES_MAX 256u

/* What is asked */

static void put_fields(struct cay_json *j, const struct cay_field *fields, const struct cay_op *op,
                       bool is_nullable);

static void put_text_schema(struct cay_json *j, const struct cay_field *f, bool is_nullable)
{
        cay_openapi_put_type(j, "string", is_nullable);
        if (f->min)
                cay_op_key_u64(j, "minLength", f->min);
        cay_op_key_u64(j, "maxLength", f->max ? f->max : CAY_FIELD_TEXT_MAX);
}

static void put_number_schema(struct cay_json *j, const struct cay_field *f, bool is_nullable)
{
        cay_openapi_put_type(j, "integer", is_nullable);
        cay_op_key_u64(j, "minimum", f->min);
        if (f->max)
                cay_op_key_u64(j, "maximum", f->max);
}

/* The members of a field's schema. In a body a null stands for a field that is not given. */
static void put_field_schema(struct cay_json *j, const struct cay_field *f, bool is_nullable)
{
        switch (f->kind) {
        case CAY_FIELD_TEXT:
                put_text_schema(j, f, is_nullable);
                break;
        case CAY_FIELD_U64:
                put_number_schema(j, f, is_nullable);
                break;
        case CAY_FIELD_BOOL:
                cay_openapi_put_type(j, "boolean", is_nullable);
                break;
        case CAY_FIELD_TEXTS:
                cay_openapi_put_type(j, "array", is_nullable);
                cay_openapi_begin(j, "items");
                if (f->flags & CAY_FIELD_NUMBERS)
                        cay_openapi_put_types(j, "string", "integer", false);
                else
                        cay_openapi_put_type(j, "string", false);
                cay_json_end_object(j);
                break;
        case CAY_FIELD_WORDS:
                cay_openapi_put_types(j, "string", "array", is_nullable);
                cay_openapi_put_items(j, "items", "string");
                break;
        case CAY_FIELD_MAP:
                cay_openapi_put_type(j, "object", is_nullable);
                cay_openapi_put_items(j, "additionalProperties", "string");
                break;
        case CAY_FIELD_OBJECT:
                put_fields(j, f->fields, NULL, is_nullable);
                break;
        case CAY_FIELD_ANY:
                break;
        default: /* a size, a time, a limit: as a number or as a text with a unit */
                cay_openapi_put_types(j, "number", "string", is_nullable);
                break;
        }
}

static void put_field(struct cay_json *j, const struct cay_field *f)
{
        cay_openapi_begin(j, f->name);
        put_field_schema(j, f, !(f->flags & CAY_FIELD_REQUIRED));
        if (f->doc)
                cay_op_key_text(j, "description", f->doc);
        cay_json_end_object(j);
}

static bool is_body_field(const struct cay_op *op, const struct cay_field *f)
{
        return !op || !cay_rest_is_in_path(op, f->name);
}

static bool has_required(const struct cay_op *op, const struct cay_field *fields)
{
        for (const struct cay_field *f = fields; f && f->name; f++)
                if (f->flags & CAY_FIELD_REQUIRED && is_body_field(op, f))
                        return true;
        return false;
}

/* op NULL: a table inside of another. */
static void put_fields(struct cay_json *j, const struct cay_field *fields, const struct cay_op *op,
                       bool is_nullable)
{
        cay_openapi_put_type(j, "object", is_nullable);
        cay_openapi_begin(j, "properties");
        for (const struct cay_field *f = fields; f && f->name; f++)
                if (is_body_field(op, f))
                        put_field(j, f);
        cay_json_end_object(j);
        if (has_required(op, fields)) {
                cay_json_key(j, "required");
                cay_json_begin_array(j);
                for (const struct cay_field *f = fields; f && f->name; f++)
                        if (f->flags & CAY_FIELD_REQUIRED && is_body_field(op, f))
                                cay_json_text(j, f->name);
                cay_json_end_array(j);
        }
        cay_op_key_bool(j, "additionalProperties", false);
}

static void put_parameter(struct cay_json *j, const struct cay_field *f, bool in_path)
{
        cay_json_begin_object(j);
        cay_op_key_text(j, "name", f->name);
        cay_op_key_text(j, "in", in_path ? "path" : "query");
        cay_op_key_bool(j, "required", in_path || f->flags & CAY_FIELD_REQUIRED);
        if (f->doc)
                cay_op_key_text(j, "description", f->doc);
        cay_openapi_begin(j, "schema");
        put_field_schema(j, f, false);
        cay_json_end_object(j);
        cay_json_end_object(j);
}

static void put_parameters(struct cay_json *j, const struct cay_op *op)
{
        cay_json_key(j, "parameters");
        cay_json_begin_array(j);
        for (const struct cay_field *f = op->fields; f && f->name; f++) {
                bool in_path = cay_rest_is_in_path(op, f->name);

                if (in_path || !cay_rest_takes_body(op))
                        put_parameter(j, f, in_path);
        }
        cay_json_end_array(j);
}

static bool has_body_fields(const struct cay_op *op)
{
        for (const struct cay_field *f = op->fields; f && f->name; f++)
                if (!cay_rest_is_in_path(op, f->name))
                        return true;
        return false;
}

static void put_body(struct cay_json *j, const struct cay_op *op)
{
        bool raw = op->flags & CAY_OP_RAW_IN;

        if (!raw && (!cay_rest_takes_body(op) || !has_body_fields(op)))
                return;
        cay_openapi_begin(j, "requestBody");
        cay_op_key_bool(j, "required", has_required(op, op->fields));
        cay_openapi_begin(j, "content");
        cay_openapi_begin(j, raw ? "application/octet-stream" : "application/json");
        cay_openapi_begin(j, "schema");
        if (!raw)
                put_fields(j, op->fields, op, false);
        cay_json_end_object(j);
        cay_json_end_object(j);
        cay_json_end_object(j);
        cay_json_end_object(j);
}

/* What is answered */

static void put_event_content(struct cay_json *j, const char *type)
{
        cay_openapi_begin(j, type);
        cay_openapi_begin(j, "schema");
        cay_op_key_text(j, "type", "string");
        cay_op_key_text(
                j, "description",
                "a stream of events, each one JSON object with the member event (see docs/streams.md)");
        cay_json_end_object(j);
        cay_json_end_object(j);
}

static void put_bytes_content(struct cay_json *j, const char *types)
{
        char type[64];

        while (*types) {
                size_t len = strcspn(types, " ");

                snprintf(type, sizeof(type), "%.*s", (int)len, types);
                cay_openapi_begin(j, type);
                cay_json_end_object(j);
                types += len;
                types += strspn(types, " ");
        }
}

static void put_success(struct cay_json *j, const struct cay_op *op, enum cay_op_status status)
{
        bool is_other = status != op->status && op->other_result;
        char code[8];

        snprintf(code, sizeof(code), "%u", cay_rest_success(status));
        cay_openapi_begin(j, code);
        cay_op_key_text(j, "description", op->doc);
        cay_openapi_begin(j, "content");
        if (op->result) {
                cay_openapi_begin(j, "application/json");
                cay_openapi_put_ref_at(j, "schema", is_other ? op->other_result : op->result);
                cay_json_end_object(j);
        }
        put_bytes_content(j, op->bytes ? op->bytes : "");
        if (op->flags & CAY_OP_STREAM && !(op->flags & CAY_OP_BYTES) && status == CAY_OP_OK) {
                put_event_content(j, "application/x-ndjson");
                put_event_content(j, "text/event-stream");
        }
        cay_json_end_object(j);
        cay_json_end_object(j);
}

static void put_responses(struct cay_json *j, const struct cay_op *op)
{
        cay_openapi_begin(j, "responses");
        put_success(j, op, op->status);
        if (op->other_status != CAY_OP_OK)
                put_success(j, op, op->other_status);
        cay_openapi_begin(j, "default");
        cay_op_key_text(j, "$ref", "#/components/responses/Error");
        cay_json_end_object(j);
        cay_json_end_object(j);
}

/* Operations and paths */

static void put_security(struct cay_json *j, const struct cay_op *op)
{
        cay_json_key(j, "security");
        cay_json_begin_array(j);
        if (op->flags & CAY_OP_OPEN) {
                cay_json_begin_object(j);
                cay_json_end_object(j);
        }
        cay_json_begin_object(j);
        cay_json_key(j, "bearer");
        cay_json_begin_array(j);
        cay_json_end_array(j);
        cay_json_end_object(j);
        cay_json_end_array(j);
}

static const char *path_of(const struct cay_op *op)
{
        return strchr(op->route, ' ') + 1;
}

static void put_op(struct cay_json *j, const struct cay_op *op)
{
        char method[16] = "";

        for (size_t i = 0; op->route[i] != ' ' && i < sizeof(method) - 1; i++)
                method[i] = (char)tolower((unsigned char)op->route[i]);
        cay_openapi_begin(j, method);
        cay_op_key_text(j, "operationId", op->name);
        cay_op_key_text(j, "summary", op->doc);
        cay_op_key_text(j, "x-scope", op->flags & CAY_OP_OPEN ? "anybody" : cay_scope_text(op->scope));
        put_security(j, op);
        put_parameters(j, op);
        put_body(j, op);
        put_responses(j, op);
        cay_json_end_object(j);
}

static bool is_first_of_path(const struct cay_rest_listing *l, unsigned n)
{
        for (unsigned i = 0; i < n; i++)
                if (strcmp(path_of(l->ops[i]), path_of(l->ops[n])) == 0)
                        return false;
        return true;
}

static void put_paths(struct cay_json *j, const struct cay_rest_listing *l)
{
        cay_openapi_begin(j, "paths");
        for (unsigned n = 0; n < l->count; n++) {
                if (!is_first_of_path(l, n))
                        continue;
                cay_openapi_begin(j, path_of(l->ops[n]));
                for (unsigned i = n; i < l->count; i++)
                        if (strcmp(path_of(l->ops[i]), path_of(l->ops[n])) == 0)
                                put_op(j, l->ops[i]);
                cay_json_end_object(j);
        }
        cay_json_end_object(j);
}

/* Where this document came from, however that is called by whoever reads it. */
static void put_servers(struct cay_json *j)
{
        cay_json_key(j, "servers");
        cay_json_begin_array(j);
        cay_json_begin_object(j);
        cay_op_key_text(j, "url", "/");
        cay_op_key_text(j, "description", "the daemon that this document was read from");
        cay_json_end_object(j);
        cay_json_end_array(j);
}

/* Components */

struct shapes {
        const struct cay_result_table *seen[SHAPES_MAX];
        unsigned count;
};

static void put_named(struct cay_json *j, struct shapes *s, const struct cay_result_table *shape)
{
        for (unsigned i = 0; i < s->count; i++)
                if (s->seen[i] == shape)
                        return;
        if (s->count < SHAPES_MAX)
                s->seen[s->count++] = shape;
        if (shape->name) {
                cay_openapi_begin(j, shape->name);
                cay_openapi_put_shape(j, shape);
                cay_json_end_object(j);
        }
        for (const struct cay_result_field *f = shape->fields; f->name; f++)
                if (f->table && f->kind != CAY_RESULT_ALSO)
                        put_named(j, s, f->table);
        for (const struct cay_result_field *f = shape->fields; f->name; f++)
                if (f->kind == CAY_RESULT_ALSO)
                        put_named(j, s, f->table);
}

static void put_error_code(struct cay_json *j)
{
        const char *words[CAY_REST_WORDS_MAX];
        unsigned count = cay_rest_error_words(words);

        cay_openapi_begin(j, "code");
        cay_op_key_text(j, "type", "string");
        cay_json_key(j, "enum");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < count; i++)
                cay_json_text(j, words[i]);
        cay_json_end_array(j);
        cay_json_end_object(j);
}

static void put_error_member(struct cay_json *j, const char *name, bool is_nullable, const char *doc)
{
        cay_openapi_begin(j, name);
        cay_openapi_put_type(j, "string", is_nullable);
        cay_op_key_text(j, "description", doc);
        cay_json_end_object(j);
}

static void put_required(struct cay_json *j, const char *const *names, unsigned count)
{
        cay_json_key(j, "required");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < count; i++)
                cay_json_text(j, names[i]);
        cay_json_end_array(j);
        cay_op_key_bool(j, "additionalProperties", false);
}

/* The form of rest_error.c, by hand: no op answers with it. */
static void put_error_schema(struct cay_json *j)
{
        static const char *const outer[] = { "error" };
        static const char *const inner[] = { "code", "message", "field", "request_id" };

        cay_openapi_begin(j, "Error");
        cay_op_key_text(j, "type", "object");
        cay_openapi_begin(j, "properties");
        cay_openapi_begin(j, "error");
        cay_op_key_text(j, "type", "object");
        cay_openapi_begin(j, "properties");
        put_error_code(j);
        put_error_member(j, "message", false, "what was wrong, and what to do");
        put_error_member(j, "field", true, "the field of the request that was wrong");
        put_error_member(j, "request_id", false, "id of the request, for the daemon's log");
        put_error_member(j, "reason", false,
                         "why exactly, where the code leaves it open: paused, too_many_commands");
        put_error_member(j, "first", false, "id of what the first request with this single-use id made");
        put_error_member(j, "confirm", false, "token to repeat the same request with, if a person agrees");
        put_error_member(j, "confirm_why", false, "what a person is asked to agree to");
        cay_json_end_object(j);
        put_required(j, inner, CAY_COUNT(inner));
        cay_json_end_object(j);
        cay_json_end_object(j);
        put_required(j, outer, CAY_COUNT(outer));
        cay_json_end_object(j);
}

static void put_error_response(struct cay_json *j)
{
        cay_openapi_begin(j, "responses");
        cay_openapi_begin(j, "Error");
        cay_op_key_text(j, "description", "what was wrong, about which field, and what to do");
        cay_openapi_begin(j, "content");
        cay_openapi_begin(j, "application/json");
        cay_openapi_begin(j, "schema");
        cay_op_key_text(j, "$ref", "#/components/schemas/Error");
        cay_json_end_object(j);
        cay_json_end_object(j);
        cay_json_end_object(j);
        cay_json_end_object(j);
        cay_json_end_object(j);
}

static void put_components(struct cay_json *j, const struct cay_rest_listing *l)
{
        struct shapes shapes = { 0 };

        cay_openapi_begin(j, "components");
        cay_openapi_begin(j, "securitySchemes");
        cay_openapi_begin(j, "bearer");
        cay_op_key_text(j, "type", "http");
        cay_op_key_text(j, "scheme", "bearer");
        cay_op_key_text(j, "description", "a token (`cay token` prints one) or an API key");
        cay_json_end_object(j);
        cay_json_end_object(j);
        put_error_response(j);
        cay_openapi_begin(j, "schemas");
        put_error_schema(j);
        for (unsigned i = 0; i < l->count; i++) {
                if (l->ops[i]->result)
                        put_named(j, &shapes, l->ops[i]->result);
                if (l->ops[i]->other_result)
                        put_named(j, &shapes, l->ops[i]->other_result);
        }
        cay_json_end_object(j);
        cay_json_end_object(j);
}

int cay_openapi_put(const struct cay_rest_listing *l, struct cay_buf *out)
{
        struct cay_json j;

        cay_json_init(&j, out);
        cay_json_begin_object(&j);
        cay_op_key_text(&j, "openapi", "3.1.0");
        cay_openapi_begin(&j, "info");
        cay_op_key_text(&j, "title", "Cay");
        cay_op_key_text(&j, "summary", "Isolated sandboxes for agents");
        cay_op_key_text(&j, "version", CAY_VERSION);
        cay_json_end_object(&j);
        put_servers(&j);
        put_paths(&j, l);
        put_components(&j, l);
        cay_json_end_object(&j);
        return cay_json_end(&j);
}
