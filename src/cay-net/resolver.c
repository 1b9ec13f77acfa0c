/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-net/resolver.h"

#include <ares.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "foundation/base/clock.h"
#include "foundation/base/log.h"

#define TRY_MS 2000
#define TRIES 3
#define LOOK_MS 1000u /* how often resolv.conf is looked at, at most */

struct socket_watch { /* of the library's own sockets */
        struct cay_watch watch;
        struct channel *channel;
        struct socket_watch *next;
        struct cay_deferred gone;
};

struct channel {
        struct net_resolver *resolver;
        ares_channel ares;
        struct socket_watch *sockets; /* owned */
        struct cay_timer timer;
        unsigned pending;
        bool is_old;               /* ends with its last lookup */
        struct cay_timer last_one; /* ends it, from the loop */
};

struct stamp { /* of resolv.conf */
        dev_t dev;
        ino_t ino;
        off_t size;
        struct timespec changed;
};

struct net_resolver {
        struct cay_loop *loop;
        const char *path;
        struct channel *channel; /* owned; NULL: none could be made */
        struct channel *old; /* the one before, while it has lookups; one that is older is ended with them */
        struct stamp stamp;
        uint64_t looked_ms;
};

struct net_query { /* freed when its job has run */
        struct channel *channel;
        struct net_lookup *lookup; /* NULL: nobody waits any more */
        struct cay_job job;
        struct cay_address addresses[NET_ADDRESSES_MAX];
        unsigned count;
        const char *why;
};

/* Sockets and time of a channel */

static void set_timer(struct channel *c);

static void on_time(struct cay_timer *t)
{
        struct channel *c = cay_container_of(t, struct channel, timer);

        ares_process_fd(c->ares, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
        set_timer(c);
}

static void set_timer(struct channel *c)
{
        struct timeval left, *due = ares_timeout(c->ares, NULL, &left);

        if (!due)
                cay_timer_clear(&c->timer);
        else
                cay_timer_set(c->resolver->loop, &c->timer,
                              (uint64_t)due->tv_sec * 1000 + (uint64_t)due->tv_usec / 1000 + 1, on_time);
}

static void on_socket(struct cay_watch *w, uint32_t events)
{
        struct socket_watch *s = cay_container_of(w, struct socket_watch, watch);
        struct channel *c = s->channel;
        int fd = w->fd;

        ares_process_fd(c->ares, events & ~(uint32_t)EPOLLOUT ? fd : ARES_SOCKET_BAD,
                        events & EPOLLOUT ? fd : ARES_SOCKET_BAD);
        set_timer(c);
}

static void free_socket(struct cay_deferred *d)
{
        free(cay_container_of(d, struct socket_watch, gone));
}

static void drop_socket(struct channel *c, struct socket_watch **at)
{
        struct socket_watch *s = *at;

        *at = s->next;
        cay_watch_remove(&s->watch);
        s->gone.run = free_socket;
        cay_loop_defer(c->resolver->loop, &s->gone);
}

static void on_socket_state(void *ctx, ares_socket_t fd, int reads, int writes)
{
        struct channel *c = ctx;
        struct socket_watch **at = &c->sockets, *s;
        uint32_t events = (reads ? (uint32_t)EPOLLIN : 0) | (writes ? (uint32_t)EPOLLOUT : 0);

        while (*at && (*at)->watch.fd != fd)
                at = &(*at)->next;
        if (*at && events == 0) {
                drop_socket(c, at);
        } else if (*at) {
                cay_watch_set(&(*at)->watch, events);
        } else if (events != 0) {
                s = calloc(1, sizeof(*s));
                if (!s || cay_watch_add(c->resolver->loop, &s->watch, fd, events, on_socket) < 0) {
                        free(s); /* the lookup ends by its deadline */
                        return;
                }
                s->channel = c;
                s->next = c->sockets;
                c->sockets = s;
        }
}

/* Channels */

static void free_channel(struct channel *c)
{
        if (!c)
                return;
        c->is_old = false;
        ares_destroy(c->ares); /* finishes what is under way */
        while (c->sockets)
                drop_socket(c, &c->sockets);
        cay_timer_clear(&c->timer);
        cay_timer_clear(&c->last_one);
        free(c);
}

static struct channel *new_channel(struct net_resolver *r)
{
        struct channel *c = calloc(1, sizeof(*c));
        struct ares_options o = {
                .flags = ARES_FLAG_NOSEARCH,
                .timeout = TRY_MS,
                .tries = TRIES,
                .sock_state_cb = on_socket_state,
                .sock_state_cb_data = c,
                .resolvconf_path = (char *)(uintptr_t)r->path,
        };

        if (!c)
                return NULL;
        c->resolver = r;
        if (ares_init_options(&c->ares, &o,
                              ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB |
                                      ARES_OPT_RESOLVCONF) != ARES_SUCCESS) {
                free(c);
                return NULL;
        }
        return c;
}

static void on_last_one(struct cay_timer *t)
{
        struct channel *c = cay_container_of(t, struct channel, last_one);

        if (c->resolver->old == c)
                c->resolver->old = NULL;
        free_channel(c);
}

static void end_if_old(struct channel *c)
{
        if (c->is_old && c->pending == 0)
                cay_timer_set(c->resolver->loop, &c->last_one, 0, on_last_one);
}

static struct stamp look_at(const char *path)
{
        struct stamp s = { 0 };
        struct stat st;

        if (stat(path, &st) == 0)
                s = (struct stamp){
                        .dev = st.st_dev, .ino = st.st_ino, .size = st.st_size, .changed = st.st_mtim
                };
        return s;
}

static bool is_same(const struct stamp *a, const struct stamp *b)
{
        return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
               a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

static void renew(struct net_resolver *r)
{
        uint64_t now = cay_clock_ms();
        struct stamp stamp;
        struct channel *c;

        if (r->channel && now - r->looked_ms < LOOK_MS)
                return;
        r->looked_ms = now;
        stamp = look_at(r->path);
        if (r->channel && is_same(&stamp, &r->stamp))
                return;
        c = new_channel(r);
        if (!c)
                return;
        if (r->channel) {
                cay_log_info("the resolver's configuration changed", "path=%s", r->path);
                free_channel(r->old);
                r->old = r->channel;
                r->old->is_old = true;
                end_if_old(r->old);
        }
        r->stamp = stamp;
        r->channel = c;
}

struct net_resolver *net_resolver_new(struct cay_loop *loop, const char *path)
{
        struct net_resolver *r;

        if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS)
                return NULL;
        r = calloc(1, sizeof(*r));
        if (!r)
                return NULL;
        r->loop = loop;
        r->path = path;
        renew(r);
        return r;
}

void net_resolver_free(struct net_resolver *r)
{
        if (!r)
                return;
        free_channel(r->old);
        free_channel(r->channel);
        free(r);
        ares_library_cleanup();
}

/* Lookups */

static bool read_node(const struct ares_addrinfo_node *n, struct cay_address *ret)
{
        struct sockaddr_storage s = { 0 };
        uint16_t port;

        if (n->ai_addrlen > sizeof(s))
                return false;
        memcpy(&s, n->ai_addr, n->ai_addrlen);
        return cay_address_from_socket(&s, ret, &port);
}

/* Families by turns, so that one that leads nowhere costs one try. */
static void sort_by_turns(struct net_query *q)
{
        for (unsigned i = 1; i < q->count; i++) {
                bool before = cay_address_is_v4(&q->addresses[i - 1]);
                unsigned other = i;

                while (other < q->count && cay_address_is_v4(&q->addresses[other]) == before)
                        other++;
                if (other < q->count) {
                        struct cay_address moved = q->addresses[other];

                        memmove(&q->addresses[i + 1], &q->addresses[i], (other - i) * sizeof(moved));
                        q->addresses[i] = moved;
                }
        }
}

static void on_found(void *ctx, int status, int timeouts, struct ares_addrinfo *found)
{
        struct net_query *q = ctx;

        q->channel->pending--;
        end_if_old(q->channel);
        for (struct ares_addrinfo_node *n = found ? found->nodes : NULL; n && q->count < NET_ADDRESSES_MAX;
             n = n->ai_next)
                q->count += read_node(n, &q->addresses[q->count]);
        if (found)
                ares_freeaddrinfo(found);
        q->why = status == ARES_SUCCESS ? "the name has no address" : ares_strerror(status);
        if (q->count > 1)
                sort_by_turns(q);
        cay_job_finish(cay_loop_jobs(q->channel->resolver->loop), &q->job, NULL);
}

static void on_job(struct cay_job *job)
{
        struct net_query *q = cay_container_of(job, struct net_query, job);
        struct net_lookup *l = q->lookup;

        if (l) {
                memcpy(l->addresses, q->addresses, sizeof(l->addresses));
                l->count = q->count;
                l->why = q->why;
                l->query = NULL;
        }
        free(q);
        if (l)
                l->on_done(l);
}

void net_resolver_find(struct net_resolver *r, const char *name, struct net_lookup *l)
{
        const struct ares_addrinfo_hints hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
        struct net_query *q = calloc(1, sizeof(*q));

        if (!q)
                abort(); /* as every small object: no memory for it means none for anything */
        cay_job_init(&q->job, on_job);
        q->lookup = l;
        l->query = q;
        l->count = 0;
        renew(r);
        if (!r->channel) {
                q->why = "no resolver is configured on this host";
                cay_job_finish(cay_loop_jobs(r->loop), &q->job, NULL);
                return;
        }
        q->channel = r->channel;
        q->channel->pending++;
        ares_getaddrinfo(q->channel->ares, name, NULL, &hints, on_found, q);
        set_timer(r->channel);
}

void net_lookup_end(struct net_lookup *l)
{
        if (l->query)
                l->query->lookup = NULL;
        l->query = NULL;
}
