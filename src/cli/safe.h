/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of others on a terminal: control characters are shown, not sent (they could move the cursor, or worse). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Escaped as \n, \x1b, \u202e, cut to what fits; returns ret. Bytes that are no UTF-8 are escaped, too. */
const char *cay_safe_copy(const char *text, char *ret, size_t size);
/*
 * A line of a program's output: tabs stay, sequences that colour or move are left out, and of a line that was written over (\r) the last
 * state is shown; the rest as above.
 */
const char *cay_safe_line(const char *line, char *ret, size_t size);
size_t cay_safe_width(const char *safe); /* columns of a text that is safe: one per character */
/* Colours: on a terminal that knows them, unless NO_COLOR says no. */
bool cay_safe_has_colours(FILE *out);
