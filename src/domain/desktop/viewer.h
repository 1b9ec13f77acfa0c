/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person's viewer (noVNC) says to the RFB server of a desktop, as plain memory: bytes of the viewer go
 * in, and what the server is to get comes out. What the server says goes to the viewer unread: it is the
 * viewer's to judge, and nothing of ours depends on it.
 *
 * Theory of operation. Every message has a type that is known here and a length that follows from its head,
 * or the viewer is refused. So the reader knows where a message begins, and can leave out whole ones: input
 * of a viewer that may only look, and of one while somebody else has the pointer and the keys (seats.h). Two
 * things are changed. The connection is always a shared one. And extensions are offered to the server only if
 * they are in the table of viewer.c, since others could give messages another length: extended pointer events
 * do.
 *
 * A change of the size that is not permitted is sent as one that no server can grant (a screen without
 * screens), so that the viewer gets an answer; noVNC asks for no other size before it has one. Keys and
 * buttons that this viewer pressed can always be released.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foundation/base/buf.h"
#include "foundation/base/error.h"

#define CAY_VIEWER_OUT_MAX (64u * 1024)
#define CAY_VIEWER_OUT_HIGH (32u * 1024) /* nothing more is taken from here on */
#define CAY_VIEWER_TEXT_MAX (1024u * 1024)
#define CAY_VIEWER_ENCODINGS_MAX 256u
#define CAY_VIEWER_KEYS_MAX 32u

enum cay_viewer_step {
        CAY_VIEWER_BANNER,
        CAY_VIEWER_SECURITY,
        CAY_VIEWER_INIT,
        CAY_VIEWER_MESSAGE, /* from here on the viewer is in */
        CAY_VIEWER_HEAD,
        CAY_VIEWER_ENCODING,
        CAY_VIEWER_PASS, /* the rest of a message, to the server */
        CAY_VIEWER_SKIP, /* the rest of a message that is left out */
        CAY_VIEWER_STEP_COUNT
};

struct cay_viewer_input { /* what a viewer does, for its owner */
        bool is_pointer;
        unsigned buttons, x, y; /* is_pointer */
};

struct cay_rfb_viewer {
        /* set by the owner: */
        bool only_looks;
        /* Whether this viewer may send input now; asked for each message of input. NULL: yes. */
        bool (*may_act)(struct cay_rfb_viewer *v);
        void (*on_act)(struct cay_rfb_viewer *v, const struct cay_viewer_input *input); /* may be NULL */

        /* for the owner: */
        struct cay_buf out; /* to be sent; the owner drops what was sent */
        bool holds;         /* keys or buttons are down */
        uint64_t refused;   /* messages of input that were left out */

        /* private */
        enum cay_viewer_step step;
        size_t need, got;
        uint8_t head[32];
        uint64_t left;      /* bytes of PASS and SKIP */
        unsigned encodings; /* still to come */
        unsigned offered;   /* encodings that are kept */
        uint8_t kept[4 + 4 * CAY_VIEWER_ENCODINGS_MAX];
        unsigned buttons;  /* that are down */
        uint8_t place[4];  /* of the pointer, as it was last said */
        bool drag_refused; /* a press was left out: so is what follows until no button is down */
        uint32_t keys[CAY_VIEWER_KEYS_MAX]; /* that are down */
        unsigned key_count;
};

void cay_viewer_init(struct cay_rfb_viewer *v);
void cay_viewer_done(struct cay_rfb_viewer *v); /* safe on a zeroed one */
/*
 * Takes bytes until CAY_VIEWER_OUT_HIGH are to be sent; ret_taken says how many. CAY_INVALID: the viewer
 * broke the rules; then it must not be fed again.
 */
int cay_viewer_feed(struct cay_rfb_viewer *v, const void *bytes, size_t len, size_t *ret_taken,
                    struct cay_error *err);
/*
 * The viewer goes: says that its buttons are up, which servers do not do by themselves (they do release
 * keys). False: there is nothing to say.
 */
bool cay_viewer_leave(struct cay_rfb_viewer *v);
