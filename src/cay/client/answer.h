/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of HTTP/1.1 servers, pushed in pieces of any size: a head, then a body by length, in chunks, or to the end of
 * the connection. Pure: no descriptor. Strict: what could be read in two ways is refused. Interim answers (1xx) are skipped.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/buf.h"

#define CAY_ANSWER_HEAD_MAX (64u * 1024)
#define CAY_ANSWER_TYPE_MAX 127u

enum cay_answer_state {
        CAY_ANSWER_HEAD,
        CAY_ANSWER_LENGTH, /* of the body: so many bytes are left */
        CAY_ANSWER_TO_END,
        CAY_ANSWER_CHUNK_SIZE,
        CAY_ANSWER_CHUNK,
        CAY_ANSWER_CHUNK_END,
        CAY_ANSWER_TRAILER,
        CAY_ANSWER_DONE,
        CAY_ANSWER_FAILED,
};

struct cay_answer {
        enum cay_answer_state state;
        unsigned status;
        char type[CAY_ANSWER_TYPE_MAX + 1]; /* Content-Type; "" when there is none */
        bool has_length, closes;            /* closes: the connection takes no further request */
        uint64_t length;                    /* as announced */
        uint64_t left;
        struct cay_buf line; /* of the head, or one line of chunking */
        unsigned interims;
};

void cay_answer_init(struct cay_answer *a);
void cay_answer_done(struct cay_answer *a);
bool cay_answer_has_head(const struct cay_answer *a);

/*
 * Reads on; returns how many bytes were used, or -EBADMSG. *ret_body points at those among them that are the body's (they lie
 * together and end what was used); a call that ends the head has none. Call again with the rest: until it is empty or the answer
 * is DONE.
 */
ssize_t cay_answer_feed(struct cay_answer *a, const char *bytes, size_t len, const char **ret_body,
                        size_t *ret_body_len);
int cay_answer_end(
        struct cay_answer *a); /* the connection ended: 0 when the answer is whole, else -EBADMSG */
