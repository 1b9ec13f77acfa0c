/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts by descriptor, each in a mount namespace that goes with its process. */
#include "sys_test.h"

#include <sys/statvfs.h>
#include <sys/vfs.h>

#include "foundation/base/cleanup.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/idmap.h"
#include "foundation/sys/mounts.h"
#include "tools/old_kernel.h"

static bool is_at_root(const char *path)
{
        static char text[1 << 20];
        char word[64];

        snprintf(word, sizeof(word), " %s ", path);
        check(sys_read_file(AT_FDCWD, "/proc/self/mountinfo", text, sizeof(text)) > 0);
        return strstr(text, word) != NULL;
}

static int new_tmpfs(void)
{
        static const char *const options[] = { "mode=0750", "size=1m", "nr_inodes=10", NULL };
        int fd = sys_mount_new("tmpfs", options, SYS_MOUNT_SAFE | SYS_MOUNT_NOEXEC);

        check(fd >= 0);
        check(fcntl(fd, F_GETFD) == FD_CLOEXEC);
        return fd;
}

static void made_detached(void)
{
        int fd = new_tmpfs();
        struct statvfs st;
        struct stat file;

        check(!is_at_root("/mnt"));
        check(fstatvfs(fd, &st) == 0 && st.f_blocks * st.f_frsize == 1 << 20 && st.f_files == 10);
        check((st.f_flag & (ST_NOSUID | ST_NODEV | ST_NOEXEC)) == (ST_NOSUID | ST_NODEV | ST_NOEXEC));
        check(fstat(fd, &file) == 0 && (file.st_mode & 07777) == 0750);
        check(sys_make_file(fd, "x", 0644, "y", 1) == 0);
}

static void refused(void)
{
        static const char *const unknown[] = { "nonsense=1", NULL };
        static const char *const bad[] = { "size=never", NULL };
        static const char *const flag[] = { "nonsense", NULL };
        char longer[200];
        const char *const too_long[] = { longer, NULL };
        unsigned before = count_fds();

        memset(longer, 'k', sizeof(longer));
        longer[150] = '=';
        longer[199] = 0;
        check(sys_mount_new("no-such-fs", NULL, 0) == -ENODEV);
        check(sys_mount_new("tmpfs", unknown, 0) == -EINVAL);
        check(sys_mount_new("tmpfs", bad, 0) == -EINVAL);
        check(sys_mount_new("tmpfs", flag, 0) == -EINVAL);
        check(sys_mount_new("tmpfs", too_long, 0) == -ENAMETOOLONG);
        check(sys_mount_copy(AT_FDCWD, "/no/such/place", 0) == -ENOENT);
        check(count_fds() == before);
}

static void attached(void)
{
        int fd = new_tmpfs(), inner = new_tmpfs(), dir;

        enter_mount_namespace();
        dir = open("/mnt", O_PATH | O_DIRECTORY);
        check(sys_mount_attach(fd, AT_FDCWD, "/mnt") == 0);
        check(is_at_root("/mnt"));
        check(mkdirat(fd, "sub", 0755) == 0);
        check(symlinkat("sub", fd, "link") == 0);
        /* A link at the target is not followed: it is not a place to mount on. */
        check(sys_mount_attach(inner, fd, "link") < 0);
        check(!is_at_root("/mnt/sub"));
        check(sys_mount_attach(inner, fd, "missing") == -ENOENT);
        close(dir);
        dir = openat(fd, "sub", O_PATH | O_DIRECTORY);
        check(dir >= 0);
        check(sys_mount_attach(inner, dir, "") == 0); /* "": the descriptor's own place */
        check(is_at_root("/mnt/sub"));
        check(sys_mount_attach(inner, dir, "") < 0); /* attached once */
}

static void copied(void)
{
        int fd = new_tmpfs(), inner = new_tmpfs(), copy, file;
        struct statvfs st;

        enter_mount_namespace();
        check(sys_mount_attach(fd, AT_FDCWD, "/mnt") == 0);
        check(mkdirat(fd, "sub", 0755) == 0 && sys_make_file(fd, "sub/below", 0644, "b", 1) == 0);
        check(sys_mount_attach(inner, fd, "sub") == 0);
        check(sys_make_file(inner, "above", 0644, "a", 1) == 0);
        copy = sys_mount_copy(fd, "", SYS_MOUNT_RDONLY);
        check(copy >= 0);
        /* Not with what is mounted below: that of the one mount shows. */
        check(faccessat(copy, "sub/below", F_OK, 0) == 0 && faccessat(copy, "sub/above", F_OK, 0) < 0);
        check(sys_make_file(copy, "new", 0644, "x", 1) == -EROFS);
        check(sys_make_file(fd, "new", 0644, "x", 1) == 0); /* the original stays as it was */
        check(faccessat(copy, "new", F_OK, 0) == 0);
        check(fstatvfs(copy, &st) == 0 && (st.f_flag & (ST_RDONLY | ST_NOSUID)) == (ST_RDONLY | ST_NOSUID));
        /* A single file is a place too. */
        file = sys_mount_copy(fd, "new", SYS_MOUNT_RDONLY);
        check(file >= 0);
        check(sys_make_file(fd, "target", 0644, "", 0) == 0);
        check(sys_mount_attach(file, fd, "target") == 0);
        check(sys_write_file(fd, "target", "z") == -EROFS);
}

static void changed(void)
{
        int fd = new_tmpfs();
        struct statvfs st;

        enter_mount_namespace();
        check(sys_mount_attach(fd, AT_FDCWD, "/mnt") == 0);
        check(sys_mount_change(AT_FDCWD, "/mnt", SYS_MOUNT_RDONLY) == 0);
        check(statvfs("/mnt", &st) == 0 && st.f_flag & ST_RDONLY && st.f_flag & ST_NOEXEC);
        check(sys_mount_change(fd, "", SYS_MOUNT_NODEV) == 0);
        check(sys_mount_change(AT_FDCWD, "/no/such/place", SYS_MOUNT_RDONLY) == -ENOENT);
        check(sys_mount_change(AT_FDCWD, "/usr/bin", SYS_MOUNT_RDONLY) == -EINVAL); /* not a mount */
}

static void idmapped(void)
{
        struct sys_idmap map = { 0, 700000, 1000 };
        int fd = new_tmpfs(), userns = sys_idmap_namespace(&map, &map), copy, plain = 0;
        struct stat st;

        check(userns >= 0);
        check(sys_make_file(fd, "root", 0644, "", 0) == 0);
        check(sys_make_file(fd, "user", 0644, "", 0) == 0 && fchownat(fd, "user", 33, 34, 0) == 0);
        check(sys_make_file(fd, "far", 0644, "", 0) == 0 && fchownat(fd, "far", 5000, 5000, 0) == 0);
        enter_mount_namespace(); /* before Linux 6.15 only what is mounted somewhere has copies */
        check(sys_mount_attach(fd, AT_FDCWD, "/mnt") == 0);
        copy = sys_mount_copy_idmapped(fd, "", SYS_MOUNT_SAFE, userns, &plain);
        check(copy >= 0);
        if (plain)
                skip_child("this kernel cannot idmap tmpfs");
        check(fstatat(copy, "root", &st, 0) == 0 && st.st_uid == 700000 && st.st_gid == 700000);
        check(fstatat(copy, "user", &st, 0) == 0 && st.st_uid == 700033 && st.st_gid == 700034);
        check(fstatat(copy, "far", &st, 0) == 0 && st.st_uid == 65534); /* not mapped: nobody's */
        check(fstatat(fd, "root", &st, 0) == 0 && st.st_uid == 0);
}

/* A file system that cannot be idmapped is shown plainly, and that is said. */
static void not_idmappable(void)
{
        struct sys_idmap map = { 0, 700000, 1000 };
        int userns = sys_idmap_namespace(&map, &map), copy, plain = 0;
        struct statfs st;

        check(userns >= 0);
        copy = sys_mount_copy_idmapped(AT_FDCWD, "/proc", SYS_MOUNT_RDONLY, userns, &plain);
        check(copy >= 0 && plain == 1);
        check(fstatfs(copy, &st) == 0 && st.f_flags & ST_RDONLY);
}

/* What is made detached needs the API; what is attached can be changed without. */
static void without_api(void)
{
        int plain = 0;

        check(old_kernel_block("mount_api") == 0 && !sys_mount_has_api());
        check(sys_mount_new("tmpfs", NULL, 0) == -ENOSYS);
        check(sys_mount_copy(AT_FDCWD, "/usr", 0) == -ENOSYS);
        check(sys_mount_copy_idmapped(AT_FDCWD, "/usr", 0, -1, &plain) == -ENOSYS && plain == 0);
        check(sys_mount_attach(0, AT_FDCWD, "/mnt") == -ENOSYS);
        enter_mount_namespace();
        check(mount("x", "/mnt", "tmpfs", MS_NOEXEC, NULL) == 0);
        check(sys_mount_change(AT_FDCWD, "/mnt", SYS_MOUNT_RDONLY) == 0);
        check(mkdir("/mnt/x", 0755) < 0 && errno == EROFS);
}

static void without_setattr(void)
{
        int plain = 0, userns = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);

        check(old_kernel_block("mount_setattr") == 0 && sys_mount_has_api());
        check(sys_mount_copy(AT_FDCWD, "/usr", SYS_MOUNT_RDONLY) ==
              -ENOSYS); /* never without what was asked for */
        check(sys_mount_copy_idmapped(AT_FDCWD, "/usr", 0, userns, &plain) == -ENOSYS && plain == 0);
        check(sys_mount_copy(AT_FDCWD, "/usr", 0) >= 0);
        changed();
}

static void test_without(void **state)
{
        need_root();
        in_child(without_api);
        in_child(without_setattr);
}

static void test_new(void **state)
{
        need_root();
        in_child(made_detached);
}

static void test_refused(void **state)
{
        need_root();
        in_child(refused);
}

static void test_attach(void **state)
{
        need_root();
        in_child(attached);
}

static void test_copy(void **state)
{
        need_root();
        in_child(copied);
}

static void test_change(void **state)
{
        need_root();
        in_child(changed);
}

static void test_idmapped(void **state)
{
        need_root();
        in_child(idmapped);
}

static void test_not_idmappable(void **state)
{
        need_root();
        in_child(not_idmappable);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_new),      cmocka_unit_test(test_refused),
                cmocka_unit_test(test_attach),   cmocka_unit_test(test_copy),
                cmocka_unit_test(test_change),   cmocka_unit_test(test_without),
                cmocka_unit_test(test_idmapped), cmocka_unit_test(test_not_idmappable),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
