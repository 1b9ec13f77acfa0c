/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps: the files of a sandbox as they were before each command, so that commands can be undone.
 *
 * Theory of operation. A step is a snapshot with a number of its sandbox, and a note: the command that came
 * after it. It is taken while the command waits; a command whose step cannot be taken does not run. Steps go
 * with their sandbox. They are thinned: the first one and the newest CAY_STEPS_RECENT stay; when there are
 * more than CAY_STEPS_MAX, that one of the others goes which leaves the smallest gap in time between its
 * neighbours.
 *
 * Going back replaces the layer of a stopped sandbox by a copy of the step's: the new one takes the old one's
 * name in one step, so that whoever dies leaves one or the other.
 */
#pragma once

#include "domain/sandboxes/snapshot.h"

#define CAY_STEPS_MAX 50u /* of one sandbox */
#define CAY_STEPS_RECENT 20u
#define CAY_STEP_NOTE_MAX 200u /* bytes */

/* Takes one of a sandbox, whatever its options say. c->id becomes its id. */
void cay_service_step(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                      const char *note, struct cay_service_call *c);
/* Of a sandbox, by id, the newest first. */
void cay_service_step_list(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                           void (*each)(void *ctx, const struct cay_snapshot_view *view), void *ctx);
/* number 0: the newest. CAY_NOT_FOUND: the sandbox has none of this number (any more). */
int cay_service_step_get(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                         uint64_t number, struct cay_snapshot_view *ret, struct cay_error *err);
struct cay_service_undo {
        struct cay_service_call call;
        uint64_t step;    /* asked for, 0: the newest; then: which */
        uint64_t kept_as; /* the step of the files as they were */
        unsigned ended;   /* commands */
        bool is_back;     /* its files are the step's, whatever the job's error says */
};

/*
 * Stops it, keeps its files as a step, puts the step's files in their place, and starts it again, if it ran.
 * Whoever dies in between leaves that intention, and the next front goes on with it (undo.c).
 */
void cay_service_undo(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                      struct cay_service_undo *c);
/* Gives a stopped sandbox the files of one of its steps, named by its id. */
void cay_service_step_restore(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                              const char *step, struct cay_service_call *c);
