/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Docker says while it builds: a JSON object per line, each with a piece of the output, the image's id,
 * or the error. Bytes in, lines of text out; what was said last, the step and the error are kept for the
 * answer. No file, no socket.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "foundation/base/buf.h"
#include "links/helper/docker_message.h"

struct docker_build_stream {
        /*
         * A whole line of UTF-8, without its end; at most DOCKER_LINE_MAX - 1 bytes. It is data: whatever the
         * build ran may have put escape sequences into it, and whoever shows it has to see to those.
         */
        void (*on_line)(struct docker_build_stream *s, const char *line, size_t len);

        char step[HELPER_TEXT];      /* "Step 3/7 : RUN make"; "": none yet */
        char image[DOCKER_IMAGE_ID]; /* "sha256:…"; "": not told */
        char error[HELPER_TEXT];     /* "": none */
        char last[HELPER_TEXT];      /* line that is not empty */

        /* below: private */
        struct cay_buf json, text; /* of objects, of lines: what has no end yet */
        bool skips;                /* the rest of an object that is too long */
};

void docker_build_stream_init(struct docker_build_stream *s,
                              void (*on_line)(struct docker_build_stream *s, const char *line, size_t len));
void docker_build_stream_done(struct docker_build_stream *s); /* safe on a zeroed struct */
void docker_build_stream_feed(struct docker_build_stream *s, const char *bytes, size_t len);
void docker_build_stream_end(struct docker_build_stream *s); /* what is left is a line, too */
