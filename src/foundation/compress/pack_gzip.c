/* SPDX-License-Identifier: Apache-2.0 */
/* gzip, by zlib. Its window is 32 KiB by nature. */
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "foundation/compress/pack_priv.h"

/* The fastest: archives of sources shrink to nearly as little, and the loop has other guests. */
#define LEVEL 1
#define GZIP_WINDOW (16 + MAX_WBITS)
#define MEM_LEVEL 8

struct state {
        z_stream z;
        bool is_fresh; /* the next byte begins a member */
};

static void *packer_new(void)
{
        struct state *s = calloc(1, sizeof(*s));

        if (s && deflateInit2(&s->z, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
                free(s);
                s = NULL;
        }
        return s;
}

static void packer_free(void *state)
{
        struct state *s = state;

        deflateEnd(&s->z);
        free(s);
}

static unsigned at_most(size_t len)
{
        return len < UINT_MAX ? (unsigned)len : UINT_MAX;
}

static void load(z_stream *z, const struct cay_pack_io *io)
{
        z->next_in = (Bytef *)io->in;
        z->avail_in = at_most(io->in_len);
        z->next_out = io->out;
        z->avail_out = at_most(io->out_room);
}

static void unload(const z_stream *z, struct cay_pack_io *io)
{
        io->in_len -= (size_t)(z->next_in - io->in);
        io->in = z->next_in;
        io->out_room -= (size_t)(z->next_out - io->out);
        io->out = z->next_out;
}

static enum cay_pack_state pack(void *state, struct cay_pack_io *io, bool last)
{
        struct state *s = state;
        int r;

        load(&s->z, io);
        r = deflate(&s->z, last && s->z.avail_in == io->in_len ? Z_FINISH : Z_NO_FLUSH);
        unload(&s->z, io);
        return r == Z_STREAM_END ? CAY_PACK_DONE : CAY_PACK_MORE;
}

static void *unpacker_new(void)
{
        struct state *s = calloc(1, sizeof(*s));

        if (s && inflateInit2(&s->z, GZIP_WINDOW) != Z_OK) {
                free(s);
                s = NULL;
        }
        return s;
}

static void unpacker_free(void *state)
{
        struct state *s = state;

        inflateEnd(&s->z);
        free(s);
}

static int unpack(void *state, struct cay_pack_io *io, const char **ret_why)
{
        struct state *s = state;
        int r;

        if (s->is_fresh && inflateReset(&s->z) != Z_OK) {
                *ret_why = "the reader cannot begin again";
                return -1;
        }
        s->is_fresh = false;
        load(&s->z, io);
        r = inflate(&s->z, Z_NO_FLUSH);
        unload(&s->z, io);
        if (r == Z_STREAM_END) {
                s->is_fresh = true;
                return CAY_PACK_DONE;
        }
        if (r == Z_OK || r == Z_BUF_ERROR) /* the latter: nothing could be done without more of either */
                return CAY_PACK_MORE;
        *ret_why = s->z.msg ? s->z.msg : zError(r);
        return -1;
}

const struct cay_pack_ops cay_pack_gzip = {
        .packer_new = packer_new,
        .packer_free = packer_free,
        .pack = pack,
        .unpacker_new = unpacker_new,
        .unpacker_free = unpacker_free,
        .unpack = unpack,
        .magic = { 0x1f, 0x8b },
        .magic_len = 2,
};
