/* SPDX-License-Identifier: Apache-2.0 */
/* cay-net: started with the front's end of its link as descriptor 3 (cay-net/broker.h, docs/network.md). */
#include "cay-net/broker.h"

int main(int argc, char **argv)
{
        return net_main(argc, argv);
}
