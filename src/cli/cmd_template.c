/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay template`: what the daemon can make sandboxes from, which is the verb's row; and `cay template check FILE…` and `cay template
 * schema`, for editors and CI. This program reads no YAML: cay-front does, with the caller's rights, so that is executed.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/programs.h"
#include "cli/verb.h"

#define WORDS_MAX 256

static int hand_on(int argc, char **argv, struct cay_error *err)
{
        char dir[PATH_MAX], path[PATH_MAX + 16];
        char *words[WORDS_MAX + 2] = { (char *)"cay-front" };

        if (argc > WORDS_MAX)
                return cay_fail(err, CAY_INVALID, "too many words");
        if (cay_cli_find_programs(dir, sizeof(dir), err) < 0)
                return -1;
        for (int i = 0; i < argc; i++)
                words[i + 1] = argv[i];
        snprintf(path, sizeof(path), "%s/cay-front", dir);
        execv(path, words);
        return cay_fail_sys(err, CAY_UNAVAILABLE, -errno, "start %.200s", path);
}

int cay_cmd_template(int argc, char **argv)
{
        struct cay_error err = { 0 };

        if (argc < 2 || (strcmp(argv[1], "check") != 0 && strcmp(argv[1], "schema") != 0))
                return cay_verb_run(argc, argv);
        hand_on(argc, argv, &err);
        return cay_cli_complain("template", &err);
}
