/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter of system calls made from a list of rows, for server programs. A call that is not in the list ends
 * the process, with a line on standard error that has the call's number. A row allows a call always, or by
 * the low half of one of its arguments.
 *
 * A program has its rows in a file of its own (calls.def), whose words seccomp_calls.h defines.
 */
#pragma once

#include <stddef.h>

enum sys_seccomp_test {
        SYS_SECCOMP_PASS,
        SYS_SECCOMP_NO_BITS, /* when none of `value`'s bits is in the argument */
        SYS_SECCOMP_EQUALS,  /* when the argument is `value`; there may be several rows of one call */
};

struct sys_seccomp_row {
        unsigned nr;
        enum sys_seccomp_test test;
        unsigned arg, value;
};

#define SYS_SECCOMP_ROWS_MAX 160u

/*
 * `program` appears in that line and is borrowed forever. Permanent; needs no_new_privs. Does nothing in a
 * sanitizer build. 0 or -errno.
 */
int sys_seccomp_list_enter(const char *program, const struct sys_seccomp_row *rows, size_t count);
