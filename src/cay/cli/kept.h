/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by diff, apply and discard: options, a kept run by its name, its change set, its folder. */
#pragma once

#include "cay/changes/change_set.h"
#include "cay/changes/folder.h"
#include "cay/changes/store.h"
#include "cay/cli/args_flags.h"

struct cay_kept {
        struct cay_run_store store;
        struct cay_stored run;
        struct cay_change_set *set; /* owned */
        struct cay_folder folder;   /* the run's folder, opened again; refused if it is another one by now */
};

/* Setter of --data DIR: runs are kept in DIR/runs. */
int cay_kept_set_data(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err);
#define CAY_KEPT_DATA                                                                                        \
        {                                                                                                    \
                "data", "DIR", "keep runs in DIR/runs (CAY_RUNS)", cay_kept_set_data, 0                      \
        }

/* A verb for one kept run, "[OPTION…] RUN [OPTION…] [PATH…]", from its arguments to its exit status. */
struct cay_kept_verb {
        const char *name;
        const struct cay_flag *table;
        void (*print_help)(void);
        enum cay_run_store_use use;
        int (*check)(const void *args, struct cay_error *err); /* of what was parsed; may be NULL */
        /* is_whole: no PATHs were given. Returns the exit status, or -1 and fills err. */
        int (*run)(struct cay_kept *k, const void *args, bool is_whole, struct cay_error *err);
};
int cay_kept_main(const struct cay_kept_verb *v, int argc, char **argv, void *args);

/*
 * Whether the arguments are for a kept run, or for nothing that has a name. false: there is no kept run of
 * this name, which err says. args: as for cay_kept_main, only to read them.
 */
bool cay_kept_find(const struct cay_kept_verb *v, int argc, char **argv, void *args, struct cay_error *err);

/* Only the store; a missing store fails with CAY_NOT_FOUND. */
int cay_kept_open_store(struct cay_run_store *s, struct cay_error *err);
