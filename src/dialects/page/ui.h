/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page: the files of web/, embedded at build time, for anybody; and its terminal, for authenticated
 * callers (tty.h). The page is a client like any other and uses /api. REST's security policy applies to it
 * (no inline script or style, nothing from elsewhere, no framing but of CAY_UI_FRAMED).
 */
#pragma once

#include "dialects/rest/rest.h"

#define CAY_UI_FRAMED                                                                                        \
        "GET /live.html" /* a page that others may show in a frame: it has no session, only its link */
extern const struct cay_rest_more cay_ui_rows[];
extern const unsigned cay_ui_count;
