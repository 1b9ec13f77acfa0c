/* SPDX-License-Identifier: Apache-2.0 */
/* cay-front: "serve" is for the keeper, "token" for `cay token`, "template" for `cay template check`. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cay-front/front.h"
#include "domain/templates/registry.h"

int main(int argc, char **argv)
{
        int status = 2;

        if (argc > 1 && strcmp(argv[1], "serve") == 0)
                status = cay_front_main(argc, argv);
        else if (argc > 1 && strcmp(argv[1], "token") == 0)
                status = cay_front_token_main(argc - 1, argv + 1);
        else if (argc > 1 && strcmp(argv[1], "template") == 0)
                status = cay_registry_check_main(argc - 1, argv + 1);
        else
                fprintf(stderr, "cay-front: is started by `cay serve` and `cay token`\n");
        fflush(NULL);
        _exit(status); /* exit handlers of libraries may need files that are out of reach now */
}
