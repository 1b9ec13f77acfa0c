/* SPDX-License-Identifier: Apache-2.0 */
/* Confining oneself: nothing of root is left, open descriptors still work, new files do not open. */
#include "sys_test.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "sys/caps.h"
#include "sys/confine.h"
#include "sys/fd.h"

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
                cmocka_unit_test(test_nothing_of_root),
                cmocka_unit_test(test_files_shut),
                cmocka_unit_test(test_without_privileges),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
