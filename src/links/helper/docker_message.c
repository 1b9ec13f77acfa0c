/* SPDX-License-Identifier: Apache-2.0 */
/* The policy table and its one check. */
#include "links/helper/docker_message.h"

#include <errno.h>

static const struct {
        const char *name;
        unsigned permitted, fds_min, fds_max;
} rows[] = {
#define DOCKER_REQUEST(name, permitted, min, max) [DOCKER_##name] = { #name, permitted, min, max },
#include "links/helper/docker_message.def"
#undef DOCKER_REQUEST
};

int docker_request_check(const struct docker_request *req, int64_t len, unsigned fds, unsigned state)
{
        if (len != (int64_t)sizeof(*req) || req->magic != DOCKER_WIRE_MAGIC || req->size != sizeof(*req))
                return -EPROTO;
        if (req->type == DOCKER_NONE || req->type >= DOCKER_TYPE_COUNT ||
            !(rows[req->type].permitted & state))
                return -EPROTO;
        if (fds < rows[req->type].fds_min || fds > rows[req->type].fds_max || req->seq == 0)
                return -EPROTO;
        return 0;
}

const char *docker_request_name(unsigned type)
{
        return type > DOCKER_NONE && type < DOCKER_TYPE_COUNT ? rows[type].name : "?";
}
