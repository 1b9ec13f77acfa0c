/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Meters: one for the whole service, and one for each owner, for those who may not see others' figures.
 *
 * Theory of operation. Everything is counted twice, for all and for the sandbox's owner. An owner's meter is
 * made at the owner's first event, and uses memory only for the minutes in which something happened
 * (window.h). There is room for CAY_METER_OWNERS. The next owner evicts the one with the oldest last event,
 * whose counts start again at zero on return.
 */
#pragma once

#include "foundation/base/id.h"
#include "domain/sandboxes/meter.h"

#define CAY_METER_OWNERS 64u

enum cay_meter_event {
        CAY_METER_CREATE_ASKED, /* starts too */
        CAY_METER_CREATE_FAILED,
        CAY_METER_CREATE_DONE, /* took so long */
        CAY_METER_EXEC_STARTED,
        CAY_METER_EXEC_RUNS, /* took so long */
        CAY_METER_EVENT_COUNT
};

struct cay_meters { /* zeroed */
        struct cay_service_meter all;
        /* private */
        struct cay_owner_meter {
                char owner[CAY_NAME_MAX + 1];
                uint64_t used; /* turn of its last event */
                struct cay_service_meter meter;
        } * owners[CAY_METER_OWNERS]; /* owned */
        unsigned count;
        uint64_t turn;
};

void cay_meters_note(struct cay_meters *m, const char *owner, enum cay_meter_event what, uint64_t us);
/* A command ended; run_us is 0 if it was not measured. */
void cay_meters_note_end(struct cay_meters *m, const char *owner, enum cay_cause cause, uint64_t run_us,
                         uint64_t cpu_us);
/* An owner's; an unknown owner has an empty one. Borrowed until the next event. */
const struct cay_service_meter *cay_meters_of(const struct cay_meters *m, const char *owner);
void cay_meters_done(struct cay_meters *m);
