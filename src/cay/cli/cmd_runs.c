/* SPDX-License-Identifier: Apache-2.0 */
/* `cay runs`: lists kept runs, with their size and expiry. */
#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "foundation/base/clock.h"
#include "foundation/base/json_out.h"
#include "cay/changes/patch.h"
#include "cay/cli/cli.h"
#include "cay/cli/kept.h"
#include "cay/cli/table.h"

#define JSON_MAX (256u << 20)

struct args {
        bool json;
};

static const struct cay_flag table[] = {
        { "json", NULL, "print one JSON array", cay_flag_set_true, offsetof(struct args, json) },
        CAY_KEPT_DATA,
        {},
};

static void print_help(void)
{
        printf("usage: cay runs [OPTION…]\n\n"
               "Lists the runs of copy-on-write workspaces whose changes are kept, oldest first. `cay diff "
               "RUN` shows\n"
               "the changes of one, `cay apply RUN` applies them to its folder, and `cay discard RUN` "
               "deletes them.\n\n");
        cay_flags_print(table, stdout);
}

/* Rounded: seven days less a second are seven days. */
static const char *time_left(uint64_t ms, char *buf, size_t size)
{
        uint64_t minutes = (ms + 30000) / 60000;

        if (minutes >= 48 * 60)
                snprintf(buf, size, "%" PRIu64 "d", (minutes + 12 * 60) / (24 * 60));
        else if (minutes >= 120)
                snprintf(buf, size, "%" PRIu64 "h", (minutes + 30) / 60);
        else
                snprintf(buf, size, "%" PRIu64 "m", minutes);
        return buf;
}

static const char *when(uint64_t ms, char *buf, size_t size)
{
        time_t seconds = (time_t)(ms / 1000);
        struct tm tm;

        if (localtime_r(&seconds, &tm) == NULL || strftime(buf, size, "%Y-%m-%d %H:%M", &tm) == 0)
                snprintf(buf, size, "?");
        return buf;
}

static void print_row(const struct cay_run_store_row *row, uint64_t now_ms)
{
        const struct cay_meta *m = &row->meta;
        char started[32], changes[64], size[16], left[24];

        if (row->is_broken) {
                printf("%-28s  (unreadable, or of another version of cay; `cay discard` removes it)\n",
                       m->id);
                return;
        }
        snprintf(changes, sizeof(changes), "+%" PRIu64 " ~%" PRIu64 " -%" PRIu64, m->counts.added,
                 m->counts.changed, m->counts.removed);
        printf("%-28s  %-16s  %-12s  %5s  %7s  ", m->id, when(m->started_ms, started, sizeof(started)),
               m->state == CAY_META_KEPT ? changes : "running",
               cay_bytes_text(row->size_bytes, size, sizeof(size)),
               m->state == CAY_META_KEPT
                       ? time_left(m->expires_ms > now_ms ? m->expires_ms - now_ms : 0, left, sizeof(left))
                       : "-");
        cay_patch_print_name(stdout, "", m->folder);
        fputs("  ", stdout);
        cay_patch_print_name(stdout, "", m->command);
        putchar('\n');
}

static void put_row(struct cay_json *j, const struct cay_run_store_row *row)
{
        const struct cay_meta *m = &row->meta;
        const struct {
                const char *key;
                uint64_t value;
        } numbers[] = {
                { "started_ms", m->started_ms },  { "expires_ms", m->expires_ms },
                { "added", m->counts.added },     { "changed", m->counts.changed },
                { "removed", m->counts.removed }, { "left_out", m->left_out },
                { "bytes", m->counts.bytes },     { "kept_bytes", row->size_bytes },
        };

        cay_json_begin_object(j);
        cay_json_key(j, "run");
        cay_json_text(j, m->id);
        cay_json_key(j, "state");
        cay_json_text(j, row->is_broken ? "broken" : m->state == CAY_META_KEPT ? "kept" : "running");
        if (!row->is_broken) {
                cay_json_key(j, "folder");
                cay_json_text(j, m->folder);
                cay_json_key(j, "command");
                cay_json_text(j, m->command);
                for (unsigned i = 0; i < CAY_COUNT(numbers); i++) {
                        cay_json_key(j, numbers[i].key);
                        cay_json_u64(j, numbers[i].value);
                }
        }
        cay_json_end_object(j);
}

static int print_json(const struct cay_run_store_row *rows, size_t count, struct cay_error *err)
{
        cay_auto_buf struct cay_buf text;
        struct cay_json j;

        cay_buf_init(&text, JSON_MAX);
        cay_json_init(&j, &text);
        cay_json_begin_array(&j);
        for (size_t i = 0; i < count; i++)
                put_row(&j, &rows[i]);
        cay_json_end_array(&j);
        return cay_cli_print_json(&j, err);
}

static int list(const struct args *a, struct cay_error *err)
{
        cay_auto(cay_run_store_close) struct cay_run_store s = { .fd = -1 };
        cay_auto_free struct cay_run_store_row *rows = NULL;
        uint64_t now_ms = cay_clock_wall_ms();
        size_t count = 0;
        int r = cay_kept_open_store(&s, err);

        if (r < 0 && err->code != CAY_NOT_FOUND)
                return -1;
        if (r == 0 && cay_run_store_list(&s, &rows, &count, err) < 0)
                return -1;
        if (a->json)
                return print_json(rows, count, err);
        if (count > 0)
                printf("%-28s  %-16s  %-12s  %5s  %7s  %s\n", "RUN", "STARTED", "CHANGES", "SIZE", "EXPIRES",
                       "FOLDER, COMMAND");
        for (size_t i = 0; i < count; i++)
                print_row(&rows[i], now_ms);
        return 0;
}

int cay_cmd_runs(int argc, char **argv)
{
        struct cay_error err = { 0 };
        struct args a = { 0 };
        int rest = 0, r;

        r = cay_flags_parse(table, argc, argv, &a, &rest, &err);
        if (r > 0) {
                print_help();
                return 0;
        }
        if (r == 0 && rest < argc)
                r = cay_fail(&err, CAY_INVALID, "takes no arguments");
        if (r == 0)
                r = list(&a, &err);
        if (r == 0 && (fflush(stdout) != 0 || ferror(stdout)))
                r = cay_fail_sys(&err, CAY_INTERNAL, -errno, "write to standard output");
        return r < 0 ? cay_cli_complain("runs", &err) : 0;
}
