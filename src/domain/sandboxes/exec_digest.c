/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests of what commands print, for the journal: SHA-256 of the first CAY_EXEC_DIGEST_MAX bytes of each
 * stream, as they come. A command that outlived its front has none: what came before is not hashed again.
 */
#include "domain/auth/digest.h"
#include "domain/sandboxes/service_priv.h"

void cay_exec_digest_add(struct cay_exec *x, unsigned stream, const void *bytes, size_t len)
{
        struct cay_exec_digest *d = &x->digests[stream];
        uint64_t left = d->bytes < CAY_EXEC_DIGEST_MAX ? CAY_EXEC_DIGEST_MAX - d->bytes : 0;

        if (d->bytes == 0 && !d->is_lost) {
                d->sum = x->spool.got[stream] == 0 ? cay_digest_new() : NULL;
                d->is_lost = d->sum == NULL;
        }
        if (!d->is_lost && left > 0 && cay_digest_add(d->sum, bytes, len < left ? len : (size_t)left) < 0)
                d->is_lost = true;
        d->bytes += len;
}

void cay_exec_digest_end(struct cay_exec *x, unsigned stream, char ret[CAY_EXEC_DIGEST_TEXT])
{
        struct cay_exec_digest *d = &x->digests[stream];
        uint8_t digest[CAY_DIGEST_SIZE];

        ret[0] = '\0';
        if (d->sum != NULL && !d->is_lost && cay_digest_end(d->sum, digest) == 0)
                cay_digest_text(digest, d->text);
        cay_exec_digest_free(x, stream);
        memcpy(ret, d->text, sizeof(d->text));
}

void cay_exec_digest_free(struct cay_exec *x, unsigned stream)
{
        cay_digest_free(cay_take(x->digests[stream].sum));
}
