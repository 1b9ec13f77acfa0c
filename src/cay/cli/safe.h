/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Untrusted text on a terminal: control characters are shown, not sent (they could move the cursor, or
 * worse).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Escaped as \n, \x1b, \u202e, cut to what fits; returns ret. Invalid UTF-8 is escaped, too. */
const char *cay_safe_copy(const char *text, char *ret, size_t size);
/*
 * A line of a program's output: tabs stay, colour and cursor sequences are removed, and of a line that was
 * overwritten (\r) the last state is shown; the rest as above.
 */
const char *cay_safe_line(const char *line, char *ret, size_t size);
/*
 * A stream of bytes for a terminal: line ends and tabs are kept, all other control sequences are escaped as
 * above. An incomplete character or line end waits for the next piece.
 */
#define CAY_SAFE_PIECE 512u
#define CAY_SAFE_SHOWN (4u * (CAY_SAFE_PIECE + 4)) /* room for one escaped piece */

struct cay_safe_tail { /* zeroed at the beginning */
        char bytes[4];
        unsigned len;
};

/* len: at most CAY_SAFE_PIECE. Returns how many bytes are in ret; there is no NUL. */
size_t cay_safe_next(struct cay_safe_tail *tail, const char *bytes, size_t len, char ret[CAY_SAFE_SHOWN]);
/* Flushes what waits at the end of the stream. */
size_t cay_safe_end(struct cay_safe_tail *tail, char ret[CAY_SAFE_SHOWN]);
/* Writes all of it to a descriptor: 0 or -errno. */
int cay_safe_write(int fd, struct cay_safe_tail *tail, const char *bytes, size_t len);

/*
 * JSON and the end of its line. On a terminal, characters that it would obey or hide, which JSON may have in
 * texts as they are, become \u escapes: it is the same JSON.
 */
void cay_safe_json(FILE *out, const char *json, size_t len);

size_t cay_safe_width(const char *safe); /* columns of an escaped text: one per character */
/* Whether to use colours: on a terminal that supports them, unless NO_COLOR is set. */
bool cay_safe_has_colours(FILE *out);
