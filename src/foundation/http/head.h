/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Message heads, requests and responses: found in a stream, parsed, checked.
 *
 * Theory of operation. Two readers must agree on every head. The first is ours: one line per field, only CRLF
 * ends a line, a name is a token directly followed by a colon, no folding, no controls, and framing fields in
 * exactly one of a closed set of forms. The second is llhttp (strict), which gets the same bytes and must
 * find the same end, framing and length. A head that either refuses, or on which they differ, is refused:
 * readers that disagree about a message's end allow request smuggling. llhttp alone is not enough: 8.1.0
 * accepts folded lines (CVE-2024-27982) and, compiled loosely, a bare CR after an empty field
 * (CVE-2023-30589).
 *
 * The CLI's client, which is linked with libc alone, reads the daemon's answers with the first reader
 * (read_…): there is no intermediary that could see another end of the message. Everything else uses both
 * (parse_…, in second.c).
 *
 * A head is parsed once it is complete (its size is limited); the search for its end resumes where it stopped
 * last time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "foundation/base/banned.h"

#define CAY_HTTP_LINES_MAX 128u
#define CAY_HTTP_HEAD_MAX 65000u /* offsets in a head are 16 bits wide */

enum cay_http_method {
        CAY_HTTP_NO_METHOD,
        CAY_HTTP_GET,
        CAY_HTTP_HEAD,
        CAY_HTTP_POST,
        CAY_HTTP_PUT,
        CAY_HTTP_PATCH,
        CAY_HTTP_DELETE,
        CAY_HTTP_OPTIONS,
        CAY_HTTP_METHOD_COUNT
};

/* Why a message is refused: the status to answer with and a sentence for people (static). */
struct cay_http_fault {
        unsigned status;
        const char *text;
        bool may_repeat; /* nothing was done: the same request may work in a moment */
};

struct cay_http_head_limits {
        uint32_t line_bytes; /* request or status line */
        uint32_t head_bytes; /* all of it; at most CAY_HTTP_HEAD_MAX */
        uint32_t lines;      /* fields; at most CAY_HTTP_LINES_MAX */
};

struct cay_http_line {
        uint16_t name, name_len, value, value_len; /* offsets in the head */
};

enum cay_http_framing {
        CAY_HTTP_NO_BODY,
        CAY_HTTP_LENGTH,
        CAY_HTTP_CHUNKED,
        CAY_HTTP_UNTIL_CLOSE, /* responses only */
};

struct cay_http_head {
        enum cay_http_method method; /* requests */
        unsigned status;             /* responses */
        unsigned minor;              /* HTTP/1.minor: 0 or 1 */
        uint16_t target, target_len;
        enum cay_http_framing framing;
        uint64_t length; /* with CAY_HTTP_LENGTH */
        bool keep_alive;
        bool upgrade; /* Connection says upgrade and there is an Upgrade field */
        bool expect_continue;
        bool has_length, is_chunked; /* as its fields say; framing is derived from them */
        uint16_t host, host_len;     /* the value of Host; requests */
        unsigned line_count;
        struct cay_http_line lines[CAY_HTTP_LINES_MAX];
};

/* Position of the search for the end of a head; zeroed for each message. */
struct cay_http_head_search {
        uint32_t scanned, line_start, lines;
};

/* The length of the head with its empty line; 0: incomplete; -1: refused, see *ret_fault. */
ssize_t cay_http_head_find(struct cay_http_head_search *s, const char *bytes, size_t len,
                           const struct cay_http_head_limits *limits, struct cay_http_fault *ret_fault);
/* 0, or -1 with *ret_fault. len is the result of cay_http_head_find. Framing as in a request. */
int cay_http_head_parse_request(struct cay_http_head *h, const char *bytes, size_t len,
                                struct cay_http_fault *ret_fault);
/* The first reader alone. */
int cay_http_head_read_request(struct cay_http_head *h, const char *bytes, size_t len,
                               struct cay_http_fault *ret_fault);
int cay_http_head_read_response(struct cay_http_head *h, enum cay_http_method method, const char *bytes,
                                size_t len, struct cay_http_fault *ret_fault);
/* `method` is the request's: HEAD has no body. The fault's status is 502. */
int cay_http_head_parse_response(struct cay_http_head *h, enum cay_http_method method, const char *bytes,
                                 size_t len, struct cay_http_fault *ret_fault);

const char *cay_http_method_word(enum cay_http_method method); /* "GET"; never NULL */
enum cay_http_method cay_http_method_find(const char *word,
                                          size_t len); /* CAY_HTTP_NO_METHOD: none of ours */
