/* SPDX-License-Identifier: Apache-2.0 */
/* What is built of templates, for ops that tell of them. Docker is asked when somebody asks: nothing here is remembered. */
#pragma once

#include "domain/model/image.h"
#include "domain/ops/template_use.h"

struct cay_template_images {
        struct cay_images list;
        struct cay_error err; /* they could not be had */
};

/*
 * Asks where there is something to ask (a builder, and a template with a Dockerfile or an image: `name`, or any), then tells; at once where there is
 * not, with NULL. The answer is good for that call alone.
 */
void cay_template_images_ask(struct cay_op_call *c, const struct cay_template_set *set, const char *name,
                             void (*tell)(struct cay_op_call *c, const struct cay_template_images *images));
const struct cay_image *cay_template_images_find(const struct cay_template_images *images,
                                                 const char *name); /* NULL */
/* Why it cannot be used as far as images go (in `buf`, or elsewhere); NULL: it can. */
const char *cay_template_images_lack(const struct cay_template_images *images, const struct cay_template *t,
                                     char *buf, size_t size);
/* Its members, into an object that is open. */
void cay_op_put_image(struct cay_json *j, const struct cay_image *image);
