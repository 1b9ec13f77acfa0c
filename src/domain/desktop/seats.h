/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may move the pointer and press keys on which desktop: one at a time. Whoever sends input first has the
 * seat, and keeps it until it leaves or has sent nothing for CAY_SEAT_IDLE_MS; while it holds a key or a
 * button down, for CAY_SEAT_HELD_MS. The input of others is not passed on meanwhile. Beside that the last
 * position of the pointer is remembered, since RFB has no question for it.
 *
 * The table is of fixed size. When it is full, the desktop that was unused for longest is forgotten.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CAY_SEATS_MAX 256u
#define CAY_SEAT_IDLE_MS 3000u
#define CAY_SEAT_HELD_MS 60000u
#define CAY_SEAT_NAME_MAX 63u

struct cay_seats;

struct cay_seats *cay_seats_new(void);    /* NULL: no memory */
void cay_seats_free(struct cay_seats *s); /* NULL is fine */

/* Whether `who` (any address of its own) may send input now; then it has the seat. s NULL: everybody may. */
bool cay_seat_take(struct cay_seats *s, const char *sandbox, const void *who, uint64_t now_ms);
/* Whether its holder has keys or buttons down. Others are ignored. */
void cay_seat_hold(struct cay_seats *s, const char *sandbox, const void *who, bool holds);
void cay_seat_leave(struct cay_seats *s, const char *sandbox, const void *who);

void cay_seat_point(struct cay_seats *s, const char *sandbox, unsigned x, unsigned y, uint64_t now_ms);
bool cay_seat_pointer(const struct cay_seats *s, const char *sandbox, unsigned *ret_x,
                      unsigned *ret_y);                         /* false: not known */
void cay_seat_forget(struct cay_seats *s, const char *sandbox); /* its desktop is another one now */
