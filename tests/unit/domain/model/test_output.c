/* SPDX-License-Identifier: Apache-2.0 */
/* The output ring against a plain model of it: order, streams, gaps, walls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "foundation/base/banned.h"
#include "foundation/base/cleanup.h"
#include "domain/model/output.h"

#define SIZE 256

static void setup(struct cay_output *o)
{
        assert_int_equal(cay_output_init(o, SIZE), 0);
}

static void comes_out_as_it_went_in(void **state)
{
        struct cay_output o;
        struct cay_output_watcher w;
        const uint8_t *bytes;
        uint64_t missed;
        unsigned stream;

        setup(&o);
        cay_output_watch(&o, &w, 0, true);
        assert_int_equal(cay_output_put(&o, 1, "one", 3), 3);
        assert_int_equal(cay_output_put(&o, 1, "two", 3), 3);
        assert_int_equal(cay_output_put(&o, 2, "bad", 3), 3);
        assert_int_equal(cay_output_peek(&o, &w, &stream, &bytes, &missed), 6);
        assert_int_equal(stream, 1);
        assert_int_equal(missed, 0);
        assert_memory_equal(bytes, "onetwo", 6);
        cay_output_consume(&w, 4);
        assert_int_equal(cay_output_peek(&o, &w, &stream, &bytes, &missed), 2);
        assert_memory_equal(bytes, "wo", 2);
        cay_output_consume(&w, 2);
        assert_int_equal(cay_output_peek(&o, &w, &stream, &bytes, &missed), 3);
        assert_int_equal(stream, 2);
        cay_output_consume(&w, 3);
        assert_int_equal(cay_output_peek(&o, &w, &stream, &bytes, &missed), 0);
        assert_false(cay_output_is_read(&o, &w));
        cay_output_complete(&o);
        assert_true(cay_output_is_read(&o, &w));
        cay_output_done(&o);
}

static void a_strict_watcher_stops_the_writer(void **state)
{
        struct cay_output o;
        struct cay_output_watcher w, late;
        char block[SIZE] = { 0 };

        setup(&o);
        cay_output_watch(&o, &w, 0, true);
        assert_int_equal(cay_output_put(&o, 1, block, sizeof(block)), SIZE);
        assert_int_equal(cay_output_room(&o), 0);
        assert_int_equal(cay_output_put(&o, 1, "x", 1), 0);
        cay_output_consume(&w, 10);
        assert_int_equal(cay_output_room(&o), 10);
        assert_int_equal(cay_output_put(&o, 1, block, sizeof(block)), 10);
        cay_output_unwatch(&o, &w);
        assert_int_equal(cay_output_room(&o), SIZE);
        assert_int_equal(cay_output_put(&o, 1, block, sizeof(block)), SIZE);
        cay_output_unwatch(&o, &w); /* twice is fine */
        cay_output_watch(&o, &late, UINT64_MAX, true);
        assert_int_equal(late.at, o.end);
        cay_output_done(&o);
}

static void a_slow_watcher_is_told_of_its_gap_once(void **state)
{
        struct cay_output o;
        struct cay_output_watcher fast, slow;
        char block[100];
        const uint8_t *bytes;
        uint64_t missed;
        unsigned stream;

        setup(&o);
        cay_output_watch(&o, &fast, 0, true);
        cay_output_watch(&o, &slow, 0, false);
        for (unsigned i = 0; i < 10; i++) {
                memset(block, 'a' + (int)i, sizeof(block));
                assert_int_equal(cay_output_put(&o, 1, block, sizeof(block)), sizeof(block));
                cay_output_consume(&fast, sizeof(block));
        }
        assert_int_equal(o.oldest, 1000 - SIZE);
        assert_true(cay_output_peek(&o, &slow, &stream, &bytes, &missed) > 0);
        assert_int_equal(missed, 1000 - SIZE);
        assert_int_equal(bytes[0], 'h');
        assert_true(cay_output_peek(&o, &slow, &stream, &bytes, &missed) > 0);
        assert_int_equal(missed, 0);
        cay_output_done(&o);
}

static void resumes_from_an_offset(void **state)
{
        struct cay_output o;
        struct cay_output_watcher w;
        const uint8_t *bytes;
        uint64_t missed;
        unsigned stream;

        setup(&o);
        cay_output_put(&o, 1, "0123456789", 10);
        cay_output_watch(&o, &w, 7, false);
        assert_int_equal(cay_output_peek(&o, &w, &stream, &bytes, &missed), 3);
        assert_memory_equal(bytes, "789", 3);
        assert_int_equal(missed, 0);
        cay_output_done(&o);
}

static void tiny_pieces_of_alternating_streams_stay_bounded(void **state)
{
        struct cay_output o;
        struct cay_output_watcher w;
        const uint8_t *bytes;
        uint64_t missed, total = 0;
        unsigned stream, accepted = 0;
        uint8_t streams[SIZE];

        setup(&o);
        for (unsigned i = 0; i < 5000; i++)
                assert_int_equal(cay_output_put(&o, i % 2, "x", 1), 1); /* nobody strict: never stops */
        assert_true(o.run_count <= o.run_cap);
        cay_output_watch(&o, &w, o.end, true);
        for (unsigned i = 0; i < 5000; i++)
                if (cay_output_put(&o, i % 2, "y", 1) == 1)
                        streams[accepted++] = (uint8_t)(i % 2);
        assert_true(accepted >= o.run_cap); /* the table of runs is the wall, then the ring */
        for (size_t len; (len = cay_output_peek(&o, &w, &stream, &bytes, &missed)) > 0; total += len) {
                assert_int_equal(missed, 0);
                assert_int_equal(bytes[0], 'y');
                assert_int_equal(stream, streams[total]);
                cay_output_consume(&w, len);
        }
        assert_int_equal(total, accepted);
        assert_int_equal(cay_output_put(&o, 9, "z", 1), 1);
        cay_output_done(&o);
}

/* Everything that was ever put, and by which stream: the model. */
static struct {
        uint8_t bytes[1 << 16], streams[1 << 16];
        size_t len;
} all;

static unsigned next_random(unsigned *seed)
{
        *seed = *seed * 1664525 + 1013904223;
        return *seed >> 8;
}

static void read_some(struct cay_output *o, struct cay_output_watcher *w, unsigned *seed)
{
        const uint8_t *bytes;
        uint64_t missed, before = w->at;
        unsigned stream;
        size_t len = cay_output_peek(o, w, &stream, &bytes, &missed);

        if (w->strict)
                assert_int_equal(missed, 0);
        assert_int_equal(w->at, before + missed);
        if (len == 0)
                return;
        len = 1 + next_random(seed) % len;
        for (size_t i = 0; i < len; i++) {
                assert_int_equal(bytes[i], all.bytes[w->at + i]);
                assert_int_equal(stream, all.streams[w->at + i]);
        }
        cay_output_consume(w, len);
}

static void random_walks_agree_with_the_model(void **state)
{
        for (unsigned seed = 1; seed <= 60; seed++) {
                struct cay_output o;
                struct cay_output_watcher w[3];
                unsigned random = seed;

                setup(&o);
                all.len = 0;
                cay_output_watch(&o, &w[0], 0, true);
                cay_output_watch(&o, &w[1], 0, false);
                cay_output_watch(&o, &w[2], 0, seed % 2);
                for (unsigned step = 0; step < 1500; step++) {
                        uint8_t block[300];
                        size_t len = next_random(&random) % sizeof(block), put;
                        unsigned stream = next_random(&random) % 3;

                        for (size_t i = 0; i < len; i++)
                                block[i] = (uint8_t)next_random(&random);
                        put = cay_output_put(&o, stream, block, len);
                        assert_true(put <= len && all.len + put < sizeof(all.bytes));
                        memcpy(all.bytes + all.len, block, put);
                        memset(all.streams + all.len, (int)stream, put);
                        all.len += put;
                        assert_int_equal(o.end, all.len);
                        assert_true(o.end - o.oldest <= SIZE);
                        read_some(&o, &w[next_random(&random) % 3], &random);
                        if (all.len > sizeof(all.bytes) - 1000)
                                break;
                }
                cay_output_done(&o);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(comes_out_as_it_went_in),
                cmocka_unit_test(a_strict_watcher_stops_the_writer),
                cmocka_unit_test(a_slow_watcher_is_told_of_its_gap_once),
                cmocka_unit_test(resumes_from_an_offset),
                cmocka_unit_test(tiny_pieces_of_alternating_streams_stay_bounded),
                cmocka_unit_test(random_walks_agree_with_the_model),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
