/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the keeper (`cay serve`) hands to each cay-front: descriptors at fixed numbers, nothing in the
 * environment, no secrets in argv. Also what a front sends back. All messages are plain values. A front is
 * not trusted, so the keeper at most prints what it sends.
 */
#pragma once

#include <stdint.h>

#include "links/helper/helpers.h"

enum {
        CAY_HAND_CONFIG =
                3, /* sealed memory file: settings in the format of the settings file, secrets included */
        CAY_HAND_DATA = 4,   /* data folder */
        CAY_HAND_KEEPER = 5, /* SOCK_SEQPACKET; end of file here means that the other side has ended */
        CAY_HAND_UNIX = 6,   /* listening unix socket */
        CAY_HAND_TCP = 7,    /* first of the listening TCP sockets; argv[2] says how many there are */
        /* Words name the descriptors after the last of them. */
};

/*
 * From argv[3] on: groups of words. The first word of a group is its kind:
 *   engine NAME runs|no WHY   one for each engine: whether it runs, and why
 *   link HELPER FD            one for each helper that runs (links/helper/helpers.def): SOCK_SEQPACKET
 *   crashers FD               memory shared with the keeper, see below
 */
#define CAY_HAND_ENGINE "engine"
#define CAY_HAND_RUNS "runs"
#define CAY_HAND_RUNS_NOT "no"
#define CAY_HAND_LINK "link"

/*
 * The front of root's daemon locks a file in the machine's run folder. The file's name is this prefix and the
 * front's id (cay-front/front_id.h). A front has no right to remove it, so a keeper that stops removes all
 * that nobody has locked.
 */
#define CAY_HAND_RUN_FOLDER "/run/cay"
#define CAY_HAND_FRONT_LOCK "front-"

#define CAY_HAND_MAGIC 0x63617966u
#define CAY_HAND_DENIED                                                                                      \
        159 /* exit status of a front that its seccomp filter ended; the front has logged the call */
#define CAY_HAND_TOKEN 560
#define CAY_HAND_LOGIN 64

struct cay_hand_ready { /* sent once, when sandboxes are adopted and requests are answered */
        uint32_t magic, size;
        uint32_t adopted, lost, at_rest, removed;
        char token[CAY_HAND_TOKEN]; /* for the line that is printed; NUL-terminated */
        char login[CAY_HAND_LOGIN]; /* a one-time login, for the same line; NUL-terminated */
};

/*
 * The registry, from the keeper: sent before the front starts (it waits in the socket) and after every
 * SIGHUP. Descriptors, in this order: /usr (has_usr), the text as a sealed memory file and its folder
 * (has_text). The front closes them after use.
 */
#define CAY_HAND_REGISTRY_MAX (256u * 1024)

struct cay_hand_registry {
        uint32_t magic, size;
        uint32_t serial;
        uint32_t has_usr, has_text;
};

/*
 * Ports of the host at which the front serves single sandboxes. A front cannot make sockets, so it asks the
 * keeper. It gets a listening socket on 127.0.0.1, at the wanted port or the next free one (0: any) in the
 * range below. The range is small, so that a compromised front cannot listen where other programs of the host
 * are expected. The keeper keeps the socket too, so the port stays open between two fronts: a front that asks
 * for the previous front's port gets the same socket. The keeper closes what a front drops, and what it has
 * not asked for when it reports ready.
 */
#define CAY_HAND_PORTS_MAX 256u
/* includes the ports of document 000; the kernel takes ports for outgoing connections above it */
#define CAY_HAND_PORT_FIRST 16000u
#define CAY_HAND_PORT_LAST 19999u

struct cay_hand_listen { /* from the front */
        uint32_t magic, size;
        uint32_t serial; /* returned in the answer */
        uint32_t port;   /* the wanted port; for a drop, the port to drop */
        uint32_t is_drop;
};

struct cay_hand_listening { /* answers all requests but drops; carries the socket unless port is 0 */
        uint32_t magic, size;
        uint32_t serial;
        uint32_t port;
};

/*
 * The request that the front works on, in memory shared with the keeper. After a crash the keeper reads it.
 * The keeper writes there which requests to refuse because they ended fronts before. It uses the front's
 * values for nothing else.
 */
#define CAY_HAND_CRASHERS "crashers"
#define CAY_HAND_REQUEST_TEXT 120
#define CAY_HAND_REFUSED_MAX 16u
#define CAY_HAND_REFUSED_MS 600000u /* how long requests are refused */

struct cay_hand_crashers {
        uint32_t magic, size;
        uint64_t key;                           /* of client and route; 0: none */
        char text[CAY_HAND_REQUEST_TEXT];       /* the same for people */
        uint64_t refused[CAY_HAND_REFUSED_MAX]; /* set by the keeper; 0: none */
};

/*
 * A helper ended and was replaced: this message carries the link to the new one. A front that cannot use it
 * exits, and the next front can.
 */
struct cay_hand_link {
        uint32_t magic, size;
        char helper[CAY_HELPER_NAME]; /* NUL-terminated */
};

struct cay_hand_verdict { /* the front's verdict on it */
        uint32_t magic, size;
        uint32_t serial;
        uint32_t taken;
};
