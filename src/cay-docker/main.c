/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay-docker: started by an engine or the daemon's keeper with the front's end of its link as descriptor 3
 * (docs/docker.md).
 */
#include <unistd.h>

#include "cay-docker/broker.h"

int main(int argc, char **argv)
{
        _exit(docker_main(argc, argv));
}
