/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of sockets from a sandbox, whatever is in it: what is found does not depend on how it was cut, and
 * is counted right.
 */
#include <stdint.h>
#include <string.h>

#include "domain/ops/port_table.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct cay_port_table whole, parts;
        unsigned count = 0;

        memset(&whole, 0, sizeof(whole));
        memset(&parts, 0, sizeof(parts));
        cay_port_table_read(&whole, data, size);
        cay_port_table_end(&whole);
        for (size_t i = 0; i < size; i++)
                cay_port_table_read(&parts, data + i, 1);
        cay_port_table_end(&parts);
        must(memcmp(whole.listened, parts.listened, sizeof(whole.listened)) == 0);
        for (unsigned port = 0; (port = cay_port_table_next(&whole, port)) > 0;)
                count++;
        must(count == whole.count && count == parts.count);
        return 0;
}
