/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces: a child really makes each, and then ends. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "cay/doctor/facts_priv.h"
#include "cay/doctor/probe.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/net_divert.h"
#include "foundation/sys/syscalls.h"

static const int flags[] = {
        [CAY_DOCTOR_NS_MOUNT] = CLONE_NEWNS,  [CAY_DOCTOR_NS_PID] = CLONE_NEWPID,
        [CAY_DOCTOR_NS_NET] = CLONE_NEWNET,   [CAY_DOCTOR_NS_IPC] = CLONE_NEWIPC,
        [CAY_DOCTOR_NS_UTS] = CLONE_NEWUTS,   [CAY_DOCTOR_NS_CGROUP] = CLONE_NEWCGROUP,
        [CAY_DOCTOR_NS_TIME] = CLONE_NEWTIME,
};
_Static_assert(CAY_COUNT(flags) == CAY_DOCTOR_NS_COUNT, "a flag for every namespace");

static int make(int flag)
{
        return unshare(flag) < 0 ? -errno : 0;
}

int cay_doctor_enter_userns(void)
{
        char uids[32], gids[32];
        int r;

        snprintf(uids, sizeof(uids), "0 %u 1", geteuid());
        snprintf(gids, sizeof(gids), "0 %u 1", getegid());
        r = make(CLONE_NEWUSER);
        if (r == 0)
                r = sys_write_file(AT_FDCWD, "/proc/self/setgroups", "deny");
        if (r == 0)
                r = sys_write_file(AT_FDCWD, "/proc/self/uid_map", uids);
        return r == 0 ? sys_write_file(AT_FDCWD, "/proc/self/gid_map", gids) : r;
}

int cay_doctor_enter_scratch(const char **ret_dir)
{
        static const char *const places[] = { "/tmp", "/mnt", "/var", "/usr" }; /* visible to us only */
        int r = make(CLONE_NEWNS);

        if (r == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                r = -errno;
        if (r < 0)
                return r;
        for (unsigned i = 0; i < CAY_COUNT(places); i++) {
                if (mount("cay-doctor", places[i], "tmpfs", 0, "size=1m") == 0) {
                        *ret_dir = places[i];
                        return 0;
                }
                r = -errno;
                if (r != -ENOENT)
                        return r;
        }
        return r;
}

/* Some systems allow the namespace and then refuse everything that it is made for. */
static int probe_user(const void *arg, void *ret)
{
        const char *dir;
        int r = cay_doctor_enter_userns();

        return r < 0 ? r : cay_doctor_enter_scratch(&dir);
}

struct ask {
        int flag;
        bool in_userns;
};

static int probe_one(const void *arg, void *ret)
{
        const struct ask *ask = arg;
        int r = ask->in_userns ? cay_doctor_enter_userns() : 0;

        return r < 0 ? r : make(ask->flag);
}

/* As for a sandbox; the sockets end with the child. */
static int probe_divert(const void *arg, void *ret)
{
        struct sys_divert_sockets s;
        int r = cay_doctor_enter_userns();

        if (r == 0)
                r = make(CLONE_NEWNET);
        return r < 0 ? r : sys_divert_set_up(SYS_DIVERT_PUBLIC, &s);
}

static int mount_proc(void)
{
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
                return -errno;
        return 0;
}

static int probe_proc(const void *arg, void *ret)
{
        int r = cay_doctor_enter_userns();

        if (r == 0)
                r = make(CLONE_NEWNS | CLONE_NEWPID);
        return r < 0 ? r : cay_doctor_probe_inner(mount_proc);
}

void cay_doctor_collect_namespaces(struct cay_doctor_facts *f)
{
        f->user_ns = cay_doctor_probe(probe_user, NULL, NULL, 0, CAY_DOCTOR_PROBE_MS);
        for (unsigned i = 0; i < CAY_DOCTOR_NS_COUNT; i++) {
                struct ask ask = { .flag = flags[i], .in_userns = !f->at.privileged };

                f->ns[i] = CAY_DOCTOR_UNTRIED;
                if (!ask.in_userns || f->user_ns == 0)
                        f->ns[i] = cay_doctor_probe(probe_one, &ask, NULL, 0, CAY_DOCTOR_PROBE_MS);
        }
        f->proc = f->divert = CAY_DOCTOR_UNTRIED;
        if (f->user_ns != 0)
                return;
        f->divert = cay_doctor_probe(probe_divert, NULL, NULL, 0, CAY_DOCTOR_PROBE_MS);
        f->proc = cay_doctor_probe(probe_proc, NULL, NULL, 0, CAY_DOCTOR_PROBE_MS);
        if (f->proc < 0)
                sys_proc_why(f->proc, f->proc_why, sizeof(f->proc_why));
}
