/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a message's body ends: by length, by chunks, or with the connection. Both directions of HTTP use it.
 * Chunks are accepted in their simplest form only: digits, CRLF, bytes, CRLF. Extensions are refused: they
 * are not needed, and different readings of them allow request smuggling. Trailer fields are checked like
 * header fields and dropped; those about framing are refused.
 *
 * The caller passes its input. cay_http_body_look() returns how many bytes of framing come first and how many
 * bytes of the body follow. The caller drops the framing, passes on as much of the body as its consumer
 * accepts, and reports that with cay_http_body_took().
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

/*
 * max: larger bodies are refused, at once if the length is known (then cay_http_body_begin says so: -EFBIG).
 */
int cay_http_body_begin(struct cay_http_body *b, enum cay_http_framing framing, uint64_t length,
                        uint64_t max);
/* 0; -EPROTO: malformed; -EFBIG: larger than max. After `done` no more input is expected. */
int cay_http_body_look(struct cay_http_body *b, const char *bytes, size_t len, size_t *ret_framing,
                       size_t *ret_body);
void cay_http_body_took(struct cay_http_body *b, size_t len);
int cay_http_body_eof(
        struct cay_http_body *b); /* the stream ended here: 0, or -EPROTO when the body was incomplete */
