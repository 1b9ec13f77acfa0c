/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person who looks at a browser says, as plain memory: one JSON object for each message. The words are
 * in the table of live_order.c; docs/browser.md lists them for people who write viewers.
 *
 * Everything is checked here and brought within its bounds, so that what is made of it for the browser
 * (live_act.c) is well formed whatever came.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/error.h"

#define CAY_LIVE_ORDER_MAX (64u * 1024) /* bytes of a message */
#define CAY_LIVE_TEXT_MAX (16u * 1024)  /* of a text, an address */
#define CAY_LIVE_FAR 32768              /* no point is farther away, and no wheel turns by more */

enum cay_live_kind {
        CAY_LIVE_ACK, /* a frame was drawn */
        CAY_LIVE_TAKE,
        CAY_LIVE_GIVE,
        CAY_LIVE_MOUSE,
        CAY_LIVE_KEY,
        CAY_LIVE_TEXT,
        CAY_LIVE_GO,
        CAY_LIVE_HISTORY,
        CAY_LIVE_TAB_SELECT,
        CAY_LIVE_TAB_OPEN,
        CAY_LIVE_TAB_CLOSE,
        CAY_LIVE_DIALOG,
        CAY_LIVE_KIND_COUNT
};

enum cay_live_mouse { CAY_LIVE_MOVE, CAY_LIVE_DOWN, CAY_LIVE_UP, CAY_LIVE_WHEEL, CAY_LIVE_MOUSE_COUNT };
enum cay_live_history { CAY_LIVE_BACK, CAY_LIVE_FORWARD, CAY_LIVE_RELOAD, CAY_LIVE_HISTORY_COUNT };

struct cay_live_order {
        enum cay_live_kind kind;
        uint64_t number; /* of a frame, of a tab */
        /* mouse: a point of the page in CSS pixels */
        enum cay_live_mouse mouse;
        int x, y, dx, dy;
        const char *button; /* "left", "middle", "right", "none"; static */
        unsigned buttons;   /* that are down: 1 left, 2 right, 4 middle */
        unsigned clicks;
        unsigned modifiers; /* 1 Alt, 2 Control, 4 Meta, 8 Shift */
        /* key, as the browser of the person names it */
        char key[32], code[32];
        unsigned vk, place;
        bool is_down, is_repeat;
        enum cay_live_history history;
        bool accepts; /* a dialog */
        char text[CAY_LIVE_TEXT_MAX +
                  1]; /* a text to type, an address, an answer to a prompt; UTF-8 without NUL */
};

/* 0, or -1 with what is wrong in words (CAY_INVALID). */
int cay_live_order_read(const char *json, size_t len, struct cay_live_order *ret, struct cay_error *err);
