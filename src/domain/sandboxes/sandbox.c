/* SPDX-License-Identifier: Apache-2.0 */
/* One sandbox: its state, which requests it allows, how its operations end, its view. */
#include <assert.h>

#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "domain/sandboxes/service_priv.h"

#define TEXTS_MAX (1024u * 1024) /* labels, metadata and env, twice: as pairs and as JSON */

static const char *const pending_words[] = {
        [CAY_PENDING_NONE] = "",       [CAY_PENDING_ADOPT] = "adopt",   [CAY_PENDING_MAKE] = "create",
        [CAY_PENDING_START] = "start", [CAY_PENDING_STOP] = "stop",     [CAY_PENDING_DESTROY] = "destroy",
        [CAY_PENDING_PAUSE] = "pause", [CAY_PENDING_RESUME] = "resume", [CAY_PENDING_CLEAN] = "clean up",
};
_Static_assert(CAY_COUNT(pending_words) == CAY_PENDING_COUNT, "a word for every pending");

static const char *pending_word(enum cay_pending pending)
{
        return pending_words[pending];
}

uint32_t cay_sandbox_window(const struct cay_sandbox *sb)
{
        const struct cay_engine *engine = sb->engine->engine;

        return engine && engine->ops->lacks & CAY_ENGINE_LACKS_NEARNESS ? CAY_BOX_WINDOW_MAX : CAY_BOX_WINDOW;
}

struct cay_sandbox *cay_sandbox_new(struct cay_service *s)
{
        struct cay_sandbox *sb = cay_service_alloc(sizeof(*sb));

        sb->service = s;
        sb->engine = cay_engine_default(s);
        sb->workspace_fd = sb->workspace_peer = -1;
        sb->workspace_path = "";
        cay_arena_init(&sb->mem, TEXTS_MAX);
        return sb;
}

void cay_sandbox_free(struct cay_sandbox *sb)
{
        struct cay_service *s = sb->service;

        cay_table_remove(s, sb);
        cay_tick_forget(sb);
        cay_pool_unuse(sb);
        cay_async_forget_sandbox(s, sb);
        cay_sandbox_unpublish(sb);
        if (sb->claim[0] != '\0')
                cay_claim_release(s, sb->owner, sb->claim);
        cay_channel_end_all(sb, NULL);
        cay_proxy_end_all(sb);
        cay_link_close(sb); /* closing a client's channels sends nothing: commands live on */
        while (sb->execs != NULL) {
                struct cay_exec *x = sb->execs;

                sb->execs = x->next;
                x->next = NULL;
                x->sandbox = NULL;
                cay_timer_clear(&x->start_timer);
                cay_timer_clear(&x->quick_timer);
                cay_exec_unref(x);
        }
        if (sb->workspace_fd >= 0)
                close(sb->workspace_fd);
        if (sb->workspace_peer >= 0)
                close(sb->workspace_peer);
        free(sb->workspace_below);
        free(sb->history);
        cay_recording_close(sb);
        explicit_bzero(sb->secret, sizeof(sb->secret));
        free(sb->box_workspace);
        free(sb->policy);
        free(sb->secrets);
        cay_arena_done(&sb->mem);
        free(sb);
}

/* Commands that end at once, or during an operation, are stored without knowing of each other. */
void cay_sandbox_settle(struct cay_sandbox *sb)
{
        if (!cay_sandbox_is_stored(sb) || sb->put_state == cay_sandbox_state(sb))
                return;
        sb->dirty = true;
        cay_tick_sandbox(sb, 0);
}

void cay_sandbox_set_cause(struct cay_sandbox *sb, enum cay_cause cause, const char *text)
{
        sb->cause = cause;
        snprintf(sb->cause_text, sizeof(sb->cause_text), "%s", text);
}

void cay_sandbox_use(struct cay_sandbox *sb)
{
        sb->used_ms = cay_service_now(sb->service);
}

bool cay_sandbox_is_idle(const struct cay_sandbox *sb)
{
        for (const struct cay_exec *x = sb->execs; x != NULL; x = x->next)
                if (!cay_exec_is_ended(x) && (!cay_exec_is_kernel(x) || x->runs_code))
                        return false;
        return sb->channels == NULL;
}

int cay_sandbox_check_free(const struct cay_sandbox *sb, struct cay_error *err)
{
        if (cay_sandbox_pending(sb) == CAY_PENDING_NONE)
                return 0;
        return cay_fail(err, CAY_CONFLICT, "sandbox '%s' is busy with another request (%s); try again",
                        sb->id, pending_word(cay_sandbox_pending(sb)));
}

int cay_sandbox_check_still(const struct cay_sandbox *sb, struct cay_error *err)
{
        if (cay_sandbox_check_free(sb, err) < 0)
                return -1;
        return sb->clones == 0 ? 0
                               : cay_fail(err, CAY_CONFLICT,
                                          "the files of sandbox '%s' are being copied; try again", sb->id);
}

int cay_sandbox_check_usable(const struct cay_sandbox *sb, struct cay_error *err)
{
        if (cay_sandbox_check_engine(sb, err) < 0)
                return -1;
        switch (cay_sandbox_state(sb)) {
        case CAY_STATE_READY:
        case CAY_STATE_BUSY:
                break;
        case CAY_STATE_PAUSED:
                return cay_fail_because(err, CAY_CONFLICT, CAY_REASON_PAUSED,
                                        "sandbox '%s' is paused; resume it first", sb->id);
        case CAY_STATE_STOPPED:
                return cay_fail(err, CAY_CONFLICT, "sandbox '%s' is stopped; start it first", sb->id);
        case CAY_STATE_CREATING:
                return cay_fail(err, CAY_CONFLICT, "sandbox '%s' is still being created; try again", sb->id);
        default:
                return cay_fail(err, CAY_CONFLICT,
                                "sandbox '%s' is in error (%s); start it again or destroy it", sb->id,
                                sb->cause_text);
        }
        if (cay_sandbox_check_free(sb, err) < 0)
                return -1;
        if (sb->client == NULL || cay_box_client_awaits_welcome(sb->client))
                return cay_fail_because(err, CAY_UNAVAILABLE, CAY_REASON_RETRY,
                                        "sandbox '%s' does not answer yet; try again", sb->id);
        return 0;
}

static void join(struct cay_sandbox *sb, struct cay_service_call *c)
{
        if (c == NULL)
                return;
        c->next = sb->calls;
        sb->calls = c;
}

bool cay_sandbox_is_ending(const struct cay_sandbox *sb)
{
        enum cay_pending pending = cay_sandbox_pending(sb);

        return pending == CAY_PENDING_STOP || pending == CAY_PENDING_DESTROY || pending == CAY_PENDING_CLEAN;
}

void cay_sandbox_begin(struct cay_sandbox *sb, enum cay_sandbox_event event, struct cay_service_call *c)
{
        cay_sandbox_move(sb, event);
        sb->begun_ns = cay_clock_ns();
        sb->why = (struct cay_error){ 0 };
        join(sb, c);
        if (c != NULL)
                cay_str_copy(c->id, sizeof(c->id), sb->id);
        if (event == CAY_SANDBOX_EVENT_STOP || event == CAY_SANDBOX_EVENT_START)
                sb->options.asleep = false;
        if (event == CAY_SANDBOX_EVENT_PAUSE || cay_sandbox_is_ending(sb))
                cay_sandbox_let_figures_go(sb);
}

void cay_sandbox_answer(struct cay_service *s, struct cay_service_call **calls, const struct cay_error *err)
{
        while (*calls != NULL) {
                struct cay_service_call *c = *calls;

                *calls = c->next;
                c->next = NULL;
                cay_service_fail_job(s, &c->job, err);
        }
}

void cay_sandbox_finish(struct cay_sandbox *sb, const struct cay_error *err)
{
        static const struct cay_error fine = { 0 };

        assert(cay_sandbox_pending(sb) == CAY_PENDING_NONE);
        sb->was_asleep = false;
        cay_sandbox_settle(sb);
        for (struct cay_exec *x = sb->execs; x != NULL; x = x->next)
                if (cay_exec_is_due(x))
                        cay_exec_verdict(x); /* it left that to an operation that failed */
        cay_sandbox_answer(sb->service, &sb->calls, err != NULL ? err : &fine);
        if (sb->destroy_why != NULL)
                cay_sandbox_destroy(sb, cay_take(sb->destroy_why), NULL);
        cay_sandbox_wake_waiting(sb, err != NULL ? err : &fine);
}

static void on_stored_again(struct cay_async *e, const struct cay_error *err)
{
        if (e->sandbox != NULL && err->code != CAY_OK) {
                e->sandbox->dirty = true;
                cay_service_log_unstored(e->service, "id", e->sandbox->id, err);
        }
}

void cay_sandbox_store_again(struct cay_sandbox *sb)
{
        struct cay_store *store = sb->service->store;
        struct cay_store_batch *b;

        if (!cay_sandbox_is_stored(sb) || cay_sandbox_pending(sb) == CAY_PENDING_STOP ||
            cay_sandbox_pending(sb) == CAY_PENDING_DESTROY)
                return; /* the pending operation's own commit stores the right state */
        sb->dirty = false;
        b = store->ops->begin(store);
        cay_record_put_sandbox(sb, b, cay_sandbox_state(sb));
        cay_async_commit(cay_async_new(sb->service, sb, NULL, on_stored_again), b);
}

void cay_sandbox_empty(struct cay_sandbox *sb, const struct cay_error *why)
{
        cay_channel_end_all(sb, why);
        cay_proxy_end_all(sb);
        cay_link_close(sb);
}

bool cay_sandbox_counts_idle(const struct cay_sandbox *sb)
{
        return sb->idle_ms > 0 && cay_sandbox_state(sb) != CAY_STATE_STOPPED &&
               (cay_sandbox_state(sb) != CAY_STATE_PAUSED || sb->options.asleep) && cay_sandbox_is_idle(sb);
}

void cay_sandbox_fill_view(struct cay_sandbox *sb, struct cay_sandbox_view *ret)
{
        uint64_t now = cay_service_now(sb->service);
        bool idle = cay_sandbox_is_idle(sb);
        enum cay_state state = cay_sandbox_state(sb);
        bool rests = state == CAY_STATE_ERROR || state == CAY_STATE_STOPPED;

        *ret = (struct cay_sandbox_view){
                .id = sb->id,
                .memory_freed_bytes = state == CAY_STATE_PAUSED ? sb->reclaimed_bytes : 0,
                .name = sb->name,
                .owner = sb->owner,
                .template_name = sb->template_name,
                .engine = sb->engine->name,
                .labels = sb->labels,
                .metadata = sb->metadata,
                .limits = &sb->limits,
                .skipped = sb->skipped,
                .watched = sb->watched,
                .has_workspace = sb->has_workspace,
                .workspace_mode = sb->workspace_mode,
                .workspace_path = sb->workspace_path,
                .holds_workspace = sb->workspace_fd >= 0 || sb->workspace_root > 0,
                .workspace_in = sb->box_workspace != NULL ? sb->box_workspace : "/workspace",
                .options = sb->options,
                .state = state,
                .cause = rests ? sb->cause : CAY_CAUSE_NONE,
                .cause_text = rests ? sb->cause_text : "",
                .kept = rests && sb->kept &&
                        sb->cause != CAY_CAUSE_DISK, /* damaged files are not the same files */
                .linked = (sb->link == CAY_LINK_UP || sb->link == CAY_LINK_PINGED) && !cay_link_is_silent(sb),
                .busy_with = pending_word(cay_sandbox_pending(sb)),
                .created_wall_ms = sb->created_wall_ms,
                .started_wall_ms = sb->started_wall_ms,
                .changed_wall_ms = sb->changed_wall_ms,
                .expires = sb->expires_ms > 0,
                .expires_in_ms = sb->expires_ms > now ? sb->expires_ms - now : 0,
                .idle_limit_ms = sb->idle_ms,
                .idle_ms = idle && now > sb->used_ms ? now - sb->used_ms : 0,
                .idle_counts = cay_sandbox_counts_idle(sb),
                .execs_running = sb->running,
                .execs_known = sb->exec_count,
                .channels = sb->channel_count,
        };
        cay_sandbox_view_extras(sb, ret);
}

int cay_service_get(struct cay_service *s, const struct cay_viewer *v, const char *id_or_name,
                    struct cay_sandbox_view *ret, struct cay_error *err)
{
        struct cay_sandbox *sb = cay_table_get(s, v, id_or_name, err);

        if (sb == NULL)
                return -1;
        cay_sandbox_fill_view(sb, ret);
        return 0;
}
