/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the keeper (`cay serve`) hands to each cay-front: descriptors at fixed numbers, nothing in the environment, nothing secret in
 * argv. And the one thing a front says back. Plain values; a front is not trusted, so what it says is printed at most.
 */
#pragma once

#include <stdint.h>

enum {
        CAY_HAND_WARDEN = 3, /* link to the warden: SOCK_SEQPACKET */
        CAY_HAND_CONFIG = 4, /* sealed memory file: settings in the file's form, secrets too */
        CAY_HAND_DATA = 5,   /* data folder */
        CAY_HAND_KEEPER = 6, /* SOCK_SEQPACKET; its end is the end of the keeper, and of the front */
        CAY_HAND_UNIX = 7,   /* listening unix socket */
        CAY_HAND_TCP = 8,    /* first of the listening TCP sockets; argv[2] says how many there are */
};

#define CAY_HAND_MAGIC 0x63617966u
#define CAY_HAND_TOKEN 560

struct cay_hand_ready { /* once, when sandboxes are adopted and requests are answered */
        uint32_t magic, size;
        uint32_t adopted, lost, at_rest, removed;
        char token[CAY_HAND_TOKEN]; /* for the line that is printed; ends with NUL */
};
