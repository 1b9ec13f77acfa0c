/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/recordings/item.h"

#include <errno.h>
#include <string.h>

static const struct {
        uint8_t numbers, texts;
} kinds[] = {
        [CAY_ITEM_NONE] = { 0 },
#define CAY_ITEM_KIND(name, numbers_, texts_, doc)                                                           \
        [CAY_ITEM_##name] = { .numbers = (numbers_), .texts = (texts_) },
#include "domain/recordings/item_kinds.def"
#undef CAY_ITEM_KIND
};

/* A failed append leaves a short item, which the decoder refuses; callers look at the buffer's room first. */
static void put(struct cay_buf *out, uint64_t value, unsigned bytes)
{
        uint8_t room[8];

        for (unsigned i = 0; i < bytes; i++)
                room[i] = (uint8_t)(value >> (8 * i));
        (void)cay_buf_put(out, room, bytes);
}

void cay_item_begin(struct cay_buf *out, enum cay_item_kind kind, uint64_t at_ms, const uint64_t *numbers,
                    unsigned count)
{
        put(out, kind, 1);
        put(out, at_ms, 8);
        put(out, count, 1);
        for (unsigned i = 0; i < count; i++)
                put(out, numbers[i], 8);
}

void cay_item_put_count(struct cay_buf *out, uint32_t count)
{
        put(out, count, 4);
}

void cay_item_put_text(struct cay_buf *out, const void *text, size_t len)
{
        put(out, len, 4);
        (void)cay_buf_put(out, text, len);
        (void)cay_buf_putc(out, '\0');
}

void cay_item_put_word(struct cay_buf *out, const char *word)
{
        cay_item_put_text(out, word ? word : "", word ? strlen(word) : 0);
}

static int check_texts(const struct cay_item *item)
{
        struct cay_bytes_reader r;

        cay_reader_init(&r, item->texts, (size_t)(item->end - item->texts));
        for (uint32_t i = 0; r.ok && i < item->text_count; i++) {
                cay_get_raw(&r, cay_get_u32(&r));
                if (r.ok && cay_get_u8(&r) != 0)
                        return -EBADMSG;
        }
        return cay_reader_is_done(&r) ? 0 : -EBADMSG;
}

int cay_item_decode(const void *bytes, size_t len, struct cay_item *ret)
{
        struct cay_bytes_reader r;
        unsigned kind, count;

        *ret = (struct cay_item){ 0 };
        cay_reader_init(&r, bytes, len);
        kind = cay_get_u8(&r);
        ret->at_ms = cay_get_u64(&r);
        count = cay_get_u8(&r);
        if (!r.ok || kind == CAY_ITEM_NONE || kind >= CAY_ITEM_KIND_COUNT || count > CAY_ITEM_NUMBERS_MAX ||
            count < kinds[kind].numbers)
                return -EBADMSG;
        ret->kind = (enum cay_item_kind)kind;
        for (unsigned i = 0; i < count; i++)
                ret->numbers[i] = cay_get_u64(&r);
        ret->text_count = cay_get_u32(&r);
        if (!r.ok || ret->text_count > CAY_ITEM_TEXTS_MAX || ret->text_count < kinds[kind].texts)
                return -EBADMSG;
        ret->texts = r.at;
        ret->end = r.end;
        return check_texts(ret);
}

bool cay_item_next(struct cay_item *item, struct cay_view *ret)
{
        struct cay_bytes_reader r;

        *ret = (struct cay_view){ "", 0 };
        if (item->text_count == 0)
                return false;
        cay_reader_init(&r, item->texts, (size_t)(item->end - item->texts));
        ret->len = cay_get_u32(&r);
        ret->ptr = cay_get_raw(&r, ret->len);
        cay_get_u8(&r);
        item->texts = r.at;
        item->text_count--;
        return true;
}

const char *cay_item_word(struct cay_item *item)
{
        struct cay_view text;

        cay_item_next(item, &text);
        return text.ptr;
}
