/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's features for confining a process and for showing it files. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cay/doctor/facts_priv.h"
#include "cay/doctor/host_text.h"
#include "cay/doctor/probe.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/idmap.h"
#include "foundation/sys/mounts.h"
#include "foundation/sys/xfs_pool.h"

#define NR_LANDLOCK_CREATE_RULESET 444
#define LANDLOCK_VERSION 1
#define MKE2FS "/sbin/mke2fs" /* as foundation/sys/loopdev.c calls it */

static int probe_landlock(const void *arg, void *ret)
{
        return (int)sys_result(syscall(NR_LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_VERSION));
}

/* Installs a filter that allows everything, in a child that ends. */
static int probe_seccomp(const void *arg, void *ret)
{
        const unsigned *listen = arg;
        struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        struct sock_fprog program = { .len = 1, .filter = &allow };
        int r;

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -errno;
        r = (int)sys_result(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, *listen, &program));
        return r < 0 ? r : 0;
}

/*
 * A mount alone is not enough: a directory that is removed and made again must be marked as new, for which
 * the upper file system needs attributes (tmpfs has them for ordinary users since Linux 6.6).
 */
static int try_overlay(bool in_userns)
{
        const char *dir;
        int r = cay_doctor_enter_scratch(&dir);

        if (r < 0)
                return r;
        if (chdir(dir) < 0 || mkdir("lower", 0755) < 0 || mkdir("lower/d", 0755) < 0 ||
            mkdir("upper", 0755) < 0 || mkdir("work", 0755) < 0 || mkdir("all", 0755) < 0)
                return -errno;
        if (mount("overlay", "all", "overlay", 0,
                  in_userns ? "lowerdir=lower,upperdir=upper,workdir=work,userxattr"
                            : "lowerdir=lower,upperdir=upper,workdir=work") < 0)
                return -errno;
        return rmdir("all/d") < 0 || mkdir("all/d", 0755) < 0 ? -errno : 0;
}

static int probe_overlay(const void *arg, void *ret)
{
        return try_overlay(false);
}

static int probe_overlay_userns(const void *arg, void *ret)
{
        int r = cay_doctor_enter_userns();

        return r < 0 ? r : try_overlay(true);
}

static int probe_idmap(const void *arg, void *ret)
{
        const struct sys_idmap ids = { .inside = 0, .outside = 1, .count = 1 };
        cay_auto_close int ns = sys_idmap_namespace(&ids, &ids), tree = -1;
        int is_plain = 0;

        if (ns < 0)
                return ns;
        tree = sys_mount_copy_idmapped(AT_FDCWD, "/usr", 0, ns, &is_plain);
        if (tree < 0)
                return tree;
        return is_plain ? -EOPNOTSUPP : 0;
}

static int probe(cay_doctor_probe_fn *fn, const void *arg)
{
        return cay_doctor_probe(fn, arg, NULL, 0, CAY_DOCTOR_PROBE_MS);
}

void cay_doctor_collect_kernel(struct cay_doctor_facts *f)
{
        const unsigned plain = 0, listen = SECCOMP_FILTER_FLAG_NEW_LISTENER;
        bool is_first = f->at.privileged && !f->at.nested;

        f->landlock = probe(probe_landlock, NULL);
        if (sys_read_file(AT_FDCWD, "/sys/kernel/security/lsm", f->lsm, sizeof(f->lsm)) < 0)
                f->lsm[0] = '\0';
        cay_doctor_make_plain(f->lsm);
        f->seccomp = probe(probe_seccomp, &plain);
        f->seccomp_notify = f->seccomp == 0 ? probe(probe_seccomp, &listen) : CAY_DOCTOR_UNTRIED;
        f->overlay = is_first ? probe(probe_overlay, NULL) : CAY_DOCTOR_UNTRIED;
        f->overlay_userns = f->user_ns == 0 ? probe(probe_overlay_userns, NULL) : CAY_DOCTOR_UNTRIED;
        f->idmap = is_first ? probe(probe_idmap, NULL) : CAY_DOCTOR_UNTRIED;
        f->has_mke2fs = access(MKE2FS, X_OK) == 0;
        f->loop_control = access("/dev/loop-control", R_OK | W_OK) < 0 ? -errno : 0;
        f->layer_pool = sys_xfs_pool_can();
}
