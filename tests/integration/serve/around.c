/* SPDX-License-Identifier: Apache-2.0 */
/* around COMMAND…: runs it and compares the machine before and after. Exit: the command's own, or 99 when something was left. */
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack/leftovers.h"

extern char **environ;

int main(int argc, char **argv)
{
        struct cay_leftovers *before;
        int status = 0;
        pid_t pid;

        if (argc < 2)
                return 2;
        if (geteuid() != 0) {
                printf("skipped: needs root\n");
                return 77;
        }
        before = cay_leftovers_take();
        if (posix_spawnp(&pid, argv[1], NULL, NULL, argv + 1, environ) != 0 ||
            waitpid(pid, &status, 0) != pid) {
                fprintf(stderr, "around: start %s\n", argv[1]);
                return 1;
        }
        if (cay_leftovers_compare(before, CAY_LEFTOVERS_WAIT_MS) > 0)
                return 99;
        cay_leftovers_free(before);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
