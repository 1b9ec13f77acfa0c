/* SPDX-License-Identifier: Apache-2.0 */
/* Packing and unpacking: there and back in any pieces, and strangers' streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h>

#include "foundation/compress/pack.h"

enum { TEXT = 300000 };

static uint8_t text[TEXT], packed[2 * TEXT], back[2 * TEXT];

/* Something that shrinks, but not to nothing. */
static void fill(void)
{
        uint32_t x = 1;

        for (size_t i = 0; i < sizeof(text); i++) {
                x = x * 1103515245 + 12345;
                text[i] = (uint8_t)("etaoin shrdlu\n"[(x >> 16) % 14]);
        }
}

static size_t pack_all(enum cay_pack_form form, const uint8_t *bytes, size_t len, size_t in_piece,
                       size_t out_piece, uint8_t *to, size_t room)
{
        cay_auto(cay_packer_freep) struct cay_packer *p = cay_packer_new(form);
        enum cay_pack_state state = CAY_PACK_MORE;
        size_t at = 0, made = 0;

        assert_non_null(p);
        while (state == CAY_PACK_MORE) {
                struct cay_pack_io io = { .in = bytes + at, .out = to + made };
                size_t in_len = len - at < in_piece ? len - at : in_piece;
                size_t out_room = room - made < out_piece ? room - made : out_piece;

                io.in_len = in_len;
                io.out_room = out_room;
                assert_true(out_room > 0);
                state = cay_packer_step(p, &io, at + in_len == len);
                at += in_len - io.in_len;
                made += out_room - io.out_room;
        }
        assert_int_equal(at, len);
        return made;
}

/* What came out, or -1 with err; also -1 when it does not end well. */
static ssize_t unpack_all(enum cay_pack_form form, uint64_t most, const uint8_t *bytes, size_t len,
                          size_t in_piece, size_t out_piece, struct cay_error *err)
{
        cay_auto(cay_unpacker_freep) struct cay_unpacker *u = cay_unpacker_new(form, most);
        size_t at = 0, made = 0;
        bool has_more = false;

        assert_non_null(u);
        while (at < len || has_more) {
                size_t in_len = len - at < in_piece ? len - at : in_piece;
                size_t out_room = sizeof(back) - made < out_piece ? sizeof(back) - made : out_piece;
                struct cay_pack_io io = {
                        .in = bytes + at, .in_len = in_len, .out = back + made, .out_room = out_room
                };

                assert_true(out_room > 0);
                if (cay_unpacker_step(u, &io, err) < 0)
                        return -1;
                assert_true(io.in_len < in_len || io.out_room < out_room || has_more);
                at += in_len - io.in_len;
                made += out_room - io.out_room;
                has_more = io.out_room == 0;
        }
        return cay_unpacker_finish(u, err) < 0 ? -1 : (ssize_t)made;
}

static void there_and_back(void **state)
{
        static const size_t pieces[][2] = { { TEXT, 2 * TEXT }, { 1000, 17 }, { 1, 65536 }, { 65536, 4096 } };

        (void)state;
        for (unsigned form = CAY_PACK_NONE + 1; form < CAY_PACK_FORM_COUNT; form++) {
                for (size_t i = 0; i < CAY_COUNT(pieces); i++) {
                        struct cay_error err = { 0 };
                        size_t len = pack_all(form, text, sizeof(text), pieces[i][0], pieces[i][1], packed,
                                              sizeof(packed));

                        assert_true(len < sizeof(text));
                        assert_int_equal(cay_pack_sniff(packed, len), form);
                        assert_int_equal(
                                unpack_all(form, TEXT, packed, len, pieces[i][0], pieces[i][1], &err), TEXT);
                        assert_memory_equal(back, text, TEXT);
                }
        }
}

static void nothing_is_a_stream_too(void **state)
{
        struct cay_error err = { 0 };

        (void)state;
        for (unsigned form = CAY_PACK_NONE + 1; form < CAY_PACK_FORM_COUNT; form++) {
                size_t len = pack_all(form, text, 0, 1, 100, packed, sizeof(packed));

                assert_true(len > 0);
                assert_int_equal(unpack_all(form, 0, packed, len, 1, 1, &err), 0);
                /* but no byte at all is none */
                assert_int_equal(unpack_all(form, 0, packed, 0, 1, 1, &err), -1);
                assert_int_equal(err.code, CAY_INVALID);
        }
}

static void members_in_a_row_are_one(void **state)
{
        (void)state;
        for (unsigned form = CAY_PACK_NONE + 1; form < CAY_PACK_FORM_COUNT; form++) {
                struct cay_error err = { 0 };
                size_t len = pack_all(form, text, 1000, 1000, 4096, packed, sizeof(packed));

                len += pack_all(form, text + 1000, 5000, 1000, 4096, packed + len, sizeof(packed) - len);
                for (size_t piece = 1; piece < 10000; piece *= 7) {
                        assert_int_equal(unpack_all(form, TEXT, packed, len, piece, 997, &err), 6000);
                        assert_memory_equal(back, text, 6000);
                }
        }
}

static void a_cut_is_noticed_anywhere(void **state)
{
        (void)state;
        for (unsigned form = CAY_PACK_NONE + 1; form < CAY_PACK_FORM_COUNT; form++) {
                size_t len = pack_all(form, text, 3000, 3000, 4096, packed, sizeof(packed));

                for (size_t cut = 0; cut < len; cut++) {
                        struct cay_error err = { 0 };

                        assert_int_equal(unpack_all(form, TEXT, packed, cut, 512, 512, &err), -1);
                        assert_int_equal(err.code, CAY_INVALID);
                }
        }
}

/* Both have a checksum: no flipped byte goes through as something else. */
static void damage_is_noticed(void **state)
{
        (void)state;
        for (unsigned form = CAY_PACK_NONE + 1; form < CAY_PACK_FORM_COUNT; form++) {
                size_t len = pack_all(form, text, 3000, 3000, 4096, packed, sizeof(packed));

                for (size_t at = 0; at < len; at++) {
                        struct cay_error err = { 0 };
                        ssize_t got;

                        packed[at] ^= 0x55;
                        got = unpack_all(form, TEXT, packed, len, 512, 512, &err);
                        packed[at] ^= 0x55;
                        if (got >= 0) { /* a field that means nothing to the content, like gzip's time */
                                assert_int_equal(got, 3000);
                                assert_memory_equal(back, text, 3000);
                        }
                }
                packed[len] = 'x'; /* rubbish behind it */
                assert_int_equal(unpack_all(form, TEXT, packed, len + 1, 512, 512, &(struct cay_error){ 0 }),
                                 -1);
        }
}

static void bombs_end_at_the_bound(void **state)
{
        cay_auto_free uint8_t *zeros = calloc(1, 50u << 20);

        (void)state;
        assert_non_null(zeros);
        for (unsigned form = CAY_PACK_NONE + 1; form < CAY_PACK_FORM_COUNT; form++) {
                struct cay_error err = { 0 };
                size_t len = pack_all(form, zeros, 50u << 20, 1u << 20, 4096, packed, sizeof(packed));

                assert_int_equal(unpack_all(form, 100000, packed, len, 4096, 4096, &err), -1);
                assert_int_equal(err.code, CAY_LIMIT);
        }
}

/* A frame whose reader would have to remember 128 MiB. */
static void a_large_window_is_refused(void **state)
{
        ZSTD_CCtx *c = ZSTD_createCCtx();
        struct cay_error err = { 0 };
        ZSTD_inBuffer in = { text, sizeof(text), 0 };
        ZSTD_outBuffer out = { packed, sizeof(packed), 0 };

        (void)state;
        assert_non_null(c);
        ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, 27);
        ZSTD_compressStream2(c, &out, &in,
                             ZSTD_e_continue); /* its size is not known yet: the window is told */
        assert_int_equal(ZSTD_compressStream2(c, &out, &in, ZSTD_e_end), 0);
        ZSTD_freeCCtx(c);
        assert_int_equal(unpack_all(CAY_PACK_ZSTD, TEXT, packed, out.pos, 4096, 4096, &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
        assert_non_null(strstr(err.msg, "emory")); /* the library's words */
}

static void other_bytes_are_no_form(void **state)
{
        (void)state;
        assert_int_equal(cay_pack_sniff("ustar", 5), CAY_PACK_NONE);
        assert_int_equal(cay_pack_sniff("", 0), CAY_PACK_NONE);
        assert_int_equal(cay_pack_sniff("\x1f", 1), CAY_PACK_NONE);
        assert_int_equal(cay_pack_sniff("\x28\xb5\x2f", 3), CAY_PACK_NONE);
        assert_string_equal(cay_pack_type(CAY_PACK_GZIP), "application/gzip");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(there_and_back),
                cmocka_unit_test(nothing_is_a_stream_too),
                cmocka_unit_test(members_in_a_row_are_one),
                cmocka_unit_test(a_cut_is_noticed_anywhere),
                cmocka_unit_test(damage_is_noticed),
                cmocka_unit_test(bombs_end_at_the_bound),
                cmocka_unit_test(a_large_window_is_refused),
                cmocka_unit_test(other_bytes_are_no_form),
        };

        fill();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
