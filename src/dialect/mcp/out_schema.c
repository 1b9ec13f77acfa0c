/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Schema of what tools answer, out of the ops' answer tables: of an answer that is told in part, that part. Clients hold results
 * against it, and the stock one does so with failures too (tool_result.c), although the protocol exempts them: so it has their members as
 * well, and nothing at its top is required. Either of two types is written with anyOf, which all clients understand.
 */
#include <string.h>

#include "dialect/mcp/tools.h"
#include "op/answers.h"

#define OPTIONAL CAY_ANSWER_OPTIONAL
#define NULLABLE CAY_ANSWER_NULLABLE
#define SHAPE(var, ...)                                                                                      \
        const struct cay_answer_shape var = { NULL,                                                          \
                                              (const struct cay_answer_field[]){ __VA_ARGS__, { NULL } } }

/* What exec_result.c puts. */
#define EXEC_FIELDS(more)                                                                                    \
        { "status", CAY_ANSWER_TEXT }, { "exec_id", CAY_ANSWER_TEXT, more },                                 \
                { "exit_code", CAY_ANSWER_NUMBER, NULLABLE | (more) },                                       \
                { "signal", CAY_ANSWER_TEXT, NULLABLE | (more) },                                            \
                { "cause", CAY_ANSWER_TEXT, NULLABLE | (more) },                                             \
                { "cause_text", CAY_ANSWER_TEXT, NULLABLE | (more) },                                        \
                { "duration_ms", CAY_ANSWER_NUMBER, NULLABLE | (more) },                                     \
                { "stdout_bytes", CAY_ANSWER_NUMBER, NULLABLE | (more) },                                    \
                { "stderr_bytes", CAY_ANSWER_NUMBER, NULLABLE | (more) },                                    \
                { "advice", CAY_ANSWER_TEXT, more }, { "running", CAY_ANSWER_BOOL, more },                   \
                { "stdout", CAY_ANSWER_TEXT, more }, { "stderr", CAY_ANSWER_TEXT, more },                    \
                { "truncated", CAY_ANSWER_BOOL, more }, { "next_offset", CAY_ANSWER_NUMBER, more },          \
        {                                                                                                    \
                "sandbox_kept", CAY_ANSWER_BOOL, more                                                        \
        }

SHAPE(cay_mcp_exec_shape, { "sandbox_id", CAY_ANSWER_TEXT }, EXEC_FIELDS(0));
SHAPE(cay_mcp_container_exec_shape, { "container_id", CAY_ANSWER_TEXT }, EXEC_FIELDS(0));
/* With nothing to run there is only a container. */
SHAPE(cay_mcp_start_shape, { "container_id", CAY_ANSWER_TEXT }, EXEC_FIELDS(OPTIONAL),
      { "container", CAY_ANSWER_TEXT, OPTIONAL | NULLABLE });
/* An image is shown as one. */
SHAPE(cay_mcp_read_shape, { "path", CAY_ANSWER_TEXT }, { "size", CAY_ANSWER_NUMBER },
      { "encoding", CAY_ANSWER_TEXT, OPTIONAL }, { "content", CAY_ANSWER_TEXT, OPTIONAL },
      { "offset", CAY_ANSWER_NUMBER, OPTIONAL }, { "more", CAY_ANSWER_BOOL, OPTIONAL },
      { "next_offset", CAY_ANSWER_NUMBER, OPTIONAL }, { "mime_type", CAY_ANSWER_TEXT, OPTIONAL });

/* What a failure adds; its advice is a text wherever there is one. */
static SHAPE(failure, { "error", CAY_ANSWER_TEXT }, { "message", CAY_ANSWER_TEXT },
             { "needs_confirm", CAY_ANSWER_BOOL }, { "confirm_token", CAY_ANSWER_TEXT });

static void put_shape(struct cay_json *j, const struct cay_answer_shape *shape, const char *picks);

static void begin(struct cay_json *j, const char *key)
{
        cay_json_key(j, key);
        cay_json_begin_object(j);
}

static void put_type(struct cay_json *j, const char *type, const char *items)
{
        cay_op_key_text(j, "type", type);
        if (!items)
                return;
        begin(j, strcmp(type, "array") == 0 ? "items" : "additionalProperties");
        cay_op_key_text(j, "type", items);
        cay_json_end_object(j);
}

/* The first of two types, or the only one. */
static void put_kind(struct cay_json *j, const struct cay_answer_field *f, const char *picks)
{
        static const struct {
                const char *type, *items;
        } simple[CAY_ANSWER_KIND_COUNT] = {
                [CAY_ANSWER_TEXT] = { "string", NULL },        [CAY_ANSWER_TIME] = { "string", NULL },
                [CAY_ANSWER_NUMBER] = { "integer", NULL },     [CAY_ANSWER_BOOL] = { "boolean", NULL },
                [CAY_ANSWER_TEXTS] = { "array", "string" },    [CAY_ANSWER_NUMBERS] = { "array", "integer" },
                [CAY_ANSWER_WORDS] = { "array", "string" },    [CAY_ANSWER_EITHER] = { "integer", NULL },
                [CAY_ANSWER_MAP] = { "object", NULL },         [CAY_ANSWER_PAIRS] = { "object", "string" },
                [CAY_ANSWER_COUNTS] = { "object", "integer" }, [CAY_ANSWER_ANY] = { "object", NULL },
        };

        if (f->kind == CAY_ANSWER_OBJECT) {
                put_shape(j, f->shape, NULL);
        } else if (f->kind == CAY_ANSWER_LIST) {
                cay_op_key_text(j, "type", "array");
                begin(j, "items");
                put_shape(j, f->shape, picks);
                cay_json_end_object(j);
        } else {
                put_type(j, simple[f->kind].type, simple[f->kind].items);
        }
}

static void put_member(struct cay_json *j, const struct cay_answer_field *f, const char *picks)
{
        const char *other = f->kind == CAY_ANSWER_WORDS || f->kind == CAY_ANSWER_EITHER ? "string"
                            : f->flags & NULLABLE || f->kind == CAY_ANSWER_ANY          ? "null"
                                                                                        : NULL;

        begin(j, f->name);
        if (!other) {
                put_kind(j, f, picks);
        } else {
                cay_json_key(j, "anyOf");
                cay_json_begin_array(j);
                cay_json_begin_object(j);
                put_kind(j, f, picks);
                cay_json_end_object(j);
                cay_json_begin_object(j);
                cay_op_key_text(j, "type", other);
                cay_json_end_object(j);
                if (strcmp(other, "null") != 0 && f->flags & NULLABLE) {
                        cay_json_begin_object(j);
                        cay_op_key_text(j, "type", "null");
                        cay_json_end_object(j);
                }
                cay_json_end_array(j);
        }
        cay_json_end_object(j);
}

static void put_members(struct cay_json *j, const struct cay_answer_shape *shape, const char *picks)
{
        for (const struct cay_answer_field *f = shape->fields; f->name; f++) {
                if (f->kind == CAY_ANSWER_ALSO)
                        put_members(j, f->shape, picks);
                else if (!picks || cay_mcp_is_word_of(picks, f->name))
                        put_member(j, f, picks);
        }
}

static void put_required(struct cay_json *j, const struct cay_answer_shape *shape, const char *picks)
{
        for (const struct cay_answer_field *f = shape->fields; f->name; f++) {
                if (f->kind == CAY_ANSWER_ALSO)
                        put_required(j, f->shape, picks);
                else if (!(f->flags & OPTIONAL) && (!picks || cay_mcp_is_word_of(picks, f->name)))
                        cay_json_text(j, f->name);
        }
}

static void put_shape(struct cay_json *j, const struct cay_answer_shape *shape, const char *picks)
{
        cay_op_key_text(j, "type", "object");
        begin(j, "properties");
        put_members(j, shape, picks);
        cay_json_end_object(j);
        cay_json_key(j, "required");
        cay_json_begin_array(j);
        put_required(j, shape, picks);
        cay_json_end_array(j);
}

void cay_mcp_put_out_schema(struct cay_json *j, const struct cay_mcp_tool *t)
{
        const struct cay_answer *answer = cay_answer_find(t->op);
        const struct cay_answer_shape *shape = t->shape ? t->shape : answer ? answer->shape : NULL;

        if (!shape)
                return;
        begin(j, "outputSchema");
        cay_op_key_text(j, "type", "object");
        begin(j, "properties");
        put_members(j, shape, t->picks);
        put_members(j, &failure, NULL);
        cay_json_end_object(j);
        cay_json_end_object(j);
}
