/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-net/stub.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cay-net/member.h"
#include "domain/network/dns.h"
#include "foundation/base/clock.h"
#include "foundation/base/str.h"

#define TURN 32u      /* queries in one turn */
#define LINK_MS 5000u /* a connection over TCP, from its beginning */
#define SAME_MS 1000u

struct net_dns_link { /* a connection to the resolver */
        struct net_box *box;
        struct net_dns_link *next;
        struct cay_watch watch; /* descriptor owned */
        struct cay_timer deadline;
        struct cay_deferred gone;
        size_t len;
        uint8_t bytes[2 + CAY_DNS_MESSAGE_MAX];
};

/* Answering */

static void log_query(struct net_box *b, const struct cay_dns_query *q, unsigned verdict, const char *why)
{
        struct net_log_entry e = { .kind = NET_LOG_DNS, .verdict = verdict };
        uint64_t now = cay_clock_ms();

        /* The same type once more is another look-up, perhaps of another command. */
        if (b->last_query_verdict == verdict && now - b->last_query_ms < SAME_MS &&
            b->last_query_type != q->type && strcmp(b->last_query, q->name) == 0)
                return;
        b->last_query_type = q->type;
        b->last_query_verdict = verdict;
        b->last_query_ms = now;
        cay_str_copy(b->last_query, sizeof(b->last_query), q->name);
        cay_str_copy(e.name, sizeof(e.name), q->name);
        cay_str_copy(e.why, sizeof(e.why), why);
        net_box_log(b, &e);
}

static size_t refuse(struct net_box *b, const struct cay_dns_query *q, enum cay_dns_code code,
                     const char *why, uint8_t ret[CAY_DNS_MESSAGE_MAX])
{
        b->stats.queries_refused++;
        if (why)
                log_query(b, q, NET_LOG_REFUSED, why);
        return cay_dns_answer(q, code, NULL, ret);
}

size_t net_stub_answer(struct net_box *b, const void *query, size_t len, uint8_t ret[CAY_DNS_MESSAGE_MAX])
{
        struct cay_address address;
        struct cay_dns_query q;
        enum cay_dns_code code;
        bool is_address;
        int r = cay_dns_read(query, len, &q, &code);

        if (r < 0)
                return 0;
        b->stats.queries++;
        if (r > 0)
                return refuse(b, &q, code, NULL, ret);
        if (net_bucket_look(&b->queries, cay_clock_ns()) == 0) {
                q.name[0] = '\0'; /* one line in the log, whatever is asked */
                return refuse(b, &q, CAY_DNS_REFUSED, "limit: too many queries per second", ret);
        }
        net_bucket_take(&b->queries, 1);
        if (b->is_over_quota)
                return refuse(b, &q, CAY_DNS_REFUSED, "quota", ret);
        if (q.name[0] == '\0' || !(net_member_is_name(b, q.name) ? net_member_find(b, q.name, NULL) != NULL
                                                                 : cay_policy_pair_knows(&b->policy, q.name)))
                return refuse(b, &q, CAY_DNS_NXDOMAIN, "not in the sandbox's list of allowed hosts", ret);
        is_address = q.type == CAY_DNS_A || q.type == CAY_DNS_AAAA;
        if (is_address && cay_names_address(b->names, q.name, q.type == CAY_DNS_AAAA, &address) < 0)
                return refuse(b, &q, CAY_DNS_SERVFAIL, "no memory", ret);
        if (is_address)
                log_query(b, &q, NET_LOG_ALLOWED, "");
        return cay_dns_answer(&q, CAY_DNS_OK, is_address ? &address : NULL, ret);
}

/* UDP */

void net_stub_on_udp(struct cay_watch *w, uint32_t events)
{
        struct net_box *b = cay_container_of(w, struct net_box, dns_udp);
        uint8_t query[CAY_DNS_MESSAGE_MAX + 1], answer[CAY_DNS_MESSAGE_MAX];

        for (unsigned i = 0; i < TURN; i++) {
                struct sockaddr_storage from;
                socklen_t from_len = sizeof(from);
                ssize_t n = recvfrom(w->fd, query, sizeof(query), MSG_DONTWAIT, (struct sockaddr *)&from,
                                     &from_len);
                size_t len;

                if (n < 0)
                        return; /* none is there, or one before could not be delivered */
                if ((size_t)n > CAY_DNS_MESSAGE_MAX)
                        continue;
                len = net_stub_answer(b, query, (size_t)n, answer);
                if (len > 0)
                        sendto(w->fd, answer, len, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&from,
                               from_len);
        }
}

/* TCP */

static void free_link(struct cay_deferred *d)
{
        free(cay_container_of(d, struct net_dns_link, gone));
}

static void end_link(struct net_dns_link *l)
{
        struct net_dns_link **at = &l->box->dns_links;
        int fd = l->watch.fd;

        while (*at != l)
                at = &(*at)->next;
        *at = l->next;
        l->box->dns_link_count--;
        cay_timer_clear(&l->deadline);
        cay_watch_remove(&l->watch);
        close(fd);
        l->gone.run = free_link;
        cay_loop_defer(l->box->world->loop, &l->gone);
}

static void on_link_time(struct cay_timer *t)
{
        end_link(cay_container_of(t, struct net_dns_link, deadline));
}

/* Answers the first message that is whole. 1: one was; 0: none is; -1: the connection is of no use. */
static int answer_one(struct net_dns_link *l)
{
        size_t want = l->len >= 2 ? (size_t)(l->bytes[0] << 8 | l->bytes[1]) : 0, len;
        uint8_t answer[2 + CAY_DNS_MESSAGE_MAX];

        if (l->len < 2)
                return 0;
        if (want == 0 || want > CAY_DNS_MESSAGE_MAX)
                return -1;
        if (l->len < 2 + want)
                return 0;
        len = net_stub_answer(l->box, l->bytes + 2, want, answer + 2);
        answer[0] = (uint8_t)(len >> 8);
        answer[1] = (uint8_t)len;
        if (len == 0 || send(l->watch.fd, answer, len + 2, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len + 2)
                return -1;
        l->len -= 2 + want;
        memmove(l->bytes, l->bytes + 2 + want, l->len);
        return 1;
}

static void on_link(struct cay_watch *w, uint32_t events)
{
        struct net_dns_link *l = cay_container_of(w, struct net_dns_link, watch);
        ssize_t n = recv(w->fd, l->bytes + l->len, sizeof(l->bytes) - l->len, MSG_DONTWAIT);
        int r;

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n <= 0) {
                end_link(l);
                return;
        }
        l->len += (size_t)n;
        do
                r = answer_one(l);
        while (r > 0);
        if (r < 0)
                end_link(l);
}

static void on_dns_again(struct cay_timer *t)
{
        struct net_box *b = cay_container_of(t, struct net_box, dns_again);

        cay_watch_set(&b->dns_tcp, EPOLLIN);
}

/*
 * What cannot be accepted stays in the listener's queue: without a pause the loop would be woken for it
 * without end.
 */
static int accept_link(struct net_box *b)
{
        int fd = accept4(b->dns_tcp.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
                cay_watch_set(&b->dns_tcp, 0);
                cay_timer_set(b->world->loop, &b->dns_again, NET_NO_FILES_MS, on_dns_again);
        }
        return fd;
}

void net_stub_on_tcp(struct cay_watch *w, uint32_t events)
{
        struct net_box *b = cay_container_of(w, struct net_box, dns_tcp);
        int fd = accept_link(b);
        struct net_dns_link *l =
                fd >= 0 && b->dns_link_count < NET_DNS_LINKS_MAX ? calloc(1, sizeof(*l)) : NULL;

        if (!l || cay_watch_add(b->world->loop, &l->watch, fd, EPOLLIN, on_link) < 0) {
                free(l);
                if (fd >= 0)
                        close(fd);
                return;
        }
        l->box = b;
        l->next = b->dns_links;
        b->dns_links = l;
        b->dns_link_count++;
        cay_timer_set(b->world->loop, &l->deadline, LINK_MS, on_link_time);
}

void net_stub_end(struct net_box *b)
{
        cay_timer_clear(&b->dns_again);
        while (b->dns_links)
                end_link(b->dns_links);
}
