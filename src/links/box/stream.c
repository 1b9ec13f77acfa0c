/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sender and receiver of one direction of a channel.
 *
 * Theory of operation. A byte is always identified by its offset in the stream: offsets are 64 bits wide,
 * only grow and never wrap (CAY_FRAME_OFFSET_MAX). The sender's ring holds [acked, written); a byte's place
 * in it is offset % size, so a reconnect only sets `sent` back to the other end's offset, and no byte is
 * moved. The receiver holds no bytes: it only counts. It skips bytes that were sent twice. A gap, data beyond
 * the granted window and data after the end are protocol violations.
 *
 * A ring uses memory only as needed: it begins small, grows when full, and is freed when everything is
 * acknowledged, unless the last burst was large. (Freeing it each time would cost a flood one round of page
 * faults per window.) The rings of one link share a pool. When the pool is exhausted a ring stops growing,
 * which slows its writer but refuses nobody. A ring can always have CAY_SENDER_LEAST bytes, so slow readers
 * never block another stream. The agreed window is only the maximum of unacknowledged bytes: the receiver
 * does not need to know the ring's size. Rejected: reserving a window from the pool for each channel at open
 * (sixteen silent commands would fill a sandbox).
 */
#include "links/box/stream.h"

#include <assert.h>
#include <errno.h>

#include "links/box/frame.h"

#define FIRST_SIZE (16u * 1024)
#define GROWTH 4u

void cay_sender_init(struct cay_sender *s, uint32_t window)
{
        assert(window > 0);
        *s = (struct cay_sender){ .window = window };
}

void cay_sender_share(struct cay_sender *s, struct cay_ring_pool *pool, uint32_t max_bytes)
{
        assert(!s->ring);
        s->pool = pool;
        s->pool_max = max_bytes;
}

static void note_size(struct cay_sender *s, uint32_t size)
{
        if (s->pool)
                s->pool->bytes = s->pool->bytes - s->size + size;
        s->size = size;
}

void cay_sender_done(struct cay_sender *s)
{
        free(s->ring);
        s->ring = NULL;
        note_size(s, 0);
}

/* The size of the next ring; 0: it must not grow. */
static uint32_t next_size(const struct cay_sender *s)
{
        uint32_t least = s->window < CAY_SENDER_LEAST ? s->window : CAY_SENDER_LEAST;
        uint64_t size = s->size == 0 ? FIRST_SIZE : (uint64_t)s->size * GROWTH;

        if (s->size >= s->window)
                return 0;
        if (size > s->window)
                size = s->window;
        if (s->pool && (uint64_t)s->pool->bytes - s->size + size > s->pool_max)
                return s->size < least ? least : 0;
        return (uint32_t)size;
}

/* Kept bytes have another position in a ring of another size. */
static bool grow(struct cay_sender *s)
{
        uint32_t size = next_size(s);
        uint8_t *ring = size > 0 ? malloc(size) : NULL;

        if (!ring)
                return false;
        for (uint64_t at = s->acked; at < s->written;) {
                uint64_t from = at % s->size, to = at % size, len = s->written - at;

                if (len > s->size - from)
                        len = s->size - from;
                if (len > size - to)
                        len = size - to;
                memcpy(ring + to, s->ring + from, len);
                at += len;
        }
        if (!s->ring)
                s->emptied = s->written;
        free(s->ring);
        s->ring = ring;
        note_size(s, size);
        return true;
}

static bool is_over(const struct cay_sender *s)
{
        return s->eof || s->written > CAY_FRAME_OFFSET_MAX - s->window;
}

bool cay_sender_has_room(const struct cay_sender *s)
{
        return !is_over(s) && (s->written - s->acked < s->size || next_size(s) > 0);
}

int cay_sender_room(struct cay_sender *s, struct iovec ret[2])
{
        uint64_t used = s->written - s->acked;
        uint32_t at, room, first;

        if (is_over(s) || (used >= s->size && !grow(s)))
                return 0;
        at = (uint32_t)(s->written % s->size);
        room = s->size - (uint32_t)used;
        first = s->size - at;
        if (first >= room) {
                ret[0] = (struct iovec){ .iov_base = s->ring + at, .iov_len = room };
                return 1;
        }
        ret[0] = (struct iovec){ .iov_base = s->ring + at, .iov_len = first };
        ret[1] = (struct iovec){ .iov_base = s->ring, .iov_len = room - first };
        return 2;
}

void cay_sender_wrote(struct cay_sender *s, size_t len)
{
        assert(len <= s->size - (s->written - s->acked));
        s->written += len;
}

size_t cay_sender_put(struct cay_sender *s, const void *bytes, size_t len)
{
        struct iovec room[2];
        size_t put = 0;
        int n;

        while (put < len && (n = cay_sender_room(s, room)) > 0) {
                for (int i = 0; i < n && put < len; i++) {
                        size_t part = len - put < room[i].iov_len ? len - put : room[i].iov_len;

                        memcpy(room[i].iov_base, (const char *)bytes + put, part);
                        put += part;
                        s->written += part;
                }
        }
        return put;
}

size_t cay_sender_next(const struct cay_sender *s, size_t max, const uint8_t **ret, uint64_t *ret_offset)
{
        uint64_t left = s->written - s->sent;
        uint32_t at;

        if (left == 0 || max == 0)
                return 0;
        at = (uint32_t)(s->sent % s->size);
        if (left > s->size - at)
                left = s->size - at;
        if (left > max)
                left = max;
        *ret = s->ring + at;
        *ret_offset = s->sent;
        return (size_t)left;
}

void cay_sender_sent(struct cay_sender *s, size_t len)
{
        assert(len <= s->written - s->sent);
        s->sent += len;
}

/* The pool is scarce: other senders would get less than they need while this ring is kept empty. */
static bool is_short(const struct cay_sender *s)
{
        return s->pool && s->pool->bytes > s->pool_max / 2;
}

int cay_sender_ack(struct cay_sender *s, uint64_t offset)
{
        if (offset > s->sent)
                return -EPROTO;
        if (offset <= s->acked)
                return 0;
        s->acked = offset;
        if (s->acked == s->written) {
                if (s->eof || s->written - s->emptied < s->window / 4 || is_short(s))
                        cay_sender_done(s);
                s->emptied = s->written;
        }
        return 0;
}

int cay_sender_resume(struct cay_sender *s, uint64_t offset)
{
        if (offset < s->acked || offset > s->written)
                return -ERANGE;
        s->sent = offset;
        s->eof_sent = false;
        return 0;
}

bool cay_sender_is_finished(const struct cay_sender *s)
{
        return s->eof && s->sent == s->written;
}

void cay_receiver_init(struct cay_receiver *r, uint32_t window)
{
        *r = (struct cay_receiver){ .window = window };
}

int64_t cay_receiver_data(struct cay_receiver *r, uint64_t offset, uint32_t len)
{
        uint64_t end;

        if (offset > CAY_FRAME_OFFSET_MAX - len)
                return -EPROTO;
        end = offset + len;
        if (offset > r->got || end > r->acked + r->window || (r->eof && end > r->length))
                return -EPROTO;
        if (end <= r->got)
                return len;
        offset = r->got - offset;
        r->got = end;
        return (int64_t)offset;
}

int cay_receiver_eof(struct cay_receiver *r, uint64_t length)
{
        if (r->eof)
                return length == r->length ? 0 : -EPROTO;
        if (length != r->got)
                return -EPROTO;
        r->eof = true;
        r->length = length;
        return 0;
}

bool cay_receiver_consumed(struct cay_receiver *r, uint64_t upto)
{
        assert(upto <= r->got);
        if (upto <= r->acked || (upto < r->got && upto - r->acked < r->window / 4))
                return false;
        r->acked = upto;
        return true;
}
