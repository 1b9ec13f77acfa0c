/* SPDX-License-Identifier: Apache-2.0 */
/* User namespace maps. 0 or fd, or -errno. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct sys_idmap { /* one extent: ids inside → ids outside */
        uint32_t inside, outside, count;
};

/* Writes both maps of a process's user namespace. */
int sys_idmap_write(pid_t pid, const struct sys_idmap *uids, const struct sys_idmap *gids);
/* A user namespace that exists only as a map (for idmapped mounts): no process is in it. */
int sys_idmap_namespace(const struct sys_idmap *uids, const struct sys_idmap *gids);
int sys_idmap_open(pid_t pid); /* the user namespace of a process */
