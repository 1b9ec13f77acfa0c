/* SPDX-License-Identifier: Apache-2.0 */
/* The policy table. */
#include "links/helper/docker_message.h"

static const struct helper_request_row rows[] = {
#define HELPER_REQUEST(name, permitted, min, max) HELPER_REQUEST_ROW(DOCKER_, name, permitted, min, max)
#include "links/helper/docker_message.def"
#undef HELPER_REQUEST
};

const struct helper_protocol docker_protocol = {
        .who = "cay-docker",
        .magic = DOCKER_WIRE_MAGIC,
        .version = DOCKER_WIRE_VERSION,
        .request_size = sizeof(struct docker_request),
        .answer_size = sizeof(struct docker_answer),
        .rows = rows,
        .row_count = DOCKER_TYPE_COUNT,
};
