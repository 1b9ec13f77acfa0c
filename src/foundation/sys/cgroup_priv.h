/* SPDX-License-Identifier: Apache-2.0 */
/* What the cgroup*.c files share among themselves and with their tests. */
#pragma once

#include <sys/types.h>

#include "foundation/sys/cgroup.h"

/* One version. Nodes that the host lacks have no directory (-1); every function then does nothing. */
struct sys_cgroup_ops {
        bool counts_init;
        unsigned (*can_hold)(const struct sys_cgroup_host *host);
        /*
         * The processors that nodes may be given, as the kernel lists them; -errno or 0 where there is no
         * cpuset.
         */
        ssize_t (*list_cpus)(const struct sys_cgroup_host *host, char *text, size_t size);
        int (*limit)(const struct sys_cgroup_host *host, struct sys_cgroup *cg,
                     const struct sys_cgroup_limits *l, const char **ret_what);
        int (*open_joins)(const struct sys_cgroup *cg, int *fds, unsigned max);
        int (*open_usage)(const struct sys_cgroup *cg, int *ret_usage, int *ret_stat);
        void (*stats)(const struct sys_cgroup *cg, struct sys_cgroup_stats *ret);
        enum sys_cgroup_part memory; /* the part whose node counts memory */
        int (*reclaim)(int dir);     /* of that node */
};

extern const struct sys_cgroup_ops sys_cgroup_v1_ops, sys_cgroup_v2_ops;

/* Where a hierarchy is mounted, and the caller's own node in it. */
struct sys_cgroup_place {
        char mount[SYS_CGROUP_PATH]; /* "": nowhere */
        char own[SYS_CGROUP_PATH];   /* below that: "" or "/a/b" */
};

extern const char *const sys_cgroup_controllers[SYS_CGROUP_2];

/*
 * cgroup_find.c. Fills in all parts, from the text of /proc/self/mountinfo (which it edits) and
 * /proc/self/cgroup.
 */
void sys_cgroup_find(char *mounts, const char *own, struct sys_cgroup_place ret[SYS_CGROUP_PARTS]);
/*
 * The same without mountinfo, where everything that /proc/self/cgroup names is mounted whole at the usual
 * place below `top` (/sys/fs/cgroup). false: something is not, and mountinfo has to say where.
 */
bool sys_cgroup_find_usual(const char *top, const char *own, struct sys_cgroup_place ret[SYS_CGROUP_PARTS]);

/* The parents of boxes' nodes. They and their paths stay unset where the caller may not make nodes. */
void sys_cgroup_v1_open(struct sys_cgroup_host *host, const struct sys_cgroup_place places[SYS_CGROUP_PARTS]);
void sys_cgroup_v2_open(struct sys_cgroup_host *host, const struct sys_cgroup_place *place);
/* cgroup_v2_place.c. may_use: tests whether boxes can be made below a node. */
void sys_cgroup_v2_place(struct sys_cgroup_host *host, const struct sys_cgroup_place *place,
                         bool (*may_use)(int dir));
unsigned sys_cgroup_v2_enable(int dir); /* returns the controllers that children have, 1 << part */
bool sys_cgroup_v2_may_use(int dir);
unsigned sys_cgroup_v2_controllers(int dir, const char *file); /* what the file lists, 1 << part */
/* A private mount of cgroup2, or -errno. */
int sys_cgroup_v2_mount(void);

int sys_cgroup_put_u64(int dir, const char *file, uint64_t value, const char **ret_what);
uint64_t sys_cgroup_get_u64(int dir, const char *file);                    /* 0 where there is none */
uint64_t sys_cgroup_get_keyed(int dir, const char *file, const char *key); /* likewise */
bool sys_cgroup_swap_is_off(void);
/* The processors of one box, as text for cpuset.cpus; -ENODEV when there are none to choose from. */
int sys_cgroup_cpu_list(const struct sys_cgroup_host *host, const struct sys_cgroup_limits *l, char *text,
                        size_t size);

/* cgroup_kill.c. Killed tasks need a moment to leave the node; the wait is bounded. */
int sys_cgroup_remove_node(int parent, const char *name);
int sys_cgroup_remove_children(int dir); /* of a cgroup2 node, one level */
