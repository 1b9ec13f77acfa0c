/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records: one file per box in the run folder, named by the slot of host ids it uses, locked while its warden
 * lives, and listing everything that outlives a process before it is made. A record with a free lock belongs
 * to a dead run: the next warden of any kind removes what it lists.
 *
 * Released by the kernel, so no record is needed: processes (parent death), mounts and namespaces (the last
 * process), loop devices and images (unnamed file, autoclear).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/error.h"
#include "foundation/sys/cgroup.h"

#define CAY_RECORD_SLOTS 2048u
#define CAY_RECORD_IDS 65536u           /* host ids per slot */
#define CAY_RECORD_FIRST_ID 0x70000000u /* above what distributions and systemd hand out */

struct cay_record {
        int fd; /* locked; -1: none */
        unsigned slot;
};

/*
 * Opens (and makes) the run folder: the machine's for root, else one of the caller. slots: number of boxes
 * for which there are ids. hosts_ids: ids are taken from the host's space, so ranges assigned to others are
 * skipped.
 */
int cay_records_open(unsigned slots, bool hosts_ids, struct cay_error *err);
/* The warden ends: a folder in /tmp that is empty goes too. */
void cay_records_close(void);
/*
 * Removes what dead runs left, and waits at most this long for all of it together; returns how many records
 * were swept. own: NULL, or the caller's record, which has made nothing yet.
 */
unsigned cay_records_sweep(const struct sys_cgroup_host *host, const struct cay_record *own,
                           unsigned wait_ms);
/* Whether the last sweep left something that did not die, or could not be removed, in its time. */
bool cay_records_are_stuck(void);
/* Takes a free slot and records what will be made for a box. */
int cay_record_make(struct cay_record *rec, const char *id, const struct sys_cgroup_host *host,
                    const char *cgroup_name, struct cay_error *err);
/*
 * After the first thing that it names was made: from now on nobody takes that for another box's. 0 or -errno.
 */
int cay_record_note_made(const struct cay_record *rec);
void cay_record_drop(struct cay_record *rec); /* everything it names is removed; allowed when there is none */
