/* SPDX-License-Identifier: Apache-2.0 */
/* Writing to shared descriptors: never blocking, never changing their flags, failing once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <termios.h>

#include "foundation/base/clock.h"
#include "cay/cli/sink.h"

static char block[1 << 20];
static unsigned room, failed;

static void on_room(struct cay_sink *s)
{
        room++;
}

static void on_failed(struct cay_sink *s)
{
        failed++;
}

static void open_sink(struct cay_loop *loop, struct cay_sink *s, int fd)
{
        room = failed = 0;
        cay_sink_open(loop, s, fd);
        s->on_room = on_room;
        s->on_failed = on_failed;
}

/* Fills it up, empties the other end, fills on: all bytes come, no call waits. */
static void fill_and_drain(int in, int out)
{
        struct cay_loop *loop = cay_loop_new();
        int flags = fcntl(in, F_GETFL);
        struct cay_sink s;
        size_t put, got = 0, total = 0;

        open_sink(loop, &s, in);
        fcntl(out, F_SETFL, fcntl(out, F_GETFL) | O_NONBLOCK);
        /*
         * A terminal's buffer moves on by itself, a little later: it is full when it takes nothing several
         * times.
         */
        for (unsigned nothing = 0; nothing < 20 && total < sizeof(block); usleep(1000)) {
                put = cay_sink_write(&s, block, sizeof(block) - total);
                total += put;
                nothing = put == 0 ? nothing + 1 : 0;
        }
        assert_true(total > 0 && total < sizeof(block));
        for (unsigned i = 0; i < 100000 && total < sizeof(block); i++) {
                char buf[8192];
                ssize_t n = read(out, buf, sizeof(buf));

                if (n > 0)
                        got += (size_t)n;
                room = 0;
                cay_loop_round(loop, 1);
                if (room > 0)
                        total += cay_sink_write(&s, block, sizeof(block) - total);
        }
        assert_int_equal(total, sizeof(block));
        for (unsigned i = 0; i < 20000 && got < sizeof(block); i++) {
                char buf[8192];
                ssize_t n;

                cay_loop_round(loop, 1);
                n = read(out, buf, sizeof(buf));
                got += n > 0 ? (size_t)n : 0;
        }
        assert_int_equal(got, sizeof(block));
        assert_int_equal(fcntl(in, F_GETFL), flags); /* not ours to change */
        cay_sink_close(&s);
        cay_loop_free(loop);
}

static void a_pipe(void **state)
{
        int fds[2];

        assert_int_equal(pipe(fds), 0);
        fill_and_drain(fds[1], fds[0]);
        close(fds[0]);
        close(fds[1]);
}

static void a_socket(void **state)
{
        int fds[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        fill_and_drain(fds[1], fds[0]);
        close(fds[0]);
        close(fds[1]);
}

static void a_terminal(void **state)
{
        int master, slave;
        struct termios raw;

        assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
        tcgetattr(slave, &raw);
        cfmakeraw(&raw);
        tcsetattr(slave, TCSANOW, &raw);
        fill_and_drain(slave, master);
        close(master);
        close(slave);
}

/* A terminal that takes little at a time gets everything once, and obeys nothing of it. */
static void a_terminal_that_must_not_obey(void **state)
{
        static const char unit[] = "\033[2J\302\233x\n";
        static const char shown[] = "\\x1b[2J\\x9bx\n";
        struct cay_loop *loop = cay_loop_new();
        size_t len = 20000 * (sizeof(unit) - 1), at = 0, got = 0;
        char *bytes = malloc(len), buf[4096];
        struct termios raw;
        struct cay_sink s;
        int master, slave;

        assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
        tcgetattr(slave, &raw);
        cfmakeraw(&raw);
        tcsetattr(slave, TCSANOW, &raw);
        fcntl(master, F_SETFL, fcntl(master, F_GETFL) | O_NONBLOCK);
        for (size_t i = 0; i < len; i++)
                bytes[i] = unit[i % (sizeof(unit) - 1)];
        open_sink(loop, &s, slave);
        cay_sink_show(&s);
        for (unsigned i = 0; i < 1000000 && (at < len || got < 20000 * (sizeof(shown) - 1)); i++) {
                ssize_t n = read(master, buf, sizeof(buf));

                for (ssize_t k = 0; k < n; k++, got++)
                        assert_int_equal(buf[k], shown[got % (sizeof(shown) - 1)]);
                if (at < len)
                        at += cay_sink_write(&s, bytes + at, len - at < 3001 ? len - at : 3001);
        }
        assert_int_equal(at, len);
        assert_int_equal(got, 20000 * (sizeof(shown) - 1));
        cay_sink_close(&s);
        cay_loop_free(loop);
        close(master);
        close(slave);
        free(bytes);
}

static void a_file(void **state)
{
        struct cay_loop *loop = cay_loop_new();
        int fd = memfd_create("sink", MFD_CLOEXEC);
        struct cay_sink s;

        open_sink(loop, &s, fd);
        assert_int_equal(cay_sink_write(&s, block, sizeof(block)), sizeof(block));
        assert_int_equal(lseek(fd, 0, SEEK_CUR), sizeof(block));
        cay_sink_close(&s);
        cay_loop_free(loop);
        close(fd);
}

static void a_reader_that_left(void **state)
{
        struct cay_loop *loop = cay_loop_new();
        struct cay_sink s;
        int fds[2];

        signal(SIGPIPE, SIG_IGN);
        assert_int_equal(pipe(fds), 0);
        open_sink(loop, &s, fds[1]);
        close(fds[0]);
        assert_int_equal(cay_sink_write(&s, "x", 1), 1); /* taken, and lost */
        assert_int_equal(s.failed, -EPIPE);
        assert_int_equal(failed, 1);
        assert_int_equal(cay_sink_write(&s, "x", 1), 1);
        assert_int_equal(failed, 1);
        cay_sink_close(&s);
        cay_loop_free(loop);
        close(fds[1]);
}

static void a_full_disk(void **state)
{
        struct cay_loop *loop = cay_loop_new();
        int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
        struct cay_sink s;

        assert_true(fd >= 0);
        open_sink(loop, &s, fd);
        assert_int_equal(cay_sink_write(&s, "x", 1), 1);
        assert_int_equal(s.failed, -ENOSPC);
        assert_int_equal(failed, 1);
        cay_sink_close(&s);
        cay_loop_free(loop);
        close(fd);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_pipe),      cmocka_unit_test(a_socket),
                cmocka_unit_test(a_terminal),  cmocka_unit_test(a_terminal_that_must_not_obey),
                cmocka_unit_test(a_file),      cmocka_unit_test(a_reader_that_left),
                cmocka_unit_test(a_full_disk),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
