/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Design rows 7 and 8: what idle sandboxes take of memory, kernel included; and what front and warden take
 * themselves while thousands of sandboxes come and go.
 *
 * "All told" is a sum of what the kernel counts, not of what the machine has left: MemAvailable moves by tens
 * of megabytes by itself (caches, pages on their way to the disk), which is more than a hundred idle
 * sandboxes take. Counted are the sandboxes' processes (PSS of smaps_rollup: shared pages in equal parts),
 * the growth of front and warden, and the growth of what the kernel has for itself and cannot give back:
 * SUnreclaim, KernelStack, PageTables, Percpu, and Shmem (a sandbox's tmpfs). Other programs' growth counts
 * as ours: on a quiet machine there is none.
 */

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon_rows.h"
#include "goals.h"

enum { ALIVE = 100, SETTLE_MS = 1000, LOOKS = 5 };

struct look { /* KiB */
        struct resident front, warden;
        long kernel[5];
        long boxes; /* PSS of all of their processes */
};

static const char *const kernel_keys[] = { "SUnreclaim:", "KernelStack:", "PageTables:", "Percpu:",
                                           "Shmem:" };

static bool is_child(long pid, pid_t parent)
{
        char path[64];

        snprintf(path, sizeof(path), "/proc/%ld/status", pid);
        return daemon_field(path, "PPid:") == parent;
}

static long pss_of(long pid)
{
        char path[64];
        long kib;

        snprintf(path, sizeof(path), "/proc/%ld/smaps_rollup", pid);
        kib = daemon_field(path, "Pss:");
        return kib > 0 ? kib : 0;
}

/* An idle sandbox is one process: cay-init, a child of the warden's. */
static long sum_boxes(pid_t warden)
{
        DIR *proc = opendir("/proc");
        const struct dirent *e;
        long sum = 0;

        while (proc && (e = readdir(proc))) {
                long pid = atol(e->d_name);

                if (pid > 0 && is_child(pid, warden))
                        sum += pss_of(pid);
        }
        if (proc)
                closedir(proc);
        return sum;
}

static struct look look(const struct bench *b)
{
        struct look l;

        usleep(SETTLE_MS * 1000);
        l.front = daemon_resident(b->daemon.front);
        l.warden = daemon_resident(b->daemon.warden);
        l.boxes = sum_boxes(b->daemon.warden);
        for (size_t i = 0; i < sizeof(l.kernel) / sizeof(l.kernel[0]); i++)
                l.kernel[i] = daemon_field("/proc/meminfo", kernel_keys[i]);
        return l;
}

static void print_idle(const struct look *before, const struct look *after)
{
        double front = (double)(after->front.now - before->front.now) / ALIVE;
        double warden = (double)(after->warden.now - before->warden.now) / ALIVE;
        double boxes = (double)(after->boxes - before->boxes) / ALIVE, sum = front + warden + boxes;

        printf("| %d idle sandboxes | KiB each |\n|---|---|\n", ALIVE);
        printf("| cay-init, its share of memory (Pss) | %.0f |\n| front, growth | %.1f |\n| warden, growth | "
               "%.1f |\n",
               boxes, front, warden);
        for (size_t i = 0; i < sizeof(before->kernel) / sizeof(before->kernel[0]); i++) {
                double grown = (double)(after->kernel[i] - before->kernel[i]) / ALIVE;

                printf("| kernel, growth of %.*s | %.0f |\n", (int)strlen(kernel_keys[i]) - 1, kernel_keys[i],
                       grown);
                sum += grown;
        }
        printf("| all told | %.0f |\n\n", sum);
        goals_note(GOAL_idle, sum / 1024);
}

int row_idle(struct bench *b)
{
        char(*ids)[64] = calloc(ALIVE, sizeof(*ids));
        struct look before, after;
        int made = 0, r;

        if (!ids)
                return -1;
        r = bench_create(&b->client, "{}", ids[0],
                         sizeof(ids[0])); /* what the first one makes for all stays */
        if (r == 0)
                r = bench_destroy(&b->client, ids[0]);
        before = look(b);
        while (made < ALIVE && r == 0) {
                r = bench_create(&b->client, "{}", ids[made], sizeof(ids[made]));
                made += r == 0;
        }
        after = look(b);
        if (r == 0)
                print_idle(&before, &after);
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

static double print_look(struct bench *b, int made)
{
        struct resident front = daemon_resident(b->daemon.front), warden = daemon_resident(b->daemon.warden);

        printf("| %d | %ld | %ld | %.1f | %.1f | %ld | %ld |\n", made, front.now, warden.now,
               (double)(front.now + warden.now) / 1024, (double)(front.peak + warden.peak) / 1024,
               daemon_fds(b->daemon.front), daemon_fds(b->daemon.warden));
        fflush(stdout);
        return (double)(front.peak + warden.peak) / 1024;
}

int row_steady(struct bench *b)
{
        double begin = figures_now_ms(), seconds, most = 0;

        printf("| sandboxes made, used and unmade | front KiB | warden KiB | together MiB | at most MiB | "
               "front's descriptors | warden's |\n"
               "|---|---|---|---|---|---|---|\n");
        print_look(b, 0);
        for (int i = 0; i < LOOKS; i++) {
                if (make_and_unmake(b, b->sandboxes / LOOKS) < 0)
                        return -1;
                most = print_look(b, b->sandboxes / LOOKS * (i + 1));
        }
        seconds = (figures_now_ms() - begin) / 1e3;
        printf("\nIt took %.0f s: %.0f a second, one after the other.\n\n", seconds, b->sandboxes / seconds);
        goals_note(GOAL_resident, most);
        return 0;
}
