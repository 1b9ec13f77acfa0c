/* SPDX-License-Identifier: Apache-2.0 */
/* `cay token`: what needs cryptography is cay-front's, so that is executed; this program has none. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/programs.h"

#define WORDS_MAX 64

int cay_cmd_token(int argc, char **argv)
{
        char dir[PATH_MAX], path[PATH_MAX + 16];
        char *words[WORDS_MAX + 3] = { (char *)"cay-front", (char *)"token" };
        struct cay_error err = { 0 };

        if (argc - 1 > WORDS_MAX)
                cay_fail(&err, CAY_INVALID, "too many words");
        else
                cay_cli_find_programs(dir, sizeof(dir), &err);
        if (err.code != CAY_OK)
                return cay_cli_complain("token", &err);
        for (int i = 1; i < argc; i++)
                words[i + 1] = argv[i];
        snprintf(path, sizeof(path), "%s/cay-front", dir);
        execv(path, words);
        cay_fail_sys(&err, CAY_UNAVAILABLE, -errno, "start %.200s", path);
        return cay_cli_complain("token", &err);
}
