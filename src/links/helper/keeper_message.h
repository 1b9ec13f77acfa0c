/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a daemon's keeper says to its helpers over HELPER_KEEPER_FD, a SOCK_SEQPACKET socket. Its end tells a helper to end. FRONT and UPGRADE
 * are for all of them (links/helper_server), the rest is the warden's.
 */
#pragma once

#include <stdint.h>

#include "links/helper/helper_message.h"

#define WIRE_KEEPER_MAGIC 0x6361796bu

/* What the keeper says, over a socket of its own. */
enum wire_keeper_type {
        WIRE_KEEPER_FRONT =
                1, /* one descriptor: link to the next front; the one before is hung up on, boxes stay */
        WIRE_KEEPER_DOOR,     /* one: the listening unix socket that clients come to the front by */
        WIRE_KEEPER_ROOT,     /* one: folder `nr` below which clients may name a workspace */
        WIRE_KEEPER_REGISTRY, /* one: folder below which templates have their roots; the last one counts */
        WIRE_KEEPER_CHECK,    /* none: could the program that is there now take over? Answered. */
        WIRE_KEEPER_UPGRADE,  /* none: become it. Answered by the new one, or by the old when it could not. */
        WIRE_KEEPER_CEILING, /* none, and of another size: struct wire_keeper_ceiling; once, before the first front */
        WIRE_KEEPER_MARGIN, /* none: layers leave `nr` MiB of their disk free */
};

#define WIRE_ROOTS 64u

struct wire_keeper {
        uint32_t magic, size;
        uint32_t type;
        uint32_t nr;
};

struct wire_ceiling { /* most that one box may have, whatever a front asks for; each is more than 0 */
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
