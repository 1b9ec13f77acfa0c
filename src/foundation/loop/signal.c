/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals from a signalfd. One is read per event: the descriptor is level-triggered, so the rest follow in
 * the next round, and the owner is not accessed after its callback.
 */

#include "foundation/loop/signal.h"

#include <errno.h>
#include <sys/signalfd.h>

static void on_readable(struct cay_watch *w, uint32_t events)
{
        struct cay_signal *s = cay_container_of(w, struct cay_signal, watch);
        struct signalfd_siginfo info;

        if (read(w->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
                s->on_signal(s, (int)info.ssi_signo, (int)info.ssi_pid);
}

int cay_signal_open(struct cay_loop *loop, struct cay_signal *s, const int *signals, unsigned count,
                    void (*on_signal)(struct cay_signal *s, int signo, int pid))
{
        cay_auto_close int fd = -1;
        sigset_t set, before;
        int r;

        sigemptyset(&set);
        for (unsigned i = 0; i < count; i++) {
                if (sigaddset(&set, signals[i]) < 0)
                        return -errno;
        }
        fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        if (fd < 0)
                return -errno;
        if (sigprocmask(SIG_BLOCK, &set, &before) < 0)
                return -errno;
        *s = (struct cay_signal){ .before = before, .on_signal = on_signal };
        r = cay_watch_add(loop, &s->watch, fd, EPOLLIN, on_readable);
        if (r < 0) {
                sigprocmask(SIG_SETMASK, &before, NULL);
                return r;
        }
        cay_take_fd(fd);
        return 0;
}

void cay_signal_close(struct cay_signal *s)
{
        int fd = s->watch.fd;

        if (!s->watch.loop)
                return;
        cay_watch_remove(&s->watch);
        close(fd);
        sigprocmask(SIG_SETMASK, &s->before, NULL);
}
