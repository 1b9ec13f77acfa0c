/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels print, from code that wants to harm: frames in pieces, and the JSON in them. Byte 0 of the
 * input decides how it is cut.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "domain/contexts/frames.h"
#include "domain/ops/context_result.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t printed;

static void on_output(struct cay_frames *f, unsigned stream, const char *bytes, size_t len)
{
        (void)f;
        (void)bytes;
        must(stream == 1 || stream == 2);
        must(len > 0);
        printed += len;
}

/* What is written for clients is JSON, whatever came. */
static void on_message(struct cay_frames *f, char kind, const char *bytes, size_t len, bool was_cut)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_json j;

        (void)f;
        must(!was_cut || len == 0);
        cay_buf_init(&text, 2 * CAY_FRAME_MESSAGE_MAX + 256);
        cay_json_init(&j, &text);
        cay_json_begin_object(&j);
        if (kind == 'e')
                cay_context_put_error(&j, bytes, len);
        else
                cay_context_put_result(&j, bytes, len);
        cay_json_end_object(&j);
        must(cay_json_end(&j) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const struct cay_frames_events events = { on_output, on_message };
        static const uint8_t random[16] = { 0 };
        size_t step = size > 0 ? 1u + data[0] % 64u : 1, given = 0;
        struct cay_frames f;

        cay_frames_init(&f, &events, random);
        printed = 0;
        for (size_t at = 1; at < size; at += step) {
                size_t n = size - at < step ? size - at : step;

                cay_frames_feed(&f, 1 + (unsigned)(at / step) % 2, (const char *)data + at, n);
                given += n;
        }
        must(printed <= given);
        cay_frames_done(&f);
        return 0;
}
