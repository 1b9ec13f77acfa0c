/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice has two parts: what always helps, and the limit that the caller can raise, by its name in the
 * caller's dialect. A dialect without such a field has only the first part. Causes without a row use the
 * general advice of cause.def.
 */
#include "domain/ops/advice.h"

#include <string.h>

#define FEWER "start fewer processes or threads"
#define SPLIT "split the work, or use a larger timeout"
#define OPERATOR "; the operator can raise "

static const char *const rows[CAY_CAUSE_COUNT][CAY_OP_DIALECT_COUNT] = {
        [CAY_CAUSE_MEMORY] = {
                [CAY_OP_REST] = "use less memory, or create the sandbox with a larger limits.memory (memory_limit)",
                [CAY_OP_CONTAINERS] = "use less memory, or use a container with a larger resources.memory in the registry",
                [CAY_OP_SERVICE] = "use less memory" OPERATOR "SANDBOX_MAX_MEMORY_MB",
                [CAY_OP_MCP] = "Use less memory, or create a sandbox with more: sandbox_create with memory.",
        },
        [CAY_CAUSE_PIDS] = {
                [CAY_OP_REST] = FEWER ", or create the sandbox with a larger limits.pids",
                [CAY_OP_CONTAINERS] = FEWER ", or use a container with a larger resources.pids in the registry",
                [CAY_OP_SERVICE] = FEWER OPERATOR "SANDBOX_MAX_PIDS",
                [CAY_OP_MCP] = "Start fewer processes or threads.",
        },
        [CAY_CAUSE_DISK] = {
                [CAY_OP_REST] = "write less, remove files, or create the sandbox with a larger limits.disk or limits.inodes",
                [CAY_OP_CONTAINERS] = "write less, remove files, or use a container with a larger resources.disk in the registry",
                [CAY_OP_SERVICE] = "write less, or remove files",
                [CAY_OP_MCP] = "Write less, or delete files.",
        },
        [CAY_CAUSE_NETWORK] = {
                [CAY_OP_REST] = "transfer less, or raise limits.network_total (PATCH /api/sandboxes/{id}/network)",
                [CAY_OP_CONTAINERS] = "transfer less, or use a container with a larger security.network.limits.total in the registry",
                [CAY_OP_SERVICE] = "transfer less",
                [CAY_OP_MCP] = "Transfer less.",
        },
        [CAY_CAUSE_CPU_TIME] = {
                [CAY_OP_REST] = "do less work at once, or use a larger cpu_time",
                [CAY_OP_CONTAINERS] = "do less work at once",
                [CAY_OP_SERVICE] = "do less work at once",
                [CAY_OP_MCP] = "Do less work at once.",
        },
        [CAY_CAUSE_WALL_TIME] = {
                [CAY_OP_REST] = SPLIT,
                [CAY_OP_CONTAINERS] = SPLIT,
                [CAY_OP_SERVICE] = SPLIT,
                [CAY_OP_MCP] = "Split the work, or call again with a larger timeout.",
        },
        [CAY_CAUSE_OUTPUT] = {
                [CAY_OP_REST] = "print less, write to a file, or use a larger output_limit (output_cut drops the rest instead of ending the command)",
                [CAY_OP_CONTAINERS] = "print less, or write to a file",
                [CAY_OP_SERVICE] = "print less",
                [CAY_OP_MCP] = "Print less, or write to a file and read it in parts.",
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
