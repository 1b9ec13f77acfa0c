/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of others on a terminal: control characters are shown, not sent (they could move the cursor, or
 * worse).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Escaped as \n, \x1b, \u202e, cut to what fits; returns ret. Bytes that are no UTF-8 are escaped, too. */
const char *cay_safe_copy(const char *text, char *ret, size_t size);
/*
 * A line of a program's output: tabs stay, sequences that colour or move are left out, and of a line that was
 * written over (\r) the last state is shown; the rest as above.
 */
const char *cay_safe_line(const char *line, char *ret, size_t size);
/*
 * Bytes as they come, of which a terminal obeys nothing but the ends of lines and tabs: everything else that
 * it would obey is shown as above. A character or an end of line that is cut short waits for the next piece.
 */
#define CAY_SAFE_PIECE 512u
#define CAY_SAFE_SHOWN (4u * (CAY_SAFE_PIECE + 4)) /* room for what one piece becomes */

struct cay_safe_tail { /* zeroed at the beginning */
        char bytes[4];
        unsigned len;
};

/* len: at most CAY_SAFE_PIECE. Returns how many bytes ret has now; there is no NUL. */
size_t cay_safe_next(struct cay_safe_tail *tail, const char *bytes, size_t len, char ret[CAY_SAFE_SHOWN]);
/* What waits is all that there will be. */
size_t cay_safe_end(struct cay_safe_tail *tail, char ret[CAY_SAFE_SHOWN]);
/* All of it to a descriptor: 0 or -errno. */
int cay_safe_write(int fd, struct cay_safe_tail *tail, const char *bytes, size_t len);

size_t cay_safe_width(const char *safe); /* columns of a text that is safe: one per character */
/* Colours: on a terminal that knows them, unless NO_COLOR says no. */
bool cay_safe_has_colours(FILE *out);
