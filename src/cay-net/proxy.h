/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that ask for what they want (HTTP CONNECT, plain HTTP, SOCKS 5) instead of being diverted:
 * those that come to the listening socket by the sandbox's own loopback. Where the kernel has no nf_tables
 * they are all that there are. What is asked for is judged as what is diverted; only how it is answered is
 * different.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "domain/network/proxy_request.h"

struct net_proxy {
        enum cay_proxy kind; /* CAY_PROXY_MORE: not known yet */
        bool is_greeted;     /* SOCKS */
        bool is_told;        /* how it went */
        bool is_over;        /* and that was a refusal */
        char *head;          /* owned; of a plain request, for the server */
        size_t head_len;
};

enum net_proxy_heard { NET_PROXY_WAITS, NET_PROXY_ASKED, NET_PROXY_BAD };

/* Reads what has come. NET_PROXY_BAD: *ret_why; has_ended: nothing more will come. */
enum net_proxy_heard net_proxy_hear(struct net_proxy *p, int fd, bool has_ended,
                                    struct cay_proxy_request *ret, const char **ret_why);
/* The connection is there, or will be: says so, once. -1: it could not be said. */
int net_proxy_agree(struct net_proxy *p, int fd);
/*
 * A plain request to its server, once it is connected. Bytes sent; 0: none is to be sent, -1: it could not
 * be.
 */
ssize_t net_proxy_pass_on(struct net_proxy *p, int server);
/* Says why not, unless something was said already. */
void net_proxy_refuse(struct net_proxy *p, int fd, bool is_refused, const char *why);
void net_proxy_free(struct net_proxy *p); /* NULL is fine */
