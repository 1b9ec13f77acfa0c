/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of each template's image, and what state that makes. */
#include <string.h>

#include "foundation/base/str.h"
#include "cay-docker/build.h"

struct docker_image_row *docker_image_row_find(struct docker_images *all, const char *name)
{
        for (unsigned i = 0; i < all->row_count; i++)
                if (strcmp(all->rows[i].name, name) == 0)
                        return &all->rows[i];
        return NULL;
}

struct docker_image_row *docker_image_row_get(struct docker_images *all, const char *name)
{
        struct docker_image_row *row = docker_image_row_find(all, name);

        if (row || all->row_count == DOCKER_IMAGE_ROWS)
                return row;
        row = &all->rows[all->row_count++];
        *row = (struct docker_image_row){ 0 };
        cay_str_copy(row->name, sizeof(row->name), name);
        return row;
}

void docker_image_row_set(struct docker_image_row *row, const struct docker_found *f)
{
        cay_str_copy(row->id, sizeof(row->id), f ? f->id : "");
        cay_str_copy(row->context, sizeof(row->context), f ? f->context : "");
        row->size_bytes = f ? f->size_bytes : 0;
        row->built_s = f ? f->built_s : 0;
}

static enum docker_image_state state_of(const struct docker_image_row *row, bool is_building)
{
        if (is_building)
                return DOCKER_IMAGE_BUILDING;
        if (row->error[0] || row->trouble[0])
                return DOCKER_IMAGE_FAILED;
        if (!row->id[0])
                return DOCKER_IMAGE_NONE;
        return strcmp(row->context, row->files) == 0 ? DOCKER_IMAGE_BUILT : DOCKER_IMAGE_STALE;
}

void docker_image_row_put(const struct docker_image_row *row, bool is_building, struct docker_answer *a)
{
        cay_str_copy(a->image.name, sizeof(a->image.name), row->name);
        cay_str_copy(a->image.id, sizeof(a->image.id), row->id);
        cay_str_copy(a->image.context, sizeof(a->image.context), row->context);
        cay_str_copy(a->image.step, sizeof(a->image.step), row->step);
        cay_str_copy(a->image.error, sizeof(a->image.error), row->error[0] ? row->error : row->trouble);
        a->image.state = state_of(row, is_building);
        a->image.size_bytes = row->size_bytes;
        a->image.built_s = row->built_s;
}
