/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page for language models: the tree that Chromium makes for people who use screen readers (Accessibility.getFullAXTree), as lines of text:
 *
 *   heading "Sign in" level=1
 *   form
 *     textbox "Name" [e12] value="Ada" focused
 *     button "Add" [e15] disabled
 *     text: Forgotten your password?
 *
 * What can be acted on has a reference (e12): Chromium's own number of the node, good as long as the node is on the page.
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

/*
 * nodes: the array of CDP's AXNodes. Appends lines, at most `max` bytes. 0; -EBADMSG: it is no such array; -ENOMEM.
 */
int cay_outline_write(struct cay_json_view nodes, size_t max, struct cay_buf *out, struct cay_outline *ret);
