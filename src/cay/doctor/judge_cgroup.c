/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of control groups. */
#include "cay/doctor/judge_priv.h"

#define ALL ((1u << CAY_DOCTOR_CONTROLLERS) - 1)
#define NEEDED (1u << CAY_DOCTOR_MEMORY | 1u << CAY_DOCTOR_CPU | 1u << CAY_DOCTOR_PIDS)

void cay_doctor_judge_cgroup_version(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        static const char *const words[] = {
                [CAY_DOCTOR_CGROUP_NONE] = "none is mounted",
                [CAY_DOCTOR_CGROUP_1] = "1",
                [CAY_DOCTOR_CGROUP_2] = "2",
                [CAY_DOCTOR_CGROUP_BOTH] = "1 and 2 (hybrid)",
        };
        bool is_there = f->cgroup.version != CAY_DOCTOR_CGROUP_NONE;

        cay_doctor_find(ret, is_there ? CAY_DOCTOR_OK : CAY_DOCTOR_MISSING, "%s", words[f->cgroup.version]);
        if (!is_there)
                cay_doctor_advise(ret, "as root: mount -t cgroup2 cgroup2 /sys/fs/cgroup");
}

void cay_doctor_judge_cgroup_controllers(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        unsigned missing = NEEDED & ~f->cgroup.controllers;
        char here[64], gone[64];

        cay_doctor_controllers_text(f->cgroup.controllers, here, sizeof(here));
        cay_doctor_controllers_text(missing, gone, sizeof(gone));
        if (missing == 0) {
                cay_doctor_find(ret, CAY_DOCTOR_OK, "%s", here);
                return;
        }
        cay_doctor_find(ret, cay_doctor_is_root(f) ? CAY_DOCTOR_MISSING : CAY_DOCTOR_NOTE, "%s%snot %s", here,
                        here[0] != '\0' ? "; " : "", gone);
        if (f->cgroup.version == CAY_DOCTOR_CGROUP_NONE)
                return;
        if (f->cgroup.version != CAY_DOCTOR_CGROUP_2)
                cay_doctor_advise(ret, "as root: mount the version 1 controllers, or boot with "
                                       "systemd.unified_cgroup_hierarchy=1");
        else if (cay_doctor_is_root(f))
                cay_doctor_advise(ret, "switch them on in the groups above ours (cgroup.subtree_control)");
        else
                cay_doctor_advise(ret, "as root: systemctl edit user@.service, with [Service] "
                                       "Delegate=cpu cpuset memory pids; then log in again");
}

void cay_doctor_judge_cgroup_delegation(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        const struct cay_doctor_cgroup *c = &f->cgroup;
        unsigned here = c->writable & ALL;
        char text[64];

        if (c->version == CAY_DOCTOR_CGROUP_NONE) {
                cay_doctor_find(ret, CAY_DOCTOR_NOTE, "none");
                return;
        }
        cay_doctor_controllers_text(here, text, sizeof(text));
        if ((here & NEEDED) == NEEDED) {
                cay_doctor_find(ret, CAY_DOCTOR_OK, "%s",
                                cay_doctor_is_root(f) ? "root may make groups" : text);
                return;
        }
        cay_doctor_find(ret, cay_doctor_is_root(f) ? CAY_DOCTOR_MISSING : CAY_DOCTOR_NOTE, "%s%s",
                        here != 0 ? text : "this user may make no groups here",
                        cay_doctor_is_root(f) ? ""
                        : here != 0           ? "; cay-init watches the rest"
                                              : "; cay-init watches instead");
        if (f->at.container != SYS_CONTAINER_NONE && (c->controllers & ~here) != 0 && f->uid == 0)
                cay_doctor_advise(ret,
                                  "start the container with its cgroups writable (Docker: --privileged)");
        else if (c->version == CAY_DOCTOR_CGROUP_2)
                cay_doctor_advise(ret, "run it with: systemd-run --user --scope -p Delegate=yes cay run ...");
        else
                cay_doctor_advise(ret, "version 1 is for root only: run as root, or boot with "
                                       "systemd.unified_cgroup_hierarchy=1");
}
