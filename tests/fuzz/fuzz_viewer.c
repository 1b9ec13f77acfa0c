/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a viewer of a desktop says: whatever the pieces, the same gets to the server; and what gets there is
 * read again without anything being left out, so that the server sees messages where we saw them. Of a viewer
 * that may only look, no input gets there. The first byte says who is the viewer.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "domain/desktop/viewer.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_act(struct cay_rfb_viewer *v, const struct cay_viewer_input *input)
{
        (void)input;
        must(!v->only_looks);
}

/* every is the one in so many inputs that is refused; 0: none */
static unsigned every, asked;

static bool may_act(struct cay_rfb_viewer *v)
{
        (void)v;
        return every == 0 || ++asked % every != 0;
}

static int read_all(const uint8_t *bytes, size_t len, size_t piece, bool only_looks, struct cay_buf *ret,
                    uint64_t *ret_refused)
{
        struct cay_rfb_viewer v;
        struct cay_error err = { 0 };
        int r = 0;

        cay_viewer_init(&v);
        cay_buf_init(ret, 4u << 20);
        v.only_looks = only_looks;
        v.may_act = may_act;
        v.on_act = on_act;
        asked = 0;
        for (size_t at = 0; r == 0 && at < len;) {
                size_t taken = 0, n = len - at < piece ? len - at : piece;

                r = cay_viewer_feed(&v, bytes + at, n, &taken, &err);
                must(v.out.len <= CAY_VIEWER_OUT_MAX);
                must(cay_buf_put(ret, cay_buf_data(&v.out), v.out.len) == 0);
                must(r < 0 || taken == n || v.out.len >= CAY_VIEWER_OUT_HIGH);
                cay_buf_clear(&v.out);
                at += taken;
        }
        must((r == 0) == (err.code == CAY_OK));
        *ret_refused = v.refused;
        cay_viewer_done(&v);
        return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct cay_buf whole, parts, again;
        uint64_t refused[3];
        bool only_looks;
        uint8_t *bytes;

        if (size == 0 || size > 65536)
                return 0;
        only_looks = data[0] & 1;
        every = data[0] >> 1 & 3;
        data++;
        size--;
        bytes = malloc(size ? size : 1); /* of its very size: reading beyond is seen */
        must(bytes != NULL);
        memcpy(bytes, data, size);
        must(read_all(bytes, size, 8192, only_looks, &whole, &refused[0]) ==
             read_all(bytes, size, 1, only_looks, &parts, &refused[1]));
        must(whole.len == parts.len && refused[0] == refused[1]);
        must(memcmp(cay_buf_data(&whole), cay_buf_data(&parts), whole.len) == 0);
        every = 0;
        must(read_all((const uint8_t *)cay_buf_data(&whole), whole.len, 8192, false, &again, &refused[2]) ==
             0);
        must(again.len == whole.len && refused[2] == 0);
        must(memcmp(cay_buf_data(&whole), cay_buf_data(&again), whole.len) == 0);
        cay_buf_done(&whole);
        cay_buf_done(&parts);
        cay_buf_done(&again);
        free(bytes);
        return 0;
}
