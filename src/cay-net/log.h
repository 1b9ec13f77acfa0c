/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last log entries of one sandbox, numbered from 1 without gaps. At most NET_LOG_MAX of them and
 * NET_LOG_BYTES in all: an entry is kept with its texts packed, a tenth of a message's size.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "links/net/net_message.h"

#define NET_LOG_BYTES 131072u

struct net_log_row; /* private */

struct net_log {
        struct net_log_row *rows[NET_LOG_MAX]; /* owned; by number */
        uint64_t first, next;                  /* numbers kept: from first to next - 1 */
        size_t bytes;
};

void net_log_init(struct net_log *l, uint64_t next); /* next: number of the first entry; 0 is 1 */
void net_log_done(struct net_log *l);
/* Sets e->number. Without memory the number is used up and the entry is missing. */
void net_log_add(struct net_log *l, struct net_log_entry *e);
/* The first entry whose number is not below `from`; false: there is none (and *ret is empty). */
bool net_log_read(const struct net_log *l, uint64_t from, struct net_log_entry *ret);
