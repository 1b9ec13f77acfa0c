/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes of the native engine: listed and removed by the warden, which has their files. */
#pragma once

#include "domain/model/spec.h"
#include "domain/model/volume.h"
#include "engines/helper_client/link.h"
#include "foundation/base/job.h"
#include "links/helper/message.h"

/* The spec's volumes, in a plan. */
int native_volumes_put(const struct cay_spec *spec, struct wire_plan *p, struct cay_error *err);
/* As the port's `volumes` and `volume_remove` (domain/model/port_engine.h). */
void native_volume_list(struct engine_link *l, struct cay_loop *loop, const char *owner,
                        struct cay_volumes *ret, struct cay_job *job);
void native_volume_remove(struct engine_link *l, struct cay_loop *loop, const char *owner, const char *name,
                          struct cay_job *job);
