/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of templates: built from a Dockerfile, found again by their labels, removed.
 *
 * Theory of operation. A front names a template. Which files that means is read from the registry
 * (build_context.h), and Docker is asked for a build with options that are fixed here or stand in the
 * registry: no privileges, no network unless the template says so, a limit of memory, a deadline. An image is
 * one of ours by its labels: cay.template, cay.instance and cay.context, the hash of what it was built from;
 * so nothing has to be remembered over a restart, and what has not changed is not built again. A template is
 * built once at a time; whoever asks for a build that runs follows it. It goes on while somebody reads its
 * output, and when nobody does unless all who came asked for its end then. The newest image of a template is
 * the one that boxes are made of; those before it are removed where no container needs them.
 *
 * Output goes line by line to the descriptor that came with each request (build_readers.h).
 */
#pragma once

#include "cay-docker/build_context.h"
#include "foundation/json/json_in.h"

#define DOCKER_IMAGE_ROWS 256u
#define DOCKER_FOUND_MAX 512u

struct docker_broker;
struct docker_image_task;

struct docker_image_row { /* a template, as it was last looked at */
        char name[DOCKER_WORD];
        char id[DOCKER_IMAGE_ID], context[DOCKER_CONTEXT]; /* of its image; "": none */
        char files[DOCKER_CONTEXT];                        /* hash of its files; "": they cannot be read */
        uint64_t size_bytes;
        int64_t built_s;
        char step[HELPER_TEXT], error[HELPER_TEXT]; /* why the last build failed */
        char trouble[HELPER_TEXT];                  /* why its files cannot be read */
        bool seen;
};

struct docker_images {
        struct docker_image_task *tasks; /* owned */
        struct docker_image_row rows[DOCKER_IMAGE_ROWS];
        unsigned row_count;
        /* a bit for each of options.images: Docker had none by that name when it was asked last */
        uint32_t lacking;
};

struct docker_found { /* an image of ours */
        char name[DOCKER_WORD], id[DOCKER_IMAGE_ID], context[DOCKER_CONTEXT];
        uint64_t size_bytes;
        int64_t built_s;
};

/* Takes fd (-1: none). */
void docker_images_serve_take(struct docker_broker *b, const struct docker_request *req, int fd);
void docker_images_done(struct docker_broker *b);

/* build_rows.c */
struct docker_image_row *docker_image_row_find(struct docker_images *all, const char *name); /* NULL: none */
struct docker_image_row *docker_image_row_get(struct docker_images *all,
                                              const char *name); /* NULL: no room */
void docker_image_row_set(struct docker_image_row *row,
                          const struct docker_found *f); /* NULL: it has no image */
void docker_image_row_put(const struct docker_image_row *row, bool is_building, struct docker_answer *a);

/*
 * build_found.c: Docker's list of images. Those of `instance`; name NULL: of any template. Returns how many.
 */
unsigned docker_found_read(const struct cay_json_value *list, const char *instance, const char *name,
                           struct docker_found *ret, unsigned max);
/* The newest of a template; NULL: none. */
const struct docker_found *docker_found_newest(const struct docker_found *rows, unsigned count,
                                               const char *name);
/* "/images/json?filters=…": those of a template (NULL: of any). 0 or -errno. */
int docker_found_put_path(const char *name, struct cay_buf *out);
int docker_image_put_path(const char *image, struct cay_buf *out); /* "/images/…/json". 0 or -errno */
/* "/build?…" for these files. 0 or -errno. */
int docker_build_put_path(const struct docker_context *c, const char *instance, bool no_cache,
                          struct cay_buf *out);
bool docker_template_is_name(const char *name, size_t size); /* ends, and is a template's */
