/* SPDX-License-Identifier: Apache-2.0 */
/* Little-endian values in flat memory. A value is written or read whole or not at all. */

#include "foundation/base/bytes.h"

/* Stands in for NULL with size 0, so that there is no arithmetic on a null pointer. */
static uint8_t nothing[1];

static uint8_t *claim(struct cay_bytes_writer *w, size_t len)
{
        uint8_t *at = w->at;

        if (!w->ok || len > (size_t)(w->end - w->at)) {
                w->ok = false;
                return NULL;
        }
        w->at += len;
        return at;
}

static const uint8_t *consume(struct cay_bytes_reader *r, size_t len)
{
        const uint8_t *at = r->at;

        if (!r->ok || len > (size_t)(r->end - r->at)) {
                r->ok = false;
                return NULL;
        }
        r->at += len;
        return at;
}

static void put_number(struct cay_bytes_writer *w, uint64_t v, size_t len)
{
        uint8_t *at = claim(w, len);

        for (size_t i = 0; at && i < len; i++)
                at[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get_number(struct cay_bytes_reader *r, size_t len)
{
        const uint8_t *at = consume(r, len);
        uint64_t v = 0;

        for (size_t i = 0; at && i < len; i++)
                v |= (uint64_t)at[i] << (8 * i);
        return v;
}

void cay_writer_init(struct cay_bytes_writer *w, void *mem, size_t size)
{
        w->at = mem ? mem : nothing;
        w->end = w->at + (mem ? size : 0);
        w->ok = true;
}

void cay_put_u8(struct cay_bytes_writer *w, uint8_t v)
{
        put_number(w, v, sizeof(v));
}

void cay_put_u16(struct cay_bytes_writer *w, uint16_t v)
{
        put_number(w, v, sizeof(v));
}

void cay_put_u32(struct cay_bytes_writer *w, uint32_t v)
{
        put_number(w, v, sizeof(v));
}

void cay_put_u64(struct cay_bytes_writer *w, uint64_t v)
{
        put_number(w, v, sizeof(v));
}

void cay_put_str(struct cay_bytes_writer *w, const char *s, size_t len)
{
        size_t left = (size_t)(w->end - w->at);

        if (left < sizeof(uint32_t) || len > left - sizeof(uint32_t) || len > UINT32_MAX) {
                w->ok = false;
                return;
        }
        cay_put_u32(w, (uint32_t)len);
        cay_put_raw(w, s, len);
}

void cay_put_raw(struct cay_bytes_writer *w, const void *bytes, size_t len)
{
        uint8_t *at = claim(w, len);

        if (at && len > 0)
                memcpy(at, bytes, len);
}

void cay_reader_init(struct cay_bytes_reader *r, const void *mem, size_t size)
{
        r->at = mem ? mem : nothing;
        r->end = r->at + (mem ? size : 0);
        r->ok = true;
}

uint8_t cay_get_u8(struct cay_bytes_reader *r)
{
        return (uint8_t)get_number(r, sizeof(uint8_t));
}

uint16_t cay_get_u16(struct cay_bytes_reader *r)
{
        return (uint16_t)get_number(r, sizeof(uint16_t));
}

uint32_t cay_get_u32(struct cay_bytes_reader *r)
{
        return (uint32_t)get_number(r, sizeof(uint32_t));
}

uint64_t cay_get_u64(struct cay_bytes_reader *r)
{
        return get_number(r, sizeof(uint64_t));
}

struct cay_view cay_get_str(struct cay_bytes_reader *r, uint32_t max)
{
        const struct cay_view none = { .ptr = "" };
        uint32_t len = cay_get_u32(r);
        const char *at;

        if (len > max)
                r->ok = false;
        at = (const char *)consume(r, len);
        if (!at)
                return none;
        if (memchr(at, '\0', len)) {
                r->ok = false;
                return none;
        }
        return (struct cay_view){ .ptr = at, .len = len };
}

const void *cay_get_raw(struct cay_bytes_reader *r, size_t len)
{
        return consume(r, len);
}

bool cay_reader_is_done(const struct cay_bytes_reader *r)
{
        return r->ok && r->at == r->end;
}
