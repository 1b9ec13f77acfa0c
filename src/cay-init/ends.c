/* SPDX-License-Identifier: Apache-2.0 */
/* Pipes, terminals and the socket of a spawn (ends.h). */
#include "cay-init/ends.h"

#include <errno.h>
#include <sys/fsuid.h>
#include <sys/socket.h>

#include "cay-init/child.h"
#include "cay-init/pty.h"
#include "foundation/sys/fd.h"

#define BULK_PIPE (256 * 1024) /* for workers that move files: fewer context switches between them and init */

static void close_one(int *fd)
{
        if (*fd >= 0)
                close(*fd);
        *fd = -1;
}

void cay_ends_close_child(struct cay_ends *e)
{
        for (int i = 0; i < 3; i++)
                close_one(&e->child[i]);
        close_one(&e->status[1]);
        close_one(&e->ask[1]);
}

void cay_ends_close(struct cay_ends *e)
{
        cay_ends_close_child(e);
        for (int i = 0; i < 3; i++)
                close_one(&e->mine[i]);
        close_one(&e->status[0]);
        close_one(&e->ask[0]);
}

/* Pipe number `i` of the child; ours does not block. */
static int make_pipe(struct cay_ends *e, int i)
{
        int fds[2], mine = i == 0 ? 1 : 0;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        e->mine[i] = fds[mine];
        e->child[i] = fds[1 - mine];
        return fcntl(e->mine[i], F_SETFL, O_NONBLOCK | (mine ? O_WRONLY : O_RDONLY)) < 0 ? -errno : 0;
}

static int make_terminal(struct cay_ends *e, const struct cay_init *init, const struct cay_box_exec *exec)
{
        int master, slave, r;

        r = cay_pty_open(cay_init_is_isolated(init), exec->rows, exec->cols, &master, &slave);
        if (r < 0)
                return r;
        e->mine[1] = master;
        e->child[0] = slave;
        if (exec->flags & CAY_BOX_STDIN) { /* a duplicate: input and output are watched separately */
                e->mine[0] = fcntl(master, F_DUPFD_CLOEXEC, CAY_INIT_CONTROL_FD + 1);
                return e->mine[0] < 0 ? -errno : 0;
        }
        return 0;
}

static bool has_input(const struct cay_child *c)
{
        if (c->worker)
                return c->worker->streams & CAY_WORKER_IN;
        if (c->warm) /* its command may have one */
                return true;
        return c->open && c->open->exec.flags & CAY_BOX_STDIN;
}

static int make_streams(struct cay_ends *e, const struct cay_child *c)
{
        const struct cay_worker *worker = c->worker;
        int r = 0;

        if (c->tty)
                return make_terminal(e, c->init, &c->open->exec);
        if (has_input(c))
                r = make_pipe(e, 0);
        if (r == 0 && (!worker || worker->streams & CAY_WORKER_OUT))
                r = make_pipe(e, 1);
        if (r == 0 && !worker)
                r = make_pipe(e, 2);
        for (int i = 0; r == 0 && worker && worker->streams & CAY_WORKER_BULK && i < 2; i++) {
                if (e->mine[i] >= 0)
                        fcntl(e->mine[i], F_SETPIPE_SZ,
                              BULK_PIPE); /* ignoring: the default size is only slower */
        }
        return r;
}

static int make_input(struct cay_ends *e, const struct cay_child *c)
{
        (void)c;
        return make_pipe(e, 0);
}

static int make_as_user(struct cay_ends *e, const struct cay_child *c,
                        int (*make)(struct cay_ends *e, const struct cay_child *c))
{
        const struct cay_init *init = c->init;
        bool as_user = cay_init_is_isolated(init) && c->uid != init->uid;
        int r;

        if (as_user) {
                setfsgid(c->gid);
                setfsuid(c->uid);
        }
        r = make(e, c);
        if (as_user) {
                setfsuid(init->uid);
                setfsgid(init->gid);
        }
        return r;
}

int cay_ends_make(struct cay_ends *e, const struct cay_child *c)
{
        int r = make_as_user(e, c, make_streams);

        if (r == 0 && !c->forked && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, e->status) < 0)
                r = -errno;
        if (r == 0 && c->warm && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, e->ask) < 0)
                r = -errno;
        return r;
}

int cay_ends_make_input(struct cay_ends *e, const struct cay_child *c)
{
        return has_input(c) ? make_as_user(e, c, make_input) : 0;
}
