/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/auth/journal_chain.h"

#include <errno.h>
#include <string.h>

#include "foundation/base/buf.h"

#define EVENT_MAX (2u * 1024 * 1024) /* several texts of a record at their maximum */

static int put_u64(struct cay_buf *b, uint64_t n)
{
        uint8_t bytes[8];

        for (unsigned i = 0; i < sizeof(bytes); i++)
                bytes[i] = (uint8_t)(n >> (56 - 8 * i));
        return cay_buf_put(b, bytes, sizeof(bytes));
}

static int put_text(struct cay_buf *b, const char *text)
{
        size_t len = text ? strlen(text) : 0;
        int r = put_u64(b, len);

        return r < 0 || len == 0 ? r : cay_buf_put(b, text, len);
}

int cay_chain_hash(const uint8_t before[CAY_DIGEST_SIZE], const struct cay_chain_event *e,
                   uint8_t ret[CAY_DIGEST_SIZE])
{
        const char *const texts[] = { e->sandbox, e->owner, e->kind, e->detail };
        cay_auto_buf struct cay_buf b = { 0 };
        int r;

        cay_buf_init(&b, EVENT_MAX);
        r = cay_buf_put(&b, before, CAY_DIGEST_SIZE);
        for (unsigned i = 0; r == 0 && i < CAY_COUNT(texts); i++)
                r = put_text(&b, texts[i]);
        if (r == 0)
                r = put_u64(&b, e->wall_ms);
        return r < 0 ? -ENOMEM : cay_digest_sha256(cay_buf_data(&b), b.len, ret);
}
