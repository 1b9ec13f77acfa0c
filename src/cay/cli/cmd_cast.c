/* SPDX-License-Identifier: Apache-2.0 */
/* `cay cast`: a recorded terminal as asciicast v2, as it comes. */
#include <unistd.h>

#include "cay/cli/cli.h"
#include "cay/cli/safe.h"
#include "cay/cli/verb.h"
#include "foundation/sys/fd.h"

static int print_cast(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err)
{
        cay_auto_conn struct cay_client_conn c;
        bool is_shown = isatty(STDOUT_FILENO);
        struct cay_safe_tail tail = { 0 };
        const char *bytes;
        ssize_t n;
        int r = 0;

        cay_client_conn_init(&c);
        if (cay_reach_send(reach, &c, &a->values, -1, err) < 0 || cay_reach_await(reach, &c, -1, err) < 0)
                return -1;
        while (r == 0 && (n = cay_client_conn_read(&c, &bytes, -1, err)) > 0)
                r = is_shown ? cay_safe_write(STDOUT_FILENO, &tail, bytes, (size_t)n)
                             : sys_write_all(STDOUT_FILENO, bytes, (size_t)n);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "write to standard output");
        return n < 0 ? -1 : 0;
}

int cay_cmd_cast(int argc, char **argv)
{
        return cay_verb_main(argc, argv, print_cast);
}
