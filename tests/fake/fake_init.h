/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other end of a box link, played in the same process: understands a handful of commands, and can be told
 * to misbehave.
 *
 * Commands: "exit N", "echo TEXT" (to OUT), "warn TEXT" (to ERR), "cat" (IN to OUT), "wait" (for a signal),
 * "count N" (N bytes of a known pattern), "alternate N" (the same, each byte to the other stream), "env
 * NAME", "pwd", "whoami" (uid and gid). Anything else is not found. When a one-shot exec has ended, on_exit
 * is called, as an init would exit.
 */
#pragma once

#include "links/box/peer.h"
#include "links/box/stream.h"
#include "links/box/message.h"
#include "foundation/loop/loop.h"

struct fake_script {
        uint64_t lose_after_bytes;   /* the stream is cut when this much output was sent; 0: never */
        unsigned lose_times;         /* at most so many times; 0: every time */
        bool mute;                   /* nothing is answered, not even pings, as when frozen */
        bool never_open;             /* OPEN is not answered */
        bool never_end;              /* the command ends, nobody says so; kills are ignored too */
        bool vanish;                 /* the stream ends in place of END */
        bool garbage;                /* bytes that are no frame in place of END */
        bool impossible_end;         /* exit code and signal both "none" */
        bool ignore_limits;          /* output_max_bytes is not looked at */
        uint64_t wall_early_ms;      /* enforces the wall limit itself, that much early; 0: does not */
        unsigned end_code;           /* the exec is refused with this enum cay_code; 0: it runs */
        struct cay_box_exec_end end; /* added to what END says: disk_full, denied…, killed, cpu_us */
        /* as older ones: the question which kinds it knows is repeated, ACCEPT ends the stream */
        bool knows_no_kinds;
        unsigned accept_most; /* connections that come to its proxy, each saying back what it hears */
        const char *passwd;   /* what READ of /etc/passwd gives; NULL: not found */
        struct {
                unsigned code;              /* CHANGES is refused with this enum cay_code; 0: it is not */
                uint64_t bytes;             /* of the known pattern */
                bool blank;                 /* zeros instead, which cost nothing */
                uint64_t entries, left_out; /* as END tells */
                uint64_t lie_bytes;         /* END tells so many more than were sent */
                bool vanish, stall;         /* the stream ends in place of END; nothing comes at all */
        } changes;
};

struct fake_init;

/* script is borrowed and may be changed under way. */
struct fake_init *fake_init_new(struct cay_loop *loop, const struct fake_script *script,
                                const uint8_t secret[CAY_BOX_SECRET], void (*on_exit)(void *ctx), void *ctx);
void fake_init_free(struct fake_init *init);
int fake_init_link_take(struct fake_init *init, int fd); /* first, and each further stream */
void fake_init_cut(struct fake_init *init);              /* the stream is lost */
void fake_init_forget_link(struct fake_init *init); /* the same, at once: a forked process goes its own way */
uint8_t fake_pattern(uint64_t offset);              /* byte of "count" */
