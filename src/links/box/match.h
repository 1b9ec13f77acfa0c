/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a SEARCH tells on OUT: one record after the other, each a u16 length, then a line that matched. Names are paths below the searched
 * folder ("" when a file was searched), names and texts are bytes as the file system has them.
 */
#pragma once

#include "links/box/message.h"

#define CAY_BOX_MATCH_TEXT 400u /* bytes of a line that are told */

enum {                           /* flags */
       CAY_MATCH_CUT_BEFORE = 1, /* the text begins inside the line */
       CAY_MATCH_CUT_BEHIND = 2, /* it ends before the line does */
};

/* Why a search stopped early, or passed something over: bits of END's mode. */
enum {
        CAY_SEARCH_ENOUGH = 1,  /* max_entries or max_bytes were reached */
        CAY_SEARCH_TIME = 2,    /* it took too long */
        CAY_SEARCH_CROWDED = 4, /* there are more files than it keeps in mind */
        CAY_SEARCH_PASSED = 8,  /* what may not be read, or is too deep, was passed over */
};

struct cay_box_match {
        uint8_t flags;
        uint64_t line; /* from 1 */
        struct cay_view name, text;
};

#define CAY_BOX_MATCH_MAX (2u + 1 + 8 + 4 + CAY_BOX_PATH_MAX + 4 + CAY_BOX_MATCH_TEXT)

/* The length, -EMSGSIZE or -EINVAL. */
int cay_box_match_encode(const struct cay_box_match *m, void *mem, size_t size);
/* Bytes used, 0: not all of it is there, -EPROTO. Views point into mem. */
int cay_box_match_decode(const void *mem, size_t len, struct cay_box_match *ret);
