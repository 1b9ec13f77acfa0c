/* SPDX-License-Identifier: Apache-2.0 */
/* User namespaces as maps: they say what was asked for, and nobody is left living in them. */
#include "sys_test.h"

#include <sys/prctl.h>

#include "foundation/base/cleanup.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/idmap.h"
#include "foundation/sys/mounts.h"
#include "foundation/sys/syscalls.h"
#include "tools/old_kernel.h"

static bool map_is(pid_t pid, const char *file, unsigned inside, unsigned outside, unsigned count)
{
        unsigned got[3];
        char path[64], text[256], more;

        snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
        check(sys_read_file(AT_FDCWD, path, text, sizeof(text)) > 0);
        return sscanf(text, "%u %u %u %c", &got[0], &got[1], &got[2], &more) == 3 && got[0] == inside &&
               got[1] == outside && got[2] == count;
}

static void written(void)
{
        struct clone_args args = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
        struct sys_idmap uids = { 0, 700000, 65536 }, gids = { 5, 800000, 10 };
        pid_t pid = sys_clone3(&args);
        int r;

        if (pid == 0)
                for (;;)
                        pause();
        check(pid > 0);
        r = sys_idmap_write(pid, &uids, &gids);
        if (r == 0 && (!map_is(pid, "uid_map", 0, 700000, 65536) || !map_is(pid, "gid_map", 5, 800000, 10)))
                r = -EILSEQ;
        if (r == 0 && sys_idmap_write(pid, &uids, &gids) != -EPERM) /* once only */
                r = -EILSEQ;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        check(r == 0);
        check(sys_idmap_write(pid, &uids, &gids) == -ENOENT);
        check(sys_idmap_open(pid) == -ENOENT);
}

static void test_write(void **state)
{
        need_root();
        in_child(written);
}

/* The namespace outlives its process: whoever enters it has the map. */
static void namespace_alone(void)
{
        struct sys_idmap uids = { 1000, 700000, 1 }, gids = { 1001, 700001, 1 };
        unsigned before = count_fds();
        int fd = sys_idmap_namespace(&uids, &gids);

        check(fd >= 0);
        check(fcntl(fd, F_GETFD) == FD_CLOEXEC);
        check(count_fds() == before + 1);
        check(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD); /* nobody is left */
        check(setns(fd, CLONE_NEWUSER) == 0);
        /* Seen from inside, "outside" is what the parent's ids are; the map has one line each. */
        check(map_is(getpid(), "uid_map", 1000, 700000, 1) || map_is(getpid(), "uid_map", 1000, 65534, 1) ||
              map_is(getpid(), "uid_map", 1000, 4294967295u, 1));
}

static void test_namespace(void **state)
{
        need_root();
        in_child(namespace_alone);
}

static void all_without_clone3(void)
{
        check(old_kernel_block("clone3") == 0 && old_kernel_lacks("clone3"));
        written();
        namespace_alone();
}

static void test_without_clone3(void **state)
{
        need_root();
        in_child(all_without_clone3);
}

static void bad_maps(void)
{
        struct sys_idmap good = { 0, 700000, 1 }, empty = { 0, 700000, 0 }, wraps = { 0, 4294967290u, 100 };
        unsigned before = count_fds();

        check(sys_idmap_namespace(&empty, &good) == -EINVAL);
        check(sys_idmap_namespace(&good, &wraps) == -EINVAL);
        check(count_fds() == before);
        check(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static void test_bad_maps(void **state)
{
        need_root();
        in_child(bad_maps);
}

/*
 * The workspace's way: the folder's owner shows as the box's user, and what is written belongs to the owner.
 */
static void shows_owner(void)
{
        static const char *const options[] = { "mode=0755", NULL };
        struct sys_idmap map = { 4242, 700000 + 1001, 1 };
        cay_auto_close int fs = sys_mount_new("tmpfs", options, 0);
        int userns = sys_idmap_namespace(&map, &map), copy, plain = 0;
        struct stat st;
        pid_t pid;

        check(fs >= 0 && userns >= 0 && fchownat(fs, "", 4242, 4242, AT_EMPTY_PATH) == 0);
        check(sys_make_file(fs, "own", 0600, "", 0) == 0 && fchownat(fs, "own", 4242, 4242, 0) == 0);
        check(sys_make_file(fs, "other", 0600, "", 0) == 0);
        enter_mount_namespace(); /* before Linux 6.15 only what is mounted somewhere has copies */
        check(sys_mount_attach(fs, AT_FDCWD, "/mnt") == 0);
        copy = sys_mount_copy_idmapped(fs, "", 0, userns, &plain);
        check(copy >= 0);
        if (plain)
                skip_child("this kernel cannot idmap tmpfs");
        check(fstatat(copy, "own", &st, 0) == 0 && st.st_uid == 701001 && st.st_gid == 701001);
        check(fstatat(copy, "other", &st, 0) == 0 && st.st_uid == 65534 && st.st_gid == 65534);
        pid = fork();
        if (pid == 0) {
                check(sys_setgroups(0, NULL) == 0 && sys_setresgid(701001, 701001, 701001) == 0);
                check(sys_setresuid(701001, 701001, 701001) == 0);
                check(sys_make_file(copy, "made", 0600, "x", 1) == 0);
                check(sys_open_at(copy, "other", O_RDONLY, 0) == -EACCES);
                _exit(0);
        }
        waitpid(pid, NULL, 0);
        check(fstatat(fs, "made", &st, 0) == 0 && st.st_uid == 4242 && st.st_gid == 4242);
}

static void test_shows_owner(void **state)
{
        need_root();
        in_child(shows_owner);
}

static void kill_children(void)
{
        char text[256];
        long pid;

        if (sys_read_file(AT_FDCWD, "/proc/thread-self/children", text, sizeof(text)) <= 0)
                return;
        for (char *at = text; (pid = strtol(at, &at, 10)) > 0;)
                kill((pid_t)pid, SIGKILL);
}

/* Killed at any moment, the maker leaves nobody behind in a namespace that was only to be a map. */
static void killed_at_any_moment(void)
{
        struct sys_idmap map = { 0, 700000, 1 };

        check(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0); /* orphans become ours, and are seen */
        for (int round = 0; round < 200; round++) {
                struct timespec t = { .tv_nsec = 300000 + round % 50 * 7000 };
                pid_t pid = fork();
                int tries = 0;

                check(pid >= 0);
                if (pid == 0)
                        for (;;)
                                close(sys_idmap_namespace(&map, &map));
                nanosleep(&t, NULL);
                kill(pid, SIGKILL);
                while (tries < 20000 && waitpid(-1, NULL, WNOHANG) >= 0) {
                        tries++;
                        nap_ms(1);
                }
                if (tries == 20000) /* it would outlive the test too */
                        kill_children();
                check(tries < 20000 && errno == ECHILD);
        }
}

static void test_killed_at_any_moment(void **state)
{
        need_root();
        in_child(killed_at_any_moment);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_write),          cmocka_unit_test(test_namespace),
                cmocka_unit_test(test_without_clone3), cmocka_unit_test(test_bad_maps),
                cmocka_unit_test(test_shows_owner),    cmocka_unit_test(test_killed_at_any_moment),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
