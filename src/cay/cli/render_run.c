/* SPDX-License-Identifier: Apache-2.0 */
/* A run's result as text and as JSON. */
#include "cay/cli/render_run.h"

#include <inttypes.h>
#include <string.h>

#include "cay/cli/safe.h"
#include "foundation/base/base64.h"
#include "foundation/base/json_out.h"
#include "foundation/base/utf8.h"
#include "domain/model/syscall_name.h"

/* Milliseconds with three decimals, written digit by digit. */
static void ms(struct cay_json *j, const char *key, uint64_t from_ns, uint64_t to_ns)
{
        uint64_t us = from_ns != 0 && to_ns > from_ns ? (to_ns - from_ns) / 1000 : 0;

        cay_json_key(j, key);
        cay_json_u64(j, us / 1000);
        if (j->failed == 0)
                j->failed = cay_buf_printf(j->out, ".%03u", (unsigned)(us % 1000));
}

/* A stream as text; if it is not valid UTF-8 also in base64. */
static int stream(struct cay_json *j, const char *key, const char *key64, const struct cay_buf *bytes)
{
        struct cay_buf encoded;
        int r = 0;

        cay_json_key(j, key);
        cay_json_string(j, cay_buf_data(bytes), bytes->len);
        if (cay_utf8_valid(cay_buf_data(bytes), bytes->len))
                return 0;
        cay_buf_init(&encoded, bytes->len / 3 * 4 + 8);
        r = cay_base64_encode(cay_buf_data(bytes), bytes->len, &encoded);
        if (r == 0) {
                cay_json_key(j, key64);
                cay_json_string(j, cay_buf_data(&encoded), encoded.len);
        }
        cay_buf_done(&encoded);
        return r;
}

static void cause(struct cay_json *j, const struct cay_verdict *v)
{
        cay_json_key(j, "cause");
        cay_json_text(j, cay_cause_word(v->cause));
        cay_json_key(j, "cause_text");
        cay_json_text(j, v->text);
        cay_json_key(j, "advice");
        cay_json_text(j, v->advice);

        cay_json_key(j, "hints");
        cay_json_begin_array(j);
        for (unsigned c = 0; c < CAY_CAUSE_COUNT; c++)
                if (v->hints & 1u << c)
                        cay_json_text(j, cay_cause_word(c));
        cay_json_end_array(j);
}

static void limit_list(struct cay_json *j, const char *key, unsigned mask)
{
        cay_json_key(j, key);
        cay_json_begin_array(j);
        for (unsigned nr = 0; nr < CAY_LIMIT_NR_COUNT; nr++)
                if (mask & 1u << nr)
                        cay_json_text(j, cay_limit_word(nr));
        cay_json_end_array(j);
}

static void denied(struct cay_json *j, const struct cay_run_result *r)
{
        cay_json_key(j, "denied_syscalls");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < r->denied_kinds; i++) {
                cay_json_begin_object(j);
                cay_json_key(j, "name");
                cay_json_text(j, cay_syscall_name(r->denied[i].nr));
                cay_json_key(j, "number");
                cay_json_i64(j, r->denied[i].nr);
                cay_json_key(j, "count");
                cay_json_u64(j, r->denied[i].count);
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
}

static void blocked(struct cay_json *j, const struct cay_run_result *r)
{
        cay_json_key(j, "network_blocked");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < r->blocked_count; i++) {
                cay_json_begin_object(j);
                cay_json_key(j, "name");
                cay_json_text(j, r->blocked[i].name);
                cay_json_key(j, "port");
                if (r->blocked[i].port > 0)
                        cay_json_u64(j, r->blocked[i].port);
                else
                        cay_json_null(j);
                cay_json_key(j, "count");
                cay_json_u64(j, r->blocked[i].count);
                cay_json_key(j, "allowed");
                cay_json_bool(j, r->blocked[i].is_failure);
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
        cay_json_key(j, "lacks_network");
        cay_json_bool(j, r->lacks_network);
}

static void numbers(struct cay_json *j, const struct cay_run_result *r)
{
        uint64_t wall_us = r->exec_ns != 0 && r->end_ns > r->exec_ns ? (r->end_ns - r->exec_ns) / 1000 : 0;

        cay_json_key(j, "duration_ms");
        cay_json_u64(j, wall_us / 1000);
        cay_json_key(j, "wall_us");
        cay_json_u64(j, wall_us);
        cay_json_key(j, "cpu_us");
        cay_json_u64(j, r->cpu_us);
        cay_json_key(j, "memory_peak_bytes");
        cay_json_u64(j, r->memory_peak_bytes);
        cay_json_key(j, "cut_bytes");
        cay_json_u64(j, r->cut_bytes);
        cay_json_key(j, "truncated");
        cay_json_bool(j, r->cut_bytes > 0 || r->verdict.cause == CAY_CAUSE_OUTPUT);
        cay_json_key(j, "timings_ms");
        cay_json_begin_object(j);
        ms(j, "start", r->start_ns, r->exec_ns);
        ms(j, "exec", r->exec_ns, r->end_ns);
        ms(j, "teardown", r->end_ns, r->gone_ns);
        ms(j, "total", r->start_ns, r->gone_ns);
        cay_json_end_object(j);
}

static void changes(struct cay_json *j, const struct cay_run_keep *keep)
{
        const struct cay_change_counts *n = &keep->counts;

        cay_json_key(j, "changes");
        cay_json_begin_object(j);
        cay_json_key(j, "run");
        cay_json_text(j, keep->is_kept ? keep->run.meta.id : NULL);
        cay_json_key(j, "added");
        cay_json_u64(j, n->added);
        cay_json_key(j, "changed");
        cay_json_u64(j, n->changed);
        cay_json_key(j, "removed");
        cay_json_u64(j, n->removed);
        cay_json_key(j, "bytes");
        cay_json_u64(j, n->bytes);
        cay_json_key(j, "left_out");
        cay_json_u64(j, keep->left_out);
        if (keep->failure.code != CAY_OK) {
                cay_json_key(j, "error");
                cay_json_text(j, keep->failure.msg);
        }
        cay_json_end_object(j);
}

static void failed(struct cay_json *j, const struct cay_error *failure)
{
        cay_json_key(j, "error");
        cay_json_begin_object(j);
        cay_json_key(j, "code");
        cay_json_text(j, cay_code_word(failure->code));
        cay_json_key(j, "message");
        cay_json_text(j, failure->msg);
        cay_json_end_object(j);
}

/* Members that REST has too have the same names as there (domain/ops/view.c). */
int cay_render_run_json(const struct cay_run_result *r, const char *engine, const struct cay_buf *out,
                        const struct cay_buf *err, const struct cay_error *failure,
                        const struct cay_run_keep *keep, struct cay_buf *json)
{
        char name[CAY_SIGNAL_NAME_MAX];
        struct cay_json j;
        int rc, end;

        cay_json_init(&j, json);
        cay_json_begin_object(&j);
        cay_json_key(&j, "id");
        cay_json_text(&j, r->id);
        cay_json_key(&j, "engine");
        cay_json_text(&j, engine);
        cay_json_key(&j, "status");
        cay_json_text(&j, failure->code == CAY_OK ? "ended" : "failed");
        rc = stream(&j, "stdout", "stdout_base64", out);
        if (rc == 0)
                rc = stream(&j, "stderr", "stderr_base64", err);
        cay_json_key(&j, "exit_code");
        if (r->exit_code >= 0)
                cay_json_i64(&j, r->exit_code);
        else
                cay_json_null(&j);
        cay_json_key(&j, "signal");
        cay_json_text(&j, r->signal > 0 ? cay_signal_name(r->signal, name) : NULL);
        cay_json_key(&j, "exit_status");
        cay_json_i64(&j, r->status);
        if (failure->code == CAY_OK)
                cause(&j, &r->verdict);
        else
                failed(&j, failure);
        limit_list(&j, "skipped", r->skipped);
        limit_list(&j, "watched", r->watched);
        denied(&j, r);
        blocked(&j, r);
        numbers(&j, r);
        if (keep != NULL)
                changes(&j, keep);
        cay_json_end_object(&j);
        end = cay_json_end(&j);
        return rc < 0 ? rc : end < 0 ? end : cay_buf_putc(json, '\n');
}

/*
 * As --allow takes it. The name comes from cay-net, which parses untrusted bytes: it is escaped for the
 * terminal.
 */
static void blocked_line(const struct cay_run_blocked *b, FILE *to)
{
        bool is_v6 = strchr(b->name, ':') != NULL && b->port > 0;
        char name[4 * sizeof(b->name)], host[sizeof(name) + 32], port[16] = "";

        cay_safe_copy(b->name, name, sizeof(name));
        if (b->port > 0)
                snprintf(port, sizeof(port), ":%u", b->port);
        snprintf(host, sizeof(host), "%s%s%s%s", is_v6 ? "[" : "", name, is_v6 ? "]" : "", port);
        if (b->is_failure)
                fprintf(to,
                        "cay: network: could not reach %s (%u time%s): its name is not known, or it does not "
                        "answer\n",
                        host, b->count, b->count == 1 ? "" : "s");
        else
                fprintf(to, "cay: network: blocked %s (%u time%s); allow it with --allow %s\n", host,
                        b->count, b->count == 1 ? "" : "s", host);
}

void cay_render_run_cause(const struct cay_run_result *r, FILE *to)
{
        const struct cay_verdict *v = &r->verdict;
        char list[CAY_LIMIT_LIST_MAX];

        if (!r->started && v->cause == CAY_CAUSE_EXITED)
                fprintf(to, "cay: %s\n", v->text);
        else if (v->cause != CAY_CAUSE_EXITED)
                fprintf(to, "cay: %s: %s%s%s\n", cay_cause_word(v->cause), v->text,
                        v->advice[0] != '\0' ? "; " : "", v->advice);
        else if (r->cut_bytes > 0)
                fprintf(to, "cay: output cut: %" PRIu64 " bytes dropped\n", r->cut_bytes);
        if (r->is_open && r->host_uid == 0)
                fprintf(to, "cay: not isolated: the process engine ran the command as root of this machine; "
                            "without "
                            "--workspace it has an id of its own\n");
        else if (r->is_open)
                fprintf(to,
                        "cay: not isolated: the process engine ran the command on this machine as uid "
                        "%" PRIu32 "\n",
                        r->host_uid);
        for (unsigned i = 0; i < r->blocked_count; i++)
                blocked_line(&r->blocked[i], to);
        if (r->lacks_network)
                fprintf(to, "cay: network: this run has no network; allow what it needs with --allow HOST "
                            "(preset:python, pypi.org …)\n");
        if (r->skipped != 0)
                fprintf(to, "cay: limits not enforced here: %s\n",
                        cay_limit_mask_text(r->skipped, list, sizeof(list)));
}

void cay_render_run_changes(const struct cay_run_keep *keep, bool quiet, FILE *to)
{
        const struct cay_change_counts *n = &keep->counts;
        uint64_t all = n->added + n->changed + n->removed;

        if (keep->failure.code != CAY_OK)
                fprintf(to, "cay run: the changes are lost: %s\n", keep->failure.msg);
        if (quiet || !keep->is_on)
                return;
        if (keep->is_kept)
                fprintf(to, "cay run: %" PRIu64 " file%s changed; see: cay diff %s\n", all,
                        all == 1 ? "" : "s", keep->run.meta.id);
        if (keep->left_out > 0)
                fprintf(to, "cay run: not kept: %" PRIu64 " special or unreadable file%s\n", keep->left_out,
                        keep->left_out == 1 ? "" : "s");
}

struct table {
        FILE *to;
        uint64_t last_ns;
};

static void print_step(void *ctx, const char *who, const char *step, uint64_t ns)
{
        struct table *t = ctx;

        fprintf(t->to, "%10.3f %10.3f  %-8s %s\n", (double)ns / 1e6, (double)(ns - t->last_ns) / 1e6, who,
                step);
        t->last_ns = ns;
}

void cay_render_run_trace(struct cay_run *run, FILE *to)
{
        struct table t = { .to = to };

        fprintf(to, "%10s %10s  %-8s %s\n", "at ms", "took ms", "who", "step");
        cay_run_trace(run, print_step, &t);
}
