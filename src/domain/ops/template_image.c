/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/ops/template_image.h"

#include <stdio.h>

#include "domain/ops/result_rows.h"
#include "domain/ops/results.h"

struct asking {
        struct cay_job job;
        struct cay_op_call *call;
        void (*tell)(struct cay_op_call *c, const struct cay_template_images *images);
        struct cay_template_images images;
        struct cay_image rows[];
};

static bool is_built(const struct cay_template *t)
{
        return t->root == CAY_TEMPLATE_ROOT_DOCKERFILE && t->available;
}

static bool is_named(const struct cay_template *t)
{
        return t->root == CAY_TEMPLATE_ROOT_IMAGE && t->available;
}

static bool has_image(const struct cay_template *t)
{
        return is_built(t) || is_named(t);
}

/* Rows that an answer may have. */
static unsigned count_rows(const struct cay_template_set *set, const char *name)
{
        unsigned count = 0;
        bool any = false;

        for (unsigned i = 0; i < set->count; i++) {
                count += is_built(&set->rows[i]);
                any = any || has_image(&set->rows[i]);
        }
        if (!any || (name && (!cay_template_find(set, name) || !has_image(cay_template_find(set, name)))))
                return 0;
        return count + CAY_IMAGES_NAMED_MAX;
}

static void on_told(struct cay_job *job)
{
        struct asking *a = cay_container_of(job, struct asking, job);

        a->images.err = job->err;
        a->tell(a->call, &a->images);
        free(a);
}

void cay_template_images_ask(struct cay_op_call *c, const struct cay_template_set *set, const char *name,
                             void (*tell)(struct cay_op_call *c, const struct cay_template_images *images))
{
        struct cay_engine *e = c->world->builder;
        unsigned count = e ? count_rows(set, name) : 0;
        struct asking *a;

        if (count == 0) {
                tell(c, NULL);
                return;
        }
        a = calloc(1, sizeof(*a) + count * sizeof(a->rows[0]));
        if (!a) {
                cay_op_fail_memory(c);
                return;
        }
        a->call = c;
        a->tell = tell;
        a->images.list = (struct cay_images){ .rows = a->rows, .max = count };
        cay_job_init(&a->job, on_told);
        e->ops->images(e, &a->images.list, &a->job);
}

const struct cay_image *cay_template_images_find(const struct cay_template_images *images, const char *name)
{
        for (unsigned i = 0; images && i < images->list.count; i++)
                if (strcmp(images->list.rows[i].template_name, name) == 0)
                        return &images->list.rows[i];
        return NULL;
}

static bool lacks(const struct cay_template_images *images, const char *image)
{
        for (unsigned i = 0; images && i < images->list.count; i++)
                if (strcmp(images->list.rows[i].template_name, CAY_IMAGE_LACKS) == 0 &&
                    strcmp(images->list.rows[i].error, image) == 0)
                        return true;
        return false;
}

const char *cay_template_images_lack(const struct cay_template_images *images, const struct cay_template *t,
                                     char *buf, size_t size)
{
        const struct cay_image *image = cay_template_images_find(images, t->name);

        if (!has_image(t) || (image && image->id[0]))
                return NULL;
        if (images && images->err.code != CAY_OK)
                return images->err.msg;
        if (is_named(t)) {
                snprintf(buf, size,
                         "Docker has no image '%.100s'; run `docker pull` on its host (Cay does not pull)",
                         t->root_text);
                return lacks(images, t->root_text) ? buf : NULL;
        }
        snprintf(buf, size, "its image is not built; run `cay template build %s`", t->name);
        return buf;
}

WORD_FUNCTION(state_word, cay_image_state_word)

static void put_failed_step(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        const struct cay_image *image = object;

        cay_json_text(j, image->error[0] && image->step[0] ? image->step : NULL);
}

SHARED_RESULT(cay_result_image, "Image", WORD("state", struct cay_image, state, state_word),
              MAYBE_AS("image", TEXT, struct cay_image, id),
              MAYBE_AS("context", TEXT, struct cay_image, context),
              MEMBER(NUMBER, struct cay_image, size_bytes), SECONDS("built_at", struct cay_image, built_s),
              COMPUTED("step", TEXT, CAY_RESULT_NULLABLE, put_failed_step),
              MAYBE_AS("error", TEXT, struct cay_image, error));
