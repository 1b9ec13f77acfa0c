/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the keeper (`cay serve`) hands to each cay-front: descriptors at fixed numbers, nothing in the environment, nothing secret in
 * argv. And the one thing a front says back. Plain values; a front is not trusted, so what it says is printed at most.
 */
#pragma once

#include <stdint.h>

#include "links/helper/helpers.h"

enum {
        CAY_HAND_CONFIG = 3, /* sealed memory file: settings in the file's form, secrets too */
        CAY_HAND_DATA = 4,   /* data folder */
        CAY_HAND_KEEPER = 5, /* SOCK_SEQPACKET; its end is the end of the keeper, and of the front */
        CAY_HAND_UNIX = 6,   /* listening unix socket */
        CAY_HAND_TCP = 7,    /* first of the listening TCP sockets; argv[2] says how many there are */
        /* Descriptors behind the last of them are named by words. */
};

/*
 * From argv[3] on, words in groups; the first of each says what it is:
 *   engine NAME runs|no WHY   one for each engine: whether it runs, and why it does or does not
 *   link HELPER FD            one for each helper that runs (links/helper/helpers.def): SOCK_SEQPACKET
 *   turns FD                  memory that is shared with the keeper, see below
 */
#define CAY_HAND_ENGINE "engine"
#define CAY_HAND_RUNS "runs"
#define CAY_HAND_RUNS_NOT "no"
#define CAY_HAND_LINK "link"

/*
 * A front of root's daemon holds the lock of a file in the machine's run folder, whose name is this and its id (cay-front/front_id.h). The keeper
 * removes those that nobody holds when it stops: a front can't, it has given up the right.
 */
#define CAY_HAND_RUN_FOLDER "/run/cay"
#define CAY_HAND_FRONT_LOCK "front-"

#define CAY_HAND_MAGIC 0x63617966u
#define CAY_HAND_DENIED                                                                                      \
        159 /* exit status of a front that was ended by its filter of system calls; it has named the call */
#define CAY_HAND_TOKEN 560
#define CAY_HAND_LOGIN 64

struct cay_hand_ready { /* once, when sandboxes are adopted and requests are answered */
        uint32_t magic, size;
        uint32_t adopted, lost, at_rest, removed;
        char token[CAY_HAND_TOKEN]; /* for the line that is printed; ends with NUL */
        char login[CAY_HAND_LOGIN]; /* a one-time login, for the same; ends with NUL */
};

/*
 * The registry, from the keeper: once before the front is started (it waits in the socket), then after every SIGHUP. Descriptors in
 * this order: /usr (has_usr), the text as a sealed memory file and its folder (has_text). To be closed when it was looked at.
 */
#define CAY_HAND_REGISTRY_MAX (256u * 1024)

struct cay_hand_registry {
        uint32_t magic, size;
        uint32_t serial;
        uint32_t has_usr, has_text;
};

/*
 * Ports of the host at which the front answers for single sandboxes: a front can make no sockets. It asks, and gets a listening one on
 * 127.0.0.1, at the port that is wished for or the next free one (0: any), from the range below: one that was taken over must not wait
 * where other programs of the host are expected. The keeper holds it too, so that the port is there while one
 * front follows another: a front that asks for a port which the last one had gets that very socket. What a front has not asked for when it
 * is ready is closed, and so is what it drops.
 */
#define CAY_HAND_PORTS_MAX 256u
#define CAY_HAND_PORT_FIRST                                                                                  \
        16000u /* document 000's numbers lie within; outgoing connections get theirs above */
#define CAY_HAND_PORT_LAST 19999u

struct cay_hand_listen { /* from the front */
        uint32_t magic, size;
        uint32_t serial; /* comes back with the answer */
        uint32_t port;   /* wished for; or, dropped: which */
        uint32_t is_drop;
};

struct cay_hand_listening { /* the answer to one that is no drop; with the socket, unless port is 0 */
        uint32_t magic, size;
        uint32_t serial;
        uint32_t port;
};

/*
 * Whose request the front works for at the moment, in memory that it shares with the keeper: what a front that crashes was doing, and from the keeper, what it shall refuse because it ended fronts before. The
 * keeper believes none of it further than that.
 */
#define CAY_HAND_TURNS "turns"
#define CAY_HAND_TURN_TEXT 120
#define CAY_HAND_REFUSED_MAX 16u
#define CAY_HAND_REFUSED_MS 600000u /* how long */

struct cay_hand_turns {
        uint32_t magic, size;
        uint64_t key;                           /* of client and route; 0: nobody's */
        char text[CAY_HAND_TURN_TEXT];          /* the same for people */
        uint64_t refused[CAY_HAND_REFUSED_MAX]; /* by the keeper; 0: none */
};

/*
 * A helper ended and there is another one: the link to it comes with this. A front that cannot use it ends, and the next one can.
 */
struct cay_hand_link {
        uint32_t magic, size;
        char helper[CAY_HELPER_NAME]; /* its name, with its NUL */
};

struct cay_hand_verdict { /* the front's word on it */
        uint32_t magic, size;
        uint32_t serial;
        uint32_t taken;
};
