/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Meters: the whole service's and, for those who are shown nothing of others, one for each owner.
 *
 * Theory of operation. What happens is noted twice, for all and for the sandbox's owner. An owner's meter is made when something of theirs
 * happens for the first time and costs memory for the minutes in which something did (window.h). There is room for CAY_METER_OWNERS; the
 * next one takes the place of the owner of whom nothing was heard for the longest time, whose counts begin anew when they are back.
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
/* A command is over; run_us is 0 when nobody measured it. */
void cay_meters_note_end(struct cay_meters *m, const char *owner, enum cay_cause cause, uint64_t run_us,
                         uint64_t cpu_us);
/* An owner's; one of whom nothing is known has an empty one. Borrowed until the next event. */
const struct cay_service_meter *cay_meters_of(const struct cay_meters *m, const char *owner);
void cay_meters_done(struct cay_meters *m);
