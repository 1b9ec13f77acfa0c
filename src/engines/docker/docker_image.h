/* SPDX-License-Identifier: Apache-2.0 */
/* Images over the link to cay-docker: the part of the port that is about templates, and not about boxes. */
#pragma once

#include "domain/model/image.h"
#include "domain/model/port_engine.h"
#include "engines/helper_client/link.h"

void docker_image_build(struct engine_link *l, struct cay_loop *loop, struct cay_build *b,
                        struct cay_job *job);
void docker_image_flow(struct cay_build *b, enum cay_build_flow flow);
void docker_image_list(struct engine_link *l, struct cay_loop *loop, struct cay_images *ret,
                       struct cay_job *job);
void docker_image_remove(struct engine_link *l, struct cay_loop *loop, const char *template_name,
                         struct cay_image *ret, struct cay_job *job);
