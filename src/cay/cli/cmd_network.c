/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay network ID` and `cay network log ID`: what a sandbox may reach, and what it did reach. `cay network presets`, which `cay network`
 * alone means, too.
 */
#include <string.h>

#include "cay/cli/cli.h"
#include "cay/cli/verb.h"

int cay_cmd_network(int argc, char **argv)
{
        static char presets[] = "network presets", log[] = "network log";

        if (argc >= 2 && strcmp(argv[1], "log") == 0) {
                argv[1] = log;
                return cay_verb_main(argc - 1, argv + 1, cay_verb_call);
        }
        if (argc >= 2 && strcmp(argv[1], "presets") == 0) {
                argc--;
                argv++;
                argv[0] = presets;
        } else if (argc < 2 || argv[1][0] == '-') {
                argv[0] = presets;
        }
        return cay_verb_main(argc, argv, cay_verb_call);
}
