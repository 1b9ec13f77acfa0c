/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live view: what a browser shows, as pictures, for people who look at it and for recordings; and the one
 * person at a time who takes over.
 *
 * Theory of operation. A browser has one screen, which shows one tab: the one that something was done in
 * last, a tab that has just opened, or what the person at it has chosen. While anybody looks, a client of our
 * own (cdp_user.h) is attached to that tab and Chromium sends a frame (JPEG) whenever the picture has
 * changed. Only the newest frame is kept. Each viewer says when it is ready for one and then gets the newest,
 * so a slow viewer gets fewer frames and nothing is queued for it. Chromium is told that a frame has arrived
 * when at least one viewer has taken it, and not more often than every CAY_LIVE_FRAME_MS: if nobody is ready,
 * Chromium makes no more. When the page is still, one more picture is asked for, since frames that change
 * quickly may be dropped on the way.
 *
 * What clients and actions do with the mouse is heard where their commands pass (cdp_mux.h), so viewers can
 * be shown where the agent's pointer is.
 *
 * Taking over. A viewer that may act takes over, if nobody else has, and hands back; it also does when it
 * leaves or has done nothing for CAY_LIVE_TURN_MS. Meanwhile actions that do what a person does fail with
 * CAY_CONFLICT, and so do commands of CDP clients for input and navigation (cdp_methods.def). Desktops let
 * whoever comes first have the pointer for seconds (domain/desktop/seats.h); here handing over is explicit,
 * since a person who reads a text message with a code must not be interrupted. A person goes to addresses of
 * the web alone: a link to this view must not open the sandbox's files.
 */
#pragma once

#include "domain/browser/browser.h"
#include "domain/browser/live_order.h"
#include "foundation/base/json_out.h"

#define CAY_LIVE_VIEWERS_MAX 16u /* of one browser, recordings among them */
#define CAY_LIVE_FRAME_MAX (4u << 20)
#define CAY_LIVE_FRAME_MS 80u
#define CAY_LIVE_TURN_MS (5u * 60 * 1000)

struct cay_live_frame {
        const void *bytes; /* JPEG; borrowed for the call */
        size_t len;
        uint64_t number; /* from 1, of this browser */
        uint64_t wall_ms;
        unsigned width, height; /* of the page's view, in CSS pixels: orders speak of these */
        unsigned tab;           /* number */
};

enum { /* what has changed; bits */
       CAY_LIVE_TABS = 1,
       CAY_LIVE_POINTER = 2,
       CAY_LIVE_TURN = 4,
       CAY_LIVE_ASKS = 8, /* a dialog */
       CAY_LIVE_NOTE = 16,
       CAY_LIVE_ALL = 31,
};

struct cay_live_viewer { /* embedded by its owner: zeroed, then */
        void (*on_frame)(struct cay_live_viewer *v, const struct cay_live_frame *f);
        void (*on_news)(struct cay_live_viewer *v, unsigned bits);
        void (*on_room)(struct cay_live_viewer *v); /* after -EAGAIN; may be NULL */
        void (*on_gone)(struct cay_live_viewer *v,
                        const struct cay_error *why); /* once; it is closed by then */
        unsigned least_ms;                            /* between two frames */
        bool only_looks;
        bool is_recorder; /* nobody looks: the sandbox is not in use because of it */

        /* private */
        struct cay_browser *browser; /* NULL: closed */
        struct cay_live_viewer *next;
        struct cay_timer pace;
        uint64_t seen, last_ms;
        unsigned news;
        bool is_ready, is_due, waits_for_room;
};

/*
 * CAY_NOT_FOUND: none runs (only_running); CAY_LIMIT: too many look. on_news with everything follows;
 * callbacks never come inside.
 */
int cay_live_open(struct cay_browsers *bs, const struct cay_viewer *who, const char *sandbox,
                  bool only_running, struct cay_live_viewer *v, struct cay_error *err);
void cay_live_close(struct cay_live_viewer *v); /* no callback follows; may be called on a closed one */
void cay_live_ready(struct cay_live_viewer *v); /* for one more frame; on_frame may come inside */
/*
 * 0; -EAGAIN: too much is under way, and on_room follows; -1: refused, and err says why. Every kind but
 * CAY_LIVE_ACK.
 */
int cay_live_act(struct cay_live_viewer *v, const struct cay_live_order *order, struct cay_error *err);
/* Writes what the bit speaks of, as a member of an object. */
void cay_live_put(const struct cay_live_viewer *v, unsigned bit, struct cay_json *j);
/* Where the pointer was last; false: not known. Address and title of the tab that is shown. */
bool cay_live_pointer(const struct cay_live_viewer *v, int *ret_x, int *ret_y);
const struct cay_tab *cay_live_tab(const struct cay_live_viewer *v); /* NULL: none */
