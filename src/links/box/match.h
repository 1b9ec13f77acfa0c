/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of SEARCH on OUT: a sequence of records, each a u16 length followed by a matching line. Names
 * are paths below the searched folder ("" when a file was searched). Names and texts are raw bytes from the
 * file system.
 */
#pragma once

#include "links/box/message.h"

#define CAY_BOX_MATCH_TEXT 400u /* bytes of a line that are reported */

enum {                           /* flags */
       CAY_MATCH_CUT_BEFORE = 1, /* the text begins inside the line */
       CAY_MATCH_CUT_BEHIND = 2, /* it ends before the line does */
};

/* Why a search stopped early or skipped something: bits of END's mode. */
enum {
        CAY_SEARCH_ENOUGH = 1,  /* max_entries or max_bytes were reached */
        CAY_SEARCH_TIME = 2,    /* it took too long */
        CAY_SEARCH_CROWDED = 4, /* there are more files than it can track */
        CAY_SEARCH_PASSED = 8,  /* unreadable or too deep entries were skipped */
};

struct cay_box_match {
        uint8_t flags;
        uint64_t line; /* from 1 */
        struct cay_view name, text;
};

#define CAY_BOX_MATCH_MAX (2u + 1 + 8 + 4 + CAY_BOX_PATH_MAX + 4 + CAY_BOX_MATCH_TEXT)

/* The length, -EMSGSIZE or -EINVAL. */
int cay_box_match_encode(const struct cay_box_match *m, void *mem, size_t size);
/* Bytes used; 0: incomplete; or -EPROTO. Views point into mem. */
int cay_box_match_decode(const void *mem, size_t len, struct cay_box_match *ret);
