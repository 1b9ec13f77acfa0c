/* SPDX-License-Identifier: Apache-2.0 */
/* What diff, apply and discard have in common: options, a kept run by its name, its change set, its folder. */
#pragma once

#include "cay/changes/change_set.h"
#include "cay/changes/folder.h"
#include "cay/changes/store.h"
#include "cay/cli/args_flags.h"

struct cay_kept {
        struct cay_run_store store;
        struct cay_stored run;
        struct cay_change_set *set; /* owned */
        struct cay_folder folder;   /* the run's, opened again */
};

/*
 * "[OPTION…] RUN [OPTION…] [PATH…]": fills args by the table, and returns 0 with the run's name and where the paths begin. 1: --help was
 * asked for.
 */
int cay_kept_parse(const struct cay_flag *table, int argc, char **argv, void *args, const char **ret_name,
                   const char *const **ret_paths, size_t *ret_count, struct cay_error *err);

/* Setter of --data DIR: runs are kept in DIR/runs. */
int cay_kept_set_data(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err);
#define CAY_KEPT_DATA                                                                                        \
        {                                                                                                    \
                "data", "DIR", "keep runs in DIR/runs (CAY_RUNS)", cay_kept_set_data, 0                      \
        }

void cay_kept_init(struct cay_kept *k);
/* Opens the store, the run and its folder, and selects the paths. A folder that is not the run's any more is refused. */
int cay_kept_open(struct cay_kept *k, const char *name, enum cay_run_store_use use, const char *const *paths,
                  size_t count, struct cay_error *err);
void cay_kept_done(struct cay_kept *k);
/* The store alone; a store that is not there yet fails with CAY_NOT_FOUND. */
int cay_kept_open_store(struct cay_run_store *s, struct cay_error *err);
