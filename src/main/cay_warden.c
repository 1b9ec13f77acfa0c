/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay-warden: started by an engine with its end of the warden link as descriptor 3; as "cay-warden keep" by the daemon's
 * keeper, with the socket that fronts come from as descriptor 4.
 */
#include <string.h>

#include "warden/warden.h"

int main(int argc, char **argv)
{
        return warden_main(argc > 1 && strcmp(argv[1], "keep") == 0);
}
