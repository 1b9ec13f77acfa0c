/* SPDX-License-Identifier: Apache-2.0 */
/* Raw mode comes and goes; also when the process ends by a signal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pty.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "cay/cli/tty.h"

static bool is_raw(int fd)
{
        struct termios t;

        assert_int_equal(tcgetattr(fd, &t), 0);
        return !(t.c_lflag & (ICANON | ECHO | ISIG));
}

static void raw_and_back(void **state)
{
        int master, slave;

        assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
        assert_false(is_raw(slave));
        assert_true(cay_tty_raw(slave));
        assert_true(is_raw(slave));
        assert_false(cay_tty_raw(slave)); /* one at a time */
        cay_tty_restore();
        assert_false(is_raw(slave));
        cay_tty_restore();
        close(master);
        close(slave);
}

static void what_is_no_terminal(void **state)
{
        unsigned rows = 1, cols = 2;
        int fds[2];

        assert_int_equal(pipe(fds), 0);
        assert_false(cay_tty_raw(fds[0]));
        assert_false(cay_tty_size(fds[0], &rows, &cols));
        assert_int_equal(rows, 1);
        close(fds[0]);
        close(fds[1]);
}

static void sizes(void **state)
{
        struct winsize size = { .ws_row = 40, .ws_col = 123 };
        unsigned rows, cols;
        int master, slave;

        assert_int_equal(openpty(&master, &slave, NULL, NULL, &size), 0);
        assert_true(cay_tty_size(slave, &rows, &cols));
        assert_int_equal(rows, 40);
        assert_int_equal(cols, 123);
        close(master);
        close(slave);
}

/* signo 0: exits. The terminal is as before either way. */
static void comes_back_after(int signo)
{
        int master, slave, status;
        pid_t pid;

        assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
        pid = fork();
        if (pid == 0) {
                const struct rlimit no_core = { 0 };

                setrlimit(RLIMIT_CORE, &no_core);
                if (!cay_tty_raw(slave) || !is_raw(slave))
                        _exit(99);
                if (signo != 0)
                        raise(signo);
                exit(7);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (signo != 0)
                assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signo);
        else
                assert_int_equal(WEXITSTATUS(status), 7);
        assert_false(is_raw(slave));
        close(master);
        close(slave);
}

static void comes_back_on_every_way_out(void **state)
{
        comes_back_after(0);
        comes_back_after(SIGSEGV);
        comes_back_after(SIGABRT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(raw_and_back),
                cmocka_unit_test(what_is_no_terminal),
                cmocka_unit_test(sizes),
                cmocka_unit_test(comes_back_on_every_way_out),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
