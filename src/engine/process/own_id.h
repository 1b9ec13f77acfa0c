/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host ids for boxes of a root process: one each, as long as the box lives.
 *
 * Theory of operation. Whoever starts boxes as root must not start them as root, and one id for all of them would let each signal and
 * trace the others. With an id of its own a box owns its folder and its processes and nothing else; no_new_privs is inherited, so
 * no process ever leaves its id, and one kill by that id reaches all of them, whatever became of their parents. (The kernel counts
 * processes per id, too: that is how their number is limited.) The range lies behind that of native boxes (warden/record.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CAY_OWN_ID_FIRST 0x78000000u
#define CAY_OWN_IDS 4096u

static inline bool cay_own_id_is(uint64_t id)
{
        return id >= CAY_OWN_ID_FIRST && id < CAY_OWN_ID_FIRST + CAY_OWN_IDS;
}

/* In a child that is about to be another program: uid, gid, no other group. 0 or -errno. */
int cay_own_id_become(uint32_t id);
/* Kills every process of that id. 1: there is none (any more), but perhaps zombies; 0: there was one, look again; -errno. */
int cay_own_id_kill(uint32_t id);
