/* SPDX-License-Identifier: Apache-2.0 */
/* One frame after the other. */
#include "cay-docker/stream.h"

#include <errno.h>
#include <string.h>

#include "foundation/base/banned.h"

static int read_header(struct docker_stream *s)
{
        const uint8_t *h = s->header;

        s->left = (uint32_t)h[4] << 24 | (uint32_t)h[5] << 16 | (uint32_t)h[6] << 8 | h[7];
        if (h[0] >= DOCKER_STREAM_KIND_COUNT || h[1] || h[2] || h[3] || s->left > DOCKER_STREAM_FRAME_MAX) {
                s->broken = true;
                return -EPROTO;
        }
        s->kind = (enum docker_stream_kind)h[0];
        if (s->left == 0)
                s->have = 0;
        return 0;
}

ssize_t docker_stream_take(struct docker_stream *s, const void *bytes, size_t len,
                           enum docker_stream_kind *ret_kind, size_t *ret_len)
{
        size_t head = 0, payload;

        *ret_len = 0;
        *ret_kind = s->kind;
        if (s->broken)
                return -EPROTO;
        if (s->have < DOCKER_STREAM_HEADER) {
                head = DOCKER_STREAM_HEADER - s->have;
                head = len < head ? len : head;
                memcpy(s->header + s->have, bytes, head);
                s->have += (unsigned)head;
                if (s->have < DOCKER_STREAM_HEADER)
                        return (ssize_t)head;
                if (read_header(s) < 0)
                        return -EPROTO;
                *ret_kind = s->kind;
        }
        payload = len - head < s->left ? len - head : s->left;
        s->left -= (uint32_t)payload;
        if (s->left == 0)
                s->have = 0;
        *ret_len = payload;
        return (ssize_t)(head + payload);
}

bool docker_stream_is_between(const struct docker_stream *s)
{
        return !s->broken && s->have == 0;
}
