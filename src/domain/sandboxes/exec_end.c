/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How commands end.
 *
 * Theory of operation. Init's END is written into the spool's header when it arrives, before init is told to
 * forget the command: from then on the end survives this process. The rest happens from the loop. If the
 * command failed, the engine is asked for the box's figures (was it memory?). Then the cause is decided and
 * committed, and only then is anybody told. A short command that somebody waits for has one commit, for its
 * start and its end (exec_start.c). A command that ends without an END (its sandbox went, or its time is over
 * and init is silent) is judged by what is known. A failed commit is retried; the end itself is safe in the
 * spool.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>

#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "domain/sandboxes/service_priv.h"

#define QUICK_US 20000            /* SMALL_BYTES cannot be filled in less */
#define SMALL_BYTES (64ull << 20) /* of memory */
#define INPUT_LOST "part of its input was lost with the daemon: ended"

static void fill_limits(struct cay_exec *x)
{
        struct cay_cause_facts *f = &x->facts.facts;
        const struct cay_limits *l = &x->sandbox->limits;

        f->memory_limit = l->memory_bytes;
        f->pids_limit = l->pids;
        f->disk_limit = l->disk_bytes;
        f->inodes_limit = l->inodes;
        for (unsigned i = x->sandbox->volume_count; i > 0; i--)
                if (f->volumes_full & 1u << (i - 1))
                        f->full_volume = x->sandbox->volumes[i - 1].name;
        f->output_limit = x->output_bytes;
        f->wall_limit_ms = x->timeout_ms;
        f->cpu_limit_ms = x->cpu_time_ms;
        f->network_limit = l->network_total;
        f->network_hit = x->network != NULL && x->network->is_over_quota;
}

static void count_end(struct cay_exec *x)
{
        /* wall_us: not measured for a command that went with its sandbox */
        cay_meters_note_end(&x->service->meters, x->sandbox->owner, x->cause, x->wall_us, x->cpu_us);
}

static const char *say_cause(const struct cay_exec *x, const char *text, char *room, size_t size)
{
        char limit[48];

        if (x->in_lost && x->cause == CAY_CAUSE_DAEMON_LOST)
                return INPUT_LOST;
        if (!x->was_left || x->cause != CAY_CAUSE_KILLED)
                return text;
        cay_limit_value_text(CAY_LIMIT_NR_wall_ms, x->service->env.terminal_idle_ms, limit, sizeof(limit));
        snprintf(room, size,
                 "nobody watched this terminal, and nothing was typed or printed, for %s: ended "
                 "(terminal_idle)",
                 limit);
        return room;
}

/* Once for each: the phases before and after tell. */
static void judge(struct cay_exec *x)
{
        struct cay_verdict verdict;
        char room[sizeof(x->cause_text)];

        fill_limits(x);
        verdict = cay_cause_judge(&x->facts.facts);
        x->exit_code = x->facts.facts.exit_code;
        x->signal = x->facts.facts.signal;
        x->cause = verdict.cause;
        x->hints = verdict.hints;
        x->memory_peak = x->facts.facts.memory_peak;
        cay_str_copy(x->cause_text, sizeof(x->cause_text), say_cause(x, verdict.text, room, sizeof(room)));
        x->ended_wall_ms = cay_service_wall(x->service);
        if (x->spool.fd >= 0) {
                x->out_bytes = x->spool.got[0];
                x->err_bytes = x->spool.got[1];
                x->output_first = x->spool.oldest;
                x->output_end = x->spool.end;
        }
        count_end(x);
        cay_recording_exec_end(x);
}

/* Storing */

void cay_exec_put_started(struct cay_async *e, struct cay_store_batch *b, struct cay_exec *x)
{
        x->start_told = true;
        cay_event_put(e, b, x->sandbox, CAY_EVENT_EXEC_STARTED, "exec", x->id, "by", x->by, NULL);
}

#define HOSTS_TEXT (CAY_EXEC_BLOCKED_MAX * 280u)

/* "example.org:443 10.0.0.1:22", without those that did not answer. */
static void put_hosts(const struct cay_exec_blocked *hosts, unsigned count, char ret[HOSTS_TEXT])
{
        size_t at = 0;

        ret[0] = '\0';
        for (unsigned i = 0; i < count; i++) {
                const struct cay_exec_blocked *one = &hosts[i];
                char port[12] = "";
                int n;

                if (one->is_failure)
                        continue;
                if (one->port > 0)
                        snprintf(port, sizeof(port), ":%u", one->port);
                n = snprintf(ret + at, HOSTS_TEXT - at, "%s%s%s", at > 0 ? " " : "", one->host, port);
                at += n > 0 ? (size_t)n : 0;
                if (at >= HOSTS_TEXT)
                        return;
        }
}

void cay_exec_put_ended(struct cay_async *e, struct cay_store_batch *b, struct cay_exec *x)
{
        const struct cay_exec_network *n = x->network;
        char code[16] = "", signal_name[CAY_SIGNAL_NAME_MAX] = "", out[24], err[24];
        char out_digest[CAY_EXEC_DIGEST_TEXT], err_digest[CAY_EXEC_DIGEST_TEXT], refused[HOSTS_TEXT],
                allowed[HOSTS_TEXT];

        if (x->exit_code >= 0)
                snprintf(code, sizeof(code), "%d", x->exit_code);
        if (x->signal > 0)
                cay_signal_name(x->signal, signal_name);
        x->told_together = x->begun && !x->start_told;
        if (x->told_together)
                cay_exec_put_started(e, b, x);
        x->end_told = true;
        snprintf(out, sizeof(out), "%" PRIu64, x->out_bytes);
        snprintf(err, sizeof(err), "%" PRIu64, x->err_bytes);
        cay_exec_digest_end(x, 0, out_digest);
        cay_exec_digest_end(x, 1, err_digest);
        put_hosts(n != NULL ? n->items : NULL, n != NULL ? n->count : 0, refused);
        put_hosts(n != NULL ? n->allowed : NULL, n != NULL ? n->allowed_count : 0, allowed);
        cay_record_put_exec(x, b);
        cay_event_put(e, b, x->sandbox, CAY_EVENT_EXEC_ENDED, "exec", x->id, "cause",
                      cay_cause_word(x->cause), "exit_code", code, "signal", signal_name, "stdout_bytes", out,
                      "stdout_sha256", out_digest, "stderr_bytes", err, "stderr_sha256", err_digest,
                      "network_allowed", allowed, "network_refused", refused, NULL);
}

void cay_exec_note_untold(struct cay_exec *x)
{
        x->end_told = false;
        x->start_told = x->start_told && !x->told_together;
}

/* Other code stores what is true of it, and has the last word. */
static bool is_spoken_for(const struct cay_sandbox *sb)
{
        return cay_sandbox_pending(sb) == CAY_PENDING_STOP ||
               cay_sandbox_pending(sb) == CAY_PENDING_DESTROY || !cay_sandbox_is_stored(sb);
}

bool cay_exec_is_spoken_for(const struct cay_exec *x)
{
        return is_spoken_for(x->sandbox);
}

static void note_told(struct cay_exec *x)
{
        struct cay_sandbox *sb = x->sandbox;
        struct cay_error err = { 0 };

        x->force_at_ms = 0;
        cay_timer_clear(&x->start_timer);
        cay_timer_clear(&x->quick_timer);
        sb->figures_old = sb->figures_old || !x->has_figures;
        cay_sandbox_settle(sb);
        cay_tick_sandbox(sb, 0); /* closes the spool: whoever waited for it may read it first */
        cay_exec_maybe_answer(x);
        if (x->inputs != NULL) {
                cay_fail(&err, CAY_CONFLICT, "exec '%s' has ended", x->id);
                cay_exec_end_inputs(x, &err);
        }
        cay_exec_notify(x);
}

void cay_exec_tell(struct cay_exec *x)
{
        cay_exec_move(x, CAY_EXEC_EVENT_TELL);
        note_told(x);
}

static void on_end_stored(struct cay_async *e, const struct cay_error *err)
{
        struct cay_exec *x = e->exec;
        struct cay_sandbox *sb = x->sandbox;

        if (sb == NULL)
                return;
        if (err->code != CAY_OK) {
                cay_service_log_unstored(e->service, "exec", x->id, err);
                cay_exec_note_untold(x);
                x->dirty = sb->dirty = true;
                cay_tick_sandbox(sb, 1000);
        }
        if (cay_exec_move(x, CAY_EXEC_EVENT_END_STORE)) {
                cay_kill_point_reached(CAY_KILL_POINT_exec_end_stored);
                note_told(x);
        }
        cay_exec_note_trim(e, sb, err->code == CAY_OK);
}

/* Start and end in one commit. */
static void on_whole_stored(struct cay_async *e, const struct cay_error *err)
{
        struct cay_exec *x = e->exec;
        struct cay_sandbox *sb = x->sandbox;
        bool was_told;

        if (sb == NULL)
                return;
        was_told = cay_exec_is_ended(x); /* by its sandbox, meanwhile */
        cay_exec_move(x, err->code == CAY_OK ? CAY_EXEC_EVENT_STORE : CAY_EXEC_EVENT_UNSTORE);
        if (err->code != CAY_OK) {
                cay_exec_note_trim(e, sb, false);
                cay_exec_unstored(x, err);
                return;
        }
        cay_kill_point_reached(CAY_KILL_POINT_exec_stored);
        cay_kill_point_reached(CAY_KILL_POINT_exec_end_stored);
        if (was_told)
                cay_exec_maybe_answer(x);
        else
                note_told(x);
        cay_exec_note_trim(e, sb, true);
}

/* Its sandbox stays what the store says of it, and is not in the batch. */
static void store_whole(struct cay_exec *x)
{
        struct cay_service *s = x->service;
        struct cay_async *e = cay_async_new(s, x->sandbox, x, on_whole_stored);
        struct cay_store_batch *b = s->store->ops->begin(s->store);

        cay_timer_clear(&x->quick_timer);
        cay_sandbox_use(x->sandbox);
        cay_exec_put_ended(e, b, x);
        cay_exec_put_trim(e, b, x->sandbox);
        cay_async_commit(e, b);
}

void cay_exec_verdict(struct cay_exec *x)
{
        struct cay_sandbox *sb = x->sandbox;
        struct cay_service *s = x->service;
        bool is_whole = x->phase == CAY_EXEC_PHASE_QUICK_JUDGED;
        struct cay_store_batch *b;
        struct cay_async *e;

        if (!cay_exec_is_due(x) || is_spoken_for(sb))
                return;
        cay_exec_move(x, CAY_EXEC_EVENT_CLOSE);
        if (is_whole) {
                store_whole(x);
                return;
        }
        e = cay_async_new(s, sb, x, on_end_stored);
        b = s->store->ops->begin(s->store);
        cay_sandbox_use(sb);
        cay_exec_put_ended(e, b, x);
        cay_exec_put_trim(e, b, sb);
        if (cay_sandbox_pending(sb) != CAY_PENDING_CLEAN && cay_sandbox_pending(sb) != CAY_PENDING_START)
                cay_record_put_sandbox(sb, b, cay_sandbox_phase_state(sb->phase, sb->running - 1));
        cay_async_commit(e, b);
}

static void on_stored_again(struct cay_async *e, const struct cay_error *err)
{
        if (err->code == CAY_OK)
                return;
        if (e->tells)
                cay_exec_note_untold(e->exec);
        e->exec->dirty = true;
        cay_tick_sandbox(e->exec->sandbox, 1000);
}

void cay_exec_store_again(struct cay_exec *x)
{
        struct cay_service *s = x->service;
        struct cay_store_batch *b;
        struct cay_async *e;

        if (is_spoken_for(x->sandbox) || !cay_exec_is_stored(x))
                return;
        x->dirty = false;
        e = cay_async_new(s, x->sandbox, x, on_stored_again);
        b = s->store->ops->begin(s->store);
        if (cay_exec_is_ended(x) && !x->end_told)
                cay_exec_put_ended(e, b, x);
        else
                cay_record_put_exec(x, b);
        cay_async_commit(e, b);
}

/* With an END from init */

static void judge_and_store(struct cay_exec *x)
{
        cay_exec_move(x, CAY_EXEC_EVENT_JUDGE);
        judge(x);
        cay_exec_verdict(x); /* otherwise the start's commit continues with it */
}

/*
 * END is here and the command has no verdict yet, neither from its sandbox, which may have gone, nor from a
 * deadline.
 */
static bool is_unjudged(const struct cay_exec *x)
{
        return x->sandbox != NULL && cay_exec_phase_end(x->phase) == CAY_EXEC_END_KNOWN;
}

static void on_figures(struct cay_async *e, const struct cay_error *err)
{
        struct cay_exec *x = e->exec;
        struct cay_sandbox *sb = x->sandbox;
        const struct cay_engine_stats *stats = &e->box.stats;
        struct cay_cause_facts *f = &x->facts.facts;

        if (!is_unjudged(x))
                return;
        if (err->code == CAY_OK && sb->figures_unknown)
                cay_sandbox_note_figures(sb, stats);
        if (err->code == CAY_OK) {
                f->oom_kills = stats->oom_kills > x->oom_before ? stats->oom_kills - x->oom_before : 0;
                f->pids_refused +=
                        stats->pids_refused > x->pids_before ? stats->pids_refused - x->pids_before : 0;
                if (f->oom_kills > 0 && stats->memory_peak_bytes > 0)
                        f->memory_peak = stats->memory_peak_bytes;
                cay_sandbox_note_figures(sb, stats);
                x->has_figures = true;
        }
        judge_and_store(x);
}

/*
 * A successful command may have lost a child to the memory limit, unless it had too little time or memory to
 * reach it.
 */
static bool is_worth_asking(const struct cay_exec *x)
{
        return x->facts.facts.exit_code != 0 || x->wall_us >= QUICK_US ||
               (x->sandbox->limits.memory_bytes > 0 && x->sandbox->limits.memory_bytes < SMALL_BYTES);
}

/* Such an engine's figures have no counts to add, and may take a second. */
static bool init_tells_all(const struct cay_sandbox *sb)
{
        const struct cay_engine *engine = sb->engine->engine;

        return engine != NULL && engine->ops->lacks & CAY_ENGINE_LACKS_COUNTS;
}

static void ask_figures(struct cay_exec *x)
{
        struct cay_sandbox *sb = x->sandbox;
        struct cay_engine *engine;
        struct cay_async *e;
        struct cay_job *job;

        if (!is_worth_asking(x) || x->facts.not_started[0] != '\0' || !sb->has_box || is_spoken_for(sb) ||
            init_tells_all(sb)) {
                judge_and_store(x);
                return;
        }
        e = cay_async_new(x->service, sb, x, on_figures);
        engine = cay_async_ask(e, CAY_SERVICE_STATS_MS, &job);
        if (engine != NULL)
                engine->ops->stats(engine, &e->box, job);
}

static void after_end(struct cay_exec *x)
{
        cay_exec_note_no_network(x);
        if (!cay_exec_settle_network(x))
                ask_figures(x);
}

void cay_exec_network_settled(struct cay_exec *x)
{
        if (is_unjudged(x))
                ask_figures(x);
}

/* The box was told to forget it: what follows is not urgent. */
static void on_after_end(struct cay_deferred *d)
{
        struct cay_exec *x = cay_container_of(d, struct cay_exec, after_end);

        if (is_unjudged(x)) {
                cay_kill_point_reached(CAY_KILL_POINT_exec_end_closed);
                if (x->pending.len > 0)
                        x->flush_until_ms = cay_clock_ms() + CAY_SERVICE_FLUSH_MS;
                else
                        after_end(x);
        }
        cay_exec_unref(x);
}

void cay_exec_check_flush(struct cay_exec *x)
{
        if (x->flush_until_ms == 0 || !is_unjudged(x))
                return;
        if (x->pending.len > 0 && cay_clock_ms() < x->flush_until_ms)
                return;
        x->cut_bytes += cay_exec_drop_pending(x);
        x->flush_until_ms = 0;
        after_end(x);
}

static int note_end(struct cay_exec *x, const struct cay_box_end *end, struct cay_error *err)
{
        if (!cay_box_end_is_plausible(end))
                return cay_fail(err, CAY_INTERNAL, "the sandbox's init reported an invalid end");
        if (cay_box_end_facts(end, x->argv[0], &x->facts, err) < 0)
                return -1;
        if (x->in_lost && x->facts.facts.killed_by_us == CAY_CAUSE_KILLED)
                x->facts.facts.killed_by_us = CAY_CAUSE_DAEMON_LOST;
        x->begun |= x->facts.not_started[0] == '\0';
        if (end->code == CAY_OK) {
                x->wall_us = end->exec.wall_us;
                x->cpu_us = end->exec.cpu_us > 0 ? end->exec.cpu_us : end->exec.user_us + end->exec.sys_us;
                x->cut_bytes = end->exec.cut_bytes;
        }
        return 0;
}

static void keep_end(struct cay_exec *x, const struct cay_box_end *end)
{
        uint8_t bytes[CAY_SPOOL_END_MAX];
        int len = cay_box_end_encode(end, bytes, sizeof(bytes));

        if (len > 0 && x->spool.fd >= 0)
                cay_spool_set_end(&x->spool, bytes, (size_t)len);
}

void cay_exec_on_end(struct cay_box_channel *ch, const struct cay_box_end *end)
{
        struct cay_exec *x = cay_container_of(ch, struct cay_exec, ch);
        struct cay_error err = { 0 };

        cay_kill_point_reached(CAY_KILL_POINT_exec_ended);
        keep_end(x, end);
        cay_kill_point_reached(CAY_KILL_POINT_exec_end_kept);
        cay_timer_clear(&x->start_timer);
        if (note_end(x, end, &err) < 0) {
                if (x->ran)
                        cay_exec_end_and_store(x, CAY_CAUSE_SANDBOX_GONE, err.msg);
                else
                        cay_exec_refuse(x, &err);
                return;
        }
        cay_exec_move(x, CAY_EXEC_EVENT_END);
        x->after_end.run = on_after_end;
        cay_exec_ref(x);
        cay_loop_defer(x->service->loop, &x->after_end);
}

/* Output that waited for room in the spool was lost with the process that had it. */
static void note_missing(struct cay_exec *x, const struct cay_box_exec_end *e)
{
        uint64_t printed = e->out_bytes + e->err_bytes;
        uint64_t known = e->cut_bytes + x->spool.got[0] + x->spool.got[1];

        if (printed > known)
                x->cut_bytes += printed - known;
}

void cay_exec_end_known(struct cay_exec *x, const struct cay_box_end *end)
{
        struct cay_error err = { 0 };

        if (note_end(x, end, &err) < 0) {
                cay_exec_end_and_store(x, CAY_CAUSE_DAEMON_LOST, err.msg);
                return;
        }
        if (end->code == CAY_OK)
                note_missing(x, &end->exec);
        cay_exec_move(x, CAY_EXEC_EVENT_END);
        judge_and_store(x);
}

/* Without an END */

void cay_exec_end_without(struct cay_exec *x, enum cay_cause as, const char *text)
{
        struct cay_cause_facts *f = &x->facts.facts;
        struct cay_error err = { 0 };
        bool lost =
                as == CAY_CAUSE_SANDBOX_GONE || as == CAY_CAUSE_ENGINE_LOST || as == CAY_CAUSE_DAEMON_LOST;
        bool is_told = cay_exec_phase_end(x->phase) == CAY_EXEC_END_KNOWN; /* init's END is here already */

        if (!is_told && !cay_exec_is_alive(x))
                return;
        if (is_told || text[0] == '\0')
                text = NULL;
        if (!cay_exec_is_stored(x) && !x->ran) /* otherwise it is announced when it is stored */
                cay_fail(&err, CAY_CONFLICT, "the command was not started: %s",
                         text != NULL ? text : "the sandbox is gone");
        if (x->phase == CAY_EXEC_PHASE_NEW) {
                cay_exec_refuse(x, &err);
                return;
        }
        cay_box_lookup_close(&x->lookup);
        cay_box_channel_close(&x->ch);
        cay_timer_clear(&x->start_timer);
        if (!is_told) {
                f->exit_code = -1;
                f->signal = lost ? 0 : SIGKILL;
                f->lost = lost ? as : CAY_CAUSE_NONE;
                f->killed_by_us = lost ? CAY_CAUSE_NONE : as;
        }
        cay_exec_move(x, CAY_EXEC_EVENT_CUT);
        judge(x);
        if (text != NULL && x->cause == as)
                snprintf(x->cause_text, sizeof(x->cause_text), "%s", text);
        if (x->call != NULL && err.code != CAY_OK)
                cay_service_fail_job(x->service, &cay_take(x->call)->job, &err);
}

void cay_exec_end_and_store(struct cay_exec *x, enum cay_cause as, const char *text)
{
        cay_exec_ref(x);
        cay_exec_end_without(x, as, text);
        cay_exec_verdict(x);
        cay_exec_unref(x);
}

void cay_exec_end_all(struct cay_sandbox *sb, enum cay_cause as, const char *text)
{
        struct cay_exec *next;

        for (struct cay_exec *x = sb->execs; x != NULL; x = next) {
                next = x->next;
                cay_exec_end_and_store(x, as, text);
        }
}

void cay_exec_force_end(struct cay_exec *x)
{
        cay_log_warn("exec ended without its init's word", "exec=%s cause=%s", x->id,
                     cay_cause_word(x->force_as));
        cay_exec_end_and_store(x, x->force_as, "");
}
