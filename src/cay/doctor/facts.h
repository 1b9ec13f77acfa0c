/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything `cay doctor` knows about a machine. Plain values, owned by whoever fills them (the collectors, a
 * test).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/error.h"
#include "cay/doctor/cgroup_text.h"
#include "cay/doctor/docker_text.h"
#include "foundation/sys/userns_facts.h"
#include "foundation/sys/userns_why.h"

/* Results of probes: 0 works, -errno, or this: not tried, because something it needs is missing. */
#define CAY_DOCTOR_UNTRIED 1

enum cay_doctor_ns {
        CAY_DOCTOR_NS_MOUNT,
        CAY_DOCTOR_NS_PID,
        CAY_DOCTOR_NS_NET,
        CAY_DOCTOR_NS_IPC,
        CAY_DOCTOR_NS_UTS,
        CAY_DOCTOR_NS_CGROUP,
        CAY_DOCTOR_NS_TIME,
        CAY_DOCTOR_NS_COUNT
};

struct cay_doctor_ranges { /* of one of /etc/subuid, /etc/subgid */
        bool has_file;
        uint64_t ids, first; /* our largest range; 0: none */
};

#define CAY_DOCTOR_RANGE 65536u /* the recommended range */

struct cay_doctor_helper { /* newuidmap, newgidmap */
        char path[128];    /* "": not found */
        bool set_id;       /* owned by root, with the set-user-id bit */
        bool has_cap;      /* or with the one file capability it needs */
        bool nosuid;       /* on a mount where neither works */
};

#define CAY_DOCTOR_PROGRAM 64u

struct cay_doctor_facts {
        char kernel[80], machine[80], distribution[80]; /* "": unknown */
        struct sys_userns_facts at;                     /* where we are */
        unsigned uid;
        char user[40]; /* "": no name */
        bool no_new_privs;
        bool maps_any; /* may give a sandbox any ids, without a range of its own */
        char program_dir[256];
        struct cay_error programs; /* code CAY_OK: they are there */

        int user_ns; /* errno of the failed step */
        int ns[CAY_DOCTOR_NS_COUNT];
        int divert; /* what leaves a network namespace can be diverted; 0 */
        int proc;
        char proc_why[SYS_WHY_SIZE];

        struct cay_doctor_cgroup cgroup;

        int landlock;  /* ABI, or -errno */
        char lsm[128]; /* active security modules; "": unknown */
        int seccomp, seccomp_notify;

        int overlay, overlay_userns, idmap;
        bool has_mke2fs;
        int loop_control; /* 0: it can be opened */
        int layer_pool;   /* 0: one can be made; -ENOENT: no mkfs.xfs; -ENODEV: no XFS */

        struct cay_doctor_ranges subuid, subgid;
        /* first of CAY_DOCTOR_RANGE ids that are unused, as uids and as gids; 0: none found */
        uint64_t free_ids;
        struct cay_doctor_helper newuidmap, newgidmap;

        struct cay_docker docker;

        /* paths below /usr; "": none */
        char browser[CAY_DOCTOR_PROGRAM];
        char desktop_server[CAY_DOCTOR_PROGRAM], desktop_manager[CAY_DOCTOR_PROGRAM],
                desktop_terminal[CAY_DOCTOR_PROGRAM];

        bool limits_known;
        unsigned limits_missing; /* masks of domain/model/limits.h */
        unsigned limits_watched; /* held by watching, not by the kernel */
        bool works;
        struct cay_error run; /* why it does not */
};

struct cay_run_options;

struct cay_doctor_options {
        const struct cay_run_options *run; /* the default run; its program_dir may be "" */
        const struct cay_error *programs;  /* why cay-init was not found; code CAY_OK: it was */
        const char *docker_host;           /* $DOCKER_HOST, or NULL */
        const char *path;                  /* $PATH, or NULL */
};

/* Collects the facts. Takes up to a few seconds if something does not answer; changes nothing. */
void cay_doctor_collect(const struct cay_doctor_options *o, struct cay_doctor_facts *ret);
