/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the most that one sandbox may have. */
#include "cay/keeper/ceiling.h"

#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define PIDS 32768u
#define DISK (1ull << 40)      /* formatting takes longer the larger the disk is, and others wait meanwhile */
#define BYTES_PER_INODE 16384u /* the default of file systems made without an explicit number */

void cay_machine_look(struct cay_machine *ret, int data_fd)
{
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);
        struct statvfs disk;
        struct sysinfo all;

        *ret = (struct cay_machine){ .cpu_milli = cpus > 0 ? (uint64_t)cpus * 1000 : 0 };
        if (sysinfo(&all) == 0)
                ret->memory_bytes = (uint64_t)all.totalram * all.mem_unit;
        if (fstatvfs(data_fd, &disk) == 0)
                ret->disk_bytes = (uint64_t)disk.f_blocks * disk.f_frsize;
}

/* Returns the setting if there is one, else the largest of the others. */
static uint64_t choose(uint64_t hard, const uint64_t others[4])
{
        uint64_t most = 0;

        if (hard > 0)
                return hard;
        for (unsigned i = 0; i < 4; i++)
                if (others[i] > most)
                        most = others[i];
        return most;
}

enum {
        BOX_BYTES = 512 * 1024, /* of a waiting box: domain/sandboxes/pool.h */
        LEAVING = 16,
};

void cay_ceiling_make(const struct cay_config *c, const struct cay_machine *m, struct wire_ceiling *ret)
{
        const uint64_t memory[4] = { c->most_memory, c->default_memory, c->max_memory, m->memory_bytes };
        const uint64_t cpus[4] = { c->most_cpus, c->default_cpus, c->max_cpu, m->cpu_milli };
        const uint64_t pids[4] = { c->most_pids, c->default_pids, c->max_pids, PIDS };
        const uint64_t disk[4] = { c->most_disk, c->default_disk,
                                   m->disk_bytes < DISK ? m->disk_bytes : DISK };
        uint64_t inodes[4] = { c->most_inodes, c->default_inodes };

        memset(ret, 0, sizeof(*ret));
        ret->memory_bytes = choose(c->hard_memory, memory);
        ret->cpu_milli = choose(c->hard_cpus, cpus);
        ret->pids = choose(c->hard_pids, pids);
        ret->disk_bytes = choose(c->hard_disk, disk);
        inodes[2] = ret->disk_bytes / BYTES_PER_INODE;
        ret->inodes = choose(c->hard_inodes, inodes);
        /* those that are kept ready, and those that are on their way out, come on top */
        ret->boxes = c->max_sandboxes + c->pool_memory / BOX_BYTES + LEAVING;
}
