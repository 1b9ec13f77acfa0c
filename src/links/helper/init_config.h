/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine sends to cay-init once, as the first message on the control socket (descriptor
 * CAY_INIT_CONTROL_FD, SOCK_SEQPACKET): this struct, with descriptors by SCM_RIGHTS in the order of enum
 * cay_init_fd for each bit set in `fds`. Later messages on that socket are struct cay_init_relink with one
 * descriptor: the next box-link stream. End of file on the control socket means that the engine has exited:
 * init exits, and with it the box. The engine never reads from this socket.
 */
#pragma once

#include <stdint.h>

#define CAY_INIT_CONTROL_FD 3
#define CAY_INIT_MAGIC 0x63617931u
#define CAY_INIT_INHERITED_FD 200 /* descriptors of `inherited`: at this number plus their own */
#define CAY_INIT_JOIN_MAX 6       /* cgroup v1 controllers a process joins */

enum cay_init_fd { /* bit numbers of cay_init_config.fds, and the order of the descriptors */
                   CAY_INIT_FD_LINK, /* box link stream */
                   /* directory of the box's own cgroup2 node, delegated: init makes x<channel> below it */
                   CAY_INIT_FD_CGROUP2,
                   CAY_INIT_FD_MEM_USAGE, /* v1 memory.usage_in_bytes, v2 memory.current (read) */
                   CAY_INIT_FD_MEM_STAT,  /* memory.stat (read) */
                   CAY_INIT_FD_MEMINFO,   /* files bound over /proc/…, written by init */
                   CAY_INIT_FD_STAT,
                   CAY_INIT_FD_LOADAVG,
                   CAY_INIT_FD_CHANGES, /* upper directory of a copy-on-write workspace */
                   CAY_INIT_FD_BASE,    /* its lower one: the host's folder, read-only */
                   /*
                    * v1 tasks files: a process writes "0" to each to join; up to CAY_INIT_JOIN_MAX of them,
                    * the one that counts processes last
                    */
                   CAY_INIT_FD_JOIN0,
                   CAY_INIT_FD_COUNT = CAY_INIT_FD_JOIN0 + CAY_INIT_JOIN_MAX
};

enum { /* cay_init_config.flags */
       CAY_INIT_ISOLATED =
               1, /* pid 1 of a box of its own: switch ids, drop capabilities, landlock, seccomp */
       CAY_INIT_READ_ONLY = 2,
       CAY_INIT_OOM_SET = 4, /* init has its oom_score_adj of 1000 already, and commands inherit it */
       CAY_INIT_ONE_ID = 8,  /* there is only our own id: commands share it */
       CAY_INIT_DOCKER =
               16,         /* in a Docker container: no control socket, no descriptors (cay-init/docker.h) */
       CAY_INIT_WARM = 64, /* keep an interpreter ready (cay-init/warm.h) */
       CAY_INIT_BRIEF = 128,  /* the box is for one piece of work */
       CAY_INIT_ROOTFS = 256, /* its root is a tree of files, not the host's /usr */
       CAY_INIT_PLACED = 32, /* we may only use the processors of commands: until the first one has started */
};

enum { /* cay_init_config.watch: limits that the kernel does not enforce here, so init does */
       CAY_INIT_WATCH_MEMORY = 1,
       CAY_INIT_WATCH_CPUS = 2,
       CAY_INIT_WATCH_PIDS = 4,
};

#define CAY_INIT_MODULES 256 /* bytes of a list of modules */
#define CAY_INIT_VOLUMES 8
#define CAY_INIT_VOLUME 128 /* bytes of a place */

struct cay_init_config {
        uint32_t magic, size; /* sizeof(struct cay_init_config) */
        uint32_t flags;
        uint32_t fds;       /* bit set over enum cay_init_fd */
        uint32_t uid, gid;  /* default ids of commands: 1001 */
        uint32_t cpus;      /* number of processors that the box sees */
        uint32_t inherited; /* bit set over enum cay_init_fd: inherited by exec, not sent with this message */
        uint32_t watch;
        uint32_t cpu_milli, pids; /* for `watch` */
        uint32_t test_off;        /* bit set over layers.def; honoured by CAY_TEST_HOOKS builds only */
        uint64_t memory_bytes, swap_bytes; /* 0: none set */
        uint64_t disk_bytes;  /* 0: no limit; what it means for files: the sizes that commands are given */
        uint64_t boot_wall_s; /* wall clock second of the box's start, for /proc/stat's btime */
        /* Docker only: identity of the checked folder, which /workspace must match. Inode 0: not compared */
        uint64_t workspace_dev, workspace_ino;
        uint8_t secret[32];
        char volumes[CAY_INIT_VOLUMES][CAY_INIT_VOLUME]; /* where volumes are mounted; "": none */
        char warm_modules
                [CAY_INIT_MODULES]; /* with WARM: what the interpreter imports ahead, with commas between */
};

struct cay_init_relink {
        uint32_t magic, size;
};
