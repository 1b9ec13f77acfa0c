/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restrictions on cay-net, in place before the first byte of a front or a sandbox is read.
 *
 * Theory of operation. Whoever takes this program over is to have outgoing connections and nothing besides:
 * no capability and no root; of files only the folder of resolv.conf and /etc, to be read; no TCP port can be
 * bound; system calls by list (calls.def), among which there is none that starts a program or makes a
 * process. What is not in the list ends the process, and its keeper starts another.
 */
#pragma once

#include "cay-net/broker.h"

int net_give_up_root(const struct net_options *o, struct cay_error *err); /* first: nothing is open yet */
int net_confine(const struct net_options *o, struct cay_error *err);      /* when everything is open */
