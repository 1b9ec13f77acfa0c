/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `cay run`: parsed, checked, folders opened; nothing is made before all of them are valid. */
#pragma once

#include <limits.h>

#include "cay/cli/args_flags.h"
#include "domain/model/limits.h"
#include "libcay/api_priv.h"

struct cay_run_args {
        const char *template, *workspace, *user, *cwd, *engine, *id;
        struct cay_flag_list env, allow, deny;
        enum cay_run_network_mode network;
        bool has_network, has_image;
        struct cay_limits limits;
        unsigned may_skip, test_off;
        unsigned given; /* limits (mask) that have an option here */
        bool read_only, tty, json, quiet, trace, raw;
        char **command;                    /* points into argv, or is line */
        char *line[4];                     /* one word with blanks: a shell's command line */
        char workspace_text[PATH_MAX + 4]; /* --workspace-path with its mode */
        enum cay_workspace_mode workspace_mode;
        uint64_t keep_ms;      /* of a copy-on-write workspace's changes */
        struct cay_task *task; /* owned: the options of cay.h, folders opened */
};

/* 0; 1: --help was given; -1. */
int cay_run_args_read(struct cay_run_args *a, int argc, char **argv, struct cay_error *err);
void cay_run_args_done(struct cay_run_args *a);
void cay_run_args_print_help(FILE *out);
/* The task's options and those that only `cay run` has; borrows from a. */
void cay_run_args_fill(const struct cay_run_args *a, struct cay_run_options *o);
/* An error from below begins with the field ("disk: …"); here that becomes an option. */
void cay_run_args_name_option(struct cay_error *err);
