/* SPDX-License-Identifier: Apache-2.0 */
/* A process that is started before its command is known. The theory is in prefork.h. */
#include "cay-init/prefork.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "cay-init/child.h"
#include "cay-init/init.h"
#include "cay-init/spawn.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/unix_socket.h"

#define KEEP_MS 10000
#define DELAY_US 300

static bool is_possible(const struct cay_init *init)
{
        int cgroup = init->fds[CAY_INIT_FD_CGROUP2];

        return init->is_pid1 && cay_init_is_isolated(init) && cgroup >= 0 && init->config.watch == 0 &&
               init->config.test_off == 0 && !(init->config.flags & (CAY_INIT_DOCKER | CAY_INIT_ONE_ID)) &&
               faccessat(cgroup, "pids.max", F_OK, 0) < 0;
}

void cay_prefork_init(struct cay_init *init)
{
        init->spare = (struct cay_prefork){ .ends = CAY_ENDS_NONE,
                                            .is_possible = is_possible(init),
                                            .delay_fd = -1 };
        cay_group_init(&init->spare.group);
}

/*
 * Until it is reaped it still exists, perhaps for long (the whole box may have been stopped): its closed ends
 * show that it is unused.
 */
void cay_prefork_dismiss(struct cay_prefork *s)
{
        cay_ends_close(&s->ends);
        kill(s->pid, SIGKILL);
}

static void on_late(struct cay_timer *t)
{
        cay_prefork_dismiss(cay_container_of(t, struct cay_prefork, timer));
}

static int make(struct cay_init *init)
{
        struct cay_prefork *s = &init->spare;
        struct cay_child c = {
                .init = init,
                .node_fd = -1,
                .waits = true,
                .uid = init->config.uid,
                .gid = init->config.gid,
                .fds = { -1, -1, -1 },
        };
        pid_t pid;
        int r = cay_group_make_spare_node(&s->group, init->fds[CAY_INIT_FD_CGROUP2], ++s->serial);

        if (r == 0)
                r = cay_ends_make(&s->ends, &c);
        if (r < 0)
                return r;
        c.fds[1] = s->ends.child[1];
        c.fds[2] = s->ends.child[2];
        c.status_fd = s->ends.status[1];
        pid = cay_spawn_fork(&c, s->group.node_fd);
        if (pid < 0)
                return pid;
        cay_ends_close_child(&s->ends);
        s->pid = pid;
        init->childless = false;
        return cay_timer_set(init->loop, &s->timer, KEEP_MS, on_late);
}

/* False: its node is not empty yet. */
static bool forget(struct cay_init *init)
{
        cay_timer_clear(&init->spare.timer);
        cay_ends_close(&init->spare.ends);
        return cay_group_remove(&init->spare.group, init->fds[CAY_INIT_FD_CGROUP2]);
}

static void on_wanted(struct cay_watch *w, uint32_t events)
{
        struct cay_init *init = cay_container_of(w, struct cay_init, spare.delay);
        uint64_t times;

        (void)events;
        if (read(w->fd, &times, sizeof(times)) < 0 || init->spare.pid > 0 || init->one_shot || !forget(init))
                return;
        if (make(init) == 0)
                return;
        if (init->spare.pid > 0) /* nothing would end it in time */
                cay_prefork_dismiss(&init->spare);
        else
                forget(init); /* the next command starts without a preforked process */
}

static void set_delay(struct cay_prefork *s, long us)
{
        const struct itimerspec once = { .it_value.tv_nsec = us * 1000 };

        timerfd_settime(s->delay_fd, 0, &once, NULL);
}

void cay_prefork_want(struct cay_init *init)
{
        struct cay_prefork *s = &init->spare;

        if (!s->is_possible || s->ended++ == 0 || s->pid > 0)
                return;
        if (s->delay_fd < 0) {
                s->delay_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
                if (s->delay_fd < 0 ||
                    cay_watch_add(init->loop, &s->delay, s->delay_fd, EPOLLIN, on_wanted) < 0) {
                        s->is_possible = false;
                        return;
                }
        }
        set_delay(s, DELAY_US);
}

static bool fits(const struct cay_init *init, const struct cay_child *c)
{
        return init->spare.pid > 0 && init->spare.ends.status[0] >= 0 && !c->worker && !c->tty &&
               c->uid == init->config.uid && c->gid == init->config.gid &&
               !(c->open->exec.flags & CAY_BOX_ONE_SHOT) && c->open->raw.len > 0 &&
               c->open->raw.len <= CAY_CHILD_ASK_MAX;
}

pid_t cay_prefork_take(struct cay_init *init, const struct cay_child *c, struct cay_ends *e,
                       struct cay_group *ret_group)
{
        struct cay_prefork *s = &init->spare;
        pid_t pid = s->pid;
        ssize_t n;

        if (!fits(init, c) || cay_ends_make_input(&s->ends, c) < 0)
                return 0;
        n = sys_send_fds(s->ends.status[0], c->open->raw.ptr, c->open->raw.len, &s->ends.child[0],
                         s->ends.child[0] >= 0, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n != (ssize_t)c->open->raw.len) { /* it is dead, and will be reaped */
                cay_prefork_dismiss(s);
                return 0;
        }
        cay_ends_close_child(&s->ends);
        cay_timer_clear(&s->timer);
        *e = s->ends;
        *ret_group = s->group;
        s->ends = CAY_ENDS_NONE;
        cay_group_init(&s->group);
        s->pid = 0;
        return pid;
}

bool cay_prefork_reaped(struct cay_init *init, pid_t pid)
{
        if (init->spare.pid != pid)
                return false;
        init->spare.pid = 0;
        forget(init);
        return true;
}
