/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses answers of HTTP/1.1 servers from pieces of any size: foundation/http's readers of heads and bodies
 * behind one call. Pure: no descriptor. Strict: ambiguous input is refused. Interim answers (1xx) are
 * skipped.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/buf.h"
#include "foundation/http/body.h"

#define CAY_ANSWER_TYPE_MAX 127u

enum cay_answer_state {
        CAY_ANSWER_HEAD,
        CAY_ANSWER_BODY,
        CAY_ANSWER_DONE,
        CAY_ANSWER_FAILED,
};

struct cay_answer {
        enum cay_answer_state state;
        bool may_upgrade; /* set by the caller: 101 is an answer, complete with its head */
        unsigned status;
        char type[CAY_ANSWER_TYPE_MAX + 1]; /* Content-Type; "": none */
        bool closes;                        /* the connection takes no further request */

        /* below: private to answer.c */
        struct cay_buf head;
        struct cay_http_head_search search;
        struct cay_http_body body;
        unsigned interims;
};

void cay_answer_init(struct cay_answer *a);
void cay_answer_done(struct cay_answer *a);
bool cay_answer_has_head(const struct cay_answer *a);

/*
 * Parses more bytes; returns how many were used, or -EBADMSG. *ret_body points at the body's bytes among them
 * (contiguous, at the end of what was used); a call that ends the head has none. Call again with the rest
 * until it is empty or the answer is DONE.
 */
ssize_t cay_answer_feed(struct cay_answer *a, const char *bytes, size_t len, const char **ret_body,
                        size_t *ret_body_len);
int cay_answer_end(
        struct cay_answer *a); /* the connection ended: 0 if the answer is complete, else -EBADMSG */
