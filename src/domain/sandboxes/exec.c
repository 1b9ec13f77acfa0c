/* SPDX-License-Identifier: Apache-2.0 */
/* One command: find, view, forget. */
#include "domain/sandboxes/exec.h"

#include <fcntl.h>
#include <stdio.h>

#include "domain/sandboxes/service_priv.h"

#define TEXTS_MAX (1024u * 1024)

static const char *const state_words[] = {
        [CAY_EXEC_STARTING] = "starting",
        [CAY_EXEC_RUNNING] = "running",
        [CAY_EXEC_ENDED] = "ended",
};
_Static_assert(CAY_COUNT(state_words) == CAY_EXEC_STATE_COUNT, "a word for every state");

const char *cay_exec_state_word(enum cay_exec_state state)
{
        return state < CAY_EXEC_STATE_COUNT ? state_words[state] : "?";
}

struct cay_exec *cay_exec_new(struct cay_service *s, struct cay_sandbox *sb)
{
        struct cay_exec *x = cay_service_alloc(sizeof(*x));

        x->service = s;
        x->sandbox = sb;
        x->refs = 1;
        x->spool = CAY_SPOOL_CLOSED;
        x->exit_code = -1;
        x->context = x->language = "";
        x->facts.facts.exit_code = -1;
        memcpy(x->sandbox_id, sb->id, sizeof(x->sandbox_id));
        memcpy(x->owner, sb->owner, sizeof(x->owner));
        cay_arena_init(&x->mem, TEXTS_MAX);
        cay_arena_init(&x->start_mem, TEXTS_MAX);
        cay_buf_init(&x->pending, 6u << 20); /* both windows, in pieces of one byte, each with its head */
        return x;
}

struct cay_exec *cay_exec_ref(struct cay_exec *x)
{
        x->refs++;
        return x;
}

void cay_exec_unref(struct cay_exec *x)
{
        if (x == NULL || --x->refs > 0)
                return;
        cay_box_lookup_close(&x->lookup);
        cay_spool_close(&x->spool);
        for (unsigned i = 0; i < CAY_SPOOL_STREAMS; i++)
                cay_exec_digest_free(x, i);
        cay_buf_done(&x->pending);
        free(x->network);
        cay_arena_done(&x->mem);
        cay_arena_done(&x->start_mem);
        free(x);
}

void cay_exec_list_add(struct cay_sandbox *sb, struct cay_exec *x)
{
        struct cay_exec **at = &sb->execs;

        while (*at != NULL)
                at = &(*at)->next;
        *at = x;
        sb->exec_count++;
}

void cay_exec_spool_name(const struct cay_exec *x, char ret[2 * CAY_NAME_MAX + 2])
{
        snprintf(ret, 2 * CAY_NAME_MAX + 2, "%s.%s", x->sandbox_id, x->id);
}

static void unlink_spool(struct cay_exec *x)
{
        const struct cay_service_env *env = &x->service->env;
        char name[2 * CAY_NAME_MAX + 2];

        cay_exec_spool_name(x, name);
        if (x->spool.fd < 0 && env->recycle_spool != NULL)
                env->recycle_spool(env->ctx, name);
        else if (env->remove_spool != NULL)
                env->remove_spool(env->ctx, name);
        else
                unlinkat(env->spool_dir, name, 0);
}

void cay_exec_remove(struct cay_exec *x)
{
        struct cay_sandbox *sb = x->sandbox;
        struct cay_exec **at = &sb->execs;

        while (*at != x)
                at = &(*at)->next;
        *at = x->next;
        x->next = NULL;
        sb->exec_count--;
        cay_timer_clear(&x->start_timer);
        cay_timer_clear(&x->quick_timer);
        cay_box_lookup_close(&x->lookup);
        cay_box_channel_close(&x->ch);
        if (x->claim[0] != '\0')
                cay_claim_release(x->service, x->owner, x->claim);
        x->claim[0] = '\0';
        if (x->refs == 1) /* nobody watches it */
                cay_spool_close(&x->spool);
        unlink_spool(x);
        x->sandbox = NULL;
        cay_exec_unref(x);
}

static bool is_going(const struct cay_exec *x)
{
        return x->is_dropped || x->dropped_by != NULL;
}

struct cay_exec *cay_exec_get(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                              const char *exec, struct cay_sandbox **ret_sb, struct cay_error *err)
{
        struct cay_sandbox *sb = cay_table_get(s, v, sandbox, err);

        if (sb == NULL)
                return NULL;
        for (struct cay_exec *x = sb->execs; x != NULL; x = x->next) {
                if (strcmp(x->id, exec) == 0 && x->phase != CAY_EXEC_PHASE_REFUSED && x->dropped_by == NULL) {
                        if (ret_sb != NULL)
                                *ret_sb = sb;
                        return x;
                }
        }
        cay_fail_because(err, CAY_NOT_FOUND, CAY_REASON_NO_EXEC,
                         "exec '%.63s' does not exist in sandbox '%s'", exec, sb->id);
        return NULL;
}

/* The remaining time; it stands still while the sandbox is paused. */
static uint64_t time_of(const struct cay_exec *x)
{
        uint64_t now = cay_service_now(x->service), paused = x->sandbox ? x->sandbox->paused_ms : 0;

        return paused > 0 && paused < now ? paused : now;
}

bool cay_exec_is_kernel(const struct cay_exec *x)
{
        return x->context[0] != '\0';
}

bool cay_exec_is_terminal(const struct cay_exec *x)
{
        return x->tty && x->has_stdin;
}

void cay_exec_use(struct cay_exec *x)
{
        if (cay_exec_is_terminal(x))
                x->used_ms = cay_service_now(x->service);
}

uint64_t cay_exec_idle_ms(const struct cay_exec *x)
{
        uint64_t now = x->watchers == NULL && x->used_ms > 0 ? time_of(x) : 0;

        return now > x->used_ms ? now - x->used_ms : 0;
}

void cay_exec_fill_view(const struct cay_exec *x, struct cay_exec_view *ret)
{
        bool ended = cay_exec_is_ended(x), open = x->spool.fd >= 0;
        bool waits = !ended && cay_exec_is_terminal(x);
        uint64_t now = !ended && x->deadline_ms > 0 ? time_of(x) : 0;

        *ret = (struct cay_exec_view){
                .id = x->id,
                .sandbox = x->sandbox_id,
                .argv = (const char *const *)x->argv,
                .is_line = x->is_line,
                .cwd = x->cwd,
                .user = x->user_text,
                .context = x->context,
                .language = x->language,
                .runs_code = x->runs_code,
                .runs = x->runs,
                .has_stdin = x->has_stdin,
                .tty = x->tty,
                .background = x->background,
                .state = cay_exec_state(x),
                .pid = x->pid,
                .started_wall_ms = x->started_wall_ms,
                .ended_wall_ms = ended ? x->ended_wall_ms : 0,
                .wall_us = x->wall_us,
                .cpu_us = x->cpu_us,
                .memory_peak_bytes = x->memory_peak,
                .exit_code = ended ? x->exit_code : -1,
                .signal = ended ? x->signal : 0,
                .cause = ended ? x->cause : CAY_CAUSE_NONE,
                .hints = ended ? x->hints : 0,
                .cause_text = ended ? x->cause_text : "",
                .advice = ended ? cay_cause_advice(x->cause) : "",
                .network = x->network,
                .out_digest = ended ? x->digests[0].text : "",
                .err_digest = ended ? x->digests[1].text : "",
                .out_bytes = open ? x->spool.got[0] : x->out_bytes,
                .err_bytes = open ? x->spool.got[1] : x->err_bytes,
                .cut_bytes = x->cut_bytes,
                .output_first = open ? x->spool.oldest : x->output_first,
                .output_end = cay_exec_output_end(x),
                .output_gone = x->output_gone,
                .lost = x->lost,
                .lost_count = x->lost_count,
                .has_deadline = !ended && x->deadline_ms > 0,
                .deadline_in_ms = x->deadline_ms > now ? x->deadline_ms - now : 0,
                .watchers = x->watcher_count,
                .idle_limit_ms = waits ? x->service->env.terminal_idle_ms : 0,
                .idle_ms = waits ? cay_exec_idle_ms(x) : 0,
        };
}

int cay_service_exec_get(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                         const char *exec, struct cay_exec_view *ret, struct cay_error *err)
{
        const struct cay_exec *x = cay_exec_get(s, v, sandbox, exec, NULL, err);

        if (x == NULL)
                return -1;
        cay_exec_fill_view(x, ret);
        return 0;
}

int cay_service_exec_list(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                          void (*each)(void *ctx, const struct cay_exec_view *view), void *ctx,
                          struct cay_error *err)
{
        const struct cay_sandbox *sb = cay_table_get(s, v, sandbox, err);
        struct cay_exec_view view;

        if (sb == NULL)
                return -1;
        for (const struct cay_exec *x = sb->execs; x != NULL; x = x->next) {
                if (!cay_exec_is_stored(x) || is_going(x))
                        continue;
                cay_exec_fill_view(x, &view);
                each(ctx, &view);
        }
        return 0;
}

static void on_dropped(struct cay_async *e, const struct cay_error *err)
{
        if (err->code != CAY_OK)
                cay_log_warn("record of an exec not dropped, ignoring", "id=%s error=%s", e->id, err->msg);
}

void cay_exec_drop_record(struct cay_exec *x)
{
        struct cay_service *s = x->service;
        struct cay_async *e = cay_async_new(s, NULL, NULL, on_dropped);
        struct cay_store_batch *b = s->store->ops->begin(s->store);

        snprintf(e->id, sizeof(e->id), "%s", x->id);
        s->store->ops->drop(b, CAY_STORE_EXEC, x->id);
        cay_async_commit(e, b);
}

static bool is_at_rest(const struct cay_exec *x)
{
        return x->phase == CAY_EXEC_PHASE_ENDED && x->watcher_count == 0;
}

/* Several at once: each drop writes pages of its own. */
void cay_exec_put_trim(struct cay_async *e, struct cay_store_batch *b, struct cay_sandbox *sb)
{
        unsigned ended = 1; /* the one whose end is in the batch */

        for (const struct cay_exec *x = sb->execs; x != NULL; x = x->next)
                ended += cay_exec_is_ended(x) && !is_going(x);
        if (ended <= CAY_SERVICE_EXECS_KEPT + CAY_SERVICE_EXECS_SPARE)
                return;
        for (struct cay_exec *x = sb->execs; x != NULL && ended > CAY_SERVICE_EXECS_KEPT; x = x->next) {
                if (!is_at_rest(x) || is_going(x))
                        continue;
                sb->service->store->ops->drop(b, CAY_STORE_EXEC, x->id);
                x->dropped_by = e;
                ended--;
        }
}

void cay_exec_note_trim(const struct cay_async *e, struct cay_sandbox *sb, bool is_stored)
{
        for (struct cay_exec *x = sb->execs; x != NULL; x = x->next) {
                if (x->dropped_by != e)
                        continue;
                x->dropped_by = NULL;
                x->is_dropped = is_stored;
        }
}

static void trim_count(struct cay_sandbox *sb)
{
        struct cay_exec *next;

        for (struct cay_exec *x = sb->execs; x != NULL; x = next) {
                next = x->next;
                if (x->is_dropped)
                        cay_exec_remove(x);
        }
}

static void trim_output(struct cay_sandbox *sb)
{
        uint64_t kept = 0;
        struct cay_exec *x;

        for (x = sb->execs; x != NULL; x = x->next)
                if (cay_exec_is_ended(x) && !x->output_gone)
                        kept += x->output_end - x->output_first;
        for (x = sb->execs; x != NULL && kept > CAY_SERVICE_OUTPUT_KEPT; x = x->next) {
                if (!is_at_rest(x) || x->output_gone)
                        continue;
                kept -= x->output_end - x->output_first;
                x->output_first = x->output_end;
                x->output_gone = x->dirty = true;
                unlink_spool(x);
        }
}

void cay_exec_trim(struct cay_sandbox *sb)
{
        trim_count(sb);
        trim_output(sb);
}
