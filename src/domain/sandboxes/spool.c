/* SPDX-License-Identifier: Apache-2.0 */
/* Output in a file (spool.h). */
#include "domain/sandboxes/spool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "foundation/base/crc32c.h"
#include "domain/sandboxes/spool_priv.h"

#define HEADER_BYTES 4096u
#define MAGIC "caySPOOL"
#define VERSION 2u
#define BLOCKS_AT_ONCE 40u /* of a read: 128 KiB and both ends */

struct slot {
        uint64_t end, oldest, got[CAY_SPOOL_STREAMS], run_first, run_end;
        uint32_t tail_sum;
        uint32_t sum; /* covers the data before it, and the file's sizes */
};

struct cay_spool_header {
        char magic[8];
        uint32_t version;
        uint32_t active; /* the valid slot */
        uint64_t keep, slack;
        struct slot slots[2];
        uint32_t in_closed;
        uint32_t end_len; /* 0: `end` is missing or damaged */
        uint32_t end_sum;
        uint8_t end[CAY_SPOOL_END_MAX];
        uint64_t in_taken;
};
_Static_assert(sizeof(struct cay_spool_header) <= HEADER_BYTES, "one page");
_Static_assert(CAY_SPOOL_PIECE_MAX / CAY_SPOOL_BLOCK + 2 <= BLOCKS_AT_ONCE, "the sums of a put");

/* Earlier stores reach the page before later ones: enough to survive the death of a process. */
static void in_order(void)
{
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/*
 * Layout: a header page, the runs, the checksums, the bytes. A block never wraps around the ring's end, and
 * the block of `oldest` stays whole.
 */

static uint64_t round_up(uint64_t n)
{
        return (n + CAY_SPOOL_BLOCK - 1) / CAY_SPOOL_BLOCK * CAY_SPOOL_BLOCK;
}

static uint64_t block_start(uint64_t cursor)
{
        return cursor - cursor % CAY_SPOOL_BLOCK;
}

static uint64_t runs_cap(const struct cay_spool *sp)
{
        return CAY_SPOOL_RUNS_KEEP + sp->slack + 1;
}

static uint64_t data_cap(const struct cay_spool *sp)
{
        return round_up(sp->keep + sp->slack + CAY_SPOOL_PIECE_MAX + CAY_SPOOL_BLOCK);
}

static uint64_t sums_cap(const struct cay_spool *sp)
{
        return data_cap(sp) / CAY_SPOOL_BLOCK;
}

static off_t run_offset(const struct cay_spool *sp, uint64_t run)
{
        return (off_t)(HEADER_BYTES + run % runs_cap(sp) * sizeof(struct cay_spool_run));
}

static off_t sum_offset(const struct cay_spool *sp, uint64_t block)
{
        return (off_t)(HEADER_BYTES + runs_cap(sp) * sizeof(struct cay_spool_run) +
                       block % sums_cap(sp) * sizeof(uint32_t));
}

static off_t data_offset(const struct cay_spool *sp, uint64_t cursor)
{
        return (off_t)(round_up((uint64_t)sum_offset(sp, 0) + sums_cap(sp) * sizeof(uint32_t)) +
                       cursor % data_cap(sp));
}

/* The first part of a block's checksum. */
static uint32_t sum_begin(uint64_t block)
{
        return cay_crc32c(0, &block, sizeof(block));
}

static uint32_t slot_sum(const struct cay_spool_header *head, const struct slot *slot)
{
        uint32_t sum = cay_crc32c(head->version, &head->keep, sizeof(head->keep));

        sum = cay_crc32c(sum, &head->slack, sizeof(head->slack));
        return cay_crc32c(sum, slot, offsetof(struct slot, sum));
}

static int write_at(int fd, const void *bytes, size_t len, off_t offset)
{
        const char *at = bytes;

        while (len > 0) {
                ssize_t n = pwrite(fd, at, len, offset);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : -EIO;
                at += n;
                len -= (size_t)n;
                offset += n;
        }
        return 0;
}

/* A truncated file counts as damaged like any other. */
static int read_at(int fd, void *buf, size_t len, off_t offset)
{
        char *at = buf;

        while (len > 0) {
                ssize_t n = pread(fd, at, len, offset);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return -EBADMSG;
                at += n;
                len -= (size_t)n;
                offset += n;
        }
        return 0;
}

int cay_spool_runs_read(const struct cay_spool *sp, uint64_t run, struct cay_spool_run *ret, unsigned count)
{
        uint64_t left = runs_cap(sp) - run % runs_cap(sp);
        unsigned first = count < left ? count : (unsigned)left;
        int r = read_at(sp->fd, ret, first * sizeof(*ret), run_offset(sp, run));

        if (r == 0 && first < count)
                r = read_at(sp->fd, ret + first, (count - first) * sizeof(*ret), run_offset(sp, run + first));
        return r;
}

static int map(struct cay_spool *sp)
{
        void *page = mmap(NULL, HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, sp->fd, 0);

        if (page == MAP_FAILED)
                return -errno;
        sp->head = page;
        return 0;
}

void cay_spool_close(struct cay_spool *sp)
{
        if (sp->head)
                munmap(sp->head, HEADER_BYTES);
        if (sp->fd >= 0)
                close(sp->fd);
        *sp = CAY_SPOOL_CLOSED;
}

static int begin(struct cay_spool *sp, int dir, const char *name, int flags, uint64_t keep, uint64_t window)
{
        struct cay_spool made = {
                .fd = -1, .keep = keep, .slack = window * CAY_SPOOL_STREAMS, .second = UINT64_MAX
        };
        int r;

        if (keep == 0 || keep > CAY_SPOOL_KEEP_MAX || window > CAY_SPOOL_KEEP_MAX)
                return -EINVAL;
        made.fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
        if (made.fd < 0)
                return -errno;
        /* The page must be allocated before it is mapped: a hole on a full disk raises SIGBUS. */
        do
                r = -posix_fallocate(made.fd, 0, HEADER_BYTES);
        while (r == -EINTR); /* on tmpfs, any signal interrupts it */
        if (r == 0)
                r = map(&made);
        if (r < 0) {
                unlinkat(dir, name, 0);
                cay_spool_close(&made);
                return r;
        }
        made.head->version = VERSION;
        made.head->keep = keep;
        made.head->slack = made.slack;
        made.tail_sum = made.head->slots[0].tail_sum = sum_begin(0);
        made.head->slots[0].sum = slot_sum(made.head, &made.head->slots[0]);
        in_order();
        memcpy(made.head->magic, MAGIC, sizeof(made.head->magic));
        *sp = made;
        return 0;
}

int cay_spool_create(struct cay_spool *sp, int dir, const char *name, uint64_t keep, uint64_t window)
{
        return begin(sp, dir, name, O_CREAT | O_EXCL, keep, window);
}

int cay_spool_reuse(struct cay_spool *sp, int dir, const char *name, uint64_t keep, uint64_t window)
{
        return begin(sp, dir, name, 0, keep, window);
}

static bool is_sound(const struct cay_spool *sp)
{
        return sp->end <= CAY_SPOOL_CURSOR_MAX && sp->oldest <= sp->end &&
               sp->end - sp->oldest <= data_cap(sp) && sp->run_first <= sp->run_end &&
               sp->run_end - sp->run_first <= runs_cap(sp) && sp->got[0] <= sp->end &&
               sp->end - sp->got[0] == sp->got[1] && (sp->run_first < sp->run_end || sp->end == 0);
}

static int check_header(const struct cay_spool_header *head)
{
        if (memcmp(head->magic, MAGIC, sizeof(head->magic)) != 0)
                return -EBADMSG;
        if (head->version == 1) /* it had no checksums */
                return -EPROTONOSUPPORT;
        if (head->version != VERSION || head->active > 1 || head->keep == 0 ||
            head->keep > CAY_SPOOL_KEEP_MAX || head->end_len > CAY_SPOOL_END_MAX ||
            head->slack > CAY_SPOOL_STREAMS * CAY_SPOOL_KEEP_MAX)
                return -EBADMSG;
        return slot_sum(head, &head->slots[head->active]) == head->slots[head->active].sum ? 0 : -EBADMSG;
}

int cay_spool_open(struct cay_spool *sp, int dir, const char *name)
{
        struct cay_spool found = CAY_SPOOL_CLOSED;
        const struct slot *slot;
        struct stat st;
        int r;

        found.fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (found.fd < 0)
                return -errno;
        if (fstat(found.fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < (off_t)HEADER_BYTES)
                r = -EBADMSG;
        else
                r = map(&found);
        if (r == 0)
                r = check_header(found.head);
        if (r == 0) {
                slot = &found.head->slots[found.head->active];
                found.keep = found.head->keep;
                found.slack = found.head->slack;
                found.end = slot->end;
                found.oldest = slot->oldest;
                memcpy(found.got, slot->got, sizeof(found.got));
                found.run_first = slot->run_first;
                found.run_end = slot->run_end;
                found.tail_sum = slot->tail_sum;
                r = is_sound(&found) ? 0 : -EBADMSG;
        }
        if (r < 0) {
                cay_spool_close(&found);
                return r;
        }
        cay_spool_runs_load(&found);
        *sp = found;
        return 0;
}

bool cay_spool_has_room(const struct cay_spool *sp, uint64_t low)
{
        if (low >= sp->end)
                return true;
        /*
         * Runs below the low-water mark may be dropped. Counting all of them is safe; only streams that
         * alternate in tiny pieces notice.
         */
        return sp->end - low <= sp->keep && sp->run_end - sp->run_first <= CAY_SPOOL_RUNS_KEEP;
}

/* Drops the oldest bytes and runs, up to the low-water mark: in `next` only, not yet in the header. */
static void let_go(const struct cay_spool *sp, struct cay_spool *next, uint64_t low)
{
        uint64_t least = next->end > next->keep ? next->end - next->keep : 0;

        if (least > low)
                least = low;
        if (least > next->oldest)
                next->oldest = least;
        while (next->second <= low && next->second < next->end &&
               (next->second <= next->oldest || next->run_end - next->run_first > CAY_SPOOL_RUNS_KEEP)) {
                if (next->oldest < next->second)
                        next->oldest = next->second;
                next->run_first++;
                cay_spool_runs_find_second(sp, next);
        }
}

/* Checksums of the blocks that these bytes complete, and of the last block. */
static int write_sums(const struct cay_spool *sp, const uint8_t *bytes, size_t len, uint32_t *ret_tail)
{
        uint64_t block = sp->end / CAY_SPOOL_BLOCK, at = sp->end;
        uint32_t sums[BLOCKS_AT_ONCE], tail = sp->tail_sum;
        unsigned count = 0, first;
        int r = 0;

        while (len > 0) {
                size_t n = CAY_SPOOL_BLOCK - at % CAY_SPOOL_BLOCK;

                if (n > len)
                        n = len;
                tail = cay_crc32c(tail, bytes, n);
                bytes += n;
                at += n;
                len -= n;
                if (at % CAY_SPOOL_BLOCK != 0)
                        continue;
                sums[count++] = tail;
                tail = sum_begin(block + count);
        }
        *ret_tail = tail;
        first = sums_cap(sp) - block % sums_cap(sp) < count ? (unsigned)(sums_cap(sp) - block % sums_cap(sp))
                                                            : count;
        if (first > 0)
                r = write_at(sp->fd, sums, first * sizeof(sums[0]), sum_offset(sp, block));
        if (r == 0 && first < count)
                r = write_at(sp->fd, sums + first, (count - first) * sizeof(sums[0]),
                             sum_offset(sp, block + first));
        return r;
}

static int write_bytes(const struct cay_spool *sp, const void *bytes, size_t len)
{
        uint64_t left = data_cap(sp) - sp->end % data_cap(sp);
        size_t first = len < left ? len : (size_t)left;
        int r = write_at(sp->fd, bytes, first, data_offset(sp, sp->end));

        if (r == 0 && len > first)
                r = write_at(sp->fd, (const char *)bytes + first, len - first,
                             data_offset(sp, sp->end + first));
        return r;
}

static void commit(struct cay_spool *sp, const struct cay_spool *next)
{
        struct cay_spool_header *head = sp->head;
        uint32_t other = !head->active;
        struct slot *slot = &head->slots[other];

        slot->end = next->end;
        slot->oldest = next->oldest;
        memcpy(slot->got, next->got, sizeof(slot->got));
        slot->run_first = next->run_first;
        slot->run_end = next->run_end;
        slot->tail_sum = next->tail_sum;
        slot->sum = slot_sum(head, slot);
        in_order();
        __atomic_store_n(&head->active, other, __ATOMIC_RELEASE);
        *sp = *next;
}

static bool begins_run(const struct cay_spool *sp, unsigned stream)
{
        return sp->run_first == sp->run_end || sp->stream != stream;
}

static bool is_full(const struct cay_spool *sp, unsigned stream, size_t len)
{
        return sp->end + len - block_start(sp->oldest) > data_cap(sp) ||
               (begins_run(sp, stream) && sp->run_end - sp->run_first >= runs_cap(sp));
}

/*
 * Completely full: what was released since the last put is dropped in a step of its own, before it is
 * overwritten.
 */
static void make_room(struct cay_spool *sp, uint64_t low)
{
        struct cay_spool next = *sp;

        let_go(sp, &next, low);
        commit(sp, &next);
}

static int write_run(const struct cay_spool *sp, struct cay_spool *next, unsigned stream)
{
        struct cay_spool_run run;

        cay_spool_run_fill(&run, sp->run_end, sp->end, stream);
        if (sp->run_end - sp->run_first == 1)
                next->second = sp->end;
        next->run_end++;
        next->stream = stream;
        next->last = sp->end;
        return write_at(sp->fd, &run, sizeof(run), run_offset(sp, sp->run_end));
}

int cay_spool_put(struct cay_spool *sp, unsigned stream, const void *bytes, size_t len, uint64_t low)
{
        struct cay_spool next;
        int r = 0;

        assert(stream < CAY_SPOOL_STREAMS && len <= CAY_SPOOL_PIECE_MAX);
        if (len == 0)
                return 0;
        if (is_full(sp, stream, len))
                make_room(sp, low);
        if (is_full(sp, stream, len) || sp->end > CAY_SPOOL_CURSOR_MAX - len)
                return -ENOBUFS;
        next = *sp;
        if (begins_run(sp, stream))
                r = write_run(sp, &next, stream);
        if (r == 0)
                r = write_bytes(sp, bytes, len);
        if (r == 0)
                r = write_sums(sp, bytes, len, &next.tail_sum);
        if (r < 0)
                return r;
        next.end += len;
        next.got[stream] += len;
        let_go(sp, &next, low);
        commit(sp, &next);
        return 0;
}

/* Reading */

struct reading { /* whole blocks, including the bytes around the requested ones */
        uint64_t from, to;
        uint8_t before[CAY_SPOOL_BLOCK], behind[CAY_SPOOL_BLOCK];
        uint32_t sums[BLOCKS_AT_ONCE];
};

static int read_blocks(const struct cay_spool *sp, struct reading *rd, uint64_t at, void *buf, size_t size)
{
        const struct iovec parts[] = { { rd->before, at - rd->from },
                                       { buf, size },
                                       { rd->behind, rd->to - at - size } };
        unsigned whole = (unsigned)(rd->to / CAY_SPOOL_BLOCK - rd->from / CAY_SPOOL_BLOCK);
        ssize_t n;

        do
                n = preadv(sp->fd, parts, CAY_COUNT(parts), data_offset(sp, rd->from));
        while (n < 0 && errno == EINTR);
        if (n < 0 || (uint64_t)n != rd->to - rd->from)
                return -EBADMSG;
        rd->sums[whole] = sp->tail_sum; /* used if the last block is not complete */
        return whole > 0 ? read_at(sp->fd, rd->sums, whole * sizeof(rd->sums[0]),
                                   sum_offset(sp, rd->from / CAY_SPOOL_BLOCK))
                         : 0;
}

/* How many of the bytes at `at` are intact: up to the first damaged block. */
static size_t count_good(const struct reading *rd, uint64_t at, const uint8_t *buf, size_t size)
{
        size_t good = 0;

        for (uint64_t start = rd->from, i = 0; start < rd->to; start += CAY_SPOOL_BLOCK, i++) {
                uint64_t stop = start + CAY_SPOOL_BLOCK < rd->to ? start + CAY_SPOOL_BLOCK : rd->to;
                size_t n = (size_t)((stop < at + size ? stop : at + size) - (at + good));
                uint32_t sum = sum_begin(start / CAY_SPOOL_BLOCK);

                if (start < at)
                        sum = cay_crc32c(sum, rd->before, at - start);
                sum = cay_crc32c(sum, buf + good, n);
                if (stop > at + size)
                        sum = cay_crc32c(sum, rd->behind, stop - at - size);
                if (sum != rd->sums[i])
                        break;
                good += n;
        }
        return good;
}

/* The intact length; 0: the first block is damaged. */
static size_t read_checked(const struct cay_spool *sp, uint64_t at, void *buf, size_t size)
{
        struct reading rd;
        int r;

        rd.from = block_start(at);
        rd.to = round_up(at + size) < sp->end ? round_up(at + size) : sp->end;
        r = read_blocks(sp, &rd, at, buf, size);
        if (r < 0 && rd.to - rd.from > CAY_SPOOL_BLOCK) { /* the first one may be readable anyway */
                rd.to = rd.from + CAY_SPOOL_BLOCK;
                size = (size_t)(rd.to - at);
                r = read_blocks(sp, &rd, at, buf, size);
        }
        return r < 0 ? 0 : count_good(&rd, at, buf, size);
}

ssize_t cay_spool_read(struct cay_spool *sp, struct cay_spool_place *place, void *buf, size_t size,
                       unsigned *ret_stream)
{
        uint64_t next, left;
        int r;

        if (place->at >= sp->end || size == 0)
                return 0;
        if (place->at < sp->oldest)
                return -ERANGE;
        r = cay_spool_runs_find(sp, place, &next, ret_stream);
        if (r < 0)
                return r;
        left = data_cap(sp) - place->at % data_cap(sp);
        if (left > next - place->at)
                left = next - place->at;
        if (size > left)
                size = (size_t)left;
        if (size > (BLOCKS_AT_ONCE - 2) * CAY_SPOOL_BLOCK)
                size = (BLOCKS_AT_ONCE - 2) * CAY_SPOOL_BLOCK;
        size = read_checked(sp, place->at, buf, size);
        if (size == 0)
                return -EBADMSG;
        place->at += size;
        return (ssize_t)size;
}

uint64_t cay_spool_skip(struct cay_spool *sp, uint64_t at)
{
        while (at < sp->end) {
                struct cay_spool_place place = { .at = at };
                uint64_t next;
                unsigned stream;
                uint8_t byte;

                if (cay_spool_read(sp, &place, &byte, 1, &stream) != -EBADMSG)
                        break;
                if (cay_spool_runs_find(sp, &place, &next, &stream) == 0)
                        next = block_start(at) +
                               CAY_SPOOL_BLOCK; /* otherwise at the start of an intact run */
                at = next < sp->end ? next : sp->end;
        }
        return at;
}

int cay_spool_set_end(struct cay_spool *sp, const void *bytes, size_t len)
{
        if (len == 0 || len > CAY_SPOOL_END_MAX)
                return -EMSGSIZE;
        if (sp->head->end_len > 0)
                return -EEXIST;
        memcpy(sp->head->end, bytes, len);
        sp->head->end_sum = cay_crc32c((uint32_t)len, bytes, len);
        in_order();
        __atomic_store_n(&sp->head->end_len, (uint32_t)len, __ATOMIC_RELEASE);
        return 0;
}

size_t cay_spool_get_end(const struct cay_spool *sp, const void **ret)
{
        const struct cay_spool_header *head = sp->head;
        uint32_t len = head->end_len;

        *ret = head->end;
        return len <= CAY_SPOOL_END_MAX && cay_crc32c(len, head->end, len) == head->end_sum ? len : 0;
}

void cay_spool_set_in_taken(struct cay_spool *sp, uint64_t bytes)
{
        __atomic_store_n(&sp->head->in_taken, bytes, __ATOMIC_RELEASE);
}

uint64_t cay_spool_get_in_taken(const struct cay_spool *sp)
{
        return sp->head->in_taken;
}

void cay_spool_set_in_closed(struct cay_spool *sp)
{
        __atomic_store_n(&sp->head->in_closed, 1, __ATOMIC_RELEASE);
}

bool cay_spool_is_in_closed(const struct cay_spool *sp)
{
        return sp->head->in_closed != 0;
}
