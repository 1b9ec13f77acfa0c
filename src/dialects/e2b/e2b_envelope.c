/* SPDX-License-Identifier: Apache-2.0 */
/* Envelopes of Connect streams. */
#include "dialects/e2b/e2b_envelope.h"

#include <errno.h>

int e2b_envelope_read(const char *bytes, size_t len, const char **ret, size_t *ret_len)
{
        const uint8_t *head = (const uint8_t *)bytes;
        size_t said;

        if (len < E2B_ENVELOPE_HEAD || head[0] != 0)
                return -1;
        said = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
        if (said != len - E2B_ENVELOPE_HEAD)
                return -1;
        *ret = bytes + E2B_ENVELOPE_HEAD;
        *ret_len = said;
        return 0;
}

int e2b_envelope_put(struct cay_buf *out, unsigned flags, const char *payload, size_t len)
{
        char head[E2B_ENVELOPE_HEAD] = { (char)flags, (char)(len >> 24), (char)(len >> 16), (char)(len >> 8),
                                         (char)len };
        size_t before = out->len;
        int r;

        if (len > UINT32_MAX)
                return -ENOSPC;
        r = cay_buf_put(out, head, sizeof(head));
        if (r == 0)
                r = cay_buf_put(out, payload, len);
        if (r < 0)
                cay_buf_cut(out, before);
        return r;
}
