/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chat messages from strangers: the answer is whole, points into the message, and is the same when asked
 * twice.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/utf8.h"
#include "domain/intent/intent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in every build, unlike assert. */
#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

static bool is_inside(const char *text, size_t size, const char *part, size_t len)
{
        return part >= text && len <= size && (size_t)(part - text) <= size - len;
}

static void check(const char *text, size_t size, const struct cay_intent_result *r)
{
        HOLDS((unsigned)r->decision < CAY_INTENT_COUNT && r->confidence > 0 && r->confidence < 100);
        HOLDS(r->reason[0] && memchr(r->reason, '\0', sizeof(r->reason)));
        HOLDS(cay_utf8_valid(r->reason, strlen(r->reason)));
        HOLDS(r->hit_count <= CAY_INTENT_HITS_MAX);
        for (unsigned i = 0; i < r->hit_count; i++) {
                HOLDS(is_inside(text, size, r->hits[i].text, r->hits[i].len));
                HOLDS(!r->hits[i].is_veto || r->decision != CAY_INTENT_RUN);
        }
        HOLDS(r->decision != CAY_INTENT_RUN || r->code.kind != CAY_INTENT_NO_CODE);
        HOLDS(!r->danger.what || (r->danger.len > 0 && is_inside(text, size, r->danger.text, r->danger.len)));
        if (r->code.kind == CAY_INTENT_NO_CODE)
                return;
        HOLDS(r->code.len > 0 && is_inside(text, size, r->code.text, r->code.len));
        HOLDS(r->code.nr >= 1 && r->code.nr <= r->code.count);
        HOLDS(cay_utf8_valid(r->code.text, r->code.len));
        HOLDS(cay_utf8_valid(r->code.language, strlen(r->code.language)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = malloc(size ? size : 1); /* of its very size: reading beyond is seen */
        struct cay_intent_result once, twice;
        struct cay_error err = { 0 };
        struct cay_buf prose;
        int r;

        HOLDS(text != NULL);
        memcpy(text, data, size);
        cay_buf_init(&prose, CAY_INTENT_TEXT_MAX);
        r = cay_intent_detect(text, size, &once, &prose, &err);
        if (r == 0) {
                check(text, size, &once);
                HOLDS(prose.len == size && cay_utf8_valid(cay_buf_data(&prose), prose.len));
                HOLDS(cay_intent_detect(text, size, &twice, NULL, &err) == 0);
                HOLDS(twice.decision == once.decision && strcmp(twice.reason, once.reason) == 0);
        } else {
                HOLDS(err.code == CAY_INVALID);
        }
        cay_buf_done(&prose);
        free(text);
        return 0;
}
