/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts and origins, for the gate and its tests. Pure. */
#pragma once

#include <regex.h>

#include "config/config.h"

/* host: lower case, without port, IPv6 without brackets. */
bool cay_gate_host_is_ours(const struct cay_config *c, const char *host);
/* origin as sent; `self`: what this server is called in the request ("http://host:port"); regex NULL: none. */
bool cay_gate_origin_is_fine(const struct cay_config *c, const regex_t *regex, const char *origin,
                             const char *self);
