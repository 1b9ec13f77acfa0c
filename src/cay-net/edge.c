/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-net/edge.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cay-net/conn.h"
#include "domain/network/secret_text.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"
#include "foundation/sys/unix_socket.h"
#include "links/net/edge_message.h"

#define TLS_PORT 443
#define END_MS 2000  /* for cay-edge to end */
#define INHERITED 64 /* whoever starts us leaves no descriptor at or above it */

static_assert(EDGE_HOST >= CAY_POLICY_NAME_MAX + 1 && EDGE_HEADER == CAY_SECRET_HEADER_MAX + 1 &&
                      EDGE_PLACEHOLDER == CAY_SECRET_PLACEHOLDER_MAX + 1 &&
                      EDGE_VALUE == CAY_SECRET_VALUE_MAX + 1 && EDGE_SEED == CAY_SECRET_SEED,
              "what is read fits into an order");

struct net_edge {
        struct net_world *world; /* borrowed */
        struct cay_watch link;   /* descriptor owned */
        struct {
                uint64_t number;                      /* 0: free */
                struct net_box *box;                  /* borrowed; NULL: it has ended */
        } rows[EDGE_CONNECTIONS_MAX];                 /* what cay-edge has, or will be sent */
        struct net_edge_wait *first_wait, *last_wait; /* in the order in which they came */
        struct edge_order order;
};

/* Connections */

bool net_edge_has(const struct net_box *b, const char *name, uint16_t port)
{
        if (!b->secrets || !name || port != TLS_PORT)
                return false;
        for (unsigned i = 0; i < b->secrets->count; i++)
                if (strcmp(b->secrets->items[i].host, name) == 0)
                        return true;
        return false;
}

static void fill_order(struct edge_order *o, const struct cay_net_secrets *s, uint64_t number,
                       const char *name)
{
        *o = (struct edge_order){ .magic = EDGE_MAGIC, .size = sizeof(*o), .number = number };
        memcpy(o->ca, s->ca, sizeof(o->ca));
        cay_str_copy(o->host, sizeof(o->host), name);
        for (unsigned i = 0; i < s->count && o->count < EDGE_SECRETS_MAX; i++) {
                const struct cay_net_secret *from = &s->items[i];
                struct edge_secret *to = &o->secrets[o->count];

                if (strcmp(from->host, name) != 0)
                        continue;
                memcpy(to->header, from->header, sizeof(to->header));
                memcpy(to->placeholder, from->placeholder, sizeof(to->placeholder));
                memcpy(to->value, from->value, sizeof(to->value));
                o->count++;
        }
}

static int find_row(const struct net_edge *e, uint64_t number)
{
        for (int i = 0; i < (int)EDGE_CONNECTIONS_MAX; i++)
                if (e->rows[i].number == number)
                        return i;
        return -1;
}

static void forget_row(struct net_edge *e, uint64_t number)
{
        int row = find_row(e, number);

        if (row < 0)
                return;
        if (e->rows[row].box)
                e->rows[row].box->edge_count--;
        e->rows[row].number = 0;
        e->rows[row].box = NULL;
}

/* 0, -EAGAIN: the link has no room now, or another -errno. */
static int send_order(struct net_edge *e, struct net_edge_wait *w)
{
        int ends[2], fds[EDGE_FD_COUNT];
        ssize_t n;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
                return -errno;
        fill_order(&e->order, w->box->secrets, w->number, w->name);
        fds[EDGE_FD_BOX] = ends[1];
        fds[EDGE_FD_SERVER] = *w->fd;
        n = sys_send_fds(e->link.fd, &e->order, sizeof(e->order), fds, EDGE_FD_COUNT,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        explicit_bzero(&e->order, sizeof(e->order));
        close(ends[1]);
        if (n < 0) {
                close(ends[0]);
                return (int)n;
        }
        close(*w->fd);
        *w->fd = ends[0];
        return 0;
}

static void unqueue(struct net_edge *e, struct net_edge_wait *w)
{
        struct net_edge_wait **at = &e->first_wait, *before = NULL;

        while (*at != w) {
                before = *at;
                at = &(*at)->next;
        }
        *at = w->next;
        if (e->last_wait == w)
                e->last_wait = before;
        w->next = NULL;
        w->is_queued = false;
        if (!e->first_wait && e->link.loop) /* else cay-edge has ended */
                cay_watch_set(&e->link, EPOLLIN);
}

/* An order is large: the socket holds few of them, and a burst waits here until cay-edge has taken those. */
static void queue(struct net_edge *e, struct net_edge_wait *w)
{
        w->is_queued = true;
        w->next = NULL;
        if (e->last_wait)
                e->last_wait->next = w;
        else
                e->first_wait = w;
        e->last_wait = w;
        cay_watch_set(&e->link, EPOLLIN | EPOLLOUT);
}

static void send_queued(struct net_edge *e)
{
        while (e->first_wait) {
                struct net_edge_wait *w = e->first_wait;
                int r = send_order(e, w);

                if (r == -EAGAIN)
                        return;
                unqueue(e, w);
                if (r < 0)
                        forget_row(e, w->number);
                w->on_done(w, r < 0 ? -1 : 0, r < 0 ? strerror(-r) : "");
        }
}

int net_edge_hand_over(struct net_edge_wait *w, char why[NET_WHY])
{
        struct net_box *b = w->box;
        struct net_edge *e = b->world->edge;
        int row = e ? find_row(e, 0) : -1, r;

        if (row < 0 || b->edge_count >= NET_EDGE_BOX_MAX) {
                snprintf(why, NET_WHY,
                         e ? "limit: too many connections with secrets at once"
                           : "secrets are not possible here: cay-edge does not run");
                return -1;
        }
        r = e->first_wait ? -EAGAIN : send_order(e, w); /* nobody overtakes those that wait */
        if (r < 0 && r != -EAGAIN) {
                snprintf(why, NET_WHY, "%s", strerror(-r));
                return -1;
        }
        e->rows[row].number = w->number;
        e->rows[row].box = b;
        b->edge_count++;
        if (r == 0)
                return 0;
        queue(e, w);
        return 1;
}

void net_edge_wait_end(struct net_edge_wait *w)
{
        if (!w->is_queued)
                return;
        unqueue(w->box->world->edge, w);
        forget_row(w->box->world->edge, w->number);
}

/* Ends */

static void log_end(struct net_box *b, uint64_t number, const char *why)
{
        struct net_log_entry e = {
                .kind = NET_LOG_TLS, .verdict = NET_LOG_FAILED, .connection = number, .port = TLS_PORT
        };

        cay_str_copy(e.why, sizeof(e.why), why);
        net_box_log(b, &e);
}

static void note_end(struct net_edge *e, const struct edge_end *end)
{
        static const char *const texts[] = {
#define EDGE_END(word, text) [EDGE_##word] = text,
#include "links/net/edge_ends.def"
#undef EDGE_END
        };

        int row = find_row(e, end->number);
        struct net_box *b = row < 0 ? NULL : e->rows[row].box;

        if (end->number == 0)
                return;
        forget_row(e, end->number);
        if (b && end->how < EDGE_HOW_COUNT && texts[end->how][0])
                log_end(b, end->number, texts[end->how]);
}

/* The link */

static void on_link(struct cay_watch *w, uint32_t events)
{
        struct net_edge *e = cay_container_of(w, struct net_edge, link);
        struct edge_end end;
        ssize_t n;

        while ((n = recv(w->fd, &end, sizeof(end), MSG_DONTWAIT)) == sizeof(end) && end.magic == EDGE_MAGIC)
                note_end(e, &end);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
                if (events & EPOLLOUT)
                        send_queued(e);
                return;
        }
        cay_log_error("cay-edge has ended, and cay-net with it");
        cay_watch_remove(w);
        close(w->fd);
        w->fd = -1;
        cay_loop_stop(e->world->loop);
}

/* Start */

static void become(const char *program, unsigned id, int link)
{
        char number[16], *argv[] = { (char *)"cay-edge", number, NULL };
        sigset_t none;

        snprintf(number, sizeof(number), "%u", id);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (link == EDGE_LINK_FD ? fcntl(link, F_SETFD, 0) == 0 : dup2(link, EDGE_LINK_FD) == EDGE_LINK_FD) {
                for (int fd = EDGE_LINK_FD + 1; fd < INHERITED;
                     fd++) /* the keeper's and the front's: it has neither */
                        close(fd);
                execv(program, argv);
        }
        _exit(127);
}

int net_edge_start(const char *program, unsigned id, struct cay_error *err)
{
        int ends[2];
        pid_t pid;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make a link to cay-edge");
        pid = fork();
        if (pid == 0)
                become(program, id, ends[1]);
        close(ends[1]);
        if (pid > 0)
                return ends[0];
        close(ends[0]);
        return cay_fail_sys(err, CAY_INTERNAL, -errno, "start cay-edge");
}

struct net_edge *net_edge_new_take(struct net_world *world, int link)
{
        struct net_edge *e = calloc(1, sizeof(*e));

        if (e && cay_watch_add(world->loop, &e->link, link, EPOLLIN, on_link) == 0) {
                e->world = world;
                return e;
        }
        free(e);
        close(link);
        return NULL;
}

/* Whoever waits for our end may then count on cay-edge's, too: it closes its end of the link. */
static void await_end(int link)
{
        struct pollfd end = { .fd = link, .events = POLLIN };
        struct edge_end message;

        shutdown(link, SHUT_WR);
        while (poll(&end, 1, END_MS) == 1 && recv(link, &message, sizeof(message), MSG_DONTWAIT) > 0)
                ;
}

void net_edge_free(struct net_edge *e)
{
        int fd;

        if (!e)
                return;
        fd = e->link.loop ? e->link.fd : -1;
        cay_watch_remove(&e->link);
        if (fd >= 0) {
                await_end(fd);
                close(fd);
        }
        free(e);
}

/* Boxes */

void net_edge_change_take(struct net_box *b, struct cay_net_secrets *secrets)
{
        struct net_conn *next;

        cay_net_secrets_free(b->secrets);
        b->secrets = secrets;
        for (struct net_conn *c = b->conns; c; c = next) {
                next = net_conn_next(c);
                net_conn_secrets_changed(c);
        }
}

void net_edge_forget(struct net_box *b)
{
        struct net_edge *e = b->world ? b->world->edge : NULL;

        cay_net_secrets_free(b->secrets);
        b->secrets = NULL;
        for (unsigned i = 0; e && i < EDGE_CONNECTIONS_MAX; i++)
                if (e->rows[i].box == b)
                        e->rows[i].box = NULL;
}
