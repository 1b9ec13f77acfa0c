/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The desktop of a sandbox, started when somebody uses it. Its script is a command of the sandbox with a name
 * of its own, as the kernel of a context is (domain/ops/context.h), so it is stored, adopted, limited and
 * ended as commands are. The name is none that a context can have.
 *
 * Theory of operation. begin looks for that command. If none runs it starts one. Then it connects to the
 * socket of the desktop inside the sandbox, again and again until the desktop is ready, has ended, or takes
 * too long. Two that begin at once share one desktop, since the service lists a command as soon as it was
 * asked for.
 */
#pragma once

#include "domain/auth/scope.h"
#include "domain/ops/op.h"
#include "domain/sandboxes/channel.h"
#include "domain/sandboxes/exec.h"
#include "foundation/loop/loop.h"

struct cay_desktop_start;

struct cay_desktop_use { /* embedded by its owner: zeroed, then: */
        const struct cay_op_world *world;
        struct cay_viewer viewer; /* its owner's name outlives this */
        bool only_running;        /* starts none: CAY_CONFLICT if none runs */
        bool waits_for_reason;    /* after a lost connection: for the end of the desktop, which says why */
        unsigned width, height;   /* of a screen that is started; 0: the usual size */
        /* From the loop. The owner may end the use in each. */
        void (*on_open)(struct cay_desktop_use *u); /* connected; may be NULL */
        void (*on_data)(struct cay_desktop_use *u, const void *bytes, size_t len);
        void (*on_room)(struct cay_desktop_use *u);                              /* may be NULL */
        void (*on_fail)(struct cay_desktop_use *u, const struct cay_error *err); /* the use has ended */

        /* filled: */
        char sandbox[CAY_NAME_MAX + 1]; /* its id */
        bool was_started;               /* by this use */

        /* private */
        struct cay_service_channel ch;
        struct cay_timer again;
        struct cay_desktop_start *start; /* under way; it does not belong to the use */
        uint64_t deadline_ms;
        bool is_open, is_over;
};

/*
 * The newest command of the desktop. CAY_NOT_FOUND: there was none. The view is good until the loop's next
 * round.
 */
int cay_desktop_find(const struct cay_op_world *w, const struct cay_viewer *v, const char *sandbox,
                     struct cay_exec_view *ret, struct cay_error *err);
/* Why a desktop's command has ended, and what to do. */
void cay_desktop_tell_ended(const struct cay_exec_view *view, struct cay_error *err);
/* 0, or -1: nothing was begun, and no callback comes. */
int cay_desktop_use_begin(struct cay_desktop_use *u, const char *sandbox, struct cay_error *err);
void cay_desktop_use_end(struct cay_desktop_use *u); /* no callback comes any more; may be called twice */
