/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses that a sandbox's own server puts into its answers, when it is reached by path. Such a server
 * assumes that it is at the root of its own host, so its /login is below our prefix for clients.
 *
 * Rewritten are paths ("/login"), and addresses that name the server as it sees itself: localhost, 127.0.0.1,
 * [::1] or 0.0.0.0 with its port, or as the client named us. They become paths below the prefix, with their
 * dots resolved, so that no number of ".." leads out of it; relative ones are rewritten only if they have
 * such dots. What is below the prefix already, and what names another host, stays as it is. Everything is
 * parsed as browsers do (rest_address.h); an address with an ambiguous host becomes the prefix.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/buf.h"

struct cay_proxy_place {    /* borrowed */
        const char *prefix; /* "/api/sandboxes/ID/ports/3000" */
        size_t prefix_len;
        const char *path; /* what was asked for, as the server saw it: "/a/b" */
        const char *host; /* that the client asked, with its port: "cay.example:8888"; NULL: none */
        uint16_t port;
};

/* Whether a field of an answer holds such an address. */
bool cay_location_is_in(const char *field);
/* Appends the value of such a field as the client is to see it. 0 or -errno. */
int cay_location_put(struct cay_buf *out, const struct cay_proxy_place *place, const char *field,
                     const char *value);
