/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-agent/listen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cay-agent/agent.h"
#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "foundation/http/listen.h"

#define CONNECTIONS_MAX 128u /* guests, and those that have not asked for anything */
#define HEAD_MS 10000u
#define TELL_MS 10000u /* of strangers one line, at most that often */

struct agent_guest {
        struct agent_peer peer;
        struct cay_ws ws;
        struct agent_listen *all;
        struct agent_guest *next, **back;
        struct cay_deferred gone;
};

/* Guests */

static void free_guest(struct cay_deferred *d)
{
        free(cay_container_of(d, struct agent_guest, gone));
}

/* Its WebSocket is over. */
static void forget(struct agent_guest *g)
{
        agent_peer_end(&g->peer);
        *g->back = g->next;
        if (g->next)
                g->next->back = g->back;
        g->all->count--;
        g->gone.run = free_guest;
        cay_loop_defer(g->all->agent->loop, &g->gone);
}

static void tell_of(struct agent_guest *g, bool was_served, const char *why)
{
        uint64_t now = cay_clock_ms();

        if (was_served) {
                agent_tell("away: ", why);
        } else if (g->all->told_ms == 0 || now - g->all->told_ms >= TELL_MS) {
                g->all->told_ms = now;
                agent_tell("not let in: ", why);
        }
}

static void on_fail(struct agent_peer *p, const char *why)
{
        struct agent_guest *g = cay_container_of(p, struct agent_guest, peer);
        bool was_served = agent_lost(g->all->agent, p);

        tell_of(g, was_served, why);
        cay_ws_close(&g->ws, CAY_WS_GOING_AWAY, why); /* a daemon shows it to its people */
        cay_ws_abort(&g->ws);
        forget(g);
}

static size_t on_message(struct cay_ws *ws, enum cay_ws_opcode kind, const void *bytes, size_t len)
{
        struct agent_guest *g = cay_container_of(ws, struct agent_guest, ws);

        if (kind == CAY_WS_BINARY)
                agent_peer_hear(&g->peer, bytes, len);
        return len;
}

static void on_drain(struct cay_ws *ws)
{
        struct agent_guest *g = cay_container_of(ws, struct agent_guest, ws);

        agent_drained(g->all->agent, &g->peer);
}

static void on_closed(struct cay_ws *ws, unsigned code, const char *reason)
{
        struct agent_guest *g = cay_container_of(ws, struct agent_guest, ws);
        bool was_served = agent_lost(g->all->agent, &g->peer);
        char theirs[AGENT_TEXT_MAX + 1]; /* for a terminal */

        agent_text_set(theirs, reason);
        tell_of(g, was_served,
                theirs[0]             ? theirs
                : code == CAY_WS_LOST ? "the connection was lost"
                                      : "the daemon closed the connection");
        forget(g);
}

/* The oldest that is not served, if there are too many. */
static void make_room(struct agent_listen *l)
{
        struct agent_guest *oldest = NULL;

        if (l->count < AGENT_GUESTS_MAX)
                return;
        for (struct agent_guest *g = l->guests; g; g = g->next)
                if (g->peer.step != AGENT_STEP_SERVING)
                        oldest = g;
        if (oldest)
                on_fail(&oldest->peer, "too many connect");
}

static void refuse(struct cay_http_request *req, unsigned status, const char *text)
{
        cay_http_response_send(req, status, "text/plain", text, strlen(text));
}

static void on_request(struct cay_http_server *s, struct cay_http_request *req)
{
        static const struct cay_ws_options options = { .message_max = AGENT_MAX };
        static const struct cay_ws_ops ops = { .on_message = on_message,
                                               .on_drain = on_drain,
                                               .on_closed = on_closed };
        struct agent_listen *l = cay_http_server_user(s);
        const struct cay_http_fault *fault = cay_ws_check(req);
        struct agent_guest *g;

        if (fault) {
                refuse(req, fault->status, "a cay agent listens here, for its daemon's WebSocket\n");
                return;
        }
        if (cay_http_request_header(req, "origin")) {
                refuse(req, 403, "web pages are not let in\n");
                return;
        }
        make_room(l);
        g = calloc(1, sizeof(*g));
        if (!g) {
                refuse(req, 503, "no memory is left\n");
                return;
        }
        if (cay_ws_accept(&g->ws, req, l->agent->loop, NULL, &options, &ops) < 0) {
                free(g);
                return;
        }
        g->all = l;
        g->peer = (struct agent_peer){
                .agent = l->agent, .ws = &g->ws, .has_knocked = true, .on_fail = on_fail
        };
        g->next = l->guests;
        g->back = &l->guests;
        if (g->next)
                g->next->back = &g->next;
        l->guests = g;
        l->count++;
        agent_peer_wait(&g->peer);
        agent_peer_begin(&g->peer);
}

static const char *make_error(struct cay_http_server *s, const struct cay_http_fault *fault,
                              struct cay_buf *fields, struct cay_buf *body)
{
        (void)s;
        (void)fault;
        (void)fields;
        (void)body;
        return NULL;
}

/* Begin and end */

int agent_listen_open(struct agent_listen *l, struct agent *a, struct cay_error *err)
{
        static const struct cay_http_server_ops ops = { .on_request = on_request, .make_error = make_error };
        const struct agent_options *o = &a->options;
        struct cay_http_config config;
        int fds[CAY_LISTEN_MAX], count, r = 0;

        cay_http_config_init(&config);
        config.ops = &ops;
        config.body_max = 0;
        config.head_ms = config.idle_ms = HEAD_MS;
        config.connections = CONNECTIONS_MAX;
        config.per_peer = 0; /* behind a tunnel they are all the same */
        l->agent = a;
        l->server = cay_http_server_new(a->loop, &config, l, err);
        if (!l->server)
                return -1;
        count = cay_listen_tcp(o->listen_host, o->listen_port, fds, err);
        if (count < 0)
                return cay_wrap(err, "--listen");
        snprintf(a->listen_text, sizeof(a->listen_text), strchr(o->listen_host, ':') ? "[%s]:%u" : "%s:%u",
                 o->listen_host, cay_listen_port(fds[0]));
        for (int i = 0; i < count; i++) /* the server closes one that it refuses */
                if (cay_http_server_listen_take(l->server, fds[i], NULL, err) < 0)
                        r = -1;
        return r < 0 ? cay_wrap(err, "--listen") : 0;
}

void agent_listen_close(struct agent_listen *l)
{
        if (!l->server)
                return;
        while (l->guests) {
                struct agent_guest *g = l->guests;

                agent_lost(l->agent, &g->peer);
                cay_ws_close(&g->ws, CAY_WS_GOING_AWAY, "the agent stops");
                cay_ws_abort(&g->ws);
                forget(g);
        }
        cay_http_server_free(cay_take(l->server));
}
