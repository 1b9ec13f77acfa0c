/* SPDX-License-Identifier: Apache-2.0 */
/* What the server of a desktop sends: whatever the pieces, the same screen, and never outside of it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "domain/desktop/rfb.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int feed(struct cay_rfb *r, struct cay_budget *budget, const uint8_t *bytes, size_t len, size_t piece)
{
        struct cay_error err = { 0 };
        int n = 0;

        cay_rfb_init(r);
        r->budget = budget;
        r->wants_screen = true;
        for (size_t at = 0; n == 0 && at < len; at += piece) {
                n = cay_rfb_feed(r, bytes + at, len - at < piece ? len - at : piece, &err);
                if (n == 0 && r->out.len > CAY_RFB_OUT_MAX / 2)
                        cay_buf_clear(&r->out);
        }
        must((n == 0) == (err.code == CAY_OK));
        must((uint64_t)r->width * r->height <= CAY_RFB_PIXELS_MAX);
        return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct cay_budget budgets[2] = { { .max = 8u << 20 }, { .max = 8u << 20 } };
        uint8_t *bytes = malloc(size ? size : 1); /* of its very size: reading beyond is seen */
        struct cay_rfb whole, parts;
        int r;

        if (size > 65536) {
                free(bytes);
                return 0;
        }
        must(bytes != NULL);
        memcpy(bytes, data, size);
        r = feed(&whole, &budgets[0], bytes, size, 4096);
        must(feed(&parts, &budgets[1], bytes, size, 1) == r);
        must(whole.width == parts.width && whole.height == parts.height && whole.updates == parts.updates);
        must(whole.has_screen == parts.has_screen && !whole.pixels == !parts.pixels);
        if (whole.pixels)
                must(memcmp(whole.pixels, parts.pixels, (size_t)whole.width * whole.height * 4) == 0);
        cay_rfb_done(&parts);
        cay_rfb_done(&whole);
        must(budgets[0].used == 0 && budgets[1].used == 0);
        free(bytes);
        return 0;
}
