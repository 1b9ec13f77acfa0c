/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that are bound over /proc/{cpuinfo,meminfo,stat,loadavg,sys/kernel/random/boot_id} of a box, on a
 * small tmpfs of their own. cpuinfo and boot_id are written here, once; the others are cay-init's to keep.
 */
#pragma once

#include <stdint.h>

struct cay_proc_overlay {
        int files; /* detached tmpfs; released late: that waits for a grace period */
        int mount; /* the same, for the box, which shows a read-only copy of it */
        int meminfo, stat,
                loadavg; /* open for writing; -1: that file is not made and the kernel's own shows */
};

#define CAY_PROC_OVERLAY_NONE ((struct cay_proc_overlay){ -1, -1, -1, -1, -1 })

/*
 * 0 or -errno. with_memory: the box has a memory limit, so meminfo differs from the host's. cpus 0: as the
 * host.
 */
int cay_proc_overlay_make(struct cay_proc_overlay *t, int with_memory, uint32_t cpus);
/* The files alone, into a directory of the caller's; the descriptors are the caller's then. */
int cay_proc_overlay_write(struct cay_proc_overlay *t, int dir, int with_memory, uint32_t cpus);
void cay_proc_overlay_done(struct cay_proc_overlay *t);
