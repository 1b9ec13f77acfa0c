/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker's name, looked up again: it may have moved to another address.
 *
 * Theory of operation. cay-docker looks the name up once before it confines itself; after that it can open
 * neither the files nor the connections that a lookup takes. So a child is made before: it has no descriptor
 * but its end of a socket pair, no id but nobody's, and does nothing but look up this one name when it is
 * asked. It ends with cay-docker.
 */
#pragma once

#include <sys/socket.h>

#include "cay-docker/options.h"
#include "foundation/loop/loop.h"

struct docker_resolver { /* zeroed: there is none */
        struct cay_watch watch;
        bool open, asked;
        /* The name's address now. Not told when the lookup fails. */
        void (*on_found)(struct docker_resolver *r, const struct sockaddr_storage *address, unsigned len);
};

/* Blocks. 0 or CAY_UNAVAILABLE in err. */
int docker_resolve(const struct docker_host *h, const char *host_text, struct sockaddr_storage *ret,
                   unsigned *ret_len, struct cay_error *err);
/* Before confinement. Nothing for an address in place of a name. 0 or -errno. */
int docker_resolver_open(struct docker_resolver *r, struct cay_loop *loop, const struct docker_host *h);
void docker_resolver_ask(struct docker_resolver *r); /* fine when there is none, or one is asked already */
void docker_resolver_close(struct docker_resolver *r);
