/* SPDX-License-Identifier: Apache-2.0 */
/* Who has the pointer and the keys of which desktop. */
#include "domain/desktop/seats.h"

#include <stdlib.h>
#include <string.h>

#include "foundation/base/str.h"

struct seat {
        char sandbox[CAY_SEAT_NAME_MAX + 1]; /* "": free */
        const void *holder;                  /* compared only; NULL: nobody */
        uint64_t input_ms;                   /* of the holder's last input */
        uint64_t used_ms;
        bool holds; /* keys or buttons are down */
        bool has_pointer;
        unsigned x, y;
};

struct cay_seats {
        struct seat items[CAY_SEATS_MAX];
};

struct cay_seats *cay_seats_new(void)
{
        return calloc(1, sizeof(struct cay_seats));
}

void cay_seats_free(struct cay_seats *s)
{
        free(s);
}

static struct seat *find(const struct cay_seats *s, const char *sandbox)
{
        for (unsigned i = 0; s && i < CAY_SEATS_MAX; i++)
                if (strcmp(s->items[i].sandbox, sandbox) == 0)
                        return (struct seat *)&s->items[i];
        return NULL;
}

static struct seat *get(struct cay_seats *s, const char *sandbox, uint64_t now_ms)
{
        struct seat *seat = find(s, sandbox);

        if (!seat) {
                seat = &s->items[0];
                for (unsigned i = 1; i < CAY_SEATS_MAX; i++)
                        if (s->items[i].used_ms < seat->used_ms)
                                seat = &s->items[i];
                *seat = (struct seat){ 0 };
                cay_str_copy(seat->sandbox, sizeof(seat->sandbox), sandbox);
        }
        seat->used_ms = now_ms;
        return seat;
}

static bool is_others(const struct seat *seat, const void *who, uint64_t now_ms)
{
        return seat->holder && seat->holder != who &&
               now_ms < seat->input_ms + (seat->holds ? CAY_SEAT_HELD_MS : CAY_SEAT_IDLE_MS);
}

bool cay_seat_take(struct cay_seats *s, const char *sandbox, const void *who, uint64_t now_ms)
{
        struct seat *seat;

        if (!s)
                return true;
        seat = get(s, sandbox, now_ms);
        if (is_others(seat, who, now_ms))
                return false;
        if (seat->holder != who)
                seat->holds = false;
        seat->holder = who;
        seat->input_ms = now_ms;
        return true;
}

void cay_seat_hold(struct cay_seats *s, const char *sandbox, const void *who, bool holds)
{
        struct seat *seat = find(s, sandbox);

        if (seat && seat->holder == who)
                seat->holds = holds;
}

void cay_seat_leave(struct cay_seats *s, const char *sandbox, const void *who)
{
        struct seat *seat = find(s, sandbox);

        if (seat && seat->holder == who)
                seat->holder = NULL;
}

void cay_seat_point(struct cay_seats *s, const char *sandbox, unsigned x, unsigned y, uint64_t now_ms)
{
        struct seat *seat = s ? get(s, sandbox, now_ms) : NULL;

        if (!seat)
                return;
        seat->has_pointer = true;
        seat->x = x;
        seat->y = y;
}

bool cay_seat_pointer(const struct cay_seats *s, const char *sandbox, unsigned *ret_x, unsigned *ret_y)
{
        const struct seat *seat = find(s, sandbox);

        if (!seat || !seat->has_pointer)
                return false;
        *ret_x = seat->x;
        *ret_y = seat->y;
        return true;
}

void cay_seat_forget(struct cay_seats *s, const char *sandbox)
{
        struct seat *seat = find(s, sandbox);

        if (seat)
                *seat = (struct seat){ 0 };
}
