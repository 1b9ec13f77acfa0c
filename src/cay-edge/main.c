/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-edge/edge.h"

int main(int argc, char **argv)
{
        return edge_main(argc, argv);
}
