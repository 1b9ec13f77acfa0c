/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a front's request to cay-process: what the policy table lets through is whole, known,
 * permitted and has its descriptor.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/must.h"
#include "links/helper/process_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const struct process_request *req;
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
        if (helper_request_check(&process_protocol, req, (int64_t)size - 1, fds, state) == 0) {
                bool takes_fd = req->type == PROCESS_box_make || req->type == PROCESS_box_link;

                must(size - 1 == sizeof(*req) && req->size == sizeof(*req) && req->seq != 0);
                must(req->type > PROCESS_NONE && req->type < PROCESS_TYPE_COUNT && fds == takes_fd);
                must(state & (req->type == PROCESS_hello ? HELPER_FRESH : HELPER_READY));
                must(strcmp(helper_request_name(&process_protocol, req->type), "?") != 0);
        }
        free(exact);
        return 0;
}
