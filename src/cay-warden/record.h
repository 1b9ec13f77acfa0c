/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records: one file per box in the run folder, named by the slot of host ids it uses, locked while its warden lives, and
 * naming everything that outlives a process before it is made. A record whose lock is free belongs to a dead run: the
 * next warden of any kind unmakes what it names.
 *
 * What needs no record because the kernel lets go by itself: processes (parent death), mounts and namespaces (the last process),
 * loop devices and images (unnamed file, autoclear).
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
 * Opens (and makes) the run folder: the machine's for root, else one of the caller's own. slots: how many boxes there are ids
 * for. hosts_ids: ids are taken from the host's space, so the ranges that it gave to others are left out.
 */
int cay_records_open(unsigned slots, bool hosts_ids, struct cay_error *err);
/* The warden ends: a folder in /tmp that is empty goes too. */
void cay_records_close(void);
/* Unmakes what dead runs left, and waits at most so long for all of it together; returns how many records were swept. */
unsigned cay_records_sweep(const struct sys_cgroup_host *host, unsigned wait_ms);
/* Takes a free slot and writes down what will be made for a box. */
int cay_record_make(struct cay_record *rec, const char *id, const struct sys_cgroup_host *host,
                    const char *cgroup_name, struct cay_error *err);
void cay_record_drop(struct cay_record *rec); /* everything it names is unmade; fine when there is none */
