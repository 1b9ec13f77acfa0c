/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of a terminal, whatever is in it: what is said about it does not depend on how it was cut, and leads
 * to the same modes again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "domain/model/screen.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t put(const struct cay_screen *s, char *text)
{
        struct cay_buf out;
        size_t len;

        cay_buf_init(&out, CAY_SCREEN_TEXT_MAX);
        must(cay_screen_put(s, &out) == 0);
        len = out.len;
        memcpy(text, cay_buf_data(&out), len);
        cay_buf_done(&out);
        return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct cay_screen whole, parts, again;
        char first[CAY_SCREEN_TEXT_MAX], second[CAY_SCREEN_TEXT_MAX];
        size_t want = size > 0 ? data[0] : 0, len, passed;

        cay_screen_init(&whole, 1, 1 + want);
        passed = cay_screen_feed(&whole, data, size);
        must(whole.at == 1 + passed && passed <= size && (whole.found || passed == size));
        cay_screen_init(&parts, 1, 1 + want);
        for (size_t i = 0; i < size; i++)
                cay_screen_feed(&parts, data + i, 1);
        must(parts.at == whole.at && parts.found == whole.found);
        len = put(&whole, first);
        must(put(&parts, second) == len && memcmp(first, second, len) == 0);
        cay_screen_init(&again, 1, 1 + len);
        cay_screen_feed(&again, first, len);
        must(put(&again, second) == len && memcmp(first, second, len) == 0);
        return 0;
}
