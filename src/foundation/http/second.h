/* SPDX-License-Identifier: Apache-2.0 */
/* The second reader of message heads: llhttp, compiled strictly. head.h says why there are two. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cay_http_second {
        bool is_chunked, has_length, keep_alive, upgrade;
        uint64_t length;
        unsigned major, minor;
};

/*
 * 0: read to exactly the last byte of the head. -1: refused, or it ended elsewhere; *ret_why (static) says
 * which.
 */
int cay_http_second_read(struct cay_http_second *s, bool is_request, const char *head, size_t len,
                         const char **ret_why);
