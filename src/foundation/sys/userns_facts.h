/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this process can find out, without changing anything, about itself and user namespaces. Values that
 * could not be read are -1, or false where that is the usual case.
 */
#pragma once

#include <stdbool.h>

#include "foundation/base/banned.h"

enum sys_container { SYS_CONTAINER_NONE, SYS_CONTAINER_DOCKER, SYS_CONTAINER_PODMAN, SYS_CONTAINER_OTHER };

struct sys_userns_facts {
        int unprivileged_clone; /* kernel.unprivileged_userns_clone (Debian's and hardened kernels) */
        long max_namespaces;    /* user.max_user_namespaces */
        int apparmor_userns;    /* kernel.apparmor_restrict_unprivileged_userns (Ubuntu) */
        /* kernel.apparmor_restrict_unprivileged_unconfined: a profile cannot circumvent it */
        int apparmor_unconfined;
        int selinux;            /* 1: enforcing, 0: permissive */
        bool has_userns;        /* the kernel was built with user namespaces */
        bool privileged;        /* CAP_SYS_ADMIN in the user namespace we are in */
        bool ids_mapped;        /* our own user and group are mapped in it */
        bool nested;            /* it is not the initial one */
        bool in_cay;            /* process 1 is cay-init */
        bool seccomp;           /* a seccomp filter is active */
        bool chroot;            /* our root is not the root of our mount namespace */
        bool wsl1;              /* WSL 1, which is not a Linux kernel */
        bool apparmor_confined; /* an AppArmor profile is active */
        enum sys_container container;
};

void sys_userns_facts_collect(struct sys_userns_facts *ret);

bool sys_userns_map_has(const char *map, unsigned long id); /* text of uid_map or gid_map */
/* every id maps to itself: the initial namespace */
bool sys_userns_map_is_first(const char *map);
