/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run-time options of the sanitizers for our programs: some start with an empty environment, so they can't be
 * told by one. Leak checking is off here: it needs ptrace of oneself, which a process that gave up its
 * privileges has not. The test programs are checked for leaks.
 */

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *__asan_default_options(void)
{
        return "detect_leaks=0:abort_on_error=0:exitcode=99:handle_segv=1:detect_stack_use_after_return=0";
}

const char *__ubsan_default_options(void)
{
        return "print_stacktrace=1";
}
