/* SPDX-License-Identifier: Apache-2.0 */
/* Interpreters that wait, one by one. */
#include "cay-init/warm_slot.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cay-init/channel.h"
#include "cay-init/child.h"
#include "cay-init/init.h"
#include "cay-init/processes.h"
#include "cay-init/spawn.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/unix_socket.h"

#define CGROUP_TEXT 8192

void cay_warm_slot_init(struct cay_warm_slot *s, struct cay_init *init, bool is_forked)
{
        *s = (struct cay_warm_slot){ .init = init, .is_forked = is_forked, .ends = CAY_ENDS_NONE };
        cay_group_init(&s->group);
}

bool cay_warm_slot_is_expected(const struct cay_warm_slot *s)
{
        return s->ends.ask[0] >= 0;
}

/* What a forked one is, that never said who it is, is known by its node alone. */
bool cay_warm_slot_is_free(struct cay_warm_slot *s)
{
        if (s->pid > 0 || s->helper > 0 || cay_warm_slot_is_expected(s))
                return false;
        if (cay_group_remove(&s->group, s->init->fds[CAY_INIT_FD_CGROUP2]))
                return true;
        cay_group_kill(&s->group);
        return false;
}

void cay_warm_slot_drop(struct cay_warm_slot *s)
{
        cay_watch_remove(&s->watch);
        cay_ends_close(&s->ends);
        if (s->pid > 0)
                kill(s->pid, SIGKILL);
        s->said = CAY_WARM_SAID_NOTHING;
}

/* The name of the node in which a process or thread is, until the next call; empty: it is gone. */
static struct cay_view node_of(int32_t tid)
{
        static char text[CGROUP_TEXT];
        char path[40];

        snprintf(path, sizeof(path), "/proc/%d/cgroup", tid);
        if (sys_read_file(AT_FDCWD, path, text, sizeof(text)) <= 0)
                return (struct cay_view){ "", 0 };
        return cay_process_node(text);
}

static bool is_named(struct cay_view node, const char *name)
{
        return strlen(name) == node.len && memcmp(name, node.ptr, node.len) == 0;
}

/* In the server's node, where no command is: nothing can leave the node of its command this way. */
static bool is_ours(const struct cay_warm_slot *s, pid_t pid, uid_t uid)
{
        siginfo_t ignored;

        return pid > 1 && uid == s->init->config.uid &&
               is_named(node_of(pid), s->init->warm.first.group.node) &&
               waitid(P_PID, (id_t)pid, &ignored, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static bool is_alone_in_node(const struct cay_warm_slot *s)
{
        char text[64], *end;

        return sys_read_file(s->group.node_fd, "cgroup.procs", text, sizeof(text)) > 0 &&
               strtol(text, &end, 10) == s->pid && strcmp(end, "\n") == 0;
}

static bool start_join(struct cay_warm_slot *s, pid_t pid)
{
        pid_t helper = cay_spawn_fork_helper(s->init);
        char text[16];

        if (helper == 0) {
                snprintf(text, sizeof(text), "%d", (int)pid);
                _exit(sys_write_file(s->group.node_fd, "cgroup.procs", text) < 0);
        }
        if (helper < 0)
                return false;
        s->init->childless = false;
        s->helper = helper;
        s->pid = pid;
        s->said = CAY_WARM_JOINS;
        return true;
}

bool cay_warm_slot_joined(struct cay_warm_slot *s)
{
        s->helper = 0;
        if (s->said != CAY_WARM_JOINS || !is_alone_in_node(s) ||
            send(s->ends.ask[0], "G", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
                return false;
        s->said = CAY_WARM_WAITS;
        return true;
}

bool cay_warm_slot_listen(struct cay_warm_slot *s)
{
        char said[2];
        pid_t pid = 0;
        uid_t uid = 0;
        ssize_t n;

        if (!cay_warm_slot_is_expected(s))
                return true;
        n = sys_recv_sender(s->ends.ask[0], said, sizeof(said), &pid, &uid, MSG_DONTWAIT);
        if (n == -EAGAIN)
                return true;
        if (n != 1 || s->said)
                return false;
        if (s->is_forked) {
                if (said[0] == CAY_WARM_FULL)
                        s->said = said[0];
                return said[0] == CAY_WARM_WAITS && is_ours(s, pid, uid) && start_join(s, pid);
        } else if (said[0] != CAY_WARM_WAITS && said[0] != CAY_WARM_FORKS) {
                return false;
        }
        s->said = said[0];
        return true;
}

/* In the order in which the driver takes them. */
static int send_ends(struct cay_warm_slot *s, const struct cay_warm_slot *server)
{
        const int fds[] = { s->ends.child[0], s->ends.child[1], s->ends.child[2], s->ends.ask[1],
                            s->init->landlock_fd };
        ssize_t n;

        kill(server->pid, SIGCONT); /* code of the box may have stopped it */
        n = sys_send_fds(server->ends.ask[0], "F", 1, fds, CAY_COUNT(fds), MSG_DONTWAIT);
        return n < 0 ? (int)n : 0;
}

int cay_warm_slot_ask(struct cay_warm_slot *s, const struct cay_warm_slot *server, struct cay_child *c)
{
        struct cay_init *init = s->init;
        const int yes = 1;
        int r;

        c->forked = true;
        r = cay_group_make_spare_node(&s->group, init->fds[CAY_INIT_FD_CGROUP2], ++init->spare.serial);
        if (r == 0)
                r = cay_ends_make(&s->ends, c);
        if (r == 0 && setsockopt(s->ends.ask[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) < 0)
                r = -errno;
        if (r == 0)
                r = send_ends(s, server);
        cay_ends_close_child(&s->ends);
        if (r < 0)
                cay_warm_slot_drop(s);
        return r;
}

void cay_warm_slot_give(struct cay_warm_slot *s, struct cay_ends *e, struct cay_group *ret_group)
{
        cay_watch_remove(&s->watch);
        *e = s->ends;
        *ret_group = s->group;
        cay_warm_slot_init(s, s->init, s->is_forked);
}

/* Calls that were denied */

/* The command in whose node the thread is. A server, and what has no command yet, have none. */
static struct cay_notify *find_owner(struct cay_notify *n, int32_t tid)
{
        struct cay_warm_filter *f = cay_container_of(n, struct cay_warm_filter, notify);
        struct cay_view node = node_of(tid);

        for (struct cay_channel *ch = f->init->channels; ch && node.len > 0; ch = ch->next) {
                if (ch->kind == CAY_BOX_EXEC && is_named(node, ch->group.node))
                        return &ch->notify;
        }
        return NULL;
}

static void on_all_dead(struct cay_notify *n)
{
        cay_notify_stop(n);
}

int cay_warm_filter_take(struct cay_warm_filter *f, struct cay_warm_slot *server)
{
        int fds[SYS_FDS_MAX], r = -EPROTO;
        struct cay_note note = { 0 };
        unsigned count = 0;
        ssize_t n;

        n = sys_recv_fds(server->ends.status[0], &note, sizeof(note), fds, &count, MSG_DONTWAIT);
        if (n < 0)
                return (int)n;
        if (n == sizeof(note) && note.what == CAY_NOTE_LISTENER && count == 1) {
                f->init = server->init;
                cay_notify_init(&f->notify);
                f->notify.find_owner = find_owner;
                f->notify.on_alone = on_all_dead;
                r = cay_notify_start_take(f->init->loop, &f->notify, fds[0]);
                count = 0;
        }
        sys_close_fds(fds, count);
        return r;
}
