/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a sandbox's network as cay-net takes them. */
#pragma once

#include "domain/model/limits.h"
#include "links/net/net_message.h"

static inline struct net_limits cay_network_limits(const struct cay_limits *l)
{
        return (struct net_limits){
                .up_bytes_s = l->network_up,
                .down_bytes_s = l->network_down,
                .total_bytes = l->network_total,
                .connections = (uint32_t)l->network_connections,
                .connections_s = (uint32_t)l->network_connects,
                .dns_s = (uint32_t)l->network_queries,
        };
}
