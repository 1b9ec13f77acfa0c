/* SPDX-License-Identifier: Apache-2.0 */
/* Notices of a watch, from an init that may be anybody's: what is decoded must encode to the same bytes. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "links/box/notice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        uint8_t again[CAY_BOX_NOTICE_MAX];
        struct cay_box_notice m;
        int n;

        while ((n = cay_box_notice_decode(data, size, &m)) > 0) {
                if ((size_t)n > size || cay_box_notice_encode(&m, again, sizeof(again)) != n ||
                    memcmp(again, data, (size_t)n) != 0)
                        abort();
                data += n;
                size -= (size_t)n;
        }
        if (n < 0 && n != -EPROTO)
                abort();
        return 0;
}
