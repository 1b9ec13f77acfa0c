/* SPDX-License-Identifier: Apache-2.0 */
/* Built images of templates, for ops that show them. Docker is queried each time: nothing is cached. */
#pragma once

#include "domain/model/image.h"
#include "domain/ops/template_use.h"

struct cay_template_images {
        struct cay_images list;
        struct cay_error err; /* the query failed */
};

/*
 * Queries the builder if there is one and a template (`name`, or any) has a Dockerfile or an image, then
 * calls back; otherwise calls back at once, with NULL. The answer is valid for that call only.
 */
void cay_template_images_ask(struct cay_op_call *c, const struct cay_template_set *set, const char *name,
                             void (*tell)(struct cay_op_call *c, const struct cay_template_images *images));
const struct cay_image *cay_template_images_find(const struct cay_template_images *images,
                                                 const char *name); /* NULL */
/* Why its image cannot be used (in `buf`, or elsewhere); NULL: it can. */
const char *cay_template_images_lack(const struct cay_template_images *images, const struct cay_template *t,
                                     char *buf, size_t size);
