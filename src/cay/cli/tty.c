/* SPDX-License-Identifier: Apache-2.0 */
/* Raw mode, and how it is undone: at exit, and in handlers of signals that end the process. */
#include "cay/cli/tty.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios saved;
static int raw_fd = -1;

void cay_tty_restore(void)
{
        if (raw_fd < 0)
                return;
        tcsetattr(raw_fd, TCSADRAIN, &saved);
        raw_fd = -1;
}

static void on_fatal(int signo)
{
        if (raw_fd >= 0)
                tcsetattr(raw_fd, TCSANOW, &saved);
        signal(signo, SIG_DFL);
        raise(signo);
}

bool cay_tty_raw(int fd)
{
        static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
        struct termios raw;

        if (raw_fd >= 0 || tcgetattr(fd, &saved) < 0)
                return false;
        raw = saved;
        cfmakeraw(&raw);
        if (tcsetattr(fd, TCSANOW, &raw) < 0)
                return false;
        raw_fd = fd;
        atexit(cay_tty_restore);
        for (unsigned i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
                signal(fatal[i], on_fatal);
        return true;
}

bool cay_tty_size(int fd, unsigned *ret_rows, unsigned *ret_cols)
{
        struct winsize size;

        if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0)
                return false;
        *ret_rows = size.ws_row;
        *ret_cols = size.ws_col;
        return true;
}
