/* SPDX-License-Identifier: Apache-2.0 */
/* The network port over a link to cay-net; the theory is in network_client.h. */
#include "engines/network/network_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engines/helper_client/link.h"
#include "engines/network/network_entry.h"
#include "engines/network/network_limits.h"
#include "foundation/base/clock.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"
#include "foundation/sys/net_divert.h"
#include "foundation/sys/unix_socket.h"
#include "links/helper/message.h"
#include "links/net/net_message.h"

struct known { /* a sandbox that cay-net has, or had */
        struct known *next;
        char id[CAY_NAME_MAX + 1];
        bool is_there;
        uint64_t log_next;
};

struct client {
        struct cay_network_broker broker; /* first */
        struct cay_loop *loop;            /* borrowed */
        struct engine_link link;
        struct engine_call greeting; /* hello, then the list */
        uint32_t list_from;
        bool is_open, is_ready;
        struct known *known; /* owned */
        void (*ready)(void *ctx);
        void *ready_ctx;
        void (*entry)(void *ctx, const char *id, const struct cay_network_entry *e);
        void *entry_ctx;
};

struct ask { /* one request for one job; freed when it is answered */
        struct engine_call call;
        struct client *client;
        struct cay_job *job; /* NULL: nobody waits */
        char id[CAY_NAME_MAX + 1];
        struct cay_network_stats *stats;
        struct cay_network_log *log;
};

static struct client *self(struct cay_network_broker *n)
{
        return cay_container_of(n, struct client, broker);
}

static const struct net_answer *whole(const struct helper_answer_head *a)
{
        return (const void *)a;
}

static const struct engine_link_kind kind = { .program = "cay-net",
                                              .who = "cay-net",
                                              .protocol = &net_protocol };

/* What is known */

static struct known *find(struct client *c, const char *id)
{
        for (struct known *k = c->known; k; k = k->next)
                if (strcmp(k->id, id) == 0)
                        return k;
        return NULL;
}

static struct known *note(struct client *c, const char *id)
{
        struct known *k = find(c, id);

        if (k)
                return k;
        k = calloc(1, sizeof(*k));
        if (!k)
                return NULL;
        cay_str_copy(k->id, sizeof(k->id), id);
        k->next = c->known;
        c->known = k;
        return k;
}

static void forget(struct client *c, const char *id)
{
        for (struct known **at = &c->known; *at; at = &(*at)->next) {
                struct known *k = *at;

                if (strcmp(k->id, id) != 0)
                        continue;
                *at = k->next;
                free(k);
                return;
        }
}

static void read_id(const struct helper_answer_head *a, char ret[CAY_NAME_MAX + 1])
{
        memcpy(ret, whole(a)->id, CAY_NAME_MAX);
        ret[CAY_NAME_MAX] = '\0';
}

/* The link */

static void on_unasked(struct engine_link *l, const struct helper_answer_head *a)
{
        struct client *c = cay_container_of(l, struct client, link);
        char id[CAY_NAME_MAX + 1];
        struct cay_network_entry entry;
        struct known *k;

        if (a->type != NET_log)
                return;
        read_id(a, id);
        k = find(c, id);
        if (!k || whole(a)->log.number < k->log_next) /* one that is known */
                return;
        k->log_next = whole(a)->log.number + 1;
        if (!c->entry)
                return;
        cay_network_entry_read(&whole(a)->log, &entry);
        c->entry(c->entry_ctx, id, &entry);
}

static void on_lost(struct engine_link *l)
{
        struct client *c = cay_container_of(l, struct client, link);

        c->is_ready = false;
        for (struct known *k = c->known; k; k = k->next)
                k->is_there = false;
}

static void ask_list(struct client *c);

static void on_listed(struct engine_call *call, const struct helper_answer_head *a)
{
        struct client *c = cay_container_of(call, struct client, greeting);
        struct cay_error err = { 0 };
        char id[CAY_NAME_MAX + 1];
        struct known *k;

        engine_link_read_error(&c->link, a, &err);
        if (err.code != CAY_OK) {
                cay_log_error("cay-net does not say which sandboxes it has", "error=%s", err.msg);
                return;
        }
        read_id(a, id);
        if (id[0] == '\0' || c->list_from >= NET_BOXES_MAX) {
                c->is_ready = true;
                if (c->ready)
                        c->ready(c->ready_ctx);
                return;
        }
        k = note(c, id);
        if (k)
                k->is_there = true;
        c->list_from++;
        ask_list(c);
}

static void ask_list(struct client *c)
{
        struct net_request req = { .type = NET_box_list, .list.from = c->list_from };

        c->greeting.on_answer = on_listed;
        engine_link_ask(&c->link, &c->greeting, &req, NULL, 0);
}

static void on_hello(struct engine_call *call, const struct helper_answer_head *a)
{
        struct client *c = cay_container_of(call, struct client, greeting);
        struct cay_error err = { 0 };

        engine_link_read_error(&c->link, a, &err);
        if (err.code != CAY_OK) {
                cay_log_error("cay-net does not let this front in", "error=%s", err.msg);
                return;
        }
        c->list_from = 0;
        ask_list(c);
}

static void hang_up(struct client *c)
{
        if (!c->is_open)
                return;
        engine_link_close(&c->link);
        c->is_open = c->is_ready = false;
}

int cay_network_client_open_take(struct cay_network_broker *n, int sock, struct cay_error *err)
{
        struct net_request hello = { .type = NET_hello, .hello.version = NET_WIRE_VERSION };
        struct client *c = self(n);

        hang_up(c);
        on_lost(&c->link); /* that the one before ended may not have been heard */
        c->link = (struct engine_link){ .kind = &kind, .on_unasked = on_unasked, .on_lost = on_lost };
        if (engine_link_open_take(&c->link, c->loop, sock, err) < 0)
                return cay_wrap(err, "reach cay-net");
        c->is_open = true;
        c->greeting = (struct engine_call){ .on_answer = on_hello };
        engine_link_ask(&c->link, &c->greeting, &hello, NULL, 0);
        return 0;
}

void cay_network_client_await(struct cay_network_broker *n, int ms)
{
        struct client *c = self(n);
        uint64_t now = cay_clock_ms(), until = now + (uint64_t)ms;

        while (!c->is_ready && c->greeting.seq != 0 && now < until) {
                engine_link_await(&c->link, &c->greeting, (int)(until - now));
                now = cay_clock_ms();
        }
}

/* Asking */

static void finish(struct client *c, struct cay_job *job, const struct cay_error *err)
{
        if (job)
                cay_job_finish(cay_loop_jobs(c->loop), job, err && err->code != CAY_OK ? err : NULL);
}

static struct ask *new_ask(struct client *c, const char *id, struct cay_job *job,
                           void (*on_answer)(struct engine_call *call, const struct helper_answer_head *a))
{
        struct cay_error err = { 0 };
        struct ask *ask = NULL;

        if (!c->is_ready)
                cay_fail_because(&err, CAY_UNAVAILABLE, CAY_REASON_RETRY,
                                 "cay-net does not run at the moment; try again");
        else if (!(ask = calloc(1, sizeof(*ask))))
                cay_fail(&err, CAY_INTERNAL, "no memory for a request to cay-net");
        if (!ask) {
                finish(c, job, &err);
                return NULL;
        }
        ask->call.on_answer = on_answer;
        ask->client = c;
        ask->job = job;
        cay_str_copy(ask->id, sizeof(ask->id), id);
        return ask;
}

static void end_ask(struct ask *ask, const struct cay_error *err)
{
        finish(ask->client, ask->job, err);
        free(ask);
}

/* Adding and dropping */

static void on_added(struct engine_call *call, const struct helper_answer_head *a)
{
        struct ask *ask = cay_container_of(call, struct ask, call);
        struct cay_error err = { 0 };
        struct known *k;

        engine_link_read_error(&ask->client->link, a, &err);
        k = find(ask->client, ask->id);
        if (k && (err.code == CAY_OK || err.code == CAY_EXISTS))
                k->is_there = true;
        end_ask(ask, &err);
}

/* All of it is in the socket before cay-net hears of it, and then the end. */
static int send_text(const char *text, size_t len, int *ret, struct cay_error *err)
{
        size_t sent = 0;
        int ends[2];

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make a socket for the policy");
        while (sent < len) {
                ssize_t n = send(ends[1], text + sent, len - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        break;
                sent += (size_t)n;
        }
        close(ends[1]);
        if (sent == len) {
                *ret = ends[0];
                return 0;
        }
        close(ends[0]);
        return cay_fail(err, CAY_LIMIT, "the rules are too long for one message to cay-net");
}

/* The box's sockets, out of the one they came through; it is closed. */
static int take_sockets(int from, int *fds, unsigned *ret_count, struct cay_error *err)
{
        struct wire_network_sockets head = { 0 };
        ssize_t got = sys_recv_fds(from, &head, sizeof(head), fds, ret_count, MSG_DONTWAIT);

        close(from);
        if (got == (ssize_t)sizeof(head) && head.magic == WIRE_MAGIC && head.result == 0 &&
            *ret_count >= SYS_DIVERT_SOCKETS && *ret_count <= SYS_DIVERT_SOCKETS_MAX)
                return 0;
        sys_close_fds(fds, got < 0 ? 0 : *ret_count);
        return cay_fail(err, CAY_UNAVAILABLE, "the sandbox's network did not hand over its sockets");
}

static void add_take(struct cay_network_broker *n, const char *id, int fd, const char *policy,
                     const struct cay_limits *limits, struct cay_job *job)
{
        struct client *c = self(n);
        struct net_request req = { .type = NET_box_add };
        struct cay_error err = { 0 };
        int fds[SYS_FDS_MAX];
        unsigned count = 0;
        struct known *k;
        struct ask *ask;

        if (fd >= 0 && take_sockets(fd, fds, &count, &err) < 0) {
                finish(c, job, &err);
                return;
        }
        k = note(c, id);
        if (!k || send_text(policy, strlen(policy), &fds[count], &err) < 0) {
                if (!k)
                        cay_fail(&err, CAY_INTERNAL, "no memory for a sandbox's network");
                finish(c, job, &err);
        } else {
                count++;
                cay_str_copy(req.box.id, sizeof(req.box.id), id);
                req.box.log_next = k->log_next;
                req.box.limits = cay_network_limits(limits);
                ask = new_ask(c, id, job, on_added);
                if (ask)
                        engine_link_ask(&c->link, &ask->call, &req, fds, count); /* copies them */
        }
        sys_close_fds(fds, count);
}

static void on_connected(struct engine_call *call, const struct helper_answer_head *a)
{
        end_ask(cay_container_of(call, struct ask, call),
                NULL); /* what cannot be served is closed: that is heard */
}

static void connect_take(struct cay_network_broker *n, const char *id, int fd)
{
        struct net_request req = { .type = NET_box_proxy };
        struct client *c = self(n);
        struct ask *ask = new_ask(c, id, NULL, on_connected);

        cay_str_copy(req.box.id, sizeof(req.box.id), id);
        if (ask)
                engine_link_ask(&c->link, &ask->call, &req, &fd, 1); /* copies it */
        close(fd);
}

static void on_changed(struct engine_call *call, const struct helper_answer_head *a)
{
        struct ask *ask = cay_container_of(call, struct ask, call);
        struct cay_error err = { 0 };

        engine_link_read_error(&ask->client->link, a, &err);
        end_ask(ask, &err);
}

static void change(struct cay_network_broker *n, const char *id, const char *policy,
                   const struct cay_limits *limits, struct cay_job *job)
{
        struct client *c = self(n);
        struct net_request req = { .type = NET_box_policy, .box.limits = cay_network_limits(limits) };
        struct cay_error err = { 0 };
        struct ask *ask;
        int fd;

        if (send_text(policy, strlen(policy), &fd, &err) < 0) {
                finish(c, job, &err);
                return;
        }
        cay_str_copy(req.box.id, sizeof(req.box.id), id);
        ask = new_ask(c, id, job, on_changed);
        if (ask)
                engine_link_ask(&c->link, &ask->call, &req, &fd, 1); /* copies it */
        close(fd);
}

static void on_dropped(struct engine_call *call, const struct helper_answer_head *a)
{
        end_ask(cay_container_of(call, struct ask, call), NULL);
}

static void on_let_go(struct engine_call *call, const struct helper_answer_head *a)
{
        struct ask *ask = cay_container_of(call, struct ask, call);
        struct known *k = find(ask->client, ask->id);
        struct cay_error err = { 0 };

        engine_link_read_error(&ask->client->link, a, &err);
        if (k)
                k->is_there = false;
        end_ask(ask, err.code == CAY_NOT_FOUND ? NULL : &err);
}

static void let_go(struct cay_network_broker *n, const char *id, struct cay_job *job)
{
        struct net_request req = { .type = NET_box_drop };
        struct ask *ask = new_ask(self(n), id, job, on_let_go);

        if (!ask)
                return;
        cay_str_copy(req.box.id, sizeof(req.box.id), id);
        engine_link_ask(&ask->client->link, &ask->call, &req, NULL, 0);
}

static void on_secrets_set(struct engine_call *call, const struct helper_answer_head *a)
{
        struct ask *ask = cay_container_of(call, struct ask, call);
        struct cay_error err = { 0 };

        engine_link_read_error(&ask->client->link, a, &err);
        if (err.code != CAY_OK && err.code != CAY_NOT_FOUND)
                cay_log_warn("a sandbox has no secrets", "id=%s error=%s", ask->id, err.msg);
        end_ask(ask, NULL);
}

static void set_secrets(struct cay_network_broker *n, const char *id, const char *text, size_t len)
{
        struct net_request req = { .type = NET_box_secrets };
        struct client *c = self(n);
        struct cay_error err = { 0 };
        struct ask *ask;
        int fd = -1;

        if (!c->is_ready || !find(c, id))
                return;
        if (send_text(text, len, &fd, &err) < 0) {
                cay_log_warn("a sandbox has no secrets", "id=%s error=%s", id, err.msg);
                return;
        }
        cay_str_copy(req.box.id, sizeof(req.box.id), id);
        ask = new_ask(c, id, NULL, on_secrets_set);
        if (ask)
                engine_link_ask(&c->link, &ask->call, &req, &fd, 1); /* copies it */
        close(fd);
}

static void drop(struct cay_network_broker *n, const char *id)
{
        struct net_request req = { .type = NET_box_drop };
        struct client *c = self(n);
        const struct known *k = find(c, id);
        struct ask *ask;

        if (!k)
                return;
        cay_str_copy(req.box.id, sizeof(req.box.id), id);
        ask = c->is_ready ? new_ask(c, id, NULL, on_dropped) : NULL;
        forget(c, req.box.id);
        if (ask)
                engine_link_ask(&c->link, &ask->call, &req, NULL, 0);
}

/* Figures and the log */

static void on_stats(struct engine_call *call, const struct helper_answer_head *a)
{
        struct ask *ask = cay_container_of(call, struct ask, call);
        struct cay_error err = { 0 };

        engine_link_read_error(&ask->client->link, a, &err);
        if (err.code == CAY_OK)
                *ask->stats = (struct cay_network_stats){
                        .up_bytes = whole(a)->stats.up_bytes,
                        .down_bytes = whole(a)->stats.down_bytes,
                        .connections = whole(a)->stats.connections,
                        .connections_all = whole(a)->stats.connections_all,
                        .refused = whole(a)->stats.refused,
                        .queries = whole(a)->stats.queries,
                        .queries_refused = whole(a)->stats.queries_refused,
                };
        end_ask(ask, &err);
}

static void get_stats(struct cay_network_broker *n, const char *id, struct cay_network_stats *ret,
                      struct cay_job *job)
{
        struct net_request req = { .type = NET_box_stats };
        struct ask *ask = new_ask(self(n), id, job, on_stats);

        if (!ask)
                return;
        ask->stats = ret;
        cay_str_copy(req.box.id, sizeof(req.box.id), id);
        engine_link_ask(&ask->client->link, &ask->call, &req, NULL, 0);
}

static void ask_entry(struct ask *ask);

static void on_entry(struct engine_call *call, const struct helper_answer_head *a)
{
        struct ask *ask = cay_container_of(call, struct ask, call);
        struct cay_network_log *log = ask->log;
        struct cay_error err = { 0 };

        engine_link_read_error(&ask->client->link, a, &err);
        if (err.code != CAY_OK || whole(a)->log.number < log->from) { /* number 0: there are no more */
                end_ask(ask, &err);
                return;
        }
        cay_network_entry_read(&whole(a)->log, &log->entries[log->count++]);
        log->from = whole(a)->log.number + 1;
        if (log->count == log->max)
                end_ask(ask, NULL);
        else
                ask_entry(ask);
}

static void ask_entry(struct ask *ask)
{
        struct net_request req = { .type = NET_log_read, .log.from = ask->log->from };

        cay_str_copy(req.log.id, sizeof(req.log.id), ask->id);
        ask->call.on_answer = on_entry;
        engine_link_ask(&ask->client->link, &ask->call, &req, NULL, 0);
}

/* Where the last `max` of them begin. */
static void on_log_known(struct engine_call *call, const struct helper_answer_head *a)
{
        struct ask *ask = cay_container_of(call, struct ask, call);
        struct cay_network_log *log = ask->log;
        struct cay_error err = { 0 };

        engine_link_read_error(&ask->client->link, a, &err);
        if (err.code == CAY_OK && !(log->entries = calloc(log->max, sizeof(*log->entries))))
                cay_fail(&err, CAY_INTERNAL, "no memory for a network's log");
        if (err.code != CAY_OK) {
                end_ask(ask, &err);
                return;
        }
        if (log->from == 0)
                log->from = whole(a)->stats.log_next > log->max ? whole(a)->stats.log_next - log->max : 1;
        ask_entry(ask);
}

static void read_log(struct cay_network_broker *n, const char *id, struct cay_network_log *log,
                     struct cay_job *job)
{
        struct net_request req = { .type = NET_box_stats };
        struct ask *ask = new_ask(self(n), id, job, on_log_known);

        if (!ask)
                return;
        log->count = 0;
        log->max = log->max == 0 || log->max > CAY_NETWORK_LOG_MAX ? CAY_NETWORK_LOG_MAX : log->max;
        ask->log = log;
        cay_str_copy(req.box.id, sizeof(req.box.id), id);
        engine_link_ask(&ask->client->link, &ask->call, &req, NULL, 0);
}

/* Connections of the daemon itself */

int cay_network_client_dial(struct cay_network_broker *n, const char *host, uint16_t port, bool may_private,
                            struct cay_error *err)
{
        struct net_request req = { .type = NET_dial, .dial = { .port = port, .may_private = may_private } };
        struct client *c = self(n);
        struct ask *ask;
        int ends[2];

        if (!cay_str_copy(req.dial.host, sizeof(req.dial.host), host) || !host[0] || port == 0)
                return cay_fail(err, CAY_INVALID, "the host's name must have 1 to %zu bytes",
                                sizeof(req.dial.host) - 1);
        if (!c->is_ready)
                return cay_fail(err, CAY_UNAVAILABLE, "cay-net does not run at the moment");
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make a socket for a connection");
        ask = new_ask(c, "", NULL, on_connected);
        if (ask)
                engine_link_ask(&c->link, &ask->call, &req, &ends[1], 1); /* copies it */
        close(ends[1]);
        return ends[0];
}

int cay_network_client_dialled(int call, int *ret_fd, struct cay_error *err)
{
        struct net_dialled got;
        int fds[SYS_FDS_MAX];
        unsigned count = 0;
        ssize_t n = sys_recv_fds(call, &got, sizeof(got), fds, &count, MSG_DONTWAIT);

        if (n == -EAGAIN || n == -EINTR)
                return 1;
        if (n == (ssize_t)sizeof(got) && got.magic == NET_DIALLED_MAGIC && got.size == sizeof(got)) {
                if (got.code == CAY_OK && count == 1) {
                        *ret_fd = fds[0];
                        return 0;
                }
                sys_close_fds(fds, count);
                got.text[sizeof(got.text) - 1] = '\0';
                return cay_fail(err, CAY_UNAVAILABLE, "%s", got.text);
        }
        sys_close_fds(fds, n < 0 ? 0 : count);
        return cay_fail(err, CAY_UNAVAILABLE, "cay-net ended before it was connected");
}

/* The rest of the port */

static bool has(struct cay_network_broker *n, const char *id)
{
        const struct known *k = find(self(n), id);

        return k && k->is_there;
}

static void each_one(struct cay_network_broker *n, void (*each)(void *ctx, const char *id), void *ctx)
{
        struct known *next;

        for (struct known *k = self(n)->known; k; k = next) {
                next = k->next; /* it may be dropped meanwhile */
                each(ctx, k->id);
        }
}

static bool is_ready(struct cay_network_broker *n)
{
        return self(n)->is_ready;
}

static void on_ready(struct cay_network_broker *n, void (*ready)(void *ctx), void *ctx)
{
        self(n)->ready = ready;
        self(n)->ready_ctx = ctx;
}

static void on_entry_told(struct cay_network_broker *n,
                          void (*entry)(void *ctx, const char *id, const struct cay_network_entry *e),
                          void *ctx)
{
        self(n)->entry = entry;
        self(n)->entry_ctx = ctx;
}

static const struct cay_network_ops ops = {
        .add_take = add_take,
        .connect_take = connect_take,
        .change = change,
        .set_secrets = set_secrets,
        .drop = drop,
        .let_go = let_go,
        .has = has,
        .each = each_one,
        .stats = get_stats,
        .read_log = read_log,
        .on_entry = on_entry_told,
        .is_ready = is_ready,
        .on_ready = on_ready,
};

int cay_network_client_new(struct cay_loop *loop, struct cay_network_broker **ret, struct cay_error *err)
{
        struct client *c = calloc(1, sizeof(*c));

        if (!c)
                return cay_fail(err, CAY_INTERNAL, "no memory for the link to cay-net");
        c->broker.ops = &ops;
        c->loop = loop;
        c->link.sock = -1;
        *ret = &c->broker;
        return 0;
}

void cay_network_client_free(struct cay_network_broker *n)
{
        struct client *c;

        if (!n)
                return;
        c = self(n);
        c->ready = NULL;
        c->entry = NULL;
        hang_up(c);
        while (c->known)
                forget(c, c->known->id);
        free(c);
}
