/* SPDX-License-Identifier: Apache-2.0 */
/* The policy table and its one check. */
#include "links/helper/message.h"

#include <errno.h>

static const struct {
        const char *name;
        unsigned permitted, fds_min, fds_max;
} rows[] = {
#define CAY_REQUEST(name, permitted, min, max) [WIRE_##name] = { #name, permitted, min, max },
#include "links/helper/requests.def"
#undef CAY_REQUEST
};

int wire_request_check(const struct wire_request *req, int64_t len, unsigned fds, unsigned state)
{
        if (len != (int64_t)sizeof(*req) || req->magic != WIRE_MAGIC || req->size != sizeof(*req))
                return -EPROTO;
        if (req->type == WIRE_NONE || req->type >= WIRE_TYPE_COUNT || !(rows[req->type].permitted & state))
                return -EPROTO;
        if (fds < rows[req->type].fds_min || fds > rows[req->type].fds_max || req->seq == 0)
                return -EPROTO;
        return 0;
}

const char *wire_request_name(unsigned type)
{
        return type > WIRE_NONE && type < WIRE_TYPE_COUNT ? rows[type].name : "?";
}
