/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of a tab, as they are at one moment: documents in the page, of its site and of others. A
 * document of another site may have a process of its own, and with it a session (driver.h); where one has,
 * the sessions are asked one after the other.
 */
#pragma once

#include "domain/browser/action.h"
#include "domain/browser/outline.h"

#define CAY_FRAMES_MAX 64u

struct cay_frame {
        char id[40];
        char session[CAY_CDP_SESSION_LEN + 1]; /* of its document */
        char around[CAY_CDP_SESSION_LEN + 1];  /* of the document that it lies in; "": it is the page */
        /* for an outline */
        unsigned number; /* for references; 0: the page */
        struct cay_outline_hole place;
        unsigned in;       /* the frame that place is in */
        size_t begin, end; /* its lines */
        bool was_put;
};

struct cay_frames {
        struct cay_frame items[CAY_FRAMES_MAX]; /* the page is the first one */
        unsigned count, at;
        char session[CAY_CDP_SESSION_LEN + 1]; /* that is being asked for its frames; "": all were */
        bool is_whole;                         /* nothing was left out */
        struct cay_buf lines;
        unsigned line_count;
};

void cay_frames_free(struct cay_frames *f); /* accepts NULL */

/*
 * Finds out a->frames: always, or if an element is looked for that was not found in the page (wants_frames).
 */
extern const struct cay_step cay_step_all_frames, cay_step_frames;
