/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Volumes over the link to cay-docker: the part of the port that is about what owners keep, and not about
 * boxes.
 */
#pragma once

#include "domain/model/volume.h"
#include "domain/model/port_engine.h"
#include "engines/helper_client/link.h"

void docker_volume_list(struct engine_link *l, struct cay_loop *loop, const char *owner,
                        struct cay_volumes *ret, struct cay_job *job);
void docker_volume_remove(struct engine_link *l, struct cay_loop *loop, const char *owner, const char *name,
                          struct cay_job *job);
