/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of other people's machines, for judges and renderers: each is made of an ordinary one and what is
 * special about it.
 */
#pragma once

#include <errno.h>
#include <string.h>

#include "foundation/base/str.h"
#include "domain/model/limits.h"
#include "cay/doctor/facts.h"

#define ALL_CONTROLLERS ((1u << CAY_DOCTOR_CONTROLLERS) - 1)

/* Debian 12, root, everything there. */
static inline struct cay_doctor_facts machine_root(void)
{
        struct cay_doctor_facts f = {
                .kernel = "6.1.0-18-amd64",
                .machine = "x86_64",
                .distribution = "Debian GNU/Linux 12 (bookworm)",
                .at = { .unprivileged_clone = 1,
                        .max_namespaces = 63342,
                        .apparmor_userns = -1,
                        .apparmor_unconfined = -1,
                        .selinux = -1,
                        .has_userns = true,
                        .privileged = true,
                        .ids_mapped = true },
                .user = "root",
                .maps_any = true,
                .program_dir = "/usr/lib/cay",
                .cgroup = { .version = CAY_DOCTOR_CGROUP_2,
                            .controllers = ALL_CONTROLLERS,
                            .writable = ALL_CONTROLLERS,
                            .can_delegate = true },
                .landlock = 2,
                .lsm = "landlock,lockdown,yama,integrity,apparmor",
                .has_mke2fs = true,
                .docker = { .state = CAY_DOCKER_ANSWERS,
                            .where = "/var/run/docker.sock",
                            .version = "20.10.24",
                            .api = "1.41" },
                .browser = "/usr/lib/chromium/chromium",
                .desktop_server = "/usr/bin/Xtigervnc",
                .desktop_manager = "/usr/bin/openbox",
                .desktop_terminal = "/usr/bin/xterm",
                .limits_known = true,
                .works = true,
        };

        return f;
}

/* The same machine, a person with a range of ids and a delegated group. */
static inline struct cay_doctor_facts machine_user(void)
{
        struct cay_doctor_facts f = machine_root();

        f.at.privileged = false;
        f.maps_any = false;
        f.uid = 1000;
        cay_str_copy(f.user, sizeof(f.user), "ada");
        f.overlay = f.idmap = CAY_DOCTOR_UNTRIED;
        f.loop_control = -EACCES;
        f.subuid = f.subgid = (struct cay_doctor_ranges){ true, 65536, 100000 };
        f.free_ids = 165536;
        cay_str_copy(f.newuidmap.path, sizeof(f.newuidmap.path), "/usr/bin/newuidmap");
        cay_str_copy(f.newgidmap.path, sizeof(f.newgidmap.path), "/usr/bin/newgidmap");
        f.newuidmap.set_id = f.newgidmap.has_cap = true;
        f.docker.state = CAY_DOCKER_DENIED;
        return f;
}

/* A person who may not have user namespaces, whatever forbids them. */
static inline struct cay_doctor_facts machine_without_userns(int neg_errno)
{
        struct cay_doctor_facts f = machine_user();

        f.user_ns = neg_errno;
        for (unsigned i = 0; i < CAY_DOCTOR_NS_COUNT; i++)
                f.ns[i] = CAY_DOCTOR_UNTRIED;
        f.proc = f.overlay_userns = CAY_DOCTOR_UNTRIED;
        f.limits_known = f.works = false;
        cay_fail(&f.run, CAY_UNSUPPORTED, "no user namespace can be made here");
        return f;
}

/*
 * Root in a container with Docker's defaults, on a host with cgroups of version 1; nothing installed. The
 * worst of all.
 */
static inline struct cay_doctor_facts machine_in_docker(void)
{
        struct cay_doctor_facts f = machine_without_userns(-EPERM);

        f.uid = 0;
        cay_str_copy(f.user, sizeof(f.user), "root");
        f.at.container = SYS_CONTAINER_DOCKER;
        f.at.seccomp = true;
        f.cgroup.version = CAY_DOCTOR_CGROUP_1;
        f.cgroup.writable = 0;
        f.landlock = -EPERM;
        f.seccomp_notify = -EBUSY;
        f.has_mke2fs = false;
        f.loop_control = -ENOENT;
        memset(&f.subuid, 0, sizeof(f.subuid));
        memset(&f.subgid, 0, sizeof(f.subgid));
        memset(&f.newuidmap, 0, sizeof(f.newuidmap));
        memset(&f.newgidmap, 0, sizeof(f.newgidmap));
        memset(&f.docker, 0, sizeof(f.docker));
        f.docker.state = CAY_DOCKER_ABSENT;
        cay_str_copy(f.docker.where, sizeof(f.docker.where), "/var/run/docker.sock");
        return f;
}
