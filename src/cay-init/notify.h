/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls that an exec was denied. Its filter asks here (seccomp user notification). The answer is
 * always EPERM, and the number is recorded: the first CAY_BOX_DENIED_MAX distinct ones with counts, and the
 * last.
 */
#pragma once

#include "links/box/message.h"
#include "foundation/loop/loop.h"

#define CAY_NOTIFY_MAX 1000u /* denied calls before the exec is ended */

struct cay_notify {
        struct cay_watch watch;
        int fd; /* owned; -1 when there is none */
        uint32_t total;
        int32_t last;
        uint32_t denied_count;
        struct cay_box_denied denied[CAY_BOX_DENIED_MAX];
        void (*on_too_many)(struct cay_notify *n);
        void (*on_alone)(struct cay_notify *n); /* every process with this filter is dead, or dying */
        /* Where the filter is shared: whose call it is, by the thread that made it. NULL: nobody's. */
        struct cay_notify *(*find_owner)(struct cay_notify *n, int32_t tid);
};

void cay_notify_init(struct cay_notify *n);
int cay_notify_start_take(struct cay_loop *loop, struct cay_notify *n, int fd); /* 0 or -errno */
void cay_notify_stop(struct cay_notify *n);                                     /* fine when not started */
void cay_notify_record(struct cay_notify *n, int nr);
