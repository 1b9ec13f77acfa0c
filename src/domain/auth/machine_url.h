/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address at which an agent listens, mostly of a tunnel: wss://HOST[:PORT][/PATH], or ws:// within a
 * network that is trusted. It is a caller's text: no user name, no query, no fragment, printable ASCII alone.
 * Without a path it is /agent.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/error.h"

#define CAY_MACHINE_URL_MAX 400
#define CAY_MACHINE_HOST_MAX 253

struct cay_machine_url {
        bool is_tls;
        uint16_t port;
        char host[CAY_MACHINE_HOST_MAX + 1];       /* a name in lower case, or an address without brackets */
        char authority[CAY_MACHINE_HOST_MAX + 16]; /* for the Host field */
        char path[CAY_MACHINE_URL_MAX + 1];
};

int cay_machine_url_read(const char *text, struct cay_machine_url *ret, struct cay_error *err);
