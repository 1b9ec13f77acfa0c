/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel prints during one run: the code's own output, and between it frames of the kernel.
 *
 * Theory of operation. A kernel shares its standard output and error with the code that it runs and with the
 * programs that the code starts, so that all output arrives in order and at once, without a thread or a pipe
 * in between. A frame is
 *
 *     1e  MARK (32 hexadecimal digits)  KIND (a letter)  LENGTH (4 hexadecimal digits)  LENGTH bytes
 *
 * MARK is random and new for each run; the request tells it to the kernel. A frame is at most PIPE_BUF bytes
 * long, so that no other writer can come between its bytes; a longer message is several frames, the last of
 * which has its kind in upper case. Kinds: b begins the run (on both streams), r is a result, e an error, x
 * ends standard error, d ends the run; r, e and d carry a JSON object.
 *
 * What comes before b is not of this run (an earlier one, or what an earlier one left running) and is
 * dropped. Code can write frames, too: it then lies about its own run only. All of it is hostile: lengths are
 * bounded, JSON is checked by the reader.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foundation/base/buf.h"

#define CAY_FRAME_MARK 32u /* digits */
#define CAY_FRAME_HEAD (CAY_FRAME_MARK + 6u)
#define CAY_FRAME_MESSAGE_MAX 2000000u /* bytes of a message; a longer one is dropped */

struct cay_frames;

struct cay_frames_events { /* pointers are borrowed for the call */
        void (*on_output)(struct cay_frames *f, unsigned stream, const char *bytes, size_t len);
        /* kind: 'r' or 'e'. was_cut: it was longer than CAY_FRAME_MESSAGE_MAX, and there are no bytes */
        void (*on_message)(struct cay_frames *f, char kind, const char *bytes, size_t len, bool was_cut);
};

struct cay_frames_stream {
        bool began, ended;
        char head[CAY_FRAME_HEAD]; /* as far as it has come */
        size_t head_len;
        size_t left; /* bytes of the frame that are to come */
};

struct cay_frames { /* embedded by its owner */
        const struct cay_frames_events *events;
        char mark[CAY_FRAME_MARK + 1];
        struct cay_frames_stream streams[2];
        struct cay_buf message; /* of standard output: kernels send messages nowhere else */
        bool was_cut;
        uint64_t count; /* what the end said: how many runs there were */
};

void cay_frames_init(struct cay_frames *f, const struct cay_frames_events *events, const uint8_t random[16]);
void cay_frames_done(struct cay_frames *f);
/* stream: 1 or 2. Bytes behind the end are dropped. */
void cay_frames_feed(struct cay_frames *f, unsigned stream, const char *bytes, size_t len);
bool cay_frames_is_over(const struct cay_frames *f); /* both streams have ended */
/*
 * "run MARK LENGTH\n": what precedes the code. With variables of this run their number is a fourth word, and
 * they follow, each as "NAME LENGTH\n" and its value; then the code. Returns its length.
 */
size_t cay_frames_request(const struct cay_frames *f, size_t code_len, size_t variables, char *ret,
                          size_t size);
