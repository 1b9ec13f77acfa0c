/* SPDX-License-Identifier: Apache-2.0 */
/* A line that is redrawn. */
#include "cay/cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "foundation/base/clock.h"
#include "cay/cli/safe.h"
#include "cay/cli/table.h"

#define FIRST_MS 500u
#define AGAIN_MS 100u
#define WIDTH 30u

void cay_progress_begin(struct cay_progress *p, bool quiet, uint64_t total)
{
        *p = (struct cay_progress){ .is_on = !quiet && cay_safe_has_colours(stderr),
                                    .total = total,
                                    .started_ms = cay_clock_ms() };
}

static void draw(struct cay_progress *p, uint64_t bytes, uint64_t took_ms)
{
        char done[16], all[16], rate[16], bar[WIDTH + 1];
        unsigned filled = p->total > 0 ? (unsigned)((double)bytes * WIDTH / (double)p->total) : 0;

        cay_bytes_text(bytes, done, sizeof(done));
        cay_bytes_text(took_ms > 0 ? bytes * 1000 / took_ms : 0, rate, sizeof(rate));
        if (p->total == 0) {
                fprintf(stderr, "\r\033[K%s  %s/s", done, rate);
                return;
        }
        filled = filled > WIDTH ? WIDTH : filled;
        memset(bar, '#', filled);
        memset(bar + filled, ' ', WIDTH - filled);
        bar[WIDTH] = '\0';
        fprintf(stderr, "\r\033[K[%s] %3u%%  %s of %s  %s/s", bar, filled * 100 / WIDTH, done,
                cay_bytes_text(p->total, all, sizeof(all)), rate);
}

void cay_progress_at(struct cay_progress *p, uint64_t bytes)
{
        uint64_t now_ms;

        if (!p->is_on)
                return;
        now_ms = cay_clock_ms();
        if (now_ms - p->started_ms < FIRST_MS || now_ms - p->drawn_ms < AGAIN_MS)
                return;
        p->drawn_ms = now_ms;
        p->is_drawn = true;
        draw(p, bytes, now_ms - p->started_ms);
}

void cay_progress_end(struct cay_progress *p)
{
        if (p->is_drawn)
                fprintf(stderr, "\r\033[K");
        p->is_drawn = false;
}
