/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay-init: pid 1 in every sandbox. It reads no environment; its configuration comes over descriptor 3. In a
 * Docker container it is started as "cay-init docker" and reads its configuration from a file; Docker's exec
 * reaches it by "cay-init attach" (cay-init/docker.h).
 */
#include <string.h>
#include <unistd.h>

#include "cay-init/docker.h"

int main(int argc, char **argv)
{
        if (argc > 1 && strcmp(argv[1], "docker") == 0)
                _exit(cay_init_docker_main());
        if (argc > 1 && strcmp(argv[1], "attach") == 0)
                _exit(cay_docker_attach_main());
        _exit(cay_init_main());
}
