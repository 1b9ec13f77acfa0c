/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Behind cay.h: a task is the options of a run (run.h) and the memory that they point to. `cay run` fills a
 * task as any program would, then adds what cay.h has no word for (a terminal, its own loop) and begins the
 * run itself.
 */
#pragma once

#include "foundation/base/buf.h"
#include "libcay/cay.h"
#include "libcay/run.h"

#define CAY_TASK_KEPT_MAX (256ull << 20) /* output that a result may hold */

struct cay_task {
        struct cay_run_options options; /* points to what follows; the folders' descriptors in it are owned */
        struct cay_error err;           /* of the last call that failed */
        char **argv, **env;             /* owned, NULL-terminated */
        char **allow, **deny;           /* the same: rules of its network */
        char *cwd, *user, *program_dir; /* owned */
        int input_fd;                   /* owned: what cay_task_set_stdin was given; -1: none */
        int cancel_fd;                  /* owned: an eventfd */
        bool running;                   /* atomic */
        cay_output_fn *on_output;       /* NULL: output is kept */
        void *output_ctx;
};

struct cay_result {
        struct cay_run_result run;
        struct cay_buf kept[2]; /* owned: stdout, stderr */
        char hints[160], skipped[CAY_LIMIT_LIST_MAX], watched[CAY_LIMIT_LIST_MAX];
        char blocked[1024];
};

/* api_result.c: makes the texts of a result that has been filled. */
void cay_result_describe(struct cay_result *result);

/* What setters have said so far, to be added to; borrowed. */
struct cay_run_options *cay_task_options(struct cay_task *task);
CAY_DEFINE_AUTO(struct cay_task, cay_task_free)

/* "8m" or "8m:cut"; `option` is in the error text. */
int cay_output_limit_parse(struct cay_limits *limits, const char *option, const char *text,
                           struct cay_error *err);

/* api_programs.c: the folder of cay-warden and cay-init for a caller who did not name it. */
int cay_program_dir_find(char *ret, size_t size, struct cay_error *err);
