/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host ids for boxes of a root process: one each, as long as the box lives.
 *
 * Theory of operation. A root process must not run boxes as root, and one id for all of them would let each
 * signal and trace the others. With its own id a box owns only its folder, its processes and their files.
 * no_new_privs is inherited, so no process ever leaves its id. One kill by that id reaches exactly these
 * processes, independent of parents and pids. (The kernel counts processes per id, too: that is how their
 * number is limited.) The range follows that of native boxes (cay-warden/record.h). It is followed by one
 * more id for each, which the killer has as its real and saved id: with the box's as its effective one it may
 * signal the box, and the box may not signal it.
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

/*
 * Whether we may assign them: we are root, and (in a user namespace) they are mapped, with those of the
 * killers.
 */
bool cay_own_id_is_possible(void);
/* In a child before exec: sets uid and gid, drops other groups, and prevents another change. 0 or -errno. */
int cay_own_id_become(uint32_t id);
/*
 * Kills every process of that id. 1: there is none (any more), except perhaps zombies; 0: there was one,
 * check again; -errno: unknown. Blocks briefly, at worst for two seconds.
 */
int cay_own_id_kill(uint32_t id);
/*
 * Adds ids that a file in the form of /etc/passwd or /etc/subuid assigns to others: `field` is where the id
 * is, has_count: how many follow it.
 */
void cay_own_id_read_given(struct cay_id_set *set, const char *path, unsigned field, bool has_count);
