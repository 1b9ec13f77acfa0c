/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads multipart/form-data piece by piece. Pure: the caller holds the bytes, and each step says how many of
 * them are done with. A part's head has at most CAY_MULTIPART_HEAD bytes; what is before the first delimiter
 * is refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CAY_MULTIPART_BOUNDARY 200u
#define CAY_MULTIPART_HEAD 8192u
#define CAY_MULTIPART_NAME 4096u

enum cay_multipart_event {
        CAY_MULTIPART_MORE,  /* nothing to tell; wants more bytes, if it consumed none */
        CAY_MULTIPART_BEGIN, /* of a part: name, filename */
        CAY_MULTIPART_DATA,  /* the bytes that this step consumed */
        CAY_MULTIPART_END,   /* of the part */
        CAY_MULTIPART_DONE,  /* there are no more parts; the rest is not looked at */
        CAY_MULTIPART_BAD,
};

struct cay_multipart {
        char delimiter[CAY_MULTIPART_BOUNDARY + 8]; /* CR LF and two dashes come first */
        size_t delimiter_len;
        enum {
                CAY_MULTIPART_START,
                CAY_MULTIPART_IN_HEAD,
                CAY_MULTIPART_IN_BODY,
                CAY_MULTIPART_AFTER,
                CAY_MULTIPART_OVER
        } state;
        char name[64], filename[CAY_MULTIPART_NAME]; /* of the part */
        bool has_filename;
};

/* type: a Content-Type. False: not multipart/form-data with a boundary. */
bool cay_multipart_init(struct cay_multipart *m, const char *type);
/* Looks at bytes (which follow those that were consumed) and says in *ret_used how many are done with. */
enum cay_multipart_event cay_multipart_step(struct cay_multipart *m, const char *bytes, size_t len,
                                            size_t *ret_used);
