/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a helper, and links to it. */
#include "cay/keeper/helper.h"

#include <errno.h>
#include <sys/socket.h>

#include "cay/keeper/serve_priv.h"
#include "foundation/base/clock.h"
#include "foundation/base/log.h"
#include "foundation/sys/unix_socket.h"
#include "links/helper/message.h"

static int make_sockets(int link[2], int keep[2], const char *who, struct cay_error *err)
{
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the link of %s", who);
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, keep) == 0)
                return 0;
        close(link[0]);
        close(link[1]);
        return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the socket of %s", who);
}

int cay_helper_start(struct cay_helper *h, const struct cay_spawn *s, struct cay_error *err)
{
        struct cay_spawn with = *s;
        int link[2], keep[2], fds[CAY_SPAWN_FDS_MAX];

        with.dir = h->keeper->options->program_dir;
        with.program = cay_helper_infos[h->nr].program;
        with.mask = &h->keeper->signals.before;
        if (make_sockets(link, keep, with.program, err) < 0)
                return -1;
        fds[0] = link[1];
        fds[1] = keep[1];
        for (unsigned i = 0; i < s->fd_count && 2 + i < CAY_COUNT(fds); i++)
                fds[2 + i] = s->fds[i];
        with.fds = fds;
        with.fd_count = 2 + s->fd_count;
        h->pid = cay_spawn(&with, err);
        h->since_ms = cay_clock_ms();
        close(link[1]);
        close(keep[1]);
        h->link = link[0];
        h->sock = keep[0];
        if (h->pid >= 0)
                return 0;
        h->pid = 0;
        cay_helper_close(h);
        return -1;
}

int cay_helper_link(struct cay_helper *h, int *ret, struct cay_error *err)
{
        const char *who = cay_helper_infos[h->nr].who;
        const struct wire_keeper say = { .magic = WIRE_KEEPER_MAGIC,
                                         .size = sizeof(say),
                                         .type = WIRE_KEEPER_FRONT };
        int link[2], n;

        if (h->link >= 0) {
                *ret = cay_take_fd(h->link);
                return 0;
        }
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the link of %s", who);
        n = (int)sys_send_fds(h->sock, &say, sizeof(say), &link[1], 1, MSG_NOSIGNAL);
        close(link[1]);
        if (n < 0) {
                close(link[0]);
                return cay_fail_sys(err, CAY_UNAVAILABLE, n, "hand the link to %s", who);
        }
        *ret = link[0];
        return 0;
}

void cay_helper_tell_upgrade(struct cay_helper *h)
{
        const struct wire_keeper say = { .magic = WIRE_KEEPER_MAGIC,
                                         .size = sizeof(say),
                                         .type = WIRE_KEEPER_UPGRADE };

        if (h->sock >= 0 && send(h->sock, &say, sizeof(say), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
                cay_log_warn("a helper was not notified of the upgrade, ignoring", "pid=%d", (int)h->pid);
}

void cay_helper_close(struct cay_helper *h)
{
        if (h->link >= 0)
                close(cay_take_fd(h->link));
        if (h->sock >= 0)
                close(cay_take_fd(h->sock));
}
