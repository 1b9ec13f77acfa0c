/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay recover`: files of sandboxes that the daemon's database has no record of. The verbs are rows; here is
 * which word means which.
 */
#include <string.h>

#include "cay/cli/cli.h"
#include "cay/cli/verb.h"

static const struct {
        const char *word, *verb; /* the verb's row */
} under[] = {
        { "ls", "recover" },
        { "adopt", "recover adopt" },
        { "rm", "recover rm" },
};

int cay_cmd_recover(int argc, char **argv)
{
        for (unsigned i = 0; argc >= 2 && i < CAY_COUNT(under); i++) {
                if (strcmp(argv[1], under[i].word) == 0) {
                        argv[1] = (char *)(uintptr_t)under[i].verb;
                        return cay_verb_main(argc - 1, argv + 1, cay_verb_call);
                }
        }
        return cay_verb_main(argc, argv, cay_verb_call);
}
