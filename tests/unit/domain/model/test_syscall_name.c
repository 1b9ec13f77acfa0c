/* SPDX-License-Identifier: Apache-2.0 */
/* The generated table of system call names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "domain/model/syscall_name.h"

static void names(void **state)
{
        assert_string_equal(cay_syscall_name(SYS_mount), "mount");
        assert_string_equal(cay_syscall_name(SYS_clone3), "clone3");
        assert_string_equal(cay_syscall_name(SYS_bpf), "bpf");
        assert_string_equal(cay_syscall_name(SYS_read), "read");
        assert_null(cay_syscall_name(-1));
        assert_null(cay_syscall_name(100000));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(names) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
