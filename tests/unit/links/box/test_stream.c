/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sender's ring and receiver's counts: wrapping, resending, refusals, and both ends together under random
 * cuts.
 */
#include "unit/links/box/box_test.h"

#include <errno.h>

#include "links/box/frame.h"
#include "links/box/stream.h"

static void ring_takes_a_window_and_no_more(void **state)
{
        struct cay_sender s;
        struct iovec room[2];
        uint8_t bytes[5000] = { 0 };

        cay_sender_init(&s, 4096);
        assert_null(s.ring);
        assert_int_equal(cay_sender_room(&s, room), 1);
        assert_int_equal(room[0].iov_len, 4096);
        assert_int_equal(cay_sender_put(&s, bytes, sizeof(bytes)), 4096);
        assert_int_equal(cay_sender_put(&s, bytes, 1), 0);
        assert_int_equal(cay_sender_room(&s, room), 0);
        cay_sender_done(&s);
}

static void ring_wraps_in_two_pieces(void **state)
{
        struct cay_sender s;
        struct iovec room[2];
        uint8_t bytes[4096];
        const uint8_t *piece;
        uint64_t offset;

        cay_sender_init(&s, 4096);
        test_fill(1, 0, bytes, 4096);
        assert_int_equal(cay_sender_put(&s, bytes, 3000), 3000);
        cay_sender_sent(&s, 3000);
        assert_int_equal(cay_sender_ack(&s, 2000), 0);
        assert_int_equal(cay_sender_room(&s, room), 2);
        assert_int_equal(room[0].iov_len, 1096);
        assert_int_equal(room[1].iov_len, 2000);
        test_fill(1, 3000, room[0].iov_base, 1096);
        test_fill(1, 4096, room[1].iov_base, 500);
        cay_sender_wrote(&s, 1596);

        assert_int_equal(cay_sender_next(&s, 65536, &piece, &offset), 1096);
        assert_int_equal(offset, 3000);
        cay_sender_sent(&s, 1096);
        assert_int_equal(cay_sender_next(&s, 200, &piece, &offset), 200);
        assert_int_equal(offset, 4096);
        assert_int_equal(piece[0], test_pattern(1, 4096));
        cay_sender_done(&s);
}

static void resume_goes_back_and_says_eof_again(void **state)
{
        struct cay_sender s;
        const uint8_t *piece;
        uint64_t offset;

        cay_sender_init(&s, 4096);
        assert_int_equal(cay_sender_put(&s, "hello, world", 12), 12);
        s.eof = true;
        assert_int_equal(cay_sender_put(&s, "more", 4), 0); /* complete is complete */
        assert_false(cay_sender_is_finished(&s));
        cay_sender_sent(&s, 12);
        assert_true(cay_sender_is_finished(&s));
        s.eof_sent = true;
        assert_int_equal(cay_sender_ack(&s, 5), 0);
        assert_int_equal(cay_sender_resume(&s, 4), -ERANGE);
        assert_int_equal(cay_sender_resume(&s, 13), -ERANGE);
        assert_true(s.eof_sent);
        assert_int_equal(cay_sender_resume(&s, 7), 0);
        assert_false(s.eof_sent);
        assert_int_equal(cay_sender_next(&s, 65536, &piece, &offset), 5);
        assert_int_equal(offset, 7);
        assert_memory_equal(piece, "world", 5);
        cay_sender_done(&s);
}

static void acks_beyond_what_was_sent_are_refused(void **state)
{
        struct cay_sender s;

        cay_sender_init(&s, 4096);
        assert_int_equal(cay_sender_put(&s, "abc", 3), 3);
        assert_int_equal(cay_sender_ack(&s, 1), -EPROTO);
        cay_sender_sent(&s, 2);
        assert_int_equal(cay_sender_ack(&s, 3), -EPROTO);
        assert_int_equal(cay_sender_ack(&s, UINT64_MAX), -EPROTO);
        assert_int_equal(cay_sender_ack(&s, 2), 0);
        assert_int_equal(cay_sender_ack(&s, 1), 0); /* old */
        assert_int_equal(s.acked, 2);
        cay_sender_done(&s);
}

static void memory_goes_when_all_is_acknowledged(void **state)
{
        static uint8_t bytes[65536];
        struct cay_sender s;

        cay_sender_init(&s, sizeof(bytes));
        assert_int_equal(cay_sender_put(&s, bytes, 100), 100);
        assert_non_null(s.ring);
        cay_sender_sent(&s, 100);
        assert_int_equal(cay_sender_ack(&s, 100), 0);
        assert_null(s.ring);

        assert_int_equal(cay_sender_put(&s, bytes, 40000), 40000); /* a flood keeps it … */
        cay_sender_sent(&s, 40000);
        assert_int_equal(cay_sender_ack(&s, 40100), 0);
        assert_non_null(s.ring);
        assert_int_equal(cay_sender_put(&s, bytes, 1), 1); /* … until it trickles */
        cay_sender_sent(&s, 1);
        assert_int_equal(cay_sender_ack(&s, 40101), 0);
        assert_null(s.ring);
}

static void ring_grows_with_its_use(void **state)
{
        static uint8_t bytes[70000], back[70000];
        struct cay_sender s;
        const uint8_t *piece;
        uint64_t offset, seed = 3;
        size_t len, at = 0;

        for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = (uint8_t)((seed = seed * 6364136223846793005u + 1) >> 33);
        cay_sender_init(&s, 256 * 1024);
        assert_int_equal(cay_sender_put(&s, bytes, 10), 10);
        assert_in_range(s.size, 10, 16 * 1024);
        cay_sender_sent(&s, 10);
        assert_int_equal(cay_sender_put(&s, bytes + 10, 15000), 15000);
        assert_int_equal(cay_sender_next(&s, 9000, &piece, &offset), 9000);
        cay_sender_sent(&s, 9000);
        assert_int_equal(cay_sender_ack(&s, 9000),
                         0); /* what is kept begins in the middle of the ring and goes round */
        assert_int_equal(cay_sender_put(&s, bytes + 15010, sizeof(bytes) - 15010), sizeof(bytes) - 15010);
        assert_true(s.size > 16 * 1024 && s.size <= 256 * 1024);
        assert_int_equal(cay_sender_resume(&s, 9000), 0);
        memcpy(back, bytes, 9000);
        at = 9000;
        while ((len = cay_sender_next(&s, 5000, &piece, &offset)) > 0) {
                assert_int_equal(offset, at);
                memcpy(back + at, piece, len);
                at += len;
                cay_sender_sent(&s, len);
        }
        assert_int_equal(at, sizeof(bytes));
        assert_memory_equal(back, bytes, sizeof(bytes));
        cay_sender_done(&s);
}

/* A pool that is used up makes rings small; it refuses nobody. */
static void rings_share_a_pool(void **state)
{
        static uint8_t bytes[256 * 1024];
        struct cay_ring_pool pool = { 0 };
        struct cay_sender s[40];
        uint32_t max = 1024 * 1024;

        for (unsigned i = 0; i < 40; i++) {
                cay_sender_init(&s[i], sizeof(bytes));
                cay_sender_share(&s[i], &pool, max);
                assert_true(cay_sender_has_room(&s[i]));
                assert_in_range(cay_sender_put(&s[i], bytes, sizeof(bytes)), CAY_SENDER_LEAST, sizeof(bytes));
                assert_false(cay_sender_has_room(&s[i]));
        }
        assert_in_range(pool.bytes, max / 2, max + 40 * CAY_SENDER_LEAST);
        assert_int_equal(s[0].size, sizeof(bytes)); /* who came first has all */
        assert_int_equal(s[39].size, CAY_SENDER_LEAST);

        /* What is acknowledged goes back at once, since others wait, and is there for them. */
        s[0].sent = s[0].written;
        assert_int_equal(cay_sender_ack(&s[0], s[0].written), 0);
        assert_null(s[0].ring);
        assert_true(cay_sender_has_room(&s[39]));
        assert_true(cay_sender_put(&s[39], bytes, sizeof(bytes)) > 0);
        for (unsigned i = 0; i < 40; i++)
                cay_sender_done(&s[i]);
        assert_int_equal(pool.bytes, 0);
}

static void the_last_offsets_are_not_reached(void **state)
{
        struct cay_sender s;

        cay_sender_init(&s, 4096);
        s.acked = s.sent = s.written = CAY_FRAME_OFFSET_MAX - 4095;
        assert_int_equal(cay_sender_put(&s, "x", 1), 0);
        s.acked = s.sent = s.written = CAY_FRAME_OFFSET_MAX - 4096;
        assert_int_equal(cay_sender_put(&s, "x", 1), 1);
        cay_sender_done(&s);
}

static void receiver_skips_what_it_has_and_refuses_holes(void **state)
{
        struct cay_receiver r;

        cay_receiver_init(&r, 4096);
        assert_int_equal(cay_receiver_data(&r, 1, 10), -EPROTO);
        assert_int_equal(cay_receiver_data(&r, 0, 10), 0);
        assert_int_equal(cay_receiver_data(&r, 0, 10), 10);
        assert_int_equal(cay_receiver_data(&r, 4, 10), 6);
        assert_int_equal(r.got, 14);
        assert_int_equal(cay_receiver_data(&r, 15, 1), -EPROTO);
        assert_int_equal(r.got, 14);
}

static void receiver_refuses_more_than_its_window(void **state)
{
        struct cay_receiver r;

        cay_receiver_init(&r, 4096);
        assert_int_equal(cay_receiver_data(&r, 0, 4097), -EPROTO);
        assert_int_equal(cay_receiver_data(&r, 0, 4096), 0);
        assert_int_equal(cay_receiver_data(&r, 4096, 1), -EPROTO);
        assert_true(cay_receiver_consumed(&r, 2000));
        assert_int_equal(cay_receiver_data(&r, 4096, 2000), 0);
        assert_int_equal(cay_receiver_data(&r, 6096, 1), -EPROTO);
        assert_int_equal(cay_receiver_data(&r, UINT64_MAX - 3, 10), -EPROTO);
        assert_int_equal(cay_receiver_data(&r, CAY_FRAME_OFFSET_MAX, 1), -EPROTO);
}

static void eof_is_exact_and_final(void **state)
{
        struct cay_receiver r;

        cay_receiver_init(&r, 4096);
        assert_int_equal(cay_receiver_data(&r, 0, 10), 0);
        assert_int_equal(cay_receiver_eof(&r, 9), -EPROTO);
        assert_int_equal(cay_receiver_eof(&r, 11), -EPROTO);
        assert_int_equal(cay_receiver_eof(&r, 10), 0);
        assert_int_equal(cay_receiver_eof(&r, 10), 0);
        assert_int_equal(cay_receiver_eof(&r, 12), -EPROTO);
        assert_int_equal(cay_receiver_data(&r, 5, 5), 5);
        assert_int_equal(cay_receiver_data(&r, 10, 1), -EPROTO);
}

static void acks_are_batched(void **state)
{
        struct cay_receiver r;

        cay_receiver_init(&r, 4000);
        assert_int_equal(cay_receiver_data(&r, 0, 3000), 0);
        assert_false(cay_receiver_consumed(&r, 999));
        assert_int_equal(r.acked, 0);
        assert_true(cay_receiver_consumed(&r, 1000));
        assert_int_equal(r.acked, 1000);
        assert_false(cay_receiver_consumed(&r, 1000));
        assert_false(cay_receiver_consumed(&r, 1999));
        assert_true(cay_receiver_consumed(&r, 3000));
        assert_int_equal(cay_receiver_data(&r, 3000, 1), 0);
        assert_true(cay_receiver_consumed(&r, 3001)); /* little, but all there was */
}

/* Both ends with a wire between them that loses everything in flight now and then. */
static void nothing_is_lost_over_random_cuts(void **state)
{
        enum { TOTAL = 3000000 };
        uint64_t seed = 0x1234567;

        for (uint32_t window = 4096; window < 100000; window = window * 3 + 17) {
                struct cay_sender s;
                struct cay_receiver r;
                uint64_t consumed = 0, hash = TEST_HASH_START, written = 0;
                uint8_t bytes[7000];

                cay_sender_init(&s, window);
                cay_receiver_init(&r, window);
                while (!r.eof) {
                        const uint8_t *piece;
                        uint64_t offset;
                        size_t len = test_random(&seed, sizeof(bytes));

                        if (len > TOTAL - written)
                                len = TOTAL - written;
                        test_fill(2, written, bytes, len);
                        written += cay_sender_put(&s, bytes, len);
                        assert_true(s.written - s.acked <= window);
                        s.eof = written == TOTAL;

                        for (int n = (int)test_random(&seed, 4); n > 0; n--) {
                                bool arrives = test_random(&seed, 10) > 0;

                                len = cay_sender_next(&s, 1 + test_random(&seed, 9000), &piece, &offset);
                                if (len == 0)
                                        break;
                                if (arrives) {
                                        int64_t skip = cay_receiver_data(&r, offset, (uint32_t)len);

                                        assert_true(skip >= 0);
                                        hash = test_hash(hash, piece + skip, len - (size_t)skip);
                                }
                                cay_sender_sent(&s, len);
                                /* a cut: go back to what arrived, or to what is known for sure */
                                if (!arrives)
                                        assert_int_equal(cay_sender_resume(
                                                                 &s, test_random(&seed, 2) ? r.got : s.acked),
                                                         0);
                        }
                        consumed += test_random(&seed, (uint32_t)(r.got - consumed) + 1);
                        if (cay_receiver_consumed(&r, consumed) && test_random(&seed, 4) > 0)
                                assert_int_equal(cay_sender_ack(&s, r.acked < s.sent ? r.acked : s.sent), 0);
                        if (cay_sender_is_finished(&s) && r.got == TOTAL)
                                assert_int_equal(cay_receiver_eof(&r, s.written), 0);
                        if (s.written - s.acked == window && consumed == r.got)
                                cay_sender_ack(&s, r.acked < s.sent ? r.acked : s.sent);
                }
                assert_int_equal(r.got, TOTAL);
                assert_true(hash == test_pattern_hash(2, TOTAL));
                cay_sender_done(&s);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(ring_takes_a_window_and_no_more),
                cmocka_unit_test(ring_wraps_in_two_pieces),
                cmocka_unit_test(resume_goes_back_and_says_eof_again),
                cmocka_unit_test(acks_beyond_what_was_sent_are_refused),
                cmocka_unit_test(memory_goes_when_all_is_acknowledged),
                cmocka_unit_test(ring_grows_with_its_use),
                cmocka_unit_test(rings_share_a_pool),
                cmocka_unit_test(the_last_offsets_are_not_reached),
                cmocka_unit_test(receiver_skips_what_it_has_and_refuses_holes),
                cmocka_unit_test(receiver_refuses_more_than_its_window),
                cmocka_unit_test(eof_is_exact_and_final),
                cmocka_unit_test(acks_are_batched),
                cmocka_unit_test(nothing_is_lost_over_random_cuts),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
