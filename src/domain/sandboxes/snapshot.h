/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots: the files of a sandbox as they were, under an id of their own. What runs is not in them, nor is
 * a mapped folder of the host. They outlive their sandbox, the daemon and the machine's power, and end when
 * they are removed or expire. A sandbox that is made of one (struct cay_sandbox_new.snapshot) has its
 * template, its disk limits and a copy of its files; nothing that happens to either changes the other.
 *
 * Theory of operation. The engine keeps the files as a layer without a box. As with boxes, the layer is made
 * before the record, and the record is dropped before the layer is removed, so a layer that no record knows
 * is removed at the next start.
 */
#pragma once

#include "domain/sandboxes/service.h"

#define CAY_SNAPSHOTS_MAX 10000u /* of all owners; an owner has at most half of what is free */

struct cay_snapshot_new {
        const char *name;    /* NULL or "": none; else cay_id_is_valid, unique among the owner's */
        uint64_t timeout_ms; /* until it is removed; 0: never */
};

struct cay_snapshot_view {
        const char *id, *name, *owner, *sandbox, *template_name, *engine;
        const struct cay_limits *limits; /* of the sandbox */
        struct cay_sandbox_options options;
        struct cay_field_map env; /* of the sandbox; for those made of it, never shown */
        uint64_t bytes;           /* that its files have */
        /* of those: that the disk did not have for something else when it was made; counted as its owner's */
        uint64_t added;
        bool is_shared;     /* its blocks were shared, not copied */
        uint64_t frozen_us; /* how long the sandbox stood still for it */
        uint64_t created_wall_ms;
        bool expires;
        uint64_t expires_in_ms;
        bool is_missing;  /* its files were not there at the start */
        uint64_t step;    /* number of a step (step.h); 0: it is none */
        const char *note; /* of a step: the command that came after it */
};

/*
 * Of a sandbox that runs, is paused or stopped. c->id becomes the snapshot's. CAY_UNSUPPORTED: its engine, or
 * this host, keeps no files. Commands that are asked for meanwhile wait; pause, resume, stop and start are
 * refused.
 */
void cay_service_snapshot(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                          const struct cay_snapshot_new *what, struct cay_service_call *c);
/* By id, or by the viewer's own name for it. */
int cay_service_snapshot_get(struct cay_service *s, const struct cay_viewer *v, const char *id_or_name,
                             struct cay_snapshot_view *ret, struct cay_error *err);
/*
 * Newest first, of one sandbox ("" or NULL: of all), at most max. after: an id, from which on it continues;
 * NULL. True: there are more.
 */
bool cay_service_snapshot_list(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                               const char *after, unsigned max,
                               void (*each)(void *ctx, const struct cay_snapshot_view *view), void *ctx);
/* CAY_CONFLICT: a sandbox is being made of it. */
void cay_service_snapshot_remove(struct cay_service *s, const struct cay_viewer *v, const char *id,
                                 struct cay_service_call *c);
