/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the warm pool (pool.h). */
#include "domain/sandboxes/pool.h"

#include <stdlib.h>
#include <string.h>

#include "foundation/base/str.h"

int cay_pool_init(struct cay_pool *p, uint64_t bytes)
{
        uint64_t most = bytes / CAY_POOL_BOX_BYTES;

        *p = (struct cay_pool){ .most = most < CAY_POOL_BOXES_MAX ? (unsigned)most : CAY_POOL_BOXES_MAX,
                                .bytes_most = bytes };
        if (p->most == 0)
                return 0;
        p->boxes = calloc(p->most, sizeof(*p->boxes));
        return p->boxes != NULL ? 0 : -1;
}

void cay_pool_done(struct cay_pool *p)
{
        free(p->boxes);
        *p = (struct cay_pool){ 0 };
}

bool cay_pool_shape_equals(const struct cay_pool_shape *a, const struct cay_pool_shape *b)
{
        return strcmp(a->template_name, b->template_name) == 0 && a->engine == b->engine &&
               a->root_dev == b->root_dev && a->root_ino == b->root_ino && a->kind == b->kind &&
               a->memory_bytes == b->memory_bytes && a->swap_bytes == b->swap_bytes &&
               a->cpu_milli == b->cpu_milli && a->pids == b->pids && a->disk_bytes == b->disk_bytes &&
               a->inodes == b->inodes && a->may_skip == b->may_skip && a->read_only == b->read_only &&
               a->own_user_only == b->own_user_only && a->brief == b->brief && a->warm == b->warm &&
               strcmp(a->warm_modules, b->warm_modules) == 0;
}

static struct cay_pool_row *find_row(struct cay_pool *p, const struct cay_pool_shape *shape)
{
        for (unsigned i = 0; i < CAY_POOL_SHAPES_MAX; i++)
                if (p->rows[i].want > 0 && cay_pool_shape_equals(&p->rows[i].shape, shape))
                        return &p->rows[i];
        return NULL;
}

/* A free one; else that of the shape which was not asked for the longest, if it has no boxes. */
static struct cay_pool_row *new_row(struct cay_pool *p)
{
        struct cay_pool_row *oldest = NULL;

        for (unsigned i = 0; i < CAY_POOL_SHAPES_MAX; i++) {
                struct cay_pool_row *r = &p->rows[i];

                if (r->ready + r->making > 0)
                        continue;
                if (r->want == 0)
                        return r;
                if (oldest == NULL || r->used_ms < oldest->used_ms)
                        oldest = r;
        }
        return oldest;
}

static uint64_t bytes_of(const struct cay_pool_shape *s)
{
        return CAY_POOL_BOX_BYTES + (s->warm ? CAY_POOL_WARM_BYTES : 0);
}

static uint64_t count_bytes(const struct cay_pool *p)
{
        uint64_t bytes = 0;

        for (unsigned i = 0; i < CAY_POOL_SHAPES_MAX; i++)
                bytes += (p->rows[i].ready + p->rows[i].making) * bytes_of(&p->rows[i].shape);
        return bytes;
}

/* It was asked for in this second: how often, and in the busiest second of this slot. */
static void note_rate(struct cay_pool_row *r, uint64_t now_ms)
{
        uint64_t slot = now_ms / CAY_POOL_SLOT_MS, second = now_ms / 1000;
        unsigned *busiest = &r->busiest[slot % CAY_POOL_SLOTS];

        for (uint64_t i = slot - r->slot < CAY_POOL_SLOTS ? r->slot + 1 : slot - CAY_POOL_SLOTS + 1;
             i <= slot; i++)
                r->busiest[i % CAY_POOL_SLOTS] = 0;
        r->in_second = second == r->second ? r->in_second + 1 : 1;
        r->second = second;
        r->slot = slot;
        if (r->in_second > *busiest)
                *busiest = r->in_second;
}

/* 0 when nobody asked for it in all of the slots. */
static unsigned learned(const struct cay_pool_row *r, uint64_t now_ms)
{
        uint64_t slot = now_ms / CAY_POOL_SLOT_MS;
        unsigned most = 0;

        for (unsigned age = 0; age < CAY_POOL_SLOTS && age <= r->slot; age++)
                if (slot - (r->slot - age) < CAY_POOL_SLOTS &&
                    r->busiest[(r->slot - age) % CAY_POOL_SLOTS] > most)
                        most = r->busiest[(r->slot - age) % CAY_POOL_SLOTS];
        return most < CAY_POOL_BOXES_MAX ? most : CAY_POOL_BOXES_MAX;
}

static unsigned count_boxes(const struct cay_pool *p)
{
        unsigned count = 0;

        for (unsigned i = 0; i < CAY_POOL_SHAPES_MAX; i++)
                count += p->rows[i].ready + p->rows[i].making;
        return count;
}

static void take_out(struct cay_pool *p, struct cay_pool_box *b, struct cay_pool_box *ret)
{
        struct cay_pool_row *r = &p->rows[b->shape];

        if (b->state == CAY_POOL_READY)
                r->ready--;
        else
                r->making--;
        *ret = *b;
        *b = (struct cay_pool_box){ 0 };
}

static struct cay_pool_box *find_box(struct cay_pool *p, const char *id)
{
        for (unsigned i = 0; i < p->most; i++)
                if (p->boxes[i].state != CAY_POOL_FREE && strcmp(p->boxes[i].id, id) == 0)
                        return &p->boxes[i];
        return NULL;
}

bool cay_pool_is_of(struct cay_pool *p, const char *id, const void *engine)
{
        const struct cay_pool_box *b = find_box(p, id);

        return b != NULL && p->rows[b->shape].shape.engine == engine;
}

bool cay_pool_claim(struct cay_pool *p, const struct cay_pool_shape *shape, unsigned want, uint64_t now_ms,
                    struct cay_pool_box *ret)
{
        struct cay_pool_row *row = p->most > 0 ? find_row(p, shape) : NULL;
        struct cay_pool_box *oldest = NULL;

        if (p->most == 0 || (want == 0 && row == NULL))
                return false;
        if (row == NULL) {
                row = new_row(p);
                if (row == NULL)
                        return false;
                *row = (struct cay_pool_row){ .shape = *shape };
        }
        row->used_ms = now_ms;
        row->is_learned = want == CAY_POOL_LEARNED;
        note_rate(row, now_ms);
        row->want = row->is_learned ? learned(row, now_ms) : want;
        for (unsigned i = 0; i < p->most; i++) {
                struct cay_pool_box *b = &p->boxes[i];

                if (b->state == CAY_POOL_READY && &p->rows[b->shape] == row &&
                    (oldest == NULL || b->made_ms < oldest->made_ms))
                        oldest = b;
        }
        if (oldest == NULL) {
                p->missed++;
                return false;
        }
        take_out(p, oldest, ret);
        p->claimed++;
        return true;
}

static bool is_unused(const struct cay_pool_row *r, uint64_t now_ms)
{
        return r->want == 0 || now_ms - r->used_ms >= CAY_POOL_UNUSED_MS;
}

const struct cay_pool_shape *cay_pool_next(const struct cay_pool *p, uint64_t now_ms)
{
        const struct cay_pool_row *next = NULL;
        uint64_t bytes = count_bytes(p);

        if (count_boxes(p) >= p->most)
                return NULL;
        for (unsigned i = 0; i < CAY_POOL_SHAPES_MAX; i++) {
                const struct cay_pool_row *r = &p->rows[i];

                if (is_unused(r, now_ms) || r->ready + r->making >= r->want || now_ms < r->retry_ms ||
                    bytes + bytes_of(&r->shape) > p->bytes_most)
                        continue;
                if (next == NULL || r->ready + r->making < next->ready + next->making)
                        next = r;
        }
        return next != NULL ? &next->shape : NULL;
}

void cay_pool_begin(struct cay_pool *p, const struct cay_pool_shape *shape, const char *id)
{
        struct cay_pool_row *row = find_row(p, shape);

        for (unsigned i = 0; row != NULL && i < p->most; i++) {
                struct cay_pool_box *b = &p->boxes[i];

                if (b->state != CAY_POOL_FREE)
                        continue;
                *b = (struct cay_pool_box){ .state = CAY_POOL_MAKING, .shape = (unsigned)(row - p->rows) };
                cay_str_copy(b->id, sizeof(b->id), id);
                row->making++;
                return;
        }
}

bool cay_pool_end(struct cay_pool *p, const char *id, struct cay_pool_made *made, uint64_t now_ms)
{
        struct cay_pool_box *b = find_box(p, id), gone;

        if (b == NULL || b->state != CAY_POOL_MAKING)
                return false;
        if (made == NULL) {
                p->rows[b->shape].retry_ms = now_ms + CAY_POOL_RETRY_MS;
                p->failed++;
                take_out(p, b, &gone);
                return true;
        }
        b->state = CAY_POOL_READY;
        b->made_ms = now_ms;
        b->made = made;
        p->rows[b->shape].making--;
        p->rows[b->shape].ready++;
        return true;
}

bool cay_pool_drop(struct cay_pool *p, const char *id, struct cay_pool_box *ret)
{
        struct cay_pool_box *b = find_box(p, id);

        if (b == NULL)
                return false;
        take_out(p, b, ret);
        p->dropped++;
        return true;
}

const char *cay_pool_spare(struct cay_pool *p, const void *of_engine, uint64_t now_ms)
{
        for (unsigned i = 0; of_engine == NULL && i < CAY_POOL_SHAPES_MAX; i++)
                if (p->rows[i].is_learned) /* 0 would free a row that has boxes */
                        p->rows[i].want = learned(&p->rows[i], now_ms) > 0 ? learned(&p->rows[i], now_ms) : 1;
        for (unsigned i = 0; i < p->most; i++) {
                const struct cay_pool_box *b = &p->boxes[i];
                const struct cay_pool_row *r = &p->rows[b->shape];

                if (b->state == CAY_POOL_FREE)
                        continue;
                if (of_engine != NULL
                            ? r->shape.engine == of_engine
                            : b->state == CAY_POOL_READY && (is_unused(r, now_ms) || r->ready > r->want ||
                                                             now_ms - b->made_ms >= CAY_POOL_AGE_MS))
                        return b->id;
        }
        return NULL;
}

void cay_pool_figures(const struct cay_pool *p, struct cay_pool_figures *ret)
{
        *ret = (struct cay_pool_figures){ .most = p->most,
                                          .bytes = count_bytes(p),
                                          .bytes_most = p->bytes_most,
                                          .claimed = p->claimed,
                                          .missed = p->missed,
                                          .failed = p->failed,
                                          .dropped = p->dropped };
        for (unsigned i = 0; i < CAY_POOL_SHAPES_MAX; i++) {
                ret->ready += p->rows[i].ready;
                ret->making += p->rows[i].making;
                ret->wanted += p->rows[i].want;
                ret->warm += p->rows[i].shape.warm ? p->rows[i].ready : 0;
        }
}
