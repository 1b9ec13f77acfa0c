/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay-warden: started by an engine with its end of the warden link as descriptor 3; as "cay-warden keep" by
 * the daemon's keeper, with the socket that passes fronts as descriptor 4. An older warden uses "check" and
 * "resume FD" (cay-warden/upgrade.h).
 */
#include <stdlib.h>
#include <string.h>

#include "cay-warden/upgrade.h"
#include "cay-warden/warden.h"

int main(int argc, char **argv)
{
        if (argc > 1 && strcmp(argv[1], "check") == 0)
                return warden_upgrade_main_check(HELPER_FRONT_FD);
        if (argc > 2 && strcmp(argv[1], "resume") == 0)
                return warden_main_resume((int)strtol(argv[2], NULL, 10));
        return warden_main(argc > 1 && strcmp(argv[1], "keep") == 0);
}
