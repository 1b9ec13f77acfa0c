/* SPDX-License-Identifier: Apache-2.0 */
/* Why the kernel refused (userns_why.h): rows of facts, and the sentence for each match. */
#include "foundation/sys/userns_why.h"

#include <errno.h>

#include "foundation/base/cleanup.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/mountinfo.h"

typedef bool matches(const struct sys_userns_facts *f, int e);

static bool is_denial(int e)
{
        return e == EPERM || e == EACCES;
}

static bool in_cay(const struct sys_userns_facts *f, int e)
{
        return f->in_cay;
}

static bool is_unmapped(const struct sys_userns_facts *f, int e)
{
        return !f->ids_mapped && is_denial(e);
}

static bool is_wsl1(const struct sys_userns_facts *f, int e)
{
        return f->wsl1;
}

static bool is_missing(const struct sys_userns_facts *f, int e)
{
        return !f->has_userns;
}

static bool is_switched_off(const struct sys_userns_facts *f, int e)
{
        return f->max_namespaces == 0 && (e == ENOSPC || e == EUSERS || is_denial(e));
}

static bool is_full(const struct sys_userns_facts *f, int e)
{
        return e == ENOSPC || e == EUSERS;
}

static bool is_busy(const struct sys_userns_facts *f, int e)
{
        return e == EAGAIN;
}

static bool is_debian(const struct sys_userns_facts *f, int e)
{
        return f->unprivileged_clone == 0 && !f->privileged && is_denial(e);
}

static bool is_chroot(const struct sys_userns_facts *f, int e)
{
        return f->chroot && is_denial(e);
}

/* Seccomp filters return EPERM, and ENOSYS for clone3, since they cannot see its flags. */
static bool is_filtered(const struct sys_userns_facts *f, int e)
{
        return f->seccomp && (is_denial(e) || e == ENOSYS);
}

static bool is_docker_filter(const struct sys_userns_facts *f, int e)
{
        return is_filtered(f, e) && f->container == SYS_CONTAINER_DOCKER;
}

static bool is_docker_both(const struct sys_userns_facts *f, int e)
{
        return is_docker_filter(f, e) && f->apparmor_confined;
}

static bool is_docker_apparmor(const struct sys_userns_facts *f, int e)
{
        return f->apparmor_confined && f->container == SYS_CONTAINER_DOCKER && is_denial(e);
}

static bool is_podman_filter(const struct sys_userns_facts *f, int e)
{
        return is_filtered(f, e) && f->container == SYS_CONTAINER_PODMAN;
}

static bool is_ubuntu(const struct sys_userns_facts *f, int e)
{
        return f->apparmor_userns == 1 && is_denial(e) && !(f->privileged && !f->nested);
}

static bool is_apparmor(const struct sys_userns_facts *f, int e)
{
        return f->apparmor_confined && is_denial(e);
}

static bool is_selinux(const struct sys_userns_facts *f, int e)
{
        return f->selinux == 1 && e == EACCES;
}

static bool is_old(const struct sys_userns_facts *f, int e)
{
        return e == ENOSYS || e == EINVAL;
}

/*
 * The first matching row wins. Order: what makes everything else irrelevant, then what is certain, then what
 * is likely.
 */
static const struct {
        matches *matches;
        const char *text;
} userns_rows[] = {
        { in_cay, "this is the inside of a Cay sandbox, and sandboxes do not nest; run Cay outside of it" },
        { is_wsl1, "WSL 1 has no namespaces; move this distribution to WSL 2 (wsl --set-version NAME 2)" },
        { is_missing, "this kernel was built without user namespaces; use one with CONFIG_USER_NS=y" },
        { is_unmapped, "this shell is in a user namespace without a map for its own user (unshare -U); "
                       "use unshare -Ur, which has one" },
        { is_switched_off, "user.max_user_namespaces=0 switches user namespaces off; "
                           "as root: sysctl -w user.max_user_namespaces=15000" },
        { is_full, "too many user namespaces exist (user.max_user_namespaces) or they are nested too deeply; "
                   "end some, or raise the setting as root" },
        { is_busy, "this user has too many processes; end some, or raise the limit (ulimit -u)" },
        { is_chroot, "this is a chroot, in which the kernel makes no user namespaces; "
                     "run Cay outside, or enter the tree with systemd-nspawn in place of chroot" },
        { is_debian, "kernel.unprivileged_userns_clone=0 keeps user namespaces from ordinary users; "
                     "as root: sysctl -w kernel.unprivileged_userns_clone=1" },
        { is_docker_both, "the container's seccomp filter forbids user namespaces; start the container with "
                          "--security-opt seccomp=unconfined --security-opt apparmor=unconfined "
                          "--security-opt systempaths=unconfined" },
        { is_docker_filter,
          "the container's seccomp filter forbids user namespaces; start the container with "
          "--security-opt seccomp=unconfined --security-opt systempaths=unconfined" },
        { is_docker_apparmor, "the container's AppArmor profile forbids it; start the container with "
                              "--security-opt apparmor=unconfined --security-opt systempaths=unconfined" },
        { is_podman_filter,
          "the container's seccomp filter forbids user namespaces; start the container with "
          "--security-opt seccomp=unconfined --security-opt unmask=ALL" },
        { is_filtered, "a seccomp filter on this process forbids user namespaces; a container's can be "
                       "switched off when it is started, a systemd unit's is RestrictNamespaces=" },
        { is_ubuntu, "AppArmor keeps user namespaces from programs without a profile; "
                     "as root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0" },
        { is_apparmor, "the AppArmor profile on this process forbids it; see /proc/self/attr/current, "
                       "and give that profile the rules userns and mount" },
        { is_selinux, "SELinux forbids it; as root, ausearch -m avc shows the rule that "
                      "has to be added" },
        { is_old, "this kernel does not know the call; use a newer one that is built with CONFIG_USER_NS=y" },
};

static int say(char *text, size_t size, const char *sentence)
{
        snprintf(text, size, "%s", sentence);
        return 1;
}

int sys_userns_why_from(const struct sys_userns_facts *f, int neg_errno, char *text, size_t size)
{
        for (unsigned i = 0; i < CAY_COUNT(userns_rows); i++)
                if (userns_rows[i].matches(f, -neg_errno))
                        return say(text, size, userns_rows[i].text);
        snprintf(text, size,
                 "%s, for a reason that the kernel does not tell; a security module may have logged it "
                 "(dmesg)",
                 strerror(-neg_errno));
        return 0;
}

struct proc_seen {
        bool whole;          /* a proc, all of it, at /proc */
        const char *covered; /* the first place in it that is covered by another mount; not NUL-terminated */
        int covered_len, count;
};

/*
 * What the kernel counts as hidden: anything mounted in it, except on the empty directories that are meant as
 * mount points.
 */
static void look_at_proc(const char *mountinfo, struct proc_seen *seen)
{
        struct sys_mountinfo m;

        while (sys_mountinfo_next(&mountinfo, &m)) {
                if (sys_mountinfo_field_is(m.point, m.point_len, "/proc") &&
                    sys_mountinfo_field_is(m.type, m.type_len, "proc"))
                        seen->whole = sys_mountinfo_field_is(m.root, m.root_len, "/");
                if (m.point_len <= 6 || strncmp(m.point, "/proc/", 6) != 0 ||
                    sys_mountinfo_field_is(m.point, m.point_len, "/proc/sys/fs/binfmt_misc"))
                        continue;
                if (seen->count++ == 0) {
                        seen->covered = m.point;
                        seen->covered_len = m.point_len;
                }
        }
}

static const char *const unmask[] = {
        [SYS_CONTAINER_NONE] = "unmount that, or run Cay outside of this mount namespace",
        [SYS_CONTAINER_DOCKER] = "start the container with --security-opt systempaths=unconfined",
        [SYS_CONTAINER_PODMAN] = "start the container with --security-opt unmask=ALL",
        [SYS_CONTAINER_OTHER] = "start the container without masked paths (Kubernetes: procMount: Unmasked)",
};

int sys_proc_why_from(const struct sys_userns_facts *f, const char *mountinfo, int neg_errno, char *text,
                      size_t size)
{
        struct proc_seen seen = { 0 };

        if (f->in_cay)
                return say(text, size, userns_rows[0].text);
        look_at_proc(mountinfo, &seen);
        if (is_denial(-neg_errno) && seen.count > 0) {
                snprintf(text, size,
                         "/proc is covered in parts here (%.*s%s), so the kernel allows no fresh one; %s",
                         seen.covered_len < 40 ? seen.covered_len : 40, seen.covered,
                         seen.count > 1 ? " and more" : "", unmask[f->container]);
                return 1;
        }
        if (is_denial(-neg_errno) && !seen.whole)
                return say(
                        text, size,
                        "no whole /proc is mounted here, so the kernel allows no fresh one; mount one first");
        if (is_docker_apparmor(f, -neg_errno))
                return say(text, size,
                           "the container's AppArmor profile forbids mounts; start the container with "
                           "--security-opt apparmor=unconfined --security-opt systempaths=unconfined");
        if (is_ubuntu(f, -neg_errno) || is_apparmor(f, -neg_errno) || is_filtered(f, -neg_errno))
                return sys_userns_why_from(f, neg_errno, text, size);
        snprintf(text, size, "mounting /proc: %s", strerror(-neg_errno));
        return 0;
}

int sys_userns_why(int neg_errno, char *text, size_t size)
{
        struct sys_userns_facts facts;

        sys_userns_facts_collect(&facts);
        return sys_userns_why_from(&facts, neg_errno, text, size);
}

int sys_proc_why(int neg_errno, char *text, size_t size)
{
        struct sys_userns_facts facts;
        char mountinfo[SYS_MOUNTINFO_MAX];

        sys_userns_facts_collect(&facts);
        sys_mountinfo_read(mountinfo, sizeof(mountinfo));
        return sys_proc_why_from(&facts, mountinfo, neg_errno, text, size);
}
