/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay-process: started by the daemon's keeper where the process engine is switched on, with the folder that
 * cay-init is in (cay-process/broker.h).
 */
#include "cay-process/broker.h"

int main(int argc, char **argv)
{
        return process_main(argc, argv);
}
