/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleep: a sandbox that was not used for a while (options.sleep_after_s) is paused by the daemon, which gives
 * its memory back to the host (sandbox_change.c), and is resumed by the next request that needs it.
 *
 * Theory of operation. A sleeper is a paused sandbox with options.asleep, which is stored with that state and
 * cleared with the next one. Whoever needs its inside waits for cay_service_wake first. Connections to ports
 * do not wait: what they send stays in the link until init runs again. A wake during the way to sleep is done
 * when that is over. A sandbox that a client paused is no sleeper.
 */
#include "domain/sandboxes/service_priv.h"

static bool is_on_its_way(const struct cay_sandbox *sb)
{
        enum cay_pending pending = cay_sandbox_pending(sb);

        return pending == CAY_PENDING_PAUSE || pending == CAY_PENDING_RESUME;
}

bool cay_sandbox_sleeps(const struct cay_sandbox *sb)
{
        return is_on_its_way(sb) ? sb->options.asleep || sb->was_asleep
                                 : sb->options.asleep && cay_sandbox_state(sb) == CAY_STATE_PAUSED;
}

void cay_sandbox_check_sleep(struct cay_sandbox *sb, uint64_t now_ms)
{
        uint64_t after_ms = sb->options.sleep_after_s * 1000;
        enum cay_state state = cay_sandbox_state(sb);
        struct cay_error err = { 0 };

        if (after_ms == 0 || (state != CAY_STATE_READY && state != CAY_STATE_BUSY) ||
            !cay_sandbox_is_idle(sb) || cay_sandbox_check_usable(sb, &err) < 0 ||
            sb->engine->engine->ops->freeze == NULL)
                return;
        if (now_ms < sb->used_ms + after_ms) {
                cay_tick_sandbox(sb, sb->used_ms + after_ms - now_ms);
                return;
        }
        cay_log_debug("sandbox sleeps", "id=%s", sb->id);
        cay_sandbox_asked_by(sb, NULL);
        sb->options.asleep = true;
        cay_sandbox_pause(sb);
}

/* The operation under way is over: what waits for it goes on. */
void cay_sandbox_wake_waiting(struct cay_sandbox *sb, const struct cay_error *err)
{
        struct cay_service_call *calls = cay_take(sb->wake_calls);

        if (calls == NULL && !sb->wakes)
                return;
        sb->wakes = false;
        if (cay_sandbox_state(sb) == CAY_STATE_PAUSED && sb->options.asleep &&
            cay_sandbox_pending(sb) == CAY_PENDING_NONE && err->code == CAY_OK) {
                cay_sandbox_resume(sb, NULL);
                sb->calls = calls;
                return;
        }
        cay_sandbox_answer(sb->service, &calls, err);
}

/* c NULL: nobody waits for it. */
void cay_sandbox_wake(struct cay_sandbox *sb, struct cay_service_call *c)
{
        if (cay_sandbox_pending(sb) == CAY_PENDING_NONE) {
                cay_sandbox_resume(sb, c);
                return;
        }
        sb->wakes = true;
        if (c != NULL) {
                c->next = sb->wake_calls;
                sb->wake_calls = c;
        }
}

bool cay_service_sleeps(struct cay_service *s, const struct cay_viewer *v, const char *id)
{
        struct cay_error err = { 0 };
        struct cay_sandbox *sb = cay_table_get(s, v, id, &err);

        return sb != NULL && cay_sandbox_sleeps(sb);
}

void cay_service_wake(struct cay_service *s, const struct cay_viewer *v, const char *id,
                      struct cay_service_call *c)
{
        struct cay_error err = { 0 };
        struct cay_sandbox *sb = cay_table_get(s, v, id, &err);

        c->next = NULL;
        if (sb == NULL || !cay_sandbox_sleeps(sb) || cay_sandbox_check_engine(sb, &err) < 0) {
                cay_service_fail_job(s, &c->job, &err);
                return;
        }
        cay_sandbox_asked_by(sb, v);
        cay_sandbox_wake(sb, c);
}
