/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pseudo-terminals. The slave is opened through the master (TIOCGPTPEER): no path of the box is resolved for
 * it.
 */
#include "cay-init/pty.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "foundation/sys/fd.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif
#ifndef IUTF8
#define IUTF8 0040000
#endif

int cay_pty_resize(int master, unsigned rows, unsigned cols)
{
        struct winsize size = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols };

        return ioctl(master, TIOCSWINSZ, &size) < 0 ? -errno : 0;
}

int cay_pty_open(bool in_box, unsigned rows, unsigned cols, int *ret_master, int *ret_slave)
{
        cay_auto_close int master = -1;
        cay_auto_close int slave = -1;
        struct termios mode;
        int unlock = 0;

        master = sys_open_at(AT_FDCWD, in_box ? "/dev/pts/ptmx" : "/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK,
                             0);
        if (master < 0)
                return master;
        if (ioctl(master, TIOCSPTLCK, &unlock) < 0)
                return -errno;
        slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (slave < 0)
                return -errno;
        if (tcgetattr(slave, &mode) == 0) {
                mode.c_iflag |= IUTF8;
                tcsetattr(slave, TCSANOW, &mode);
        }
        if (rows > 0 && cols > 0)
                cay_pty_resize(master, rows, cols);
        *ret_master = cay_take_fd(master);
        *ret_slave = cay_take_fd(slave);
        return 0;
}

int cay_pty_eof_char(int master)
{
        struct termios mode;

        if (tcgetattr(master, &mode) < 0 || !(mode.c_lflag & ICANON) || mode.c_cc[VEOF] == 0)
                return -1;
        return mode.c_cc[VEOF];
}
