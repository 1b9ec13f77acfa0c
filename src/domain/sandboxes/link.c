/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The box link of a sandbox.
 *
 * Theory of operation. A lost stream is requested again, at once and then at growing intervals; channels
 * survive that. The box is gone when the engine says so and the link has nothing more to read. A link that is
 * up is pinged. A box that misses several pings, or stays unreachable that long, becomes ERROR but is kept:
 * it may only be starved of processor time, and its files are valuable. When it answers again, it continues
 * where it was. After CAY_SERVICE_GIVE_UP_MS without an answer it is given up. One on a user's machine is
 * waited for much longer (away_ms): that machine may be suspended or switched off for days.
 */
#include "foundation/base/clock.h"
#include "domain/sandboxes/service_priv.h"

#define RETRY_FIRST_MS 100
#define RETRY_MOST_MS 10000
#define SHORT_LIFE_MS 1000
#define SHORT_WAIT_MS 10u
#define GONE_LOOKS 60 /* of CAY_SERVICE_GONE_MS each: how long the last messages of a box are read */

/* Phases */

static const struct cay_phase_row phases[CAY_LINK_PHASE_COUNT] = {
        [CAY_LINK_NONE] = { "none", CAY_PHASE_BIT(CAY_LINK_UP) | CAY_PHASE_BIT(CAY_LINK_LOST) },
        [CAY_LINK_UP] = { "up", CAY_PHASE_BIT(CAY_LINK_NONE) | CAY_PHASE_BIT(CAY_LINK_PINGED) |
                                        CAY_PHASE_BIT(CAY_LINK_LOST) },
        [CAY_LINK_PINGED] = { "pinged", CAY_PHASE_BIT(CAY_LINK_NONE) | CAY_PHASE_BIT(CAY_LINK_UP) |
                                                CAY_PHASE_BIT(CAY_LINK_LOST) },
        [CAY_LINK_LOST] = { "lost", CAY_PHASE_BIT(CAY_LINK_NONE) | CAY_PHASE_BIT(CAY_LINK_UP) },
};

const struct cay_phase_table cay_link_phases = { "link", phases, CAY_LINK_PHASE_COUNT };

static void move(struct cay_sandbox *sb, enum cay_link_phase to)
{
        if (sb->link != to)
                sb->link = (enum cay_link_phase)cay_phase_move(&cay_link_phases, sb->link, to, sb->id);
}

/* No ping waits any more. */
static void forget_ping(struct cay_sandbox *sb)
{
        if (sb->link == CAY_LINK_PINGED)
                move(sb, CAY_LINK_UP);
        sb->misses = 0;
}

bool cay_link_is_silent(const struct cay_sandbox *sb)
{
        return sb->misses >= sb->service->env.ping_misses;
}

void cay_link_silence(struct cay_sandbox *sb)
{
        sb->misses = sb->service->env.ping_misses;
        sb->lost_at_ms = cay_clock_ms();
}

void cay_link_resumed(struct cay_sandbox *sb)
{
        forget_ping(sb);
        sb->lost_at_ms = sb->link == CAY_LINK_LOST ? cay_clock_ms() : 0;
}

static void relink(struct cay_sandbox *sb);

static void on_gone_late(struct cay_timer *t);

/* Another operation may be under way; then this is repeated until it is over. */
static void gone(struct cay_sandbox *sb, enum cay_cause as, const char *text)
{
        if (!cay_sandbox_gone(sb, as, text))
                cay_timer_set(sb->service->loop, &sb->gone_timer, CAY_SERVICE_GONE_MS, on_gone_late);
}

static void answers(struct cay_sandbox *sb)
{
        forget_ping(sb);
        sb->engine_was_down = false;
        sb->lost_at_ms = 0;
        cay_sandbox_recover(sb);
}

static void on_welcome(struct cay_box_client *c, const struct cay_box_welcome *w)
{
        struct cay_sandbox *sb = cay_box_client_ctx(c);

        if (cay_box_client_awaits_welcome(c)) {
                cay_adopt_welcome(sb, w);
                if (sb->policy != NULL)
                        cay_network_tend_soon(sb->service); /* channels can be opened after this call alone */
        } else {
                for (uint32_t i = 0; i < w->count; i++)
                        if (!cay_box_client_has_channel(c, w->channels[i]))
                                cay_box_client_refuse(c, w->channels[i]);
        }
        if (cay_sandbox_is_proxied(sb))
                cay_box_client_ask_kinds(c);
        cay_proxy_tend(sb);
        answers(sb);
}

static void on_kinds(struct cay_box_client *c)
{
        struct cay_sandbox *sb = cay_box_client_ctx(c);
        struct cay_error err = { 0 };

        if (sb->policy != NULL && cay_proxy_check(sb, &err) < 0)
                cay_log_warn("a sandbox has no way out now", "id=%s error=%s", sb->id, err.msg);
        cay_proxy_tend(sb);
}

static void on_pong(struct cay_box_client *c, uint64_t token)
{
        (void)token;
        answers(cay_box_client_ctx(c));
}

static void on_retry(struct cay_timer *t)
{
        relink(cay_container_of(t, struct cay_sandbox, relink_timer));
}

static void again(struct cay_sandbox *sb)
{
        unsigned wait = RETRY_FIRST_MS << (sb->relink_tries < 7 ? sb->relink_tries : 7);

        sb->relink_tries++;
        cay_timer_set(sb->service->loop, &sb->relink_timer, wait < RETRY_MOST_MS ? wait : RETRY_MOST_MS,
                      on_retry);
}

/*
 * At once, unless the stream was short-lived: a box that breaks every new one must not keep us and the engine
 * busy.
 */
static void relink_soon(struct cay_sandbox *sb)
{
        uint64_t now = cay_clock_ms();

        sb->relink_tries = 0;
        sb->short_lives = now - sb->linked_at_ms < SHORT_LIFE_MS ? sb->short_lives + 1 : 0;
        if (sb->short_lives <= 1)
                relink(sb);
        else
                cay_timer_set(sb->service->loop, &sb->relink_timer,
                              SHORT_WAIT_MS << (sb->short_lives < 9 ? sb->short_lives - 2 : 7), on_retry);
}

/* The engine says that it is gone, by itself or with the engine. */
static void ended(struct cay_sandbox *sb)
{
        struct cay_engine *engine = sb->engine->engine;
        struct cay_error ignored = { 0 };

        if (sb->engine_was_down || (engine->ops->health != NULL && engine->ops->health(engine, &ignored) < 0))
                gone(sb, CAY_CAUSE_ENGINE_LOST, "the engine went, and the sandbox with it");
        else
                gone(sb, CAY_CAUSE_SANDBOX_GONE, "the sandbox's init ended");
}

static void on_lost(struct cay_box_client *c, int reason)
{
        struct cay_sandbox *sb = cay_box_client_ctx(c);

        cay_log_debug("link lost", "id=%s reason=%d", sb->id, reason);
        move(sb, CAY_LINK_LOST);
        if (sb->lost_at_ms == 0)
                sb->lost_at_ms = cay_clock_ms();
        if (sb->gone_timer.loop != NULL) { /* the engine reported it before, and now nothing more can come */
                cay_timer_clear(&sb->gone_timer);
                ended(sb);
                return;
        }
        relink_soon(sb);
}

static bool is_bad(const struct cay_sandbox *sb)
{
        return sb->client == NULL || !sb->has_box;
}

static void on_relinked(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;

        if (sb == NULL || is_bad(sb) || sb->link != CAY_LINK_LOST)
                return;
        if (err->code == CAY_NOT_FOUND) {
                if (sb->engine_was_down)
                        gone(sb, CAY_CAUSE_ENGINE_LOST, "the engine went, and the sandbox with it");
                else
                        gone(sb, CAY_CAUSE_SANDBOX_GONE, "the sandbox ended by itself");
                return;
        }
        if (err->code != CAY_OK) {
                sb->engine_was_down |= err->code == CAY_UNAVAILABLE || err->code == CAY_TIMEOUT;
                again(sb);
                return;
        }
        cay_sandbox_note_ports(sb, &e->box);
        e->service->relinks++;
        sb->linked_at_ms = cay_clock_ms();
        if (cay_box_client_attach_take(sb->client, cay_take_fd(e->box.link_fd)) < 0)
                again(sb);
        else
                move(sb, CAY_LINK_UP);
        cay_tick_sandbox(sb, 0);
}

static void relink(struct cay_sandbox *sb)
{
        struct cay_engine *engine;
        struct cay_async *e;
        struct cay_job *job;

        if (is_bad(sb))
                return;
        e = cay_async_new(sb->service, sb, NULL, on_relinked);
        memcpy(e->box.secret, sb->secret, sizeof(e->box.secret));
        engine = cay_async_ask(e, CAY_SERVICE_ENGINE_MS, &job);
        if (engine == NULL)
                return;
        if (cay_box_client_awaits_welcome(sb->client) && engine->ops->adopt != NULL)
                engine->ops->adopt(engine, &e->box, job);
        else
                engine->ops->relink(engine, &e->box, job);
}

void cay_link_again(struct cay_sandbox *sb)
{
        if (sb->link != CAY_LINK_LOST)
                return;
        sb->relink_tries = 0;
        cay_timer_clear(&sb->relink_timer);
        relink(sb);
}

int cay_link_attach(struct cay_sandbox *sb, int fd, bool adopting, struct cay_error *err)
{
        static const struct cay_box_client_events events = {
                .on_lost = on_lost, .on_welcome = on_welcome, .on_pong = on_pong, .on_kinds = on_kinds
        };
        int r;

        _Static_assert(CAY_STORE_SECRET == CAY_BOX_SECRET && CAY_ENGINE_SECRET == CAY_BOX_SECRET,
                       "one secret");
        cay_link_close(sb);
        sb->client = cay_box_client_new(sb->service->loop, sb->secret, &events, sb);
        if (sb->client == NULL) {
                if (fd >= 0)
                        close(fd);
                return cay_fail(err, CAY_INTERNAL, "no memory for the box link");
        }
        if (adopting)
                cay_box_client_await_welcome(sb->client);
        sb->linked_at_ms = cay_clock_ms();
        sb->ping_at_ms = sb->linked_at_ms + sb->service->env.ping_ms;
        move(sb, fd < 0 ? CAY_LINK_LOST : CAY_LINK_UP);
        if (fd < 0) {
                again(sb);
                return 0;
        }
        r = cay_box_client_attach_take(sb->client, fd);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "attach the box link");
        return 0;
}

void cay_link_close(struct cay_sandbox *sb)
{
        cay_timer_clear(&sb->relink_timer);
        cay_timer_clear(&sb->gone_timer);
        cay_timer_clear(&sb->adopt_timer);
        cay_box_client_free(cay_take(sb->client));
        move(sb, CAY_LINK_NONE);
        sb->engine_was_down = false;
        sb->misses = sb->relink_tries = sb->short_lives = sb->gone_looks = 0;
        sb->lost_at_ms = 0;
}

static bool is_given_up(const struct cay_sandbox *sb, uint64_t now_ms)
{
        uint64_t most = sb->options.machine != NULL ? sb->service->env.away_ms : CAY_SERVICE_GIVE_UP_MS;

        return most > 0 && now_ms - sb->lost_at_ms > most;
}

static void miss(struct cay_sandbox *sb, uint64_t now_ms)
{
        char text[120];

        if (sb->lost_at_ms == 0)
                sb->lost_at_ms = now_ms;
        sb->misses++;
        if (!cay_link_is_silent(sb))
                return;
        if (is_given_up(sb, now_ms)) {
                gone(sb, CAY_CAUSE_ENGINE_LOST,
                     sb->options.machine != NULL ? "its machine was away for too long (agent_away)"
                                                 : "it could not be reached for several minutes");
                return;
        }
        if (cay_sandbox_state(sb) == CAY_STATE_ERROR && sb->cause == CAY_CAUSE_ENGINE_LOST)
                return; /* reported already; whether link or box is silent may change at every check */
        snprintf(text, sizeof(text),
                 sb->link == CAY_LINK_LOST ? "the sandbox cannot be reached" : "the sandbox does not answer");
        cay_sandbox_fail(sb, CAY_CAUSE_ENGINE_LOST, text);
}

/* PAUSED boxes do not answer, and are not asked. */
void cay_link_ping(struct cay_sandbox *sb, uint64_t now_ms)
{
        if (is_bad(sb) || cay_sandbox_pending(sb) != CAY_PENDING_NONE ||
            cay_sandbox_state(sb) == CAY_STATE_PAUSED || now_ms < sb->ping_at_ms)
                return;
        sb->ping_at_ms = now_ms + sb->service->env.ping_ms;
        if (sb->clones > 0)
                return; /* it stands still */
        if (sb->link != CAY_LINK_UP || cay_box_client_awaits_welcome(sb->client))
                miss(sb, now_ms);
        else if (cay_box_client_ping(sb->client, now_ms) == 0)
                move(sb, CAY_LINK_PINGED);
        if (!is_bad(sb) && sb->link == CAY_LINK_PINGED && sb->misses > 0)
                cay_box_client_ping(sb->client, now_ms); /* repeated: the answer may come to any of them */
}

/*
 * If this process stood still, the time may be over before the link was read. One round reads only a part,
 * and the end of a command may be behind that. A link that never falls silent is not waited for forever.
 */
static void on_gone_late(struct cay_timer *t)
{
        struct cay_sandbox *sb = cay_container_of(t, struct cay_sandbox, gone_timer);

        if (sb->client == NULL || !cay_box_client_has_unread(sb->client) || sb->gone_looks >= GONE_LOOKS) {
                ended(sb);
                return;
        }
        sb->gone_looks++;
        cay_timer_set(sb->service->loop, &sb->gone_timer, CAY_SERVICE_GONE_MS, on_gone_late);
}

void cay_link_on_gone(void *ctx, const char *id)
{
        struct cay_engine_row *row = ctx;
        struct cay_service *s = row->service;
        struct cay_sandbox *sb = cay_table_find(s, id);
        struct cay_error ignored = { 0 };

        if (sb == NULL)
                cay_pool_on_gone(row, id);
        if (sb == NULL || sb->engine != row || is_bad(sb) || cay_sandbox_pending(sb) == CAY_PENDING_STOP ||
            cay_sandbox_pending(sb) == CAY_PENDING_DESTROY)
                return;
        /* A new helper may be there before the last messages of the box are read. */
        sb->engine_was_down |=
                row->engine->ops->health != NULL && row->engine->ops->health(row->engine, &ignored) < 0;
        if (sb->link == CAY_LINK_LOST)
                ended(sb);
        else
                cay_timer_set(s->loop, &sb->gone_timer, CAY_SERVICE_GONE_MS, on_gone_late);
}
