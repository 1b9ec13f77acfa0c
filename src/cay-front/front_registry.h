/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front's templates: loaded at its start and whenever the keeper sends another registry. Loading needs no
 * privileges. The /usr descriptor that comes with it is closed again, and the folder is kept. A root file
 * system in the folder is looked up by name for each sandbox: a replaced one is used, and a missing one is
 * reported. A text with an error is logged line by line and changes nothing. At the start there is nothing to
 * fall back to, so the front does not start.
 */
#pragma once

#include <sys/types.h>

#include "cay-front/front_engines.h"
#include "domain/ops/template_use.h"

#define CAY_FRONT_ROOTS_SEEN 64u

struct cay_front_templates {
        struct cay_templates use; /* what ops work with */
        struct cay_registry *registry;
        const char *path;                        /* for messages; borrowed; "": the built-in one */
        const struct cay_front_engines *engines; /* borrowed */
        int folder;                              /* the registry's; owned; -1: none */
        struct {                                 /* what was logged about replaced roots, by row */
                dev_t dev;
                ino_t ino;
        } seen[CAY_FRONT_ROOTS_SEEN];
};

/* The first message, which is already waiting in sock. */
int cay_front_templates_start(struct cay_front_templates *t, int sock, struct cay_error *err);
/* The next one, when sock is readable. 0, or -1: the keeper has exited. */
int cay_front_templates_hear(struct cay_front_templates *t, int sock);
void cay_front_templates_done(
        struct cay_front_templates *t); /* safe on a zeroed struct, in which folder 0 means none */
/* For the service: resolves a template's name (service.h). */
int cay_front_templates_open(struct cay_front_templates *t, const char *name,
                             enum cay_template_kind *ret_kind, int *ret_fd, struct cay_error *err);
