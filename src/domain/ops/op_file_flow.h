/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves bytes between a client and a channel, of any size in constant memory, compressed on the client's side
 * on request. Out: the box's bytes are acknowledged as they are sent on, so a slow client slows the box down.
 * In: the body is read as the box's window has room.
 *
 * Compression runs in the loop, piece by piece. A piece is one frame or one read, and a compressed flow asks
 * the box for a small window, which bounds the work of one round. Decompression stops when the box's window
 * is full, however large the result would be.
 */
#pragma once

#include "domain/ops/files.h"
#include "foundation/compress/pack.h"

#define CAY_OP_PACK_WINDOW (128u * 1024) /* of a channel whose bytes are compressed here */

struct cay_op_flow { /* embedded as first member, or alone; zeroed, on the heap; freed with its channel */
        struct cay_op_channel base;
        struct cay_op_bytes head; /* out: for the answer's head; texts are borrowed until the end */
        bool is_empty;            /* out: of length 0, whatever arrives */
        bool sniffs;              /* in: the format is detected from the first bytes; else as set */
        enum cay_pack_form form;
        /* in: adds members to the answer of a success. */
        void (*put_answer)(struct cay_op_flow *f, struct cay_json *j, const struct cay_box_end *end);

        /* private */
        struct cay_packer *packer;
        struct cay_unpacker *unpacker;
        uint8_t *piece; /* unpacked, not yet taken by the channel */
        size_t piece_at, piece_len;
        uint8_t first[CAY_PACK_SNIFF];
        size_t first_len;
        struct cay_error bad; /* in: what is wrong with the body */
        uint64_t unacked;     /* written to the client, not yet acknowledged to the box */
        bool begun;           /* the answer's head is sent */
        bool decided;         /* in: the form is known */
        bool has_more;        /* the unpacker holds bytes that had no room */
        bool body_over, eof_said;
};

/* Both answer the call, now or later, and take f. */
void cay_op_flow_out_take(struct cay_op_flow *f, struct cay_op_call *c, const char *sandbox,
                          const struct cay_box_open *open);
void cay_op_flow_in_take(struct cay_op_flow *f, struct cay_op_call *c, const char *sandbox,
                         const struct cay_box_open *open);
