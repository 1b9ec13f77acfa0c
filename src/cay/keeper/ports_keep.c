/* SPDX-License-Identifier: Apache-2.0 */
/* Makes listening sockets for fronts. */
#include "cay/keeper/ports_keep.h"

#include <sys/socket.h>
#include <unistd.h>

#include "foundation/http/listen.h"
#include "foundation/sys/unix_socket.h"

#define LOOPBACK "127.0.0.1"
#define SPAN (CAY_HAND_PORT_LAST - CAY_HAND_PORT_FIRST + 1)

static void let_go(struct cay_ports_keep *k, unsigned i)
{
        close(k->rows[i].fd);
        k->rows[i] = k->rows[--k->count];
}

static struct cay_kept_port *find(struct cay_ports_keep *k, uint32_t port)
{
        for (unsigned i = 0; i < k->count; i++)
                if (k->rows[i].port == port)
                        return &k->rows[i];
        return NULL;
}

static bool is_ours(uint32_t port)
{
        return port >= CAY_HAND_PORT_FIRST && port <= CAY_HAND_PORT_LAST;
}

/*
 * A port that is in use or not permitted is not an error: the caller tries the next one. Returns the
 * descriptor or -1.
 */
static int listen_near(struct cay_ports_keep *k, uint32_t wish)
{
        unsigned from = is_ours(wish) ? wish - CAY_HAND_PORT_FIRST : k->given + 1;
        struct cay_error ignored = { 0 };
        int fds[CAY_LISTEN_MAX];

        for (unsigned i = from; i < from + SPAN; i++) {
                if (cay_listen_tcp(LOOPBACK, (uint16_t)(CAY_HAND_PORT_FIRST + i % SPAN), fds, &ignored) != 1)
                        continue;
                if (!is_ours(wish))
                        k->given = i % SPAN;
                return fds[0];
        }
        return -1;
}

static struct cay_kept_port *open_row(struct cay_ports_keep *k, uint32_t wish)
{
        struct cay_kept_port *row = wish != 0 ? find(k, wish) : NULL;
        int fd;

        if (row && !row->is_used) /* left by the previous front */
                return row;
        if (k->count == CAY_HAND_PORTS_MAX)
                return NULL;
        fd = listen_near(k, wish);
        if (fd < 0)
                return NULL;
        row = &k->rows[k->count++];
        *row = (struct cay_kept_port){ .fd = fd, .port = cay_listen_port(fd) };
        return row;
}

void cay_ports_keep_on_ask(struct cay_ports_keep *k, int sock, const struct cay_hand_listen *ask)
{
        struct cay_hand_listening say = { .magic = CAY_HAND_MAGIC,
                                          .size = sizeof(say),
                                          .serial = ask->serial };
        struct cay_kept_port *row = ask->is_drop ? find(k, ask->port) : open_row(k, ask->port);
        ssize_t n;

        if (ask->is_drop) {
                if (row)
                        let_go(k, (unsigned)(row - k->rows));
                return;
        }
        say.port = row ? row->port : 0;
        n = sys_send_fds(sock, &say, sizeof(say), row ? &row->fd : NULL, row ? 1 : 0,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (row && n >= 0)
                row->is_used = true;
        else if (row)
                let_go(k, (unsigned)(row - k->rows));
}

void cay_ports_keep_before_front(struct cay_ports_keep *k)
{
        for (unsigned i = 0; i < k->count; i++)
                k->rows[i].is_used = false;
}

void cay_ports_keep_sweep(struct cay_ports_keep *k)
{
        for (unsigned i = k->count; i > 0; i--)
                if (!k->rows[i - 1].is_used)
                        let_go(k, i - 1);
}

unsigned cay_ports_keep_tell(const struct cay_ports_keep *k, int32_t fds[CAY_HAND_PORTS_MAX])
{
        for (unsigned i = 0; i < k->count; i++)
                fds[i] = k->rows[i].fd;
        return k->count;
}

void cay_ports_keep_take_over(struct cay_ports_keep *k, const int32_t *fds, unsigned count)
{
        for (unsigned i = 0; i < count && i < CAY_HAND_PORTS_MAX; i++)
                k->rows[k->count++] = (struct cay_kept_port){ .fd = fds[i], .port = cay_listen_port(fds[i]) };
}

void cay_ports_keep_done(struct cay_ports_keep *k)
{
        while (k->count > 0)
                let_go(k, k->count - 1);
}
