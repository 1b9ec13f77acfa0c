/* SPDX-License-Identifier: Apache-2.0 */
/* The policy table. */
#include "links/helper/message.h"

static const struct helper_request_row rows[] = {
#define HELPER_REQUEST(name, permitted, min, max) HELPER_REQUEST_ROW(WIRE_, name, permitted, min, max)
#include "links/helper/requests.def"
#undef HELPER_REQUEST
};

const struct helper_protocol wire_protocol = {
        .who = "the warden",
        .magic = WIRE_MAGIC,
        .version = WIRE_VERSION,
        .request_size = sizeof(struct wire_request),
        .answer_size = sizeof(struct wire_answer),
        .rows = rows,
        .row_count = WIRE_TYPE_COUNT,
};
