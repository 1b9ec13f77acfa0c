/* SPDX-License-Identifier: Apache-2.0 */
/* Moves bytes between a client and a channel. */
#include "domain/ops/op_file_flow.h"

#include <string.h>

#include "domain/settings/config.h"

#define PIECE (64u * 1024)

static struct cay_op_flow *of(struct cay_service_channel *ch)
{
        return cay_container_of(ch, struct cay_op_flow, base.ch);
}

static void flow_done(struct cay_op_channel *base)
{
        struct cay_op_flow *f = cay_container_of(base, struct cay_op_flow, base);

        cay_packer_free(f->packer);
        cay_unpacker_free(f->unpacker);
        free(f->piece);
}

static void fail_memory(struct cay_op_flow *f)
{
        struct cay_error err = { 0 };

        cay_fail(&err, CAY_LIMIT, "no memory for this transfer; try again");
        cay_op_channel_fail(&f->base, &err);
}

/*
 * Out: the head is sent with the first byte or with the end, so that a failed open is an error and not a
 * stream.
 */

static int begin_out(struct cay_op_flow *f)
{
        struct cay_op_call *c = f->base.call;

        f->begun = true;
        return cay_op_begin(c, &f->head);
}

static void drop(struct cay_op_flow *f)
{
        struct cay_op_call *c = cay_op_channel_finish(&f->base);

        cay_op_abort(c);
}

/* How much is buffered, or negative: the client is gone. */
static ssize_t put_packed(struct cay_op_flow *f, const void *bytes, size_t len, bool last)
{
        struct cay_op_call *c = f->base.call;
        struct cay_pack_io io = { .in = bytes, .in_len = len };
        enum cay_pack_state state;
        ssize_t queued = 0;

        do {
                size_t made;

                io.out = f->piece;
                io.out_room = PIECE;
                state = cay_packer_step(f->packer, &io, last);
                made = PIECE - io.out_room;
                if (made > 0)
                        queued = cay_op_write(c, f->piece, made);
        } while (queued >= 0 && state == CAY_PACK_MORE && (io.in_len > 0 || io.out_room == 0 || last));
        return queued;
}

static void on_out(struct cay_service_channel *ch, const void *bytes, size_t len)
{
        struct cay_op_flow *f = of(ch);
        struct cay_op_call *c = f->base.call;
        ssize_t queued = -1;

        f->unacked += len;
        if (f->is_empty)
                len = 0;
        if (f->begun || begin_out(f) == 0)
                queued = f->packer ? put_packed(f, bytes, len, false) : cay_op_write(c, bytes, len);
        if (queued < 0) {
                drop(f);
        } else if (queued < (ssize_t)CAY_OP_HIGH) {
                cay_op_channel_ack(&f->base, f->unacked);
                f->unacked = 0;
        } else {
                cay_op_channel_await(&f->base, false); /* for the client */
        }
}

static void on_drain(struct cay_op_call *c)
{
        struct cay_op_flow *f = c->state;

        if (f->unacked == 0)
                return;
        cay_op_channel_ack(&f->base, f->unacked);
        f->unacked = 0;
}

/* An error in the middle can only be shown by ending before the announced length. */
static void on_out_end(struct cay_service_channel *ch, const struct cay_box_end *end,
                       const struct cay_error *err)
{
        struct cay_op_flow *f = of(ch);
        bool failed = err && err->code != CAY_OK;
        struct cay_op_call *c;

        (void)end;
        if (failed && !f->begun) {
                cay_op_channel_fail(&f->base, err);
        } else if (failed || (!f->begun && begin_out(f) < 0) ||
                   (f->packer && put_packed(f, "", 0, true) < 0)) {
                drop(f);
        } else {
                c = cay_op_channel_finish(&f->base);
                cay_op_end(c);
        }
}

static int make_packer(struct cay_op_flow *f)
{
        if (f->form == CAY_PACK_NONE)
                return 0;
        f->packer = cay_packer_new(f->form);
        f->piece = malloc(PIECE);
        return f->packer && f->piece ? 0 : -1;
}

void cay_op_flow_out_take(struct cay_op_flow *f, struct cay_op_call *c, const char *sandbox,
                          const struct cay_box_open *open)
{
        struct cay_box_open mine = *open;

        f->base.done = flow_done;
        f->base.ch.on_data = on_out;
        f->base.ch.on_end = on_out_end;
        if (f->form != CAY_PACK_NONE)
                mine.window = CAY_OP_PACK_WINDOW;
        if (make_packer(f) < 0) {
                flow_done(&f->base);
                free(f);
                cay_op_fail_memory(c);
        } else if (cay_op_channel_open(&f->base, c, sandbox, &mine) == 0) {
                c->on_drain = on_drain;
        }
}

/* In */

enum pumped { PUMP_FULL, PUMP_EMPTY, PUMP_FAILED };

/*
 * Also for an invalid body: the box sees the end, cleans up, and reports its own end; the error is answered
 * then. The rest of the body is read and dropped.
 */
static void say_eof(struct cay_op_flow *f)
{
        f->eof_said = true;
        cay_service_channel_write_eof(&f->base.ch);
        cay_op_channel_await(&f->base, true);
}

/* How much the box takes now; it has to take the rest. */
static size_t hand_on(struct cay_op_flow *f, const void *bytes, size_t len)
{
        size_t taken = cay_service_channel_write(&f->base.ch, bytes, len);

        cay_op_channel_await(&f->base, taken < len);
        return taken;
}

/* Unpacks and passes on until there is nothing left or no room. */
static enum pumped pump(struct cay_op_flow *f, struct cay_pack_io *io)
{
        for (;;) {
                if (f->piece_at < f->piece_len)
                        f->piece_at += hand_on(f, f->piece + f->piece_at, f->piece_len - f->piece_at);
                if (f->piece_at < f->piece_len)
                        return PUMP_FULL;
                f->piece_at = f->piece_len = 0;
                if (io->in_len == 0 && !f->has_more)
                        return PUMP_EMPTY;
                io->out = f->piece;
                io->out_room = PIECE;
                if (cay_unpacker_step(f->unpacker, io, &f->bad) < 0) {
                        say_eof(f);
                        return PUMP_FAILED;
                }
                f->piece_len = PIECE - io->out_room;
                f->has_more = io->out_room == 0;
        }
}

static int decide(struct cay_op_flow *f)
{
        if (f->sniffs)
                f->form = cay_pack_sniff(f->first, f->first_len);
        f->decided = true;
        if (f->form == CAY_PACK_NONE)
                return 0;
        f->unpacker = cay_unpacker_new(f->form, f->base.call->world->config->max_body);
        f->piece = malloc(PIECE);
        return f->unpacker && f->piece ? 0 : -1;
}

/* How much was taken. */
static size_t feed(struct cay_op_flow *f, const void *bytes, size_t len)
{
        struct cay_pack_io io = { .in = bytes, .in_len = len };

        if (f->eof_said)
                return len;
        if (!f->unpacker)
                return hand_on(f, bytes, len);
        return pump(f, &io) == PUMP_FAILED ? len : len - io.in_len;
}

/*
 * Takes the bytes that identify the format, and passes them on. False: more are needed, or the call is ended.
 */
static bool take_first(struct cay_op_flow *f, const uint8_t *bytes, size_t len, bool is_all)
{
        size_t part = sizeof(f->first) - f->first_len;

        if (part > len)
                part = len;
        memcpy(f->first + f->first_len, bytes, part);
        f->first_len += part;
        if (f->first_len < sizeof(f->first) && !is_all)
                return false;
        if (decide(f) < 0 || (f->first_len > 0 && feed(f, f->first, f->first_len) < f->first_len)) {
                fail_memory(f); /* the least that an empty window takes */
                return false;
        }
        return true;
}

static size_t on_body(struct cay_op_call *c, const void *bytes, size_t len)
{
        struct cay_op_flow *f = c->state;
        size_t had = f->first_len;

        if (!f->decided) {
                if (!take_first(f, bytes, len, false))
                        return len;
                had = sizeof(f->first) - had;
                return had + feed(f, (const uint8_t *)bytes + had, len - had);
        }
        return feed(f, bytes, len);
}

/* The body is complete: sends the rest and the end. */
static void finish_in(struct cay_op_flow *f)
{
        struct cay_pack_io io = { 0 };

        if (f->eof_said || (f->unpacker && pump(f, &io) != PUMP_EMPTY))
                return;
        if (f->unpacker)
                cay_unpacker_finish(f->unpacker, &f->bad); /* -1: answered when the box has seen the end */
        say_eof(f);
}

static void on_body_end(struct cay_op_call *c)
{
        struct cay_op_flow *f = c->state;

        f->body_over = true;
        if (f->decided || take_first(f, f->first, 0, true))
                finish_in(f);
}

static void on_room(struct cay_service_channel *ch)
{
        struct cay_op_flow *f = of(ch);
        struct cay_pack_io io = { 0 };

        if (f->eof_said)
                return;
        if (f->body_over)
                finish_in(f);
        else if (!f->unpacker || pump(f, &io) == PUMP_EMPTY)
                cay_op_resume(f->base.call);
}

static void on_in_end(struct cay_service_channel *ch, const struct cay_box_end *end,
                      const struct cay_error *err)
{
        struct cay_op_flow *f = of(ch);
        struct cay_op_result o;

        if (end && f->bad.code != CAY_OK) {
                cay_op_channel_fail(&f->base, &f->bad);
                return;
        }
        if (err && err->code != CAY_OK) {
                cay_op_channel_fail(&f->base, err);
                return;
        }
        cay_op_result_begin(&o, f->base.call);
        f->put_answer(f, &o.j, end);
        cay_op_result_answer(&o, cay_op_channel_finish(&f->base), CAY_OP_OK);
}

void cay_op_flow_in_take(struct cay_op_flow *f, struct cay_op_call *c, const char *sandbox,
                         const struct cay_box_open *open)
{
        struct cay_error err = { 0 };

        f->base.done = flow_done;
        f->base.ch.on_end = on_in_end;
        f->base.ch.on_room = on_room;
        if (cay_op_channel_open(&f->base, c, sandbox, open) < 0)
                return;
        cay_op_channel_await(&f->base, false); /* for the body */
        c->on_body = on_body;
        c->on_body_end = on_body_end;
        if (!f->sniffs && decide(f) < 0) {
                fail_memory(f);
        } else if (cay_op_read(c) < 0) {
                cay_fail(&err, CAY_LIMIT, "the body is larger than max_body; send less");
                cay_op_channel_fail(&f->base, &err);
        }
}
