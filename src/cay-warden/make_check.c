/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a plan is permitted. Nothing in it is trusted: the front may be compromised. rootfs.c and
 * workspace.c, called from here, check the rootfs and the workspace.
 */
#include <sys/stat.h>

#include "cay-warden/make.h"
#include "cay-warden/rootfs.h"
#include "cay-warden/volume.h"
#include "foundation/sys/net_divert.h"

#define DISK_MAX (1ull << 46)
#define SELF_DISK_MAX (1ull << 30) /* in memory without any limit */

static bool is_kind(int fd, mode_t kind)
{
        struct stat st;

        return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == kind;
}

static unsigned count_boxes(const struct warden *w)
{
        unsigned count = 0;

        for (unsigned i = 0; i < w->rows; i++)
                count += w->boxes[i].state == BOX_LIVE || w->boxes[i].state == BOX_MAKING;
        return count;
}

/*
 * The operator's maxima, from the keeper. No limit exceeds any maximum, except where this host cannot enforce
 * it: such a limit is skipped anyway (warden_make_check_limits). The requested box has its row already, and
 * counts.
 */
static int check_ceiling(const struct warden *w, const struct wire_plan *p, struct cay_error *err)
{
        const struct wire_ceiling *most = &w->ceiling;
        const struct {
                const char *word, *key;
                uint64_t asked, most;
                unsigned needs; /* 0 is refused where this is held; 0: it may be none */
        } rows[] = {
                { "memory", "hard_memory", p->memory_bytes, most->memory_bytes, HELPER_LIMIT_MEMORY },
                { "swap", "hard_memory", p->swap_bytes, most->memory_bytes, 0 },
                { "cpus", "hard_cpus", p->cpu_milli, most->cpu_milli, HELPER_LIMIT_CPUS },
                { "pids", "hard_pids", p->pids, most->pids, HELPER_LIMIT_PIDS },
                { "disk", "hard_disk", p->disk_bytes, most->disk_bytes, HELPER_LIMIT_DISK },
                { "inodes", "hard_inodes", p->inodes, most->inodes, HELPER_LIMIT_INODES },
        };

        if (!w->has_ceiling)
                return 0;
        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                if (rows[i].asked == 0 && rows[i].needs & w->can_hold)
                        return cay_fail(err, CAY_INVALID, "%s: a sandbox of this daemon must have this limit",
                                        rows[i].word);
                if (rows[i].asked > rows[i].most)
                        return cay_fail(
                                err, CAY_INVALID,
                                "%s: %llu is more than any sandbox of this daemon may have (%llu): ask "
                                "for less, or have %s raised",
                                rows[i].word, (unsigned long long)rows[i].asked,
                                (unsigned long long)rows[i].most, rows[i].key);
        }
        if (count_boxes(w) > most->boxes)
                return cay_fail(err, CAY_LIMIT, "%llu sandboxes are alive: no more at once (max_sandboxes)",
                                (unsigned long long)most->boxes);
        return 0;
}

int warden_make_check_plan(struct warden *w, const struct wire_plan *p, const int *fds, unsigned count,
                           struct warden_given *ret, struct cay_error *err)
{
        bool by_folder = p->flags & WIRE_PLAN_WORKSPACE && !(p->flags & WIRE_PLAN_WORKSPACE_BELOW);
        unsigned next = 0;

        if (memchr(p->id, 0, sizeof(p->id)) == NULL || !cay_id_is_valid(p->id))
                return cay_fail(err, CAY_INVALID, "the box's id is not of the form [a-z0-9-]");
        if (p->flags & WIRE_PLAN_CA &&
            (!(p->flags & WIRE_PLAN_NETWORK) || memchr(p->ca, 0, sizeof(p->ca)) == NULL))
                return cay_fail(err, CAY_INVALID, "a certificate without its end, or without a network");
        if (p->flags & ~WIRE_PLAN_ALL)
                return cay_fail(err, CAY_INVALID, "unknown plan flags 0x%x", p->flags);
        if (p->memory_bytes > DISK_MAX || p->swap_bytes > DISK_MAX || p->disk_bytes > DISK_MAX ||
            p->inodes > 1ull << 32 || p->pids > 4194304 || p->cpu_milli > 1024000)
                return cay_fail(err, CAY_INVALID, "a limit is out of range");
        if ((p->memory_bytes && p->memory_bytes < 4u << 20) || (p->cpu_milli && p->cpu_milli < 10))
                return cay_fail(err, CAY_INVALID, "a limit is too small: memory from 4 MiB, cpus from 0.01");
        if (check_ceiling(w, p, err) < 0)
                return -1;
        ret->link = fds[next++];
        if (p->flags & WIRE_PLAN_ROOTFS)
                ret->rootfs = next < count ? fds[next++] : -1;
        if (by_folder)
                ret->folder = next < count ? fds[next++] : -1;
        if (p->flags & WIRE_PLAN_WORKSPACE_PEER)
                ret->peer = next < count ? fds[next++] : -1;
        if (p->flags & WIRE_PLAN_NETWORK)
                ret->network = next < count ? fds[next++] : -1;
        if (next != count || !is_kind(ret->link, S_IFSOCK) ||
            (p->flags & WIRE_PLAN_NETWORK && !is_kind(ret->network, S_IFSOCK)) ||
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
        if (p->flags & WIRE_PLAN_NETWORK && !sys_divert_is_mode(p->network))
                return cay_fail(err, CAY_INVALID, "unknown network mode %u", p->network);
        if (p->flags & WIRE_PLAN_GO_ON && !(p->flags & WIRE_PLAN_KEEP))
                return cay_fail(err, CAY_INVALID, "only a kept layer can be used again");
        if (warden_volumes_check(w, p, err) < 0)
                return -1;
        if (warden_find(w, p->id))
                return cay_fail(err, CAY_EXISTS, "id: a sandbox '%s' exists already", p->id);
        return warden_workspace_open(w, p, ret->folder, ret->peer, &ret->workspace, err);
}

/*
 * tmpfs is fastest and leaves nothing, but its pages are memory: only for runs with a small disk compared to
 * their memory. A caller who cannot mount anything else always gets it: writes count as memory, within that
 * limit.
 */
bool warden_make_fits_tmpfs(const struct warden *w, const struct wire_plan *p)
{
        if (w->self)
                return p->disk_bytes && (p->memory_bytes || p->disk_bytes <= SELF_DISK_MAX);
        return p->flags & (WIRE_PLAN_ONE_SHOT | WIRE_PLAN_BRIEF) && p->disk_bytes && p->memory_bytes &&
               p->disk_bytes <= p->memory_bytes / 2;
}

/*
 * What the user of an agent's machine gave a maximum for is enforced, or there is no sandbox. (An operator's
 * maxima leave it to each request.)
 */
static unsigned must_hold(const struct warden *w)
{
        const struct wire_ceiling *most = &w->ceiling;

        if (!w->has_ceiling || !w->has_own_roots)
                return 0;
        return (most->memory_bytes != UINT64_MAX ? HELPER_LIMIT_MEMORY : 0) |
               (most->cpu_milli != UINT64_MAX ? HELPER_LIMIT_CPUS : 0) |
               (most->pids != UINT64_MAX ? HELPER_LIMIT_PIDS : 0) |
               (most->disk_bytes != UINT64_MAX ? HELPER_LIMIT_DISK : 0);
}

/* Which limits of the plan this host cannot enforce; names the first that may not be skipped. */
int warden_make_check_limits(struct warden *w, const struct wire_plan *p, unsigned *ret_skipped,
                             struct cay_error *err)
{
        static const struct {
                unsigned bit;
                const char *word, *remedy;
        } rows[] = {
                { HELPER_LIMIT_MEMORY, "memory", "mount the memory cgroup controller" },
                { HELPER_LIMIT_SWAP, "swap", "turn swap off or boot with swapaccount=1" },
                { HELPER_LIMIT_CPUS, "cpus", "mount the cpu and cpuset cgroup controllers" },
                { HELPER_LIMIT_PIDS, "pids", "mount the pids cgroup controller" },
                { HELPER_LIMIT_DISK, "disk", "install e2fsprogs and allow loop devices" },
                { HELPER_LIMIT_INODES, "inodes", "install e2fsprogs and allow loop devices" },
        };
        const char *half = "set a memory limit too, as it lies in memory here, or keep it below 1 GiB";
        unsigned set = (p->memory_bytes ? HELPER_LIMIT_MEMORY | HELPER_LIMIT_SWAP : 0) |
                       (p->cpu_milli ? HELPER_LIMIT_CPUS : 0) | (p->pids ? HELPER_LIMIT_PIDS : 0) |
                       (p->disk_bytes ? HELPER_LIMIT_DISK : 0) | (p->inodes ? HELPER_LIMIT_INODES : 0);
        unsigned by_tmpfs = warden_make_fits_tmpfs(w, p) ? HELPER_LIMIT_DISK | HELPER_LIMIT_INODES
                            : p->disk_bytes              ? 0
                                                         : HELPER_LIMIT_INODES;
        unsigned missing = set & ~(w->can_hold | by_tmpfs), must = missing & must_hold(w);

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                if (must & rows[i].bit)
                        return cay_fail(err, CAY_UNSUPPORTED,
                                        "%s: this machine cannot enforce the most that its user allows: %s",
                                        rows[i].word, rows[i].remedy);
                if (missing & rows[i].bit && !(p->may_skip & rows[i].bit))
                        return cay_fail(err, CAY_UNSUPPORTED,
                                        "%s: this host cannot enforce this limit: %s, or let it be skipped "
                                        "(may_skip %s)",
                                        rows[i].word,
                                        w->self && rows[i].bit & (HELPER_LIMIT_DISK | HELPER_LIMIT_INODES)
                                                ? half
                                                : rows[i].remedy,
                                        rows[i].word);
        }
        *ret_skipped = missing;
        return 0;
}
