/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common to engines with a helper, besides the link: the list of boxes (the port reports them without a
 * request to the helper), the names of limits on the link, and the ends of a box link.
 */
#pragma once

#include "domain/model/port_engine.h"
#include "links/helper/helper_message.h"

#define ENGINE_BOXES_MAX 1024u

struct engine_known {              /* a box there is */
        char id[CAY_NAME_MAX + 1]; /* "": free */
        bool live;                 /* it runs; else only its kept layer exists */
        bool kept;
};

struct engine_boxes {
        unsigned rows; /* that were ever used */
        struct engine_known known[ENGINE_BOXES_MAX];
        void (*gone)(void *ctx, const char *id); /* as given to the port's on_gone; may be NULL */
        void *gone_ctx;
        void (*files_lost)(void *ctx, const char *id); /* as given to on_files_lost; may be NULL */
        void *files_lost_ctx;
};

struct engine_known *engine_boxes_find(struct engine_boxes *b, const char *id);       /* NULL: none */
void engine_boxes_note(struct engine_boxes *b, const char *id, bool live, bool kept); /* new, or changed */
void engine_boxes_forget(struct engine_boxes *b, const char *id);
bool engine_boxes_has_live(const struct engine_boxes *b);
void engine_boxes_tell_gone(struct engine_boxes *b, const char *id);
void engine_boxes_tell_files_lost(struct engine_boxes *b, const char *id); /* and forgets it */
void engine_boxes_lose_all(struct engine_boxes *b); /* reports each that ran, and removes all */
void engine_boxes_each_live(const struct engine_boxes *b, void (*each)(void *ctx, const char *id), void *ctx);

/*
 * Limits that a helper may enforce, by their bits on every link (enum helper_limit); cay-init enforces the
 * rest.
 */
unsigned engine_limits_from_wire(unsigned wire);
unsigned engine_limits_to_wire(unsigned core);
unsigned engine_limits_by_init(void); /* held wherever cay-init runs */

/* box->link_fd, and the other end for the helper. */
int engine_box_open_link(struct cay_engine_box *box, int *ret_theirs, struct cay_error *err);
int engine_box_make_secret(struct cay_engine_box *box, struct cay_error *err);
