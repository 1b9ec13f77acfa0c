/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-docker/build_readers.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/banned.h"

enum { PATIENCE_MS = 10 * 60 * 1000 }; /* a person may be reading page by page */

void docker_readers_init(struct docker_readers *all, struct cay_loop *loop,
                         void (*on_done)(struct docker_readers *all, const struct docker_reader *who),
                         void (*on_alone)(struct docker_readers *all))
{
        *all = (struct docker_readers){ .loop = loop, .on_done = on_done, .on_alone = on_alone };
        cay_buf_init(&all->kept, DOCKER_KEPT_MAX);
        for (unsigned i = 0; i < DOCKER_READERS_MAX; i++)
                all->rows[i].fd = -1;
}

static void let_go(struct docker_reader *r)
{
        cay_watch_remove(&r->watch);
        close(cay_take_fd(r->fd));
        r->all->count--;
}

void docker_readers_done(struct docker_readers *all)
{
        if (!all->loop)
                return;
        for (unsigned i = 0; i < DOCKER_READERS_MAX; i++)
                if (all->rows[i].fd >= 0)
                        let_go(&all->rows[i]);
        cay_timer_clear(&all->patience);
        cay_buf_done(&all->kept);
}

static void retire(struct docker_reader *r)
{
        let_go(r);
        r->all->on_done(r->all, r);
}

static void look_for_the_last(struct docker_readers *all)
{
        if (all->count == 0)
                all->on_alone(all);
}

/* What each gets */

static void catch_up(struct docker_reader *r)
{
        const struct docker_readers *all = r->all;

        if (r->byte >= all->first_byte)
                return;
        r->missed += all->first_line - r->line;
        r->byte = all->first_byte;
        r->line = all->first_line;
}

static int put_notice(const struct docker_reader *r, char *ret, size_t size)
{
        if (r->is_late && r->missed == 0)
                return snprintf(ret, size, "… this build runs already; from its beginning:\n");
        return snprintf(ret, size, "… %llu lines left out: %s\n", (unsigned long long)r->missed,
                        r->is_late ? "this build runs already, and only the end is kept"
                                   : "they were not read in time");
}

static bool send_text(struct docker_reader *r, const char *text, size_t len)
{
        if (send(r->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
                return true;
        r->broken = errno != EAGAIN && errno != EINTR && errno != ENOBUFS;
        return false;
}

/* One message; false: it takes nothing now. */
static bool send_next(struct docker_reader *r)
{
        const struct docker_readers *all = r->all;
        char notice[160];
        const char *line;
        size_t len, left;

        if (r->is_late || r->missed > 0) {
                if (!send_text(r, notice, (size_t)put_notice(r, notice, sizeof(notice))))
                        return false;
                r->is_late = false;
                r->missed = 0;
                return true;
        }
        line = cay_buf_data(&all->kept) + (r->byte - all->first_byte);
        left = (size_t)(all->first_byte + all->kept.len - r->byte);
        len = (size_t)((const char *)memchr(line, '\n', left) - line) + 1; /* lines are whole */
        if (!send_text(r, line, len))
                return false;
        r->byte += len;
        r->line++;
        return true;
}

/* true: it has all there is. */
static bool feed(struct docker_reader *r)
{
        const struct docker_readers *all = r->all;

        catch_up(r);
        while (r->is_late || r->missed > 0 || r->byte < all->first_byte + all->kept.len) {
                if (!send_next(r)) {
                        cay_watch_set(&r->watch, EPOLLRDHUP | EPOLLOUT);
                        return false;
                }
        }
        cay_watch_set(&r->watch, EPOLLRDHUP);
        return true;
}

static void on_impatient(struct cay_timer *t)
{
        struct docker_readers *all = cay_container_of(t, struct docker_readers, patience);

        for (unsigned i = 0; i < DOCKER_READERS_MAX; i++)
                if (all->rows[i].fd >= 0)
                        retire(&all->rows[i]);
        look_for_the_last(all);
}

static void be_patient(struct docker_readers *all)
{
        cay_timer_set(all->loop, &all->patience, PATIENCE_MS, on_impatient);
}

static void on_event(struct cay_watch *w, uint32_t events)
{
        struct docker_reader *r = cay_container_of(w, struct docker_reader, watch);
        struct docker_readers *all = r->all;
        bool has_all = !(events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) && feed(r);

        if (r->broken || events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR) || (has_all && all->ended)) {
                retire(r);
                look_for_the_last(all);
        } else if (all->ended) {
                be_patient(all);
        }
}

int docker_readers_add_take(struct docker_readers *all, int fd, uint32_t seq, unsigned front_serial)
{
        struct docker_reader *r = all->rows;
        int error;

        assert(!all->ended);
        while (r < all->rows + DOCKER_READERS_MAX && r->fd >= 0)
                r++;
        if (r == all->rows + DOCKER_READERS_MAX) {
                close(fd);
                return -EMFILE;
        }
        *r = (struct docker_reader){ .all = all, .fd = -1, .seq = seq, .front_serial = front_serial };
        error = cay_watch_add(all->loop, &r->watch, fd, EPOLLRDHUP, on_event);
        if (error < 0) {
                close(fd);
                return error;
        }
        r->fd = fd;
        r->is_late = all->first_byte + all->kept.len > 0;
        all->count++;
        feed(r);
        return 0;
}

/* A quarter at a time, since what stays is moved. */
static void drop_oldest(struct docker_readers *all)
{
        while (cay_buf_left(&all->kept) < DOCKER_KEPT_MAX / 4) {
                const char *from = cay_buf_data(&all->kept);
                size_t n = (size_t)((const char *)memchr(from, '\n', all->kept.len) - from) + 1;

                cay_buf_drop(&all->kept, n);
                all->first_byte += n;
                all->first_line++;
        }
}

void docker_readers_put(struct docker_readers *all, const char *line, size_t len)
{
        char *room;

        if (cay_buf_left(&all->kept) < len + 1)
                drop_oldest(all);
        room = cay_buf_room(&all->kept, len + 1);
        if (!room)
                return; /* no memory: nobody is told this one */
        memcpy(room, line, len);
        room[len] = '\n';
        cay_buf_added(&all->kept, len + 1);
        for (unsigned i = 0; i < DOCKER_READERS_MAX; i++)
                if (all->rows[i].fd >= 0)
                        feed(&all->rows[i]);
}

void docker_readers_end(struct docker_readers *all)
{
        all->ended = true;
        be_patient(all);
        for (unsigned i = 0; i < DOCKER_READERS_MAX; i++)
                if (all->rows[i].fd >= 0 && feed(&all->rows[i]))
                        retire(&all->rows[i]);
        look_for_the_last(all);
}
