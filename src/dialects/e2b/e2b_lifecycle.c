/* SPDX-License-Identifier: Apache-2.0 */
/* The control plane: how long a sandbox lives, pauses, figures, network. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/e2b/e2b_create.h"
#include "dialects/e2b/e2b_priv.h"
#include "foundation/base/clock.h"
#include "foundation/base/parse.h"

#define TIMEOUT_S 300

struct life { /* what connect, resume and pause have found out */
        int64_t timeout_s;
        bool was_asleep;
        bool reboots; /* what is frozen in memory is given up */
};

/* NULL: refused. All of these change how long a sandbox lives, or hand out its token. */
static struct life *new_life(struct e2b_request *q)
{
        struct life *l;

        if (!e2b_may(q, "sandbox_extend"))
                return NULL;
        l = calloc(1, sizeof(*l));
        q->state = l;
        q->free_state = free;
        if (!l)
                e2b_fail_memory(q);
        return l;
}

/* Seconds of the body; -1: refused. */
static int read_seconds(struct e2b_request *q, const char *name, int64_t otherwise, int64_t *ret)
{
        const struct cay_json_value *v = e2b_member(q, name);

        *ret = otherwise;
        if (cay_json_value_type(v) != CAY_JSON_NULL && (!cay_json_value_i64(v, ret) || *ret < 0)) {
                e2b_refuse(q, CAY_INVALID, "%s: must be a number of seconds, at least 0", name);
                return -1;
        }
        if (*ret == 0)
                *ret = 1; /* 0 would be for ever: it ends as soon as it can */
        return 0;
}

static void extend(struct e2b_request *q, int64_t seconds,
                   void (*on_done)(struct e2b_request *q, const struct cay_json_value *answer))
{
        cay_auto_call_args struct cay_call_args args = { 0 };

        e2b_args_begin(q, &args);
        cay_op_key_u64(&args.j, "timeout", (uint64_t)seconds);
        e2b_ask(q, "sandbox_extend", &args, on_done);
}

static void on_done_empty(struct e2b_request *q, const struct cay_json_value *answer)
{
        (void)answer;
        e2b_answer_empty(q, 204);
}

/* POST …/timeout */

static void run_timeout(struct e2b_request *q)
{
        int64_t seconds;

        if (read_seconds(q, "timeout", -1, &seconds) < 0)
                return;
        if (seconds < 0)
                e2b_refuse(q, CAY_INVALID, "timeout: required");
        else
                extend(q, seconds, on_done_empty);
}

/* POST …/connect, …/resume: wakes it, and lets it live at least so long. */

static void answer_connected(struct e2b_request *q, const struct cay_json_value *sandbox)
{
        const struct life *l = q->state;
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        cay_buf_init(&out, E2B_ANSWER_MAX);
        cay_json_init(&j, &out);
        cay_json_begin_object(&j);
        e2b_put_made(q, &j, sandbox);
        cay_json_end_object(&j);
        if (cay_json_end(&j) < 0)
                e2b_fail_memory(q);
        else
                e2b_answer(q, l->was_asleep ? 201 : 200, &out);
}

static void on_woken(struct e2b_request *q, const struct cay_json_value *sandbox)
{
        const struct life *l = q->state;

        (void)sandbox;
        extend(q, l->timeout_s, answer_connected);
}

static void on_stopped(struct e2b_request *q, const struct cay_json_value *sandbox)
{
        (void)sandbox;
        e2b_ask_sandbox(q, "sandbox_start", on_woken);
}

static void on_found(struct e2b_request *q, const struct cay_json_value *sandbox)
{
        struct life *l = q->state;
        const char *state = e2b_state(sandbox), *status = e2b_text(sandbox, "status");
        int64_t left;

        if (!state) {
                e2b_refuse(q, CAY_NOT_FOUND, "sandbox '%s' has ended: %s", q->sandbox,
                           e2b_text(sandbox, "cause_text"));
        } else if (strcmp(state, "paused") == 0) {
                l->was_asleep = true;
                if (strcmp(status, "paused") == 0 && l->reboots)
                        e2b_ask_sandbox(q, "sandbox_stop", on_stopped);
                else
                        e2b_ask_sandbox(q, strcmp(status, "paused") == 0 ? "sandbox_resume" : "sandbox_start",
                                        on_woken);
        } else if (!e2b_number(sandbox, "expires_in_ms", &left) || left >= l->timeout_s * 1000) {
                answer_connected(q, sandbox);
        } else {
                extend(q, l->timeout_s, answer_connected);
        }
}

static void run_connect(struct e2b_request *q)
{
        struct life *l = new_life(q);

        if (!l || read_seconds(q, "timeout", TIMEOUT_S, &l->timeout_s) < 0)
                return;
        l->reboots = q->body && !e2b_flag(cay_json_in_root(q->body), "memory", true);
        e2b_ask_sandbox(q, "sandbox_get", on_found);
}

static void on_found_awake(struct e2b_request *q, const struct cay_json_value *sandbox)
{
        const char *state = e2b_state(sandbox);

        if (state && strcmp(state, "running") == 0)
                e2b_refuse(q, CAY_CONFLICT, "sandbox '%s' is already running", q->sandbox);
        else
                on_found(q, sandbox);
}

static void run_resume(struct e2b_request *q)
{
        struct life *l = new_life(q);

        if (l && read_seconds(q, "timeout", TIMEOUT_S, &l->timeout_s) == 0)
                e2b_ask_sandbox(q, "sandbox_get", on_found_awake);
}

/* POST …/refreshes: at least so long. */

static void on_refresh(struct e2b_request *q, const struct cay_json_value *sandbox)
{
        const struct life *l = q->state;
        int64_t left;

        if (!e2b_number(sandbox, "expires_in_ms", &left) || left >= l->timeout_s * 1000)
                e2b_answer_empty(q, 204);
        else
                extend(q, l->timeout_s, on_done_empty);
}

static void run_refresh(struct e2b_request *q)
{
        struct life *l = new_life(q);

        if (l && read_seconds(q, "duration", 60, &l->timeout_s) == 0)
                e2b_ask_sandbox(q, "sandbox_get", on_refresh);
}

/* POST …/pause: a paused sandbox stays until it is killed. */

static void on_paused(struct e2b_request *q, const struct cay_json_value *sandbox)
{
        (void)sandbox;
        extend(q, 0, on_done_empty);
}

static void on_to_pause(struct e2b_request *q, const struct cay_json_value *sandbox)
{
        const char *state = e2b_state(sandbox);
        bool keeps_memory = !q->body || e2b_flag(cay_json_in_root(q->body), "memory", true);

        if (!state)
                e2b_refuse(q, CAY_NOT_FOUND, "sandbox '%s' has ended", q->sandbox);
        else if (strcmp(state, "paused") == 0)
                e2b_refuse(q, CAY_CONFLICT, "sandbox '%s' is already paused", q->sandbox);
        else
                e2b_ask_sandbox(q, keeps_memory ? "sandbox_pause" : "sandbox_stop", on_paused);
}

static void run_pause(struct e2b_request *q)
{
        e2b_ask_sandbox(q, "sandbox_get", on_to_pause);
}

/* PUT …/network replaces what the sandbox may reach. */

static void run_network(struct e2b_request *q)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        const struct cay_json_value *body = q->body ? cay_json_in_root(q->body) : NULL;
        struct cay_error err = { 0 };

        e2b_args_begin(q, &args);
        if (e2b_network_put(q, &args.j, body, e2b_flag(body, "allow_internet_access", true), &err) < 0)
                e2b_fail(q, &err);
        else
                e2b_ask(q, "network_update", &args, on_done_empty);
}

static const struct e2b_row rows[] = {
        { "POST /v2/sandboxes/{id}/connect", run_connect, E2B_FORM_REST, E2B_TAKES_JSON },
        { "POST /sandboxes/{id}/connect", run_connect, E2B_FORM_REST, E2B_TAKES_JSON },
        { "POST /sandboxes/{id}/resume", run_resume, E2B_FORM_REST, E2B_TAKES_JSON },
        { "POST /sandboxes/{id}/timeout", run_timeout, E2B_FORM_REST, E2B_TAKES_JSON },
        { "POST /sandboxes/{id}/refreshes", run_refresh, E2B_FORM_REST, E2B_TAKES_JSON },
        { "POST /sandboxes/{id}/pause", run_pause, E2B_FORM_REST, E2B_TAKES_JSON },
        { "PUT /sandboxes/{id}/network", run_network, E2B_FORM_REST, E2B_TAKES_JSON },
};

const struct e2b_rows e2b_lifecycle_rows = { rows, CAY_COUNT(rows) };
