/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front's templates: loaded at its start and whenever the keeper hands another registry over. Loading is done without privileges;
 * /usr, which came with it, is closed again, the folder is kept: a rootfs in it is looked up by its name for each sandbox, so that one which
 * was replaced meanwhile is the new one, and one which is gone is told. A text with an error is told in the log, line by line, and changes nothing:
 * at the start there is nothing to keep, so the front does not start.
 */
#pragma once

#include <sys/types.h>

#include "cay-front/front_engines.h"
#include "domain/ops/template_use.h"

#define CAY_FRONT_ROOTS_SEEN 64u

struct cay_front_templates {
        struct cay_templates use; /* what ops work with */
        struct cay_registry *registry;
        const char *path;                        /* for texts; borrowed; "": the built-in one */
        const struct cay_front_engines *engines; /* borrowed */
        int folder;                              /* the registry's; owned; -1: none */
        struct { /* what the log was told of roots that were replaced, by row */
                dev_t dev;
                ino_t ino;
        } seen[CAY_FRONT_ROOTS_SEEN];
};

/* The first message, which waits at sock already. */
int cay_front_templates_start(struct cay_front_templates *t, int sock, struct cay_error *err);
/* The next one, when sock can be read. 0, or -1: nobody is there any more. */
int cay_front_templates_hear(struct cay_front_templates *t, int sock);
void cay_front_templates_done(
        struct cay_front_templates *t); /* safe on a zeroed struct, for which folder 0 is none */
/* For the service: what a template's name means now (service.h). */
int cay_front_templates_open(struct cay_front_templates *t, const char *name,
                             enum cay_template_kind *ret_kind, int *ret_fd, struct cay_error *err);
