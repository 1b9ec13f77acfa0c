/* SPDX-License-Identifier: Apache-2.0 */
/* A plain TCP connection over loopback to ourselves: what transfers are compared with. */
#pragma once

int loopback_open(int ret_fds[2]); /* both ends; 0, or -1 after saying why */
