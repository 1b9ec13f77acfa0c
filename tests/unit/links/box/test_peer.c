/* SPDX-License-Identifier: Apache-2.0 */
/* Frames over descriptors: fragments, tiny buffers, back-pressure, fairness, and ends of every sort. */
#include "unit/links/box/box_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "foundation/base/cleanup.h"
#include "links/box/peer.h"

struct end {
        struct cay_peer peer;
        unsigned frames, rooms, lost;
        int reason;
        uint64_t bytes, hash;
        struct cay_frame last;
        uint8_t first_byte;
        bool echoes_pings; /* and counts answers that did not fit */
        unsigned overflows;
        enum { NOTHING, CLOSE, BREACH, FREE } then;
};

static struct cay_loop *loop;

static int on_frame(struct cay_peer *p, const struct cay_frame *f, const uint8_t *payload)
{
        struct end *e = cay_container_of(p, struct end, peer);

        e->frames++;
        e->last = *f;
        e->bytes += f->len;
        e->hash = test_hash(e->hash, payload, f->len);
        e->first_byte = f->len ? payload[0] : 0;
        if (e->echoes_pings && cay_peer_send(p, CAY_FRAME_PONG, 0, 0, 0, payload, 8) < 0)
                e->overflows++;
        switch (e->then) {
        case CLOSE:
                cay_peer_close(p);
                return 0;
        case BREACH:
                return -EPROTO;
        case FREE:
                cay_peer_close(p);
                free(e);
                return 0;
        case NOTHING:
                break;
        }
        return 0;
}

static void on_room(struct cay_peer *p)
{
        struct end *e = cay_container_of(p, struct end, peer);

        e->rooms++;
        if (e->then == CLOSE)
                cay_peer_close(p);
}

static void on_lost(struct cay_peer *p, int reason)
{
        struct end *e = cay_container_of(p, struct end, peer);

        assert_false(cay_peer_is_open(p));
        assert_true(fcntl(p->fd, F_GETFD) >= 0); /* still open */
        e->lost++;
        e->reason = reason;
        if (e->then == FREE) {
                cay_peer_close(p);
                free(e);
        }
}

static void end_open(struct end *e, int fd, enum cay_frame_side from)
{
        *e = (struct end){ .hash = TEST_HASH_START };
        e->peer.on_frame = on_frame;
        e->peer.on_room = on_room;
        e->peer.on_lost = on_lost;
        assert_int_equal(cay_peer_open_take(loop, &e->peer, fd, from), 0);
        assert_true(cay_peer_is_open(&e->peer));
}

static void run(int rounds)
{
        while (rounds-- > 0)
                assert_int_equal(cay_loop_round(loop, 0), 0);
}

static int setup(void **state)
{
        loop = cay_loop_new();
        return loop ? 0 : -1;
}

static int teardown(void **state)
{
        cay_loop_free(loop);
        return 0;
}

static size_t make_frame(uint8_t *to, unsigned type, uint32_t channel, unsigned stream, uint64_t seq,
                         size_t len)
{
        struct cay_frame f = { .len = (uint32_t)len,
                               .channel = channel,
                               .seq = seq,
                               .type = (uint16_t)type,
                               .stream = (uint16_t)stream };

        cay_frame_encode(&f, to);
        test_fill(9, seq, to + CAY_FRAME_HEADER, len);
        return CAY_FRAME_HEADER + len;
}

static void fragments_become_frames(void **state)
{
        static uint8_t wire[CAY_FRAME_MAX + 100000];
        struct end e;
        size_t len = 0;
        int fds[2];

        test_socketpair(fds, 0);
        end_open(&e, fds[0], CAY_SIDE_INIT);
        len += make_frame(wire + len, CAY_FRAME_PONG, 0, 0, 0, 8);
        len += make_frame(wire + len, CAY_FRAME_DATA, 1, CAY_STREAM_OUT, 0, 1);
        len += make_frame(wire + len, CAY_FRAME_EOF, 1, CAY_STREAM_OUT, 1, 0);
        len += make_frame(wire + len, CAY_FRAME_DATA, 1, CAY_STREAM_ERR, 0, 700);
        for (size_t i = 0; i < len; i++) {
                assert_int_equal(write(fds[1], wire + i, 1), 1);
                run(1);
        }
        assert_int_equal(e.frames, 4);
        assert_int_equal(e.last.stream, CAY_STREAM_ERR);
        assert_int_equal(e.bytes, 709);
        assert_int_equal(e.lost, 0);
        cay_peer_close(&e.peer);
        close(fds[1]);
}

static void the_largest_frame_and_no_larger_memory(void **state)
{
        static uint8_t wire[CAY_FRAME_MAX + 100];
        size_t len = make_frame(wire, CAY_FRAME_OPEN, 1, 0, 0, CAY_FRAME_MAX), at = 0;
        struct end e;
        int fds[2];

        test_socketpair(fds, 0);
        end_open(&e, fds[0], CAY_SIDE_FRONT);
        while (at < len) {
                size_t piece = len - at < 60001 ? len - at : 60001;

                assert_int_equal(write(fds[1], wire + at, piece), piece);
                at += piece;
                run(1);
                assert_true(e.peer.in.cap <= CAY_FRAME_HEADER + CAY_FRAME_MAX + 128 * 1024);
        }
        run(2);
        assert_int_equal(e.frames, 1);
        assert_int_equal(e.bytes, CAY_FRAME_MAX);
        assert_true(e.peer.in.cap <= 32 * 1024); /* given back at once */

        for (len = 0; len + 8192 < sizeof(wire);)
                len += make_frame(wire + len, CAY_FRAME_DATA, 1, CAY_STREAM_IN, 0, 4096);
        for (int i = 0; i < 3; i++) { /* a flood makes it ask for more at a time */
                for (at = 0; at < len; run(1)) {
                        ssize_t n = send(fds[1], wire + at, len - at, MSG_DONTWAIT);

                        at += n > 0 ? (size_t)n : 0;
                }
        }
        run(50);
        assert_true(e.peer.chunk > 32 * 1024);
        /* What was large is given back when it is quiet. */
        for (int i = 0; i < 20; i++) {
                len = make_frame(wire, CAY_FRAME_SYNC, 0, 0, 0, 0);
                assert_int_equal(write(fds[1], wire, len), len);
                run(1);
        }
        assert_true(e.peer.in.cap <= 32 * 1024);
        cay_peer_close(&e.peer);
        close(fds[1]);
}

/* Much in one go: everything arrives in order, a round at a time. */
static void two_ends_over_tiny_buffers(void **state)
{
        enum { TOTAL = 3000000 };
        static uint8_t piece[CAY_FRAME_DATA_MAX];
        struct end a, b;
        uint64_t seed = 42, sent = 0;
        unsigned frames = 0;
        int fds[2];

        test_socketpair(fds, 2048);
        end_open(&a, fds[0], CAY_SIDE_FRONT);
        end_open(&b, fds[1], CAY_SIDE_INIT);
        while (sent < TOTAL || !cay_peer_is_flushed(&a.peer)) {
                while (sent < TOTAL && cay_peer_has_room(&a.peer)) {
                        size_t len = 1 + test_random(&seed, CAY_FRAME_DATA_MAX);

                        if (len > TOTAL - sent)
                                len = TOTAL - sent;
                        test_fill(9, sent, piece, len);
                        assert_int_equal(cay_peer_send(&a.peer, CAY_FRAME_DATA, 1, CAY_STREAM_OUT, sent,
                                                       piece, len),
                                         0);
                        sent += len;
                        frames++;
                }
                assert_true(a.peer.out.len <= 2 * (CAY_FRAME_DATA_MAX + CAY_FRAME_HEADER));
                run(1);
        }
        run(100);
        assert_int_equal(b.frames, frames);
        assert_int_equal(b.bytes, TOTAL);
        assert_true(b.hash == test_pattern_hash(9, TOTAL));
        assert_true(a.rooms > 0);
        cay_peer_close(&a.peer);
        cay_peer_close(&b.peer);
}

static void data_is_refused_before_control_frames_are(void **state)
{
        static uint8_t piece[CAY_FRAME_DATA_MAX];
        unsigned data = 0, control = 0;
        struct end a;
        int fds[2], r;

        test_socketpair(fds, 2048);
        end_open(&a, fds[0], CAY_SIDE_FRONT);
        while ((r = cay_peer_send(&a.peer, CAY_FRAME_DATA, 1, CAY_STREAM_OUT, 0, piece, sizeof(piece))) == 0)
                data++;
        assert_int_equal(r, -ENOSPC);
        assert_false(cay_peer_has_room(&a.peer));
        assert_true(data >= 1 && data <= 4);
        while ((r = cay_peer_send(&a.peer, CAY_FRAME_END, 1, 0, 0, piece, 4000)) == 0)
                control++;
        assert_int_equal(r, -ENOSPC);
        assert_true(control > 50);
        assert_true(a.peer.out.len <= 512 * 1024);
        assert_int_equal(a.rooms, 0);

        /* A reader comes: on_room is called and all that was taken is whole. */
        {
                struct end b;

                end_open(&b, fds[1], CAY_SIDE_INIT);
                run(3000);
                assert_int_equal(b.frames, data + control);
                assert_true(a.rooms > 0);
                assert_true(cay_peer_has_room(&a.peer));
                assert_true(cay_peer_is_flushed(&a.peer));
                assert_true(a.peer.out.cap <= 16 * 1024);
                cay_peer_close(&b.peer);
        }
        cay_peer_close(&a.peer);
}

/* has_room was false and the queue drained by another path than EPOLLOUT: on_room comes all the same. */
static void room_is_told_however_it_came(void **state)
{
        static uint8_t piece[CAY_FRAME_DATA_MAX], sink[1 << 20];
        struct end a;
        size_t len = make_frame(sink, CAY_FRAME_SYNC, 0, 0, 0, 0);
        int fds[2];

        test_socketpair(fds, 2048);
        end_open(&a, fds[0], CAY_SIDE_FRONT);
        while (cay_peer_has_room(&a.peer))
                assert_int_equal(cay_peer_send(&a.peer, CAY_FRAME_DATA, 1, CAY_STREAM_OUT, 0, piece,
                                               sizeof(piece)),
                                 0);
        assert_int_equal(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
        for (int i = 0; i < 1000 && a.rooms == 0; i++) {
                while (read(fds[1], sink, sizeof(sink)) > 0)
                        ;
                make_frame(sink, CAY_FRAME_SYNC, 0, 0, 0, 0);
                assert_int_equal(write(fds[1], sink, len), len);
                a.peer.watch.on_event(&a.peer.watch, EPOLLIN); /* reading flushes, too */
                while (read(fds[1], sink, sizeof(sink)) > 0)
                        ;
                if (i % 10 == 9)
                        run(1);
        }
        assert_true(a.rooms > 0);
        cay_peer_close(&a.peer);
        close(fds[1]);
}

/* A front that asks and never reads: init's end stops taking questions, and answers them all in the end. */
static void answers_that_pile_up_stop_the_reading(void **state)
{
        static uint8_t wire[28 * 1000], sink[1 << 16];
        unsigned asked = 0, got = 0;
        size_t part = 0;
        struct end e;
        ssize_t n;
        int fds[2];

        for (size_t i = 0; i < 1000; i++)
                make_frame(wire + 28 * i, CAY_FRAME_PING, 0, 0, 0, 8);
        test_socketpair(fds, 2048);
        assert_int_equal(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
        end_open(&e, fds[0], CAY_SIDE_FRONT);
        e.echoes_pings = true;
        for (int quiet = 0; quiet < 200;) {
                n = write(fds[1], wire + part, sizeof(wire) - part);
                quiet = n > 0 ? 0 : quiet + 1;
                if (n > 0) {
                        asked += (unsigned)n;
                        part = (part + (size_t)n) % sizeof(wire);
                }
                run(1);
        }
        assert_true(e.peer.reading_paused);
        assert_int_equal(e.overflows, 0);
        assert_true(e.peer.out.len <= 512 * 1024);
        for (int quiet = 0; quiet < 200;) {
                n = read(fds[1], sink, sizeof(sink));
                quiet = n > 0 ? 0 : quiet + 1;
                if (n > 0)
                        got += (unsigned)n;
                run(1);
        }
        assert_false(e.peer.reading_paused);
        assert_int_equal(e.overflows, 0);
        assert_int_equal(e.frames, asked / 28);
        assert_int_equal(got / 28, asked / 28);
        cay_peer_close(&e.peer);
        close(fds[1]);
}

static void a_paused_end_notices_the_hang_up(void **state)
{
        static uint8_t wire[28 * 1000];
        struct end e;
        int fds[2];

        for (size_t i = 0; i < 1000; i++)
                make_frame(wire + 28 * i, CAY_FRAME_PING, 0, 0, 0, 8);
        test_socketpair(fds, 2048);
        assert_int_equal(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
        end_open(&e, fds[0], CAY_SIDE_FRONT);
        e.echoes_pings = true;
        for (size_t at = 0; !e.peer.reading_paused;) {
                ssize_t n = write(fds[1], wire + at, sizeof(wire) - at);

                if (n > 0)
                        at = (at + (size_t)n) % sizeof(wire);
                run(1);
        }
        close(fds[1]);
        for (int i = 0; i < 100000 && !e.lost; i++)
                run(1);
        assert_int_equal(e.lost, 1);
        cay_peer_close(&e.peer);
}

static void one_noisy_peer_does_not_starve_another(void **state)
{
        static uint8_t wire[4096 * 28], one[28];
        struct end noisy, quiet;
        int a[2], b[2];

        for (size_t i = 0; i < 4096; i++)
                make_frame(wire + 28 * i, CAY_FRAME_PING, 0, 0, 0, 8);
        make_frame(one, CAY_FRAME_PING, 0, 0, 0, 8);
        test_socketpair(a, 1 << 20);
        test_socketpair(b, 0);
        end_open(&noisy, a[0], CAY_SIDE_FRONT);
        end_open(&quiet, b[0], CAY_SIDE_FRONT);
        assert_int_equal(write(a[1], wire, sizeof(wire)), sizeof(wire));
        assert_int_equal(write(b[1], one, sizeof(one)), sizeof(one));
        run(1);
        assert_int_equal(quiet.frames, 1);
        assert_true(noisy.frames >= 16 && noisy.frames < 1000);
        run(200);
        assert_int_equal(noisy.frames, 4096);
        cay_peer_close(&noisy.peer);
        cay_peer_close(&quiet.peer);
        close(a[1]);
        close(b[1]);
}

static void the_end_of_the_stream_is_told_once(void **state)
{
        uint8_t wire[100];
        struct end e;
        size_t len = make_frame(wire, CAY_FRAME_PONG, 0, 0, 0, 8);
        int fds[2];

        test_socketpair(fds, 0);
        end_open(&e, fds[0], CAY_SIDE_INIT);
        assert_int_equal(write(fds[1], wire, len), len);
        assert_int_equal(write(fds[1], wire, 10), 10); /* and a cut one */
        close(fds[1]);
        run(10);
        assert_int_equal(e.frames, 1);
        assert_int_equal(e.lost, 1);
        assert_int_equal(e.reason, 0);
        assert_int_equal(cay_peer_send(&e.peer, CAY_FRAME_PING, 0, 0, 0, wire, 8), -EPIPE);
        cay_peer_close(&e.peer);
        cay_peer_close(&e.peer);
}

/* More than a round's share, a cut frame, the end: it is told of each until nothing of it is left. */
static void what_was_not_read_is_known(void **state)
{
        static uint8_t wire[20000];
        size_t len = 0;
        struct end e;
        int fds[2];

        test_socketpair(fds, 0);
        end_open(&e, fds[0], CAY_SIDE_INIT);
        assert_false(cay_peer_has_unread(&e.peer));
        for (int i = 0; i < 600; i++)
                len += make_frame(wire + len, CAY_FRAME_PONG, 0, 0, 0, 8);
        assert_int_equal(write(fds[1], wire, len), len);
        run(1);
        assert_true(e.frames > 0 && e.frames < 600);
        assert_true(cay_peer_has_unread(&e.peer));
        run(10);
        assert_int_equal(e.frames, 600);
        assert_false(cay_peer_has_unread(&e.peer));
        assert_int_equal(write(fds[1], wire, 10), 10);
        assert_true(cay_peer_has_unread(&e.peer));
        run(1);
        assert_false(cay_peer_has_unread(&e.peer)); /* nor can more of it be read */
        close(fds[1]);
        assert_true(cay_peer_has_unread(&e.peer));
        run(1);
        assert_int_equal(e.lost, 1);
        assert_false(cay_peer_has_unread(&e.peer));
        cay_peer_close(&e.peer);
        assert_false(cay_peer_has_unread(&e.peer));
}

static void a_failed_write_lets_the_rest_be_read(void **state)
{
        uint8_t wire[1000];
        struct end e;
        size_t len = 0;
        int fds[2];

        test_socketpair(fds, 0);
        end_open(&e, fds[0], CAY_SIDE_INIT);
        for (int i = 0; i < 20; i++)
                len += make_frame(wire + len, CAY_FRAME_PONG, 0, 0, 0, 8);
        assert_int_equal(write(fds[1], wire, len), len);
        close(fds[1]);
        cay_peer_send(&e.peer, CAY_FRAME_PING, 0, 0, 0, wire, 8); /* finds nobody */
        assert_int_equal(cay_peer_send(&e.peer, CAY_FRAME_PING, 0, 0, 0, wire, 8), -EPIPE);
        assert_int_equal(e.lost, 0);
        run(10);
        assert_int_equal(e.frames, 20);
        assert_int_equal(e.lost, 1);
        cay_peer_close(&e.peer);
}

/* The other side still has the socket open but takes no more: that is an end as well. */
static void a_half_closed_stream_is_lost(void **state)
{
        uint8_t wire[8] = { 0 };
        struct end e;
        int fds[2];

        test_socketpair(fds, 0);
        end_open(&e, fds[0], CAY_SIDE_INIT);
        shutdown(fds[1], SHUT_RD);
        run(3);
        assert_int_equal(e.lost, 0);
        assert_int_equal(cay_peer_send(&e.peer, CAY_FRAME_PING, 0, 0, 0, wire, 8), -EPIPE);
        run(5);
        assert_int_equal(e.lost, 1);
        assert_int_equal(e.reason, -EPIPE);
        cay_peer_close(&e.peer);
        close(fds[1]);
}

static void bad_headers_and_bad_frames_end_the_link(void **state)
{
        for (int i = 0; i < 2; i++) {
                uint8_t wire[100];
                size_t len = make_frame(wire, i == 0 ? CAY_FRAME_HELLO : CAY_FRAME_PONG, 0, 0, 0, 8);
                struct end e;
                int fds[2];

                test_socketpair(fds, 0);
                end_open(&e, fds[0], CAY_SIDE_INIT);
                e.then = BREACH;
                assert_int_equal(write(fds[1], wire, len), len);
                assert_int_equal(write(fds[1], wire, len), len);
                run(5);
                assert_int_equal(e.frames, i);
                assert_int_equal(e.lost, 1);
                assert_int_equal(e.reason, -EPROTO);
                cay_peer_close(&e.peer);
                close(fds[1]);
        }
}

static void callbacks_may_close_or_free(void **state)
{
        for (int free_it = 0; free_it < 2; free_it++) {
                struct end *e = malloc(sizeof(*e));
                uint8_t wire[300];
                size_t len = 0;
                int fds[2];

                test_socketpair(fds, 0);
                end_open(e, fds[0], CAY_SIDE_INIT);
                e->then = free_it ? FREE : CLOSE;
                for (int i = 0; i < 5; i++)
                        len += make_frame(wire + len, CAY_FRAME_PONG, 0, 0, 0, 8);
                assert_int_equal(write(fds[1], wire, len), len);
                run(5);
                if (!free_it) {
                        assert_int_equal(e->frames, 1);
                        assert_int_equal(e->lost, 0);
                        free(e);
                }
                close(fds[1]);

                e = malloc(sizeof(*e)); /* freed in on_lost */
                test_socketpair(fds, 0);
                end_open(e, fds[0], CAY_SIDE_INIT);
                e->then = FREE;
                close(fds[1]);
                run(5);
        }
}

static void on_lost_reopen(struct cay_peer *p, int reason)
{
        struct end *e = cay_container_of(p, struct end, peer);
        int fds[2];

        e->lost++;
        cay_peer_close(p);
        test_socketpair(fds, 0);
        assert_int_equal(cay_peer_open_take(loop, p, fds[0], CAY_SIDE_INIT), 0);
        e->reason = fds[1]; /* kept for the test */
}

static void a_peer_can_be_opened_again_in_on_lost(void **state)
{
        uint8_t wire[100];
        size_t len = make_frame(wire, CAY_FRAME_PONG, 0, 0, 0, 8);
        struct end e;
        int fds[2];

        test_socketpair(fds, 0);
        end_open(&e, fds[0], CAY_SIDE_INIT);
        e.peer.on_lost = on_lost_reopen;
        assert_int_equal(write(fds[1], wire, 13), 13); /* nothing of this may be left over */
        close(fds[1]);
        run(5);
        assert_int_equal(e.lost, 1);
        assert_int_equal(write(e.reason, wire, len), len);
        run(5);
        assert_int_equal(e.frames, 1);
        cay_peer_close(&e.peer);
        close(e.reason);
}

/* Small frames sent while frames are handled leave together: a reader sees them in one piece. */
static void answers_leave_in_one_write(void **state)
{
        uint8_t wire[28 * 10], back[4096];
        struct end e;
        int fds[2];

        for (size_t i = 0; i < 10; i++)
                make_frame(wire + 28 * i, CAY_FRAME_PING, 0, 0, 0, 8);
        /* A packet socket shows where one write ends. */
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
        end_open(&e, fds[0], CAY_SIDE_FRONT);
        e.echoes_pings = true;
        assert_int_equal(write(fds[1], wire, sizeof(wire)), sizeof(wire));
        run(1);
        assert_int_equal(e.frames, 10);
        assert_int_equal(read(fds[1], back, sizeof(back)), sizeof(wire));

        cay_peer_cork(&e.peer);
        assert_int_equal(cay_peer_send(&e.peer, CAY_FRAME_PONG, 0, 0, 0, wire, 8), 0);
        assert_int_equal(cay_peer_send(&e.peer, CAY_FRAME_PONG, 0, 0, 0, wire, 8), 0);
        cay_peer_uncork(&e.peer);
        assert_int_equal(read(fds[1], back, sizeof(back)), 56);
        cay_peer_close(&e.peer);
        close(fds[1]);
}

static void tcp_and_terminals_will_do(void **state)
{
        struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t len = sizeof(addr);
        uint8_t payload[8] = "12345678";
        struct termios raw;
        struct end a, b;
        int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd, master, slave, unlock = 0;

        assert_int_equal(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
        assert_int_equal(listen(listener, 1), 0);
        assert_int_equal(getsockname(listener, (struct sockaddr *)&addr, &len), 0);
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
        end_open(&a, fd, CAY_SIDE_INIT);
        end_open(&b, accept(listener, NULL, NULL), CAY_SIDE_FRONT);
        close(listener);
        assert_int_equal(cay_peer_send(&a.peer, CAY_FRAME_PING, 0, 0, 0, payload, 8), 0);
        for (int i = 0; i < 6000 && b.frames == 0; i++)
                assert_int_equal(cay_loop_round(loop, 10), 0);
        assert_int_equal(b.frames, 1);
        cay_peer_close(&b.peer);
        for (int i = 0; i < 6000 && a.lost == 0; i++)
                assert_int_equal(cay_loop_round(loop, 10), 0);
        assert_int_equal(a.lost, 1);
        cay_peer_close(&a.peer);

        /* No socket at all: written with plain writes. */
        master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) < 0)
                skip();
        slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (slave < 0)
                skip();
        assert_int_equal(tcgetattr(slave, &raw), 0);
        cfmakeraw(&raw);
        assert_int_equal(tcsetattr(slave, TCSANOW, &raw), 0);
        end_open(&a, master, CAY_SIDE_INIT);
        end_open(&b, slave, CAY_SIDE_FRONT);
        for (int i = 0; i < 50; i++)
                assert_int_equal(cay_peer_send(&a.peer, CAY_FRAME_PING, 0, 0, 0, payload, 8), 0);
        for (int i = 0; i < 6000 && b.frames < 50; i++)
                assert_int_equal(cay_loop_round(loop, 10), 0);
        assert_int_equal(b.frames, 50);
        cay_peer_close(&b.peer);
        cay_peer_close(&a.peer);
}

static void what_cannot_be_watched_is_refused_and_closed(void **state)
{
        struct end e = { 0 };
        int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(cay_peer_open_take(loop, &e.peer, fd, CAY_SIDE_INIT), -EPERM);
        assert_int_equal(fcntl(fd, F_GETFD), -1);
        assert_false(cay_peer_is_open(&e.peer));
        assert_int_equal(cay_peer_send(&e.peer, CAY_FRAME_PING, 0, 0, 0, "12345678", 8), -EPIPE);
        cay_peer_close(&e.peer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(fragments_become_frames),
                TEST(the_largest_frame_and_no_larger_memory),
                TEST(two_ends_over_tiny_buffers),
                TEST(data_is_refused_before_control_frames_are),
                TEST(room_is_told_however_it_came),
                TEST(answers_that_pile_up_stop_the_reading),
                TEST(a_paused_end_notices_the_hang_up),
                TEST(one_noisy_peer_does_not_starve_another),
                TEST(the_end_of_the_stream_is_told_once),
                TEST(what_was_not_read_is_known),
                TEST(a_failed_write_lets_the_rest_be_read),
                TEST(a_half_closed_stream_is_lost),
                TEST(bad_headers_and_bad_frames_end_the_link),
                TEST(callbacks_may_close_or_free),
                TEST(a_peer_can_be_opened_again_in_on_lost),
                TEST(answers_leave_in_one_write),
                TEST(tcp_and_terminals_will_do),
                TEST(what_cannot_be_watched_is_refused_and_closed),
        };

        signal(SIGPIPE, SIG_IGN);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
