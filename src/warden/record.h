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

#include <stdint.h>

#include "base/error.h"
#include "sys/cgroup.h"

#define CAY_RECORD_SLOTS 2048u
#define CAY_RECORD_IDS 65536u           /* host ids per slot */
#define CAY_RECORD_FIRST_ID 0x70000000u /* above what distributions and systemd hand out */

struct cay_record {
        int fd; /* locked; -1: none */
        unsigned slot;
        uint32_t first_id; /* of CAY_RECORD_IDS host ids */
};

/* Opens (and makes) the run folder; remembers id ranges that the host gave to others. */
int cay_records_open(struct cay_error *err);
/* Unmakes what dead runs left; returns how many records were swept. */
unsigned cay_records_sweep(const struct sys_cgroup_host *host);
/* Takes a free slot and writes down what will be made for a box. */
int cay_record_make(struct cay_record *rec, const char *id, const struct sys_cgroup_host *host,
                    const char *cgroup_name, struct cay_error *err);
void cay_record_drop(struct cay_record *rec); /* everything it names is unmade; fine when there is none */
