/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-init/accept.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/clock.h"

#define WAITING 64 /* connections that no channel has yet */

static struct { /* like init itself, one per process */
        struct cay_watch watch;
        struct cay_init *init;
        int fd;        /* owned */
        uint16_t port; /* 0: it does not listen */
} listener;

static bool waits(const struct cay_channel *ch)
{
        return ch->kind == CAY_BOX_ACCEPT && ch->state == CAY_CHANNEL_RUNNING && !ch->closed && !ch->opened &&
               !ch->exited;
}

static struct cay_channel *first_waiting(const struct cay_init *init)
{
        struct cay_channel *found = NULL;

        for (struct cay_channel *ch = init->channels; ch; ch = ch->next)
                if (waits(ch) && (!found || ch->number < found->number))
                        found = ch;
        return found;
}

static void give_take(struct cay_channel *ch, int fd)
{
        int one = 1, in = fcntl(fd, F_DUPFD_CLOEXEC, 3);

        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* a hint; ignoring failures */
        if (in < 0) {
                close(fd);
                cay_channel_fail(ch, CAY_LIMIT, errno, "cay-init has as many files open as it may");
        } else {
                ch->feed.fd = in;
                ch->opened = true;
                if (cay_pump_start_take(&ch->pumps[0], fd) < 0)
                        cay_channel_fail(ch, CAY_LIMIT, ENOMEM, "cay-init has no memory");
        }
        cay_channel_step(ch);
}

/* A level-triggered watch would report what nobody may take yet: it is there only while a channel waits. */
static void on_connection(struct cay_watch *w, uint32_t events)
{
        struct cay_channel *ch = first_waiting(listener.init);
        int fd = ch ? accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;

        if (fd >= 0)
                give_take(ch, fd);
        else if (!ch || errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
                cay_watch_remove(w);
}

static int open_listener(uint16_t port)
{
        const struct sockaddr_in at = { .sin_family = AF_INET,
                                        .sin_port = htons(port),
                                        .sin_addr = { htonl(INADDR_LOOPBACK) } };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1, r;

        if (fd < 0)
                return -errno;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, WAITING) == 0)
                return fd;
        r = -errno;
        close(fd);
        return r;
}

static int listen_to(struct cay_init *init, uint16_t port)
{
        int fd;

        if (listener.port == 0) {
                fd = open_listener(port);
                if (fd < 0)
                        return fd;
                listener.init = init;
                listener.fd = fd; /* for the whole life of init */
                listener.port = port;
        }
        if (listener.port != port)
                return -EADDRINUSE;
        return listener.watch.loop
                       ? 0
                       : cay_watch_add(init->loop, &listener.watch, listener.fd, EPOLLIN, on_connection);
}

void cay_accept_begin(struct cay_channel *ch, uint16_t port)
{
        int r = listen_to(ch->init, port);

        ch->start_ns = cay_clock_ns();
        if (r < 0)
                cay_channel_fail(ch, CAY_UNAVAILABLE, -r, "cannot listen on port %u inside the sandbox: %s",
                                 port, strerror(-r));
}

void cay_accept_step(struct cay_channel *ch)
{
        if (ch->state != CAY_CHANNEL_RUNNING || !ch->opened || ch->exited ||
            !cay_pump_is_done(&ch->pumps[0]) || ch->feed.fd >= 0)
                return;
        ch->result =
                calloc(1, sizeof(*ch->result)); /* all went well; without memory END says something else */
        ch->exited = true;
}

void cay_accept_close(struct cay_channel *ch)
{
        const struct linger reset = { .l_onoff = 1 };

        if (ch->feed.fd >= 0 && !ch->feed.receiver.eof) /* a part must not be taken for the whole */
                setsockopt(ch->feed.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        cay_feed_stop(&ch->feed);
        cay_pump_abandon(&ch->pumps[0]);
        cay_pump_stop(&ch->pumps[0]);
        ch->exited = true;
}
