/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the OpenAPI document of a daemon, without one: tools/update_openapi writes sdk/openapi.json from it.
 */
#include <stdio.h>

#include "dialects/containers/containers.h"
#include "dialects/rest/rest_openapi.h"
#include "dialects/rest/rest_reference.h"
#include "dialects/sandbox_service/service_api.h"

#define OPS_MAX 512u

int main(void)
{
        static const struct cay_op *ops[OPS_MAX];
        const struct cay_rest_dialect dialects[] = { { cay_containers_rows, cay_containers_count },
                                                     { cay_service_rows, cay_service_count } };
        struct cay_rest_listing listing = { ops, 0 };
        cay_auto_buf struct cay_buf text = { 0 };

        for (unsigned i = 0; i < cay_op_count && listing.count < OPS_MAX; i++)
                ops[listing.count++] = cay_ops[i];
        for (unsigned i = 0; i < CAY_COUNT(dialects); i++)
                for (unsigned k = 0; k < dialects[i].count && listing.count < OPS_MAX; k++)
                        if (dialects[i].rows[k].listed)
                                ops[listing.count++] = dialects[i].rows[k].listed;
        cay_buf_init(&text, CAY_REFERENCE_MAX);
        if (cay_openapi_put(&listing, &text) < 0 ||
            fwrite(cay_buf_data(&text), 1, text.len, stdout) != text.len || fflush(stdout) != 0)
                return 1;
        return 0;
}
