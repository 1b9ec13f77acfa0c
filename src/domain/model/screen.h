/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a terminal needs to draw the end of a program's output without its beginning: where to begin, and the
 * modes set by the earlier output (alternate screen, mouse, bracketed paste, margins, colours).
 *
 * Theory of operation. Bytes are fed from the oldest kept one, up to the first suitable position at or after
 * `want`: after a line, or before an escape sequence. Nothing is drawn here, so the cursor position and the
 * screen content are unknown. Lines begin at the left, and a full-screen program is made to redraw (by
 * sending its size). The bytes are untrusted: every sequence has a maximum length, and longer or unknown ones
 * are skipped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foundation/base/buf.h"

#define CAY_SCREEN_ARGS 64u          /* bytes of a sequence's numbers; longer ones are passed over */
#define CAY_SCREEN_LOOK (64u * 1024) /* search distance after `want`; then any position is used */
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
        uint32_t modes;       /* bits over the table of modes that differ from their initial value */
        unsigned top, bottom; /* margins; 0: none */
        char set[2];          /* character sets G0 and G1; 'B': plain */
        bool shifted;         /* G1 is in use */
        bool keypad;
        char colours[CAY_SCREEN_ARGS + 1]; /* of the text, as numbers of SGR; "": plain */
};

void cay_screen_init(struct cay_screen *s, uint64_t at, uint64_t want);
/* Until a position is found: how many bytes were skipped. */
size_t cay_screen_feed(struct cay_screen *s, const void *bytes, size_t len);
/* Sequences that put a fresh terminal into these modes. 0 or -errno. */
int cay_screen_put(const struct cay_screen *s, struct cay_buf *out);
