/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of snapshots: snapshot.c (table, views, removal), snapshot_make.c, snapshot_record.c.
 */
#pragma once

#include "domain/sandboxes/service_priv.h"
#include "domain/sandboxes/snapshot.h"
#include "domain/sandboxes/step.h"
#include "foundation/base/phase.h"

#define CAY_SNAPSHOT_BUCKETS 512u
#define CAY_SERVICE_CLONE_MS                                                                                 \
        (11u * 60 * 1000) /* for the engine to copy files; its own limit is a little shorter */

enum cay_snapshot_phase {
        CAY_SNAPSHOT_MAKING,   /* its files are copied, its record is being stored */
        CAY_SNAPSHOT_UNSEEN,   /* found in a record at start-up; its files were not looked for yet */
        CAY_SNAPSHOT_READY,    /* its record is stored, and its files are there */
        CAY_SNAPSHOT_MISSING,  /* its record is stored, its files are gone */
        CAY_SNAPSHOT_DROPPING, /* its record is being dropped */
        CAY_SNAPSHOT_DROPPING_MISSING,
        CAY_SNAPSHOT_PHASE_COUNT
};
extern const struct cay_phase_table cay_snapshot_phases;

struct cay_snapshot {
        struct cay_service *service;
        struct cay_engine_row *engine;
        struct cay_snapshot *bucket_next;
        struct cay_snapshot *older, *newer;
        struct cay_arena mem;
        char id[CAY_NAME_MAX + 1], name[CAY_NAME_MAX + 1], owner[CAY_NAME_MAX + 1], sandbox[CAY_NAME_MAX + 1];
        const char *template_name, *env_json;
        struct cay_limits limits;
        struct cay_sandbox_options options;
        struct cay_field_map env;
        uint64_t bytes, added, frozen_us, created_wall_ms, expires_ms;
        uint64_t step;                    /* step.h; 0: it is none */
        char note[CAY_STEP_NOTE_MAX + 1]; /* what came after it */
        bool is_shared;
        enum cay_snapshot_phase phase; /* only cay_snapshot_move writes it */
        unsigned uses;                 /* sandboxes that are being made of it */
        struct cay_service_call *call; /* that made it, or removes it; NULL: nobody waits */
};

struct cay_snapshots {
        struct cay_snapshot *buckets[CAY_SNAPSHOT_BUCKETS];
        struct cay_snapshot *newest, *oldest;
        unsigned count;
};

/* snapshot.c */
void cay_snapshot_count(const struct cay_service *s, const struct cay_viewer *v,
                        struct cay_snapshot_figures *ret); /* those that v may see */
void cay_snapshot_move(struct cay_snapshot *n, enum cay_snapshot_phase to);
bool cay_snapshot_is_there(const struct cay_snapshot *n); /* its record is stored, and nobody removes it */
bool cay_snapshot_is_missing(const struct cay_snapshot *n);
struct cay_snapshot *cay_snapshot_new(struct cay_service *s);
void cay_snapshot_add(struct cay_snapshot *n);
void cay_snapshot_free(struct cay_snapshot *n); /* in the table or not */
struct cay_snapshot *cay_snapshot_find(struct cay_service *s, const char *id);
struct cay_snapshot *cay_snapshot_find_name(struct cay_service *s, const char *owner, const char *name);
void cay_snapshot_remove_files(struct cay_snapshot *n); /* the result is only logged */
void cay_snapshot_fill_view(const struct cay_snapshot *n, struct cay_snapshot_view *ret);
/* Removes it; why: for the journal. c: who waits for it, or NULL. */
void cay_snapshot_drop(struct cay_snapshot *n, const char *why, struct cay_service_call *c);

/* snapshot_make.c */
/* Checks and takes one; note: it becomes a step, NULL: it does not. */
void cay_snapshot_take(struct cay_sandbox *sb, const struct cay_snapshot_new *what, const char *note,
                       struct cay_service_call *c);

/* step.c */
uint64_t cay_step_next_number(const struct cay_service *s, const char *sandbox);
void cay_steps_thin(struct cay_service *s, const char *sandbox);

/* snapshot_record.c */
int cay_snapshot_fill(struct cay_snapshot *n, const struct cay_sandbox *sb, struct cay_error *err);
void cay_snapshot_put(struct cay_snapshot *n, struct cay_store_batch *b);
int cay_snapshots_load(struct cay_service *s, struct cay_error *err);
