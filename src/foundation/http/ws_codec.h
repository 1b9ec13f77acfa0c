/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebSocket framing (RFC 6455), both roles, no extensions. Bytes in, events out: the caller passes its input,
 * gets at most one event per call and passes the rest again. Messages are assembled from their fragments, up
 * to a maximum; a text is checked to be UTF-8 as a whole. A protocol violation is a fault with its close
 * code.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/buf.h"

enum cay_ws_role { CAY_WS_SERVER, CAY_WS_CLIENT };

enum cay_ws_opcode {
        CAY_WS_CONTINUATION = 0,
        CAY_WS_TEXT = 1,
        CAY_WS_BINARY = 2,
        CAY_WS_CLOSE = 8,
        CAY_WS_PING = 9,
        CAY_WS_PONG = 10,
};

enum cay_ws_event {
        CAY_WS_MORE, /* nothing yet; everything was taken */
        CAY_WS_MESSAGE,
        CAY_WS_CONTROL,
        CAY_WS_FAULT, /* `fault` is the close code; nothing more can be read */
};

/* Close codes that we send. */
#define CAY_WS_NORMAL 1000u
#define CAY_WS_GOING_AWAY 1001u
#define CAY_WS_PROTOCOL_ERROR 1002u
#define CAY_WS_NO_CODE 1005u /* a close without a code; never sent */
#define CAY_WS_LOST 1006u    /* no close at all; never sent */
#define CAY_WS_BAD_TEXT 1007u
#define CAY_WS_REFUSED 1008u
#define CAY_WS_TRY_LATER 1013u /* there is no room now */
#define CAY_WS_TOO_BIG 1009u
#define CAY_WS_INTERNAL 1011u

#define CAY_WS_HEADER_MAX 14u
#define CAY_WS_CONTROL_MAX 125u

struct cay_ws_codec {
        /* The event's: kind and bytes, valid until the next call. */
        enum cay_ws_opcode opcode;
        const uint8_t *data;
        size_t len;
        unsigned fault;
        /* Of a close frame: its code (CAY_WS_NO_CODE: none) and where its reason starts in data. */
        unsigned close_code;

        /* below: private to ws_codec.c */
        enum cay_ws_role role; /* ours */
        struct cay_buf message;
        uint8_t header[CAY_WS_HEADER_MAX], header_len;
        uint8_t control[CAY_WS_CONTROL_MAX], control_len;
        uint8_t mask[4];
        bool in_frame, in_message, is_last;
        enum cay_ws_opcode frame_opcode, message_opcode;
        uint64_t left, at; /* of the frame's payload; bytes of it seen */
};

void cay_ws_codec_init(struct cay_ws_codec *c, enum cay_ws_role role, size_t message_max);
void cay_ws_codec_done(struct cay_ws_codec *c);
/* *ret_used bytes were used; pass the rest again unless the result is MORE or FAULT. */
enum cay_ws_event cay_ws_codec_read(struct cay_ws_codec *c, const void *bytes, size_t len, size_t *ret_used);

/*
 * After a FAULT of CAY_WS_TOO_BIG: the beginning of the too long message, as far as received. bytes: the
 * unused input. Returns how many bytes were stored in ret.
 */
size_t cay_ws_codec_first(const struct cay_ws_codec *c, const void *bytes, size_t len, void *ret,
                          size_t size);

/* A frame's header: its length. mask NULL: not masked (a server's). */
size_t cay_ws_header(uint8_t ret[CAY_WS_HEADER_MAX], enum cay_ws_opcode opcode, bool is_last, uint64_t len,
                     const uint8_t mask[4]);
/* to = from ^ mask, beginning at place `at` of the mask; to and from may be the same. */
void cay_ws_mask(uint8_t *to, const uint8_t *from, size_t len, const uint8_t mask[4], uint64_t at);
bool cay_ws_code_is_valid(unsigned code); /* one that may stand in a close frame */
