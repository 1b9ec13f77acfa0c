/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Range field, as RFC 9110 has it: one range of bytes is understood, "bytes=A-B", "bytes=A-" or
 * "bytes=-N" (the last N). Other units, several ranges and what is malformed are no reason to refuse: the
 * field is ignored then, and the whole is answered.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cay_rest_range {
        bool is_tail;    /* the last `length` bytes; else */
        uint64_t from;   /* from this byte on, */
        bool has_length; /* `length` of them, or all */
        uint64_t length;
};

/* Numbers beyond INT64_MAX are taken as that. False: to be ignored. */
bool cay_rest_range_read(const char *value, struct cay_rest_range *ret);
