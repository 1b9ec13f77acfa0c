/* SPDX-License-Identifier: Apache-2.0 */
/* The policy table, and the checks of requests to cay-net beyond those that all helpers share. */
#include "links/net/net_message.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const struct helper_request_row rows[NET_TYPE_COUNT] = {
#define NET_REQUEST(name, permitted, min, max) HELPER_REQUEST_ROW(NET_, name, permitted, min, max)
#include "links/net/net_message.def"
#undef NET_REQUEST
};

const struct helper_protocol net_protocol = {
        .who = "cay-net",
        .magic = NET_WIRE_MAGIC,
        .version = NET_WIRE_VERSION,
        .request_size = sizeof(struct net_request),
        .answer_size = sizeof(struct net_answer),
        .rows = rows,
        .row_count = NET_TYPE_COUNT,
};

static bool has_id(const char id[CAY_NAME_MAX + 1])
{
        return memchr(id, 0, CAY_NAME_MAX + 1) && cay_id_is_valid(id);
}

static bool is_dial(const struct net_dial_request *d)
{
        return d->host[0] != '\0' && memchr(d->host, 0, sizeof(d->host)) && d->port > 0 &&
               d->port <= UINT16_MAX && d->may_private <= 1;
}

int net_request_check_id(const struct net_request *req)
{
        if (req->type == NET_hello || req->type == NET_box_list)
                return 0;
        if (req->type == NET_dial)
                return is_dial(&req->dial) ? 0 : -EPROTO;
        return has_id(req->type == NET_log_read ? req->log.id : req->box.id) ? 0 : -EPROTO;
}
