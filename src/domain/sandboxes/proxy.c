/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/sandboxes/proxy.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "domain/sandboxes/service_priv.h"

#define PIECE (64u * 1024)
#define LEFT_MS 5000u /* for the program to close, after the broker has */

struct cay_proxied {
        struct cay_box_channel box;
        struct cay_sandbox *sandbox;
        struct cay_proxied *next;
        int fd; /* owned: the stream to the broker; -1: not yet */
        struct cay_watch watch;
        struct cay_timer left;
        struct cay_buf out; /* from the program, not taken by the broker yet; not acknowledged */
        bool is_opened, out_ended, in_ended;
        bool is_deaf; /* the broker takes nothing more */
        struct cay_deferred gone;
};

static_assert(CAY_SERVICE_EXECS_RUNNING_MAX + CAY_SERVICE_CHANNELS_MAX + CAY_SERVICE_PORTS_MAX +
                              CAY_PROXIED_MAX <=
                      CAY_BOX_CHANNELS_MAX,
              "the link has room for all of them");

static void on_stream(struct cay_watch *w, uint32_t events);

/* Ending */

static void free_later(struct cay_deferred *d)
{
        free(cay_container_of(d, struct cay_proxied, gone));
}

static void end(struct cay_proxied *p)
{
        struct cay_sandbox *sb = p->sandbox;
        struct cay_proxied **at = &sb->proxied;

        while (*at != p)
                at = &(*at)->next;
        *at = p->next;
        sb->proxied_count--;
        cay_box_channel_close(&p->box);
        cay_timer_clear(&p->left);
        cay_watch_remove(&p->watch);
        if (p->fd >= 0)
                close(p->fd);
        cay_buf_done(&p->out);
        p->gone.run = free_later;
        cay_loop_defer(sb->service->loop, &p->gone);
}

void cay_proxy_end_all(struct cay_sandbox *sb)
{
        while (sb->proxied != NULL)
                end(sb->proxied);
}

static void on_left(struct cay_timer *t)
{
        struct cay_proxied *p = cay_container_of(t, struct cay_proxied, left);
        struct cay_sandbox *sb = p->sandbox;

        end(p);
        cay_proxy_tend(sb);
}

/* Bytes */

/* A watch without events would report a closed end for ever. */
static void set_watch(struct cay_proxied *p, uint32_t events)
{
        if (p->fd < 0)
                return;
        if (events == 0)
                cay_watch_remove(&p->watch);
        else if (p->watch.loop != NULL)
                cay_watch_set(&p->watch, events);
        else if (cay_watch_add(p->sandbox->service->loop, &p->watch, p->fd, events, on_stream) < 0)
                cay_timer_set(p->sandbox->service->loop, &p->left, 0, on_left);
}

static void wait_for(struct cay_proxied *p, bool has_room)
{
        set_watch(p, (!p->in_ended && has_room ? EPOLLIN : 0u) | (p->out.len > 0 ? EPOLLOUT : 0u));
}

static void pass_end(struct cay_proxied *p)
{
        if (p->out_ended && p->out.len == 0 && !p->is_deaf)
                shutdown(p->fd, SHUT_WR);
}

/* How many of the bytes are dealt with: taken, or of no use to anybody any more. */
static size_t send_some(struct cay_proxied *p, const void *bytes, size_t len)
{
        ssize_t n = p->is_deaf ? (ssize_t)len : send(p->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        p->is_deaf |= n < 0;
        return n < 0 ? len : (size_t)n;
}

static void flush_out(struct cay_proxied *p)
{
        size_t n = p->out.len > 0 ? send_some(p, cay_buf_data(&p->out), p->out.len) : 0;

        if (n == 0)
                return;
        cay_buf_drop(&p->out, n);
        cay_box_channel_ack(&p->box, CAY_STREAM_OUT, n);
        pass_end(p);
}

/* The broker has nothing more to say; if it has closed altogether, whoever is inside is to do so, too. */
static void end_in(struct cay_proxied *p)
{
        struct pollfd look = { .fd = p->fd };

        p->in_ended = true;
        cay_box_channel_write_eof(&p->box);
        if (poll(&look, 1, 0) == 1 && look.revents & (POLLHUP | POLLERR)) {
                p->is_deaf = true;
                cay_box_channel_ack(&p->box, CAY_STREAM_OUT, p->out.len);
                cay_buf_clear(&p->out);
                cay_timer_set(p->sandbox->service->loop, &p->left, LEFT_MS, on_left);
        }
}

/* False: the channel takes no more now, and says when it does. */
static bool pull_in(struct cay_proxied *p)
{
        static char bytes[PIECE];

        for (unsigned i = 0; i < 4 && !p->in_ended; i++) {
                ssize_t n = recv(p->fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
                size_t taken;

                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        return true;
                if (n <= 0) {
                        end_in(p);
                        return true;
                }
                taken = cay_box_channel_write(&p->box, bytes, (size_t)n);
                if (taken > 0 && recv(p->fd, bytes, taken, MSG_DONTWAIT) != (ssize_t)taken)
                        end_in(p); /* nobody else reads it */
                if (taken < (size_t)n)
                        return false;
        }
        return true;
}

static void on_stream(struct cay_watch *w, uint32_t events)
{
        struct cay_proxied *p = cay_container_of(w, struct cay_proxied, watch);
        bool has_room = true;

        if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
                flush_out(p);
        if (!p->in_ended && events & (EPOLLIN | EPOLLERR | EPOLLHUP))
                has_room = pull_in(p);
        wait_for(p, has_room);
}

/* The channel */

static struct cay_proxied *of(struct cay_box_channel *box)
{
        return cay_container_of(box, struct cay_proxied, box);
}

static void on_data(struct cay_box_channel *box, enum cay_stream stream, const void *bytes, size_t len)
{
        struct cay_proxied *p = of(box);
        size_t n;

        (void)stream;  /* there is OUT alone */
        if (p->fd < 0) /* data before OPENED: init does not do that */
                p->is_deaf = true;
        n = p->out.len == 0 ? send_some(p, bytes, len) : 0;
        if (n > 0)
                cay_box_channel_ack(box, CAY_STREAM_OUT, n);
        if (n == len)
                return;
        if (cay_buf_put(&p->out, (const char *)bytes + n, len - n) <
            0) { /* its window bounds it: no memory */
                cay_timer_set(p->sandbox->service->loop, &p->left, 0, on_left);
                return;
        }
        set_watch(p, p->watch.loop != NULL ? p->watch.events | EPOLLOUT : EPOLLOUT);
}

static void on_eof(struct cay_box_channel *box, enum cay_stream stream)
{
        (void)stream;
        of(box)->out_ended = true;
        pass_end(of(box));
}

static void on_room(struct cay_box_channel *box)
{
        wait_for(of(box), true);
}

static void on_opened(struct cay_box_channel *box, uint32_t pid)
{
        struct cay_proxied *p = of(box);
        struct cay_sandbox *sb = p->sandbox;
        struct cay_network_broker *n = sb->service->env.network;
        int ends[2];

        (void)pid;
        p->is_opened = true;
        if (!n->ops->has(n, sb->id) ||
            socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) {
                end(p);
        } else {
                p->fd = ends[0];
                n->ops->connect_take(n, sb->id, ends[1]);
                wait_for(p, true);
        }
        cay_proxy_tend(sb);
}

static void on_end(struct cay_box_channel *box, const struct cay_box_end *told)
{
        struct cay_proxied *p = of(box);
        struct cay_sandbox *sb = p->sandbox;
        bool was_waiting = !p->is_opened;

        if (was_waiting)
                cay_log_warn("a sandbox has no way out now", "id=%s errno=%d", sb->id, told->sys);
        end(p);
        if (was_waiting)
                cay_network_try_again(sb->service); /* somebody has its port */
        else
                cay_proxy_tend(sb);
}

static bool has_waiting(const struct cay_sandbox *sb)
{
        for (const struct cay_proxied *p = sb->proxied; p != NULL; p = p->next)
                if (!p->is_opened)
                        return true;
        return false;
}

static bool is_to_have_one(const struct cay_sandbox *sb)
{
        struct cay_network_broker *n = sb->service->env.network;

        return sb->policy != NULL && sb->has_box && sb->client != NULL && n != NULL &&
               cay_sandbox_is_proxied(sb) && !cay_sandbox_is_ending(sb) &&
               !cay_box_client_awaits_welcome(sb->client) && n->ops->has(n, sb->id) &&
               cay_box_client_kinds(sb->client) >= CAY_BOX_ACCEPT;
}

int cay_proxy_check(const struct cay_sandbox *sb, struct cay_error *err)
{
        uint16_t kinds = sb->has_box && sb->client != NULL ? cay_box_client_kinds(sb->client) : 0;

        if (kinds == 0 || kinds >= CAY_BOX_ACCEPT || !cay_sandbox_is_proxied(sb))
                return 0;
        return cay_fail(
                err, CAY_CONFLICT,
                "network: the cay-init in this sandbox is of an older Cay and has no proxy, which is the "
                "way out of the %s engine; stop the sandbox and start it, then it has today's",
                sb->engine->name);
}

void cay_proxy_tend(struct cay_sandbox *sb)
{
        const struct cay_box_open open = { .kind = CAY_BOX_ACCEPT,
                                           .window = CAY_BOX_WINDOW,
                                           .connect.port = CAY_PROXY_PORT };
        struct cay_proxied *p;

        if (!is_to_have_one(sb) || has_waiting(sb) || sb->proxied_count >= CAY_PROXIED_MAX)
                return;
        p = cay_service_alloc(sizeof(*p));
        p->sandbox = sb;
        p->fd = -1;
        cay_buf_init(&p->out, CAY_BOX_WINDOW + 1u);
        p->box = (struct cay_box_channel){ .on_data = on_data,
                                           .on_opened = on_opened,
                                           .on_eof = on_eof,
                                           .on_room = on_room,
                                           .on_end = on_end };
        if (cay_box_channel_open(sb->client, &p->box, &open, NULL, NULL) < 0) {
                free(p);
                cay_network_try_again(sb->service);
                return;
        }
        p->next = sb->proxied;
        sb->proxied = p;
        sb->proxied_count++;
}
