/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Case folding for human text, so that two spellings of one word compare equal: capital letters become small
 * ones (Latin, Greek and Cyrillic; the C locale of our programs knows only ASCII), and every kind of white
 * space becomes a space.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The next character, folded; *at moves past it. 0 at the end of the text. A byte that is not UTF-8 is a
 * character of its own.
 */
uint32_t cay_fold_next(const char **at);
/*
 * Whether a folded character is part of a word that blanks and signs delimit. Scripts without blanks between
 * words have none of these.
 */
bool cay_fold_is_word(uint32_t c);
