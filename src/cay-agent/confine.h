/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's own bounds, from its first byte of a stranger on: calls.def lists the system calls that are
 * left. None of them starts a program or signals one. Of files, landlock leaves those to read that looking up
 * names and checking certificates needs, and none to write; what was opened before (its key's and answers'
 * files, the folders of rules) stays. No TCP port can be bound; one that is dialled connects to none.
 */
#pragma once

#include <stdbool.h>

#include "foundation/base/error.h"
#include "foundation/sys/seccomp_list.h"

const struct sys_seccomp_row *agent_calls(unsigned *ret_count);
int agent_confine(bool is_listening, struct cay_error *err); /* permanent */
