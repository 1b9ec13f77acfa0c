/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command's user by name, looked up in the box's own /etc/passwd; and how much argv and env fit into one
 * OPEN.
 */
#pragma once

#include "domain/model/user.h"
#include "links/box/box_client.h"

#define CAY_BOX_STRINGS_MAX (CAY_FRAME_MAX - 3 * CAY_BOX_PATH_MAX) /* leaves room for the other fields */

size_t cay_box_strings_size(const char *const *list, unsigned *ret_count); /* in an OPEN; list may be NULL */

struct cay_box_lookup { /* embedded by its owner; zeroed before cay_box_lookup_begin */
        /* Exactly once unless closed first; the ids are filled in when err->code is CAY_OK. */
        void (*on_done)(struct cay_box_lookup *l, struct cay_error *err);

        /* below: private */
        struct cay_box_channel ch;
        struct cay_buf passwd;
        struct cay_user *user; /* borrowed */
};

int cay_box_lookup_begin(struct cay_box_lookup *l, struct cay_box_client *c, struct cay_user *user,
                         void (*on_done)(struct cay_box_lookup *l, struct cay_error *err),
                         struct cay_error *err);
void cay_box_lookup_close(struct cay_box_lookup *l); /* no further events; allowed when finished or zeroed */
