/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run's streams: output to the caller with back-pressure, input to the command.
 *
 * Theory of operation. Output that the caller takes at once is acknowledged at once. What it does not take is
 * held in a buffer per stream and acknowledged when it is taken, so that the box link's window stops the
 * command; one stalled stream does not stop the other. When time is up the rest is drained: acknowledged on
 * arrival, so that init can send what it still has and then the END, whose place is behind it; the buffer has
 * room for that (a window, what init's pipes hold, and more). The output limit is counted again here, for an
 * init that does not.
 */
#include <errno.h>

#include "libcay/run_priv.h"

#define INPUT_CHUNK (64u * 1024)

static struct cay_run_stream *stream_of(struct cay_run *run, enum cay_stream stream)
{
        return &run->streams[stream == CAY_STREAM_ERR];
}

static size_t hand_out(struct cay_run *run, enum cay_stream stream, const void *bytes, size_t len)
{
        size_t taken = len;

        if (run->o.on_output != NULL && !run->drop_output)
                taken = run->o.on_output(run->o.ctx, stream == CAY_STREAM_ERR ? 2 : 1, bytes, len);
        if (stream == CAY_STREAM_ERR)
                run->result.err_bytes += taken;
        else
                run->result.out_bytes += taken;
        return taken;
}

static void hold(struct cay_run *run, enum cay_stream stream, const uint8_t *bytes, size_t len)
{
        struct cay_run_stream *s = stream_of(run, stream);
        size_t kept;

        if (s->held.max == 0)
                cay_buf_init(&s->held, CAY_RUN_HELD_MAX);
        kept = len < cay_buf_left(&s->held) ? len : cay_buf_left(&s->held);
        if (cay_buf_put(&s->held, bytes, kept) < 0)
                kept = 0;
        run->result.cut_bytes += len - kept; /* no memory, or a box that floods while its time is up */
        if (run->draining) {
                cay_box_channel_ack(&run->exec, stream, len);
        } else {
                s->unacked += kept;
                if (kept < len)
                        cay_box_channel_ack(&run->exec, stream, len - kept);
        }
}

static bool has_held(const struct cay_run_stream *s)
{
        return s->held.len > 0;
}

/* How much of the next len bytes is within the limit; notes when it is not all. */
static size_t within_limit(struct cay_run *run, size_t len)
{
        uint64_t limit = run->o.spec.limits.output_bytes, left;

        if (limit == 0)
                return len;
        left = run->received < limit ? limit - run->received : 0;
        if (len <= left)
                return len;
        run->facts.output_hit = true;
        run->result.cut_bytes += len - left;
        return (size_t)left;
}

void cay_run_output(struct cay_run *run, enum cay_stream stream, const void *bytes, size_t len)
{
        size_t good = within_limit(run, len), taken = 0;

        run->received += len;
        cay_run_network_note(run, bytes, len);
        if (good > 0 && !has_held(stream_of(run, stream)))
                taken = hand_out(run, stream, bytes, good);
        cay_box_channel_ack(&run->exec, stream, taken + (len - good));
        if (taken < good)
                hold(run, stream, (const uint8_t *)bytes + taken, good - taken);
        if (good < len && !run->o.spec.limits.output_cut && !run->leaving) {
                /* Init ends the command before this; one that lets it pass is not trusted with the rest. */
                run->facts.killed_by_us = CAY_CAUSE_OUTPUT;
                cay_run_leave(run);
        }
}

void cay_run_continue(struct cay_run *run, int stream)
{
        enum cay_stream which = stream == 2 ? CAY_STREAM_ERR : CAY_STREAM_OUT;
        struct cay_run_stream *s = stream_of(run, which);

        while (has_held(s)) {
                size_t len = s->held.len, taken = hand_out(run, which, cay_buf_data(&s->held), len);
                size_t ack = taken < s->unacked ? taken : s->unacked;

                if (run->drop_output)
                        break; /* the caller has ended the run in there */
                cay_buf_drop(&s->held, taken);
                s->unacked -= ack;
                if (ack > 0)
                        cay_box_channel_ack(&run->exec, which, ack);
                if (taken < len)
                        return;
        }
        cay_run_finish_if_flushed(run);
}

static void acknowledge_all(struct cay_run *run)
{
        for (unsigned i = 0; i < CAY_COUNT(run->streams); i++) {
                struct cay_run_stream *s = &run->streams[i];

                if (s->unacked > 0)
                        cay_box_channel_ack(&run->exec, i == 1 ? CAY_STREAM_ERR : CAY_STREAM_OUT, s->unacked);
                s->unacked = 0;
        }
}

void cay_run_drain(struct cay_run *run)
{
        run->draining = true;
        acknowledge_all(run);
}

void cay_run_drop_output(struct cay_run *run)
{
        run->drop_output = true;
        for (unsigned i = 0; i < CAY_COUNT(run->streams); i++) {
                struct cay_run_stream *s = &run->streams[i];

                run->result.cut_bytes += s->held.len;
                cay_buf_clear(&s->held);
        }
        acknowledge_all(run);
}

bool cay_run_is_flushed(const struct cay_run *run)
{
        return !has_held(&run->streams[0]) && !has_held(&run->streams[1]);
}

static void input_end(struct cay_run *run)
{
        cay_watch_remove(&run->input.watch);
        run->input.fd = -1;
        cay_box_channel_write_eof(&run->exec);
}

/* Gives the channel what is left of the last read; true when all of it is gone. */
static bool push(struct cay_run *run)
{
        struct cay_run_input *in = &run->input;

        while (in->rest_at < in->rest_len) {
                size_t taken =
                        cay_box_channel_write(&run->exec, in->rest + in->rest_at, in->rest_len - in->rest_at);

                if (taken == 0)
                        return false;
                in->rest_at += taken;
        }
        return true;
}

/* One read; false when there is nothing to go on with now. */
static bool pull(struct cay_run *run)
{
        struct cay_run_input *in = &run->input;
        ssize_t n = read(in->fd, in->rest, INPUT_CHUNK);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return false;
        if (n <= 0) { /* its end, or something that cannot be read: no more input either way */
                input_end(run);
                return false;
        }
        in->rest_at = 0;
        in->rest_len = (size_t)n;
        return true;
}

static void on_readable(struct cay_watch *w, uint32_t events)
{
        struct cay_run *run = cay_container_of(w, struct cay_run, input.watch);

        if (pull(run) && !push(run))
                cay_watch_remove(w); /* not EPOLLIN off: a hang-up would be told over and over */
}

void cay_run_input_room(struct cay_run *run)
{
        struct cay_run_input *in = &run->input;

        if (in->fd < 0 || in->rest == NULL || !cay_box_channel_is_open(&run->exec) || !push(run))
                return;
        if (in->in_turns) {
                while (in->fd >= 0 && pull(run) && push(run))
                        ;
                return;
        }
        if (in->watch.loop == NULL &&
            cay_watch_add(run->loop, &in->watch, in->fd, EPOLLIN, on_readable) == -EPERM) {
                in->in_turns = true; /* a regular file, or a device without polling */
                cay_run_input_room(run);
        }
}

void cay_run_input_begin(struct cay_run *run)
{
        struct cay_run_input *in = &run->input;

        if (run->o.stdin_fd < 0)
                return;
        in->fd = run->o.stdin_fd;
        in->rest = malloc(INPUT_CHUNK);
        if (in->rest == NULL)
                input_end(run);
        else
                cay_run_input_room(run);
}

void cay_run_io_done(struct cay_run *run)
{
        cay_watch_remove(&run->input.watch);
        run->input.fd = -1;
        free(cay_take(run->input.rest));
        for (unsigned i = 0; i < CAY_COUNT(run->streams); i++)
                cay_buf_done(&run->streams[i].held);
}
