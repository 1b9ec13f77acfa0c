/* SPDX-License-Identifier: Apache-2.0 */
/* A zip archive as a stream: local heads, bytes, descriptors behind them, and the directory at the end. */
#include "foundation/compress/zip.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#define TABLE_MAX (1u << 20)
/* Bytes of each record without names. */
#define HEAD 30u
#define BEHIND 16u
#define ROW 46u
#define END 22u
#define VERSION 20u                /* that can read it */
#define FLAGS (1u << 3 | 1u << 11) /* the sum follows the bytes; names are UTF-8 */

/* What did not fit is seen by the length. */
static void put16(struct cay_buf *out, unsigned v)
{
        const uint8_t b[2] = { (uint8_t)v, (uint8_t)(v >> 8) };

        cay_buf_put(out, b, sizeof(b));
}

static void put32(struct cay_buf *out, uint32_t v)
{
        put16(out, v & 0xffff);
        put16(out, v >> 16);
}

/* The format's own time, from 1980 on, in steps of two seconds. */
static uint32_t dos_time(uint64_t wall_s)
{
        time_t t = (time_t)wall_s;
        struct tm tm;

        if (!gmtime_r(&t, &tm) || tm.tm_year < 80 || tm.tm_year > 207)
                return 1u << 16 | 1u << 21;
        return (uint32_t)(tm.tm_year - 80) << 25 | (uint32_t)(tm.tm_mon + 1) << 21 |
               (uint32_t)tm.tm_mday << 16 | (uint32_t)tm.tm_hour << 11 | (uint32_t)tm.tm_min << 5 |
               (uint32_t)tm.tm_sec / 2;
}

/* What the local head and the row of the directory have in common. */
static void put_facts(struct cay_buf *out, const struct cay_zip *z, bool is_row)
{
        put16(out, VERSION);
        put16(out, FLAGS);
        put16(out, 0); /* stored */
        put32(out, z->dos_time);
        put32(out, is_row ? z->crc : 0);
        put32(out, is_row ? (uint32_t)z->size : 0);
        put32(out, is_row ? (uint32_t)z->size : 0);
        put16(out, (unsigned)strlen(z->name));
        put16(out, 0);
}

/* `len` bytes were to be appended behind `before`. */
static int settle(struct cay_zip *z, const struct cay_buf *out, size_t before, size_t len)
{
        z->at += len;
        return out->len - before < len ? -ENOSPC : z->at > CAY_ZIP_BYTES_MAX ? -E2BIG : 0;
}

int cay_zip_begin(struct cay_zip *z, const char *name, uint64_t wall_s, struct cay_buf *out)
{
        size_t before = out->len, len = strlen(name);

        if (z->is_open || len == 0 || len > CAY_ZIP_NAME_MAX)
                return -EINVAL;
        if (z->count == CAY_ZIP_FILES_MAX)
                return -E2BIG;
        if (z->count == 0)
                cay_buf_init(&z->table, TABLE_MAX);
        memcpy(z->name, name, len + 1);
        z->is_open = true;
        z->head_at = z->at;
        z->size = 0;
        z->crc = (uint32_t)crc32(0, NULL, 0);
        z->dos_time = dos_time(wall_s);
        put32(out, 0x04034b50);
        put_facts(out, z, false);
        cay_buf_put(out, name, len);
        return settle(z, out, before, HEAD + len);
}

int cay_zip_bytes(struct cay_zip *z, const void *bytes, size_t len)
{
        if (!z->is_open)
                return -EINVAL;
        z->crc = (uint32_t)crc32_z(z->crc, bytes, len);
        z->size += len;
        z->at += len;
        return z->at > CAY_ZIP_BYTES_MAX ? -E2BIG : 0;
}

int cay_zip_end(struct cay_zip *z, struct cay_buf *out)
{
        size_t before = out->len, row_at = z->table.len, len = strlen(z->name);

        if (!z->is_open)
                return -EINVAL;
        z->is_open = false;
        z->count++;
        put32(out, 0x08074b50);
        put32(out, z->crc);
        put32(out, (uint32_t)z->size);
        put32(out, (uint32_t)z->size);
        put32(&z->table, 0x02014b50);
        put16(&z->table, VERSION | 3u << 8); /* made by a Unix: the mode below counts */
        put_facts(&z->table, z, true);
        put16(&z->table, 0);
        put16(&z->table, 0);
        put16(&z->table, 0);
        put32(&z->table, 0100644u << 16);
        put32(&z->table, (uint32_t)z->head_at);
        cay_buf_put(&z->table, z->name, len);
        return z->table.len - row_at < ROW + len ? -ENOMEM : settle(z, out, before, BEHIND);
}

int cay_zip_finish(struct cay_zip *z, struct cay_buf *out)
{
        size_t before = out->len;
        uint64_t table_at = z->at;

        if (z->is_open)
                return -EINVAL;
        if (z->table.len > 0)
                cay_buf_put(out, cay_buf_data(&z->table), z->table.len);
        put32(out, 0x06054b50);
        put16(out, 0);
        put16(out, 0);
        put16(out, z->count);
        put16(out, z->count);
        put32(out, (uint32_t)z->table.len);
        put32(out, (uint32_t)table_at);
        put16(out, 0);
        return settle(z, out, before, z->table.len + END);
}

void cay_zip_done(struct cay_zip *z)
{
        cay_buf_done(&z->table);
        *z = (struct cay_zip){ 0 };
}
