/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where runs of copy-on-write workspaces are kept: a folder per run with `meta` (meta.h) and `changes.tar`
 * (foundation/tar/change.h), 0700.
 *
 * Theory of operation. A lock (flock) on a run's folder means that it is in use: by the run itself while it
 * lives, later by diff (shared), apply and discard (exclusive). A folder that says "running" and is not
 * locked was left by a run that died. The store's own lock is held only briefly, while folders are made or
 * swept, so that a sweep never meets a half-made one. Opening the store sweeps it: expired and dead runs are
 * removed.
 */
#pragma once

#include "foundation/base/error.h"
#include "cay/changes/meta.h"

#define CAY_STORE_KEEP_MS (7ull * 24 * 3600 * 1000)
#define CAY_STORE_RUNS_MAX 10000u

struct cay_run_store {
        int fd; /* owned */
        char path[PATH_MAX];
};

struct cay_stored {     /* one run, held */
        int dir_fd;     /* owned, locked */
        int changes_fd; /* owned: changes.tar */
        struct cay_meta meta;
};

/* CAY_RUNS; else root's /var/lib/cay/runs, or cay/runs in the user's state folder. */
int cay_run_store_path(char *ret, size_t size, struct cay_error *err);

/*
 * Opens and sweeps. create: makes it if missing; otherwise a missing store is empty (CAY_NOT_FOUND). now_ms:
 * wall clock, as in all that follows.
 */
int cay_run_store_open(struct cay_run_store *s, const char *path, bool create, uint64_t now_ms,
                       struct cay_error *err);
void cay_run_store_close(struct cay_run_store *s);

/* A new run: makes and locks its folder; meta->state is RUNNING. CAY_EXISTS: the id is taken. */
int cay_run_store_make(struct cay_run_store *s, const struct cay_meta *meta, struct cay_stored *ret,
                       struct cay_error *err);
/* Writes run->meta atomically, and syncs it with the changes. */
int cay_run_store_save(struct cay_stored *run, struct cay_error *err);
/* Removes and releases a locked run. */
int cay_run_store_remove(struct cay_run_store *s, struct cay_stored *run, struct cay_error *err);
void cay_run_store_let_go(struct cay_stored *run); /* closes; safe on { -1, -1 }; may be called twice */

enum cay_run_store_use { CAY_STORE_READ, CAY_STORE_CHANGE };

/* A kept run by its id, a unique prefix of it, or "last". */
int cay_run_store_find(struct cay_run_store *s, const char *name, enum cay_run_store_use use,
                       struct cay_stored *ret, struct cay_error *err);
/* The same for a run whose file is unreadable: it matches by id only, and can only be removed. */
int cay_run_store_find_any(struct cay_run_store *s, const char *name, struct cay_stored *ret,
                           struct cay_error *err);

struct cay_run_store_row {
        struct cay_meta meta; /* of a broken one: the id alone */
        bool is_broken;
        uint64_t size_bytes; /* on the disk */
};

/* Every run, the oldest first; the caller frees the rows. */
int cay_run_store_list(struct cay_run_store *s, struct cay_run_store_row **ret, size_t *ret_count,
                       struct cay_error *err);
