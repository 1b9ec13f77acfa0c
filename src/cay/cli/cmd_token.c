/* SPDX-License-Identifier: Apache-2.0 */
/* `cay token`: executes cay-front, because this program has no cryptography. */
#include "cay/cli/cli.h"
#include "cay/cli/programs.h"

int cay_cmd_token(int argc, char **argv)
{
        struct cay_error err = { 0 };

        cay_cli_become_front(argc, argv, &err);
        return cay_cli_complain("token", &err);
}
