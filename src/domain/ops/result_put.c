/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that are written from their tables: values of a struct, each by the kind of its row. */
#include <assert.h>
#include <string.h>

#include "domain/ops/op.h"
#include "domain/ops/view.h"

static uint64_t number_at(const void *at, size_t size)
{
        uint64_t v8 = 0;
        uint32_t v4 = 0;
        uint16_t v2 = 0;

        switch (size) {
        case sizeof(v8):
                memcpy(&v8, at, size);
                return v8;
        case sizeof(v4):
                memcpy(&v4, at, size);
                return v4;
        case sizeof(v2):
                memcpy(&v2, at, size);
                return v2;
        default:
                return *(const uint8_t *)at;
        }
}

static const void *pointer_at(const void *at)
{
        const void *p;

        memcpy(&p, at, sizeof(p));
        return p;
}

static const char *text_at(const struct cay_result_field *f, const void *at)
{
        return f->flags & CAY_RESULT_CHARS ? at : pointer_at(at);
}

/* False: null, or left out. */
static bool is_there(const struct cay_result_field *f, const void *object, const void *at)
{
        const char *text;

        if (f->given)
                return *((const bool *)object + f->given - 1);
        if (f->put || !(f->flags & (CAY_RESULT_NULLABLE | CAY_RESULT_OPTIONAL)))
                return true;
        switch (f->kind) {
        case CAY_RESULT_TEXT:
                if (f->word)
                        return number_at(at, f->size) != 0;
                text = text_at(f, at);
                return text && text[0];
        case CAY_RESULT_ANY:
                text = text_at(f, at);
                return text && text[0] == '{';
        case CAY_RESULT_NUMBER:
                return number_at(at, f->size) != 0;
        default:
                return true;
        }
}

static uint64_t time_at(const struct cay_result_field *f, const void *at)
{
        uint64_t value = number_at(at, f->size);

        if (!(f->flags & CAY_RESULT_SECONDS))
                return value;
        return (int64_t)value > 0 ? value * 1000 : 0;
}

static void put_mask(struct cay_json *j, const struct cay_result_field *f, uint64_t mask)
{
        cay_json_begin_array(j);
        for (unsigned i = 0; mask; i++, mask >>= 1)
                if (mask & 1)
                        cay_json_text(j, f->word(i));
        cay_json_end_array(j);
}

static void put_pairs(struct cay_json *j, const struct cay_field_map *map)
{
        cay_json_begin_object(j);
        for (unsigned i = 0; i < map->count; i++)
                cay_op_key_text(j, map->pairs[i].name, map->pairs[i].value);
        cay_json_end_object(j);
}

static void put_object(struct cay_json *j, const struct cay_result_table *table, const void *object,
                       enum cay_op_dialect dialect)
{
        cay_json_begin_object(j);
        cay_op_put_members_for(j, table, object, dialect);
        cay_json_end_object(j);
}

static void put_list(struct cay_json *j, const struct cay_result_field *f, const void *object, const char *at,
                     enum cay_op_dialect dialect)
{
        unsigned count;

        memcpy(&count, (const char *)object + f->count, sizeof(count));
        if (f->flags & CAY_RESULT_POINTER)
                at = pointer_at(at);
        cay_json_begin_array(j);
        for (unsigned i = 0; i < count; i++)
                put_object(j, f->table, at + (size_t)i * f->size, dialect);
        cay_json_end_array(j);
}

static void put_value(struct cay_json *j, const struct cay_result_field *f, const void *object,
                      const void *at, enum cay_op_dialect dialect)
{
        const char *text;

        switch (f->kind) {
        case CAY_RESULT_TEXT:
                cay_json_text(j, f->word ? f->word((unsigned)number_at(at, f->size)) : text_at(f, at));
                break;
        case CAY_RESULT_BOOL:
                cay_json_bool(j, *(const bool *)at);
                break;
        case CAY_RESULT_TIME:
                cay_json_time(j, time_at(f, at));
                break;
        case CAY_RESULT_NUMBER:
                cay_json_u64(j, number_at(at, f->size));
                break;
        case CAY_RESULT_ANY:
                text = text_at(f, at);
                cay_json_raw(j, text, strlen(text));
                break;
        case CAY_RESULT_TEXTS:
                put_mask(j, f, number_at(at, f->size));
                break;
        case CAY_RESULT_PAIRS:
                put_pairs(j, at);
                break;
        case CAY_RESULT_OBJECT:
                put_object(j, f->table, f->flags & CAY_RESULT_POINTER ? pointer_at(at) : at, dialect);
                break;
        case CAY_RESULT_LIST:
                put_list(j, f, object, at, dialect);
                break;
        default:
                assert(!"a kind that is no member of a struct");
        }
}

void cay_op_put_members_for(struct cay_json *j, const struct cay_result_table *table, const void *object,
                            enum cay_op_dialect dialect)
{
        for (const struct cay_result_field *f = table->fields; f->name; f++) {
                const char *at = (const char *)object + f->offset;
                bool there;

                if (!(f->flags & CAY_RESULT_MEMBER))
                        continue;
                if (f->kind == CAY_RESULT_ALSO) {
                        cay_op_put_members_for(j, f->table, at, dialect);
                        continue;
                }
                there = is_there(f, object, at);
                if (!there && f->flags & CAY_RESULT_OPTIONAL)
                        continue;
                cay_json_key(j, f->name);
                if (!there)
                        cay_json_null(j);
                else if (f->put)
                        f->put(j, object, dialect);
                else
                        put_value(j, f, object, at, dialect);
        }
}

void cay_op_put_members(struct cay_json *j, const struct cay_result_table *table, const void *object)
{
        cay_op_put_members_for(j, table, object, CAY_OP_REST);
}

void cay_op_put_object(struct cay_json *j, const struct cay_result_table *table, const void *object)
{
        put_object(j, table, object, CAY_OP_REST);
}
