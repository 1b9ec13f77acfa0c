/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resolver that programs in a sandbox ask: names that the policy may allow get an address that stands for
 * them, all others do not exist. Nothing is asked of a real server here, so a query by itself carries nothing
 * out; the real lookup happens at the connect.
 */
#pragma once

#include "cay-net/box.h"

void net_stub_on_udp(struct cay_watch *w, uint32_t events); /* box->dns_udp */
void net_stub_on_tcp(struct cay_watch *w, uint32_t events); /* box->dns_tcp */
void net_stub_end(struct net_box *b);                       /* its connections over TCP */
/* One query to its answer; 0: none is due. */
size_t net_stub_answer(struct net_box *b, const void *query, size_t len, uint8_t ret[512]);
