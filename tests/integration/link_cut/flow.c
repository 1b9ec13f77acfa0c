/* SPDX-License-Identifier: Apache-2.0 */
/* The channel's callbacks, the reader, and the schedule of cuts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "integration/link_cut/flow.h"

struct rig rig;

static void on_opened(struct cay_box_channel *ch, uint32_t pid)
{
        struct flow *f = cay_container_of(ch, struct flow, ch);

        if (f->opened)
                rig.fault = "a channel was opened twice";
        f->opened = true;
        f->pid = pid;
}

static void on_data(struct cay_box_channel *ch, enum cay_stream stream, const void *bytes, size_t len)
{
        struct flow *f = cay_container_of(ch, struct flow, ch);

        if (cay_buf_put(&f->held[stream], bytes, len) < 0)
                rig.fault = "more came than the windows allow";
        f->received += len;
        f->came[stream] += len;
        if (f->received >= f->drop_at) {
                f->drop_at = UINT64_MAX;
                rig_cut(&rig, CUT_DROP);
        }
}

/* The last frames of a stream can be lost like any other. */
static void on_eof(struct cay_box_channel *ch, enum cay_stream stream)
{
        struct flow *f = cay_container_of(ch, struct flow, ch);

        if (f->drops_at_eof > 0) {
                f->drops_at_eof--;
                rig_cut(&rig, CUT_DROP);
        }
}

void flow_feed(struct flow *f)
{
        static uint8_t bytes[50000];

        while (f->sent < f->to_send) {
                size_t want =
                        f->to_send - f->sent < sizeof(bytes) ? (size_t)(f->to_send - f->sent) : sizeof(bytes);
                size_t n;

                link_cut_pattern(LINK_CUT_SEED_IN, f->sent, bytes, want);
                n = cay_box_channel_write(&f->ch, bytes, want);
                f->sent += n;
                if (f->sent == f->to_send)
                        cay_box_channel_write_eof(&f->ch);
                if (n < want)
                        break;
        }
}

static void on_room(struct cay_box_channel *ch)
{
        flow_feed(cay_container_of(ch, struct flow, ch));
}

static void on_end(struct cay_box_channel *ch, const struct cay_box_end *end)
{
        struct flow *f = cay_container_of(ch, struct flow, ch);

        if (f->ended)
                rig.fault = "a channel has ended twice";
        f->end = *end;
        f->ended = true;
}

static void prepare(struct flow *f, uint64_t out_seed)
{
        *f = (struct flow){ .drop_at = UINT64_MAX };
        f->ch = (struct cay_box_channel){ .on_data = on_data,
                                          .on_opened = on_opened,
                                          .on_eof = on_eof,
                                          .on_room = on_room,
                                          .on_end = on_end };
        f->out = link_cut_check_from(out_seed, 0);
        f->err = link_cut_check_from(LINK_CUT_SEED_ERR, 0);
        for (unsigned i = 0; i < CAY_STREAM_COUNT; i++)
                cay_buf_init(&f->held[i], CAY_BOX_WINDOW);
}

void flow_begin(struct flow *f, uint64_t out_seed, unsigned flags, const char *const *argv)
{
        prepare(f, out_seed);
        rig_exec(&rig, &f->ch, flags, argv);
}

void flow_begin_processes(struct flow *f)
{
        const struct cay_box_open open = {
                .kind = CAY_BOX_PROCESSES,
                .window = CAY_BOX_WINDOW,
                .file = { .uid = CAY_BOX_ID_DEFAULT, .gid = CAY_BOX_ID_DEFAULT },
        };

        prepare(f, 0);
        assert_int_equal(cay_box_channel_open(rig.client, &f->ch, &open, NULL, NULL), 0);
}

void flow_begin_emit(struct flow *f, uint64_t out_bytes, uint64_t err_bytes)
{
        char out[24], err[24];
        const char *const argv[] = { rig_program(), "emit", out, err, NULL };

        snprintf(out, sizeof(out), "%llu", (unsigned long long)out_bytes);
        snprintf(err, sizeof(err), "%llu", (unsigned long long)err_bytes);
        flow_begin(f, LINK_CUT_SEED_OUT, 0, argv);
}

void flow_end(struct flow *f)
{
        cay_box_channel_close(&f->ch);
        for (unsigned i = 0; i < CAY_STREAM_COUNT; i++)
                cay_buf_done(&f->held[i]);
}

static void keep_text(struct flow *f, const uint8_t *bytes, size_t len)
{
        for (size_t i = 0; i < len; i++)
                if (f->text_len < sizeof(f->text) - 1)
                        f->text[f->text_len++] = bytes[i];
}

/* What was read is acknowledged, which lets the command write on. */
void flow_read(struct flow *f)
{
        for (enum cay_stream i = 0; i < CAY_STREAM_COUNT && !f->is_reader_held; i++) {
                const uint8_t *bytes = (const uint8_t *)cay_buf_data(&f->held[i]);
                size_t len = f->held[i].len;

                if (len == 0)
                        continue;
                link_cut_check_feed(i == CAY_STREAM_ERR ? &f->err : &f->out, bytes, len);
                if (i == CAY_STREAM_ERR)
                        keep_text(f, bytes, len);
                cay_buf_clear(&f->held[i]);
                cay_box_channel_ack(&f->ch, i, len);
        }
}

void assert_stream(const struct link_cut_check *c, const char *name, uint64_t offset, uint64_t bytes)
{
        if (c->is_wrong)
                fail_msg("%s: wrong at byte %llu", name, (unsigned long long)c->wrong_at);
        assert_int_equal(c->bytes, bytes);
        assert_int_equal(c->hash, link_cut_pattern_hash(c->seed, offset, bytes));
}

void assert_exited(const struct flow *f, int code)
{
        if (f->end.code != CAY_OK || f->end.exec.exit_code != code)
                fail_msg("ended with code %u, exit %d, signal %d", f->end.code, f->end.exec.exit_code,
                         f->end.exec.signal);
}

/* The place of cut number i of n: spread over all bytes, at least half a step apart. */
static uint64_t cut_place(unsigned i, unsigned n, uint64_t bytes)
{
        uint64_t step = bytes / (n + 1);

        return (i + 1) * step - link_cut_random(&rig.random) % (step / 2);
}

void flow_run(struct flow *f, unsigned n, uint64_t bytes, struct growth *g)
{
        uint64_t next = cut_place(0, n, bytes);
        unsigned made = 0, rounds = 0;

        while (!f->ended) {
                rig_mend(&rig);
                rig_round(&rig);
                f->is_reader_held = ++rounds % 32 < 3; /* now and then what the windows allow piles up */
                flow_read(f);
                if (made == n || f->received < next || !rig.is_attached || f->ended)
                        continue;
                /* Every second drop comes in the midst of a frame's delivery, the others between rounds. */
                if (made % (2 * CUT_COUNT) == CUT_DROP)
                        f->drop_at = f->received + 1;
                else
                        rig_cut(&rig, made % CUT_COUNT);
                next = cut_place(++made, n, bytes);
                if (g != NULL)
                        growth_look(&rig, g, made == n / 2);
        }
        f->is_reader_held = false;
        flow_read(f);
        assert_int_equal(made, n);
        assert_true(rig.cuts >= n);
}

void flow_finish(struct flow *f)
{
        while (!f->ended) {
                rig_mend(&rig);
                rig_round(&rig);
                flow_read(f);
        }
}
