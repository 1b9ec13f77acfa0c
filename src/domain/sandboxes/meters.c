/* SPDX-License-Identifier: Apache-2.0 */
/* Counts by owner. */
#include "domain/sandboxes/meters.h"

#include <stdlib.h>
#include <string.h>

#include "foundation/base/str.h"

static struct cay_owner_meter *find(const struct cay_meters *m, const char *owner)
{
        for (unsigned i = 0; i < m->count; i++)
                if (strcmp(m->owners[i]->owner, owner) == 0)
                        return m->owners[i];
        return NULL;
}

static unsigned find_oldest(const struct cay_meters *m)
{
        unsigned oldest = 0;

        for (unsigned i = 1; i < m->count; i++)
                if (m->owners[i]->used < m->owners[oldest]->used)
                        oldest = i;
        return oldest;
}

/* NULL: no memory. Then an owner's figures are too low, which does not justify failing the request. */
static struct cay_owner_meter *add(struct cay_meters *m, const char *owner)
{
        struct cay_owner_meter *o = calloc(1, sizeof(*o));
        unsigned at = m->count;

        if (!o)
                return NULL;
        if (at == CAY_METER_OWNERS) {
                at = find_oldest(m);
                free(m->owners[at]);
        } else {
                m->count++;
        }
        cay_str_copy(o->owner, sizeof(o->owner), owner);
        m->owners[at] = o;
        return o;
}

static struct cay_service_meter *use(struct cay_meters *m, const char *owner)
{
        struct cay_owner_meter *o = find(m, owner);

        if (!o && owner[0] && strlen(owner) <= CAY_NAME_MAX)
                o = add(m, owner);
        if (!o)
                return NULL;
        o->used = ++m->turn;
        return &o->meter;
}

static void note(struct cay_service_meter *m, enum cay_meter_event what, uint64_t us)
{
        switch (what) {
        case CAY_METER_CREATE_ASKED:
                m->creates++;
                break;
        case CAY_METER_CREATE_FAILED:
                m->create_failures++;
                break;
        case CAY_METER_CREATE_DONE:
                cay_latency_add(&m->create, us);
                break;
        case CAY_METER_EXEC_STARTED:
                m->execs++;
                break;
        case CAY_METER_EXEC_RUNS:
                cay_latency_add(&m->exec_start, us);
                break;
        case CAY_METER_EVENT_COUNT:
                break;
        }
}

static void note_end(struct cay_service_meter *m, enum cay_cause cause, uint64_t run_us, uint64_t cpu_us)
{
        m->exec_ends[cause]++;
        m->exec_cpu_us += cpu_us;
        if (run_us > 0)
                cay_latency_add(&m->exec_run, run_us);
}

void cay_meters_note(struct cay_meters *m, const char *owner, enum cay_meter_event what, uint64_t us)
{
        struct cay_service_meter *own = use(m, owner);

        note(&m->all, what, us);
        if (own)
                note(own, what, us);
}

void cay_meters_note_end(struct cay_meters *m, const char *owner, enum cay_cause cause, uint64_t run_us,
                         uint64_t cpu_us)
{
        struct cay_service_meter *own = use(m, owner);

        note_end(&m->all, cause, run_us, cpu_us);
        if (own)
                note_end(own, cause, run_us, cpu_us);
}

const struct cay_service_meter *cay_meters_of(const struct cay_meters *m, const char *owner)
{
        static const struct cay_service_meter nothing;
        const struct cay_owner_meter *o = find(m, owner);

        return o ? &o->meter : &nothing;
}

void cay_meters_done(struct cay_meters *m)
{
        for (unsigned i = 0; i < m->count; i++)
                free(m->owners[i]);
        m->count = 0;
}
