/* SPDX-License-Identifier: Apache-2.0 */
/* The policy table and its one check. */
#include "links/helper/process_message.h"

#include <errno.h>

static const struct {
        const char *name;
        unsigned permitted, fds_min, fds_max;
} rows[] = {
#define PROCESS_REQUEST(name, permitted, min, max) [PROCESS_##name] = { #name, permitted, min, max },
#include "links/helper/process_message.def"
#undef PROCESS_REQUEST
};

int process_request_check(const struct process_request *req, int64_t len, unsigned fds, unsigned state)
{
        if (len != (int64_t)sizeof(*req) || req->magic != PROCESS_WIRE_MAGIC || req->size != sizeof(*req))
                return -EPROTO;
        if (req->type == PROCESS_NONE || req->type >= PROCESS_TYPE_COUNT ||
            !(rows[req->type].permitted & state))
                return -EPROTO;
        if (fds < rows[req->type].fds_min || fds > rows[req->type].fds_max || req->seq == 0)
                return -EPROTO;
        return 0;
}

const char *process_request_name(unsigned type)
{
        return type > PROCESS_NONE && type < PROCESS_TYPE_COUNT ? rows[type].name : "?";
}
