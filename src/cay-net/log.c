/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-net/log.h"

#include <stdlib.h>
#include <string.h>

#include "foundation/base/str.h"

/* A row is an entry up to its texts, and then these, each with its NUL. */
#define HEAD_SIZE offsetof(struct net_log_entry, name)

void net_log_init(struct net_log *l, uint64_t next)
{
        *l = (struct net_log){ .first = next > 0 ? next : 1, .next = next > 0 ? next : 1 };
}

static size_t packed_size(const struct net_log_entry *e)
{
        return HEAD_SIZE + strlen(e->name) + strlen(e->rule) + strlen(e->why) + 3;
}

static void drop_first(struct net_log *l)
{
        struct net_log_row **row = &l->rows[l->first % NET_LOG_MAX];
        struct net_log_entry e;

        if (net_log_read(l, l->first, &e) && e.number == l->first)
                l->bytes -= packed_size(&e);
        free(*row);
        *row = NULL;
        l->first++;
}

void net_log_done(struct net_log *l)
{
        while (l->first < l->next)
                drop_first(l);
}

static char *put(char *at, const char *text)
{
        size_t len = strlen(text) + 1;

        memcpy(at, text, len);
        return at + len;
}

void net_log_add(struct net_log *l, struct net_log_entry *e)
{
        size_t size = packed_size(e);
        char *at;

        e->number = l->next;
        while (l->first < l->next && (l->next - l->first >= NET_LOG_MAX || l->bytes + size > NET_LOG_BYTES))
                drop_first(l);
        at = malloc(size);
        l->rows[l->next++ % NET_LOG_MAX] = (struct net_log_row *)(void *)at;
        if (!at)
                return;
        l->bytes += size;
        memcpy(at, e, HEAD_SIZE);
        at = put(at + HEAD_SIZE, e->name);
        at = put(at, e->rule);
        put(at, e->why);
}

static void unpack(const char *row, struct net_log_entry *ret)
{
        const char *at = row + HEAD_SIZE;

        memcpy(ret, row, HEAD_SIZE);
        cay_str_copy(ret->name, sizeof(ret->name), at);
        at += strlen(at) + 1;
        cay_str_copy(ret->rule, sizeof(ret->rule), at);
        at += strlen(at) + 1;
        cay_str_copy(ret->why, sizeof(ret->why), at);
}

bool net_log_read(const struct net_log *l, uint64_t from, struct net_log_entry *ret)
{
        memset(ret, 0, sizeof(*ret));
        for (uint64_t n = from > l->first ? from : l->first; n < l->next; n++) {
                const struct net_log_row *row = l->rows[n % NET_LOG_MAX];

                if (row) {
                        unpack((const char *)row, ret);
                        return true;
                }
        }
        return false;
}
