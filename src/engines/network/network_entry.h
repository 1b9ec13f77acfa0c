/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry of cay-net's log as the port has it. It comes from a program that strangers talk to: texts are
 * ended here, whatever it sent.
 */
#pragma once

#include "domain/model/port_network.h"
#include "links/net/net_message.h"

void cay_network_entry_read(const struct net_log_entry *from, struct cay_network_entry *ret);
