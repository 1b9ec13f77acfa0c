/* SPDX-License-Identifier: Apache-2.0 */
/* The CLI's entry. */
#include <fcntl.h>
#include <unistd.h>

#include "cay/cli/cli.h"

/* A caller may have closed a standard descriptor; the next one opened would then be taken for it. */
static void fill_standard_descriptors(void)
{
        int fd;

        do {
                fd = open("/dev/null", O_RDWR);
        } while (fd >= 0 && fd <= STDERR_FILENO);
        if (fd >= 0)
                close(fd);
}

int main(int argc, char **argv)
{
        if (fcntl(STDIN_FILENO, F_GETFD) < 0 || fcntl(STDOUT_FILENO, F_GETFD) < 0 ||
            fcntl(STDERR_FILENO, F_GETFD) < 0)
                fill_standard_descriptors();
        return cay_cli_main(argc, argv);
}
