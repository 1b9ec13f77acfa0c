/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The box link's frames: 20-byte little-endian header, then payload. docs/box-link.md is the protocol's text.
 * One codec for both ends; a frame that breaks its row of frames.def ends the link.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/banned.h"

#define CAY_FRAME_HEADER 20u
#define CAY_FRAME_DATA_MAX (64u * 1024) /* payload of DATA */
#define CAY_FRAME_END_MAX (12u * 1024)  /* payload of END: a message, a name and a link target fit */
#define CAY_FRAME_MAX (256u * 1024)     /* payload of any frame */
#define CAY_FRAME_OFFSET_MAX                                                                                 \
        ((uint64_t)INT64_MAX) /* no stream is longer: sums of offsets and lengths do not overflow */
#define CAY_BOX_VERSION 1u

enum cay_frame_type {
        CAY_FRAME_NONE,
#define CAY_FRAME(name, senders, min, max, doc) CAY_FRAME_##name,
#include "links/box/frames.def"
#undef CAY_FRAME
        CAY_FRAME_TYPE_COUNT
};

enum cay_frame_side { CAY_SIDE_FRONT = 1, CAY_SIDE_INIT = 2 }; /* bits: who may send a type */

enum cay_stream {
        CAY_STREAM_IN,
        CAY_STREAM_OUT,
        CAY_STREAM_ERR,
        CAY_STREAM_COUNT
}; /* seen from the command */

struct cay_frame {
        uint32_t len;     /* payload bytes */
        uint32_t channel; /* 0: the link itself */
        /* DATA: offset of the first byte; ACK: first byte not yet consumed; EOF: length; else 0 */
        uint64_t seq;
        uint16_t type;
        uint16_t stream; /* enum cay_stream for DATA, ACK, EOF; else 0 */
};

void cay_frame_encode(const struct cay_frame *f, uint8_t out[CAY_FRAME_HEADER]);
/*
 * Decodes and checks a header sent by `from`: 0, or -EPROTO (unknown type, not that side's to send, length
 * outside its row, channel 0 or not as the type needs it, stream or seq where none belongs or out of range).
 */
int cay_frame_decode(const uint8_t in[CAY_FRAME_HEADER], enum cay_frame_side from, struct cay_frame *ret);
