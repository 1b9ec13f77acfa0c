/* SPDX-License-Identifier: Apache-2.0 */
/* Between net_divert.c and net_divert_rules.c. */
#pragma once

#include "foundation/sys/net_divert.h"
#include "foundation/sys/netlink.h"

#define SYS_DIVERT_MARK 1u /* of packets on their way to the socket */

/* Sets all rules of the namespace, atomically; is_new: there are none yet. */
int sys_divert_put_rules(unsigned mode, bool is_new);
