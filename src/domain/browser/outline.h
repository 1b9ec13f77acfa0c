/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page for language models: the tree that Chromium makes for people who use screen readers
 * (Accessibility.getFullAXTree), as lines of text:
 *
 *   heading "Sign in" level=1
 *   form
 *     textbox "Name" [e12] value="Ada" focused
 *     button "Add" [e15] disabled
 *     text: Forgotten your password?
 *
 * What can be acted on has a reference (e12): Chromium's own number of the node, good as long as the node is
 * on the page. Each process of Chromium numbers by itself, so that a frame with a process of its own has its
 * number in front (f3e12). How frames are put together: actions_outline.c.
 */
#pragma once

#include "foundation/base/buf.h"
#include "foundation/base/json_view.h"

#define CAY_OUTLINE_NODES_MAX 20000u /* that are read */
#define CAY_OUTLINE_DEPTH_MAX 60u

struct cay_outline {
        unsigned lines;
        bool truncated;
};

struct cay_outline_hole { /* where the document of a frame belongs */
        uint64_t owner;   /* the node that the frame is in */
        bool is_found;
        size_t at; /* behind its line, in the buffer */
        unsigned depth;
};

struct cay_outline_options {            /* zeroed: none */
        unsigned frame;                 /* number that references begin with ("f3e12"); 0: none */
        struct cay_outline_hole *holes; /* borrowed; found ones are filled */
        unsigned hole_count;
};

/*
 * nodes: the array of CDP's AXNodes. Appends lines, at most `max` bytes. 0; -EBADMSG: it is no such array;
 * -ENOMEM.
 */
int cay_outline_write(struct cay_json_view nodes, const struct cay_outline_options *o, size_t max,
                      struct cay_buf *out, struct cay_outline *ret);
