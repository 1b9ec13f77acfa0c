/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reasons for "no": facts as other distributions, containers and shells have them, and what a person is told.
 */
#include "sys_test.h"

#include "foundation/base/cleanup.h"
#include "foundation/sys/userns_why.h"

#pragma GCC diagnostic ignored "-Woverride-init"

/* An ordinary user of a distribution that forbids nothing; rows change what is special about them. */
#define PLAIN                                                                                                \
        .unprivileged_clone = -1, .max_namespaces = 96349, .apparmor_userns = -1, .apparmor_unconfined = -1, \
        .selinux = -1, .has_userns = true, .ids_mapped = true

static const struct {
        const char *name;
        struct sys_userns_facts facts;
        int e;
        int known;
        const char *says[3]; /* each is in the text */
} rows[] = {
        { "Debian 10: the sysctl is off",
          { PLAIN, .unprivileged_clone = 0 },
          EPERM,
          1,
          { "kernel.unprivileged_userns_clone=0", "sysctl -w kernel.unprivileged_userns_clone=1" } },
        { "Debian 12: it is on, so something else is to blame",
          { PLAIN, .unprivileged_clone = 1 },
          EPERM,
          0,
          { "does not tell", "Operation not permitted" } },
        { "Arch's hardened kernel, inside podman: the sysctl is what decides",
          { PLAIN, .unprivileged_clone = 0, .seccomp = true, .container = SYS_CONTAINER_PODMAN },
          EPERM,
          1,
          { "unprivileged_userns_clone=1" } },
        { "the sysctl does not bind root",
          { PLAIN, .unprivileged_clone = 0, .privileged = true, .chroot = true },
          EPERM,
          1,
          { "this is a chroot" } },
        { "Ubuntu 24.04",
          { PLAIN, .unprivileged_clone = 1, .apparmor_userns = 1, .apparmor_unconfined = 1 },
          EACCES,
          1,
          { "AppArmor", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0" } },
        { "Ubuntu 24.04: made, but its maps cannot be written",
          { PLAIN, .apparmor_userns = 1, .nested = true, .privileged = true },
          EPERM,
          1,
          { "kernel.apparmor_restrict_unprivileged_userns=0" } },
        { "Ubuntu 24.04 does not bind root",
          { PLAIN, .apparmor_userns = 1, .privileged = true },
          EPERM,
          0,
          { "does not tell" } },
        { "Ubuntu with the restriction lifted",
          { PLAIN, .apparmor_userns = 0 },
          EPERM,
          0,
          { "does not tell" } },
        { "RHEL, hardened: none allowed",
          { PLAIN, .max_namespaces = 0, .selinux = 1 },
          ENOSPC,
          1,
          { "user.max_user_namespaces=0", "sysctl -w user.max_user_namespaces=" } },
        { "all are in use", { PLAIN }, ENOSPC, 1, { "too many user namespaces", "end some" } },
        { "nested too deeply, on an old kernel", { PLAIN }, EUSERS, 1, { "nested too deeply" } },
        { "Fedora: SELinux denies it", { PLAIN, .selinux = 1 }, EACCES, 1, { "SELinux", "ausearch" } },
        { "SELinux only watches",
          { PLAIN, .selinux = 0 },
          EACCES,
          0,
          { "does not tell", "Permission denied" } },
        { "Docker's default",
          { PLAIN, .seccomp = true, .container = SYS_CONTAINER_DOCKER },
          EPERM,
          1,
          { "seccomp filter", "--security-opt seccomp=unconfined --security-opt systempaths=unconfined" } },
        { "Docker's default, asked with clone3",
          { PLAIN, .seccomp = true, .container = SYS_CONTAINER_DOCKER },
          ENOSYS,
          1,
          { "--security-opt seccomp=unconfined" } },
        { "Docker's default on Ubuntu",
          { PLAIN, .seccomp = true, .apparmor_confined = true, .container = SYS_CONTAINER_DOCKER },
          EPERM,
          1,
          { "seccomp=unconfined", "apparmor=unconfined", "systempaths=unconfined" } },
        { "Docker without the filter, on Ubuntu",
          { PLAIN, .apparmor_confined = true, .container = SYS_CONTAINER_DOCKER },
          EACCES,
          1,
          { "AppArmor profile", "apparmor=unconfined" } },
        { "podman's filter",
          { PLAIN, .seccomp = true, .container = SYS_CONTAINER_PODMAN },
          EPERM,
          1,
          { "seccomp=unconfined", "unmask=ALL" } },
        { "a systemd unit's filter", { PLAIN, .seccomp = true }, EPERM, 1, { "RestrictNamespaces=" } },
        { "a profile of the administrator's",
          { PLAIN, .apparmor_confined = true },
          EACCES,
          1,
          { "/proc/self/attr" } },
        { "unshare -U", { PLAIN, .ids_mapped = false, .nested = true }, EPERM, 1, { "unshare -Ur" } },
        { "inside a Cay sandbox",
          { PLAIN, .in_cay = true, .seccomp = true, .nested = true, .container = SYS_CONTAINER_DOCKER },
          EPERM,
          1,
          { "sandboxes do not nest" } },
        { "chroot", { PLAIN, .chroot = true }, EPERM, 1, { "chroot", "systemd-nspawn" } },
        { "a chroot is no reason for a full table", { PLAIN, .chroot = true }, ENOSPC, 1, { "too many" } },
        { "a kernel without them", { PLAIN, .has_userns = false }, EINVAL, 1, { "CONFIG_USER_NS=y" } },
        { "an old kernel", { PLAIN }, ENOSYS, 1, { "newer" } },
        { "WSL 1", { PLAIN, .wsl1 = true, .has_userns = false }, EINVAL, 1, { "wsl --set-version" } },
        { "ulimit -u", { PLAIN }, EAGAIN, 1, { "ulimit -u" } },
        { "memory", { PLAIN }, ENOMEM, 0, { "Cannot allocate memory" } },
};

static void test_userns(void **state)
{
        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                char text[SYS_WHY_SIZE + 100];
                int known = sys_userns_why_from(&rows[i].facts, -rows[i].e, text, sizeof(text));

                if (known != rows[i].known || strlen(text) >= SYS_WHY_SIZE)
                        fail_msg("%s: known %d: %s", rows[i].name, known, text);
                for (unsigned j = 0; j < 3 && rows[i].says[j] != NULL; j++)
                        if (strstr(text, rows[i].says[j]) == NULL)
                                fail_msg("%s: no '%s' in: %s", rows[i].name, rows[i].says[j], text);
        }
}

static void test_short_buffer(void **state)
{
        struct sys_userns_facts facts = { PLAIN };
        char text[8] = "xxxxxxx";

        sys_userns_why_from(&facts, -ENOSPC, text, sizeof(text));
        assert_string_equal(text, "too man");
}

static const char plain_mounts[] =
        "22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw\n"
        "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
        "33 22 0:30 / /proc/sys/fs/binfmt_misc rw,relatime - autofs systemd-1 rw\n";
static const char docker_mounts[] = "812 739 0:60 / / rw,relatime - overlay overlay rw,lowerdir=/a:/b\n"
                                    "813 812 0:64 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw\n"
                                    "761 813 0:64 /bus /proc/bus ro,nosuid,relatime - proc proc rw\n"
                                    "765 813 0:69 / /proc/acpi ro,relatime - tmpfs tmpfs ro\n";
static const char covered_one[] =
        "22 27 0:21 / /proc rw - proc proc rw\n27 1 254:0 / / rw - ext4 /dev/vda rw\n"
        "40 22 0:40 / /proc/cmdline ro - tmpfs tmpfs ro\n";
static const char bare_mounts[] = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n";

static const struct {
        const char *name, *mounts;
        struct sys_userns_facts facts;
        int e, known;
        const char *says[2];
} proc_rows[] = {
        { "Docker",
          docker_mounts,
          { PLAIN, .container = SYS_CONTAINER_DOCKER },
          EPERM,
          1,
          { "/proc/bus and more", "--security-opt systempaths=unconfined" } },
        { "podman",
          docker_mounts,
          { PLAIN, .container = SYS_CONTAINER_PODMAN },
          EPERM,
          1,
          { "--security-opt unmask=ALL" } },
        { "Kubernetes",
          docker_mounts,
          { PLAIN, .container = SYS_CONTAINER_OTHER },
          EPERM,
          1,
          { "procMount" } },
        { "somebody's mount", covered_one, { PLAIN }, EPERM, 1, { "(/proc/cmdline)", "unmount" } },
        { "no /proc at all", bare_mounts, { PLAIN }, EPERM, 1, { "no whole /proc" } },
        { "nothing special", plain_mounts, { PLAIN }, EPERM, 0, { "Operation not permitted" } },
        { "another failure", docker_mounts, { PLAIN }, ENODEV, 0, { "No such device" } },
        { "Ubuntu",
          plain_mounts,
          { PLAIN, .apparmor_userns = 1, .nested = true },
          EACCES,
          1,
          { "apparmor_restrict_unprivileged_userns=0" } },
        { "Docker on Ubuntu",
          plain_mounts,
          { PLAIN, .apparmor_confined = true, .container = SYS_CONTAINER_DOCKER },
          EACCES,
          1,
          { "apparmor=unconfined" } },
        { "Cay", docker_mounts, { PLAIN, .in_cay = true }, EPERM, 1, { "do not nest" } },
};

static void test_proc(void **state)
{
        for (unsigned i = 0; i < CAY_COUNT(proc_rows); i++) {
                char text[SYS_WHY_SIZE + 100];
                int known = sys_proc_why_from(&proc_rows[i].facts, proc_rows[i].mounts, -proc_rows[i].e, text,
                                              sizeof(text));

                if (known != proc_rows[i].known || strlen(text) >= SYS_WHY_SIZE)
                        fail_msg("%s: known %d: %s", proc_rows[i].name, known, text);
                for (unsigned j = 0; j < 2 && proc_rows[i].says[j] != NULL; j++)
                        if (strstr(text, proc_rows[i].says[j]) == NULL)
                                fail_msg("%s: no '%s' in: %s", proc_rows[i].name, proc_rows[i].says[j], text);
        }
}

/* The real thing: a namespace that has no map, and what the kernel and we say about making another. */
static void without_map(void)
{
        char text[SYS_WHY_SIZE];

        check(unshare(CLONE_NEWUSER) == 0);
        check(unshare(CLONE_NEWUSER) < 0);
        check(sys_userns_why(-errno, text, sizeof(text)) == 1);
        check(strstr(text, "unshare -Ur") != NULL);
}

static void test_without_map(void **state)
{
        need_root();
        in_child(without_map);
}

static void in_chroot(void)
{
        char text[SYS_WHY_SIZE];

        enter_mount_namespace();
        check(mount("tmpfs", "/mnt", "tmpfs", 0, NULL) == 0);
        check(mkdir("/mnt/tree", 0755) == 0 && mkdir("/mnt/tree/proc", 0755) == 0);
        check(mount("proc", "/mnt/tree/proc", "proc", 0, NULL) == 0);
        check(chroot("/mnt/tree") == 0 && chdir("/") == 0);
        check(unshare(CLONE_NEWUSER) < 0);
        check(sys_userns_why(-errno, text, sizeof(text)) == 1);
        check(strstr(text, "this is a chroot") != NULL);
}

static void test_chroot(void **state)
{
        need_root();
        in_child(in_chroot);
}

/*
 * Covers one file of /proc and asks for a fresh one in namespaces of its own, as a container's guest would.
 */
static void covered_proc(void)
{
        char text[SYS_WHY_SIZE];
        int status;

        enter_mount_namespace();
        check(mount("/dev/null", "/proc/version", NULL, MS_BIND, NULL) == 0);
        check(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) == 0);
        if (fork() == 0) {
                check(mount("proc", "/proc", "proc", 0, NULL) < 0 && errno == EPERM);
                check(sys_proc_why(-errno, text, sizeof(text)) == 1);
                check(strstr(text, "/proc/version") != NULL);
                _exit(0);
        }
        check(wait(&status) > 0 && status == 0);
}

static void test_covered_proc(void **state)
{
        need_root();
        in_child(covered_proc);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_userns), cmocka_unit_test(test_short_buffer),
                cmocka_unit_test(test_proc),   cmocka_unit_test(test_without_map),
                cmocka_unit_test(test_chroot), cmocka_unit_test(test_covered_proc),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
