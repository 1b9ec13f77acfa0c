/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is sent to a box being made, over the control socket in this order: its mounts, for the process that
 * builds its root, and the configuration of its cay-init. The socket is one way: nothing is ever read from
 * it.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "foundation/sys/unix_socket.h"
#include "cay-warden/make.h"
#include "links/helper/init_config.h"

int warden_make_send_mounts(struct warden_box *box, const int *mounts)
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

/* What the box's process itself has made for cay-init. */
static void inherit(const struct warden *w, const struct wire_plan *p, uint32_t cpus,
                    struct cay_init_config *c)
{
        if (w->self)
                c->inherited |= (p->memory_bytes ? 1u << CAY_INIT_FD_MEMINFO : 0) |
                                (cpus ? 1u << CAY_INIT_FD_STAT : 0) | 1u << CAY_INIT_FD_LOADAVG;
        if (p->flags & WIRE_PLAN_WORKSPACE_COW)
                c->inherited |= 1u << CAY_INIT_FD_CHANGES | 1u << CAY_INIT_FD_BASE;
}

/* Limits that nothing else enforces. */
static void watch(const struct warden *w, const struct wire_plan *p, struct cay_init_config *c)
{
        c->cpu_milli = p->cpu_milli;
        c->pids = (uint32_t)p->pids;
        if (w->can_watch & HELPER_LIMIT_MEMORY && p->memory_bytes &&
            cay_layer_is_on(p->test_off, CAY_LAYER_MEMORY))
                c->watch |= CAY_INIT_WATCH_MEMORY;
        if (w->can_watch & HELPER_LIMIT_CPUS && p->cpu_milli && cay_layer_is_on(p->test_off, CAY_LAYER_CPU))
                c->watch |= CAY_INIT_WATCH_CPUS;
        if (w->can_watch & HELPER_LIMIT_PIDS && p->pids && cay_layer_is_on(p->test_off, CAY_LAYER_PIDS))
                c->watch |= CAY_INIT_WATCH_PIDS;
}

#define OWN_MAX (2 + CAY_INIT_JOIN_MAX) /* two files of its memory, then those that commands join by */

/* The box's cgroups as cay-init uses them; *ret_count are open (or -1) even when it fails. */
static int open_own(struct warden_box *box, int *own, int *ret_count)
{
        int r = sys_cgroup_open_usage(&box->cgroup, &own[0], &own[1]);
        int joins = r < 0 ? 0 : sys_cgroup_open_joins(&box->cgroup, own + 2, CAY_INIT_JOIN_MAX);

        *ret_count = 2 + (joins > 0 ? joins : 0);
        return joins < 0 ? joins : r;
}

/* Those that there are, in the order of their numbers; *ret_mask says which. */
static unsigned list_fds(const struct warden_box *box, int link, const struct cay_proc_overlay *proc_overlay,
                         const int *own, int owned, int *fds, uint32_t *ret_mask)
{
        int all[CAY_INIT_FD_COUNT];
        unsigned count = 0;

        for (unsigned i = 0; i < CAY_INIT_FD_COUNT; i++)
                all[i] = -1;
        all[CAY_INIT_FD_LINK] = link;
        all[CAY_INIT_FD_CGROUP2] = box->cgroup.dir[SYS_CGROUP_2];
        all[CAY_INIT_FD_MEM_USAGE] = own[0];
        all[CAY_INIT_FD_MEM_STAT] = own[1];
        all[CAY_INIT_FD_MEMINFO] = proc_overlay->meminfo;
        all[CAY_INIT_FD_STAT] = proc_overlay->stat;
        all[CAY_INIT_FD_LOADAVG] = proc_overlay->loadavg;
        for (int i = 2; i < owned; i++)
                all[CAY_INIT_FD_JOIN0 + i - 2] = own[i];
        for (unsigned i = 0; i < CAY_INIT_FD_COUNT; i++)
                if (all[i] >= 0) {
                        *ret_mask |= 1u << i;
                        fds[count++] = all[i];
                }
        return count;
}

/* cay-init's configuration, queued in its socket before it runs. */
int warden_make_send_config(struct warden *w, struct warden_box *box, int link,
                            const struct cay_proc_overlay *proc_overlay, uint32_t cpus, bool oom_set,
                            bool is_placed)
{
        const struct wire_plan *p = &box->plan;
        struct cay_init_config c = {
                .magic = CAY_INIT_MAGIC,
                .size = sizeof(c),
                .flags = CAY_INIT_ISOLATED | (p->flags & WIRE_PLAN_READ_ONLY ? CAY_INIT_READ_ONLY : 0) |
                         (oom_set ? CAY_INIT_OOM_SET : 0) | (is_placed ? CAY_INIT_PLACED : 0) |
                         (box->ids.source == CAY_IDS_ONE ? CAY_INIT_ONE_ID : 0) |
                         (p->flags & WIRE_PLAN_WARM ? CAY_INIT_WARM : 0) |
                         (p->flags & WIRE_PLAN_BRIEF ? CAY_INIT_BRIEF : 0) |
                         (p->flags & WIRE_PLAN_ROOTFS ? CAY_INIT_ROOTFS : 0),
                .uid = CAY_BOX_USER,
                .gid = CAY_BOX_USER,
                .cpus = cpus,
                .test_off = p->test_off,
                .memory_bytes = p->memory_bytes,
                .swap_bytes = p->swap_bytes,
                .disk_bytes = p->disk_bytes,
                .boot_wall_s = (uint64_t)time(NULL),
        };
        int own[OWN_MAX], fds[CAY_INIT_FD_COUNT];
        unsigned count;
        int owned, r;

        memcpy(c.secret, p->secret, sizeof(c.secret));
        static_assert(CAY_INIT_VOLUMES == WIRE_VOLUMES && CAY_INIT_VOLUME == WIRE_TARGET, "one place each");
        for (unsigned i = 0; i < p->volume_count && i < WIRE_VOLUMES; i++)
                memcpy(c.volumes[i], p->volumes[i].target, sizeof(c.volumes[i]));
        static_assert(CAY_INIT_MODULES == WIRE_MODULES, "passed on");
        memcpy(c.warm_modules, p->warm_modules, sizeof(c.warm_modules) - 1);
        inherit(w, p, cpus, &c);
        watch(w, p, &c);
        r = open_own(box, own, &owned);
        count = list_fds(box, link, proc_overlay, own, owned, fds, &c.fds);
        if (r >= 0)
                r = (int)sys_send_fds(box->control, &c, sizeof(c), fds, count, 0);
        for (int i = 0; i < owned; i++)
                if (own[i] >= 0)
                        close(own[i]);
        return r < 0 ? r : 0;
}
