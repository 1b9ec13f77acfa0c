/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of bytes made smaller (gzip, zstd) and whole again, piece by piece: a step takes what it can of the
 * caller's input and fills what it can of the caller's room, and neither keeps more than a fixed amount of
 * memory. The libraries are named in this folder alone.
 *
 * Packed bytes come from strangers. A reader allows no zstd window above CAY_PACK_WINDOW_MAX and no more
 * unpacked bytes than it was told, so that a bomb costs what it fills and no more; several members or frames
 * in a row are one stream, as the tools for both formats have it; an end in the middle of one is an error.
 *
 * The work is done where it is asked for, in the caller's thread. A step's cost is bounded by the input and
 * the room that it is given: 64 KiB are a tenth of a millisecond with zstd and about one with gzip, even of
 * bytes that do not shrink, which is why the event loop can afford it. A thread would need a queue and bounds
 * of its own for what is a matter of small pieces.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/error.h"

#define CAY_PACK_WINDOW_MAX                                                                                  \
        (8u * 1024 * 1024) /* of a zstd frame; what its specification asks readers to do */
#define CAY_PACK_SNIFF 4u  /* bytes that tell a form */

enum cay_pack_form {
        CAY_PACK_NONE, /* bytes as they are */
#define CAY_PACK_FORM(name, word, type, ops) CAY_PACK_##name,
#include "foundation/compress/forms.def"
#undef CAY_PACK_FORM
        CAY_PACK_FORM_COUNT
};

struct cay_pack_io { /* both are moved on by a step */
        const uint8_t *in;
        size_t in_len;
        uint8_t *out;
        size_t out_room;
};

enum cay_pack_state {
        CAY_PACK_MORE, /* wants input, or room */
        CAY_PACK_DONE, /* a packer: all is out; an unpacker: it may end here, if there is no more input */
};

struct cay_packer;
struct cay_unpacker;

const char *cay_pack_type(enum cay_pack_form form); /* "application/gzip"; NULL for none */
/*
 * By the first CAY_PACK_SNIFF bytes; what is no known form is CAY_PACK_NONE. Fewer bytes: those that are
 * there.
 */
enum cay_pack_form cay_pack_sniff(const void *bytes, size_t len);

struct cay_packer *cay_packer_new(enum cay_pack_form form); /* not for NONE; NULL: no memory */
void cay_packer_free(struct cay_packer *p);                 /* accepts NULL */
/* last: there will be no input behind io's. Call again until DONE. */
enum cay_pack_state cay_packer_step(struct cay_packer *p, struct cay_pack_io *io, bool last);

/* most: unpacked bytes; beyond it is CAY_LIMIT. */
struct cay_unpacker *cay_unpacker_new(enum cay_pack_form form, uint64_t most);
void cay_unpacker_free(struct cay_unpacker *u); /* accepts NULL */
/*
 * An enum cay_pack_state, or -1: CAY_INVALID (no such stream), CAY_LIMIT (a bomb). MORE with room left: wants
 * input.
 */
int cay_unpacker_step(struct cay_unpacker *u, struct cay_pack_io *io, struct cay_error *err);
/* The input is over: -1 (CAY_INVALID) if that is in the middle. */
int cay_unpacker_finish(struct cay_unpacker *u, struct cay_error *err);

CAY_DEFINE_AUTO(struct cay_packer, cay_packer_free)
CAY_DEFINE_AUTO(struct cay_unpacker, cay_unpacker_free)
