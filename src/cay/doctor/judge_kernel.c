/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the kernel: namespaces, confinement, files. */
#include <errno.h>

#include "cay/doctor/judge_priv.h"

#define LANDLOCK_FIRST_USED 2

void cay_doctor_judge_user_ns(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        char why[SYS_WHY_SIZE];

        if (f->user_ns == 0) {
                cay_doctor_find(ret, CAY_DOCTOR_OK, "can be made, mapped and mounted in");
                return;
        }
        sys_userns_why_from(&f->at, f->user_ns, why, sizeof(why));
        cay_doctor_find_why(ret, CAY_DOCTOR_MISSING, why);
}

/* without: what Cay does if it is missing. */
static void judge_ns(const struct cay_doctor_facts *f, enum cay_doctor_ns nr, const char *option,
                     enum cay_doctor_status without, struct cay_doctor_finding *ret)
{
        char why[SYS_WHY_SIZE];
        int r = f->ns[nr];

        if (r == 0) {
                cay_doctor_find(ret, CAY_DOCTOR_OK, "can be made");
        } else if (r == CAY_DOCTOR_UNTRIED) {
                cay_doctor_find(ret, CAY_DOCTOR_MISSING, "need a user namespace first");
        } else if (r == -EINVAL || r == -ENOSYS) {
                cay_doctor_find(ret, without, "not in this kernel");
                cay_doctor_advise(ret, "use a kernel with %s=y", option);
        } else {
                sys_userns_why_from(&f->at, r, why, sizeof(why));
                cay_doctor_find_why(ret, without, why);
        }
}

void cay_doctor_judge_mount_ns(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        judge_ns(f, CAY_DOCTOR_NS_MOUNT, "CONFIG_NAMESPACES", CAY_DOCTOR_MISSING, ret);
}

void cay_doctor_judge_pid_ns(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        judge_ns(f, CAY_DOCTOR_NS_PID, "CONFIG_PID_NS", CAY_DOCTOR_MISSING, ret);
}

void cay_doctor_judge_net_ns(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        judge_ns(f, CAY_DOCTOR_NS_NET, "CONFIG_NET_NS", CAY_DOCTOR_MISSING, ret);
}

void cay_doctor_judge_network(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        if (f->divert == 0) {
                cay_doctor_find(ret, CAY_DOCTOR_OK,
                                "diverted by nf_tables: every program reaches what is allowed");
        } else if (f->divert == CAY_DOCTOR_UNTRIED) {
                cay_doctor_find(ret, CAY_DOCTOR_NOTE, "need a user namespace first");
        } else {
                cay_doctor_find(
                        ret, CAY_DOCTOR_NOTE,
                        "by a proxy: only programs that use http_proxy, https_proxy or all_proxy reach "
                        "what is allowed");
                cay_doctor_advise(ret, "load the modules nf_tables, nft_tproxy, nft_socket and veth");
        }
}

void cay_doctor_judge_ipc_ns(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        judge_ns(f, CAY_DOCTOR_NS_IPC, "CONFIG_IPC_NS", CAY_DOCTOR_MISSING, ret);
}

void cay_doctor_judge_uts_ns(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        judge_ns(f, CAY_DOCTOR_NS_UTS, "CONFIG_UTS_NS", CAY_DOCTOR_MISSING, ret);
}

void cay_doctor_judge_cgroup_ns(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        judge_ns(f, CAY_DOCTOR_NS_CGROUP, "CONFIG_CGROUPS", CAY_DOCTOR_MISSING, ret);
}

void cay_doctor_judge_time_ns(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        judge_ns(f, CAY_DOCTOR_NS_TIME, "CONFIG_TIME_NS", CAY_DOCTOR_NOTE, ret);
}

void cay_doctor_judge_proc(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        if (f->proc == 0)
                cay_doctor_find(ret, CAY_DOCTOR_OK, "a fresh one can be mounted");
        else if (f->proc == CAY_DOCTOR_UNTRIED)
                cay_doctor_find(ret, CAY_DOCTOR_MISSING, "need a user namespace first");
        else
                cay_doctor_find_why(ret, CAY_DOCTOR_MISSING, f->proc_why);
}

void cay_doctor_judge_landlock(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        if (f->landlock >= LANDLOCK_FIRST_USED) {
                cay_doctor_find(ret, CAY_DOCTOR_OK, "ABI %d", f->landlock);
                return;
        }
        if (f->landlock > 0) {
                cay_doctor_find(ret, CAY_DOCTOR_NOTE, "ABI %d is too old to be used; the other layers hold",
                                f->landlock);
                cay_doctor_advise(ret, "use Linux 5.19 or newer");
        } else if (f->landlock == -EOPNOTSUPP) {
                cay_doctor_find(ret, CAY_DOCTOR_NOTE, "not switched on; the other layers hold");
                cay_doctor_advise(ret, "add to the kernel's command line: lsm=landlock,%s",
                                  f->lsm[0] != '\0' ? f->lsm : "(what is in /sys/kernel/security/lsm)");
        } else if (f->landlock == -ENOSYS && !f->at.seccomp) {
                cay_doctor_find(ret, CAY_DOCTOR_NOTE, "not in this kernel; the other layers hold");
                cay_doctor_advise(ret, "use Linux 5.19 or newer with CONFIG_SECURITY_LANDLOCK=y");
        } else {
                cay_doctor_find(ret, CAY_DOCTOR_NOTE, "%s; the other layers hold", strerror(-f->landlock));
                cay_doctor_advise(ret, "a seccomp filter may forbid it: allow landlock_create_ruleset there");
        }
}

void cay_doctor_judge_seccomp(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        if (f->seccomp == 0) {
                cay_doctor_find(ret, CAY_DOCTOR_OK, "works");
                return;
        }
        cay_doctor_find(ret, CAY_DOCTOR_MISSING, "%s", strerror(-f->seccomp));
        cay_doctor_advise(ret, "use a kernel with CONFIG_SECCOMP_FILTER=y");
}

void cay_doctor_judge_seccomp_notify(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        if (f->seccomp_notify == 0) {
                cay_doctor_find(ret, CAY_DOCTOR_OK, "works");
        } else if (f->seccomp_notify == CAY_DOCTOR_UNTRIED) {
                cay_doctor_find(ret, CAY_DOCTOR_NOTE, "needs seccomp filters");
        } else if (f->seccomp_notify == -EBUSY) {
                cay_doctor_find(ret, CAY_DOCTOR_NOTE,
                                "in use by the program that started this one: denied calls are not reported");
                cay_doctor_advise(ret, "nothing has to be done; outside of this container they are reported");
        } else {
                cay_doctor_find(ret, CAY_DOCTOR_NOTE, "%s: denied calls are not reported",
                                strerror(-f->seccomp_notify));
                cay_doctor_advise(ret, "use Linux 5.0 or newer");
        }
}

static void no_overlay(int r, const char *newer, struct cay_doctor_finding *ret)
{
        if (r == -ENODEV) {
                cay_doctor_find(ret, CAY_DOCTOR_MISSING, "not in this kernel");
                cay_doctor_advise(ret, "as root: modprobe overlay (CONFIG_OVERLAY_FS)");
        } else if (r == -EIO || r == -EOPNOTSUPP) {
                cay_doctor_find(ret, CAY_DOCTOR_NOTE,
                                "a folder that was removed cannot be made again (tmpfs)");
                cay_doctor_advise(ret, "use Linux %s or newer", newer);
        } else {
                cay_doctor_find(ret, CAY_DOCTOR_MISSING, "%s", strerror(-r));
                cay_doctor_advise(ret,
                                  "use Linux 5.11 or newer, and look for a security module that forbids it");
        }
}

void cay_doctor_judge_overlay(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        if (f->overlay == 0)
                cay_doctor_find(ret, CAY_DOCTOR_OK, "works");
        else if (f->overlay == CAY_DOCTOR_UNTRIED)
                cay_doctor_find(ret, CAY_DOCTOR_OK, "for root only; not needed");
        else
                no_overlay(f->overlay, "2.6.39 with CONFIG_TMPFS_XATTR=y,", ret);
}

void cay_doctor_judge_overlay_userns(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        if (f->overlay_userns == 0)
                cay_doctor_find(ret, CAY_DOCTOR_OK, "works");
        else if (f->overlay_userns == CAY_DOCTOR_UNTRIED)
                cay_doctor_find(ret, CAY_DOCTOR_MISSING, "needs a user namespace first");
        else
                no_overlay(f->overlay_userns, "6.6", ret);
}

void cay_doctor_judge_idmap(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        if (f->idmap == 0) {
                cay_doctor_find(ret, CAY_DOCTOR_OK, "work on /usr");
        } else if (f->idmap == CAY_DOCTOR_UNTRIED) {
                cay_doctor_find(ret, CAY_DOCTOR_OK, "for root only; not needed");
        } else if (f->idmap == -EOPNOTSUPP) {
                cay_doctor_find(ret, CAY_DOCTOR_NOTE,
                                "not on the file system of /usr: its files keep their owners");
                cay_doctor_advise(ret, "use a newer kernel, or ext4, xfs or btrfs");
        } else if (f->idmap == -ENOSYS) {
                cay_doctor_find(ret, CAY_DOCTOR_NOTE, "not in this kernel: files keep their owners");
                cay_doctor_advise(ret, "use Linux 5.12 or newer");
        } else {
                cay_doctor_find(ret, CAY_DOCTOR_NOTE, "%s: files keep their owners", strerror(-f->idmap));
                cay_doctor_advise(
                        ret, "look for a seccomp filter or a security module that forbids mount_setattr");
        }
}

void cay_doctor_judge_disk_image(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        if (!cay_doctor_is_root(f)) {
                cay_doctor_find(ret, CAY_DOCTOR_OK, "for root only: disk limits are held in memory");
        } else if (!f->has_mke2fs) {
                cay_doctor_find(ret, CAY_DOCTOR_MISSING,
                                "no mke2fs: no disk limit beyond half of the memory limit");
                cay_doctor_advise(ret, "install the package e2fsprogs");
        } else if (f->loop_control < 0) {
                cay_doctor_find(ret, CAY_DOCTOR_MISSING, "no loop devices (%s)", strerror(-f->loop_control));
                cay_doctor_advise(
                        ret, f->at.container != SYS_CONTAINER_NONE
                                     ? "start the container with --device /dev/loop-control, or privileged"
                                     : "as root: modprobe loop");
        } else {
                cay_doctor_find(ret, CAY_DOCTOR_OK, "mke2fs and loop devices are there");
        }
}

void cay_doctor_judge_snapshots(const struct cay_doctor_facts *f, struct cay_doctor_finding *ret)
{
        if (!cay_doctor_is_root(f)) {
                cay_doctor_find(ret, CAY_DOCTOR_OK,
                                "for root only: files of a user's sandboxes are in memory");
        } else if (!f->has_mke2fs || f->loop_control < 0) {
                cay_doctor_find(ret, CAY_DOCTOR_NOTE, "need disk images");
                cay_doctor_advise(ret, "see disk images");
        } else if (f->layer_pool == 0) {
                cay_doctor_find(ret, CAY_DOCTOR_OK, "can share blocks, in a layer pool");
        } else if (f->layer_pool == -ENOENT) {
                cay_doctor_find(ret, CAY_DOCTOR_NOTE,
                                "no mkfs.xfs: they copy blocks, unless the data folder is on XFS or btrfs");
                cay_doctor_advise(ret, "install the package xfsprogs, and set layer_pool");
        } else {
                cay_doctor_find(
                        ret, CAY_DOCTOR_NOTE,
                        "no XFS in this kernel: they copy blocks, unless the data folder is on btrfs");
                cay_doctor_advise(ret, "as root: modprobe xfs; or use a kernel that has it");
        }
}
