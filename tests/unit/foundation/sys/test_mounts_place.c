/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts made at their place: by the mount API, without mount_setattr, and by mount(2) alone; as root and as
 * an ordinary user with a user namespace. Each test is a row of `cases`, run in each of these ways, in a
 * mount namespace of its own.
 */
#include "sys_test.h"

#include <sys/prctl.h>
#include <sys/statvfs.h>

#include "foundation/base/cleanup.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/mounts.h"
#include "foundation/sys/mounts_below.h"
#include "tools/old_kernel.h"

#define ALL (SYS_MOUNT_RDONLY | SYS_MOUNT_NOSUID | SYS_MOUNT_NODEV | SYS_MOUNT_NOEXEC)
#define ST_ALL (ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC)

static bool has_flags(int fd, unsigned long flags)
{
        struct statvfs st;

        check(fstatvfs(fd, &st) == 0);
        return (st.f_flag & ST_ALL) == flags;
}

/* Of ours: those of the machine can go while we look, also from a namespace of our own. */
static unsigned count_mounts(void)
{
        static char text[1 << 20];
        unsigned count = 0;

        check(sys_read_file(AT_FDCWD, "/proc/self/mountinfo", text, sizeof(text)) > 0);
        for (const char *at = text; (at = strstr(at, " /mnt")) != NULL; at++)
                count++;
        return count;
}

/* A tmpfs at /mnt to work in: its root. */
static int ground(void)
{
        int fd = sys_mount_place_new("tmpfs", NULL, 0, AT_FDCWD, "/mnt");

        check(fd >= 0);
        return fd;
}

static int dir_in(int dirfd, const char *name)
{
        check(mkdirat(dirfd, name, 0755) == 0);
        return sys_open_at(dirfd, name, O_PATH | O_DIRECTORY, 0);
}

static int tmpfs_at(int dirfd, const char *name)
{
        int fd;

        check(mkdirat(dirfd, name, 0755) == 0 || errno == EEXIST);
        fd = sys_mount_place_new("tmpfs", NULL, 0, dirfd, name);
        check(fd >= 0);
        return fd;
}

static bool can_make(int dirfd, const char *name)
{
        int r = sys_make_file(dirfd, name, 0644, "", 0);

        check(r == 0 || r == -EROFS);
        return r == 0;
}

static void new_is_as_asked(void)
{
        static const char *const options[] = { "mode=0750", "size=1m", "nr_inodes=10", NULL };
        int fd = sys_mount_place_new("tmpfs", options, SYS_MOUNT_SAFE | SYS_MOUNT_NOEXEC, AT_FDCWD, "/mnt"),
            sub;
        struct statvfs fs;
        struct stat st;

        check(fd >= 0);
        check(fcntl(fd, F_GETFD) == FD_CLOEXEC);
        check(fstatvfs(fd, &fs) == 0 && fs.f_blocks * fs.f_frsize == 1 << 20 && fs.f_files == 10);
        check(has_flags(fd, ST_NOSUID | ST_NODEV | ST_NOEXEC));
        check(stat("/mnt", &st) == 0 && (st.st_mode & 07777) == 0750);
        check(can_make(fd, "x") && access("/mnt/x", F_OK) == 0);
        /* "": the descriptor's own place, whatever its name. */
        sub = dir_in(fd, "a b\\040 (deleted)");
        sub = sys_mount_place_new("tmpfs", NULL, SYS_MOUNT_RDONLY, sub, "");
        check(sub >= 0 && has_flags(sub, ST_RDONLY) && !can_make(sub, "x"));
        check(faccessat(fd, "a b\\040 (deleted)/x", F_OK, 0) < 0);
        /* On top of another. */
        sub = sys_mount_place_new("tmpfs", NULL, 0, AT_FDCWD, "/mnt");
        check(sub >= 0 && access("/mnt/x", F_OK) < 0 && can_make(sub, "y") && access("/mnt/y", F_OK) == 0);
}

static void new_is_refused(void)
{
        static const char *const unknown[] = { "nonsense=1", NULL }, *const bad[] = { "size=never", NULL };
        static const char *const two[] = { "size=1m,mode=0777", NULL };
        int at = ground(), dir;
        unsigned fds, mounts;

        dir = dir_in(at, "sub");
        check(symlinkat("sub", at, "link") == 0 && sys_make_file(at, "file", 0644, "", 0) == 0);
        fds = count_fds();
        mounts = count_mounts();
        check(sys_mount_place_new("no-such-fs", NULL, 0, at, "sub") == -ENODEV);
        check(sys_mount_place_new("tmpfs", unknown, 0, at, "sub") == -EINVAL);
        check(sys_mount_place_new("tmpfs", bad, 0, at, "sub") == -EINVAL);
        check(sys_mount_place_new("tmpfs", two, 0, at, "sub") < 0); /* a comma makes no second option */
        check(sys_mount_place_new("tmpfs", NULL, 0, at, "link") < 0);
        check(sys_mount_place_new("tmpfs", NULL, 0, at, "file") < 0);
        check(sys_mount_place_new("tmpfs", NULL, 0, at, "missing") == -ENOENT);
        check(sys_mount_place_new("tmpfs", NULL, 0, at, "missing/sub") == -ENOENT);
        check(unlinkat(at, "sub", AT_REMOVEDIR) == 0);
        check(sys_mount_place_new("tmpfs", NULL, 0, dir, "") < 0); /* gone */
        check(count_fds() == fds && count_mounts() == mounts);
}

/* The tree that copies are made of: a, with a/b below, "c d", and e, which is covered by a second mount. */
static int tree(int at)
{
        int src = tmpfs_at(at, "src"), a;

        a = tmpfs_at(src, "a");
        check(can_make(tmpfs_at(a, "b"), "in-b"));
        check(can_make(tmpfs_at(src, "c d"), "in-cd"));
        check(can_make(tmpfs_at(src, "e"), "below"));
        check(can_make(tmpfs_at(src, "e"), "above"));
        return src;
}

static const char *const places[] = { "", "a", "a/b", "c d", "e" };

static void deep_copy_is_deep(void)
{
        int at = ground(), src = tree(at), dst, sub;
        unsigned fds, mounts = count_mounts();

        check(mkdirat(at, "dst", 0755) == 0);
        fds = count_fds();
        dst = sys_mount_place_copy(at, "src", true, ALL, at, "dst");
        check(dst >= 0 && fcntl(dst, F_GETFD) == FD_CLOEXEC);
        check(count_fds() == fds + 1 && count_mounts() == mounts + 6);
        check(faccessat(dst, "a/b/in-b", F_OK, 0) == 0 && faccessat(dst, "c d/in-cd", F_OK, 0) == 0);
        check(faccessat(dst, "e/above", F_OK, 0) == 0);
        for (unsigned i = 0; i < CAY_COUNT(places); i++) {
                int copy = sys_open_at(dst, *places[i] ? places[i] : ".", O_PATH, 0);
                int origin = sys_open_at(src, *places[i] ? places[i] : ".", O_PATH, 0);

                check(copy >= 0 && has_flags(copy, ST_ALL) && !can_make(copy, "new"));
                check(origin >= 0 && has_flags(origin, 0) && can_make(origin, "new"));
                check(faccessat(copy, "new", F_OK, 0) == 0); /* the same file system */
        }
        /* A copy of a copy, by descriptor, keeps what it has and gets no more. */
        sub = dir_in(at, "again");
        sub = sys_mount_place_copy(dst, "", true, 0, sub, "");
        check(sub >= 0 && has_flags(sub, ST_ALL) && faccessat(sub, "a/b/in-b", F_OK, 0) == 0);
}

static void flat_copy_is_flat(void)
{
        int at = ground(), src = tree(at), dst, file;

        check(mkdirat(at, "dst", 0755) == 0);
        dst = sys_mount_place_copy(src, "", false, SYS_MOUNT_RDONLY, at, "dst");
        check(dst >= 0 && has_flags(dst, ST_RDONLY) && !can_make(dst, "x"));
        check(faccessat(dst, "a", F_OK, 0) == 0 && faccessat(dst, "a/b", F_OK, 0) < 0);
        check(can_make(src, "x"));
        /* A single file, by name and by descriptor. */
        check(sys_make_file(at, "one", 0644, "1", 1) == 0 && sys_make_file(at, "two", 0644, "2", 1) == 0);
        file = sys_mount_place_copy(at, "one", false, SYS_MOUNT_RDONLY, at, "two");
        check(file >= 0 && sys_write_file(at, "two", "3") == -EROFS && sys_write_file(at, "one", "3") == 0);
        check(sys_make_file(at, "four", 0644, "", 0) == 0);
        file = sys_mount_place_copy(sys_open_at(at, "one", O_PATH, 0), "", false, ALL,
                                    sys_open_at(at, "four", O_PATH, 0), "");
        check(file >= 0 && has_flags(file, ST_ALL) && sys_write_file(at, "four", "3") == -EROFS);
}

static void copy_is_refused(void)
{
        int at = ground(), src = tree(at);
        unsigned fds, mounts;

        check(mkdirat(at, "sub", 0755) == 0 && symlinkat("sub", at, "link") == 0);
        check(sys_make_file(at, "file", 0644, "", 0) == 0);
        fds = count_fds();
        mounts = count_mounts();
        check(sys_mount_place_copy(at, "missing", true, ALL, at, "sub") == -ENOENT);
        check(sys_mount_place_copy(src, "", true, ALL, at, "missing") == -ENOENT);
        check(sys_mount_place_copy(src, "", true, ALL, at, "link") < 0);
        check(sys_mount_place_copy(src, "", true, ALL, at, "file") < 0);
        check(sys_mount_place_copy(at, "file", false, ALL, at, "sub") < 0);
        check(sys_mount_place_copy(src, "", true, 1u << 30, at, "sub") ==
              -EINVAL); /* no such attribute: and none is there */
        check(count_fds() == fds && count_mounts() == mounts);
}

/* Attributes that are not asked for stay: those that can be asked for, and how access times are kept. */
static void attributes_stay(void)
{
        static const char relatime[] = " /mnt/dst rw,nosuid,noexec,noatime ";
        static char text[1 << 18];
        int at = ground(), src = dir_in(at, "src"), dst;

        check(mkdirat(at, "dst", 0755) == 0);
        check(mount("x", "/mnt/src", "tmpfs", MS_NOSUID | MS_NOEXEC | MS_NOATIME, NULL) == 0);
        close(src);
        dst = sys_mount_place_copy(at, "src", false, 0, at, "dst");
        check(sys_read_file(AT_FDCWD, "/proc/self/mountinfo", text, sizeof(text)) > 0);
        check(strstr(text, relatime) != NULL);
        check(sys_mount_change(dst, "", SYS_MOUNT_NODEV) == 0);
        check(has_flags(dst, ST_NOSUID | ST_NOEXEC | ST_NODEV));
        check(sys_mount_change(at, "dst", SYS_MOUNT_RDONLY) == 0);
        check(has_flags(dst, ST_ALL) && !can_make(dst, "x"));
        check(sys_read_file(AT_FDCWD, "/proc/self/mountinfo", text, sizeof(text)) > 0);
        check(strstr(text, " /mnt/dst ro,nosuid,nodev,noexec,noatime ") != NULL);
        check(strstr(text, " /mnt/src rw,nosuid,noexec,noatime ") != NULL);
        check(sys_mount_change(at, "missing", SYS_MOUNT_RDONLY) == -ENOENT);
        check(mkdirat(at, "plain", 0755) == 0);
        check(sys_mount_change(at, "plain", SYS_MOUNT_RDONLY) == -EINVAL); /* not a mount */
}

/* A user namespace, in which we are root. */
static void enter_user_namespace(void)
{
        char uids[32], gids[32];

        snprintf(uids, sizeof(uids), "0 %u 1", geteuid());
        snprintf(gids, sizeof(gids), "0 %u 1", getegid());
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
                skip_child("user namespaces are not for us here");
        check(sys_write_file(AT_FDCWD, "/proc/self/uid_map", uids) == 0);
        check(sys_write_file(AT_FDCWD, "/proc/self/setgroups", "deny") == 0);
        check(sys_write_file(AT_FDCWD, "/proc/self/gid_map", gids) == 0);
}

static void become_user(void)
{
        if (geteuid() == 0) {
                check(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
                check(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0); /* else its files in /proc are root's */
        }
        enter_user_namespace();
}

/* The host's own mounts, which come only with what is below them. */
static void host_is_copied(void)
{
        int at = ground(), usr, proc;
        struct statvfs st;

        check(statvfs("/proc", &st) == 0);
        check(mkdirat(at, "usr", 0755) == 0 && mkdirat(at, "proc", 0755) == 0);
        usr = sys_mount_place_copy(AT_FDCWD, "/usr", true, SYS_MOUNT_SAFE | SYS_MOUNT_RDONLY, at, "usr");
        check(usr >= 0 && faccessat(usr, "bin/env", F_OK, 0) == 0);
        check(mkdirat(usr, "cay-test", 0755) < 0 && errno == EROFS);
        proc = sys_mount_place_copy(AT_FDCWD, "/proc", true, SYS_MOUNT_RDONLY, at, "proc");
        check(proc >= 0 && has_flags(proc, (st.f_flag & ST_ALL) | ST_RDONLY));
        check(sys_write_file(proc, "self/comm", "x") == -EROFS);
}

/* What a mount has is locked for a user namespace that got it: it can be added to, never left out. */
static void locked_is_kept(void)
{
        int at, fd;

        check(mount("x", "/mnt", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME, NULL) == 0);
        check(mkdir("/mnt/here", 0755) == 0 && mkdir("/mnt/sub", 0755) == 0);
        check(mount("y", "/mnt/sub", "tmpfs", MS_NOSUID | MS_NODEV, NULL) == 0);
        enter_user_namespace();
        at = sys_open_at(AT_FDCWD, "/mnt", O_PATH, 0);
        check(mount(NULL, "/mnt", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0 && errno == EPERM);
        check(sys_mount_place_copy(at, "", false, SYS_MOUNT_RDONLY, at, "here") ==
              -EINVAL); /* sub hides something */
        fd = sys_mount_place_copy(at, "", true, SYS_MOUNT_RDONLY, at, "here");
        check(fd >= 0 && has_flags(fd, ST_ALL));
        fd = sys_open_at(fd, "sub", O_PATH, 0);
        check(fd >= 0 && has_flags(fd, ST_NOSUID | ST_NODEV | ST_RDONLY) && !can_make(fd, "x"));
        check(sys_mount_change(at, "sub", SYS_MOUNT_NOEXEC) == 0);
        fd = sys_open_at(at, "sub", O_PATH, 0);
        check(has_flags(fd, ST_NOSUID | ST_NODEV | ST_NOEXEC));
}

static int count_one(int fd, void *count)
{
        check(sys_mount_id(fd) > 0);
        ++*(unsigned *)count;
        return 0;
}

static int stop_at_once(int fd, void *count)
{
        ++*(unsigned *)count;
        return -ECANCELED;
}

static void below_are_found(void)
{
        int at = ground(), src = tree(at);
        unsigned count = 0;

        check(sys_mounts_below(src, count_one, &count) == 0 && count == 4); /* without the covered one */
        count = 0;
        check(sys_mounts_below(at, count_one, &count) == 0 && count == 5);
        count = 0;
        check(sys_mounts_below(src, stop_at_once, &count) == -ECANCELED && count == 1);
        /* All of it is covered by one more, which alone can be reached. */
        tmpfs_at(at, "src");
        count = 0;
        check(sys_mounts_below(src, count_one, &count) == 0 && count == 1);
        check(sys_mounts_below(-1, count_one, &count) == -ENOENT);
}

static const struct {
        const char *name;
        void (*run)(void);
} cases[] = {
        { "new_is_as_asked", new_is_as_asked },     { "new_is_refused", new_is_refused },
        { "deep_copy_is_deep", deep_copy_is_deep }, { "flat_copy_is_flat", flat_copy_is_flat },
        { "copy_is_refused", copy_is_refused },     { "attributes_stay", attributes_stay },
        { "host_is_copied", host_is_copied },       { "locked_is_kept", locked_is_kept },
        { "below_are_found", below_are_found },
};

static const char *blocked; /* of the way that is being tested; NULL: nothing */
static bool is_user;
static unsigned case_nr;

static void run_case(void)
{
        fprintf(stderr, "%s, %s, without %s\n", cases[case_nr].name, is_user ? "user" : "root",
                blocked ? blocked : "nothing");
        if (blocked)
                check(old_kernel_block(blocked) == 0 && old_kernel_lacks(blocked));
        if (is_user)
                become_user();
        else
                enter_mount_namespace();
        check(sys_mount_has_api() == !(blocked && strcmp(blocked, "mount_api") == 0));
        cases[case_nr].run();
}

static void run_cases(const char *block, bool user)
{
        if (!user)
                need_root();
        blocked = block;
        is_user = user;
        for (case_nr = 0; case_nr < CAY_COUNT(cases); case_nr++)
                in_child(run_case);
}

static void test_root(void **state)
{
        run_cases(NULL, false);
}

static void test_root_no_setattr(void **state)
{
        run_cases("mount_setattr", false);
}

static void test_root_no_api(void **state)
{
        run_cases("mount_api", false);
}

static void test_user(void **state)
{
        run_cases(NULL, true);
}

static void test_user_no_setattr(void **state)
{
        run_cases("mount_setattr", true);
}

static void test_user_no_api(void **state)
{
        run_cases("mount_api", true);
}

/* One call of the API missing is as good as all. */
static void one_missing(void)
{
        static const char *const calls[] = { "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount" };

        for (unsigned i = 0; i < CAY_COUNT(calls); i++) {
                int status;
                pid_t pid = fork();

                if (pid == 0) {
                        check(old_kernel_block(calls[i]) == 0);
                        enter_mount_namespace();
                        check(!sys_mount_has_api());
                        check(sys_mount_new("tmpfs", NULL, 0) == -ENOSYS ||
                              strcmp(calls[i], "open_tree") == 0 || strcmp(calls[i], "move_mount") == 0);
                        deep_copy_is_deep();
                        _exit(0);
                }
                check(waitpid(pid, &status, 0) == pid && status == 0);
        }
}

static void test_one_missing(void **state)
{
        need_root();
        in_child(one_missing);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_root),
                cmocka_unit_test(test_root_no_setattr),
                cmocka_unit_test(test_root_no_api),
                cmocka_unit_test(test_user),
                cmocka_unit_test(test_user_no_setattr),
                cmocka_unit_test(test_user_no_api),
                cmocka_unit_test(test_one_missing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
