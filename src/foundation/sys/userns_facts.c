/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about us and user namespaces (userns_facts.h). */
#include "foundation/sys/userns_facts.h"

#include <stdint.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "foundation/sys/caps.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/mountinfo.h"

bool sys_userns_map_has(const char *map, unsigned long id)
{
        unsigned long inside, outside, count;
        int used;

        while (sscanf(map, "%lu %lu %lu%n", &inside, &outside, &count, &used) == 3) {
                if (id >= inside && id - inside < count)
                        return true;
                map += used;
        }
        return false;
}

bool sys_userns_map_is_first(const char *map)
{
        unsigned long inside, outside, count;

        return sscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3 && inside == 0 && outside == 0 &&
               count == UINT32_MAX;
}

static long read_number(const char *path)
{
        char text[32], *end;
        long v;

        if (sys_read_file(AT_FDCWD, path, text, sizeof(text)) <= 0)
                return -1;
        v = strtol(text, &end, 10);
        return end != text && v >= 0 ? v : -1;
}

static bool starts(const char *path, const char *prefix)
{
        char text[128];
        ssize_t n = sys_read_file(AT_FDCWD, path, text, sizeof(text));

        return n > 0 && strncmp(text, prefix, strlen(prefix)) == 0;
}

/* An unmapped id reads as 65534, which has no name either unless the map contains it. */
static void collect_ids(struct sys_userns_facts *f)
{
        char uids[1024], gids[1024];

        f->ids_mapped = true;
        if (sys_read_file(AT_FDCWD, "/proc/self/uid_map", uids, sizeof(uids)) < 0 ||
            sys_read_file(AT_FDCWD, "/proc/self/gid_map", gids, sizeof(gids)) < 0)
                return;
        f->ids_mapped = sys_userns_map_has(uids, geteuid()) && sys_userns_map_has(gids, getegid());
        f->nested = !sys_userns_map_is_first(uids);
}

static bool is_same_place(const char *a, const char *b)
{
        struct stat x, y;

        return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/*
 * A root that is a mount may still be a chroot. Compare with process 1, if it is accessible and shares our
 * mounts.
 */
static bool is_chrooted(const char *mountinfo)
{
        struct stat st;

        if (mountinfo[0] != '\0' && !sys_mountinfo_has_root(mountinfo))
                return true;
        return is_same_place("/proc/self/ns/mnt", "/proc/1/ns/mnt") && stat("/proc/1/root/", &st) == 0 &&
               !is_same_place("/", "/proc/1/root/");
}

static bool is_filtered_now(void)
{
        char status[4096];
        const char *line;

        if (sys_read_file(AT_FDCWD, "/proc/self/status", status, sizeof(status)) < 0)
                return false;
        line = strstr(status, "\nSeccomp:");
        return line != NULL && strtol(line + 9, NULL, 10) == 2;
}

/* "docker-default (enforce)"; "unconfined" and SELinux labels (with colons) are not profiles. */
static bool is_confined_now(void)
{
        char label[256];

        if (sys_read_file(AT_FDCWD, "/proc/self/attr/apparmor/current", label, sizeof(label)) < 0 &&
            sys_read_file(AT_FDCWD, "/proc/self/attr/current", label, sizeof(label)) < 0)
                return false;
        return strstr(label, "(enforce)") != NULL;
}

static enum sys_container find_container(void)
{
        const char *word = getenv("container"); /* set by podman, systemd-nspawn, lxc */

        if (access("/run/.containerenv", F_OK) == 0 || (word != NULL && strcmp(word, "podman") == 0))
                return SYS_CONTAINER_PODMAN;
        if (access("/.dockerenv", F_OK) == 0)
                return SYS_CONTAINER_DOCKER;
        return word != NULL || getenv("KUBERNETES_SERVICE_HOST") != NULL ? SYS_CONTAINER_OTHER
                                                                         : SYS_CONTAINER_NONE;
}

static bool is_wsl1_now(void)
{
        struct utsname u;

        return uname(&u) == 0 && strstr(u.release, "-Microsoft") != NULL; /* WSL 2 writes it small */
}

void sys_userns_facts_collect(struct sys_userns_facts *ret)
{
        char mountinfo[SYS_MOUNTINFO_MAX];
        uint64_t effective = 0, permitted, inheritable;

        sys_mountinfo_read(mountinfo, sizeof(mountinfo));
        *ret = (struct sys_userns_facts){
                .unprivileged_clone = (int)read_number("/proc/sys/kernel/unprivileged_userns_clone"),
                .max_namespaces = read_number("/proc/sys/user/max_user_namespaces"),
                .apparmor_userns = (int)read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
                .apparmor_unconfined =
                        (int)read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_unconfined"),
                .selinux = (int)read_number("/sys/fs/selinux/enforce"),
                .has_userns = access("/proc/self/ns/user", F_OK) == 0 || access("/proc/self/ns", F_OK) < 0,
                .in_cay = starts("/proc/1/comm", "cay-init\n"),
                .seccomp = is_filtered_now(),
                .chroot = is_chrooted(mountinfo),
                .wsl1 = is_wsl1_now(),
                .apparmor_confined = is_confined_now(),
                .container = find_container(),
        };
        if (sys_caps_get(&effective, &permitted, &inheritable) == 0)
                ret->privileged = (effective & SYS_CAP(CAP_SYS_ADMIN)) != 0;
        collect_ids(ret);
}
