/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions over HTTP. */
#include "dialects/mcp/session.h"

#include <stdlib.h>
#include <string.h>

#include "foundation/base/clock.h"
#include "foundation/base/fair.h"
#include "foundation/base/log.h"
#include "dialects/mcp/mcp_priv.h"
#include "dialects/mcp/tools.h"

#define IDLE_MS (30u * 60 * 1000)
#define OVER_MAX 8u
#define UNHEARD_MAX (64u * 1024) /* of changes */
#define UNREAD_MAX (1024u * 1024)
#define OVER_MS (5u * 60 * 1000) /* how long an ended stream can be read again */

/* On its own stream, of which a little is kept; a client that does not read misses some. */
static void tell(struct cay_mcp_subscriber *e, const char *json, size_t len)
{
        struct cay_mcp_session *s = cay_container_of(e, struct cay_mcp_session, subscriber);

        if (!s->own.req || (cay_mcp_stream_queued(&s->own) < UNREAD_MAX && cay_mcp_stream_fits(&s->own, len)))
                cay_mcp_stream_put(&s->own, json, len);
}

static bool is_idle(const struct cay_mcp_session *s)
{
        return !s->client.calls && !s->own.req;
}

static void free_stream(struct cay_mcp_stream **at)
{
        struct cay_mcp_stream *stream = *at;

        *at = stream->next;
        cay_mcp_stream_done(stream);
        free(stream);
}

/* From here on it cannot be found. */
static void unlink_session(struct cay_mcp_session *s)
{
        struct cay_mcp *m = s->client.mcp;

        for (struct cay_mcp_session **at = &m->sessions; *at; at = &(*at)->next) {
                if (*at == s) {
                        *at = s->next;
                        break;
                }
        }
        m->session_count--;
        cay_mcp_session_drop(s);
}

static void close_down(struct cay_mcp_session *s)
{
        cay_log_debug("a session of MCP ends", "owner=%s made=%u", s->client.caller.owner,
                      s->client.made_count);
        cay_mcp_subscriber_close(&s->subscriber);
        cay_mcp_client_end(&s->client);
        cay_mcp_stream_done(&s->own);
        while (s->streams)
                free_stream(&s->streams);
        free(s);
}

void cay_mcp_session_end(struct cay_mcp_session *s)
{
        unlink_session(s);
        close_down(s);
}

/*
 * Evicted to make room. Its client learns that with its next request, so nothing that it made is destroyed:
 * its unnamed sandboxes end by their timeouts.
 */
static void let_go(struct cay_mcp_session *s)
{
        cay_log_debug("a session of MCP makes room for another of its owner", "owner=%s made=%u",
                      s->client.caller.owner, s->client.made_count);
        cay_mcp_client_keep_made(&s->client);
        cay_mcp_session_end(s);
}

static void on_changed(struct cay_mcp_client *p)
{
        if (!p->mcp->is_loading && !p->is_over)
                cay_mcp_session_keep(cay_container_of(p, struct cay_mcp_session, client));
}

/* Evicts the owner's own session that was idle longest; never another owner's. */
static int make_room(struct cay_mcp *m, const char *owner, struct cay_error *err)
{
        struct cay_mcp_session *oldest = NULL;
        unsigned own = 0;

        for (struct cay_mcp_session *s = m->sessions; s; s = s->next) {
                if (strcmp(s->client.caller.owner, owner) != 0)
                        continue;
                own++;
                if (is_idle(s) && (!oldest || s->used_ms < oldest->used_ms))
                        oldest = s;
        }
        if (cay_fair_has_room(CAY_MCP_SESSIONS_MAX, CAY_MCP_SESSIONS_OWNER, m->session_count, own))
                return 0;
        if (oldest) {
                let_go(oldest);
                return 0;
        }
        if (own >= CAY_MCP_SESSIONS_OWNER)
                return cay_fail(err, CAY_LIMIT,
                                "all %u sessions that one owner may have are in use: end one (DELETE), or "
                                "wait for a call of one to end",
                                CAY_MCP_SESSIONS_OWNER);
        if (own > 0)
                return cay_fail(
                        err, CAY_LIMIT,
                        "all %u sessions that are this owner's share now are in use: end one (DELETE), or "
                        "wait for a call of one to end",
                        own);
        return cay_fail(err, CAY_UNAVAILABLE,
                        "there are %u sessions, which is the maximum: try again in a moment",
                        CAY_MCP_SESSIONS_MAX);
}

struct cay_mcp_session *cay_mcp_session_new(struct cay_mcp *m, const struct cay_visitor *v,
                                            const struct cay_mcp_place *place, struct cay_error *err)
{
        struct cay_mcp_session *s;

        if (make_room(m, v->caller.owner, err) < 0)
                return NULL;
        s = calloc(1, sizeof(*s));
        if (!s || !cay_mcp_make_id(s->id)) {
                free(s);
                cay_fail(err, CAY_UNAVAILABLE, "no memory for a session");
                return NULL;
        }
        cay_mcp_client_init(&s->client, m, v, place);
        cay_mcp_stream_init(&s->own, m->world->loop, 0, true);
        s->own.bytes_max = UNHEARD_MAX;
        cay_mcp_stream_charge(&s->own, m->world->budgets, s->client.caller.owner);
        s->subscriber.tell = tell;
        s->client.subscriber = &s->subscriber;
        s->client.on_changed = on_changed;
        s->used_ms = cay_clock_ms();
        s->next = m->sessions;
        m->sessions = s;
        m->session_count++;
        return s;
}

struct cay_mcp_session *cay_mcp_session_find(struct cay_mcp *m, const char *id, const struct cay_visitor *v,
                                             const struct cay_mcp_place *place)
{
        for (struct cay_mcp_session *s = m->sessions; s; s = s->next) {
                if (strcmp(s->id, id) == 0 && strcmp(s->client.caller.owner, v->caller.owner) == 0 &&
                    strcmp(s->client.sandbox, place->sandbox) == 0) {
                        s->used_ms = cay_clock_ms();
                        s->client.caller = v->caller; /* the token of now says what is allowed */
                        cay_mcp_groups_add(&s->client, place->groups);
                        if (s->is_restored)
                                cay_mcp_begin_telling(&s->client);
                        s->is_restored = false;
                        return s;
                }
        }
        return NULL;
}

/* The daemon does not end in between: it stops in a watch's turn, and after that comes this. */
static void on_gone(struct cay_deferred *d)
{
        close_down(cay_container_of(d, struct cay_mcp_session, gone));
}

void cay_mcp_session_end_soon(struct cay_mcp_session *s)
{
        unlink_session(s);
        s->gone.run = on_gone;
        cay_loop_defer(s->client.mcp->world->loop, &s->gone);
}

/* Newest come first: of those that ended a few are kept. */
static void drop_old(struct cay_mcp_session *s)
{
        unsigned kept = 0;

        for (struct cay_mcp_stream **at = &s->streams; *at;) {
                if ((*at)->over && !(*at)->req && ++kept > OVER_MAX)
                        free_stream(at);
                else
                        at = &(*at)->next;
        }
}

struct cay_mcp_stream *cay_mcp_session_stream(struct cay_mcp_session *s)
{
        struct cay_mcp_stream *stream = calloc(1, sizeof(*stream));

        if (!stream)
                return NULL;
        drop_old(s);
        cay_mcp_stream_init(stream, s->client.mcp->world->loop, ++s->next_stream, true);
        cay_mcp_stream_charge(stream, s->client.mcp->world->budgets, s->client.caller.owner);
        stream->next = s->streams;
        s->streams = stream;
        return stream;
}

struct cay_mcp_stream *cay_mcp_session_find_stream(struct cay_mcp_session *s, unsigned nr)
{
        if (nr == 0)
                return &s->own;
        for (struct cay_mcp_stream *at = s->streams; at; at = at->next)
                if (at->nr == nr)
                        return at;
        return NULL;
}

void cay_mcp_session_sweep(struct cay_mcp *m)
{
        uint64_t now = cay_clock_ms();

        for (struct cay_mcp_session *s = m->sessions, *next; s; s = next) {
                next = s->next;
                for (struct cay_mcp_stream **at = &s->streams; *at;) {
                        if ((*at)->over && !(*at)->req && now - (*at)->over_ms > OVER_MS)
                                free_stream(at);
                        else
                                at = &(*at)->next;
                }
                if (is_idle(s) && now - s->used_ms > IDLE_MS)
                        cay_mcp_session_end(s);
        }
}
