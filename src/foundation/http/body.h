/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a message's body ends: by length, by chunks, or with the connection. Both directions of HTTP use it. Chunks are
 * taken in their plainest form only: digits, CRLF, bytes, CRLF. Extensions are refused (nobody needs them, and readers
 * that skip them differently are a way to smuggle); trailer fields are checked like header fields, and dropped; those that
 * speak of framing are refused.
 *
 * The caller offers what it has. cay_http_body_look() says how many bytes of framing stand in front and how many of the body
 * follow; the caller drops the first, hands on as much of the second as its taker takes, and tells with cay_http_body_took().
 */
#pragma once

#include "foundation/http/head.h"

struct cay_http_body {
        enum cay_http_framing framing;
        bool done;
        uint64_t left;  /* of the body or of the chunk */
        uint64_t total; /* taken so far */
        uint64_t max;   /* of total */

        /* below: private to body.c */
        uint8_t state, digits;
        uint16_t trailer_bytes;
        char name[20]; /* of a trailer field: its start */
        uint8_t name_len;
};

/* max: larger bodies are refused, at once if the length is known (then cay_http_body_begin says so: -EFBIG). */
int cay_http_body_begin(struct cay_http_body *b, enum cay_http_framing framing, uint64_t length,
                        uint64_t max);
/* 0; -EPROTO: malformed; -EFBIG: larger than max. After done nothing is asked for. */
int cay_http_body_look(struct cay_http_body *b, const char *bytes, size_t len, size_t *ret_framing,
                       size_t *ret_body);
void cay_http_body_took(struct cay_http_body *b, size_t len);
int cay_http_body_eof(
        struct cay_http_body *b); /* the stream ended here: 0, or -EPROTO when the body was not whole */
