/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page: the files of web/, embedded at build time, for anybody who asks; and the terminal that it shows, for those who are let in
 * (tty.h). The page itself is a client like any other: what it shows it asks /api for. REST's policy for our own answers holds for it
 * (no inline script or style, nothing from elsewhere, in nobody's frame).
 */
#pragma once

#include "dialects/rest/rest.h"

extern const struct cay_rest_more cay_ui_rows[];
extern const unsigned cay_ui_count;
