/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: rows of a kind, filtered. */
#pragma once

#include "domain/model/port_store.h"
#include "daemon/store/db.h"

#define CAY_SELECT_BYTES_MAX (8u * 1024 * 1024) /* of one answer; further rows come with the next page */

/* Fills a query's rows and count from its filters, as far as they fit into mem. */
int cay_select_query(struct cay_db *db, const struct cay_store_query *q, struct cay_arena *mem,
                     const void ***ret_rows, unsigned *ret_count, struct cay_error *err);
enum cay_select_way {
        CAY_SELECT_ORDERED,
        CAY_SELECT_FORWARDS,  /* the table, as far as it is readable */
        CAY_SELECT_BACKWARDS, /* the same from its end */
};

/* Every record; `each` returns false to stop. Its record lives for the call. */
int cay_select_all(struct cay_db *db, enum cay_store_kind kind, enum cay_select_way way,
                   bool (*each)(void *ctx, const void *record), void *ctx, struct cay_error *err);
