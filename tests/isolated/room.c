/* SPDX-License-Identifier: Apache-2.0 */
/* What a test has of its own, besides namespaces: see room.h. */
#include "isolated/room.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "foundation/sys/fd.h"
#include "foundation/sys/loopdev.h"
#include "foundation/sys/mounts.h"

#define DISK_BYTES (32ull << 30) /* sparse: it takes what is written */
#define KEEP_MAX 8
#define SUBID_SIZE (64u << 10)

static _Noreturn void give_up(const char *what)
{
        perror(what);
        exit(1);
}

static void must(int r, const char *what)
{
        if (r < 0)
                give_up(what);
}

static void make_dir(const char *path, mode_t mode)
{
        must(mkdir(path, mode), path);
        must(chmod(path, mode), path);
}

static void make_parents(char *path)
{
        for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
                *at = 0;
                if (mkdir(path, 0755) < 0 && errno != EEXIST)
                        give_up(path);
                *at = '/';
        }
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
                give_up(path);
}

/*
 * The disk, mounted over /tmp for now. Without loop devices it is memory, as it would be for the sandboxes
 * themselves.
 */
static void mount_disk(void)
{
        struct stat st;
        char number[32];

        if (sys_layer_image_can()) {
                int disk = sys_layer_image_place("/var/tmp", DISK_BYTES, 0, 0, AT_FDCWD, "/tmp");

                must(disk, "mount a disk for the test");
                close(disk);
        } else {
                must(mount("none", "/tmp", "tmpfs", 0, NULL), "/tmp");
        }
        must(stat("/tmp", &st), "/tmp");
        snprintf(number, sizeof(number), "%u:%u", major(st.st_dev), minor(st.st_dev));
        setenv(ROOM_DISK, number, 1);
}

/* A name in /var/lib that the machine has already is hidden: the test begins with none. */
static void hide_in_overlay(const char *name)
{
        char lower[PATH_MAX], upper[PATH_MAX];

        snprintf(lower, sizeof(lower), "/var/lib/%s", name);
        snprintf(upper, sizeof(upper), "/tmp/upper/%s", name);
        if (access(lower, F_OK) == 0)
                must(mknod(upper, S_IFCHR, makedev(0, 0)), upper);
}

static void write_subid(const struct test_share *share, const char *path, const char *own)
{
        static char text[SUBID_SIZE];
        ssize_t n = sys_read_file(AT_FDCWD, path, text, sizeof(text) / 2);

        if (n < 0) /* a machine without ranges: nothing to hide, and nowhere to hide it */
                return;
        n += (ssize_t)test_share_reserve(share, text + n, sizeof(text) - (size_t)n);
        must(sys_make_file(AT_FDCWD, own, 0644, text, (size_t)n), own);
        must(mount(own, path, NULL, MS_BIND, NULL), path);
}

static void raise_loopback(void)
{
        struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        must(fd, "socket");
        must(ioctl(fd, SIOCSIFFLAGS, &request), "raise lo");
        close(fd);
}

static int open_kept(const char *path)
{
        int fd = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

        if (path && fd < 0)
                give_up(path);
        return fd;
}

static bool is_for_everybody(const char *path)
{
        char part[PATH_MAX];
        struct stat st;

        snprintf(part, sizeof(part), "%s", path);
        for (char *end = part + strlen(part); end > part; end = strrchr(part, '/')) {
                *end = 0;
                if (part[0] && (stat(part, &st) < 0 || !(st.st_mode & S_IXOTH)))
                        return false;
        }
        return true;
}

/*
 * Where it was, if it lay in a folder that is the test's own now; elsewhere, if not everybody can reach it.
 */
static void show_kept(const char *variable, int fd)
{
        char path[PATH_MAX], from[32];

        if (fd < 0)
                return;
        snprintf(path, sizeof(path), "%s", getenv(variable));
        if (access(path, F_OK) == 0 && !is_for_everybody(path)) {
                snprintf(path, sizeof(path), "/var/tmp/tests/%s", variable);
                setenv(variable, path, 1);
        }
        if (access(path, F_OK) < 0) {
                make_parents(path);
                snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
                must(mount(from, path, NULL, MS_BIND | MS_REC, NULL), path);
        }
        close(fd);
}

void test_room_enter(const struct test_share *share, const char *const *keep)
{
        int kept[KEEP_MAX];
        unsigned count = 0;

        must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "/");
        for (; keep[count] && count < KEEP_MAX; count++)
                kept[count] = open_kept(getenv(keep[count]));
        must(mount("none", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL), "/proc");
        mount_disk();
        make_dir("/tmp/tmp", 01777);
        make_dir("/tmp/var-tmp", 01777);
        make_dir("/tmp/upper", 0755);
        make_dir("/tmp/work", 0755);
        hide_in_overlay("cay");
        hide_in_overlay("cay-process");
        write_subid(share, "/etc/subuid", "/tmp/subuid");
        write_subid(share, "/etc/subgid", "/tmp/subgid");
        must(mount("none", "/var/lib", "overlay", 0,
                   "lowerdir=/var/lib,upperdir=/tmp/upper,workdir=/tmp/work"),
             "/var/lib");
        must(mount("/tmp/var-tmp", "/var/tmp", NULL, MS_BIND, NULL), "/var/tmp");
        must(mount("none", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755"), "/run");
        must(mount("none", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"), "/dev/shm");
        must(mount("/tmp/tmp", "/tmp", NULL, MS_BIND, NULL), "/tmp");
        for (unsigned i = 0; i < count; i++)
                show_kept(keep[i], kept[i]);
        raise_loopback();
}

/* Addresses that are for documentation; both ends of the pair are in here. */
void test_room_add_route(void)
{
        if (system("ip link add net0 type veth peer name net1 && ip address add 192.0.2.2/24 dev net0 && "
                   "ip link set net0 up && ip link set net1 up && ip route add default via 192.0.2.1") != 0)
                give_up("make a route for the test");
}
