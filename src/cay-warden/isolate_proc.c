/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The box's /proc: its own processes, the proc overlay's figures, read-only settings, and no details of the
 * host.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "foundation/sys/fd.h"
#include "foundation/sys/mounts.h"
#include "foundation/sys/userns_why.h"
#include "cay-warden/isolate.h"

/* Files that cay-init updates (proc_overlay tmpfs, made by the warden). */
static const char *const proc_overlays[] = { "cpuinfo", "meminfo", "stat", "loadavg" };

/*
 * Covered by an empty, read-only file or directory: what everybody may read and what reveals the host's
 * activity, hardware, kernel or other tenants. Each costs 0.02 ms to make and remove, so inaccessible files
 * are not listed. Those are files that only the host's root may open (kcore, kmsg, slabinfo, sysrq-trigger,
 * timer_list…: their owner is nobody in here, and they need a capability of the host besides), and those that
 * the kernel shows per namespace (locks, key-users).
 */
static const char *const covered[] = {
        "cmdline",  "config.gz",     "diskstats",   "interrupts", "iomem",      "ioports",     "kallsyms",
        "keys",     "latency_stats", "mdstat",      "modules",    "partitions", "sched_debug", "schedstat",
        "softirqs", "swaps",         "timer_stats", "vmstat",     "zoneinfo",   "buddyinfo",   "cgroups",
};

static const char *const covered_dirs[] = { "acpi", "asound", "bus",  "driver", "dynamic_debug",
                                            "fs",   "irq",    "scsi", "tty",    "pressure" };

/* The same below /proc/sys, where the other files are settings: how much of the host's tables is in use. */
static const char *const covered_sys[] = { "fs/file-nr",      "fs/inode-nr", "fs/inode-state",
                                           "fs/dentry-state", "fs/aio-nr",   "kernel/pty/nr" };
static const char *const covered_sys_dirs[] = { "fs/quota" };

/*
 * Per-namespace settings worth changing: no nested namespaces, pools that one box cannot exhaust for itself
 * or others.
 */
static const struct {
        const char *path, *value;
        enum cay_layer layer;
} settings[] = {
        { "user/max_user_namespaces", "0", CAY_LAYER_USERNS_SYSCTL },
        { "user/max_mnt_namespaces", "0", CAY_LAYER_USERNS_SYSCTL },
        { "user/max_pid_namespaces", "0", CAY_LAYER_USERNS_SYSCTL },
        { "user/max_net_namespaces", "0", CAY_LAYER_USERNS_SYSCTL },
        { "user/max_inotify_instances", "64", CAY_LAYER_USERNS_SYSCTL },
        { "user/max_inotify_watches", "65536", CAY_LAYER_USERNS_SYSCTL },
        { "net/ipv4/ip_unprivileged_port_start", "0", CAY_LAYER_NETNS },
};

/*
 * One plain bind mount each, by far the cheapest call: the source's flags are inherited, and a read-only
 * source stays read-only. Paths are relative to the layer, our working directory. root/proc is the procfs
 * that was just mounted, so no link of an image is involved. Missing targets are not an error: /proc differs
 * between kernels.
 */
static void cover(struct isolate *iso, const char *from, const char *target)
{
        char path[64];

        snprintf(path, sizeof(path), "root/proc/%s", target);
        if (mount(from, path, NULL, MS_BIND, NULL) < 0 && errno != ENOENT)
                isolate_fail(iso, -errno, "cover /proc/%s", target);
}

static void make_read_only(struct isolate *iso, const char *name, uint64_t attr)
{
        cay_auto_close int fd = sys_mount_place_copy(iso->proc, name, false, attr, iso->proc, name);

        if (fd < 0)
                isolate_fail(iso, fd, "make /proc/%s read-only", name);
}

/*
 * Files made by the warden, or by us: then in a directory of the layer that is seen only as a read-only copy.
 */
static void attach_proc_overlay(struct isolate *iso)
{
        struct cay_proc_overlay proc_overlay = CAY_PROC_OVERLAY_NONE;
        int r, files;

        if (!isolate_was_made(iso, mkdirat(iso->layer, "proc_overlay", 0755)))
                isolate_fail(iso, -errno, "make a place for /proc's files");
        if (!iso->self) {
                r = sys_mount_attach(iso->mount[ISOLATE_PROC_OVERLAY], iso->layer, "proc_overlay");
                if (r ==
                    0) /* what is written through the first mount is read through a read-only copy of it */
                        r = sys_mount_place_copy(iso->layer, "proc_overlay", false, SYS_MOUNT_RDONLY,
                                                 iso->layer, "proc_overlay");
                if (r < 0)
                        isolate_fail(iso, r, "mount /proc's files");
                close(r);
                return;
        }
        files = sys_open_at(iso->layer, "proc_overlay", O_RDONLY | O_DIRECTORY, 0);
        r = files < 0 ? files
                      : cay_proc_overlay_write(&proc_overlay, files, iso->plan->memory_bytes != 0, iso->cpus);
        if (r == 0)
                r = sys_mount_place_copy(iso->layer, "proc_overlay", false,
                                         SYS_MOUNT_SAFE | SYS_MOUNT_NOEXEC | SYS_MOUNT_RDONLY, iso->layer,
                                         "proc_overlay");
        if (r < 0)
                isolate_fail(iso, r, "make /proc's files");
        close(r);
        close(files);
        iso->own[CAY_INIT_FD_MEMINFO] = proc_overlay.meminfo;
        iso->own[CAY_INIT_FD_STAT] = proc_overlay.stat;
        iso->own[CAY_INIT_FD_LOADAVG] = proc_overlay.loadavg;
}

static void fail_proc(struct isolate *iso, int r)
{
        char why[SYS_WHY_SIZE];

        if (r != -EPERM || !iso->self)
                isolate_fail(iso, r, "mount /proc");
        sys_proc_why(r, why, sizeof(why));
        isolate_fail(iso, 0, "%s", why);
}

/* Each box has its own boot id: the host's would reveal which boxes share a host. */
static void cover_sys(struct isolate *iso)
{
        char path[48];

        for (unsigned i = 0; i < CAY_COUNT(covered_sys); i++) {
                snprintf(path, sizeof(path), "sys/%s", covered_sys[i]);
                cover(iso, "proc_overlay/empty", path);
        }
        for (unsigned i = 0; i < CAY_COUNT(covered_sys_dirs); i++) {
                snprintf(path, sizeof(path), "sys/%s", covered_sys_dirs[i]);
                cover(iso, "proc_overlay/void", path);
        }
        cover(iso, "proc_overlay/boot_id", "sys/kernel/random/boot_id");
}

void isolate_proc(struct isolate *iso)
{
        const uint64_t attr = SYS_MOUNT_SAFE | SYS_MOUNT_NOEXEC | SYS_MOUNT_RDONLY;
        int target = isolate_dir(iso, "proc", 0555, 0);
        char path[64];

        iso->proc = sys_mount_place_new("proc", NULL, SYS_MOUNT_SAFE | SYS_MOUNT_NOEXEC, target, "");
        close(target);
        if (iso->proc < 0)
                fail_proc(iso, iso->proc);
        iso->proc_sys = sys_open_at(iso->proc, "sys", O_PATH | O_DIRECTORY, 0);
        attach_proc_overlay(iso);
        for (unsigned i = 0; i < CAY_COUNT(proc_overlays);
             i++) { /* a file that is not made: the kernel's own figures are correct */
                snprintf(path, sizeof(path), "proc_overlay/%s", proc_overlays[i]);
                cover(iso, path, proc_overlays[i]);
        }
        if (isolate_has(iso, CAY_LAYER_SYS_RO))
                make_read_only(iso, "sys", attr);
        if (isolate_has(iso, CAY_LAYER_PROC_MASKS)) {
                for (unsigned i = 0; i < CAY_COUNT(covered); i++)
                        cover(iso, "proc_overlay/empty", covered[i]);
                for (unsigned i = 0; i < CAY_COUNT(covered_dirs); i++)
                        cover(iso, "proc_overlay/void", covered_dirs[i]);
                cover_sys(iso);
        }
}

/* Older kernels (before 5.12) lack calls that close a range or change a mount: use our own list. */
static bool needs_own_list(void)
{
        return syscall(SYS_NR_CLOSE_RANGE, ~0u, ~0u, 0) < 0 ||
               (syscall(SYS_NR_MOUNT_SETATTR, -1, "", 0, NULL, 0) < 0 && errno != EINVAL);
}

/*
 * Root of the box owns the folders of an undumpable process in /proc: it cannot read them, but it could list
 * what cay-init has open. Others cannot even do that, so it is covered only where a command may be root.
 */
static void cover_init(struct isolate *iso)
{
        static const char *const dirs[] = { "1/fd", "1/fdinfo", "1/task" };

        if (iso->plan->flags & WIRE_PLAN_HOST_PLAIN || !isolate_has(iso, CAY_LAYER_PROC_MASKS) ||
            needs_own_list())
                return;
        for (unsigned i = 0; i < CAY_COUNT(dirs); i++)
                cover(iso, "proc_overlay/void", dirs[i]);
}

/* After the last mount: the kernel counts a detached mount as a namespace, and those are gone now. */
void isolate_settings(struct isolate *iso)
{
        cover_init(iso);
        for (unsigned i = 0; i < CAY_COUNT(settings); i++)
                if (isolate_has(iso, settings[i].layer))
                        sys_write_file(iso->proc_sys, settings[i].path,
                                       settings[i].value); /* absent on some kernels */
}
