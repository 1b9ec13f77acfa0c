/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An older kernel, played by a seccomp filter: calls that came late answer as if they did not exist yet. What
 * is blocked stays blocked for this process and everything below it, through exec as well; there is no way
 * back.
 */
#ifndef CAY_TEST_OLD_KERNEL_H
#define CAY_TEST_OLD_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * One name of the table in old_kernel.c per row, for lists and for tests of all of them; NULL behind the
 * last.
 */
const char *old_kernel_name(size_t row);

/*
 * Blocks what is named: one or more names, separated by commas. 0, or -errno (-ENOENT: an unknown name).
 * Takes no_new_privs where there is no privilege to do without.
 */
int old_kernel_block(const char *names);
bool old_kernel_is_part(const char *name,
                        const char *names); /* all that the name stands for is among the names */
/*
 * Calls each call of the name with arguments that it would refuse: true when all of them answer as a kernel
 * without them.
 */
bool old_kernel_lacks(const char *name);

/*
 * Runs `run` in a child for which landlock has this ABI version: later rights are refused. Returns what the
 * child exits with (0 when run returns), or -errno. The real landlock must be at least as new.
 */
int old_kernel_landlock(int abi, void (*run)(void));

#endif
