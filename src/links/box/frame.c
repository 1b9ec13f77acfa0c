/* SPDX-License-Identifier: Apache-2.0 */
/* The frame header's codec, and the rows of frames.def as a table. */
#include "links/box/frame.h"

#include <endian.h>
#include <errno.h>

#include "foundation/base/cleanup.h"

struct row {
        unsigned senders;
        uint32_t min, max;
};

static const struct row rows[CAY_FRAME_TYPE_COUNT] = {
#define CAY_FRAME(type, who, min_bytes, max_bytes, doc) [CAY_FRAME_##type] = { who, min_bytes, max_bytes },
#include "links/box/frames.def"
#undef CAY_FRAME
};

/* Types that concern the link itself, and types that belong to one stream of a channel. */
#define BIT(type) (1u << (CAY_FRAME_##type))
static const uint32_t link_types = BIT(HELLO) | BIT(WELCOME) | BIT(SYNC) | BIT(PING) | BIT(PONG);
static const uint32_t stream_types = BIT(DATA) | BIT(ACK) | BIT(EOF);

_Static_assert(CAY_FRAME_TYPE_COUNT <= 32, "types are bits of a word");

void cay_frame_encode(const struct cay_frame *f, uint8_t out[CAY_FRAME_HEADER])
{
        uint32_t len = htole32(f->len), channel = htole32(f->channel);
        uint64_t seq = htole64(f->seq);
        uint16_t type = htole16(f->type), stream = htole16(f->stream);

        memcpy(out, &len, 4);
        memcpy(out + 4, &channel, 4);
        memcpy(out + 8, &seq, 8);
        memcpy(out + 16, &type, 2);
        memcpy(out + 18, &stream, 2);
}

/*
 * Data flows from front to init on IN and from init to front on OUT and ERR. ACKs flow in the opposite
 * direction.
 */
static bool is_stream_allowed(const struct cay_frame *f, enum cay_frame_side from)
{
        bool wants_in = (from == CAY_SIDE_FRONT) == (f->type != CAY_FRAME_ACK);

        if (wants_in)
                return f->stream == CAY_STREAM_IN;
        return f->stream == CAY_STREAM_OUT || f->stream == CAY_STREAM_ERR;
}

int cay_frame_decode(const uint8_t in[CAY_FRAME_HEADER], enum cay_frame_side from, struct cay_frame *ret)
{
        const struct row *row;
        struct cay_frame f;

        memcpy(&f.len, in, 4);
        memcpy(&f.channel, in + 4, 4);
        memcpy(&f.seq, in + 8, 8);
        memcpy(&f.type, in + 16, 2);
        memcpy(&f.stream, in + 18, 2);
        f.len = le32toh(f.len);
        f.channel = le32toh(f.channel);
        f.seq = le64toh(f.seq);
        f.type = le16toh(f.type);
        f.stream = le16toh(f.stream);

        if (f.type == CAY_FRAME_NONE || f.type >= CAY_FRAME_TYPE_COUNT)
                return -EPROTO;
        row = &rows[f.type];
        if (!(row->senders & from) || f.len < row->min || f.len > row->max)
                return -EPROTO;
        if (((link_types >> f.type) & 1) != (f.channel == 0))
                return -EPROTO;
        if ((stream_types >> f.type) & 1) {
                if (!is_stream_allowed(&f, from) || f.seq > CAY_FRAME_OFFSET_MAX - f.len)
                        return -EPROTO;
        } else if (f.stream != 0 || f.seq != 0) {
                return -EPROTO;
        }
        *ret = f;
        return 0;
}
