/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a SEARCH. */
#include "links/box/match.h"

#include <errno.h>

static bool is_sound(const struct cay_box_match *m)
{
        return m->flags <= (CAY_MATCH_CUT_BEFORE | CAY_MATCH_CUT_BEHIND) && m->line > 0 &&
               m->line <= INT64_MAX && m->name.len < CAY_BOX_PATH_MAX && m->text.len <= CAY_BOX_MATCH_TEXT;
}

int cay_box_match_encode(const struct cay_box_match *m, void *mem, size_t size)
{
        struct cay_bytes_writer w;
        uint32_t len = 1 + 8 + 4 + m->name.len + 4 + m->text.len;

        if (!is_sound(m))
                return -EINVAL;
        cay_writer_init(&w, mem, size);
        cay_put_u16(&w, (uint16_t)len);
        cay_put_u8(&w, m->flags);
        cay_put_u64(&w, m->line);
        cay_put_str(&w, m->name.ptr, m->name.len);
        cay_put_str(&w, m->text.ptr, m->text.len);
        return w.ok ? (int)len + 2 : -EMSGSIZE;
}

int cay_box_match_decode(const void *mem, size_t len, struct cay_box_match *ret)
{
        struct cay_bytes_reader r;
        uint16_t body;

        cay_reader_init(&r, mem, len);
        body = cay_get_u16(&r);
        if (!r.ok)
                return 0;
        if (body + 2u > CAY_BOX_MATCH_MAX)
                return -EPROTO;
        if (len - 2 < body)
                return 0;
        cay_reader_init(&r, (const uint8_t *)mem + 2, body);
        ret->flags = cay_get_u8(&r);
        ret->line = cay_get_u64(&r);
        ret->name = cay_get_str(&r, CAY_BOX_PATH_MAX - 1);
        ret->text = cay_get_str(&r, CAY_BOX_MATCH_TEXT);
        return cay_reader_is_done(&r) && is_sound(ret) ? body + 2 : -EPROTO;
}
