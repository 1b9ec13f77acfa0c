/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a WATCH. */
#include "links/box/notice.h"

#include <errno.h>

struct row {
        const char *word;
        unsigned names;
};

static const struct row rows[CAY_NOTICE_COUNT] = {
        [CAY_NOTICE_NONE] = { "", 0 },
#define CAY_NOTICE(name, word, names, doc) [CAY_NOTICE_##name] = { word, names },
#include "links/box/notices.def"
#undef CAY_NOTICE
};

const char *cay_box_notice_word(unsigned kind)
{
        return kind < CAY_NOTICE_COUNT ? rows[kind].word : "";
}

static bool is_sound(const struct cay_box_notice *m)
{
        bool counts = m->kind == CAY_NOTICE_READY || m->kind == CAY_NOTICE_OVERFLOW;

        if (m->kind == CAY_NOTICE_NONE || m->kind >= CAY_NOTICE_COUNT)
                return false;
        if ((m->name.len > 0) != (rows[m->kind].names > 0) || (m->name2.len > 0) != (rows[m->kind].names > 1))
                return false;
        return (m->sys == 0 || (m->kind == CAY_NOTICE_UNWATCHED && m->sys <= 4095)) &&
               (m->folders == 0 || counts) && m->folders <= INT64_MAX && m->name.len < CAY_BOX_PATH_MAX &&
               m->name2.len < CAY_BOX_PATH_MAX;
}

int cay_box_notice_encode(const struct cay_box_notice *m, void *mem, size_t size)
{
        struct cay_bytes_writer w;
        uint32_t len = 1 + 1 + 4 + 8 + 4 + m->name.len + 4 + m->name2.len;

        if (!is_sound(m))
                return -EINVAL;
        cay_writer_init(&w, mem, size);
        cay_put_u16(&w, (uint16_t)len);
        cay_put_u8(&w, m->kind);
        cay_put_u8(&w, m->is_folder);
        cay_put_u32(&w, m->sys);
        cay_put_u64(&w, m->folders);
        cay_put_str(&w, m->name.ptr, m->name.len);
        cay_put_str(&w, m->name2.ptr, m->name2.len);
        return w.ok ? (int)len + 2 : -EMSGSIZE;
}

int cay_box_notice_decode(const void *mem, size_t len, struct cay_box_notice *ret)
{
        struct cay_bytes_reader r;
        uint16_t body;
        uint8_t folder;

        cay_reader_init(&r, mem, len);
        body = cay_get_u16(&r);
        if (!r.ok)
                return 0;
        if (body + 2u > CAY_BOX_NOTICE_MAX)
                return -EPROTO;
        if (len - 2 < body)
                return 0;
        cay_reader_init(&r, (const uint8_t *)mem + 2, body);
        ret->kind = cay_get_u8(&r);
        folder = cay_get_u8(&r);
        ret->is_folder = folder == 1;
        ret->sys = cay_get_u32(&r);
        ret->folders = cay_get_u64(&r);
        ret->name = cay_get_str(&r, CAY_BOX_PATH_MAX - 1);
        ret->name2 = cay_get_str(&r, CAY_BOX_PATH_MAX - 1);
        return cay_reader_is_done(&r) && folder <= 1 && is_sound(ret) ? body + 2 : -EPROTO;
}
