/* SPDX-License-Identifier: Apache-2.0 */
/* An entry of a recording: whatever is decoded lies within it, and its texts end. */
#include "domain/recordings/item.h"
#include "domain/recordings/cast.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_cast cast = { 0 };
        struct cay_item item;
        struct cay_view text;
        unsigned count = 0;

        if (cay_item_decode(data, size, &item) < 0)
                return 0;
        cay_buf_init(&out, 8 * size + 256);
        while (cay_item_next(&item, &text)) {
                must((const uint8_t *)text.ptr >= data && (const uint8_t *)text.ptr + text.len < data + size);
                must(text.ptr[text.len] == '\0');
                count++;
                (void)cay_cast_output(&cast, item.at_ms, text.ptr, text.len, &out);
        }
        must(count <= CAY_ITEM_TEXTS_MAX);
        return 0;
}
