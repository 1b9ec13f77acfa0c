/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Design rows 7 and 8: what idle sandboxes take of the machine's available memory, kernel included; and what front and warden take
 * themselves while thousands of sandboxes come and go.
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon_rows.h"

enum { ALIVE = 100, SETTLE_MS = 1000, LOOKS = 5 };

int row_idle(struct bench *b)
{
        char(*ids)[64] = calloc(ALIVE, sizeof(*ids));
        struct resident front[2], warden[2];
        long available[2];
        int made = 0, r = 0;

        if (!ids)
                return -1;
        usleep(SETTLE_MS * 1000);
        front[0] = daemon_resident(b->daemon.front);
        warden[0] = daemon_resident(b->daemon.warden);
        available[0] = daemon_available_kib();
        while (made < ALIVE && r == 0) {
                r = bench_create(&b->client, "{}", ids[made], sizeof(ids[made]));
                made += r == 0;
        }
        usleep(SETTLE_MS * 1000);
        front[1] = daemon_resident(b->daemon.front);
        warden[1] = daemon_resident(b->daemon.warden);
        available[1] = daemon_available_kib();
        if (r == 0)
                printf("| %d idle sandboxes | KiB each |\n|---|---|\n| available memory of the machine, all "
                       "told | %ld |\n"
                       "| of it: the front's resident memory | %ld |\n| of it: the warden's | %ld "
                       "|\n\nWanted: at most 1024 KiB each.\n\n",
                       ALIVE, (available[0] - available[1]) / ALIVE, (front[1].now - front[0].now) / ALIVE,
                       (warden[1].now - warden[0].now) / ALIVE);
        while (made-- > 0)
                if (bench_destroy(&b->client, ids[made]) < 0)
                        r = -1;
        free(ids);
        return r;
}

static int make_and_unmake(struct bench *b, int count)
{
        char id[64];

        for (int i = 0; i < count; i++)
                if (bench_create(&b->client, "{}", id, sizeof(id)) < 0 || bench_true(&b->client, id) < 0 ||
                    bench_destroy(&b->client, id) < 0)
                        return -1;
        return 0;
}

static void print_look(struct bench *b, int made)
{
        struct resident front = daemon_resident(b->daemon.front), warden = daemon_resident(b->daemon.warden);

        printf("| %d | %ld | %ld | %.1f | %.1f | %ld | %ld |\n", made, front.now, warden.now,
               (double)(front.now + warden.now) / 1024, (double)(front.peak + warden.peak) / 1024,
               daemon_fds(b->daemon.front), daemon_fds(b->daemon.warden));
        fflush(stdout);
}

int row_steady(struct bench *b)
{
        double begin = figures_now_ms(), seconds;

        printf("| sandboxes made, used and unmade | front KiB | warden KiB | together MiB | at most MiB | "
               "front's descriptors | warden's |\n"
               "|---|---|---|---|---|---|---|\n");
        print_look(b, 0);
        for (int i = 0; i < LOOKS; i++) {
                if (make_and_unmake(b, b->sandboxes / LOOKS) < 0)
                        return -1;
                print_look(b, b->sandboxes / LOOKS * (i + 1));
        }
        seconds = (figures_now_ms() - begin) / 1e3;
        printf("\nWanted: at most 15 MiB together, flat. It took %.0f s: %.0f a second, one after the "
               "other.\n\n",
               seconds, b->sandboxes / seconds);
        return 0;
}
