/* SPDX-License-Identifier: Apache-2.0 */
/* Accepting connections within their limits; server.h has the rules. */
#include "foundation/http/server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "foundation/base/clock.h"
#include "foundation/base/fair.h"
#include "foundation/http/http1.h"
#include "foundation/http/listen.h"
#include "foundation/http/peers.h"
#include "foundation/http/anonymous.h"

enum {
        LISTENERS_MAX = 16,
        ACCEPTS_MAX = 64, /* per round and listener */
        BACK_OFF_MS = 100,
        EXTRA_MAX = 16, /* connections above the limit, only to answer them with an error */
        REFUSED_LINGER_MS = 2000,
        LOCAL_MAX = 32, /* extra for unix sockets: network clients cannot lock out local users */
};

struct listener {
        struct cay_watch watch;
        struct cay_timer back_off;
        struct cay_http_server *server;
        struct cay_tls_context *tls; /* borrowed; NULL: plain */
        unsigned number;
        int fd;
};

struct cay_http_server {
        struct cay_loop *loop; /* borrowed */
        struct cay_http_config config;
        void *user;
        struct listener listeners[LISTENERS_MAX];
        unsigned listener_count, next_number;
        struct cay_http_conn *conns;                  /* all, in no order */
        struct cay_http_conn *idle_first, *idle_last; /* longest idle first */
        struct cay_anonymous anonymous;
        unsigned count, extra;
        struct cay_peers peers;
        struct cay_timer idle_note;
        bool stopping;
        uint64_t date_s;
        char date[96];
        uint64_t answers[CAY_HTTP_CLASSES];
};

void cay_http_config_init(struct cay_http_config *config)
{
        *config = (struct cay_http_config){
                .head = { .line_bytes = 8 * 1024, .head_bytes = 32 * 1024, .lines = 100 },
                .body_max = (uint64_t)64 << 30,
                .head_ms = 10 * 1000,
                .body_ms = 30 * 1000,
                .body_step = 1024,
                .idle_ms = 30 * 1000,
                .stall_ms = 30 * 1000,
                .connections = 1024,
        };
}

const struct cay_http_config *cay_http_server_config(const struct cay_http_server *s)
{
        return &s->config;
}

void *cay_http_server_user(struct cay_http_server *s)
{
        return s->user;
}

bool cay_http_server_is_stopping(const struct cay_http_server *s)
{
        return s->stopping;
}

unsigned cay_http_server_count(const struct cay_http_server *s)
{
        return s->count;
}

void cay_http_server_note_answer(struct cay_http_server *s, unsigned status)
{
        unsigned i = status / 100;

        if (i < CAY_HTTP_CLASSES)
                s->answers[i]++;
}

const uint64_t *cay_http_server_answers(const struct cay_http_server *s)
{
        return s->answers;
}

const char *cay_http_server_date(struct cay_http_server *s)
{
        static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
        uint64_t now_s = cay_clock_wall_ms() / 1000;
        time_t now = (time_t)now_s;
        struct tm tm;

        if (now_s == s->date_s || !gmtime_r(&now, &tm))
                return s->date;
        s->date_s = now_s;
        /* Not strftime: its words follow the locale. */
        snprintf(s->date, sizeof(s->date), "Date: %.3s, %02d %.3s %04d %02d:%02d:%02d GMT\r\n",
                 days + tm.tm_wday * 3, tm.tm_mday, months + tm.tm_mon * 3, tm.tm_year + 1900, tm.tm_hour,
                 tm.tm_min, tm.tm_sec);
        return s->date;
}

/* Lists */

void cay_http_server_set_idle(struct cay_http_server *s, struct cay_http_conn *c, bool idle)
{
        if (c->is_idle == idle)
                return;
        c->is_idle = idle;
        if (idle) {
                c->idle_prev = s->idle_last;
                c->idle_next = NULL;
                *(s->idle_last ? &s->idle_last->idle_next : &s->idle_first) = c;
                s->idle_last = c;
                return;
        }
        *(c->idle_prev ? &c->idle_prev->idle_next : &s->idle_first) = c->idle_next;
        *(c->idle_next ? &c->idle_next->idle_prev : &s->idle_last) = c->idle_prev;
}

void cay_http_server_know(struct cay_http_server *s, struct cay_http_conn *c)
{
        cay_anonymous_drop(&s->anonymous, c);
}

/* A connection that is the owner's already stays so; who is above its share gets no further one. */
bool cay_http_server_has_room(const struct cay_http_server *s, const struct cay_http_conn *c)
{
        unsigned most = s->config.connections + (c->peer.is_unix ? LOCAL_MAX : 0), busy = 0, own = 0;

        if (s->count <= most / 3 || !c->owner)
                return true; /* whoever they are: nobody can have more than a fair share */
        for (const struct cay_http_conn *other = s->conns; other; other = other->next) {
                if (other == c || other->is_idle || other->is_extra)
                        continue;
                busy++;
                own += other->owner == c->owner;
        }
        return cay_fair_has_room(most, most, busy, own);
}

static void note_idle(struct cay_timer *t)
{
        struct cay_http_server *s = cay_container_of(t, struct cay_http_server, idle_note);

        if (s->config.ops->on_idle)
                s->config.ops->on_idle(s);
}

static void check_stopped(struct cay_http_server *s)
{
        if (s->stopping && s->count == 0)
                cay_timer_set(s->loop, &s->idle_note, 0, note_idle);
}

static void hang_in(struct cay_http_server *s, struct cay_http_conn *c)
{
        c->next = s->conns;
        if (s->conns)
                s->conns->prev = c;
        s->conns = c;
        s->count++;
        s->extra += c->is_extra;
        if (c->is_extra)
                return;
        cay_peers_add(&s->peers, c->peer_key);
        cay_anonymous_add(&s->anonymous, c);
}

void cay_http_server_forget(struct cay_http_server *s, struct cay_http_conn *c)
{
        *(c->prev ? &c->prev->next : &s->conns) = c->next;
        if (c->next)
                c->next->prev = c->prev;
        cay_anonymous_drop(&s->anonymous, c);
        s->count--;
        s->extra -= c->is_extra;
        if (!c->is_extra)
                cay_peers_drop(&s->peers, c->peer_key);
        check_stopped(s);
}

/* Accepting */

static void describe(struct cay_http_peer *peer, const struct sockaddr_storage *at, int fd)
{
        const struct sockaddr_in *v4 = (const void *)at;
        const struct sockaddr_in6 *v6 = (const void *)at;
        socklen_t len = sizeof(peer->cred);

        if (at->ss_family == AF_INET) {
                inet_ntop(AF_INET, &v4->sin_addr, peer->address, sizeof(peer->address));
                peer->port = ntohs(v4->sin_port);
                peer->is_loopback = ntohl(v4->sin_addr.s_addr) >> 24 == 127;
        } else if (at->ss_family == AF_INET6) {
                inet_ntop(AF_INET6, &v6->sin6_addr, peer->address, sizeof(peer->address));
                peer->port = ntohs(v6->sin6_port);
                peer->is_loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
        } else {
                /* Unknown to the kernel: -1 owns nothing. */
                peer->cred = (struct ucred){ .pid = -1, .uid = (uid_t)-1, .gid = (gid_t)-1 };
                getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer->cred, &len);
                peer->is_unix = peer->is_loopback = true;
                peer->fd = fd;
        }
}

/*
 * Evicts the least important connection, of that peer or (key 0) of all: unauthenticated ones first, then
 * idle ones. False: there is none.
 */
static bool make_room(struct cay_http_server *s, uint64_t key)
{
        struct cay_http_conn *c = cay_anonymous_pick(&s->anonymous, key);

        if (!c) {
                c = s->idle_first;
                while (c && key != 0 && c->peer_key != key)
                        c = c->idle_next;
        }
        if (c)
                cay_http_conn_kill(c);
        return c;
}

/* Why one more connection of that peer is refused; NULL: it is accepted. */
static const struct cay_http_fault *check_limits(struct cay_http_server *s, uint64_t key, bool is_unix)
{
        static const struct cay_http_fault full = { 503, "too many connections: try again in a moment",
                                                    true };
        static const struct cay_http_fault peer_full = {
                429, "too many connections from this client: try again in a moment", true
        };

        if (s->config.per_peer > 0 && cay_peers_count(&s->peers, key) >= s->config.per_peer &&
            !make_room(s, key))
                return &peer_full;
        if (s->count - s->extra < s->config.connections + (is_unix ? LOCAL_MAX : 0))
                return NULL;
        return make_room(s, 0) ? NULL : &full;
}

static int adopt_take(struct cay_http_server *s, int fd, const struct sockaddr_storage *at, unsigned number,
                      struct cay_tls_context *tls)
{
        cay_auto_close int taken = fd;
        cay_auto_free struct cay_http_conn *c = calloc(1, sizeof(*c));
        const struct cay_http_fault *fault;
        struct cay_tls *session = NULL;
        int r;

        if (!c)
                return -ENOMEM;
        describe(&c->peer, at, fd);
        c->peer.listener = number;
        c->peer.is_tls = tls;
        c->peer_key = cay_peers_key((const struct sockaddr *)at, c->peer.cred.uid);
        c->server = s;
        fault = check_limits(s, c->peer_key, c->peer.is_unix);
        c->is_extra = fault;
        if (fault && (tls || s->extra >= EXTRA_MAX))
                return -EBUSY;
        if (tls && !(session = cay_tls_accept(tls, fd)))
                return -ENOMEM;
        r = cay_http_conn_open_take(c, s->loop, cay_take_fd(taken), session);
        if (r < 0)
                return r;
        hang_in(s, c);
        if (fault) {
                c->conn.linger_ms = REFUSED_LINGER_MS;
                cay_http_conn_refuse(c, fault);
        }
        c = NULL; /* it owns itself from here on */
        return 0;
}

int cay_http_server_accept_take(struct cay_http_server *s, int fd, unsigned listener)
{
        struct sockaddr_storage at = { .ss_family = AF_UNIX };
        socklen_t len = sizeof(at);

        if (getpeername(fd, (struct sockaddr *)&at, &len) < 0) {
                int r = -errno;

                close(fd);
                return r;
        }
        return adopt_take(s, fd, &at, listener, NULL);
}

static void on_back_off(struct cay_timer *t)
{
        struct listener *l = cay_container_of(t, struct listener, back_off);

        cay_watch_set(&l->watch, EPOLLIN);
}

/* No descriptors or memory: the connections stay in the backlog, and an unused connection is evicted. */
static void back_off(struct listener *l)
{
        struct cay_http_server *s = l->server;

        make_room(s, 0);
        if (cay_timer_set(s->loop, &l->back_off, BACK_OFF_MS, on_back_off) == 0)
                cay_watch_set(&l->watch, 0);
}

static bool is_shortage(int error)
{
        return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

static void on_accept(struct cay_watch *w, uint32_t events)
{
        struct listener *l = cay_container_of(w, struct listener, watch);

        for (unsigned i = 0; i < ACCEPTS_MAX; i++) {
                struct sockaddr_storage at = { .ss_family = AF_UNIX };
                socklen_t len = sizeof(at);
                int fd = accept4(l->fd, (struct sockaddr *)&at, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

                if (fd >= 0) {
                        /* refused: closed, which the client sees */
                        adopt_take(l->server, fd, &at, l->number, l->tls);
                        continue;
                }
                if (errno == EAGAIN || errno == EWOULDBLOCK)
                        return;
                if (is_shortage(errno)) {
                        back_off(l);
                        return;
                }
                /* Other errors concern the connection, which is already gone, not the listener. */
        }
}

/* Listeners */

static int add_listener(struct cay_http_server *s, int fd, unsigned number, struct cay_tls_context *tls,
                        struct cay_error *err)
{
        struct listener *l = &s->listeners[s->listener_count];
        int r;

        if (s->listener_count == LISTENERS_MAX) {
                close(fd);
                return cay_fail(err, CAY_LIMIT, "more than %d listening sockets", LISTENERS_MAX);
        }
        *l = (struct listener){ .server = s, .tls = tls, .number = number, .fd = fd };
        r = cay_watch_add(s->loop, &l->watch, fd, EPOLLIN, on_accept);
        if (r < 0) {
                close(fd);
                return cay_fail_sys(err, CAY_INTERNAL, r, "watch a listening socket");
        }
        s->listener_count++;
        return (int)number;
}

int cay_http_server_listen_take(struct cay_http_server *s, int fd, struct cay_tls_context *tls,
                                struct cay_error *err)
{
        int flags = fcntl(fd, F_GETFL), listens = 0;
        socklen_t len = sizeof(listens);

        if (flags < 0 || getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0 || !listens) {
                close(fd);
                return cay_fail(err, CAY_INVALID, "descriptor %d is not a listening socket", fd);
        }
        fcntl(fd, F_SETFL, flags | O_NONBLOCK);
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        cay_listen_prepare(fd);
        if (add_listener(s, fd, s->next_number, tls, err) < 0)
                return -1;
        return (int)s->next_number++;
}

static void close_listener(struct listener *l)
{
        if (l->fd < 0)
                return;
        cay_watch_remove(&l->watch);
        cay_timer_clear(&l->back_off);
        close(cay_take_fd(l->fd));
}

/* Beginning and end */

struct cay_http_server *cay_http_server_new(struct cay_loop *loop, const struct cay_http_config *config,
                                            void *user, struct cay_error *err)
{
        struct cay_http_server *s = calloc(1, sizeof(*s));

        assert(config->ops && config->ops->on_request);
        assert(config->head.head_bytes <= CAY_HTTP_HEAD_MAX && config->head.lines <= CAY_HTTP_LINES_MAX);
        if (!s || cay_peers_init(&s->peers, config->connections + EXTRA_MAX + LOCAL_MAX) < 0) {
                free(s);
                cay_fail(err, CAY_INTERNAL, "no memory for the server");
                return NULL;
        }
        s->loop = loop;
        s->config = *config;
        s->user = user;
        return s;
}

void cay_http_server_stop(struct cay_http_server *s)
{
        struct cay_http_conn *next;

        if (s->stopping)
                return;
        s->stopping = true;
        for (unsigned i = 0; i < s->listener_count; i++)
                close_listener(&s->listeners[i]);
        for (struct cay_http_conn *c = s->conns; c; c = next) {
                next = c->next;
                cay_http_conn_retire(c);
        }
        check_stopped(s);
}

void cay_http_server_free(struct cay_http_server *s)
{
        if (!s)
                return;
        cay_http_server_stop(s);
        while (s->conns)
                cay_http_conn_kill(s->conns);
        cay_timer_clear(&s->idle_note);
        cay_peers_done(&s->peers);
        free(s);
}
