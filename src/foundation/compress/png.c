/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PNG: a signature, then chunks of length, type, bytes and checksum. A row is filtered with the difference to
 * its left or to its upper neighbour, whichever is smaller in sum, which suits screens; zlib does the rest.
 * From level 4 on it looks for a better match at every byte of a match that it has, which takes twice the
 * time on screens and saves a tenth of their bytes.
 */
#include "foundation/compress/png.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PIECE (32u * 1024) /* of compressed bytes: one chunk */
#define LEVEL 3

enum { FILTER_SUB = 1, FILTER_UP = 2 };

struct cay_png {
        struct cay_buf *out; /* borrowed */
        z_stream z;
        unsigned height, rows;
        size_t row_bytes;
        uint8_t *above, *sub,
                /*
                 * owned, of one allocation: the row before; both filters' results with their number in front
                 */
                *up;
        uint8_t piece[PIECE];
};

static void put_u32(uint8_t *p, uint32_t v)
{
        p[0] = (uint8_t)(v >> 24);
        p[1] = (uint8_t)(v >> 16);
        p[2] = (uint8_t)(v >> 8);
        p[3] = (uint8_t)v;
}

static int put_chunk(struct cay_buf *out, const char type[4], const uint8_t *bytes, size_t len)
{
        uint8_t head[8], tail[4];
        uLong sum;

        put_u32(head, (uint32_t)len);
        memcpy(head + 4, type, 4);
        sum = crc32(crc32(0, head + 4, 4), bytes, (uInt)len);
        put_u32(tail, (uint32_t)sum);
        return cay_buf_put(out, head, sizeof(head)) < 0 || cay_buf_put(out, bytes, len) < 0 ||
                               cay_buf_put(out, tail, sizeof(tail)) < 0
                       ? -ENOSPC
                       : 0;
}

static int put_start(struct cay_buf *out, unsigned width, unsigned height)
{
        static const uint8_t signature[8] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
        uint8_t head[13] = { 0 };

        put_u32(head, width);
        put_u32(head + 4, height);
        head[8] = 8; /* bits */
        head[9] = 2; /* red, green, blue */
        return cay_buf_put(out, signature, sizeof(signature)) < 0 ||
                               put_chunk(out, "IHDR", head, sizeof(head)) < 0
                       ? -ENOSPC
                       : 0;
}

struct cay_png *cay_png_new(unsigned width, unsigned height, struct cay_buf *out)
{
        struct cay_png *p = calloc(1, sizeof(*p));

        if (!p)
                return NULL;
        p->out = out;
        p->height = height;
        p->row_bytes = (size_t)width * 3;
        p->above = calloc(3, p->row_bytes + 1);
        if (!p->above || deflateInit(&p->z, LEVEL) != Z_OK) {
                free(p->above);
                free(p);
                return NULL;
        }
        p->sub = p->above + p->row_bytes + 1;
        p->up = p->sub + p->row_bytes + 1;
        p->sub[0] = FILTER_SUB;
        p->up[0] = FILTER_UP;
        p->z.next_out = p->piece;
        p->z.avail_out = PIECE;
        if (put_start(out, width, height) < 0) {
                cay_png_free(p);
                return NULL;
        }
        return p;
}

void cay_png_free(struct cay_png *p)
{
        if (!p)
                return;
        deflateEnd(&p->z);
        free(p->above);
        free(p);
}

static int put_piece(struct cay_png *p)
{
        size_t len = PIECE - p->z.avail_out;

        p->z.next_out = p->piece;
        p->z.avail_out = PIECE;
        return len > 0 ? put_chunk(p->out, "IDAT", p->piece, len) : 0;
}

static const uint8_t *filter(struct cay_png *p, const uint8_t *rgb)
{
        uint64_t sub = 0, up = 0;

        if (!rgb) {
                memset(p->up + 1, 0, p->row_bytes);
                return p->up;
        }
        for (size_t i = 0; i < p->row_bytes; i++) {
                uint8_t a = (uint8_t)(rgb[i] - (i >= 3 ? rgb[i - 3] : 0)),
                        b = (uint8_t)(rgb[i] - p->above[i]);

                p->sub[1 + i] = a;
                p->up[1 + i] = b;
                sub += a < 128 ? a : 256u - a;
                up += b < 128 ? b : 256u - b;
        }
        return sub < up ? p->sub : p->up;
}

int cay_png_row(struct cay_png *p, const uint8_t *rgb)
{
        if (p->rows == p->height)
                return -EINVAL;
        p->rows++;
        p->z.next_in = (Bytef *)filter(p, rgb);
        p->z.avail_in = (uInt)(p->row_bytes + 1);
        if (rgb)
                memcpy(p->above, rgb, p->row_bytes);
        while (p->z.avail_in > 0) {
                deflate(&p->z, Z_NO_FLUSH); /* fails only without room, which there is */
                if (p->z.avail_out == 0 && put_piece(p) < 0)
                        return -ENOSPC;
        }
        return 0;
}

int cay_png_end(struct cay_png *p)
{
        int r;

        if (p->rows != p->height)
                return -EINVAL;
        do {
                r = deflate(&p->z, Z_FINISH);
                if (put_piece(p) < 0)
                        return -ENOSPC;
        } while (r != Z_STREAM_END);
        return put_chunk(p->out, "IEND", (const uint8_t *)"", 0);
}
