/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command is for, beside being a command: nothing more, the kernel of a context (domain/contexts), a
 * sandbox's desktop, its browser. Its record says it by the name in `context`: a kernel has its context's,
 * the others have a name of their own that no context can have. Nobody else compares those names.
 */
#pragma once

enum cay_exec_kind {
        CAY_EXEC_PLAIN,
        CAY_EXEC_KERNEL,
        CAY_EXEC_DESKTOP,
        CAY_EXEC_BROWSER,
        CAY_EXEC_KIND_COUNT
};

/* context: of a view or a record; NULL and "": none. */
enum cay_exec_kind cay_exec_kind_of(const char *context);
/*
 * The name of a desktop's or a browser's command, for struct cay_exec_new.context. NULL: kernels and plain
 * commands have none.
 */
const char *cay_exec_kind_name(enum cay_exec_kind kind);
