/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts of a sandbox: a context is a name and a kernel (domain/contexts), which is a command of the
 * sandbox that carries that name. So a context is stored, adopted, limited and ended as commands are, and its
 * newest kernel says how it is.
 */
#pragma once

#include "domain/contexts/kernel.h"
#include "domain/ops/op.h"
#include "domain/sandboxes/exec.h"

#define CAY_CONTEXTS_MAX 16u /* of a sandbox, that run */

/* The newest kernel of a context. CAY_NOT_FOUND. The view is good until the loop's next round. */
int cay_context_find(struct cay_op_call *c, const char *sandbox, const char *name, struct cay_exec_view *ret,
                     struct cay_error *err);
/* Calls back for the newest kernel of each context. */
int cay_context_list(struct cay_op_call *c, const char *sandbox,
                     void (*each)(void *ctx, const struct cay_exec_view *view), void *ctx,
                     struct cay_error *err);

/* Starts the kernel of a context. */
struct cay_context_start { /* embedded by its owner; zeroed, then: */
        struct cay_op_call *call;
        const struct cay_kernel *kernel;
        const char *name, *cwd;   /* borrowed for cay_context_start; "" or NULL: the workspace */
        struct cay_field_map env; /* borrowed for cay_context_start */
        /* From the loop; err->code CAY_OK: it runs. */
        void (*on_done)(struct cay_context_start *s, const struct cay_error *err);
        /* filled: */
        char exec_id[CAY_NAME_MAX + 1];
        /* private */
        char sandbox[CAY_NAME_MAX + 1];
        struct cay_exec_call exec;
        struct cay_exec_input input;
        struct cay_buf source;
};

void cay_context_start(struct cay_context_start *s, const char *sandbox);
void cay_context_start_done(struct cay_context_start *s); /* after on_done */

/*
 * Interrupts the run that a kernel has now. A line of input says so before the signal does: a signal alone is
 * lost while the kernel is about to run code, and the line alone is not read by code that does not return.
 * Nothing is told: a kernel that has ended needs no interrupt. Where the kernel's language has the signal
 * later (kernels.def), it is not sent if the run has ended meanwhile, and a line says that it was sent.
 * is_left: nobody waits for the run's end any more, so another one may be next: the signal comes at once.
 */
void cay_context_interrupt(const struct cay_op_world *world, const char *sandbox, const char *exec,
                           bool is_left);
