/* SPDX-License-Identifier: Apache-2.0 */
/* A list as a filter: what a row lets through works, everything else ends the process. */
#include "foundation/sys/seccomp_list.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "sys_test.h"

static const struct sys_seccomp_row rows[] = {
        { SYS_write, SYS_SECCOMP_PASS, 0, 0 },          { SYS_exit_group, SYS_SECCOMP_PASS, 0, 0 },
        { SYS_getpid, SYS_SECCOMP_PASS, 0, 0 },         { SYS_socket, SYS_SECCOMP_EQUALS, 0, AF_UNIX },
        { SYS_socket, SYS_SECCOMP_EQUALS, 0, AF_INET }, { SYS_mprotect, SYS_SECCOMP_NO_BITS, 2, PROT_EXEC },
};

static void (*denied)(void);

static void call_getppid(void)
{
        syscall(SYS_getppid);
}

static void make_netlink_socket(void)
{
        socket(AF_NETLINK, SOCK_RAW, 0);
}

static void make_code(void)
{
        mprotect(NULL, 0, PROT_READ | PROT_EXEC);
}

/* 0: the list held and then the denied call ended the process with status 1. */
static int status_of(void (*fn)(void))
{
        int status;
        pid_t pid = fork();

        if (pid == 0) {
                denied = fn;
                if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
                    sys_seccomp_list_enter("test", rows, sizeof(rows) / sizeof(rows[0])) != 0)
                        _exit(2);
                if (syscall(SYS_getpid) <= 0 || socket(AF_UNIX, SOCK_STREAM, 0) < 0 ||
                    socket(AF_INET, SOCK_STREAM, 0) < 0 || mprotect(NULL, 0, PROT_READ) < 0)
                        _exit(3);
                if (denied)
                        denied();
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool is_sanitized(void)
{
#ifdef __SANITIZE_ADDRESS__
        return true;
#else
        return false;
#endif
}

static void only_what_is_listed_passes(void **state)
{
        assert_int_equal(status_of(NULL), 0);
        if (is_sanitized())
                return; /* there is no filter then */
        assert_int_equal(status_of(call_getppid), 1);
        assert_int_equal(status_of(make_netlink_socket), 1);
        assert_int_equal(status_of(make_code), 1);
}

static void a_list_that_is_too_long_is_refused(void **state)
{
        assert_int_equal(sys_seccomp_list_enter("test", rows, SYS_SECCOMP_ROWS_MAX + 1), -E2BIG);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(only_what_is_listed_passes),
                cmocka_unit_test(a_list_that_is_too_long_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
