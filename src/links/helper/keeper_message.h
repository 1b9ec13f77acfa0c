/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a daemon's keeper to its helpers over HELPER_KEEPER_FD, a SOCK_SEQPACKET socket. End of file
 * tells a helper to exit. FRONT and UPGRADE are for all helpers (links/helper_server), the rest only for the
 * warden.
 */
#pragma once

#include <stdint.h>

#include "links/helper/helper_message.h"

#define WIRE_KEEPER_MAGIC 0x6361796bu

/* Message types of the keeper, on a separate socket. */
enum wire_keeper_type {
        WIRE_KEEPER_FRONT =
                1, /* one descriptor: link to the next front; the previous link is closed, boxes stay */
        WIRE_KEEPER_LISTENER, /* one: the listening unix socket by which clients connect to the front */
        WIRE_KEEPER_ROOT,     /* one: folder `nr` below which clients may name a workspace */
        WIRE_KEEPER_REGISTRY, /* one: folder that contains the templates' roots; the last one is used */
        WIRE_KEEPER_CHECK,    /* none: can the installed program take over? Answered. */
        /* none: execute it. Answered by the new program, or by the old one on failure. */
        WIRE_KEEPER_UPGRADE,
        /* none; another size: struct wire_keeper_ceiling; sent once, before the first front */
        WIRE_KEEPER_CEILING,
        WIRE_KEEPER_MARGIN, /* none: layers must leave `nr` MiB of their disk free */
        /*
         * none: the roots were chosen by the person who runs this, with that person's rights: any folder may
         * be one
         */
        WIRE_KEEPER_OWN_ROOTS,
};

#define WIRE_ROOTS 64u

struct wire_keeper {
        uint32_t magic, size;
        uint32_t type;
        uint32_t nr;
};

struct wire_ceiling { /* maximum for one box, whatever a front requests; each is greater than 0 */
        uint64_t memory_bytes, cpu_milli, pids, disk_bytes, inodes;
        uint64_t boxes; /* at once */
};

struct wire_keeper_ceiling {
        uint32_t magic, size;
        uint32_t type;
        uint32_t nr; /* 0 */
        struct wire_ceiling ceiling;
};

struct wire_kept { /* answer to CHECK and UPGRADE */
        uint32_t magic, size;
        uint32_t type;
        uint32_t code; /* enum cay_code; 0: yes, or done */
        char text[HELPER_TEXT];
};
