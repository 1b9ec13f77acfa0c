/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which bytes are allowed where in a message head (RFC 9110, 5.6; RFC 9112), and case-insensitive comparison
 * of names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "foundation/base/banned.h"

bool cay_http_is_token_char(char c);
bool cay_http_is_token(const char *s, size_t len); /* at least one character, all of them token characters */
/*
 * A field value: HTAB, SP, visible ASCII and bytes from 0x80; no CR, LF, NUL or other controls. "" is fine.
 */
bool cay_http_is_value(const char *s, size_t len);
bool cay_http_same_name(const char *a, size_t a_len, const char *b); /* ASCII letters compare without case */
/* Is `word` an element of the comma-separated list? */
bool cay_http_list_has(const char *list, size_t len, const char *word);
int cay_http_hex_digit(char c); /* 0…15 or -1 */
