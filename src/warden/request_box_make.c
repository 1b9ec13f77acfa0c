/* SPDX-License-Identifier: Apache-2.0 */
/*
 * box_make: why it is safe for an untrusted caller. Nothing is named by path: link, rootfs and workspace come as descriptors that
 * the caller could open itself, and their kind is checked here. Numbers are checked against closed ranges again. The id is
 * matched against its pattern before it becomes part of a cgroup's name. The host's /usr is shown read-only and without set-id
 * bits; the box gets host ids of its own, none of which owns anything (but for a workspace's owner, where mounts cannot shift ids). A limit that cannot be held refuses the plan
 * unless the caller allowed to skip it. A layer that outlives its box lies in a folder that the keeper gave us, under the box's
 * id and no other name (keep.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "sys/fd.h"
#include "sys/idmap.h"
#include "sys/loopdev.h"
#include "sys/mounts.h"
#include "sys/unix_socket.h"
#include "sys/userns_why.h"
#include "warden/keep.h"
#include "warden/truth.h"
#include "warden/rootfs.h"
#include "warden/warden.h"
#include "wire/init_config.h"

#define IMAGE_FOLDER "/var/tmp" /* unnamed files: large, on disk, gone by themselves */
#define EXT4_OWN_INODES 16u     /* reserved ones, the root, lost+found */
#define DISK_MAX (1ull << 46)
#define SELF_DISK_MAX (1ull << 30) /* in memory that nothing limits */

struct given { /* descriptors of the plan; -1: not given */
        int link, rootfs;
        int folder, peer; /* of a workspace by descriptor */
        struct warden_workspace workspace;
};

static bool is_kind(int fd, mode_t kind)
{
        struct stat st;

        return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == kind;
}

static int check_plan(struct warden *w, const struct wire_plan *p, const int *fds, unsigned count,
                      struct given *ret, struct cay_error *err)
{
        bool by_folder = p->flags & WIRE_PLAN_WORKSPACE && !(p->flags & WIRE_PLAN_WORKSPACE_BELOW);
        unsigned next = 0;

        if (memchr(p->id, 0, sizeof(p->id)) == NULL || !cay_id_is_valid(p->id))
                return cay_fail(err, CAY_INVALID, "the box's id is not of the form [a-z0-9-]");
        if (p->flags & ~WIRE_PLAN_ALL)
                return cay_fail(err, CAY_INVALID, "unknown plan flags 0x%x", p->flags);
        if (p->memory_bytes > DISK_MAX || p->swap_bytes > DISK_MAX || p->disk_bytes > DISK_MAX ||
            p->inodes > 1ull << 32 || p->pids > 4194304 || p->cpu_milli > 1024000)
                return cay_fail(err, CAY_INVALID, "a limit is out of range");
        if ((p->memory_bytes && p->memory_bytes < 4u << 20) || (p->cpu_milli && p->cpu_milli < 10))
                return cay_fail(err, CAY_INVALID, "a limit is too small: memory from 4 MiB, cpus from 0.01");
        ret->link = fds[next++];
        if (p->flags & WIRE_PLAN_ROOTFS)
                ret->rootfs = next < count ? fds[next++] : -1;
        if (by_folder)
                ret->folder = next < count ? fds[next++] : -1;
        if (p->flags & WIRE_PLAN_WORKSPACE_PEER)
                ret->peer = next < count ? fds[next++] : -1;
        if (next != count || !is_kind(ret->link, S_IFSOCK) ||
            (p->flags & WIRE_PLAN_ROOTFS && !is_kind(ret->rootfs, S_IFDIR)) ||
            (by_folder && !is_kind(ret->folder, S_IFDIR)) ||
            (p->flags & WIRE_PLAN_WORKSPACE_PEER && !is_kind(ret->peer, S_IFSOCK)))
                return cay_fail(err, CAY_INVALID, "the plan's descriptors are not what it says");
        if (p->flags & WIRE_PLAN_ROOTFS && warden_rootfs_check(w, ret->rootfs, err) < 0)
                return -1;
        if (p->flags & WIRE_PLAN_WORKSPACE_COW &&
            (!(p->flags & WIRE_PLAN_WORKSPACE) || p->flags & WIRE_PLAN_WORKSPACE_RW))
                return cay_fail(err, CAY_INVALID,
                                "a copy-on-write workspace needs a folder, and is not read-write");
        if (p->flags & WIRE_PLAN_GO_ON && !(p->flags & WIRE_PLAN_KEEP))
                return cay_fail(err, CAY_INVALID, "only a layer that is kept can be gone on with");
        if (warden_find(w, p->id))
                return cay_fail(err, CAY_EXISTS, "id: a sandbox '%s' exists already", p->id);
        return warden_workspace_open(w, p, ret->folder, ret->peer, &ret->workspace, err);
}

/*
 * tmpfs is fastest and leaves nothing, but its pages are memory: only for runs whose disk is small beside their memory. Who cannot
 * mount anything else has it always: what they write counts as memory, and is held by that limit too.
 */
static bool tmpfs_does(const struct warden *w, const struct wire_plan *p)
{
        if (w->self)
                return p->disk_bytes && (p->memory_bytes || p->disk_bytes <= SELF_DISK_MAX);
        return p->flags & WIRE_PLAN_ONE_SHOT && p->disk_bytes && p->memory_bytes &&
               p->disk_bytes <= p->memory_bytes / 2;
}

/* Which limits the plan sets and this host cannot hold; names the first that may not be skipped. */
static int check_limits(struct warden *w, const struct wire_plan *p, unsigned *ret_skipped,
                        struct cay_error *err)
{
        static const struct {
                unsigned bit;
                const char *word, *remedy;
        } rows[] = {
                { WIRE_LIMIT_MEMORY, "memory", "mount the memory cgroup controller" },
                { WIRE_LIMIT_SWAP, "swap", "turn swap off or boot with swapaccount=1" },
                { WIRE_LIMIT_CPUS, "cpus", "mount the cpu and cpuset cgroup controllers" },
                { WIRE_LIMIT_PIDS, "pids", "mount the pids cgroup controller" },
                { WIRE_LIMIT_DISK, "disk", "install e2fsprogs and allow loop devices" },
                { WIRE_LIMIT_INODES, "inodes", "install e2fsprogs and allow loop devices" },
        };
        const char *half = "set a memory limit too, as it lies in memory here, or keep it below 1 GiB";
        unsigned set = (p->memory_bytes ? WIRE_LIMIT_MEMORY | WIRE_LIMIT_SWAP : 0) |
                       (p->cpu_milli ? WIRE_LIMIT_CPUS : 0) | (p->pids ? WIRE_LIMIT_PIDS : 0) |
                       (p->disk_bytes ? WIRE_LIMIT_DISK : 0) | (p->inodes ? WIRE_LIMIT_INODES : 0);
        unsigned by_tmpfs = tmpfs_does(w, p) ? WIRE_LIMIT_DISK | WIRE_LIMIT_INODES
                            : p->disk_bytes  ? 0
                                             : WIRE_LIMIT_INODES;
        unsigned missing = set & ~(w->can_hold | by_tmpfs);

        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                if (missing & rows[i].bit && !(p->may_skip & rows[i].bit))
                        return cay_fail(err, CAY_UNSUPPORTED,
                                        "%s: this host cannot hold this limit: %s, or let it be skipped "
                                        "(may_skip %s)",
                                        rows[i].word,
                                        w->self && rows[i].bit & (WIRE_LIMIT_DISK | WIRE_LIMIT_INODES)
                                                ? half
                                                : rows[i].remedy,
                                        rows[i].word);
        *ret_skipped = missing;
        return 0;
}

static int make_cgroups(struct warden *w, struct warden_box *box, struct cay_error *err)
{
        const struct wire_plan *p = &box->plan;
        struct sys_cgroup_limits l = {
                .memory_bytes = cay_layer_is_on(p->test_off, CAY_LAYER_MEMORY) ? p->memory_bytes : 0,
                .swap_bytes = p->swap_bytes,
                .hold_swap = w->can_hold & WIRE_LIMIT_SWAP,
                .pids = cay_layer_is_on(p->test_off, CAY_LAYER_PIDS) ? p->pids : 0,
                .cpu_milli = cay_layer_is_on(p->test_off, CAY_LAYER_CPU) ? p->cpu_milli : 0,
                .spread = box->record.slot,
        };
        const char *what = "?";
        int r;

        cay_ids_outside(&box->ids,
                        cay_layer_is_on(p->test_off, CAY_LAYER_INIT_UID) ? box->ids.init_user : CAY_BOX_USER,
                        &l.owner);
        r = sys_cgroup_make(&w->cgroups, &box->cgroup);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "make cgroups for '%s'", p->id);
        cay_step_reached(w->steps, CAY_STEP_cgroups_made);
        r = sys_cgroup_limit(&w->cgroups, &box->cgroup, &l, &what);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "set limit %s", what);
        cay_step_reached(w->steps, CAY_STEP_limits_set);
        return 0;
}

static uint64_t safe_attr(const struct warden_box *box)
{
        return (cay_layer_is_on(box->plan.test_off, CAY_LAYER_NOSUID) ? SYS_MOUNT_NOSUID : 0) |
               (cay_layer_is_on(box->plan.test_off, CAY_LAYER_NODEV) ? SYS_MOUNT_NODEV : 0);
}

/* The rootfs and the host's trees are shown with the box's ids: root outside is root inside, and nobody else is anybody. */
static int copy_shifted(const struct warden_box *box, int dirfd, const char *path, int userns)
{
        int plain = 0;

        return sys_mount_copy_idmapped(dirfd, path, safe_attr(box) | SYS_MOUNT_RDONLY, userns, &plain);
}

/* The folder's owner outside is the sandbox's user inside, and nobody else is mapped: files made inside belong to the owner. */
static int copy_workspace(const struct warden_box *box, const struct warden_workspace *ws)
{
        uint32_t user = box->ids.first_uid + CAY_BOX_USER;
        uint64_t attr = safe_attr(box) | (box->plan.flags & WIRE_PLAN_WORKSPACE_RW ? 0 : SYS_MOUNT_RDONLY);
        struct sys_idmap uids = { ws->as_owner ? ws->uid : user, user, 1 }; /* to itself: owns nothing */
        struct sys_idmap gids = { ws->as_group ? ws->gid : user, user, 1 };
        cay_auto_close int userns = sys_idmap_namespace(&uids, &gids);
        int plain = 0, copy;

        if (userns < 0)
                return userns;
        copy = sys_mount_copy_idmapped(ws->fd, "", attr, userns, &plain);
        if (copy >= 0 && plain && !(attr & SYS_MOUNT_RDONLY)) {
                close(copy); /* files written there would belong to ids that are another box's tomorrow */
                return -EOPNOTSUPP;
        }
        return copy;
}

/* A file of its own for this box alone, gone with it. */
static int make_layer(const struct warden_box *box, struct cay_error *err)
{
        uint64_t bytes = box->plan.disk_bytes + ISOLATE_OWN_BYTES;
        uint64_t inodes = box->plan.inodes ? box->plan.inodes + ISOLATE_OWN_INODES + EXT4_OWN_INODES : 0;
        int fd;

        if (cay_keep_check_inodes(bytes, inodes, err) < 0)
                return -1;
        fd = sys_layer_image_mount(IMAGE_FOLDER, bytes, inodes, SYS_MOUNT_SAFE);
        if (fd < 0)
                return cay_fail_sys(err, fd == -ENOSPC || fd == -EFBIG ? CAY_NO_SPACE : CAY_INTERNAL, fd,
                                    "disk: make a writable layer of %llu bytes in " IMAGE_FOLDER,
                                    (unsigned long long)box->plan.disk_bytes);
        return fd;
}

/* One that outlives it. A tmpfs cannot, and where ids cannot be shifted the next box would be another user to its own files. */
static int make_kept_layer(const struct warden *w, struct warden_box *box, struct cay_error *err)
{
        return cay_keep_mount(w->layers, box->plan.id, box->plan.flags & WIRE_PLAN_GO_ON,
                              box->plan.disk_bytes + ISOLATE_OWN_BYTES,
                              box->plan.inodes ? box->plan.inodes + ISOLATE_OWN_INODES + EXT4_OWN_INODES : 0,
                              &box->drop_layer, err);
}

static int show_layer(const struct warden *w, struct warden_box *box, int userns, int *ret,
                      struct cay_error *err)
{
        struct sys_mount_attr shift = { .attr_set = SYS_MOUNT_IDMAP, .userns_fd = (uint64_t)userns };
        cay_auto_close int fd = box->kept ? make_kept_layer(w, box, err) : make_layer(box, err);
        int r;

        if (fd < 0)
                return -1;
        /* Not a copy: before Linux 6.15 a mount that is nowhere yet has none. */
        r = sys_mount_setattr(fd, "", AT_EMPTY_PATH, &shift);
        if (r < 0 && box->kept)
                return cay_fail_sys(err, CAY_UNSUPPORTED, r,
                                    "ids cannot be shifted here, so files cannot be kept for the next start");
        if (r < 0 && r != -EINVAL && r != -EPERM)
                return cay_fail_sys(err, CAY_INTERNAL, r, "show the writable layer");
        *ret = cay_take_fd(fd);
        return 0;
}

static int make_mounts(const struct warden *w, struct warden_box *box, const struct given *given,
                       const struct cay_truth *truth, bool tmpfs, int *mounts, struct cay_error *err)
{
        cay_auto_close int userns = -1;
        int root = AT_FDCWD, r;

        if (truth->mount < 0)
                return 0; /* the box makes them all itself */
        userns = sys_idmap_open(box->pid);
        if (userns < 0)
                return cay_fail_sys(err, CAY_INTERNAL, userns, "open the box's user namespace");
        mounts[ISOLATE_TRUTH] = truth->mount;
        if (!tmpfs && show_layer(w, box, userns, &mounts[ISOLATE_LAYER], err) < 0)
                return -1;
        if (given->workspace.fd >= 0) {
                r = mounts[ISOLATE_WORKSPACE] = copy_workspace(box, &given->workspace);
                if (r == -EOPNOTSUPP)
                        return cay_fail(err, CAY_UNSUPPORTED,
                                        "the workspace's file system cannot map ids: map it read-only (:ro)");
                if (r == -EINVAL)
                        return cay_fail(err, CAY_INVALID,
                                        "workspace: the folder is not where this daemon can see it (another "
                                        "container's, or mounted nowhere)");
                if (r < 0)
                        return cay_fail_sys(err, CAY_INTERNAL, r, "map the workspace");
        }
        if (given->rootfs >= 0) {
                r = mounts[ISOLATE_LOWER] = copy_shifted(box, given->rootfs, "", userns);
                return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "show the rootfs") : 0;
        }
        for (unsigned i = 0; i < ISOLATE_MOUNTS - ISOLATE_HOST0; i++) {
                char path[64];
                struct stat st;

                snprintf(path, sizeof(path), "/%s", host_trees[i].path);
                if (lstat(path, &st) < 0 || S_ISLNK(st.st_mode))
                        continue; /* links are made again inside */
                r = mounts[ISOLATE_HOST0 + i] = copy_shifted(box, root, path, userns);
                if (r < 0)
                        return cay_fail_sys(err, CAY_INTERNAL, r, "show %s", path);
        }
        return 0;
}

static int send_go(struct warden_box *box, const int *mounts)
{
        struct isolate_go go = { 0 };
        int fds[ISOLATE_MOUNTS];
        unsigned count = 0;

        for (unsigned i = 0; i < ISOLATE_MOUNTS; i++)
                if (mounts[i] >= 0) {
                        go.mask |= 1u << i;
                        fds[count++] = mounts[i];
                }
        return (int)sys_send_fds(box->control, &go, sizeof(go), fds, count, 0);
}

/* What the box's process has made for cay-init itself. */
static void inherit(const struct warden *w, const struct wire_plan *p, uint32_t cpus,
                    struct cay_init_config *c)
{
        if (w->self)
                c->inherited |= (p->memory_bytes ? 1u << CAY_INIT_FD_MEMINFO : 0) |
                                (cpus ? 1u << CAY_INIT_FD_STAT : 0) | 1u << CAY_INIT_FD_LOADAVG;
        if (p->flags & WIRE_PLAN_WORKSPACE_COW)
                c->inherited |= 1u << CAY_INIT_FD_CHANGES | 1u << CAY_INIT_FD_BASE;
}

/* Limits that nobody else holds. */
static void watch(const struct warden *w, const struct wire_plan *p, struct cay_init_config *c)
{
        c->cpu_milli = p->cpu_milli;
        c->pids = (uint32_t)p->pids;
        if (w->can_watch & WIRE_LIMIT_MEMORY && p->memory_bytes &&
            cay_layer_is_on(p->test_off, CAY_LAYER_MEMORY))
                c->watch |= CAY_INIT_WATCH_MEMORY;
        if (w->can_watch & WIRE_LIMIT_CPUS && p->cpu_milli && cay_layer_is_on(p->test_off, CAY_LAYER_CPU))
                c->watch |= CAY_INIT_WATCH_CPUS;
        if (w->can_watch & WIRE_LIMIT_PIDS && p->pids && cay_layer_is_on(p->test_off, CAY_LAYER_PIDS))
                c->watch |= CAY_INIT_WATCH_PIDS;
}

/* cay-init's instructions, waiting in its socket before it runs. */
static int send_config(struct warden *w, struct warden_box *box, int link, const struct cay_truth *truth,
                       uint32_t cpus, bool oom_set)
{
        const struct wire_plan *p = &box->plan;
        struct cay_init_config c = {
                .magic = CAY_INIT_MAGIC,
                .size = sizeof(c),
                .flags = CAY_INIT_ISOLATED | (p->flags & WIRE_PLAN_READ_ONLY ? CAY_INIT_READ_ONLY : 0) |
                         (oom_set ? CAY_INIT_OOM_SET : 0) |
                         (box->ids.source == CAY_IDS_ONE ? CAY_INIT_ONE_ID : 0),
                .uid = CAY_BOX_USER,
                .gid = CAY_BOX_USER,
                .cpus = cpus,
                .test_off = p->test_off,
                .memory_bytes = p->memory_bytes,
                .swap_bytes = p->swap_bytes,
                .boot_wall_s = (uint64_t)time(NULL),
        };
        int own[2 + CAY_INIT_JOIN_MAX], all[CAY_INIT_FD_COUNT], fds[CAY_INIT_FD_COUNT];
        unsigned count = 0;
        int joins, r;

        for (unsigned i = 0; i < CAY_INIT_FD_COUNT; i++)
                all[i] = -1;
        memcpy(c.secret, p->secret, sizeof(c.secret));
        inherit(w, p, cpus, &c);
        watch(w, p, &c);
        r = sys_cgroup_open_usage(&box->cgroup, &own[0], &own[1]);
        joins = r < 0 ? 0 : sys_cgroup_open_joins(&box->cgroup, own + 2, CAY_INIT_JOIN_MAX);
        if (joins < 0) {
                r = joins;
                joins = 0;
        }
        all[CAY_INIT_FD_LINK] = link;
        all[CAY_INIT_FD_CGROUP2] = box->cgroup.dir[SYS_CGROUP_2];
        all[CAY_INIT_FD_MEM_USAGE] = own[0];
        all[CAY_INIT_FD_MEM_STAT] = own[1];
        all[CAY_INIT_FD_MEMINFO] = truth->meminfo;
        all[CAY_INIT_FD_STAT] = truth->stat;
        all[CAY_INIT_FD_LOADAVG] = truth->loadavg;
        for (int i = 0; i < joins; i++)
                all[CAY_INIT_FD_JOIN0 + i] = own[2 + i];
        for (unsigned i = 0; i < CAY_INIT_FD_COUNT; i++)
                if (all[i] >= 0) {
                        c.fds |= 1u << i;
                        fds[count++] = all[i];
                }
        if (r >= 0)
                r = (int)sys_send_fds(box->control, &c, sizeof(c), fds, count, 0);
        for (int i = 0; i < 2 + joins; i++)
                if (own[i] >= 0)
                        close(own[i]);
        return r < 0 ? r : 0;
}

/* Control socket and status pipe; the box's ends are in iso. */
static int make_channels(struct warden_box *box, struct isolate *iso, struct cay_error *err)
{
        int control[2], status[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the control socket");
        box->control = control[0];
        iso->control = control[1];
        if (pipe2(status, O_CLOEXEC) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the status pipe");
        box->status = status[0];
        iso->status = status[1];
        return 0;
}

/*
 * The whole box is what the kernel should end first when the machine runs out of memory; commands inherit it. Where init is
 * inside of the box's memory limit, commands go before it: they set the rest themselves.
 */
static bool offer_to_oom_killer(const struct warden *w, const struct warden_box *box)
{
        bool apart = !sys_cgroup_counts_init(&w->cgroups);
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)box->pid);
        return sys_write_file(AT_FDCWD, path, apart ? "1000" : "500") == 0 && apart;
}

/*
 * Everything that can be made while the box's process is being born. Not later: once it builds its root, and its child the
 * network, two processors have enough to do (measured: a third that runs delays both).
 */
static int make_beside(struct warden *w, struct warden_box *box, struct cay_truth *truth, uint32_t cpus,
                       struct cay_error *err)
{
        int r;

        if (make_cgroups(w, box, err) < 0)
                return -1;
        if (w->self) { /* the box makes its own */
                cay_step_reached(w->steps, CAY_STEP_truth_made);
                return 0;
        }
        r = cay_truth_make(truth, box->plan.memory_bytes != 0, cpus);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "make the files of /proc");
        cay_step_reached(w->steps, CAY_STEP_truth_made);
        return 0;
}

static int instruct(struct warden *w, struct warden_box *box, const struct given *given,
                    const struct cay_truth *truth, bool tmpfs, uint32_t cpus, struct cay_error *err)
{
        bool oom_set = offer_to_oom_killer(w, box);
        int mounts[ISOLATE_MOUNTS], r;

        for (unsigned i = 0; i < ISOLATE_MOUNTS; i++)
                mounts[i] = -1;
        if (cay_ids_give(&box->ids, box->pid, err) < 0)
                return -1;
        cay_step_reached(w->steps, CAY_STEP_mapped);
        r = make_mounts(w, box, given, truth, tmpfs, mounts, err);
        if (r == 0) {
                cay_step_reached(w->steps, CAY_STEP_mounts_ready);
                r = send_go(box, mounts);
                if (r < 0)
                        cay_fail_sys(err, CAY_INTERNAL, r, "instruct the box");
        }
        for (unsigned i = ISOLATE_LAYER; i < ISOLATE_MOUNTS; i++) /* the truth mount is truth's */
                if (mounts[i] >= 0)
                        close(mounts[i]);
        if (r < 0)
                return -1;
        r = send_config(w, box, given->link, truth, cpus, oom_set);
        if (r == -EPIPE)
                return 0; /* it has given up already: the status pipe says why */
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "instruct cay-init") : 0;
}

/* Only one thing here is often forbidden, and by many different hands: say by which. */
static int fail_birth(int neg_errno, struct cay_error *err)
{
        char why[SYS_WHY_SIZE];

        sys_userns_why(neg_errno, why, sizeof(why));
        return cay_fail(err, CAY_UNSUPPORTED, "no user namespace can be made here: %s", why);
}

/* Where mounts cannot shift ids, an id of the box is somebody of the host: the owner of what was mapped, never root. */
static int choose_ids(struct warden *w, struct warden_box *box, const struct given *given,
                      struct cay_error *err)
{
        struct cay_id_pin pin = { 0 };
        bool pinned = false;
        struct stat st;
        int workspace = given->workspace.fd;
        int fd = workspace >= 0 ? workspace : given->rootfs;

        if (w->self && fd >= 0 && fstat(fd, &st) == 0) {
                bool own = w->ids.source == CAY_IDS_HOST ? st.st_uid != 0 && st.st_gid != 0
                                                         : st.st_uid == getuid();

                own = own && (fd != workspace || given->workspace.as_owner);
                pin = (struct cay_id_pin){ fd == workspace ? CAY_BOX_USER : 0, st.st_uid,
                                           w->ids.source != CAY_IDS_HOST ? getgid()
                                           : fd == workspace             ? given->workspace.gid
                                                                         : st.st_gid };
                pinned = own && (fd == workspace || w->ids.source == CAY_IDS_RANGE);
                if (!own && fd == workspace && box->plan.flags & WIRE_PLAN_WORKSPACE_RW)
                        return cay_fail(
                                err, CAY_UNSUPPORTED,
                                "workspace: the folder belongs to uid %u, and ids cannot be shifted here: "
                                "map it read-only (:ro) or as a copy (:cow)",
                                st.st_uid);
        }
        cay_ids_choose(&box->ids, &w->ids, box->record.slot, pinned ? &pin : NULL);
        return 0;
}

static int start(struct warden *w, struct warden_box *box, const struct given *given, struct cay_error *err)
{
        bool tmpfs = tmpfs_does(w, &box->plan) || box->skipped & WIRE_LIMIT_DISK || !box->plan.disk_bytes;
        struct isolate iso = { .plan = &box->plan,
                               .steps = w->steps,
                               .ids = box->ids,
                               .self = w->self,
                               .rootfs = w->self ? given->rootfs : -1,
                               .workspace = w->self ? given->workspace.fd : -1,
                               .control = -1,
                               .status = -1,
                               .init_exe = w->init_exe,
                               .pin_at = -1,
                               .cgroup2 = box->cgroup.dir[SYS_CGROUP_2] };
        struct cay_truth truth = CAY_TRUTH_NONE;
        uint32_t cpu_milli = cay_layer_is_on(box->plan.test_off, CAY_LAYER_CPU) ? box->plan.cpu_milli : 0;
        uint32_t cpus = sys_cgroup_cpus(&w->cgroups, cpu_milli);
        int r = make_channels(box, &iso, err);

        box->kept = box->plan.flags & WIRE_PLAN_KEEP && w->can_keep && !tmpfs;
        if (box->plan.flags & WIRE_PLAN_GO_ON && !box->kept && r == 0)
                r = cay_fail(err, CAY_CONFLICT, "this host can no longer show the files that '%s' left",
                             box->plan.id);
        if (cpus == 0 && cpu_milli) { /* no cpuset: the box keeps to as many processors by itself */
                cpus = (cpu_milli + 999) / 1000;
                iso.pin_at = (int)box->record.slot;
        }
        iso.cpus = cpus;
        if (r == 0) {
                r = cay_isolate_begin(&iso);
                if (r < 0) {
                        r = cay_fail_sys(err, CAY_INTERNAL, r, "start the box's first process");
                } else {
                        r = make_beside(w, box, &truth, cpus, err);
                        box->helper = iso.helper;
                        box->pid = cay_isolate_end(&iso, &box->pidfd);
                        if (r == 0 && box->pid < 0)
                                r = fail_birth(box->pid, err);
                }
        }
        if (iso.control >= 0)
                close(iso.control);
        if (iso.status >= 0)
                close(iso.status);
        if (r == 0) {
                cay_step_box(box->pid);
                cay_step_reached(w->steps, CAY_STEP_cloned);
                r = instruct(w, box, given, &truth, tmpfs, cpus, err);
        }
        cay_truth_done(&truth);
        return r < 0 ? -1 : 0;
}

static int make(struct warden *w, struct warden_box *box, const struct wire_request *req, const int *fds,
                unsigned fd_count, struct given *given, struct cay_error *err)
{
        char name[CAY_NAME_MAX + 8];
        int r;

        if (check_plan(w, &req->plan, fds, fd_count, given, err) < 0)
                return -1;
        if (check_limits(w, &req->plan, &box->skipped, err) < 0)
                return -1;
        box->plan = req->plan;
        box->make_seq = req->seq;
        snprintf(name, sizeof(name), "cay-%s", box->plan.id);
        if (cay_record_make(&box->record, box->plan.id, &w->cgroups, name, err) < 0)
                return -1;
        cay_step_reached(w->steps, CAY_STEP_recorded);
        if (choose_ids(w, box, given, err) < 0)
                return -1;
        if (!cay_layer_is_on(box->plan.test_off, CAY_LAYER_IDS) && w->ids.source == CAY_IDS_HOST) {
                box->ids.uids[0].outside = box->ids.gids[0].outside = 0;
                box->ids.first_uid = 0;
        }
        r = sys_cgroup_begin(&w->cgroups, name, &box->cgroup);
        if (r == -EEXIST)
                return cay_fail(err, CAY_EXISTS, "id: a sandbox '%s' exists already", box->plan.id);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "make a cgroup for '%s'", box->plan.id);
        return start(w, box, given, err);
}

void warden_box_make(struct warden *w, const struct wire_request *req, int *fds, unsigned fd_count)
{
        struct wire_answer a = { .type = req->type, .seq = req->seq };
        struct given given = { .link = -1, .rootfs = -1, .folder = -1, .peer = -1, .workspace.fd = -1 };
        struct cay_error err = { 0 };
        struct warden_box *box = NULL;
        int r;

        for (unsigned i = 0; i < w->rows && !box; i++)
                if (w->boxes[i].state == BOX_FREE)
                        box = &w->boxes[i];
        if (!box && w->rows < WARDEN_BOXES)
                box = &w->boxes[w->rows++];
        if (!box) {
                cay_fail(&err, CAY_LIMIT, "all %u sandboxes of this warden are in use", WARDEN_BOXES);
        } else {
                *box = (struct warden_box){ .state = BOX_MAKING,
                                            .pidfd = -1,
                                            .control = -1,
                                            .status = -1,
                                            .record.fd = -1,
                                            .pid = -1 };
                for (unsigned i = 0; i < SYS_CGROUP_PARTS; i++)
                        box->cgroup.dir[i] = -1;
                r = make(w, box, req, fds, fd_count, &given, &err);
                warden_workspace_close(&given.workspace); /* the box has it, or there is no box */
                if (r == 0) {
                        warden_watch(w, box->status, WATCH_STATUS, box);
                        if (box->pidfd >= 0)
                                warden_watch(w, box->pidfd, WATCH_PIDFD, box);
                        return; /* answered by the status pipe */
                }
                warden_box_doom(w, box, NULL);
                warden_box_unmake(w, box);
        }
        a.code = err.code;
        a.sys = err.sys;
        snprintf(a.text, sizeof(a.text), "%s", err.msg);
        warden_answer(w, &a);
}
