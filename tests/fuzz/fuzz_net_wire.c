/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a front's request to cay-net: what the policy table lets through is whole, known, permitted
 * and has its descriptors and id.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/must.h"
#include "links/net/net_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const struct net_request *req;
        unsigned state, fds;
        void *exact;

        if (size < 1)
                return 0;
        state = data[0] & 3;
        fds = data[0] >> 2 & 31;
        exact = malloc(size > 1 ? size - 1 : 1); /* one byte too far is seen */
        must(exact);
        memcpy(exact, data + 1, size - 1);
        req = exact;
        if (helper_request_check(&net_protocol, req, (int64_t)size - 1, fds, state) == 0 &&
            net_request_check_id(req) == 0) {
                must(size - 1 == sizeof(*req) && req->size == sizeof(*req) && req->seq != 0);
                must(req->type > NET_NONE && req->type < NET_TYPE_COUNT);
                if (req->type == NET_box_add)
                        must(fds >= 1 && fds <= NET_FD_DIALS + NET_DIALS_MAX + 1);
                else
                        must(fds == (req->type == NET_box_policy || req->type == NET_box_secrets ||
                                     req->type == NET_box_proxy || req->type == NET_dial));
                must(state & (req->type == NET_hello ? HELPER_FRESH : HELPER_READY));
                must(strcmp(helper_request_name(&net_protocol, req->type), "?") != 0);
                if (req->type == NET_log_read)
                        must(cay_id_is_valid(req->log.id));
                else if (req->type == NET_dial)
                        must(strnlen(req->dial.host, NET_NAME) < NET_NAME && req->dial.host[0] &&
                             req->dial.port - 1 < 65535 && req->dial.may_private <= 1);
                else if (req->type != NET_hello && req->type != NET_box_list)
                        must(cay_id_is_valid(req->box.id));
        }
        free(exact);
        return 0;
}
