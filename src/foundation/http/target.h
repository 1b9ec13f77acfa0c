/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict parser of request targets and hosts. A path is split at its slashes first and each segment is
 * decoded on its own, once: an encoded slash never separates segments. Refused are: targets that are not a
 * path (absolute ones and those of CONNECT are for proxies), "." and ".." segments however they are written,
 * backslashes, broken escapes, encoded control characters, what is not UTF-8 after decoding, and fragments.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/http/head.h"

#define CAY_HTTP_SEGMENTS_MAX 24u
#define CAY_HTTP_HOST_MAX 255u

struct cay_http_target {
        const char *path;  /* as sent, without the query; "*" for OPTIONS * */
        const char *query; /* as sent, behind the question mark; NULL: there is none */
        unsigned count;    /* segments; "/" has one, which is empty; "*" has none */
        bool cut;          /* there are more than CAY_HTTP_SEGMENTS_MAX; the rest is in `raw` of the last */
        const char *segments[CAY_HTTP_SEGMENTS_MAX]; /* decoded; may hold an encoded slash */
        const char *raw[CAY_HTTP_SEGMENTS_MAX];      /* where each starts in `path` */
};

/*
 * text (NUL-terminated) is changed and kept; `room` has strlen(text) + 1 bytes and is kept too. 0, or -1 with
 * *ret_fault.
 */
int cay_http_target_split(struct cay_http_target *t, char *text, char *room,
                          struct cay_http_fault *ret_fault);

/*
 * Decodes %XX (and '+' as a blank when `plus`) into out, which has len + 1 bytes. The length, or -EINVAL:
 * broken, or NUL.
 */
ssize_t cay_http_decode(const char *text, size_t len, bool plus, char *out);

/* Walks the parameters of a query; `room` holds one decoded name and value. */
struct cay_http_query {
        const char *at; /* the query; NULL: none */
        char *room;
        size_t room_size;
        bool takes_bytes;         /* values need not be UTF-8 */
        const char *name, *value; /* decoded, in room; a parameter without '=' has value "" */
};
int cay_http_query_next(struct cay_http_query *q); /* 1; 0: no more; -EINVAL: broken or not UTF-8; -ENOSPC */
/* The value of one parameter: 1; 0: not given; -EEXIST: given twice; -EINVAL, -ENOSPC as above. */
int cay_http_query_get(const char *query, const char *name, char *room, size_t room_size,
                       const char **ret_value);

/* "name", "name:port", "[::1]:port". Lower case into host, port 0 when not given. 0 or -EINVAL. */
int cay_http_host_split(const char *text, size_t len, char host[CAY_HTTP_HOST_MAX + 1], uint16_t *ret_port);
