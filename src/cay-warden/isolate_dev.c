/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The box's /dev: six harmless devices, its own terminals, size-limited shared memory; read-only as a whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "foundation/sys/fd.h"
#include "foundation/sys/mounts.h"
#include "cay-warden/isolate.h"

static const char *const devices[] = { "null", "zero", "full", "random", "urandom", "tty" };

static const struct {
        const char *name, *target;
} links[] = {
        { "fd", "/proc/self/fd" },       { "stdin", "/proc/self/fd/0" }, { "stdout", "/proc/self/fd/1" },
        { "stderr", "/proc/self/fd/2" }, { "ptmx", "pts/ptmx" },
};

static void mount_at(struct isolate *iso, const char *type, const char *const *options, unsigned attr,
                     const char *name)
{
        cay_auto_close int fd = -1;

        if (!isolate_was_made(iso, mkdirat(iso->dev, name, 0755)))
                isolate_fail(iso, -errno, "make /dev/%s", name);
        fd = sys_mount_place_new(type, options, SYS_MOUNT_NOSUID | SYS_MOUNT_NOEXEC | attr, iso->dev, name);
        if (fd < 0)
                isolate_fail(iso, fd, "mount /dev/%s", name);
}

/* A plain bind of the host's node onto an empty file; the place is root/dev of the layer, where we are. */
static void show_device(struct isolate *iso, const char *name)
{
        char from[32], to[32];

        snprintf(from, sizeof(from), "/dev/%s", name);
        snprintf(to, sizeof(to), "root/dev/%s", name);
        if (!isolate_was_made(iso, mknodat(iso->dev, name, S_IFREG | 0666, 0)) ||
            mount(from, to, NULL, MS_BIND, NULL) < 0)
                isolate_fail(iso, -errno, "show %s", from);
}

/*
 * Shared memory counts as memory: half of the limit, like the kernel's default for a machine; pages are
 * charged to the box.
 */
static uint64_t shm_bytes(const struct isolate *iso)
{
        return iso->plan->memory_bytes && isolate_has(iso, CAY_LAYER_MEMORY) ? iso->plan->memory_bytes / 2
                                                                             : 64u << 20;
}

void isolate_dev(struct isolate *iso)
{
        const char *pts_options[] = {
                "newinstance", "ptmxmode=0666", "mode=0620", "max=64", "gid=5", NULL
        }; /* the host has one pool */
        char shm_size[40];
        const char *const shm_options[] = { "mode=1777", "nr_inodes=4096", shm_size, NULL };
        int target = isolate_dir(iso, "dev", 0755, 0);
        int r;

        if (!isolate_was_made(iso, mkdirat(iso->layer, "dev", 0755)))
                isolate_fail(iso, -errno, "make a place for /dev");
        iso->dev = sys_mount_place_copy(iso->layer, "dev", false, SYS_MOUNT_NOSUID | SYS_MOUNT_NOEXEC, target,
                                        "");
        close(target);
        if (iso->dev < 0)
                isolate_fail(iso, iso->dev, "mount /dev");
        for (unsigned i = 0; i < CAY_COUNT(devices); i++)
                show_device(iso, devices[i]);
        for (unsigned i = 0; i < CAY_COUNT(links); i++)
                if (!isolate_was_made(iso, symlinkat(links[i].target, iso->dev, links[i].name)))
                        isolate_fail(iso, -errno, "make link /dev/%s", links[i].name);
        if (!iso->ids.has_root) /* there is no such group */
                pts_options[4] = NULL;
        mount_at(iso, "devpts", pts_options, 0, "pts"); /* terminals are devices */
        snprintf(shm_size, sizeof(shm_size), "size=%llu", (unsigned long long)shm_bytes(iso));
        mount_at(iso, "tmpfs", shm_options, SYS_MOUNT_NODEV, "shm");
        r = sys_mount_change(iso->dev, "", SYS_MOUNT_RDONLY);
        if (r < 0)
                isolate_fail(iso, r, "make /dev read-only");
}
