/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a terminal has to know to draw the end of a program's output without its beginning: where it can begin, and the modes that what came
 * before has left it in (another screen, mouse, bracketed paste, margins, colours).
 *
 * Theory of operation. Bytes go in from the oldest that is kept, and stop at the first place from `want` on where a reader that begins there
 * reads as one that has read all: behind a line, or in front of an escape sequence. Nothing is drawn here, so the place of the
 * cursor and what is on the screen are not known: lines begin at the left, and a program that draws the whole screen is told to do it again
 * (it is given its size). What is in the bytes is a stranger's: every sequence has a maximum, and what is longer or unknown is passed over.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foundation/base/buf.h"

#define CAY_SCREEN_ARGS 64u          /* bytes of a sequence's numbers; longer ones are passed over */
#define CAY_SCREEN_LOOK (64u * 1024) /* behind `want` for a good place; then any will do */
#define CAY_SCREEN_TEXT_MAX 1024u    /* of cay_screen_put */

struct cay_screen {
        uint64_t at, want;
        bool found; /* at is where to begin */
        /* private */
        unsigned state;
        char last; /* byte before */
        char args[CAY_SCREEN_ARGS + 1];
        unsigned args_len;
        bool too_long;
        uint32_t modes;       /* bits over the table of modes that are not as they are at first */
        unsigned top, bottom; /* margins; 0: none */
        char set[2];          /* character sets G0 and G1; 'B': plain */
        bool shifted;         /* G1 is in use */
        bool keypad;
        char colours[CAY_SCREEN_ARGS + 1]; /* of the text, as numbers of SGR; "": plain */
};

void cay_screen_init(struct cay_screen *s, uint64_t at, uint64_t want);
/* Until a place is found: how many bytes were passed. */
size_t cay_screen_feed(struct cay_screen *s, const void *bytes, size_t len);
/* Sequences that put a fresh terminal into these modes. 0 or -errno. */
int cay_screen_put(const struct cay_screen *s, struct cay_buf *out);
