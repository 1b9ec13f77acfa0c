/* SPDX-License-Identifier: Apache-2.0 */
/* The generator, its check, and the commands inside the box. */
#include "integration/link_cut/box_side.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE_MAX 100000u
#define HASH_START 0xcbf29ce484222325ull
#define HASH_PRIME 0x100000001b3ull

static uint64_t mix(uint64_t x)
{
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
        x = (x ^ x >> 27) * 0x94d049bb133111ebull;
        return x ^ x >> 31;
}

uint64_t link_cut_random(uint64_t *state)
{
        *state += 0x9e3779b97f4a7c15ull;
        return mix(*state);
}

static uint64_t word(uint64_t seed, uint64_t index)
{
        return mix(seed + (index + 1) * 0x9e3779b97f4a7c15ull);
}

void link_cut_pattern(uint64_t seed, uint64_t offset, uint8_t *ret, size_t len)
{
        for (size_t i = 0; i < len;) {
                uint64_t w = word(seed, (offset + i) / 8);
                size_t skip = (size_t)((offset + i) % 8), n = len - i < 8 - skip ? len - i : 8 - skip;

                memcpy(ret + i, (const uint8_t *)&w + skip, n);
                i += n;
        }
}

static uint64_t hash_on(uint64_t hash, const uint8_t *bytes, size_t len)
{
        for (size_t i = 0; i < len; i++)
                hash = (hash ^ bytes[i]) * HASH_PRIME;
        return hash;
}

struct link_cut_check link_cut_check_from(uint64_t seed, uint64_t offset)
{
        return (struct link_cut_check){ .seed = seed, .at = offset, .hash = HASH_START };
}

static void compare(struct link_cut_check *c, const uint8_t *bytes, size_t len)
{
        static uint8_t want[65536];

        link_cut_pattern(c->seed, c->at, want, len);
        if (!c->is_wrong && memcmp(bytes, want, len) != 0) {
                c->is_wrong = true;
                for (c->wrong_at = c->at; bytes[c->wrong_at - c->at] == want[c->wrong_at - c->at];)
                        c->wrong_at++;
        }
        c->at += len;
}

void link_cut_check_feed(struct link_cut_check *c, const uint8_t *bytes, size_t len)
{
        c->hash = hash_on(c->hash, bytes, len);
        c->bytes += len;
        while (len > 0) {
                size_t n = len < 65536 ? len : 65536;

                compare(c, bytes, n);
                bytes += n;
                len -= n;
        }
}

uint64_t link_cut_pattern_hash(uint64_t seed, uint64_t offset, uint64_t len)
{
        uint64_t hash = HASH_START;
        uint8_t bytes[4096];

        while (len > 0) {
                size_t n = len < sizeof(bytes) ? (size_t)len : sizeof(bytes);

                link_cut_pattern(seed, offset, bytes, n);
                hash = hash_on(hash, bytes, n);
                offset += n;
                len -= n;
        }
        return hash;
}

/* Plain _exit everywhere: a sanitizer's look for leaks needs ptrace, which the box does not give. */
static void put(int fd, const uint8_t *bytes, size_t len)
{
        while (len > 0) {
                ssize_t n = write(fd, bytes, len);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        _exit(90);
                bytes += n;
                len -= (size_t)n;
        }
}

static void emit_piece(int fd, uint64_t seed, uint64_t *at, uint64_t end, uint64_t len)
{
        static uint8_t bytes[PIECE_MAX];

        len = end - *at < len ? end - *at : len;
        link_cut_pattern(seed, *at, bytes, (size_t)len);
        put(fd, bytes, (size_t)len);
        *at += len;
}

static void emit(uint64_t out_bytes, uint64_t err_bytes)
{
        uint64_t state = 7, out = 0, err = 0;

        while (out < out_bytes || err < err_bytes) {
                uint64_t n = link_cut_random(&state) % PIECE_MAX + 1;

                emit_piece(STDOUT_FILENO, LINK_CUT_SEED_OUT, &out, out_bytes, n);
                /* As far on as stdout is, so that both end together. */
                n = out_bytes ? (uint64_t)((double)err_bytes * ((double)out / (double)out_bytes)) : err_bytes;
                while (err < n || (out == out_bytes && err < err_bytes))
                        emit_piece(STDERR_FILENO, LINK_CUT_SEED_ERR, &err, err_bytes, PIECE_MAX);
        }
        _exit(0);
}

static void echo(void)
{
        static uint8_t bytes[65536];
        uint64_t hash = HASH_START;
        char text[32];
        ssize_t n;

        while ((n = read(STDIN_FILENO, bytes, sizeof(bytes))) != 0) {
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        _exit(91);
                hash = hash_on(hash, bytes, (size_t)n);
                put(STDOUT_FILENO, bytes, (size_t)n);
        }
        n = snprintf(text, sizeof(text), "%016llx\n", (unsigned long long)hash);
        put(STDERR_FILENO, (const uint8_t *)text, (size_t)n);
        _exit(0);
}

void link_cut_box_side(int argc, char **argv)
{
        if (argc == 4 && strcmp(argv[1], "emit") == 0)
                emit(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
        if (argc == 2 && strcmp(argv[1], "echo") == 0)
                echo();
        while (argc == 2 && strcmp(argv[1], "wait") == 0)
                pause();
}
