/* SPDX-License-Identifier: Apache-2.0 */
/* Frame headers: layout, round trips, and every refusal. */
#include "unit/links/box/box_test.h"

#include <errno.h>

#include "foundation/base/cleanup.h"
#include "links/box/frame.h"

struct row {
        unsigned type, senders;
        uint32_t min, max;
};

static const struct row rows[] = {
#define CAY_FRAME(name, who, min_bytes, max_bytes, doc) { CAY_FRAME_##name, who, min_bytes, max_bytes },
#include "links/box/frames.def"
#undef CAY_FRAME
};

static bool is_link(unsigned type)
{
        return type == CAY_FRAME_HELLO || type == CAY_FRAME_WELCOME || type == CAY_FRAME_SYNC ||
               type == CAY_FRAME_PING || type == CAY_FRAME_PONG;
}

static bool has_stream(unsigned type)
{
        return type == CAY_FRAME_DATA || type == CAY_FRAME_ACK || type == CAY_FRAME_EOF;
}

static int check(const struct cay_frame *f, enum cay_frame_side from)
{
        uint8_t header[CAY_FRAME_HEADER], again[CAY_FRAME_HEADER];
        struct cay_frame back;
        int r;

        cay_frame_encode(f, header);
        r = cay_frame_decode(header, from, &back);
        if (r == 0) {
                cay_frame_encode(&back, again);
                assert_memory_equal(header, again, sizeof(header));
                assert_int_equal(back.type, f->type);
                assert_int_equal(back.seq, f->seq);
        } else {
                assert_int_equal(r, -EPROTO);
        }
        return r;
}

/* A frame that is fine when sent by that side. */
static struct cay_frame good(const struct row *row, enum cay_frame_side from)
{
        struct cay_frame f = { .len = row->min, .type = (uint16_t)row->type };

        f.channel = is_link(row->type) ? 0 : 7;
        if (has_stream(row->type)) {
                bool in = (from == CAY_SIDE_FRONT) == (row->type != CAY_FRAME_ACK);

                f.stream = in ? CAY_STREAM_IN : CAY_STREAM_ERR;
                f.seq = 5;
        }
        return f;
}

static void layout_is_written_down(void **state)
{
        static const uint8_t wanted[] = { 3, 0, 0, 0, 1, 2, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1, 7, 0, 1, 0 };
        struct cay_frame f = { .len = 3,
                               .channel = 0x201,
                               .seq = 0x0102030405060708,
                               .type = CAY_FRAME_DATA,
                               .stream = CAY_STREAM_OUT };
        uint8_t header[CAY_FRAME_HEADER];

        cay_frame_encode(&f, header);
        assert_memory_equal(header, wanted, sizeof(wanted));
        assert_int_equal(CAY_FRAME_DATA, 7);
        assert_int_equal(CAY_FRAME_PONG, 16);
}

static void only_its_senders_may_send_a_type(void **state)
{
        for (size_t i = 0; i < CAY_COUNT(rows); i++) {
                for (unsigned from = CAY_SIDE_FRONT; from <= CAY_SIDE_INIT; from++) {
                        struct cay_frame f = good(&rows[i], from);

                        assert_int_equal(check(&f, from), rows[i].senders & from ? 0 : -EPROTO);
                }
        }
}

static void lengths_outside_the_row_are_refused(void **state)
{
        for (size_t i = 0; i < CAY_COUNT(rows); i++) {
                enum cay_frame_side from = rows[i].senders & CAY_SIDE_FRONT ? CAY_SIDE_FRONT : CAY_SIDE_INIT;
                struct cay_frame f = good(&rows[i], from);

                f.len = rows[i].max;
                assert_int_equal(check(&f, from), 0);
                f.len = rows[i].max + 1;
                assert_int_equal(check(&f, from), -EPROTO);
                f.len = UINT32_MAX;
                assert_int_equal(check(&f, from), -EPROTO);
                f.len = rows[i].min - 1; /* of 0: the largest there is */
                assert_int_equal(check(&f, from), -EPROTO);
        }
}

static void channel_zero_is_the_links(void **state)
{
        for (size_t i = 0; i < CAY_COUNT(rows); i++) {
                enum cay_frame_side from = rows[i].senders & CAY_SIDE_FRONT ? CAY_SIDE_FRONT : CAY_SIDE_INIT;
                struct cay_frame f = good(&rows[i], from);

                f.channel = f.channel ? 0 : 1;
                assert_int_equal(check(&f, from), -EPROTO);
        }
}

static void streams_run_one_way(void **state)
{
        static const unsigned types[] = { CAY_FRAME_DATA, CAY_FRAME_EOF, CAY_FRAME_ACK };

        for (size_t i = 0; i < CAY_COUNT(types); i++) {
                bool back = types[i] == CAY_FRAME_ACK;
                struct cay_frame f = { .len = types[i] == CAY_FRAME_DATA,
                                       .channel = 1,
                                       .type = (uint16_t)types[i] };

                for (f.stream = 0; f.stream < 6; f.stream++) {
                        bool in = f.stream == CAY_STREAM_IN;
                        bool out = f.stream == CAY_STREAM_OUT || f.stream == CAY_STREAM_ERR;

                        assert_int_equal(check(&f, CAY_SIDE_FRONT), (back ? out : in) ? 0 : -EPROTO);
                        assert_int_equal(check(&f, CAY_SIDE_INIT), (back ? in : out) ? 0 : -EPROTO);
                }
        }
}

static void seq_and_stream_stay_zero_elsewhere(void **state)
{
        for (size_t i = 0; i < CAY_COUNT(rows); i++) {
                enum cay_frame_side from = rows[i].senders & CAY_SIDE_FRONT ? CAY_SIDE_FRONT : CAY_SIDE_INIT;
                struct cay_frame f = good(&rows[i], from);

                if (has_stream(f.type))
                        continue;
                f.seq = 1;
                assert_int_equal(check(&f, from), -EPROTO);
                f.seq = 0;
                f.stream = 1;
                assert_int_equal(check(&f, from), -EPROTO);
        }
}

static void offsets_cannot_wrap(void **state)
{
        struct cay_frame f = { .len = 10,
                               .channel = 1,
                               .seq = CAY_FRAME_OFFSET_MAX - 10,
                               .type = CAY_FRAME_DATA,
                               .stream = CAY_STREAM_OUT };

        assert_int_equal(check(&f, CAY_SIDE_INIT), 0);
        f.seq++;
        assert_int_equal(check(&f, CAY_SIDE_INIT), -EPROTO);
        f.seq = UINT64_MAX - 4;
        assert_int_equal(check(&f, CAY_SIDE_INIT), -EPROTO);
}

static void unknown_types_are_refused(void **state)
{
        struct cay_frame f = { .type = CAY_FRAME_NONE };

        assert_int_equal(check(&f, CAY_SIDE_FRONT), -EPROTO);
        f.type = CAY_FRAME_TYPE_COUNT;
        assert_int_equal(check(&f, CAY_SIDE_FRONT), -EPROTO);
        f.type = UINT16_MAX;
        assert_int_equal(check(&f, CAY_SIDE_FRONT), -EPROTO);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(layout_is_written_down),
                cmocka_unit_test(only_its_senders_may_send_a_type),
                cmocka_unit_test(lengths_outside_the_row_are_refused),
                cmocka_unit_test(channel_zero_is_the_links),
                cmocka_unit_test(streams_run_one_way),
                cmocka_unit_test(seq_and_stream_stay_zero_elsewhere),
                cmocka_unit_test(offsets_cannot_wrap),
                cmocka_unit_test(unknown_types_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
