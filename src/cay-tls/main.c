/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay-tls HOST [CA-FILE]: started by cay for https addresses, with the clear side on descriptor 0 and the
 * connected socket on 3. What goes wrong it says on standard error; the clear side then just ends.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cay-tls/pipe.h"

#define WIRE 3

int main(int argc, char **argv)
{
        struct cay_error err = { 0 };
        struct cay_tls_pipe p = { .clear = STDIN_FILENO, .wire = WIRE };

        if (argc < 2 || argc > 3) {
                fprintf(stderr, "cay-tls: started by cay, not by hand\n");
                return 2;
        }
        signal(SIGPIPE, SIG_IGN);
        p.host = argv[1];
        p.ca = argc > 2 ? argv[2] : NULL;
        if (cay_tls_pipe_run(&p, &err) == 0)
                return 0;
        fprintf(stderr, "cay: %s\n", err.msg);
        return 1;
}
