/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host ids for boxes of a root process: one each, as long as the box lives.
 *
 * Theory of operation. Whoever starts boxes as root must not start them as root, and one id for all of them would let each signal and
 * trace the others. With an id of its own a box owns its folder, its processes and what they make elsewhere, and nothing else;
 * no_new_privs is inherited, so no process ever leaves its id, and one kill by that id reaches all of them, whatever became of their
 * parents, and nobody else, whatever became of their pids. (The kernel counts processes per id, too: that is how their number is limited.)
 * The range lies behind that of native boxes (cay-warden/record.h). Behind it is one more id for each, which the one that kills has as its
 * real and saved id: with the box's as its effective one it may signal the box, and the box may not signal it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CAY_OWN_ID_FIRST 0x78000000u
#define CAY_OWN_IDS 4096u

struct cay_id_set { /* of all of them */
        uint64_t bits[CAY_OWN_IDS / 64];
};

static inline bool cay_own_id_is(uint64_t id)
{
        return id >= CAY_OWN_ID_FIRST && id < CAY_OWN_ID_FIRST + CAY_OWN_IDS;
}

static inline bool cay_id_set_has(const struct cay_id_set *set, uint32_t id)
{
        return set->bits[(id - CAY_OWN_ID_FIRST) / 64] >> (id - CAY_OWN_ID_FIRST) % 64 & 1;
}

static inline void cay_id_set_add(struct cay_id_set *set, uint32_t id)
{
        set->bits[(id - CAY_OWN_ID_FIRST) / 64] |= 1ull << (id - CAY_OWN_ID_FIRST) % 64;
}

/* Whether we may give them: we are root, and (in a user namespace) they are mapped, with those of the killers. */
bool cay_own_id_is_possible(void);
/* In a child that is about to be another program: uid, gid, no other group, and no way to another. 0 or -errno. */
int cay_own_id_become(uint32_t id);
/*
 * Kills every process of that id. 1: there is none (any more), but perhaps zombies; 0: there was one, look again; -errno: nobody knows.
 * Blocks for a moment, at the worst for two seconds.
 */
int cay_own_id_kill(uint32_t id);
/* Adds those that a file in the form of /etc/passwd or /etc/subuid gives to others: `field` is where the id is, has_count: how many follow it. */
void cay_own_id_read_given(struct cay_id_set *set, const char *path, unsigned field, bool has_count);
