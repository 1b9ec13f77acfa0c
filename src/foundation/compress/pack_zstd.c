/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zstd, by libzstd. A frame says how much its reader has to remember: more than CAY_PACK_WINDOW_MAX is
 * refused.
 */
#include <zstd.h>

#include "foundation/compress/pack_priv.h"

#define LEVEL 1
#define WINDOW_LOG_MAX 23

_Static_assert(1u << WINDOW_LOG_MAX == CAY_PACK_WINDOW_MAX, "both say the same");

static void *packer_new(void)
{
        ZSTD_CCtx *c = ZSTD_createCCtx();

        if (c && (ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, LEVEL)) ||
                  ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1)))) {
                ZSTD_freeCCtx(c);
                c = NULL;
        }
        return c;
}

static void packer_free(void *state)
{
        ZSTD_freeCCtx(state);
}

static void unload(const ZSTD_inBuffer *in, const ZSTD_outBuffer *out, struct cay_pack_io *io)
{
        io->in += in->pos;
        io->in_len -= in->pos;
        io->out += out->pos;
        io->out_room -= out->pos;
}

static enum cay_pack_state pack(void *state, struct cay_pack_io *io, bool last)
{
        ZSTD_inBuffer in = { io->in, io->in_len, 0 };
        ZSTD_outBuffer out = { io->out, io->out_room, 0 };
        size_t left = ZSTD_compressStream2(state, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);

        unload(&in, &out, io);
        return last && left == 0 ? CAY_PACK_DONE : CAY_PACK_MORE;
}

static void *unpacker_new(void)
{
        ZSTD_DCtx *d = ZSTD_createDCtx();

        if (d && ZSTD_isError(ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, WINDOW_LOG_MAX))) {
                ZSTD_freeDCtx(d);
                d = NULL;
        }
        return d;
}

static void unpacker_free(void *state)
{
        ZSTD_freeDCtx(state);
}

static int unpack(void *state, struct cay_pack_io *io, const char **ret_why)
{
        ZSTD_inBuffer in = { io->in, io->in_len, 0 };
        ZSTD_outBuffer out = { io->out, io->out_room, 0 };
        size_t left = ZSTD_decompressStream(state, &out, &in);

        unload(&in, &out, io);
        if (ZSTD_isError(left)) {
                *ret_why = ZSTD_getErrorName(left);
                return -1;
        }
        return left == 0 ? CAY_PACK_DONE : CAY_PACK_MORE;
}

const struct cay_pack_ops cay_pack_zstd = {
        .packer_new = packer_new,
        .packer_free = packer_free,
        .pack = pack,
        .unpacker_new = unpacker_new,
        .unpacker_free = unpacker_free,
        .unpack = unpack,
        .magic = { 0x28, 0xb5, 0x2f, 0xfd },
        .magic_len = 4,
};
