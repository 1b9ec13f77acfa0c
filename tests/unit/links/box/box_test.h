/* SPDX-License-Identifier: Apache-2.0 */
/* What the box link's tests share: seeded numbers, stream patterns with hashes, socket pairs. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* Deterministic: a failure is found again with the same seed. */
static inline uint32_t test_random(uint64_t *state, uint32_t below)
{
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        return (uint32_t)(*state >> 11) % below;
}

/* The byte at an offset of a stream: no period that a window or frame size could hide. */
static inline uint8_t test_pattern(uint32_t stream, uint64_t offset)
{
        uint64_t x = (offset + 1) * 0x9e3779b97f4a7c15u + stream * 0xbf58476d1ce4e5b9u;

        return (uint8_t)(x >> 56 ^ x >> 29);
}

static inline void test_fill(uint32_t stream, uint64_t offset, uint8_t *to, size_t len)
{
        for (size_t i = 0; i < len; i++)
                to[i] = test_pattern(stream, offset + i);
}

#define TEST_HASH_START 0xcbf29ce484222325u

static inline uint64_t test_hash(uint64_t hash, const void *bytes, size_t len)
{
        const uint8_t *at = bytes;

        for (size_t i = 0; i < len; i++)
                hash = (hash ^ at[i]) * 0x100000001b3u;
        return hash;
}

static inline uint64_t test_pattern_hash(uint32_t stream, uint64_t len)
{
        uint64_t hash = TEST_HASH_START;

        for (uint64_t i = 0; i < len; i++) {
                uint8_t byte = test_pattern(stream, i);

                hash = test_hash(hash, &byte, 1);
        }
        return hash;
}

/* buffer_bytes 0: the system's own */
static inline void test_socketpair(int fds[2], int buffer_bytes)
{
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        for (int i = 0; i < 2 && buffer_bytes > 0; i++)
                assert_int_equal(
                        setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof(buffer_bytes)), 0);
}
