/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datagrams of a sandbox, where its policy has rules for UDP.
 *
 * Theory of operation. A flow is what goes from one port of the sandbox to one address and port. The first
 * datagram opens it: its name is looked up, each address judged, and a socket connected to the first one
 * allowed, which therefore hears that server alone. What comes meanwhile waits, a few datagrams of it.
 * Answers are sent from the address that was asked for (packet.h). What is refused, and what the real server
 * refuses, is answered with ICMP port unreachable, so that a program notices at once. A flow counts as a
 * connection, for its limits too. Nothing says when it is over, so it ends when it was idle; at the limit,
 * the one that was idle longest gives way. Datagrams over a rate are lost, as they are in any network. A flow
 * that was refused is kept for a moment: what follows is answered without another entry in the log.
 */
#pragma once

#include "cay-net/box.h"

#define NET_FLOW_REFUSED_MS 2000u
#define NET_FLOW_REACH_MS 20000u
#define NET_FLOW_WAITING_MAX 8u        /* datagrams of a flow that wait for its name */
#define NET_FLOW_WAITING_BYTES 262144u /* likewise, of all flows of a sandbox */
#define NET_FLOWS_REFUSED_MAX 256u     /* of one sandbox that are remembered */

void net_flow_on_datagram(struct cay_watch *w, uint32_t events); /* box->udp */
void net_flow_judge_again(struct net_box *b);                    /* the policy has changed */
void net_flow_end_all(struct net_box *b, const char *why);
