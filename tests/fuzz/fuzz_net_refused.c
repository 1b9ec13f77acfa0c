/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the kernel's message about a refused packet, whose headers a sandbox wrote: nothing beyond
 * them is read.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/sys/net_refused.h"
#include "fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        uint8_t *exact = malloc(size > 0 ? size : 1); /* one byte too far is seen */
        struct sys_refused r;

        must(exact);
        memcpy(exact, data, size);
        if (sys_refused_parse(exact, size, &r))
                must(size >=
                     16 + 4 + 4 +
                             34); /* headers of netlink and netfilter, an attribute, the shortest packet */
        free(exact);
        return 0;
}
