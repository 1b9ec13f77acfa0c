/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads multipart/form-data piece by piece. Pure: the caller holds the bytes, and each step says how many of them are done with.
 * A part's head has at most E2B_MULTIPART_HEAD bytes; what is before the first delimiter is refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define E2B_MULTIPART_BOUNDARY 200u
#define E2B_MULTIPART_HEAD 8192u
#define E2B_MULTIPART_NAME 4096u

enum e2b_multipart_event {
        E2B_MULTIPART_MORE,  /* nothing to tell; wants more bytes, if it consumed none */
        E2B_MULTIPART_BEGIN, /* of a part: name, filename */
        E2B_MULTIPART_DATA,  /* the bytes that this step consumed */
        E2B_MULTIPART_END,   /* of the part */
        E2B_MULTIPART_DONE,  /* there are no more parts; the rest is not looked at */
        E2B_MULTIPART_BAD,
};

struct e2b_multipart {
        char delimiter[E2B_MULTIPART_BOUNDARY + 8]; /* CR LF and two dashes come first */
        size_t delimiter_len;
        enum {
                E2B_MULTIPART_START,
                E2B_MULTIPART_IN_HEAD,
                E2B_MULTIPART_IN_BODY,
                E2B_MULTIPART_AFTER,
                E2B_MULTIPART_OVER
        } state;
        char name[64], filename[E2B_MULTIPART_NAME]; /* of the part */
        bool has_filename;
};

/* type: a Content-Type. False: not multipart/form-data with a boundary. */
bool e2b_multipart_init(struct e2b_multipart *m, const char *type);
/* Looks at bytes (which follow those that were consumed) and says in *ret_used how many are done with. */
enum e2b_multipart_event e2b_multipart_step(struct e2b_multipart *m, const char *bytes, size_t len,
                                            size_t *ret_used);
