/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two duplexes joined, with Docker's frames taken off on the way (stream.h).
 *
 * Theory of operation. The frames are a duplex between Docker's socket and the splice: bytes of headers and
 * of standard error are paid for at once, those of standard output when the front's side has taken them.
 */
#include "cay-docker/relay.h"

#include <errno.h>
#include <stdlib.h>

#include "foundation/http/socket.h"
#include "cay-docker/stream.h"
#include "foundation/http/splice.h"

struct docker_relay {
        struct docker_relays *all;
        struct docker_relay *next;
        struct cay_loop *loop;
        struct cay_duplex unframed; /* what the splice sees */
        struct cay_duplex_user user;
        struct cay_duplex *raw; /* Docker's; NULL: lost or closed */
        struct docker_stream frames;
        struct cay_splice splice;
        struct cay_deferred release;
        struct docker_relay_wait *wait; /* borrowed; NULL: nobody waits */
        bool ended;
};

void docker_relay_forget(struct docker_relay_wait *wait)
{
        if (wait->relay)
                cay_take(wait->relay)->wait = NULL;
}

static void tell(struct docker_relay *r, bool is_up)
{
        struct docker_relay_wait *wait = r->wait;

        if (!wait)
                return;
        docker_relay_forget(wait);
        wait->on_ready(wait, is_up);
}

static struct docker_relay *from_user(struct cay_duplex_user *u)
{
        return cay_container_of(u, struct docker_relay, user);
}

static struct docker_relay *from_duplex(struct cay_duplex *d)
{
        return cay_container_of(d, struct docker_relay, unframed);
}

static void end(struct docker_relay *r)
{
        for (struct docker_relay **at = &r->all->first; *at; at = &(*at)->next) {
                if (*at == r) {
                        *at = r->next;
                        r->all->count--;
                        break;
                }
        }
}

static void release_relay(struct cay_deferred *d)
{
        free(cay_container_of(d, struct docker_relay, release));
}

static void on_spliced(struct cay_splice *s)
{
        struct docker_relay *r = cay_container_of(s, struct docker_relay, splice);

        tell(r, false);
        end(r);
        r->release.run = release_relay;
        cay_loop_defer(r->loop, &r->release);
}

/* Towards Docker: as it is */

static size_t unframed_write(struct cay_duplex *d, const void *bytes, size_t len)
{
        struct docker_relay *r = from_duplex(d);

        return r->raw ? cay_duplex_write(r->raw, bytes, len) : 0;
}

static void unframed_shut(struct cay_duplex *d)
{
        if (from_duplex(d)->raw)
                cay_duplex_shut(from_duplex(d)->raw);
}

static void unframed_consumed(struct cay_duplex *d, size_t len)
{
        if (from_duplex(d)->raw)
                cay_duplex_consumed(from_duplex(d)->raw, len);
}

static void unframed_close(struct cay_duplex *d)
{
        struct docker_relay *r = from_duplex(d);

        r->ended = true;
        if (r->raw)
                cay_duplex_close(cay_take(r->raw));
}

/* From Docker: without its frames */

static void lose(struct docker_relay *r, int why)
{
        if (r->ended)
                return;
        r->ended = true;
        if (r->raw)
                cay_duplex_close(cay_take(r->raw));
        r->unframed.user->ops->on_lost(r->unframed.user, why);
}

static void on_data(struct cay_duplex_user *u, const void *bytes, size_t len)
{
        struct docker_relay *r = from_user(u);
        const char *at = bytes;

        while (len > 0 && !r->ended) {
                enum docker_stream_kind kind;
                size_t payload;
                ssize_t n = docker_stream_take(&r->frames, at, len, &kind, &payload);

                if (n < 0) {
                        lose(r, (int)n);
                        return;
                }
                if (payload > 0 && kind == DOCKER_STREAM_ERR)
                        tell(r, true);
                if (kind != DOCKER_STREAM_OUT)
                        payload = 0;
                if ((size_t)n > payload)
                        cay_duplex_consumed(r->raw, (size_t)n - payload);
                if (payload > 0)
                        r->unframed.user->ops->on_data(r->unframed.user, at + (size_t)n - payload, payload);
                at += n;
                len -= (size_t)n;
        }
}

static void on_room(struct cay_duplex_user *u)
{
        struct docker_relay *r = from_user(u);

        if (!r->ended)
                r->unframed.user->ops->on_room(r->unframed.user);
}

/* The helper has ended: there is nobody to write to either. */
static void on_eof(struct cay_duplex_user *u)
{
        lose(from_user(u), docker_stream_is_between(&from_user(u)->frames) ? 0 : -EPROTO);
}

static void on_lost(struct cay_duplex_user *u, int why)
{
        from_user(u)->raw = NULL;
        lose(from_user(u), why);
}

int docker_relay_open_take(struct docker_relays *all, struct cay_loop *loop, int front_fd,
                           struct cay_duplex *docker, const struct cay_buf *rest,
                           struct docker_relay_wait *wait)
{
        static const struct cay_duplex_user_ops user_ops = {
                .on_data = on_data, .on_room = on_room, .on_eof = on_eof, .on_lost = on_lost
        };
        static const struct cay_duplex_ops ops = { .write = unframed_write,
                                                   .shut = unframed_shut,
                                                   .consumed = unframed_consumed,
                                                   .close = unframed_close };
        struct docker_relay *r = calloc(1, sizeof(*r));
        struct cay_duplex *front = cay_socket_open_take(loop, front_fd, NULL);

        if (front)
                cay_socket_drain(front); /* one that died has said things before */
        if (!r || !front) {
                free(r);
                if (front)
                        cay_duplex_close(front);
                cay_duplex_close(docker);
                return -ENOMEM;
        }
        r->all = all;
        r->loop = loop;
        r->raw = docker;
        r->user.ops = &user_ops;
        r->unframed.ops = &ops;
        r->wait = wait;
        if (wait)
                wait->relay = r;
        docker->user = &r->user;
        r->next = all->first;
        all->first = r;
        all->count++;
        cay_splice_begin(&r->splice, front, &r->unframed, on_spliced);
        if (rest->len > 0)
                on_data(&r->user, cay_buf_data(rest), rest->len);
        return 0;
}

void docker_relays_close(struct docker_relays *all)
{
        while (all->first) {
                struct docker_relay *r = all->first;

                cay_splice_abort(&r->splice);
                on_spliced(&r->splice);
        }
}
