/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. NUL is a character like
 * others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t cay_utf8_next(const void *bytes,
                     size_t len); /* length of the sequence at the start, 0: none (or len 0) */
uint32_t cay_utf8_decode(const void *bytes,
                         size_t n); /* the character that takes n bytes; of one byte, that byte */
bool cay_utf8_valid(const void *bytes, size_t len);
size_t cay_utf8_cut(const void *bytes,
                    size_t len); /* the length without a sequence that is cut short at the end */
