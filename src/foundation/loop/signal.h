/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals as loop events: blocks the given ones for the process and reads them from a signalfd. Children
 * inherit the blocked mask: restore `before` in them before exec. A signal that is still pending at close has
 * its normal effect.
 */
#pragma once

#include <signal.h>

#include "foundation/loop/loop.h"

struct cay_signal {
        struct cay_watch watch;
        sigset_t before; /* mask to restore */
        void (*on_signal)(struct cay_signal *s, int signo, int pid);
};

int cay_signal_open(struct cay_loop *loop, struct cay_signal *s, const int *signals, unsigned count,
                    void (*on_signal)(struct cay_signal *s, int signo, int pid)); /* 0 or -errno */
void cay_signal_close(struct cay_signal *s); /* restores the mask; allowed when never opened (zeroed) */
