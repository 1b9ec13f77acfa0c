/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Volumes of owners: listed and removed on request.
 *
 * Theory of operation. A volume is one of ours by its labels and its name, as for boxes (extras.h): of this
 * instance, with an owner, and kept by Docker's own driver without options. Nothing is remembered between
 * requests. A list comes in pages, in the order of owner and name; each page asks Docker. A volume is removed
 * when Docker says that no container has it; the look at its labels and the removal are two calls, and nobody
 * but Docker's administrator can put another volume of that name between them.
 */
#pragma once

#include "cay-docker/extras.h"

#define DOCKER_VOLUME_TASKS_MAX 64u

struct docker_broker;
struct docker_volume_task;

void docker_volumes_serve(struct docker_broker *b, const struct docker_request *req);
void docker_volumes_done(struct docker_broker *b);

/*
 * Docker's list of volumes: a page of those of the instance, behind `after`; owner "": of all owners. Pure.
 */
void docker_volumes_read(const struct cay_json_value *answer, const struct docker_options *o,
                         const char *owner, const struct docker_volume_row *after,
                         struct docker_volume_page *ret);
