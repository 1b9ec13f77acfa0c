/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay-net ↔ cay-edge: one message over a SOCK_SEQPACKET socket for each connection whose requests get a
 * secret, one back when it is over. An order comes with two descriptors: a stream to the program in the
 * sandbox, whose TLS is ended here, and the TCP connection to the real server. It has only the secrets for
 * that host.
 */
#pragma once

#include <stdint.h>

#define EDGE_LINK_FD 3 /* of cay-edge */
#define EDGE_MAGIC 0x63617965u
#define EDGE_SECRETS_MAX 8u /* of one host in one sandbox */
#define EDGE_HOST 256       /* sizes with a NUL */
#define EDGE_HEADER 64
#define EDGE_PLACEHOLDER 64
#define EDGE_VALUE 2049
#define EDGE_SEED 32
#define EDGE_CONNECTIONS_MAX 256u /* at once, of all sandboxes */

enum edge_fd { EDGE_FD_BOX, EDGE_FD_SERVER, EDGE_FD_COUNT };

struct edge_secret {
        char header[EDGE_HEADER]; /* in which it is replaced */
        char placeholder[EDGE_PLACEHOLDER];
        char value[EDGE_VALUE];
};

struct edge_order {
        uint32_t magic, size;
        uint64_t number;       /* of the connection */
        uint8_t ca[EDGE_SEED]; /* of the authority that the sandbox trusts (foundation/http/tls_ca.h) */
        char host[EDGE_HOST];  /* its name, lower case */
        uint32_t count, unused;
        struct edge_secret secrets[EDGE_SECRETS_MAX];
};

enum edge_how {
#define EDGE_END(word, text) EDGE_##word,
#include "links/net/edge_ends.def"
#undef EDGE_END
        EDGE_HOW_COUNT
};

struct edge_end {
        uint32_t magic, size;
        uint64_t number;
        uint32_t how, unused;
};
