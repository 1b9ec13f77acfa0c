/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of a program's calls.def, for an array of struct sys_seccomp_row: CALL allows a call, WITHOUT if
 * an argument has none of these bits, WITH if it is this value. For the one file that includes the calls.def.
 */
#pragma once

#include <sys/syscall.h>

#include "foundation/sys/seccomp_list.h"

#define CALL(name) { SYS_##name, SYS_SECCOMP_PASS, 0, 0 },
#define WITHOUT(name, arg, bits) { SYS_##name, SYS_SECCOMP_NO_BITS, arg, bits },
#define WITH(name, arg, value) { SYS_##name, SYS_SECCOMP_EQUALS, arg, value },
