/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a child may do: rlimits, ids, capabilities, landlock, the filter. What is the same for every child is
 * set on init itself, once (cay_child_prepare), and inherited.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cay-init/child_priv.h"
#include "cay-init/landlock.h"
#include "seccomp_filters.h"
#include "seccomp_worker.h"
#include "foundation/sys/caps.h"
#include "foundation/sys/syscalls.h"
#include "foundation/sys/unix_socket.h"

#define MEMLOCK_MAX (64u * 1024)
#define MSGQUEUE_MAX (800u * 1024)
#define SIGPENDING_MAX 1024u

/* Lowers soft and hard to at most `max`; raising would need a capability that no process here has. */
static int limit(int resource, uint64_t max)
{
        struct rlimit now;

        if (getrlimit(resource, &now) < 0)
                return -errno;
        if (now.rlim_max <= max && now.rlim_cur == now.rlim_max)
                return 0;
        if (now.rlim_max > max)
                now.rlim_max = max;
        now.rlim_cur = now.rlim_max;
        return setrlimit(resource, &now) < 0 ? -errno : 0;
}

static int prepare_rlimits(void)
{
        static const struct {
                int resource;
                uint64_t max;
        } rows[] = {
                { RLIMIT_CORE, 0 }, /* a core pattern with a pipe would run a program on the host */
                { RLIMIT_MEMLOCK, MEMLOCK_MAX },
                { RLIMIT_MSGQUEUE, MSGQUEUE_MAX },
                { RLIMIT_SIGPENDING, SIGPENDING_MAX },
                { RLIMIT_RTPRIO, 0 },
                { RLIMIT_NICE, 0 },
        };

        for (size_t i = 0; i < CAY_COUNT(rows); i++) {
                int r = limit(rows[i].resource, rows[i].max);

                if (r < 0)
                        return r;
        }
        return 0;
}

int cay_child_prepare(const struct cay_init *init)
{
        int r = 0;

        if (cay_init_has_layer(init, CAY_LAYER_RLIMITS))
                r = prepare_rlimits();
        if (r < 0 || !cay_init_is_isolated(init))
                return r;
        if (cay_init_has_layer(init, CAY_LAYER_CAPS)) {
                r = sys_caps_ambient(0);
                if (r == 0)
                        r = sys_caps_bound(0);
        }
        if (r == 0 && cay_init_has_layer(init, CAY_LAYER_NNP) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                r = -errno;
        return r;
}

int cay_child_set_rlimits(const struct cay_child *c)
{
        uint64_t files = 0, bytes = 0;
        int r;

        if (!c->worker) {
                files = c->open->exec.files_max;
                bytes = c->open->exec.file_max_bytes;
        }
        r = limit(RLIMIT_NOFILE, files > 0 ? files : c->init->files_max);
        if (r == 0 && bytes > 0)
                r = limit(RLIMIT_FSIZE, bytes);
        if (r == 0 && !c->worker)
                r = cay_limit_watch_limit(c->init);
        return r;
}

int cay_child_drop_groups(const struct cay_init *init)
{
        int r = cay_init_is_isolated(init) ? sys_setgroups(0, NULL) : 0;

        if (r == -EPERM && (getgroups(0, NULL) == 0 || init->config.flags & CAY_INIT_ONE_ID))
                r = 0; /* a user namespace may forbid the call; there is nothing to drop, then */
        return r;
}

int cay_child_switch_ids(const struct cay_child *c)
{
        int r;

        if (!cay_init_is_isolated(c->init)) {
                r = c->gid != getegid() ? sys_setresgid(c->gid, c->gid, c->gid) : 0;
                return r == 0 && c->uid != geteuid() ? sys_setresuid(c->uid, c->uid, c->uid) : r;
        }
        r = sys_setresgid(c->gid, c->gid, c->gid);
        if (r == 0)
                r = sys_setresuid(c->uid, c->uid, c->uid);
        if (r == 0)
                prctl(PR_SET_DUMPABLE, 0, 0, 0,
                      0); /* the kernel's own answer to an id change is a host setting */
        return r;
}

int cay_child_drop_caps(const struct cay_init *init)
{
        uint64_t effective, permitted, inheritable;
        int r;

        if (cay_init_has_layer(init, CAY_LAYER_CAPS))
                return sys_caps_set(0, 0, 0);
        /* Test only: init's capabilities are passed on to the command. */
        r = sys_caps_get(&effective, &permitted, &inheritable);
        if (r == 0)
                r = sys_caps_set(permitted, permitted, permitted);
        return r == 0 ? sys_caps_ambient(permitted) : r;
}

/*
 * Without no_new_privs (a test disables it) the kernel allows this only for root: then these layers are
 * missing.
 */
int cay_child_enter_landlock(const struct cay_child *c)
{
        const struct cay_init *init = c->init;
        int r;

        if (init->landlock_fd < 0)
                return 0;
        if (cay_child_has_layers(c)) /* these lie outside of what commands see, and it needs nothing else */
                r = cay_landlock_enter_to_read(
                        (const int[]){ init->fds[CAY_INIT_FD_CHANGES], init->fds[CAY_INIT_FD_BASE] }, 2);
        else
                r = cay_landlock_enter(init->landlock_fd);
        return r == -EPERM && !cay_init_has_layer(init, CAY_LAYER_NNP) ? 0 : r;
}

int cay_child_install_filter(const struct cay_child *c)
{
        const struct sock_filter *code = c->worker ? cay_seccomp_worker_code : cay_seccomp_code;
        struct sock_fprog program = {
                .len = c->worker ? CAY_SECCOMP_WORKER_CODE_LEN : CAY_SECCOMP_CODE_LEN,
                .filter = (struct sock_filter *)(uintptr_t)code,
        };
        struct cay_note note = { .what = CAY_NOTE_LISTENER };
        unsigned flags = c->worker ? 0 : SECCOMP_FILTER_FLAG_NEW_LISTENER;
        ssize_t n;
        int fd;

        fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
        if (fd < 0)
                return errno == EACCES && !cay_init_has_layer(c->init, CAY_LAYER_NNP) ? 0 : -errno;
        if (c->worker)
                return 0;
        n = sys_send_fds(CAY_CHILD_STATUS_FD, &note, sizeof(note), &fd, 1, MSG_NOSIGNAL);
        close(fd);
        return n < 0 ? (int)n : 0;
}
