/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice is two halves: what helps in any case, and what the caller can have raised, by the name that it has there. A dialect without the second
 * half has no such field. Ends without a row have core's advice, which names nothing.
 */
#include "domain/ops/advice.h"

#include <string.h>

#define FEWER "start fewer processes or threads"
#define SPLIT "split the work, or give it a larger timeout"
#define OPERATOR "; the operator can raise "

static const char *const rows[CAY_CAUSE_COUNT][CAY_OP_DIALECT_COUNT] = {
        [CAY_CAUSE_MEMORY] = {
                [CAY_OP_REST] = "use less memory, or make the sandbox with a larger limits.memory (memory_limit)",
                [CAY_OP_CONTAINERS] = "use less memory, or start a container that has a larger resources.memory in the registry",
                [CAY_OP_SERVICE] = "use less memory" OPERATOR "SANDBOX_MAX_MEMORY_MB",
                [CAY_OP_MCP] = "Use less memory, or work in a sandbox with more: sandbox_create with memory.",
        },
        [CAY_CAUSE_PIDS] = {
                [CAY_OP_REST] = FEWER ", or make the sandbox with a larger limits.pids",
                [CAY_OP_CONTAINERS] = FEWER ", or start a container that has a larger resources.pids in the registry",
                [CAY_OP_SERVICE] = FEWER OPERATOR "SANDBOX_MAX_PIDS",
                [CAY_OP_MCP] = "Start fewer processes or threads.",
        },
        [CAY_CAUSE_DISK] = {
                [CAY_OP_REST] = "write less, remove files, or make the sandbox with a larger limits.disk (or limits.inodes)",
                [CAY_OP_CONTAINERS] = "write less, remove files, or start a container that has a larger resources.disk in the registry",
                [CAY_OP_SERVICE] = "write less, or remove files",
                [CAY_OP_MCP] = "Write less, or delete files.",
        },
        [CAY_CAUSE_CPU_TIME] = {
                [CAY_OP_REST] = "do less work in one go, or give it a larger cpu_time",
                [CAY_OP_CONTAINERS] = "do less work in one go",
                [CAY_OP_SERVICE] = "do less work in one go",
                [CAY_OP_MCP] = "Do less work in one go.",
        },
        [CAY_CAUSE_WALL_TIME] = {
                [CAY_OP_REST] = SPLIT,
                [CAY_OP_CONTAINERS] = SPLIT,
                [CAY_OP_SERVICE] = SPLIT,
                [CAY_OP_MCP] = "Split the work, or call again with a larger timeout.",
        },
        [CAY_CAUSE_OUTPUT] = {
                [CAY_OP_REST] = "print less, write to a file, or give it a larger output_limit (with output_cut the start is kept and it runs on)",
                [CAY_OP_CONTAINERS] = "print less, or write to a file",
                [CAY_OP_SERVICE] = "print less",
                [CAY_OP_MCP] = "Print less, or write to a file and read that in pieces.",
        },
};

const char *cay_op_advice(enum cay_cause cause, enum cay_op_dialect dialect)
{
        const char *row = (unsigned)cause < CAY_CAUSE_COUNT && (unsigned)dialect < CAY_OP_DIALECT_COUNT
                                  ? rows[cause][dialect]
                                  : NULL;

        return row ? row : cay_cause_advice(cause);
}

const char *cay_op_advice_by_word(const char *cause, enum cay_op_dialect dialect)
{
        for (unsigned i = 1; i < CAY_CAUSE_COUNT; i++)
                if (strcmp(cay_cause_word((enum cay_cause)i), cause) == 0)
                        return cay_op_advice((enum cay_cause)i, dialect);
        return "";
}
