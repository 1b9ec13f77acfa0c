/* SPDX-License-Identifier: Apache-2.0 */
/* `cay stats`: shows what sandboxes use, live. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "foundation/base/clock.h"
#include "foundation/base/parse.h"
#include "cay/cli/cli.h"
#include "cay/cli/safe.h"
#include "cay/cli/tty.h"
#include "cay/cli/verb.h"

#define BOXES_MAX 1000u
#define INTERVAL_MS 2000u
#define ID_MAX 128u
#define FULL_COLUMNS 100u

struct box {
        char id[ID_MAX], name[ID_MAX];
        uint64_t cpu_us, at_ms; /* of the previous sample; at_ms 0: none */
        uint64_t memory_limit;
};

struct look {
        struct cay_reach *reach;
        const struct cay_verb_args *args;
        struct box *boxes; /* owned */
        unsigned count;
        bool is_screen; /* a terminal that is redrawn each time */
        bool is_narrow; /* a terminal that is too narrow for every column */
};

static int add_box(struct look *l, struct cay_json_view view, struct cay_error *err)
{
        struct box *boxes, *b;
        char text[ID_MAX];

        if (l->count == BOXES_MAX)
                return cay_fail(err, CAY_LIMIT, "more than %u sandboxes: name some of them", BOXES_MAX);
        boxes = reallocarray(l->boxes, l->count + 1, sizeof(*boxes));
        if (boxes == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        l->boxes = boxes;
        b = &boxes[l->count++];
        *b = (struct box){ 0 };
        cay_json_view_copy(cay_json_view_find(view, "sandbox_id"), b->id, sizeof(b->id));
        if (b->id[strspn(b->id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")] != '\0')
                return cay_fail(err, CAY_UNAVAILABLE, "the daemon sent an invalid sandbox id");
        cay_safe_copy(cay_json_view_copy(cay_json_view_find(view, "name"), text, sizeof(text)), b->name,
                      sizeof(b->name));
        cay_json_view_u64(cay_json_view_find(view, "limits.memory_bytes"), &b->memory_limit);
        return 0;
}

static int find_named(struct look *l, struct cay_error *err)
{
        for (unsigned i = 0; i < l->args->word_count; i++) {
                cay_auto_answer struct cay_reach_answer answer = { 0 };
                cay_auto_values struct cay_values v;

                cay_values_init(&v, cay_cli_op_find("sandbox_get"));
                if (cay_values_set(&v, "id", l->args->words[i], err) < 0 ||
                    cay_reach_call(l->reach, &v, -1, CAY_REACH_WAIT_MS, &answer, err) < 0 ||
                    add_box(l, answer.json, err) < 0)
                        return -1;
        }
        return 0;
}

static const struct box *find_before(const struct box *boxes, unsigned count, const char *id)
{
        for (unsigned i = 0; i < count; i++)
                if (strcmp(boxes[i].id, id) == 0)
                        return &boxes[i];
        return NULL;
}

/* All ready sandboxes, listed again each time. */
static int find_all(struct look *l, struct cay_error *err)
{
        cay_auto_answer struct cay_reach_answer answer = { 0 };
        cay_auto_values struct cay_values v;
        cay_auto_free struct box *before = cay_take(l->boxes);
        unsigned count_before = l->count;
        struct cay_json_view box;
        struct cay_json_walk w;

        l->count = 0;
        cay_values_init(&v, cay_cli_op_find("sandbox_list"));
        if (cay_values_set(&v, "state", "ready,paused", err) < 0 ||
            cay_values_set(&v, "limit", "1000", err) < 0 ||
            cay_reach_call(l->reach, &v, -1, CAY_REACH_WAIT_MS, &answer, err) < 0)
                return -1;
        w = cay_json_view_walk(cay_json_view_find(answer.json, "sandboxes"));
        while (cay_json_view_next(&w, NULL, &box)) {
                const struct box *same;

                if (add_box(l, box, err) < 0)
                        return -1;
                same = find_before(before, count_before, l->boxes[l->count - 1].id);
                if (same != NULL) {
                        l->boxes[l->count - 1].cpu_us = same->cpu_us;
                        l->boxes[l->count - 1].at_ms = same->at_ms;
                }
        }
        return 0;
}

static uint64_t number(struct cay_json_view v, const char *path)
{
        uint64_t n = 0;

        cay_json_view_u64(cay_json_view_find(v, path), &n);
        return n;
}

static void print_cells(const struct look *l, const char *id, const char *name, const char *cpu,
                        const char *time_text, const char *used, const char *limit, const char *peak,
                        const char *pids, const char *kills)
{
        printf("%-28s  %-*.*s  %6s", id, l->is_narrow ? 10 : 16, l->is_narrow ? 10 : 16, name, cpu);
        if (!l->is_narrow)
                printf("  %8s", time_text);
        printf("  %6s / %-6s", used, limit);
        if (!l->is_narrow)
                printf("  %6s", peak);
        printf("  %4s  %3s%s\n", pids, kills, l->is_screen ? "\033[K" : "");
}

static void print_row(struct look *l, struct box *b, struct cay_json_view stats)
{
        uint64_t cpu_us = number(stats, "cpu_us"), now_ms = cay_clock_ms();
        char used[16], limit[16], peak[16], cpu[16] = "-", time_text[16], pids[24], kills[24];

        if (b->at_ms != 0 && now_ms > b->at_ms && cpu_us >= b->cpu_us)
                snprintf(cpu, sizeof(cpu), "%.1f%%",
                         (double)(cpu_us - b->cpu_us) / (double)(now_ms - b->at_ms) / 10);
        b->cpu_us = cpu_us;
        b->at_ms = now_ms;
        snprintf(pids, sizeof(pids), "%" PRIu64, number(stats, "pids"));
        snprintf(kills, sizeof(kills), "%" PRIu64, number(stats, "oom_kills"));
        print_cells(l, b->id, b->name[0] != '\0' ? b->name : "-", cpu,
                    cay_ms_text(cpu_us / 1000, time_text, sizeof(time_text)),
                    cay_bytes_text(number(stats, "memory_bytes"), used, sizeof(used)),
                    b->memory_limit > 0 ? cay_bytes_text(b->memory_limit, limit, sizeof(limit)) : "-",
                    cay_bytes_text(number(stats, "memory_peak_bytes"), peak, sizeof(peak)), pids, kills);
}

/* Stats of one; a list of all omits a sandbox that has gone meanwhile. */
static int print_box(struct look *l, struct box *b, struct cay_error *err)
{
        cay_auto_answer struct cay_reach_answer answer = { 0 };
        cay_auto_values struct cay_values v;

        cay_values_init(&v, cay_cli_op_find("sandbox_stats"));
        if (cay_values_set(&v, "id", b->id, err) < 0)
                return -1;
        if (cay_reach_call(l->reach, &v, -1, CAY_REACH_WAIT_MS, &answer, err) < 0) {
                if (l->args->word_count > 0 || l->reach->status == 0)
                        return -1;
                *err = (struct cay_error){ 0 };
                return 0;
        }
        if (l->args->json)
                printf("{\"sandbox_id\":\"%s\",%.*s\n", b->id, (int)answer.json.len - 1, answer.json.at + 1);
        else
                print_row(l, b, answer.json);
        return 0;
}

static int print_all(struct look *l, struct cay_error *err)
{
        unsigned lines, cols;

        l->is_narrow = cay_tty_size(STDOUT_FILENO, &lines, &cols) && cols < FULL_COLUMNS;
        if (l->is_screen)
                fputs("\033[H", stdout);
        if (!l->args->json)
                print_cells(l, "SANDBOX", "NAME", "CPU", "CPU TIME", "MEMORY", "LIMIT", "PEAK", "PIDS",
                            "OOM");
        for (unsigned i = 0; i < l->count; i++)
                if (print_box(l, &l->boxes[i], err) < 0)
                        return -1;
        if (l->is_screen)
                fputs("\033[J", stdout);
        return cay_verb_flush(err);
}

static int look(struct look *l, struct cay_error *err)
{
        bool once = l->args->once || (l->args->interval == NULL && !isatty(STDOUT_FILENO));
        uint64_t interval_ms = INTERVAL_MS;
        struct timespec pause;
        int r;

        if (l->args->interval != NULL &&
            (cay_parse_duration(l->args->interval, &interval_ms) < 0 || interval_ms < 100))
                return cay_fail(err, CAY_INVALID, "--interval: '%.40s' is not a time of at least 100ms",
                                l->args->interval);
        pause = (struct timespec){ (time_t)(interval_ms / 1000), (long)(interval_ms % 1000) * 1000000l };
        l->is_screen = !once && !l->args->json && isatty(STDOUT_FILENO);
        if (l->is_screen)
                fputs("\033[2J", stdout);
        r = l->args->word_count > 0 ? find_named(l, err) : 0;
        while (r == 0) {
                if (l->args->word_count == 0)
                        r = find_all(l, err);
                if (r == 0)
                        r = print_all(l, err);
                if (once || r < 0)
                        break;
                nanosleep(&pause, NULL);
        }
        return r;
}

static int run_stats(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err)
{
        struct look l = { .reach = reach, .args = a };
        int r = look(&l, err);

        free(l.boxes);
        return r;
}

int cay_cmd_stats(int argc, char **argv)
{
        return cay_verb_main(argc, argv, run_stats);
}
