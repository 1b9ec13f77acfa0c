/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the request for a one-shot run asks for: the arguments of sandbox_create and exec_run that carry it
 * out.
 */
#ifndef CAY_DOMAIN_OPS_RUN_REQUEST_H
#define CAY_DOMAIN_OPS_RUN_REQUEST_H

#include "domain/ops/create_args.h"
#include "domain/ops/exec_args.h"
#include "domain/ops/run_choice.h"
#include "foundation/base/arena.h"

struct cay_run_args {
        struct cay_create_args create;
        struct cay_exec_args exec;
        const char *code, *language, *task, *trigger, *from_message;
        struct cay_field_map files;
        bool keep, has_keep;
};

extern const struct cay_field cay_run_fields[];

struct cay_run_request {
        struct cay_create_args create;
        struct cay_exec_args exec;
        struct cay_run_choice choice;
        struct cay_arena mem; /* owned: words that must outlive a reload of the registry */
        bool keep;            /* the sandbox stays */
};

/*
 * Fills *r from `args`, with the bounds of the caller of `call`. At a failure *ret_field names the argument,
 * or is NULL.
 */
int cay_run_request_fill(struct cay_run_request *r, const struct cay_op_call *call,
                         const struct cay_run_args *args, const char **ret_field, struct cay_error *err);

/* Accepts a zeroed one. */
void cay_run_request_done(struct cay_run_request *r);

#endif
