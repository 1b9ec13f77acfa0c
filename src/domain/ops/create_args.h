/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of sandbox_create, for ops that make a sandbox as one of their steps. */
#pragma once

#include "domain/model/limits.h"
#include "domain/model/spec.h"
#include "domain/ops/limit_fields.h"
#include "domain/ops/member_use.h"
#include "domain/ops/op.h"

struct cay_create_workspace {
        const char *path, *mode;
        bool given;
};

struct cay_create_args {
        const char *name, *project_name, *template_name, *snapshot, *engine, *network, *init, *execution_id,
                *confirm, *purpose;
        const char *
                /*
                 * set by code_run: why this needs a confirmation whatever the template says; NULL: not needed
                 */
                danger;
        struct cay_field_map labels, metadata, env;
        struct cay_limits limits;
        struct cay_field_texts may_skip, ports, volumes, allow, deny, secrets;
        struct cay_member_wish member;
        struct cay_create_workspace workspace;
        uint64_t timeout_ms, idle_ms;
        struct cay_sandbox_options options;
        bool has_timeout, has_idle;
        bool brief;                             /* set by code_run: it is not kept */
        bool unrecorded;                        /* set by sandbox_replay: whatever the snapshot says */
        const char *compare[2];                 /* set by step_diff: as in struct cay_sandbox_new */
        bool said_memory_limit, said_cpu_limit; /* by these names */
};

extern const struct cay_op cay_op_sandbox_create;
extern const struct cay_field cay_create_workspace_fields[];

struct cay_config;
/* Fills what was not requested with the configuration's defaults, as far as the engine can enforce them. */
void cay_op_fill_limits(struct cay_limits *l, const struct cay_config *config, unsigned held);
