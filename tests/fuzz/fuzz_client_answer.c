/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What answers in the daemon's place, read by the CLI's client: the same bytes at once and byte by byte must
 * give the same body and the same end, and every body that is JSON is walked.
 */
#include <stdint.h>
#include <string.h>

#include "foundation/base/json_view.h"
#include "cay/client/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in every build, unlike assert. */
#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

/* All of it in pieces; true: the answer is whole. */
static bool read_answer(const char *bytes, size_t size, size_t piece, struct cay_answer *a,
                        struct cay_buf *out)
{
        size_t at = 0;

        cay_answer_init(a);
        while (at < size && a->state != CAY_ANSWER_DONE) {
                size_t n = size - at < piece ? size - at : piece, len;
                const char *body;
                ssize_t used = cay_answer_feed(a, bytes + at, n, &body, &len);

                if (used < 0)
                        return false;
                HOLDS(used > 0 && (size_t)used <= n && len <= (size_t)used);
                HOLDS(len == 0 || (body >= bytes + at && body + len == bytes + at + used));
                HOLDS(cay_buf_put(out, body, len) == 0);
                at += (size_t)used;
        }
        return cay_answer_end(a) == 0;
}

static void walk(struct cay_json_view v, unsigned depth)
{
        struct cay_json_walk w = cay_json_view_walk(v);
        struct cay_json_view key, item;
        char text[32];

        HOLDS(depth <= CAY_JSON_VIEW_DEPTH);
        while (cay_json_view_next(&w, &key, &item)) {
                HOLDS(item.at >= v.at && item.at + item.len <= v.at + v.len);
                HOLDS(!w.is_object || cay_json_view_is_text(key));
                cay_json_view_copy(item, text, sizeof(text));
                HOLDS(strlen(text) < sizeof(text));
                walk(item, depth + 1);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        cay_auto_buf struct cay_buf whole = { 0 }, pieces = { 0 };
        struct cay_answer a, b;
        struct cay_json_view json;
        bool is_whole;

        cay_buf_init(&whole, size + 1);
        cay_buf_init(&pieces, size + 1);
        is_whole = read_answer((const char *)data, size, size, &a, &whole);
        HOLDS(read_answer((const char *)data, size, 1, &b, &pieces) == is_whole);
        if (is_whole) {
                HOLDS(a.status == b.status && a.status >= 200 && a.status < 1000);
                HOLDS(whole.len == pieces.len);
                HOLDS(memcmp(cay_buf_data(&whole), cay_buf_data(&pieces), whole.len) == 0);
                if (cay_json_view_open(cay_buf_data(&whole), whole.len, &json) == 0)
                        walk(json, 0);
        }
        cay_answer_done(&a);
        cay_answer_done(&b);
        if (cay_json_view_open((const char *)data, size, &json) == 0)
                walk(json, 0);
        return 0;
}
