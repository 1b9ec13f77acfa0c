/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A warden's start, before it serves requests: its descriptors, what this machine permits, and what an
 * earlier warden left. One that cannot start reports the reason in answer to its front's first request.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "foundation/base/clock.h"
#include "foundation/sys/caps.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/files_limit.h"
#include "foundation/sys/loopdev.h"
#include "foundation/sys/mounts.h"
#include "foundation/sys/unix_socket.h"
#include "cay-warden/keep.h"
#include "cay-warden/keep_clone.h"
#include "cay-warden/room_pool.h"
#include "cay-warden/room_shared.h"
#include "cay-warden/upgrade.h"
#include "cay-warden/warden.h"

#define LEAVE_MS 2000
#define FILES_MAX 1048576u /* open files: far more than all boxes take */

static bool has_admin(void)
{
        uint64_t effective = 0, permitted, inheritable;

        return sys_caps_get(&effective, &permitted, &inheritable) == 0 && effective & SYS_CAP(CAP_SYS_ADMIN);
}

static void see_what_can_be_held(struct warden *w)
{
        unsigned can = sys_cgroup_can_hold(&w->cgroups);
        unsigned held = 0;

        held |= can & SYS_CGROUP_CAN_MEMORY ? HELPER_LIMIT_MEMORY : 0;
        held |= can & SYS_CGROUP_CAN_SWAP ? HELPER_LIMIT_SWAP : 0;
        held |= can & SYS_CGROUP_CAN_CPU ? HELPER_LIMIT_CPUS : 0;
        held |= can & SYS_CGROUP_CAN_PIDS ? HELPER_LIMIT_PIDS : 0;
        if (!w->self && sys_layer_image_can())
                held |= HELPER_LIMIT_DISK | HELPER_LIMIT_INODES;
        w->can_keep = w->layers >= 0 && held & HELPER_LIMIT_DISK;
        w->can_share = w->can_keep && warden_shared_can(w->layers);
        /* Root can make cgroups work, and gets an error that says so; an ordinary user often cannot. */
        if (w->ids.source != CAY_IDS_HOST || !has_admin())
                w->can_watch = HELPER_LIMIT_WATCHABLE & ~held;
        w->can_hold = held | w->can_watch;
}

/* A sealed copy in memory, for callers who cannot have a read-only mount. */
static int seal_copy(const char *path)
{
        cay_auto_close int from = sys_open_at(AT_FDCWD, path, O_RDONLY, 0);
        cay_auto_close int to = memfd_create("cay-init", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        struct stat st;

        if (from < 0)
                return from;
        if (to < 0 || fstat(from, &st) < 0)
                return -errno;
        for (off_t at = 0; at < st.st_size;) {
                ssize_t n = sendfile(to, from, &at, (size_t)(st.st_size - at));

                if (n <= 0)
                        return n < 0 ? -errno : -EIO;
        }
        if (fchmod(to, 0555) < 0 ||
            fcntl(to, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
                return -errno;
        return cay_take_fd(to);
}

/*
 * cay-init lies beside us; it runs from a read-only copy of its mount, so that nothing can write to it
 * through /proc.
 */
static int open_init(bool self)
{
        char path[4096];
        ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 16);
        char *slash;

        if (len < 0)
                return -errno;
        path[len] = 0;
        slash = strrchr(path, '/');
        if (!slash)
                return -ENOENT;
        memcpy(slash + 1, "cay-init", sizeof("cay-init"));
        return self ? seal_copy(path) : sys_mount_copy(AT_FDCWD, path, SYS_MOUNT_SAFE | SYS_MOUNT_RDONLY);
}

/*
 * Mounts outside of a box need the host's (or container's) own administrator, and a kernel that can shift ids
 * in them.
 */
static bool must_make_own_mounts(void)
{
        uint64_t effective = 0, permitted, inheritable;
        struct sys_mount_attr none = { 0 };

        return sys_caps_get(&effective, &permitted, &inheritable) < 0 ||
               !(effective & SYS_CAP(CAP_SYS_ADMIN)) || !sys_mount_has_api() ||
               sys_mount_setattr(-1, "", 0, &none) == -ENOSYS;
}

/* Ends of boxes as a descriptor, where there are no pidfds. */
static int watch_signals(struct warden *w)
{
        sigset_t child;
        int fd;

        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        sigprocmask(SIG_BLOCK, &child, NULL);
        fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
        if (fd < 0)
                return -errno;
        w->signals = fd;
        warden_watch(w, fd, WATCH_SIGNAL, NULL);
        return 0;
}

/* Without a folder from the keeper, sandboxes keep nothing. */
static int take_folder(int fd)
{
        struct stat st;

        if (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode))
                return -1;
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        return fd;
}

/* What a warden is born with. */
void warden_take_given(struct warden *w, bool kept)
{
        const struct timeval patience = { .tv_sec = WARDEN_FRONT_PATIENCE_S };

        w->front = HELPER_FRONT_FD;
        w->keeper = kept ? HELPER_KEEPER_FD : -1;
        w->is_kept = kept;
        w->layers = kept ? take_folder(WIRE_LAYERS_FD) : -1;
        w->disk = kept ? take_folder(WIRE_DISK_FD) : -1;
        if (w->disk < 0)
                w->disk = w->layers;
        for (unsigned i = 0; i < WIRE_ROOTS; i++)
                w->roots[i] = -1;
        w->registry = -1;
        fcntl(w->front, F_SETFD, FD_CLOEXEC);
        if (kept)
                fcntl(w->keeper, F_SETFD, FD_CLOEXEC);
        setsockopt(w->front, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

/* is_resumed: our predecessor's boxes are in the table, and its cgroups are ours. */
int warden_set_up(struct warden *w, bool is_resumed, struct cay_error *err)
{
        sigset_t none;
        int r;

        w->state = HELPER_FRESH;
        w->init_exe = -1;
        w->signals = 0;
        w->is_upgrading = false;
        warden_upgrade_note_program();
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL); /* the caller's is its own */
        signal(SIGPIPE, SIG_IGN);
        signal(SIGINT, SIG_IGN); /* the terminal's Ctrl-C is the front's to decide about */
        signal(SIGHUP, SIG_IGN);
        umask(022);
        sys_files_raise(FILES_MAX);
        w->steps = mmap(NULL, sizeof(*w->steps), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (w->steps == MAP_FAILED)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "map the trace");
        cay_step_arm(getppid(), getpid());
        w->epoll = epoll_create1(EPOLL_CLOEXEC);
        if (w->epoll < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make an epoll");
        if (cay_ids_pool_open(&w->ids, err) < 0)
                return -1;
        w->self = w->ids.source != CAY_IDS_HOST || must_make_own_mounts();
        if (sys_pidfd_open(getpid(), 0) == -ENOSYS && watch_signals(w) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make a descriptor for signals");
        r = is_resumed ? 0 : sys_cgroup_host_open(&w->cgroups);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "look at the host's cgroups");
        w->init_exe = open_init(w->self);
        if (w->init_exe < 0)
                return cay_fail_sys(err, CAY_INTERNAL, w->init_exe, "open cay-init beside cay-warden");
        if (cay_records_open(w->ids.slots, w->ids.source == CAY_IDS_HOST, err) < 0)
                return -1;
        see_what_can_be_held(w);
        cay_step_reached(w->steps, CAY_STEP_warden_up);
        if (w->is_kept)
                warden_sweep(w, WARDEN_SWEEP_MS);
        if (w->layers >= 0 && !is_resumed) {
                cay_keep_clone_sweep(w->layers);
                cay_keep_reserve(w->disk, 0); /* what the last one kept back; room.c takes its own */
                warden_pool_begin(w);
        }
        if (w->front >= 0)
                warden_watch(w, w->front, WATCH_FRONT, NULL);
        if (w->keeper >= 0)
                warden_watch(w, w->keeper, WATCH_KEEPER, NULL);
        return 0;
}

void warden_sweep(struct warden *w, unsigned wait_ms)
{
        w->has_swept = true;
        cay_records_sweep(&w->cgroups, NULL, wait_ms);
        cay_step_reached(w->steps, CAY_STEP_swept);
}

void warden_sweep_at_last(struct warden *w)
{
        if (!w->has_swept || cay_records_are_stuck())
                warden_sweep(w, WARDEN_SWEEP_MS);
}

/* Unread input is read before exit: closing with unread bytes would discard the answer. */
static void read_the_rest(const struct warden *w)
{
        struct pollfd p = { .fd = w->front, .events = POLLIN };
        uint64_t until_ms = cay_clock_ms() + LEAVE_MS, now;

        while ((now = cay_clock_ms()) < until_ms) {
                struct wire_request req;
                int fds[SYS_FDS_MAX], ready = poll(&p, 1, (int)(until_ms - now));
                unsigned count = 0;

                if (ready < 0 && errno == EINTR)
                        continue;
                if (ready <= 0 || sys_recv_fds(w->front, &req, sizeof(req), fds, &count, MSG_DONTWAIT) <= 0)
                        return;
                sys_close_fds(fds, count);
        }
}

/* Reports why nothing is available, in answer to the front's first request. */
int warden_refuse(struct warden *w, const struct cay_error *err)
{
        struct wire_request req;
        struct wire_answer a = { .type = WIRE_hello, .code = err->code, .sys = err->sys };
        int fds[SYS_FDS_MAX];
        unsigned count = 0;

        if (sys_recv_fds(w->front, &req, sizeof(req), fds, &count, 0) != (ssize_t)sizeof(req))
                return 1;
        sys_close_fds(fds, count);
        a.seq = req.seq;
        snprintf(a.text, sizeof(a.text), "%s", err->msg);
        w->epoll = -1;
        warden_answer(w, &a);
        read_the_rest(w);
        return 1;
}
