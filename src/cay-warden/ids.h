/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which host ids a box has, and who assigns them.
 *
 * Theory of operation. With the host's root, every box gets a range of 65,536 unused ids. A user without root
 * has, at best, their own range in /etc/subuid and /etc/subgid. It is divided into slices, so that two boxes
 * of one user share no id either, and two programs of the distribution (newuidmap, newgidmap) write the maps.
 * Without a range there is one id, the caller's own: in the box it is the sandbox's user, and cay-init has to
 * share it. One id of the box can be pinned to an id of the host where mounts cannot shift ids: the owner of
 * a mapped workspace is then the sandbox's user, the owner of a rootfs is the box's root. Never to the host's
 * root.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "foundation/base/error.h"
#include "foundation/sys/idmap.h"

#define CAY_BOX_USER 1001u
#define CAY_BOX_INIT_USER 65533u
#define CAY_IDS_SLICE 2048u /* of a person's range, per box */
#define CAY_IDS_EXTENTS_MAX 5u

enum cay_ids_source {
        CAY_IDS_HOST,  /* a range of the host's, mapped by root */
        CAY_IDS_RANGE, /* a slice of the caller's own range */
        CAY_IDS_ONE,   /* the caller's own id and no other */
};

struct cay_ids_pool { /* what boxes of this warden are given ids from; read once */
        enum cay_ids_source source;
        uint32_t first_uid, first_gid; /* of the whole pool */
        unsigned slots;                /* number of boxes that it is enough for */
};

struct cay_ids { /* of one box */
        enum cay_ids_source source;
        struct sys_idmap uids[CAY_IDS_EXTENTS_MAX], gids[CAY_IDS_EXTENTS_MAX];
        unsigned extents;   /* of each */
        uint32_t first_uid; /* host id that starts the box (CAY_IDS_HOST) */
        uint32_t init_user; /* inside */
        bool has_root;      /* 0 is mapped inside */
};

/*
 * Examines the caller's ids. -1: only an id that no box may have (root's, without the right to map others).
 */
int cay_ids_pool_open(struct cay_ids_pool *pool, struct cay_error *err);
/*
 * The ids of the box in this slot; pin: an inside id (CAY_BOX_USER or 0) that is to be uid:gid outside, or
 * NULL.
 */
struct cay_id_pin {
        uint32_t inside;
        uid_t uid;
        gid_t gid;
};
void cay_ids_choose(struct cay_ids *ids, const struct cay_ids_pool *pool, unsigned slot,
                    const struct cay_id_pin *pin);
/* Assigns them to the user namespace that `pid` was created in. */
int cay_ids_give(const struct cay_ids *ids, pid_t pid, struct cay_error *err);
/* Host id of an inside one; false: not mapped. */
bool cay_ids_outside(const struct cay_ids *ids, uint32_t inside, uint32_t *ret_uid);

/* Whether a uid_map maps all of [first, first+count). Pure. */
bool cay_ids_map_covers(const char *map, uint32_t first, uint64_t count);
/*
 * "name:first:count" lines: the first range of at least `least` ids for this user (by name or number). Pure.
 */
bool cay_ids_find_range(const char *text, const char *name, uint32_t uid, uint32_t least, uint32_t *ret_first,
                        uint32_t *ret_count);
