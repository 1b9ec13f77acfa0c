/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An op as a tool of models: what its row adds to route, fields and result. Whoever lists tools
 * (dialects/mcp) makes name, schema, annotations, checks and the call from the row. A tool that does more
 * than one call has a function there, and this struct all the same.
 */
#pragma once

#include <stdbool.h>

#include "foundation/base/field.h"

enum {
        CAY_TOOL_READS = 1,    /* changes nothing; an op of scope `read` needs no flag */
        CAY_TOOL_DESTROYS = 2, /* cannot be undone; CAY_OP_DESTRUCTIVE says it too */
        CAY_TOOL_REPEATS = 4,  /* twice is as once */
        CAY_TOOL_FLEET = 8,    /* not where there is one sandbox alone; so is every op whose route has none */
        CAY_TOOL_IN_SANDBOX = 16, /* has sandbox_id, unless the address names it; from the route */
        CAY_TOOL_MAY_MAKE = 32,   /* with that, sandbox_id may be left out: one is made for this */
        CAY_TOOL_LONG = 64,       /* may take long: can be a task */
        CAY_TOOL_OPEN = 128,      /* may reach what is outside, where the sandbox has a network */
        CAY_TOOL_FIRST = 256,     /* of the list: clients may try it */
};

struct cay_tool_param {
        const char *name;  /* NULL ends the list */
        const char *field; /* of the op; NULL: the tool's own, then `own` */
        const char *doc;   /* for models; NULL: the field's */
        const struct cay_field *own;
        bool is_required;
        const char *words; /* other names for it that models use, separated by blanks; NULL: none */
};

struct cay_op_tool {
        const char *title;
        const char *doc;  /* for models, short: all tools together have a limit; NULL: the op's */
        const char *name; /* NULL: the op's */
        unsigned flags;   /* beside those that follow from the row */
        const struct cay_tool_param *params; /* NULL: every field, as the row has it */
        const char *picks; /* members of the answer that are told, separated by blanks; NULL: all */
        const char *group; /* listed for clients that ask for this group alone; NULL: always listed */
};

/* For a row: .tool = CAY_TOOL("Network log", "What it connected to."). Members may follow. */
#define CAY_TOOL(...)                                                                                        \
        &(const struct cay_op_tool)                                                                          \
        {                                                                                                    \
                __VA_ARGS__                                                                                  \
        }
#define CAY_TOOL_PARAMS(...)                                                                                 \
        (const struct cay_tool_param[])                                                                      \
        {                                                                                                    \
                __VA_ARGS__,                                                                                 \
                {                                                                                            \
                        .name = NULL                                                                         \
                }                                                                                            \
        }
#define CAY_TOOL_NO_PARAMS ((const struct cay_tool_param[]){ { .name = NULL } })

/* Names that models use for paths and commands. */
#define CAY_TOOL_PATH_WORDS "file_path filepath filename file folder directory dir"
#define CAY_TOOL_EXEC_ID                                                                                     \
        {                                                                                                    \
                "exec_id", "exec", "From the command's result.", NULL, true, "execution_id exec"             \
        }
#define CAY_TOOL_LIMIT(text)                                                                                 \
        {                                                                                                    \
                "limit", "limit", text, NULL, false, "max_results head_limit"                                \
        }
/* Members of a sandbox that a model has a use for. */
#define CAY_TOOL_SANDBOX_PICKS                                                                               \
        "sandbox_id name template status cause cause_text advice created_at expires_in_ms idle_limit_ms "    \
        "execs_running"
