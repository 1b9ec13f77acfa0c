/* SPDX-License-Identifier: Apache-2.0 */
/* Terminals: a pair that works, its size, its end-of-input character. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cay-init/pty.h"

/* A terminal passes on what it was given in as many pieces as it likes. */
static void read_all(int fd, char *to, size_t len)
{
        struct pollfd p = { .fd = fd, .events = POLLIN };

        for (size_t at = 0; at < len;) {
                ssize_t n;

                assert_int_equal(poll(&p, 1, 60000), 1);
                n = read(fd, to + at, len - at);
                assert_true(n > 0);
                at += (size_t)n;
        }
}

static void a_pair_speaks_both_ways(void **state)
{
        struct winsize size;
        char bytes[64];
        int master, slave;
        ssize_t n;

        assert_int_equal(cay_pty_open(false, 30, 100, &master, &slave), 0);
        assert_true(isatty(slave));
        assert_int_equal(fcntl(master, F_GETFD), FD_CLOEXEC);
        assert_int_equal(fcntl(slave, F_GETFD), FD_CLOEXEC);
        assert_int_equal(ioctl(slave, TIOCGWINSZ, &size), 0);
        assert_int_equal(size.ws_row, 30);
        assert_int_equal(size.ws_col, 100);
        assert_int_equal(cay_pty_resize(master, 5, 6), 0);
        assert_int_equal(ioctl(slave, TIOCGWINSZ, &size), 0);
        assert_int_equal(size.ws_row, 5);
        assert_int_equal(size.ws_col, 6);
        assert_int_equal(read(master, bytes, sizeof(bytes)), -1); /* never blocks */
        assert_int_equal(errno, EAGAIN);
        assert_int_equal(write(slave, "a\n", 2), 2);
        read_all(master, bytes, 3);
        assert_memory_equal(bytes, "a\r\n", 3);
        assert_int_equal(write(master, "in\n", 3), 3);
        assert_int_equal(read(slave, bytes, sizeof(bytes)), 3);
        close(slave);
        do /* the echo */
                n = read(master, bytes, sizeof(bytes));
        while (n > 0);
        assert_int_equal(n, -1);
        assert_int_equal(errno, EIO);
        close(master);
}

static void end_of_input_follows_the_mode(void **state)
{
        struct termios mode;
        int master, slave;

        assert_int_equal(cay_pty_open(false, 0, 0, &master, &slave), 0);
        assert_int_equal(cay_pty_eof_char(master), 4);
        assert_int_equal(tcgetattr(slave, &mode), 0);
        mode.c_cc[VEOF] = 'q';
        assert_int_equal(tcsetattr(slave, TCSANOW, &mode), 0);
        assert_int_equal(cay_pty_eof_char(master), 'q');
        mode.c_lflag &= ~(tcflag_t)ICANON;
        assert_int_equal(tcsetattr(slave, TCSANOW, &mode), 0);
        assert_int_equal(cay_pty_eof_char(master), -1);
        close(slave);
        close(master);
        assert_int_equal(cay_pty_eof_char(-1), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_pair_speaks_both_ways),
                cmocka_unit_test(end_of_input_follows_the_mode),
        };

        return cmocka_run_group_tests_name("init/pty", tests, NULL, NULL);
}
