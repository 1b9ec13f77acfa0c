/* SPDX-License-Identifier: Apache-2.0 */
/* The policy table. */
#include "links/helper/process_message.h"

static const struct helper_request_row rows[] = {
#define HELPER_REQUEST(name, permitted, min, max) HELPER_REQUEST_ROW(PROCESS_, name, permitted, min, max)
#include "links/helper/process_message.def"
#undef HELPER_REQUEST
};

const struct helper_protocol process_protocol = {
        .who = "cay-process",
        .magic = PROCESS_WIRE_MAGIC,
        .version = PROCESS_WIRE_VERSION,
        .request_size = sizeof(struct process_request),
        .answer_size = sizeof(struct process_answer),
        .rows = rows,
        .row_count = PROCESS_TYPE_COUNT,
};
