/* SPDX-License-Identifier: Apache-2.0 */
/* Shared blocks of layers. See room_shared.h for the theory. */
#include "cay-warden/room_shared.h"

#include <errno.h>
#include <fcntl.h>

#include "foundation/base/clock.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/loopdev.h"
#include "cay-warden/keep.h"

#define OLD_MS 1000           /* a figure is read again after so long, while room is short */
#define STEP (64ull << 20)    /* more than a box overwrites between two looks */
#define PLENTY (512ull << 20) /* so much above what is needed: nothing is kept back */

static uint64_t least(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

bool warden_shared_can(int layers)
{
        static const char block[4096] = { 1 };
        cay_auto_close int from = sys_open_at(layers, ".", O_TMPFILE | O_RDWR, 0600);
        cay_auto_close int to = sys_open_at(layers, ".", O_TMPFILE | O_RDWR, 0600);

        return from >= 0 && to >= 0 && sys_write_all(from, block, sizeof(block)) == 0 &&
               sys_layer_image_can_share(from, to);
}

void warden_shared_read(struct warden *w, struct warden_box *box)
{
        uint64_t had = 0, own = 0, bytes;

        box->room.shared = 0;
        box->room.shared_at_ms = cay_clock_ms();
        if (!w->can_share || cay_keep_measure(w->layers, box->plan.id, &bytes, &had) < 0)
                return;
        if (cay_keep_measure_own(w->layers, box->plan.id, &own) < 0)
                own = 0;
        box->room.shared = had - least(had, own);
}

void warden_shared_read_next(struct warden *w)
{
        uint64_t now = cay_clock_ms();

        for (unsigned i = 0; i < w->rows; i++) {
                struct warden_box *box = &w->boxes[i];

                if (box->state != BOX_LIVE || !box->kept || box->room.shared == 0 ||
                    now - box->room.shared_at_ms < OLD_MS)
                        continue;
                warden_shared_read(w, box);
                return;
        }
}

void warden_shared_note_copy(struct warden *w, struct warden_box *box)
{
        uint64_t bytes, had;

        if (w->can_share && cay_keep_measure(w->layers, box->plan.id, &bytes, &had) == 0)
                box->room.shared = had;
        box->room.shared_at_ms = cay_clock_ms();
}

uint64_t warden_shared_kept(const struct warden *w)
{
        return w->reserve - least(w->reserve, KEEP_RESERVE);
}

static void set_reserve(struct warden *w, uint64_t bytes)
{
        if (bytes != w->reserve && cay_keep_reserve(w->disk, bytes) == 0)
                w->reserve = bytes;
}

void warden_shared_keep_back(struct warden *w, uint64_t shared, uint64_t avail, uint64_t margin)
{
        uint64_t kept = warden_shared_kept(w), low = least(STEP, margin) / 2;

        if (w->reserve < KEEP_RESERVE) /* even the first blocks are gone (room.c) */
                return;
        if (kept > shared || (kept > 0 && avail + kept > margin + 3 * shared + 2 * PLENTY)) {
                set_reserve(w, KEEP_RESERVE + (kept > shared ? shared : 0));
        } else if (kept > 0 && avail < low) { /* a little at a time: others could take it as well */
                set_reserve(w, w->reserve - least(kept, low - avail + STEP / 4));
        } else if (kept < shared && avail > margin && avail + kept < margin + 2 * shared + PLENTY) {
                set_reserve(w, w->reserve + least(shared - kept, avail - margin));
        }
}
