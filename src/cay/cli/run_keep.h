/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `cay run` keeps of a copy-on-write workspace.
 *
 * Theory of operation. The change set is written, and afterwards read and counted, by a process that has
 * given up its rights (cmd_run.c) and so could neither name nor remove a file. A second process, the keeper,
 * handles the folder of the run. It is forked before that and does one thing when it gets the run's result:
 * it records that the run is kept, or removes the folder. It reads one message of fixed size from the first
 * process and nothing else. If the first process dies without a message, the folder is removed too.
 */
#pragma once

#include "cay/changes/store.h"
#include "libcay/run.h"

struct cay_run_keep {
        bool is_on; /* there is a copy-on-write workspace */
        struct cay_run_store store;
        struct cay_stored run; /* its folder; locked until the keeper ends */
        int keeper_fd;         /* owned: pipe to the keeper */
        int keeper_pid;        /* 0: none */
        bool is_kept;
        struct cay_change_counts counts;
        uint64_t left_out;
        struct cay_error failure; /* code CAY_OK: nothing was lost */
};

void cay_run_keep_init(struct cay_run_keep *k);
/*
 * Before the run: takes the options' folder and id (a new one if there is none), makes the run's folder,
 * starts the keeper and sets changes_fd. Does nothing if the workspace is not copy-on-write.
 */
int cay_run_keep_begin(struct cay_run_keep *k, struct cay_run_options *o, uint64_t keep_ms,
                       struct cay_error *err);
/*
 * After the run, NULL if there was none: counts, tells the keeper and waits for it. Errors are in k->failure.
 */
void cay_run_keep_end(struct cay_run_keep *k, const struct cay_run_result *result);
void cay_run_keep_done(struct cay_run_keep *k); /* also before the end: then nothing is kept */
