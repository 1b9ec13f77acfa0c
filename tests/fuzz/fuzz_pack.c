/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed streams of strangers. The first byte says the form and how both sides are cut; the rest is unpacked
 * under a bound. The outcome must not depend on the cutting, and what was unpacked must come back when it is
 * packed and unpacked again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/compress/pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                                      \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        abort();                                                                             \
        } while (0)

enum { MOST = 256 * 1024, ROOM = MOST + 64 };

struct outcome {
        int code; /* enum cay_code; OK: it ended well */
        size_t len;
        uint8_t bytes[ROOM];
};

static void unpack(enum cay_pack_form form, const uint8_t *data, size_t size, size_t in_piece,
                   size_t out_piece, struct outcome *ret)
{
        cay_auto(cay_unpacker_freep) struct cay_unpacker *u = cay_unpacker_new(form, MOST);
        struct cay_error err = { 0 };
        size_t at = 0;
        bool has_more = false;

        ret->len = 0;
        ret->code = CAY_OK;
        MUST(u);
        while (at < size || has_more) {
                size_t in_len = size - at < in_piece ? size - at : in_piece;
                size_t out_room = ROOM - ret->len < out_piece ? ROOM - ret->len : out_piece;
                struct cay_pack_io io = { data + at, in_len, ret->bytes + ret->len, out_room };

                MUST(out_room > 0);
                if (cay_unpacker_step(u, &io, &err) < 0) {
                        MUST(err.code == CAY_INVALID || err.code == CAY_LIMIT);
                        ret->code = (int)err.code;
                        return;
                }
                MUST(io.in_len < in_len || io.out_room < out_room || has_more);
                at += in_len - io.in_len;
                ret->len += out_room - io.out_room;
                has_more = io.out_room == 0;
                MUST(ret->len <= MOST);
        }
        if (cay_unpacker_finish(u, &err) < 0)
                ret->code = (int)err.code;
}

static void pack_again(enum cay_pack_form form, const struct outcome *o)
{
        cay_auto(cay_packer_freep) struct cay_packer *p = cay_packer_new(form);
        size_t room = 2 * o->len + 4096;
        cay_auto_free uint8_t *packed = malloc(room);
        static struct outcome back;
        struct cay_pack_io io = { o->bytes, o->len, packed, room };

        MUST(p && packed);
        MUST(cay_packer_step(p, &io, true) == CAY_PACK_DONE);
        unpack(form, packed, room - io.out_room, SIZE_MAX, ROOM, &back);
        MUST(back.code == CAY_OK && back.len == o->len && memcmp(back.bytes, o->bytes, o->len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct outcome whole, cut;
        enum cay_pack_form form;
        size_t piece;

        if (size == 0)
                return 0;
        form = data[0] % 2 ? CAY_PACK_GZIP : CAY_PACK_ZSTD;
        piece = 1 + (data[0] >> 1);
        data++;
        size--;
        unpack(form, data, size, SIZE_MAX, ROOM, &whole);
        unpack(form, data, size, piece, piece * 3, &cut);
        /*
         * libzstd takes a frame that lies about its size when it comes in pieces, and refuses it as a whole.
         */
        MUST(form == CAY_PACK_ZSTD || (whole.code == CAY_OK) == (cut.code == CAY_OK));
        if (whole.code != CAY_OK || cut.code != CAY_OK)
                return 0;
        MUST(whole.len == cut.len && memcmp(whole.bytes, cut.bytes, whole.len) == 0);
        pack_again(form, &whole);
        return 0;
}
