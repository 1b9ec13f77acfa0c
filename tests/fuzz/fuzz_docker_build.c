/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A build's stream from a daemon that is not trusted: the same lines however it is cut, and what is kept of
 * it always ends.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/must.h"
#include "cay-docker/build_stream.h"

static uint64_t hash;

static void on_line(struct docker_build_stream *s, const char *line, size_t len)
{
        (void)s;
        must(len < DOCKER_LINE_MAX && !memchr(line, '\n', len) && !memchr(line, '\0', len));
        for (size_t i = 0; i < len; i++)
                hash = (hash ^ (uint8_t)line[i]) * 0x100000001b3u;
        hash = (hash ^ '\n') * 0x100000001b3u;
}

static void walk(const uint8_t *bytes, size_t size, size_t step, struct docker_build_stream *s)
{
        hash = 1;
        docker_build_stream_init(s, on_line);
        for (size_t at = 0; at < size; at += step)
                docker_build_stream_feed(s, (const char *)bytes + at, size - at < step ? size - at : step);
        docker_build_stream_end(s);
        must(strnlen(s->step, sizeof(s->step)) < sizeof(s->step) &&
             strnlen(s->error, sizeof(s->error)) < sizeof(s->error));
        must(s->image[0] == '\0' || (strlen(s->image) == 71 && !strchr(s->image, '/')));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
        struct docker_build_stream whole, cut;
        uint64_t first;

        walk(bytes, size, size ? size : 1, &whole);
        first = hash;
        for (size_t step = 1; step < 40; step += 13) {
                walk(bytes, size, step, &cut);
                must(hash == first && strcmp(cut.step, whole.step) == 0 &&
                     strcmp(cut.image, whole.image) == 0 && strcmp(cut.error, whole.error) == 0 &&
                     strcmp(cut.last, whole.last) == 0);
                docker_build_stream_done(&cut);
        }
        docker_build_stream_done(&whole);
        return 0;
}
