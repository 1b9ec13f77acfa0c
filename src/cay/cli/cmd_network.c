/* SPDX-License-Identifier: Apache-2.0 */
/* `cay network presets`, which `cay network` alone means, too: there is nothing else to ask about networks yet. */
#include <string.h>

#include "cay/cli/cli.h"
#include "cay/cli/verb.h"

int cay_cmd_network(int argc, char **argv)
{
        static char row[] = "network presets";

        if (argc >= 2 && strcmp(argv[1], "presets") == 0) {
                argc--;
                argv++;
        }
        argv[0] = row;
        return cay_verb_main(argc, argv, cay_verb_call);
}
