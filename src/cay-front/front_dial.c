/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-front/front_dial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "domain/auth/digest.h"
#include "domain/model/port_clock.h"
#include "engines/network/network_client.h"
#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "foundation/http/client.h"
#include "foundation/http/socket.h"
#include "foundation/http/tls.h"
#include "foundation/http/ws.h"
#include "links/agent/agent_pause.h"

#define CALL_MS 30000u   /* cay-net gives up before that */
#define ANSWER_MS 15000u /* TLS and the upgrade together */
#define FIELDS_MAX 1024
#define TRUSTED_MAX (4u << 20) /* bytes of the file of certificates */

enum dial_step { DIAL_PAUSE, DIAL_CALLING, DIAL_UPGRADING, DIAL_OPEN };

struct dial_line {
        struct cay_front_dial *all;
        struct dial_line *next;
        char owner[CAY_NAME_MAX + 1], name[CAY_NAME_MAX + 1];
        uint64_t created_wall_ms; /* of its machine: another one may get the same name */
        struct cay_machine_url url;
        enum dial_step step;
        unsigned tries;
        uint64_t served_ms;     /* cay_clock_ms, while DIAL_OPEN */
        struct cay_timer timer; /* the next try, or the end of patience */
        struct cay_watch call;
        int call_fd; /* owned; -1: none */
        struct cay_http_client http;
        struct cay_socket_end end;
        char key[CAY_WS_KEY_LEN + 1];
        bool is_over; /* its connection still has to end */
        struct cay_deferred gone;
};

struct cay_front_dial {
        struct cay_front_dial_env env;
        struct cay_tls_context *tls; /* owned; NULL: not needed yet */
        struct dial_line *lines;     /* owned */
        bool stopping;
};

static uint64_t wall_ms(const struct cay_front_dial *d)
{
        struct cay_clock_reading now;

        d->env.clock->read(d->env.clock, &now);
        return now.wall_ms;
}

static struct cay_machine *machine_of(const struct dial_line *l)
{
        struct cay_machine *m = cay_machines_find(l->all->env.machines, l->owner, l->name);

        return m && m->url[0] && !m->is_off && m->created_wall_ms == l->created_wall_ms ? m : NULL;
}

/* Ends */

static void free_line(struct cay_deferred *d)
{
        free(cay_container_of(d, struct dial_line, gone));
}

static void drop_call(struct dial_line *l)
{
        cay_watch_remove(&l->call);
        if (l->call_fd >= 0)
                close(cay_take_fd(l->call_fd));
}

static void unlink_line(struct dial_line *l)
{
        struct dial_line **at = &l->all->lines;

        while (*at != l)
                at = &(*at)->next;
        *at = l->next;
        l->gone.run = free_line;
        cay_loop_defer(l->all->env.loop, &l->gone);
}

/* One whose connection is open is freed when that has ended, which whoever removed the machine sees to. */
static void drop_line(struct dial_line *l)
{
        cay_timer_clear(&l->timer);
        drop_call(l);
        if (l->step == DIAL_UPGRADING)
                cay_http_client_abort(&l->http);
        l->is_over = l->step == DIAL_OPEN;
        if (!l->is_over)
                unlink_line(l);
}

static void begin(struct dial_line *l);

static void on_pause_over(struct cay_timer *t)
{
        begin(cay_container_of(t, struct dial_line, timer));
}

static void fail(struct dial_line *l, const char *why)
{
        struct cay_machine *m = machine_of(l);
        uint32_t ms, random = 0;

        cay_timer_clear(&l->timer);
        drop_call(l);
        l->step = DIAL_PAUSE;
        if (!m || l->all->stopping) {
                unlink_line(l);
                return;
        }
        if (cay_digest_random(&random, sizeof(random)) < 0)
                random = (uint32_t)cay_clock_ns();
        ms = agent_pause_ms(&l->tries, random);
        cay_str_copy(m->problem, sizeof(m->problem), why);
        m->next_try_wall_ms = wall_ms(l->all) + ms;
        cay_timer_set(l->all->env.loop, &l->timer, ms, on_pause_over);
}

static void on_late(struct cay_timer *t)
{
        struct dial_line *l = cay_container_of(t, struct dial_line, timer);

        if (l->step == DIAL_UPGRADING)
                cay_http_client_abort(&l->http);
        fail(l, "no answer came in time");
}

/* The upgrade */

static void on_conn_end(void *ctx, const char *why, bool was_served)
{
        struct dial_line *l = ctx;

        if (l->is_over) {
                unlink_line(l);
                return;
        }
        if (was_served)
                agent_pause_was_served(&l->tries, cay_clock_ms() - l->served_ms);
        fail(l, why);
}

static void on_conn_served(void *ctx)
{
        struct dial_line *l = ctx;
        struct cay_machine *m = machine_of(l);

        l->served_ms = cay_clock_ms();
        if (m)
                m->next_try_wall_ms = 0;
}

static struct dial_line *line_of(struct cay_http_client *c)
{
        return cay_container_of(c, struct dial_line, http);
}

static void on_response(struct cay_http_client *c)
{
        unsigned status = c->head.status;
        char why[128];

        snprintf(why, sizeof(why),
                 "the server answered %u instead of a WebSocket: does the agent listen behind this URL?",
                 status);
        cay_http_client_abort(c);
        fail(line_of(c), why);
}

static size_t on_body(struct cay_http_client *c, const void *bytes, size_t len)
{
        (void)c;
        (void)bytes;
        return len;
}

static void on_http_end(struct cay_http_client *c)
{
        fail(line_of(c), "the server did not open a WebSocket");
}

static void on_upgraded(struct cay_http_client *c)
{
        struct dial_line *l = line_of(c);
        bool is_ours = cay_ws_is_answer(l->key, cay_http_client_header(c, "sec-websocket-accept"));
        const struct cay_front_dialled who = { .owner = l->owner,
                                               .name = l->name,
                                               .on_served = on_conn_served,
                                               .on_end = on_conn_end,
                                               .ctx = l };
        struct cay_buf early;
        struct cay_duplex *duplex = cay_http_client_take_duplex(c, &early);

        cay_socket_note_end(duplex, NULL);
        cay_timer_clear(&l->timer);
        if (!is_ours) {
                cay_duplex_close(duplex);
                fail(l, "the server's answer to the upgrade is wrong");
        } else {
                l->step = DIAL_OPEN;
                if (cay_front_agents_open_take(l->all->env.agents, duplex, &early, &who) < 0)
                        fail(l, "the daemon has no room for another connection");
        }
        cay_buf_done(&early);
}

static const char *tls_text(enum cay_tls_fault fault)
{
        static const char *const texts[CAY_TLS_FAULT_COUNT] = {
                [CAY_TLS_PEER_UNTRUSTED] =
                        "the server's certificate is not signed by a trusted authority (agent_ca)",
                [CAY_TLS_PEER_EXPIRED] = "the server's certificate has expired",
                [CAY_TLS_PEER_TOO_EARLY] =
                        "the server's certificate is not valid yet: is the daemon's clock right?",
                [CAY_TLS_PEER_OTHER_NAME] = "the server's certificate is for another name",
                [CAY_TLS_NOT_SPOKEN] = "the server does not speak TLS",
        };

        return texts[fault] ? texts[fault] : "TLS failed";
}

static void on_http_fail(struct cay_http_client *c, const struct cay_http_fault *fault)
{
        struct dial_line *l = line_of(c);

        fail(l, l->end.tls != CAY_TLS_NO_FAULT ? tls_text(l->end.tls)
                : l->end.sys < 0               ? strerror(-l->end.sys)
                                               : fault->text);
}

static const struct cay_http_client_ops http_ops = { .on_response = on_response,
                                                     .on_body = on_body,
                                                     .on_end = on_http_end,
                                                     .on_upgraded = on_upgraded,
                                                     .on_fail = on_http_fail };

static int begin_upgrade(struct dial_line *l, struct cay_duplex *duplex, struct cay_error *err)
{
        char fields[FIELDS_MAX];
        const struct cay_http_client_request request = { .method = CAY_HTTP_GET,
                                                         .target = l->url.path,
                                                         .fields = fields,
                                                         .upgrade = "websocket",
                                                         .framing = CAY_HTTP_NO_BODY,
                                                         .answer_ms = ANSWER_MS };

        snprintf(fields, sizeof(fields), "Host: %s\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n",
                 l->url.authority, l->key);
        return cay_http_client_begin(&l->http, duplex, l->all->env.loop, &request, &http_ops) == 0
                       ? 0
                       : cay_fail(err, CAY_INTERNAL, "no memory for the connection");
}

/* Connecting */

/*
 * Read when the first wss:// is dialled: the file was opened while it could be, and takes megabytes once it
 * is read.
 */
static int trust(struct cay_front_dial *d, struct cay_error *err)
{
        cay_auto_free char *text = NULL;
        struct stat st;

        if (d->tls)
                return 0;
        if (d->env.trusted_fd < 0 || fstat(d->env.trusted_fd, &st) < 0)
                return cay_fail(err, CAY_UNAVAILABLE,
                                "the daemon has no file of certificates to trust (agent_ca)");
        if (st.st_size < 1 || st.st_size > TRUSTED_MAX)
                return cay_fail(err, CAY_LIMIT,
                                "the file of certificates to trust must have 1 to %u bytes (agent_ca)",
                                TRUSTED_MAX);
        text = malloc((size_t)st.st_size);
        if (!text || pread(d->env.trusted_fd, text, (size_t)st.st_size, 0) != st.st_size)
                return cay_fail(err, CAY_INTERNAL, "read the certificates to trust (agent_ca)");
        d->tls = cay_tls_context_new_client_pem(text, (size_t)st.st_size, err);
        return d->tls ? 0 : -1;
}

static int use_socket_take(struct dial_line *l, int fd, struct cay_error *err)
{
        struct cay_tls *tls = NULL;
        struct cay_duplex *duplex;

        l->end = (struct cay_socket_end){ 0 };
        if (l->url.is_tls &&
            (trust(l->all, err) < 0 || !(tls = cay_tls_connect(l->all->tls, fd, l->url.host)))) {
                close(fd);
                return err->code != CAY_OK ? -1 : cay_fail(err, CAY_INTERNAL, "no memory for TLS");
        }
        if (cay_ws_make_key(l->key) < 0) {
                cay_tls_free(tls);
                close(fd);
                return cay_fail(err, CAY_INTERNAL, "make a key for the WebSocket");
        }
        duplex = cay_socket_open_take(l->all->env.loop, fd, tls);
        if (!duplex)
                return cay_fail(err, CAY_INTERNAL, "no memory for the connection");
        cay_socket_note_end(duplex, &l->end);
        return begin_upgrade(l, duplex, err);
}

static void on_called(struct cay_watch *w, uint32_t events)
{
        struct dial_line *l = cay_container_of(w, struct dial_line, call);
        struct cay_error err = { 0 };
        int fd, r = cay_network_client_dialled(w->fd, &fd, &err);

        (void)events;
        if (r > 0)
                return;
        drop_call(l);
        if (r == 0)
                r = use_socket_take(l, fd, &err);
        if (r < 0) {
                fail(l, err.msg);
                return;
        }
        l->step = DIAL_UPGRADING;
        cay_timer_set(l->all->env.loop, &l->timer, ANSWER_MS, on_late);
}

static bool can_be_paired(const struct cay_front_dial *d, const struct cay_machine *m)
{
        return m->paired_wall_ms > 0 ||
               (m->code[0] && m->tries < CAY_MACHINE_TRIES && wall_ms(d) < m->code_until_wall_ms);
}

static void begin(struct dial_line *l)
{
        struct cay_network_broker *network = *l->all->env.network;
        struct cay_machine *m = machine_of(l);
        struct cay_error err = { 0 };

        if (!m) {
                unlink_line(l);
                return;
        }
        m->next_try_wall_ms = 0;
        if (!can_be_paired(l->all, m)) {
                cay_str_copy(m->problem, sizeof(m->problem),
                             "it was not paired in time: remove it, and add it again for another code");
                unlink_line(l);
                return;
        }
        l->call_fd =
                network ? cay_network_client_dial(network, l->url.host, l->url.port, m->may_private, &err)
                        : cay_fail(&err, CAY_UNAVAILABLE,
                                   "cay-net, which connects for the daemon, does not run");
        if (l->call_fd < 0 || cay_watch_add(l->all->env.loop, &l->call, l->call_fd, EPOLLIN, on_called) < 0) {
                fail(l, err.msg[0] ? err.msg : "no memory for the connection");
                return;
        }
        l->step = DIAL_CALLING;
        cay_timer_set(l->all->env.loop, &l->timer, CALL_MS, on_late);
}

/* Lines */

static void ensure_line(void *ctx, const struct cay_machine *m)
{
        struct cay_front_dial *d = ctx;
        struct cay_error ignored = { 0 };
        struct dial_line *l = d->lines;

        if (!m->url[0] || m->is_off)
                return;
        while (l && (l->is_over || machine_of(l) != m))
                l = l->next;
        if (l || !can_be_paired(d, m) || !(l = calloc(1, sizeof(*l))))
                return;
        if (cay_machine_url_read(m->url, &l->url, &ignored) < 0) {
                free(l);
                return;
        }
        l->all = d;
        l->call_fd = -1;
        l->created_wall_ms = m->created_wall_ms;
        cay_str_copy(l->owner, sizeof(l->owner), m->owner);
        cay_str_copy(l->name, sizeof(l->name), m->name);
        l->next = d->lines;
        d->lines = l;
        cay_timer_set(d->env.loop, &l->timer, 0, on_pause_over);
}

void cay_front_dial_sync(struct cay_front_dial *d)
{
        struct dial_line *next;

        if (!d || d->stopping || !d->env.machines)
                return;
        for (struct dial_line *l = d->lines; l; l = next) {
                next = l->next;
                if (!l->is_over && !machine_of(l))
                        drop_line(l);
        }
        cay_machines_each(d->env.machines, NULL, ensure_line, d);
}

struct cay_front_dial *cay_front_dial_new(const struct cay_front_dial_env *env)
{
        struct cay_front_dial *d = calloc(1, sizeof(*d));

        if (d)
                d->env = *env;
        return d;
}

void cay_front_dial_stop(struct cay_front_dial *d)
{
        struct dial_line *next;

        if (!d)
                return;
        d->stopping = true;
        for (struct dial_line *l = d->lines; l; l = next) {
                next = l->next;
                if (!l->is_over)
                        drop_line(l);
        }
}

void cay_front_dial_free(struct cay_front_dial *d)
{
        if (!d)
                return;
        cay_front_dial_stop(d);
        cay_tls_context_free(d->tls);
        free(d);
}
