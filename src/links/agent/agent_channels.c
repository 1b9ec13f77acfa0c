/* SPDX-License-Identifier: Apache-2.0 */
#include "links/agent/agent_channels.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/buf.h"

#define ROUND_BYTES (256u * 1024) /* read of one socket before the others have their turn */

struct agent_channel {
        struct agent_channels *all;
        struct agent_channel *next, **back;
        struct cay_watch watch; /* of the socket; not added while there is none */
        struct cay_deferred release;
        uint32_t number;
        uint32_t may_send; /* room in the other side's window */
        uint32_t owed;     /* bytes that the socket took and no CREDIT told of */
        struct cay_buf in; /* came, and the socket has not taken them */
        bool ended;        /* END came: over when `in` is empty */
};

static void free_channel(struct cay_deferred *d)
{
        free(cay_container_of(d, struct agent_channel, release));
}

static void drop(struct agent_channel *ch)
{
        int fd = ch->watch.loop ? ch->watch.fd : -1;

        cay_watch_remove(&ch->watch);
        if (fd >= 0)
                close(fd);
        cay_buf_done(&ch->in);
        *ch->back = ch->next;
        if (ch->next)
                ch->next->back = ch->back;
        ch->all->count--;
        ch->release.run = free_channel;
        cay_loop_defer(ch->all->loop, &ch->release);
}

static void say(struct agent_channels *c, const struct agent_message *m)
{
        uint8_t bytes[AGENT_SMALL_MAX];
        int len = agent_message_write(m, bytes, sizeof(bytes));

        if (len > 0)
                c->send(c, bytes, (size_t)len);
}

static void drop_and_tell(struct agent_channel *ch)
{
        struct agent_channels *c = ch->all;
        struct agent_message m = { .type = AGENT_end, .number = ch->number };

        drop(ch);
        say(c, &m);
}

static void set_events(struct agent_channel *ch)
{
        if (ch->watch.loop)
                cay_watch_set(&ch->watch, (ch->may_send > 0 && !ch->all->held ? EPOLLIN : 0) |
                                                  (ch->in.len > 0 ? EPOLLOUT : 0));
}

/* From the socket */

static void hold(struct agent_channels *c)
{
        c->held = true;
        for (struct agent_channel *ch = c->first; ch; ch = ch->next)
                set_events(ch);
}

/* False: the channel is over. */
static bool read_some(struct agent_channel *ch)
{
        static uint8_t bytes[AGENT_MAX]; /* one thread */
        struct agent_message m = { .type = AGENT_data, .number = ch->number };
        int head = agent_message_write(&m, bytes, sizeof(bytes));
        size_t left = ROUND_BYTES;

        while (left > 0 && ch->may_send > 0 && !ch->all->held) {
                size_t most = ch->may_send < AGENT_DATA_MAX ? ch->may_send : AGENT_DATA_MAX;
                ssize_t n = recv(ch->watch.fd, bytes + head, most, MSG_DONTWAIT), queued;

                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        break;
                if (n <= 0) {
                        drop_and_tell(ch);
                        return false;
                }
                ch->may_send -= (uint32_t)n;
                left -= (size_t)n < left ? (size_t)n : left;
                queued = ch->all->send(ch->all, bytes, (size_t)head + (size_t)n);
                if (queued < 0)
                        return false; /* the connection is lost; all of it ends soon */
                if ((size_t)queued >= AGENT_QUEUED_HIGH)
                        hold(ch->all);
        }
        set_events(ch);
        return true;
}

/* To the socket */

static void give_credit(struct agent_channel *ch)
{
        struct agent_message m = { .type = AGENT_credit, .number = ch->number, .credit = ch->owed };

        if (ch->owed == 0 || (ch->owed < AGENT_WINDOW / 4 && ch->in.len > 0))
                return;
        if (ch->owed < AGENT_WINDOW / 16) /* few bytes: the next ones may share it */
                return;
        ch->owed = 0;
        say(ch->all, &m);
}

/* Returns how many were taken, or -1: the socket is over. */
static ssize_t put(struct agent_channel *ch, const void *bytes, size_t len)
{
        ssize_t n = send(ch->watch.fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOBUFS))
                return 0;
        if (n > 0)
                ch->owed += (uint32_t)n;
        return n;
}

/* False: the channel is over. */
static bool write_some(struct agent_channel *ch)
{
        while (ch->in.len > 0) {
                ssize_t n = put(ch, cay_buf_data(&ch->in), ch->in.len);

                if (n < 0) {
                        drop_and_tell(ch);
                        return false;
                }
                if (n == 0)
                        break;
                cay_buf_drop(&ch->in, (size_t)n);
        }
        if (ch->in.len == 0) /* memory for idle channels is given back */
                cay_buf_done(&ch->in);
        if (ch->ended && ch->in.len == 0) {
                drop(ch);
                return false;
        }
        give_credit(ch);
        set_events(ch);
        return true;
}

static void on_socket(struct cay_watch *w, uint32_t events)
{
        struct agent_channel *ch = cay_container_of(w, struct agent_channel, watch);

        if (events & EPOLLOUT && !write_some(ch))
                return;
        if (events & EPOLLIN) {
                read_some(ch);
                return;
        }
        if (events & (EPOLLHUP | EPOLLERR)) { /* reported even while it is not read */
                if (ch->may_send > 0 && !ch->all->held)
                        read_some(ch);
                else
                        drop_and_tell(ch);
        }
}

/* Channels */

static struct agent_channel *find(const struct agent_channels *c, uint32_t number)
{
        struct agent_channel *ch = c->first;

        while (ch && ch->number != number)
                ch = ch->next;
        return ch;
}

static int attach(struct agent_channel *ch, int fd)
{
        int r = cay_watch_add(ch->all->loop, &ch->watch, fd, EPOLLIN, on_socket);

        if (r < 0) {
                close(fd);
                return r;
        }
        write_some(ch);
        return 0;
}

int agent_channels_open_take(struct agent_channels *c, uint32_t number, int fd)
{
        struct agent_channel *ch = NULL;
        int r = find(c, number) ? -EEXIST : c->count >= AGENT_CHANNELS_MAX ? -ENOSPC : -ENOMEM;

        if (r == -ENOMEM)
                ch = calloc(1, sizeof(*ch));
        if (!ch) {
                if (fd >= 0)
                        close(fd);
                return r;
        }
        ch->all = c;
        ch->number = number;
        ch->may_send = AGENT_WINDOW;
        cay_buf_init(&ch->in, AGENT_WINDOW);
        cay_buf_charge(&ch->in, c->budget);
        ch->next = c->first;
        ch->back = &c->first;
        if (ch->next)
                ch->next->back = &ch->next;
        c->first = ch;
        c->count++;
        return fd >= 0 ? attach(ch, fd) : 0;
}

int agent_channels_attach_take(struct agent_channels *c, uint32_t number, int fd)
{
        struct agent_channel *ch = find(c, number);

        if (ch && !ch->watch.loop)
                return attach(ch, fd);
        close(fd);
        return -ENOENT;
}

void agent_channels_end(struct agent_channels *c, uint32_t number)
{
        struct agent_channel *ch = find(c, number);

        if (ch)
                drop_and_tell(ch);
}

static int take_data(struct agent_channel *ch, struct cay_view data)
{
        ssize_t n = 0;

        if (ch->ended || data.len > AGENT_WINDOW - ch->owed - ch->in.len)
                return -EPROTO;
        if (ch->in.len == 0 && ch->watch.loop)
                n = put(ch, data.ptr, data.len);
        if (n < 0 ||
            (n < (ssize_t)data.len && cay_buf_put(&ch->in, data.ptr + n, data.len - (size_t)n) < 0)) {
                drop_and_tell(ch);
                return 0;
        }
        give_credit(ch);
        set_events(ch);
        return 0;
}

int agent_channels_hear(struct agent_channels *c, const struct agent_message *m)
{
        struct agent_channel *ch = find(c, m->number);

        if (!ch)
                return 0;
        switch (m->type) {
        case AGENT_data:
                return take_data(ch, m->data);
        case AGENT_credit:
                if (m->credit > AGENT_WINDOW - ch->may_send)
                        return -EPROTO;
                ch->may_send += m->credit;
                set_events(ch);
                return 0;
        default:
                ch->ended = true;
                if (ch->in.len == 0 || !ch->watch.loop)
                        drop(ch);
                return 0;
        }
}

void agent_channels_drained(struct agent_channels *c)
{
        c->held = false;
        for (struct agent_channel *ch = c->first; ch; ch = ch->next)
                set_events(ch);
}

void agent_channels_done(struct agent_channels *c)
{
        while (c->first)
                drop(c->first);
}
