/* SPDX-License-Identifier: Apache-2.0 */
/* `cay network ID`, `cay network log ID` and `cay network presets`: what a sandbox may reach, what it did reach, and named lists of rules. */
#include <string.h>

#include "foundation/base/cleanup.h"
#include "cay/cli/cli.h"
#include "cay/cli/verb.h"

int cay_cmd_network(int argc, char **argv)
{
        static char names[][16] = { "network log", "network presets" };

        for (unsigned i = 0; argc >= 2 && i < CAY_COUNT(names); i++) {
                if (strcmp(argv[1], names[i] + strlen("network ")) == 0) {
                        argv[1] = names[i];
                        return cay_verb_main(argc - 1, argv + 1, cay_verb_call);
                }
        }
        return cay_verb_main(argc, argv, cay_verb_call);
}
