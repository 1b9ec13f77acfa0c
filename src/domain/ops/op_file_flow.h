/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes between a client and a channel, of any size in constant memory, packed on the client's side if asked for. Out: what the box
 * sends is acknowledged only as it leaves, so a slow client slows the box. In: the body is taken as the box's window has room.
 *
 * Packing is done in the loop, as pieces come: a piece is what one frame or one read brought, and a packed flow asks the box
 * for a small window, so that one turn of the loop packs no more than that. Unpacking stops when the box's window is
 * full, whatever a small body would become.
 */
#pragma once

#include "domain/ops/files.h"
#include "foundation/compress/pack.h"

#define CAY_OP_PACK_WINDOW (128u * 1024) /* of a channel whose bytes are packed here */

struct cay_op_flow { /* embedded as first member, or alone; zeroed, from the heap; freed with its channel */
        struct cay_op_channel base;
        struct cay_op_bytes head; /* out: the answer's; texts are borrowed until it is over */
        bool is_empty;            /* out: of length 0, whatever comes */
        bool sniffs;              /* in: the form is found by the first bytes; else as set */
        enum cay_pack_form form;
        /* in: the answer of a success; adds members to an open object. */
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
        bool begun;           /* the answer's head is out */
        bool decided;         /* in: the form is known */
        bool has_more;        /* the unpacker holds bytes that had no room */
        bool body_over, eof_said;
};

/* Both answer the call, now or later; f is theirs. */
void cay_op_flow_out_take(struct cay_op_flow *f, struct cay_op_call *c, const char *sandbox,
                          const struct cay_box_open *open);
void cay_op_flow_in_take(struct cay_op_flow *f, struct cay_op_call *c, const char *sandbox,
                         const struct cay_box_open *open);
