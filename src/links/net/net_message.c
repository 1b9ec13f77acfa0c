/* SPDX-License-Identifier: Apache-2.0 */
/* The policy table and its one check. */
#include "links/net/net_message.h"

#include <errno.h>
#include <string.h>

static const struct {
        const char *name;
        unsigned permitted, fds_min, fds_max;
} rows[] = {
#define NET_REQUEST(name, permitted, min, max) [NET_##name] = { #name, permitted, min, max },
#include "links/net/net_message.def"
#undef NET_REQUEST
};

static bool has_id(const char id[CAY_NAME_MAX + 1])
{
        return memchr(id, 0, CAY_NAME_MAX + 1) && cay_id_is_valid(id);
}

int net_request_check(const struct net_request *req, int64_t len, unsigned fds, unsigned state)
{
        if (len != (int64_t)sizeof(*req) || req->magic != NET_WIRE_MAGIC || req->size != sizeof(*req))
                return -EPROTO;
        if (req->type == NET_NONE || req->type >= NET_TYPE_COUNT || !(rows[req->type].permitted & state))
                return -EPROTO;
        if (fds < rows[req->type].fds_min || fds > rows[req->type].fds_max || req->seq == 0)
                return -EPROTO;
        if (req->type == NET_hello || req->type == NET_box_list)
                return 0;
        return has_id(req->type == NET_log_read ? req->log.id : req->box.id) ? 0 : -EPROTO;
}

const char *net_request_name(unsigned type)
{
        return type > NET_NONE && type < NET_TYPE_COUNT ? rows[type].name : "?";
}
