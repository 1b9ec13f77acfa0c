/* SPDX-License-Identifier: Apache-2.0 */
/* Confining oneself: nothing of root is left, open descriptors still work, new files do not open. */
#include "sys_test.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "foundation/base/cleanup.h"
#include "foundation/sys/caps.h"
#include "foundation/sys/confine.h"
#include "foundation/sys/fd.h"
#include "tools/old_kernel.h"

static bool has_landlock(void)
{
        return syscall(444, NULL, 0, 1 /* LANDLOCK_CREATE_RULESET_VERSION */) > 0;
}

static void confined(void)
{
        int null = open("/dev/null", O_RDWR), pair[2];
        uint64_t e, p, i;
        uid_t r, ef, s;
        gid_t groups[64];
        char byte;

        check(null >= 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
        check(sys_self_confine() == 0);
        check(getresuid(&r, &ef, &s) == 0 && r == 65534 && ef == 65534 && s == 65534);
        check(getresgid(&r, &ef, &s) == 0 && r == 65534 && ef == 65534 && s == 65534);
        check(getgroups(64, groups) == 0);
        check(sys_caps_get(&e, &p, &i) == 0 && e == 0 && p == 0 && i == 0);
        check(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
        check(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
        check(setuid(0) < 0 && errno == EPERM);
        check(kill(1, 0) < 0 && errno == EPERM);
        /* What was open goes on working. */
        check(write(null, "x", 1) == 1);
        check(write(pair[0], "x", 1) == 1 && read(pair[1], &byte, 1) == 1);
        check(sys_self_confine() == 0); /* twice is as good as once */
}

static void test_nothing_of_root(void **state)
{
        need_root();
        in_child(confined);
}

static void files_shut(void)
{
        if (!has_landlock())
                skip_child("this kernel has no landlock");
        check(sys_self_confine() == 0);
        check(open("/etc/hostname", O_RDONLY) < 0 && errno == EACCES);
        check(open("/tmp/cay-confined", O_WRONLY | O_CREAT, 0600) < 0 && errno == EACCES);
        check(opendir("/") == NULL && errno == EACCES);
        check(execl("/bin/true", "true", (char *)NULL) < 0 && errno == EACCES);
        check(mkdir("/tmp/cay-confined", 0700) < 0 && errno == EACCES);
}

static void test_files_shut(void **state)
{
        in_child(files_shut);
}

static void nothing_changes(void)
{
        char path[] = "/tmp/cay-unit-XXXXXX";
        int file = mkostemp(path, O_CLOEXEC), r, error;
        pid_t pid = fork();

        check(file >= 0 && pid >= 0 && fchmod(file, 0666) == 0);
        if (pid == 0) {
                check(sys_self_confine() == 0);
                r = truncate(path, 0);
                error = errno;
                check(open(path, O_WRONLY) < 0 && errno == EACCES);
                check(r < 0 && error == EACCES);
                _exit(0);
        }
        check(waitpid(pid, &r, 0) == pid);
        unlink(path);
        check(r == 0);
}

/*
 * With every version of landlock: all that it can deny is denied, and it is asked for nothing that it does
 * not know.
 */
static void test_every_abi(void **state)
{
        long real = syscall(444, NULL, 0, 1);

        if (real < 1)
                skip();
        for (int abi = 3; abi <= real && abi <= 6; abi++) /* which have truncate */
                assert_int_equal(old_kernel_landlock(abi, nothing_changes), 0);
        for (int abi = 1; abi <= real && abi <= 6; abi++)
                assert_int_equal(old_kernel_landlock(abi, files_shut), 0);
}

static void no_landlock(void)
{
        check(old_kernel_block("landlock") == 0);
        check(!has_landlock());
        if (geteuid() == 0) {
                confined();
                check(open("/dev/null", O_RDWR) >= 0); /* only what the ids allow */
                check(open("/etc/shadow", O_RDONLY) < 0 && errno == EACCES);
        } else {
                check(sys_self_confine() == 0);
        }
}

static void test_no_landlock(void **state)
{
        in_child(no_landlock);
}

static void without_privileges(void)
{
        if (geteuid() == 0)
                check(setgid(65534) == 0 && setuid(65534) == 0);
        check(sys_self_confine() == 0);
        check(geteuid() != 0);
}

static void test_without_privileges(void **state)
{
        in_child(without_privileges);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_nothing_of_root),    cmocka_unit_test(test_files_shut),
                cmocka_unit_test(test_every_abi),          cmocka_unit_test(test_no_landlock),
                cmocka_unit_test(test_without_privileges),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
