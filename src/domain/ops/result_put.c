/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a result that are members of a struct: written from the table alone. */
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

static const char *text_at(const struct cay_result_field *f, const void *at)
{
        const char *text = NULL;

        if (f->flags & CAY_RESULT_CHARS)
                text = at;
        else
                memcpy(&text, at, sizeof(text));
        return text && !text[0] && f->flags & CAY_RESULT_NULLABLE ? NULL : text;
}

static void put_member(struct cay_json *j, const struct cay_result_field *f, const void *at)
{
        switch (f->kind) {
        case CAY_RESULT_TEXT:
                cay_op_key_text(j, f->name, text_at(f, at));
                break;
        case CAY_RESULT_BOOL:
                cay_op_key_bool(j, f->name, *(const bool *)at);
                break;
        case CAY_RESULT_TIME:
                cay_op_key_time(j, f->name, number_at(at, f->size));
                break;
        default:
                cay_op_key_u64(j, f->name, number_at(at, f->size));
        }
}

void cay_op_put_members(struct cay_json *j, const struct cay_result_table *table, const void *object)
{
        for (const struct cay_result_field *f = table->fields; f->name; f++)
                if (f->flags & CAY_RESULT_MEMBER)
                        put_member(j, f, (const char *)object + f->offset);
}
