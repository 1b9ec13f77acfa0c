/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker's stream of a process without a terminal: pieces of standard output and error, each behind eight
 * bytes (which one, three zeros, the length, big-endian). Pure: bytes in, views out. What is no such frame is
 * refused, once and for good.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DOCKER_STREAM_HEADER 8u
#define DOCKER_STREAM_FRAME_MAX (16u * 1024 * 1024)

enum docker_stream_kind { DOCKER_STREAM_IN, DOCKER_STREAM_OUT, DOCKER_STREAM_ERR, DOCKER_STREAM_KIND_COUNT };

struct docker_stream { /* zeroed: at the start */
        uint8_t header[DOCKER_STREAM_HEADER];
        unsigned have;                /* bytes of the header */
        enum docker_stream_kind kind; /* of the frame */
        uint32_t left;                /* of its payload */
        bool broken;
};

/*
 * Looks at the next bytes: how many of them are taken by this call (at least 1 when len > 0), of which the
 * last *ret_len are payload of *ret_kind (0: none). -EPROTO: no such stream.
 */
ssize_t docker_stream_take(struct docker_stream *s, const void *bytes, size_t len,
                           enum docker_stream_kind *ret_kind, size_t *ret_len);
bool docker_stream_is_between(const struct docker_stream *s); /* at a frame's end: where a stream may end */
