/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that can be known anywhere in a stream, how they are checked, and the commands that make them inside
 * the box: the test program maps itself into the box and is its own command there, so both sides share one
 * generator.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINK_CUT_SEED_OUT 0x6f7574u
#define LINK_CUT_SEED_ERR 0x657272u
#define LINK_CUT_SEED_IN 0x696eu

uint64_t link_cut_random(uint64_t *state); /* the next number of a seeded row */
void link_cut_pattern(uint64_t seed, uint64_t offset, uint8_t *ret, size_t len);

struct link_cut_check { /* what came of one stream, from the offset it starts at */
        uint64_t seed, at, hash, bytes;
        bool is_wrong;
        uint64_t wrong_at; /* the first offset that is not what was sent */
};

struct link_cut_check link_cut_check_from(uint64_t seed, uint64_t offset);
void link_cut_check_feed(struct link_cut_check *c, const uint8_t *bytes, size_t len);
uint64_t link_cut_pattern_hash(uint64_t seed, uint64_t offset, uint64_t len);

/*
 * The commands; never returns if argv names one:
 *   emit OUT ERR   so many bytes on stdout and stderr, mixed, in pieces of many sizes
 *   echo           stdin to stdout; at its end the hash of what came and a newline to stderr
 *   wait           until a signal ends it
 */
void link_cut_box_side(int argc, char **argv);
