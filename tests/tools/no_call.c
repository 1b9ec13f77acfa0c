/* SPDX-License-Identifier: Apache-2.0 */
/*
 * no_call CALL[,CALL…] -- COMMAND…
 *
 * Runs COMMAND, and whatever it starts, on a kernel that lacks the named system calls (old_kernel.h).
 * `no_call --list` prints the names. The status is COMMAND's; 125: not blocked, 127: not started.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/old_kernel.h"

int main(int argc, char **argv)
{
        int r;

        if (argc == 2 && strcmp(argv[1], "--list") == 0) {
                for (size_t row = 0; old_kernel_name(row); row++)
                        printf("%s\n", old_kernel_name(row));
                return 0;
        }
        if (argc < 4 || strcmp(argv[2], "--") != 0) {
                fprintf(stderr, "usage: no_call CALL[,CALL…] -- COMMAND…\n       no_call --list\n");
                return 125;
        }
        r = old_kernel_block(argv[1]);
        if (r < 0) {
                fprintf(stderr, "no_call: block %s: %s\n", argv[1],
                        r == -ENOENT ? "unknown name" : strerror(-r));
                return 125;
        }
        if (!old_kernel_lacks(argv[1])) {
                fprintf(stderr, "no_call: %s: still answered\n", argv[1]);
                return 125;
        }
        execvp(argv[3], argv + 3);
        fprintf(stderr, "no_call: %s: %s\n", argv[3], strerror(errno));
        return 127;
}
