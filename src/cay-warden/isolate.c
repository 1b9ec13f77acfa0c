/* SPDX-License-Identifier: Apache-2.0 */
/* The box's first process, from clone to exec of cay-init. See isolate.h for the theory. */
#include "cay-warden/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "foundation/sys/caps.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/files_limit.h"
#include "foundation/sys/idmap.h"
#include "foundation/sys/mounts.h"
#include "foundation/sys/unix_socket.h"
#include "links/helper/init_config.h"

/* What cay-init needs: switch ids for commands, signal them, drop the bounding set. */
#define INIT_CAPS (SYS_CAP(CAP_SETUID) | SYS_CAP(CAP_SETGID) | SYS_CAP(CAP_KILL) | SYS_CAP(CAP_SETPCAP))

const struct host_tree host_trees[] = {
#define CAY_HOST_TREE(path, kind) { path, HOST_TREE_##kind },
#include "cay-warden/host_tree.def"
#undef CAY_HOST_TREE
};

bool isolate_wants_tree(const struct wire_plan *plan, const struct host_tree *tree)
{
        return tree->kind != HOST_TREE_CACHE || plan->flags & WIRE_PLAN_FONT_CACHE;
}

void isolate_fail(struct isolate *iso, int neg_errno, const char *fmt, ...)
{
        struct isolate_failure why = { .sys = -neg_errno };
        va_list args;

        va_start(args, fmt);
        vsnprintf(why.text, sizeof(why.text), fmt, args);
        va_end(args);
        sys_write_all(iso->status, &why, sizeof(why));
        _exit(1);
}

/* Waits until the warden has mapped our ids and made its mounts. The warden's death ends us too. */
static void await_go(struct isolate *iso)
{
        struct isolate_go go;
        int fds[SYS_FDS_MAX];
        unsigned count, next = 0;
        ssize_t n = sys_recv_fds(iso->control, &go, sizeof(go), fds, &count, 0);

        if (n != (ssize_t)sizeof(go))
                _exit(1);
        for (unsigned i = 0; i < ISOLATE_MOUNTS; i++)
                iso->mount[i] = go.mask & (1u << i) && next < count ? fds[next++] : -1;
        for (unsigned i = 0; i < CAY_INIT_FD_COUNT; i++)
                iso->own[i] = -1;
}

static void leave_host(struct isolate *iso)
{
        cay_auto_close int old = sys_open_at(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
        int r;

        if (old < 0 || fchdir(iso->root) < 0)
                isolate_fail(iso, -errno, "enter the new root");
        r = sys_pivot_root(".", ".");
        if (r < 0)
                isolate_fail(iso, r, "change root");
        /*
         * The old root is now mounted over the new one. Unmounting it removes everything mounted on it,
         * including the layer's own mount.
         */
        if (fchdir(old) < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
                isolate_fail(iso, -errno, "let go of the host's file systems");
        if (iso->plan->flags & WIRE_PLAN_READ_ONLY) {
                r = sys_mount_change(AT_FDCWD, "/", SYS_MOUNT_RDONLY);
                if (r < 0)
                        isolate_fail(iso, r, "make the root read-only");
        }
}

/* From here on only descriptors that cay-init needs are open, and no terminal. */
static void close_host(struct isolate *iso)
{
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        bool keep_stderr = false;

#ifdef CAY_TEST_HOOKS
        keep_stderr = getenv("CAY_TEST_STDERR") != NULL; /* a sanitizer's report of cay-init */
#endif
        if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || (!keep_stderr && dup2(null, 2) < 0))
                isolate_fail(iso, -errno, "open /dev/null of the box");
        if (dup2(iso->control, CAY_INIT_CONTROL_FD) < 0)
                isolate_fail(iso, -errno, "place the control socket");
        for (int i = 0; i < CAY_INIT_FD_COUNT; i++)
                if (iso->own[i] >= 0 && dup2(iso->own[i], CAY_INIT_INHERITED_FD + i) < 0)
                        isolate_fail(iso, -errno, "place a descriptor for cay-init");
}

static void drop_privileges(struct isolate *iso)
{
        uint32_t user = isolate_has(iso, CAY_LAYER_INIT_UID) ? iso->ids.init_user : CAY_BOX_USER;
        uint64_t keep = isolate_has(iso, CAY_LAYER_CAPS) ? INIT_CAPS : SYS_CAP_ALL;
        uint64_t effective, permitted, inheritable;
        int r;

        sys_caps_get(&effective, &permitted, &inheritable);
        keep &= permitted;
        if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
                isolate_fail(iso, -errno, "keep capabilities over the change of ids");
        r = sys_setresgid(user, user, user);
        if (r == 0)
                r = sys_setresuid(user, user, user);
        if (r == 0)
                r = sys_caps_set(permitted, permitted, permitted);
        if (r == 0)
                r = sys_caps_bound(keep);
        if (r == 0)
                r = sys_caps_set(keep, keep, keep);
        if (r == 0)
                r = sys_caps_ambient(keep);
        if (r < 0)
                isolate_fail(iso, r, "drop privileges");
        if (isolate_has(iso, CAY_LAYER_NNP) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                isolate_fail(iso, -errno, "set no_new_privs");
        /* After the last change of ids, which resets it. Until then the control socket reports the death. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
                isolate_fail(iso, -errno, "ask for the parent's death signal");
}

/* Where there is only one id, we already have it; groups cannot be dropped there, and mean nothing inside. */
static void become_root(struct isolate *iso)
{
        int r;

        if (iso->ids.source == CAY_IDS_ONE)
                return;
        r = sys_setgroups(0, NULL);
        if (r == 0)
                r = sys_setresgid(0, 0, 0);
        if (r == 0)
                r = sys_setresuid(0, 0, 0);
        if (r < 0)
                isolate_fail(iso, r, "become the box's root");
}

/*
 * An affinity mask, inherited by all. A command may widen it, so it is not a limit, but programs count
 * processors by it.
 */
static void pin_cpus(const struct isolate *iso)
{
        cpu_set_t have, want;
        unsigned count, left = iso->cpus;

        if (iso->pin_at < 0 || sched_getaffinity(0, sizeof(have), &have) < 0)
                return;
        count = (unsigned)CPU_COUNT(&have);
        if (count <= left)
                return;
        CPU_ZERO(&want);
        for (unsigned i = 0, nr = 0; i < 2 * CPU_SETSIZE && left > 0; i++) {
                unsigned cpu = i % CPU_SETSIZE;

                if (!CPU_ISSET(cpu, &have))
                        continue;
                if (nr++ >= (unsigned)iso->pin_at % count) {
                        CPU_SET(cpu, &want);
                        left--;
                }
        }
        sched_setaffinity(0, sizeof(want), &want);
}

static void own_clock(void);

static _Noreturn void box_process(struct isolate *iso)
{
        char *const argv[] = { "cay-init", NULL };
        char *const env[] = { NULL }, *const proxied_env[] = { ISOLATE_PROXY_VARIABLES, NULL };
        int r;

        close(iso->birth); /* otherwise the warden would wait for a helper that died before reporting */
        setsid();          /* detach from the host's terminal and its signals */
        if (iso->net_far >= 0)
                close(iso->net_far);
        if (iso->network >= 0)
                close(iso->network);
        if (unshare(CLONE_NEWCGROUP) < 0)
                isolate_fail(iso, -errno, "make a cgroup namespace");
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                isolate_fail(iso, -errno, "make mounts private");
        await_go(iso);
        if (iso->self)
                isolate_open_trees(iso);
        if (iso->ids.source != CAY_IDS_HOST)
                own_clock(); /* for our children: only permitted here, not after a change of ids */
        become_root(iso);
        pin_cpus(iso);
        umask(0);
        cay_step_reached(iso->steps, CAY_STEP_box_awake);

        isolate_root(iso);
        isolate_volumes(iso);
        cay_step_reached(iso->steps, CAY_STEP_box_root);
        isolate_dev(iso);
        cay_step_reached(iso->steps, CAY_STEP_box_dev);
        isolate_proc(iso);
        isolate_enter_network(iso);
        isolate_settings(iso);
        if (isolate_has(iso, CAY_LAYER_UTSNS) && sethostname("cay", 3) < 0)
                isolate_fail(iso, -errno, "set the host name");
        cay_step_reached(iso->steps, CAY_STEP_box_proc);
        leave_host(iso);
        cay_step_reached(iso->steps, CAY_STEP_box_pivoted);
        close_host(iso);
        umask(022);
        drop_privileges(iso);
        cay_step_reached(iso->steps, CAY_STEP_box_dropped);
        r = sys_execveat(iso->init_exe, "", argv, iso->is_proxied ? proxied_env : env, AT_EMPTY_PATH);
        isolate_fail(iso, r, "start cay-init");
}

/*
 * The box's clocks begin at zero: neither uptime nor CLOCK_MONOTONIC reveals the host's. Not on older
 * kernels.
 */
static void own_clock(void)
{
        struct timespec mono, boot;
        char text[96];

        if (unshare(CLONE_NEWTIME) < 0)
                return;
        clock_gettime(CLOCK_MONOTONIC, &mono);
        clock_gettime(CLOCK_BOOTTIME, &boot);
        snprintf(text, sizeof(text), "monotonic -%lld 0\nboottime -%lld 0\n", (long long)mono.tv_sec,
                 (long long)boot.tv_sec);
        sys_write_file(AT_FDCWD, "/proc/self/timens_offsets", text);
}

/*
 * The warden's descriptors that a box being made needs; all others are closed here. Otherwise a stuck box
 * would keep the warden's end of its own control socket, the locks of records, and other boxes in the
 * warden's epoll.
 */
static void keep_only(const struct isolate *iso)
{
        int keep[] = { iso->control, iso->status, iso->init_exe,  iso->cgroup2, iso->birth, iso->net,
                       iso->net_far, iso->rootfs, iso->workspace, iso->network, -1,         -1 };
        unsigned first = 3;

        cay_step_fds(&keep[CAY_COUNT(keep) - 2]);
        for (;;) {
                unsigned next = ~0u;

                for (unsigned i = 0; i < CAY_COUNT(keep); i++)
                        if (keep[i] >= (int)first && (unsigned)keep[i] < next)
                                next = (unsigned)keep[i];
                if (next > first)
                        sys_close_range(first, next == ~0u ? next : next - 1, 0);
                if (next == ~0u)
                        return;
                first = next + 1;
        }
}

/*
 * Switches to the box's first id, so that the user namespace belongs to the box and not to root, and keeps
 * what the clone needs.
 */
static int take_first_id(const struct isolate *iso)
{
        uint32_t id = iso->ids.first_uid;
        uint64_t effective, permitted, inheritable;
        int r;

        prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
        r = sys_caps_get(&effective, &permitted, &inheritable);
        /*
         * Root of a container: then only the owner of the namespace may write its maps, and that has to be
         * the warden.
         */
        if (r == 0 && !(effective & SYS_CAP(CAP_SYS_ADMIN)))
                return 0;
        if (r == 0)
                r = sys_setgroups(0, NULL);
        if (r == 0)
                r = sys_setresgid(id, id, id);
        if (r == 0)
                r = sys_setresuid(id, id, id);
        return r == 0 ? sys_caps_set(permitted, permitted, inheritable) : r;
}

static bool lacks_clone_into(pid_t r)
{
        return r == -ENOSYS || r == -EOPNOTSUPP || r == -EINVAL || r == -E2BIG;
}

static pid_t clone_helper(struct isolate *iso)
{
        struct clone_args args = { .flags = CLONE_PARENT | CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID };
        pid_t pid;

        if (iso->ids.source == CAY_IDS_HOST) {
                int r;

                own_clock();
                r = take_first_id(iso);
                if (r < 0)
                        return r;
        }
        if (isolate_has(iso, CAY_LAYER_IPCNS))
                args.flags |= CLONE_NEWIPC;
        if (isolate_has(iso, CAY_LAYER_UTSNS))
                args.flags |= CLONE_NEWUTS;
        if (iso->cgroup2 >= 0) {
                args.flags |= CLONE_INTO_CGROUP;
                args.cgroup = (uint64_t)iso->cgroup2;
        }
        pid = sys_clone3(&args);
        if (lacks_clone_into(pid) &&
            iso->cgroup2 >= 0) { /* before 5.7: we join it, and the child is created there */
                int r = sys_write_file(iso->cgroup2, "cgroup.procs", "0");

                if (r < 0)
                        return r;
                args.flags &= ~CLONE_INTO_CGROUP;
                args.cgroup = 0;
                pid = sys_clone3(&args);
        }
        if (pid == 0)
                box_process(iso);
        return pid;
}

int cay_isolate_begin(struct isolate *iso)
{
        struct clone_args args = { .exit_signal = SIGCHLD };
        int ends[2], net[2] = { -1, -1 };

        if (isolate_has(iso, CAY_LAYER_NETNS) &&
            socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, net) < 0)
                return -errno;
        iso->net = net[0];
        iso->net_far = net[1];
        if (pipe2(ends, O_CLOEXEC) < 0) {
                int r = -errno;

                if (net[0] >= 0)
                        sys_close_fds(net, 2);
                return r;
        }
        iso->birth = ends[0];
        iso->helper = sys_clone3(&args);
        if (iso->helper == 0) {
                int32_t pid;
                int userns = -1;

                iso->birth = ends[1];
                keep_only(iso);
                sys_files_restore();
                pid = clone_helper(iso);
                /* Before the report: afterwards the box changes its ids and is inaccessible to us. */
                if (pid > 0 && iso->net_far >= 0)
                        userns = sys_idmap_open(pid);
                sys_write_all(ends[1], &pid, sizeof(pid));
                if (pid > 0 && iso->net_far >= 0)
                        isolate_make_network(iso, userns);
                _exit(0);
        }
        close(ends[1]);
        if (iso->net >= 0)
                sys_close_fds(net, 2);
        if (iso->helper < 0)
                close(iso->birth);
        return iso->helper < 0 ? iso->helper : 0;
}

pid_t cay_isolate_end(struct isolate *iso, int *ret_pidfd)
{
        int32_t pid = -ECHILD;
        ssize_t n;

        do
                n = read(iso->birth, &pid, sizeof(pid));
        while (n < 0 && errno == EINTR);
        close(iso->birth);
        if (n != (ssize_t)sizeof(pid))
                return -ECHILD; /* the helper was killed before it could report */
        if (pid < 0)
                return pid;
        *ret_pidfd = sys_pidfd_open(pid, 0); /* our own child: the pid cannot be reused */
        if (*ret_pidfd == -ENOSYS)
                return pid; /* before 5.3: it is watched by its signal */
        if (*ret_pidfd < 0) {
                kill(pid, SIGKILL);
                waitpid(pid, NULL, 0);
                return *ret_pidfd;
        }
        return pid;
}
