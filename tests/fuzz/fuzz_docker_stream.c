/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker's frames from a daemon that is not trusted: what comes out must not depend on how the stream is cut,
 * nor run past the input.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/must.h"
#include "cay-docker/stream.h"

struct sum {
        uint64_t hash[3];
        uint64_t bytes;
        bool broken, between;
};

static struct sum walk(const uint8_t *bytes, size_t size, size_t step)
{
        struct docker_stream s = { 0 };
        struct sum sum = { { 1, 2, 3 }, 0, false, false };
        size_t at = 0;

        while (at < size && !sum.broken) {
                size_t end = size - at < step ? size : at + step;

                while (at < end) {
                        enum docker_stream_kind kind;
                        size_t len;
                        ssize_t n = docker_stream_take(&s, bytes + at, end - at, &kind, &len);

                        if (n < 0) {
                                sum.broken = true;
                                break;
                        }
                        must(n > 0 && (size_t)n <= end - at && len <= (size_t)n);
                        at += (size_t)n;
                        for (size_t i = at - len; i < at; i++)
                                sum.hash[kind] = (sum.hash[kind] ^ bytes[i]) * 0x100000001b3u;
                        sum.bytes += len;
                }
        }
        sum.between = docker_stream_is_between(&s);
        return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
        struct sum whole = walk(bytes, size, size ? size : 1), cut;

        for (size_t step = 1; step < 12; step += 3) {
                cut = walk(bytes, size, step);
                must(memcmp(cut.hash, whole.hash, sizeof(cut.hash)) == 0 && cut.bytes == whole.bytes &&
                     cut.broken == whole.broken && cut.between == whole.between);
        }
        return 0;
}
