/* SPDX-License-Identifier: Apache-2.0 */
/* The control plane: what a sandbox used. */
#include <inttypes.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "dialects/e2b/e2b_priv.h"
#include "domain/model/port_clock.h"
#include "domain/ops/view.h"
#include "foundation/base/parse.h"

struct bounds {
        uint64_t from_s, to_s; /* asked for; 0: none */
        int64_t cpu_milli, memory, disk;
};

static void put_sample(struct cay_json *j, const struct bounds *b, uint64_t at_s, uint64_t cpu_milli,
                       uint64_t memory)
{
        char text[32];
        uint64_t cpus = b->cpu_milli > 0 ? (uint64_t)b->cpu_milli : 1000;

        if (at_s < b->from_s || (b->to_s > 0 && at_s > b->to_s))
                return;
        cay_json_begin_object(j);
        cay_op_key_time(j, "timestamp", at_s * 1000);
        cay_op_key_u64(j, "timestampUnix", at_s);
        cay_op_key_u64(j, "cpuCount", (cpus + 999) / 1000);
        cay_json_key(j, "cpuUsedPct");
        cay_json_raw(j, text,
                     (size_t)snprintf(text, sizeof(text), "%" PRIu64 ".%" PRIu64, cpu_milli * 100 / cpus,
                                      cpu_milli * 1000 / cpus % 10));
        cay_op_key_u64(j, "memUsed", memory);
        cay_op_key_u64(j, "memTotal", (uint64_t)b->memory);
        cay_op_key_u64(j, "memCache", 0);
        cay_op_key_u64(j, "diskUsed", 0);
        cay_op_key_u64(j, "diskTotal", (uint64_t)b->disk);
        cay_json_end_object(j);
}

/* "2026-11-18T16:00:00.000Z", as the op writes it. */
static uint64_t read_time(const char *text)
{
        struct tm tm = { 0 };

        return text && strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? (uint64_t)timegm(&tm) : 0;
}

static void on_figures(struct e2b_request *q, const struct cay_json_value *answer)
{
        const struct bounds *b = q->state;
        const struct cay_json_value *history = cay_json_value_find(answer, "history"), *p;
        struct cay_clock_reading now;
        cay_auto_buf struct cay_buf out = { 0 };
        int64_t cpu = 0, memory = 0;
        struct cay_json j;

        cay_buf_init(&out, E2B_ANSWER_MAX);
        cay_json_init(&j, &out);
        cay_json_begin_array(&j);
        for (size_t i = 0; (p = cay_json_value_at(history, i)); i++) {
                cpu = memory = 0;
                e2b_number(p, "cpu_milli", &cpu);
                e2b_number(p, "memory_bytes", &memory);
                put_sample(&j, b, read_time(e2b_text(p, "at")), (uint64_t)cpu, (uint64_t)memory);
        }
        q->world->clock->read(q->world->clock, &now);
        e2b_number(answer, "memory_bytes", &memory);
        put_sample(&j, b, now.wall_ms / 1000, (uint64_t)cpu, (uint64_t)memory);
        cay_json_end_array(&j);
        if (cay_json_end(&j) < 0)
                e2b_fail_memory(q);
        else
                e2b_answer(q, 200, &out);
}

static void on_sandbox(struct e2b_request *q, const struct cay_json_value *sandbox)
{
        const struct cay_json_value *limits = cay_json_value_find(sandbox, "limits");
        const char *status = e2b_text(sandbox, "status");
        cay_auto_call_args struct cay_call_args args = { 0 };
        cay_auto_buf struct cay_buf none = { 0 };
        struct bounds *b = q->state;

        e2b_number(limits, "cpu_milli", &b->cpu_milli);
        e2b_number(limits, "memory_bytes", &b->memory);
        e2b_number(limits, "disk_bytes", &b->disk);
        if (strcmp(status, "stopped") == 0) { /* it uses nothing */
                cay_buf_init(&none, 8);
                cay_buf_puts(&none, "[]");
                e2b_answer(q, 200, &none);
                return;
        }
        e2b_args_begin(q, &args);
        cay_op_key_bool(&args.j, "history", true);
        e2b_ask(q, "sandbox_stats", &args, on_figures);
}

static int read_bound(struct e2b_request *q, const char *name, uint64_t *ret)
{
        char room[64];
        const char *text = NULL;
        int r = e2b_query(q, name, room, sizeof(room), &text);

        if (r > 0 && cay_parse_u64(text, ret) < 0) {
                e2b_refuse(q, CAY_INVALID, "%s: must be a number of seconds since 1970", name);
                return -1;
        }
        return r < 0 ? -1 : 0;
}

static void run_metrics(struct e2b_request *q)
{
        struct bounds *b = calloc(1, sizeof(*b));

        q->state = b;
        q->free_state = free;
        if (!b)
                e2b_fail_memory(q);
        else if (read_bound(q, "start", &b->from_s) == 0 && read_bound(q, "end", &b->to_s) == 0)
                e2b_ask_sandbox(q, "sandbox_get", on_sandbox);
}

static const struct e2b_row rows[] = {
        { "GET /sandboxes/{id}/metrics", run_metrics, E2B_FORM_REST, 0 },
};

const struct e2b_rows e2b_metrics_rows = { rows, CAY_COUNT(rows) };
