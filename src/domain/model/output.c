/* SPDX-License-Identifier: Apache-2.0 */
/* Two rings, bytes and runs, that advance together. */
#include "domain/model/output.h"

#include <assert.h>
#include <errno.h>

#include "foundation/base/banned.h"
#include "foundation/base/cleanup.h"

#define RUN_BYTES 128 /* one run for so many bytes of ring, on average */
#define RUNS_MIN 16

int cay_output_init(struct cay_output *o, size_t size)
{
        unsigned runs = (unsigned)(size / RUN_BYTES) + RUNS_MIN;
        cay_auto_free uint8_t *ring = malloc(size);
        cay_auto_free struct cay_output_run *table = calloc(runs, sizeof(*table));

        assert(size > 0 && size / RUN_BYTES < UINT32_MAX / 2);
        if (ring == NULL || table == NULL)
                return -ENOMEM;
        *o = (struct cay_output){
                .ring = cay_take(ring), .runs = cay_take(table), .size = size, .run_cap = runs
        };
        return 0;
}

void cay_output_done(struct cay_output *o)
{
        free(o->ring);
        free(o->runs);
        *o = (struct cay_output){ 0 };
}

static struct cay_output_run *run_at(const struct cay_output *o, unsigned index)
{
        return &o->runs[(o->run_first + index) % o->run_cap];
}

static uint64_t run_end(const struct cay_output *o, unsigned index)
{
        return index + 1 < o->run_count ? run_at(o, index + 1)->start : o->end;
}

/*
 * The low-water mark that the writer must not overwrite: the slowest strict watcher's position, else the end
 * itself.
 */
static uint64_t wall(const struct cay_output *o)
{
        uint64_t lowest = o->end;

        for (const struct cay_output_watcher *w = o->watchers; w != NULL; w = w->next)
                if (w->strict && w->at < lowest)
                        lowest = w->at;
        return lowest < o->oldest ? o->oldest : lowest;
}

size_t cay_output_room(const struct cay_output *o)
{
        return o->size - (size_t)(o->end - wall(o));
}

/* Forgets everything before `upto`. */
static void forget(struct cay_output *o, uint64_t upto)
{
        if (upto <= o->oldest)
                return;
        o->oldest = upto;
        while (o->run_count > 0 && run_end(o, 0) <= upto) {
                o->run_first = (o->run_first + 1) % o->run_cap;
                o->run_count--;
        }
        if (o->run_count > 0 && run_at(o, 0)->start < upto)
                run_at(o, 0)->start = upto;
}

/*
 * Makes sure the last run is one of `stream`: false when the table is full of what strict watchers still
 * need.
 */
static bool begin_run(struct cay_output *o, unsigned stream)
{
        if (o->run_count > 0 && run_at(o, o->run_count - 1)->stream == stream)
                return true;
        if (o->run_count == o->run_cap) {
                if (run_end(o, 0) > wall(o))
                        return false;
                forget(o, run_end(o, 0));
        }
        *run_at(o, o->run_count++) = (struct cay_output_run){ .start = o->end, .stream = stream };
        return true;
}

size_t cay_output_put(struct cay_output *o, unsigned stream, const void *bytes, size_t len)
{
        size_t room = cay_output_room(o), at, first;

        assert(!o->complete);
        if (len > room)
                len = room;
        if (len == 0 || !begin_run(o, stream))
                return 0;
        if (o->end + len - o->oldest > o->size)
                forget(o, o->end + len - o->size);
        at = (size_t)(o->end % o->size);
        first = len < o->size - at ? len : o->size - at;
        memcpy(o->ring + at, bytes, first);
        memcpy(o->ring, (const uint8_t *)bytes + first, len - first);
        /* forget() may have dropped the new, still empty run together with all others. */
        if (o->run_count == 0)
                *run_at(o, o->run_count++) = (struct cay_output_run){ .start = o->oldest, .stream = stream };
        o->end += len;
        return len;
}

void cay_output_complete(struct cay_output *o)
{
        o->complete = true;
}

void cay_output_watch(struct cay_output *o, struct cay_output_watcher *w, uint64_t from, bool strict)
{
        *w = (struct cay_output_watcher){ .at = from < o->end ? from : o->end,
                                          .strict = strict,
                                          .next = o->watchers };
        o->watchers = w;
}

void cay_output_unwatch(struct cay_output *o, struct cay_output_watcher *w)
{
        for (struct cay_output_watcher **p = &o->watchers; *p != NULL; p = &(*p)->next) {
                if (*p == w) {
                        *p = w->next;
                        w->next = NULL;
                        return;
                }
        }
}

/* Index of the run that holds an offset in [oldest, end). */
static unsigned find_run(const struct cay_output *o, uint64_t offset)
{
        unsigned low = 0, high = o->run_count - 1;

        while (low < high) {
                unsigned middle = low + (high - low + 1) / 2;

                if (run_at(o, middle)->start <= offset)
                        low = middle;
                else
                        high = middle - 1;
        }
        return low;
}

size_t cay_output_peek(struct cay_output *o, struct cay_output_watcher *w, unsigned *ret_stream,
                       const uint8_t **ret, uint64_t *ret_missed)
{
        uint64_t missed = 0;
        size_t at, len;
        unsigned run;

        if (w->at < o->oldest) {
                missed = o->oldest - w->at;
                w->at = o->oldest;
        }
        *ret_missed = missed;
        if (w->at >= o->end)
                return 0;
        run = find_run(o, w->at);
        len = (size_t)(run_end(o, run) - w->at);
        at = (size_t)(w->at % o->size);
        if (len > o->size - at)
                len = o->size - at;
        *ret_stream = run_at(o, run)->stream;
        *ret = o->ring + at;
        return len;
}

void cay_output_consume(struct cay_output_watcher *w, size_t len)
{
        w->at += len;
}

bool cay_output_is_read(const struct cay_output *o, const struct cay_output_watcher *w)
{
        return o->complete && w->at >= o->end;
}
