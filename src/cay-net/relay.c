/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a connection, both ways. */
#include "cay-net/conn_priv.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

static void relay(struct net_conn *c);

static int set_watch(struct net_conn *c, struct cay_watch *w, int fd, uint32_t events,
                     void (*on_event)(struct cay_watch *w, uint32_t events))
{
        if (w->loop) {
                w->on_event = on_event;
                return cay_watch_set(w, events);
        }
        return events ? cay_watch_add(c->box->world->loop, w, fd, events, on_event) : 0;
}

static void on_relay(struct net_conn *c, struct cay_watch *w, uint32_t events)
{
        int error = 0;
        socklen_t len = sizeof(error);

        if (w->events == 0) { /* a socket that nothing is wanted of: reset, or closed both ways */
                getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &len);
                if (error != 0)
                        net_conn_end(c, NET_LOG_ENDED, strerror(error));
                else
                        cay_watch_remove(w);
                return;
        }
        if (events & EPOLLRDHUP)
                (w == &c->client ? &c->up : &c->down)->pump.is_ending = true;
        relay(c);
}

static void on_client(struct cay_watch *w, uint32_t events)
{
        on_relay(cay_container_of(w, struct net_conn, client), w, events);
}

static void on_server(struct cay_watch *w, uint32_t events)
{
        on_relay(cay_container_of(w, struct net_conn, server), w, events);
}

static uint32_t events_for(const struct net_side *reads, const struct net_side *writes)
{
        uint32_t events = 0;

        if (!reads->is_held && (reads->wait == NET_PUMP_IN || reads->wait == NET_PUMP_MORE))
                events |= EPOLLIN | EPOLLRDHUP;
        if (writes->wait == NET_PUMP_OUT)
                events |= EPOLLOUT;
        return events;
}

/* One turn of a direction. False: the connection is over. */
static bool step_side(struct net_conn *c, struct net_side *s, bool is_up)
{
        size_t most = s->pump.held > 0 || s->wait == NET_PUMP_OVER ? 0 : net_box_allowance(c->box, is_up),
               got;
        bool holds = most == 0 && s->pump.held == 0 && s->wait != NET_PUMP_OVER && !s->pump.is_read;

        c->box->waiting += (unsigned)holds - (unsigned)s->is_held;
        s->is_held = holds;
        if (holds) {
                net_box_wait(c->box);
                return true;
        }
        if (s->wait == NET_PUMP_OVER)
                return true;
        s->wait = net_pump_step(&s->pump, &c->box->world->pipes, most, &got);
        if (s->wait < 0) {
                net_conn_end(c, NET_LOG_ENDED, strerror(-s->wait));
                return false;
        }
        return got == 0 || !net_box_count(c->box, is_up, got);
}

static void relay(struct net_conn *c)
{
        if (!step_side(c, &c->up, true) || !step_side(c, &c->down, false))
                return;
        if (c->up.wait == NET_PUMP_OVER && c->down.wait == NET_PUMP_OVER) {
                net_conn_log(c, NET_LOG_ENDED, "closed");
                net_conn_done(c, false);
                return;
        }
        if (set_watch(c, &c->client, c->up.pump.from, events_for(&c->up, &c->down), on_client) < 0 ||
            set_watch(c, &c->server, c->up.pump.to, events_for(&c->down, &c->up), on_server) < 0)
                net_conn_end(c, NET_LOG_ENDED, "no memory");
}

void net_conn_go_on(struct net_conn *c)
{
        net_conn_to_last(c);
        if (c->step == NET_STEP_RELAYING && (c->up.is_held || c->down.is_held))
                relay(c);
}

/* What was asked of the proxy is there: says so, and passes a plain request on. False: it has been ended. */
static bool answer_proxy(struct net_conn *c)
{
        ssize_t sent = 0;

        if (!c->proxy)
                return true;
        if (net_proxy_agree(c->proxy, c->up.pump.from) < 0 ||
            (sent = net_proxy_pass_on(c->proxy, c->up.pump.to)) < 0) {
                net_conn_end(c, NET_LOG_FAILED, "closed before it was answered");
                return false;
        }
        c->up.pump.bytes += (uint64_t)sent;
        return sent == 0 || !net_box_count(c->box, true, (size_t)sent);
}

void net_conn_relay(struct net_conn *c)
{
        const int one = 1;

        if (!answer_proxy(c))
                return;
        setsockopt(c->up.pump.to, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        setsockopt(c->up.pump.to, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
        if (c->is_name_checked || c->proxy) /* it was raised while a hello or a request was read */
                setsockopt(c->up.pump.from, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
        net_conn_set_reset(c->up.pump.to, true);
        cay_timer_clear(&c->deadline);
        free(c->reach);
        c->reach = NULL;
        c->step = NET_STEP_RELAYING;
        c->down.pump.from = c->up.pump.to;
        c->down.pump.to = c->up.pump.from;
        net_conn_log(c, NET_LOG_ALLOWED, "");
        relay(c);
}
