/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc/self/cgroup and mountinfo say about control groups: the version, and where our own group is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "foundation/base/banned.h"

enum cay_doctor_controller {
        CAY_DOCTOR_MEMORY,
        CAY_DOCTOR_CPU,
        CAY_DOCTOR_CPUSET,
        CAY_DOCTOR_PIDS,
        CAY_DOCTOR_CONTROLLERS
};

enum cay_doctor_cgroup_version {
        CAY_DOCTOR_CGROUP_NONE,
        CAY_DOCTOR_CGROUP_1,
        CAY_DOCTOR_CGROUP_2,
        CAY_DOCTOR_CGROUP_BOTH
};

#define CAY_DOCTOR_CGROUP_DIR 512

struct cay_doctor_cgroup {
        enum cay_doctor_cgroup_version version;
        unsigned controllers; /* bits of cay_doctor_controller that limit something here */
        unsigned writable;    /* of those: where we may make groups of our own */
        bool can_delegate;    /* version 2: groups below ours can be made at all */
};

/* Our own group's folder in one hierarchy; "": none, or outside of what is mounted. */
struct cay_doctor_cgroup_dirs {
        char v1[CAY_DOCTOR_CONTROLLERS][CAY_DOCTOR_CGROUP_DIR];
        char v2[CAY_DOCTOR_CGROUP_DIR];
};

void cay_doctor_cgroup_parse(const char *self_cgroup, const char *mountinfo,
                             enum cay_doctor_cgroup_version *ret_version, struct cay_doctor_cgroup_dirs *ret);
/* The words of cgroup.controllers, or of a v1 mount's options, as bits. sep: ' ' or ','. */
unsigned cay_doctor_controllers_parse(const char *text, size_t len, char sep);
const char *cay_doctor_controllers_text(unsigned bits, char *buf,
                                        size_t size); /* "memory, pids"; returns buf */
