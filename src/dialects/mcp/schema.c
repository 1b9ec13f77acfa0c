/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Schema out of field tables. Only what every client understands: objects, one type each, no references.
 */
#include <stdio.h>
#include <string.h>

#include "dialects/mcp/tools.h"

#define MAX_SHOWN 100000u

static const struct cay_field none[] = { { .name = NULL } };

static const char *type_of(enum cay_field_kind kind)
{
        switch (kind) {
        case CAY_FIELD_U64:
                return "integer";
        case CAY_FIELD_BOOL:
                return "boolean";
        case CAY_FIELD_DURATION:
        case CAY_FIELD_MILLI:
                return "number";
        case CAY_FIELD_TEXTS:
                return "array";
        case CAY_FIELD_MAP:
        case CAY_FIELD_OBJECT:
                return "object";
        default:
                return "string"; /* sizes and parsed values are taken as texts too */
        }
}

static void key_text(struct cay_json *j, const char *key, const char *value)
{
        cay_json_key(j, key);
        cay_json_text(j, value);
}

static void key_u64(struct cay_json *j, const char *key, uint64_t value)
{
        cay_json_key(j, key);
        cay_json_u64(j, value);
}

/* What no model would break is checked, but not told: the list of tools has to stay short. */
static void put_range(struct cay_json *j, const struct cay_field *f)
{
        if (f->kind == CAY_FIELD_U64) {
                if (f->min > 0)
                        key_u64(j, "minimum", f->min);
                if (f->max > 0 && f->max <= MAX_SHOWN)
                        key_u64(j, "maximum", f->max);
        } else if (f->kind == CAY_FIELD_TEXT && f->min > 1) {
                key_u64(j, "minLength", f->min);
        } else if (f->kind == CAY_FIELD_TEXTS || f->kind == CAY_FIELD_MAP) {
                cay_json_key(j, f->kind == CAY_FIELD_MAP ? "additionalProperties" : "items");
                cay_json_begin_object(j);
                key_text(j, "type", "string");
                cay_json_end_object(j);
        }
}

/* A line, or a list: what the op takes as either is shown as a text, which is what models write. */
static void put_param(struct cay_json *j, const struct cay_tool_param *p, const struct cay_field *f)
{
        cay_json_key(j, p->name);
        cay_json_begin_object(j);
        key_text(j, "type", type_of(f->kind));
        if (!p->doc || p->doc[0])
                key_text(j, "description", p->doc ? p->doc : f->doc);
        put_range(j, f);
        cay_json_end_object(j);
}

const char *cay_mcp_sandbox_param(const struct cay_mcp_tool *t)
{
        return strncmp(t->name, "container_", strlen("container_")) == 0 ? "container_id" : "sandbox_id";
}

static void put_sandbox(struct cay_json *j, const struct cay_mcp_tool *t)
{
        cay_json_key(j, cay_mcp_sandbox_param(t));
        cay_json_begin_object(j);
        key_text(j, "type", "string");
        key_text(j, "description",
                 t->flags & CAY_TOOL_MAY_MAKE ? "Left out: a fresh one, destroyed afterwards."
                                              : "Id or name.");
        cay_json_end_object(j);
}

static void put_required(struct cay_json *j, const struct cay_mcp_tool *t, bool needs_sandbox)
{
        bool is_open = false;

        for (const struct cay_tool_param *p = t->params; p->name; p++)
                is_open = is_open || p->is_required;
        if (!is_open && !needs_sandbox)
                return;
        cay_json_key(j, "required");
        cay_json_begin_array(j);
        if (needs_sandbox)
                cay_json_text(j, cay_mcp_sandbox_param(t));
        for (const struct cay_tool_param *p = t->params; p->name; p++)
                if (p->is_required)
                        cay_json_text(j, p->name);
        cay_json_end_array(j);
}

void cay_mcp_put_schema(struct cay_json *j, const struct cay_mcp_tool *t, bool has_sandbox)
{
        const struct cay_op *op = cay_op_find(t->op);
        const struct cay_field *fields = op && op->fields ? op->fields : none;
        bool needs_sandbox = has_sandbox && !(t->flags & CAY_TOOL_MAY_MAKE);

        cay_json_begin_object(j);
        key_text(j, "type", "object");
        cay_json_key(j, "properties");
        cay_json_begin_object(j);
        if (has_sandbox)
                put_sandbox(j, t);
        for (const struct cay_tool_param *p = t->params; p->name; p++) {
                const struct cay_field *f =
                        p->own ? p->own : cay_field_find(fields, p->field, strlen(p->field));

                if (f)
                        put_param(j, p, f);
        }
        cay_json_end_object(j);
        put_required(j, t, needs_sandbox);
        cay_json_end_object(j);
}

const char *cay_mcp_image_type(const void *bytes, size_t len)
{
        static const struct {
                const char *start, *type;
                size_t len, at;
        } kinds[] = {
                { "\x89PNG\r\n\x1a\n", "image/png", 8, 0 },
                { "\xff\xd8\xff", "image/jpeg", 3, 0 },
                { "GIF8", "image/gif", 4, 0 },
                { "WEBP", "image/webp", 4, 8 },
        };

        for (unsigned i = 0; i < CAY_COUNT(kinds); i++)
                if (len >= kinds[i].at + kinds[i].len &&
                    memcmp((const char *)bytes + kinds[i].at, kinds[i].start, kinds[i].len) == 0)
                        return kinds[i].type;
        return NULL;
}
