/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's own bounds, from its first byte of a stranger on: calls.def lists the system calls that are left. None of them starts a
 * program or signals one. Files: openat() only reads; openat2(), for folders of the user, cannot be filtered by its flags.
 */
#pragma once

#include "foundation/base/error.h"
#include "foundation/sys/seccomp_list.h"

const struct sys_seccomp_row *agent_calls(unsigned *ret_count);
int agent_confine(struct cay_error *err); /* permanent */
