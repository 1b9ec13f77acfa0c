/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of RFB 3.8 (the protocol of VNC) as plain memory: bytes of the server go in, bytes for it come
 * out, and the screen is kept. The server runs in a sandbox and counts as hostile: what it sends is checked,
 * and it decides about no more memory than CAY_RFB_PIXELS_MAX pixels.
 *
 * Security type None only: the socket is private to the sandbox's user. Pixels are asked for as B, G, R, 0
 * and uncompressed. The server draws the pointer into the picture, since no encoding for pointers is offered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foundation/base/buf.h"
#include "foundation/base/error.h"

#define CAY_RFB_SIDE_MAX 8192u
#define CAY_RFB_PIXELS_MAX (3840u * 2160) /* of a screen: 32 MiB */
#define CAY_RFB_OUT_MAX (64u * 1024)

enum cay_rfb_step {
        CAY_RFB_BANNER,
        CAY_RFB_SECURITY_COUNT,
        CAY_RFB_SECURITY,
        CAY_RFB_SECURITY_RESULT,
        CAY_RFB_INIT,
        CAY_RFB_MESSAGE, /* from here on the session is open */
        CAY_RFB_UPDATE,
        CAY_RFB_RECT,
        CAY_RFB_PIXELS,
        CAY_RFB_SCREENS_COUNT,
        CAY_RFB_COLOURS,
        CAY_RFB_CUT_TEXT,
        CAY_RFB_SKIP,
        CAY_RFB_STEP_COUNT
};

struct cay_rfb_rect {
        unsigned x, y, w, h;
};

struct cay_rfb {
        /* for the owner: */
        struct cay_budget
                *budget;    /* set by the owner, or NULL: the screen's memory is taken from it; borrowed */
        struct cay_buf out; /* to be sent; the owner drops what was sent */
        unsigned width, height;
        uint8_t *pixels;   /* owned; width × height × {B, G, R, 0}; NULL before the first ones */
        bool is_open;      /* the handshake is over */
        bool wants_screen; /* set by the owner before the handshake: updates are asked for until has_screen */
        bool has_screen;   /* every pixel came at this size */
        bool follows;      /* set by the owner: asks for the next update whenever one has come */
        uint64_t updates;  /* complete updates that changed pixels */
        uint64_t answers;  /* complete updates of all kinds */
        uint64_t sizes;    /* answers to a request for a size, and changes of the size */
        unsigned size_status; /* of the last answer to such a request; 0: it was granted */

        /* private */
        enum cay_rfb_step step, after; /* after: SKIP */
        size_t need;                   /* bytes of the head that is read next */
        size_t got;
        uint8_t head[32];
        uint64_t skip;
        unsigned left;   /* of an update: rectangles to come */
        bool has_pixels; /* this update has some */
        struct cay_rfb_rect rect;
        uint64_t pixel_at, pixel_bytes; /* of the rectangle */
        uint64_t pixels_seen;           /* since the size is as it is */
        unsigned types_left;            /* security types that are still to come */
        bool has_none;                  /* None is among them */
};

void cay_rfb_init(struct cay_rfb *r);
void cay_rfb_done(struct cay_rfb *r); /* safe on a zeroed one */
/*
 * CAY_UNAVAILABLE: the server broke the rules, or has a screen beyond the limit. Then it must not be fed
 * again.
 */
int cay_rfb_feed(struct cay_rfb *r, const void *bytes, size_t len, struct cay_error *err);

/* What a client says. 0, or -ENOSPC: `out` is full. */
int cay_rfb_ask(struct cay_rfb *r, bool incremental); /* for an update */
int cay_rfb_sync(
        struct cay_rfb
                *r); /* for one pixel: an update comes when the server has read all that was said before */
int cay_rfb_key(struct cay_rfb *r, uint32_t keysym, bool down);
int cay_rfb_pointer(struct cay_rfb *r, unsigned buttons, unsigned x, unsigned y);
int cay_rfb_resize(struct cay_rfb *r, unsigned width, unsigned height);
