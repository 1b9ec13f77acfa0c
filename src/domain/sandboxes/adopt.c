/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start-up: three lists become one. The store says what should exist, the engine what exists, and each box
 * (in WELCOME) what runs in it; spools say how much output had arrived. Everything is then adopted, lost with
 * a cause, or removed.
 *
 *   record says    engine has a box   →
 *   lives          yes                adopted: a new link; commands continue after the last byte in their spool
 *   lives          no                 lost: ERROR, sandbox_gone; its commands too, unless their end is in the spool
 *   lives          unknown            ERROR, engine_lost; requested again and again, like any lost link
 *   lives          engine missing     shown as ERROR, engine_lost; its record stays, for when the engine returns
 *   STOPPED        yes                the box is removed, its files stay (a stop was under way)
 *   STOPPED        no                 unchanged
 *   ERROR          yes                adopted if the record says that its box was kept, else removed
 *   (none)         yes                removed (a create or destroy was under way); files stay if records may be lost
 *
 *   record says    files exist   →
 *   kept           yes           they wait for a start, or are in use
 *   kept, stopped  no            lost: ERROR, sandbox_gone
 *   (none)         yes           removed; left for an administrator if records may be lost (recover.c)
 *
 *   command runs   its channel is in WELCOME    →
 *   in the store   yes                          continues
 *   in the store   no, its end is in the spool  ended with that
 *   in the store   no                           lost: daemon_lost (it never started, or its end was not kept)
 *   nowhere        yes                          ended: it was never reported
 *
 * A command that continues has received all input that was taken, or is ended (exec_input.c).
 */
#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "domain/sandboxes/service_priv.h"

static void maybe_ready(struct cay_service *s)
{
        if (s->ready || s->adopting > 0)
                return;
        s->ready = true;
        cay_tick_all(s);
        cay_undo_go_on_all(s);
        if (s->on_ready != NULL)
                s->on_ready(s, s->ready_ctx);
}

void cay_adopt_done(struct cay_sandbox *sb)
{
        struct cay_service *s = sb->service;

        if (!sb->adopting)
                return;
        sb->adopting = false;
        cay_timer_clear(&sb->adopt_timer);
        if (cay_sandbox_state(sb) == CAY_STATE_ERROR && !sb->has_box)
                s->report.lost++;
        else
                s->report.adopted++;
        s->adopting--;
        maybe_ready(s);
}

/* Commands */

static void lose_exec(struct cay_exec *x, const char *text)
{
        x->service->report.execs_lost++;
        cay_exec_end_and_store(x, CAY_CAUSE_DAEMON_LOST, text);
}

static bool end_from_spool(struct cay_exec *x)
{
        struct cay_box_end end;
        const void *bytes;
        size_t len = cay_spool_get_end(&x->spool, &bytes);

        if (len == 0 || cay_box_end_decode(bytes, len, &end) < 0 || end.kind != CAY_BOX_EXEC)
                return false;
        x->service->report.execs_ended++;
        cay_exec_end_known(x, &end);
        return true;
}

static bool is_welcome(const struct cay_box_welcome *w, uint32_t number)
{
        for (uint32_t i = 0; i < w->count; i++)
                if (w->channels[i] == number)
                        return true;
        return false;
}

static void on_resumed(struct cay_box_channel *ch, uint32_t pid)
{
        cay_exec_channel_events.on_opened(ch, pid);
        cay_exec_resume_input(cay_container_of(ch, struct cay_exec, ch));
}

static void adopt_exec(struct cay_sandbox *sb, struct cay_exec *x, const struct cay_box_welcome *w)
{
        struct cay_box_adoption from = { .number = x->channel_number,
                                         .kind = CAY_BOX_EXEC,
                                         .window = cay_sandbox_window(sb) };
        struct cay_error err = { 0 };

        if (cay_exec_open_spool(x, &err) < 0) {
                cay_log_warn("spool lost", "exec=%s error=%s", x->id, err.msg);
                lose_exec(x,
                          err.code == CAY_DAMAGED
                                  ? "the file of its output was damaged: where it was is not known any more"
                                  : "its output was lost with the daemon");
                return;
        }
        if (end_from_spool(x))
                return;
        if (!is_welcome(w, x->channel_number)) {
                lose_exec(x, "the daemon stopped before the command was started, or while it ended");
                return;
        }
        from.out_got = x->spool.got[0];
        from.err_got = x->spool.got[1];
        x->in_closed = cay_spool_is_in_closed(&x->spool);
        x->ch = cay_exec_channel_events;
        x->ch.on_opened = on_resumed;
        if (cay_box_channel_adopt(sb->client, &x->ch, &from) < 0) {
                lose_exec(x, "the daemon could not go on with it");
                return;
        }
        x->awaited = true;
        x->awaited_from = x->spool.oldest;
        x->awaited_until_ms = cay_clock_ms() + CAY_SERVICE_AWAIT_MS;
        x->service->report.execs_adopted++;
        cay_log_debug("exec adopted", "exec=%s end=%llu", x->id, (unsigned long long)x->spool.end);
}

static void on_adopted_stored(struct cay_async *e, const struct cay_error *err)
{
        if (e->sandbox == NULL)
                return;
        e->sandbox->dirty |= err->code != CAY_OK;
        cay_adopt_done(e->sandbox);
}

/* The box is ours again: tells the journal. */
static void adopted(struct cay_sandbox *sb)
{
        struct cay_service *s = sb->service;
        struct cay_async *e = cay_async_new(s, sb, NULL, on_adopted_stored);
        struct cay_store_batch *b = s->store->ops->begin(s->store);

        cay_sandbox_move(sb, CAY_SANDBOX_EVENT_MEET);
        sb->figures_unknown = true;
        cay_sandbox_refresh_figures(sb);
        s->adoptions++;
        cay_sandbox_settle(sb);
        cay_record_put_sandbox(sb, b, cay_sandbox_state(sb));
        cay_event_put(e, b, sb, CAY_EVENT_ADOPTED, NULL);
        cay_async_commit(e, b);
}

void cay_adopt_welcome(struct cay_sandbox *sb, const struct cay_box_welcome *w)
{
        struct cay_exec *next;

        for (struct cay_exec *x = sb->execs; x != NULL; x = next) {
                next = x->next;
                if (x->phase == CAY_EXEC_PHASE_ADOPTED)
                        adopt_exec(sb, x, w);
        }
        for (uint32_t i = 0; i < w->count; i++)
                if (!cay_box_client_has_channel(sb->client, w->channels[i]))
                        cay_box_client_refuse(sb->client, w->channels[i]);
        if (cay_sandbox_pending(sb) == CAY_PENDING_ADOPT)
                adopted(sb);
        else
                cay_sandbox_greeted(sb);
}

/* It lives but has not answered yet. The start does not wait for it; WELCOME is handled when it comes. */
static void on_no_welcome(struct cay_timer *t)
{
        struct cay_sandbox *sb = cay_container_of(t, struct cay_sandbox, adopt_timer);

        if (cay_sandbox_pending(sb) != CAY_PENDING_ADOPT) /* it answered; that is being stored */
                return;
        cay_sandbox_move(sb, CAY_SANDBOX_EVENT_MEET);
        cay_link_silence(sb);
        cay_sandbox_fail(sb, CAY_CAUSE_ENGINE_LOST, "the sandbox does not answer");
        cay_adopt_done(sb);
}

static void on_refrozen(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;

        if (sb == NULL || cay_sandbox_pending(sb) != CAY_PENDING_ADOPT)
                return;
        if (err->code != CAY_OK)
                cay_log_warn("box not frozen or thawed, ignoring", "id=%s error=%s", sb->id, err->msg);
        if (cay_sandbox_state(sb) == CAY_STATE_PAUSED)
                adopted(sb); /* commands in it report when it is resumed */
}

/* A front that died between the freezer and the store left them inconsistent; the store decides. */
static void refreeze(struct cay_sandbox *sb)
{
        struct cay_async *e = cay_async_new(sb->service, sb, NULL, on_refrozen);
        struct cay_job *job;
        struct cay_engine *engine = cay_async_ask(e, CAY_SERVICE_ENGINE_MS, &job);
        bool freezes;

        if (engine == NULL)
                return;
        freezes = !(engine->ops->lacks & CAY_ENGINE_LACKS_FREEZER);
        if (freezes && cay_sandbox_state(sb) == CAY_STATE_PAUSED && engine->ops->freeze != NULL) {
                engine->ops->freeze(engine, &e->box, job);
        } else if (freezes && engine->ops->thaw != NULL) {
                engine->ops->thaw(engine, &e->box, job);
        } else {
                e->local = true;
                cay_job_finish(cay_loop_jobs(sb->service->loop), job, NULL);
        }
}

/* The box is gone, but some of its commands had ended before, and their end had arrived. */
static void keep_ends(struct cay_sandbox *sb)
{
        struct cay_error err = { 0 };
        struct cay_exec *next;

        for (struct cay_exec *x = sb->execs; x != NULL; x = next) {
                next = x->next;
                if (x->phase == CAY_EXEC_PHASE_ADOPTED && cay_exec_open_spool(x, &err) == 0)
                        end_from_spool(x);
        }
}

/*
 * It gets a client without a stream, which keeps asking for one (link.c). A paused box stays paused and says
 * nothing.
 */
static void adopt_later(struct cay_sandbox *sb, const struct cay_error *why)
{
        cay_log_warn("sandbox not adopted yet", "id=%s error=%s", sb->id, why->msg);
        if (cay_sandbox_pending(sb) == CAY_PENDING_ADOPT)
                cay_sandbox_move(sb, CAY_SANDBOX_EVENT_MEET);
        if (cay_sandbox_state(sb) != CAY_STATE_PAUSED)
                cay_sandbox_fail(sb, CAY_CAUSE_ENGINE_LOST, why->msg);
}

static void on_box_adopted(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;
        struct cay_error why = *err;

        if (sb == NULL || cay_sandbox_pending(sb) != CAY_PENDING_ADOPT)
                return;
        if (err->code == CAY_OK)
                cay_sandbox_note_ports(sb, &e->box);
        if (err->code == CAY_OK && e->box.workspace != NULL) {
                free(sb->box_workspace);
                sb->box_workspace = strdup(e->box.workspace);
        }
        if (err->code == CAY_NOT_FOUND) {
                keep_ends(sb);
                cay_sandbox_gone(sb, CAY_CAUSE_SANDBOX_GONE, "the sandbox ended while the daemon was away");
                return;
        }
        if (cay_link_attach(sb, err->code == CAY_OK ? cay_take_fd(e->box.link_fd) : -1, true, &why) < 0 ||
            why.code != CAY_OK) {
                adopt_later(sb, &why);
                cay_adopt_done(sb);
                return;
        }
        cay_timer_set(e->service->loop, &sb->adopt_timer, CAY_SERVICE_WELCOME_MS, on_no_welcome);
        refreeze(sb);
}

static void adopt(struct cay_sandbox *sb)
{
        struct cay_service *s = sb->service;
        struct cay_async *e = cay_async_new(s, sb, NULL, on_box_adopted);
        struct cay_job *job;
        struct cay_engine *engine = cay_async_ask(e, CAY_SERVICE_ENGINE_MS, &job);

        cay_sandbox_move(sb, CAY_SANDBOX_EVENT_ADOPT);
        sb->adopting = true;
        s->adopting++;
        memcpy(e->box.secret, sb->secret, sizeof(e->box.secret));
        if (engine == NULL)
                return;
        if (engine->ops->adopt != NULL)
                engine->ops->adopt(engine, &e->box, job);
        else
                engine->ops->relink(engine, &e->box, job);
}

/*
 * Its engine is there but does not answer now. The start does not wait: other sandboxes do not depend on it.
 */
static bool is_down(struct cay_sandbox *sb)
{
        struct cay_error why = { .code = CAY_UNAVAILABLE };

        if (cay_engine_is_up(sb->engine, why.msg))
                return false;
        cay_link_attach(sb, -1, true, &why);
        sb->engine_was_down = true;
        sb->service->report.adopted++;
        adopt_later(sb, &why);
        return true;
}

/*
 * The stored record stays unchanged (before…): when its engine returns, it is as before, paused or with
 * running commands.
 */
static void set_aside(struct cay_sandbox *sb)
{
        struct cay_service *s = sb->service;
        char text[sizeof(sb->cause_text)];

        sb->before = cay_sandbox_state(sb);
        sb->before_cause = sb->cause;
        cay_str_copy(sb->before_text, sizeof(sb->before_text), sb->cause_text);
        if (!sb->has_box) {
                s->report.at_rest++;
                return;
        }
        s->report.away++;
        snprintf(text, sizeof(text), "its engine is not available: %.63s: %.100s", sb->engine->name,
                 sb->engine->note);
        cay_sandbox_move(sb, CAY_SANDBOX_EVENT_FAIL);
        cay_sandbox_set_cause(sb, CAY_CAUSE_ENGINE_LOST, text);
        cay_log_warn("sandbox waits for its engine", "id=%s engine=%s", sb->id, sb->engine->name);
}

/* The loop over all sandboxes */

/* A stopped sandbox with commands that are not stored as ended: a stop was under way. */
static void end_left_over(struct cay_sandbox *sb)
{
        struct cay_exec *next;

        for (struct cay_exec *x = sb->execs; x != NULL; x = next) {
                next = x->next;
                if (x->phase != CAY_EXEC_PHASE_ADOPTED)
                        continue;
                sb->service->report.execs_lost++;
                cay_exec_end_and_store(x, CAY_CAUSE_KILLED, "the sandbox was stopped");
        }
}

static void on_walked(struct cay_async *e, const struct cay_error *err)
{
        (void)err;
        e->service->adopting--;
        maybe_ready(e->service);
}

/*
 * Stores a port that changed, because the next process asks for the same. Without a port the sandbox is
 * usable too.
 */
static void on_published(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;

        if (sb != NULL && err->code == CAY_OK) {
                sb->dirty |= cay_sandbox_note_own_ports(sb, &e->box) && !cay_sandbox_is_away(sb);
        } else if (sb != NULL) {
                cay_log_warn("ports not published, ignoring", "id=%s error=%s", sb->id, err->msg);
        }
        on_walked(e, err);
}

/*
 * What the daemon serves itself does not need the box, so it is available before anybody asks, whatever the
 * engine's state.
 */
static void publish(struct cay_sandbox *sb)
{
        if (!sb->has_box || !cay_sandbox_has_own_ports(sb))
                return;
        sb->service->adopting++;
        cay_sandbox_publish(sb, on_published);
}

int cay_adopt_begin(struct cay_service *s, struct cay_error *err)
{
        struct cay_async *e;

        if (cay_adopt_load(s, err) < 0)
                return -1;
        if (cay_left_load(s, err) < 0)
                return -1;
        cay_adopt_sweep_spools(s);
        for (unsigned i = 0; i < s->engine_count; i++) {
                if (s->engines[i].engine == NULL)
                        continue;
                cay_adopt_remove_unowned(&s->engines[i]);
                cay_adopt_sort_layers(&s->engines[i]);
        }
        cay_left_tell(s);
        cay_network_open(s);
        /* this loop itself: if there is nothing else, on_ready is still called from the loop */
        s->adopting++;
        for (unsigned i = 0; i < s->count; i++) {
                struct cay_sandbox *sb = s->sorted[i];

                publish(sb);
                if (cay_sandbox_is_away(sb)) {
                        set_aside(sb);
                } else if (sb->has_box) {
                        if (!is_down(sb))
                                adopt(sb);
                } else {
                        s->report.at_rest++;
                        end_left_over(sb);
                        if (!sb->unmaking)
                                cay_sandbox_tell_stopped(sb);
                }
        }
        e = cay_async_new(s, NULL, NULL, on_walked);
        e->local = true;
        cay_job_finish(cay_loop_jobs(s->loop), cay_async_engine(e, CAY_SERVICE_ENGINE_MS), NULL);
        return 0;
}
