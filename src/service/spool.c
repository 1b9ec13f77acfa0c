/* SPDX-License-Identifier: Apache-2.0 */
/* Output in a file (spool.h). */
#include "service/spool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define HEADER_BYTES 4096u
#define MAGIC "caySPOOL"
#define VERSION 1u
#define RUN_STREAM_BITS 1
#define CURSOR_MAX (UINT64_MAX >> (RUN_STREAM_BITS + 1))

struct slot {
        uint64_t end, oldest, got[CAY_SPOOL_STREAMS], run_first, run_end;
};

struct cay_spool_header {
        char magic[8];
        uint32_t version;
        uint32_t active; /* which slot counts */
        uint64_t keep, slack;
        struct slot slots[2];
        uint32_t in_closed;
        uint32_t end_len; /* 0: `end` is not there, or not whole */
        uint8_t end[CAY_SPOOL_END_MAX];
        uint64_t in_taken; /* 0 also in the files of fronts that did not count */
};
_Static_assert(sizeof(struct cay_spool_header) <= HEADER_BYTES, "one page");

/* Stores before it are in the page before those after it: all that the death of a process asks for. */
static void in_order(void)
{
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static uint64_t runs_cap(const struct cay_spool *sp)
{
        return CAY_SPOOL_RUNS_KEEP + sp->slack + 1;
}

static uint64_t data_cap(const struct cay_spool *sp)
{
        return sp->keep + sp->slack + CAY_SPOOL_PIECE_MAX;
}

static off_t run_offset(const struct cay_spool *sp, uint64_t run)
{
        return (off_t)(HEADER_BYTES + run % runs_cap(sp) * sizeof(uint64_t));
}

static off_t data_offset(const struct cay_spool *sp, uint64_t cursor)
{
        return (off_t)(HEADER_BYTES + runs_cap(sp) * sizeof(uint64_t) + cursor % data_cap(sp));
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

static int read_at(int fd, void *buf, size_t len, off_t offset)
{
        char *at = buf;

        while (len > 0) {
                ssize_t n = pread(fd, at, len, offset);

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

static int read_run(const struct cay_spool *sp, uint64_t run, uint64_t *ret_start, unsigned *ret_stream)
{
        uint64_t word;
        int r = read_at(sp->fd, &word, sizeof(word), run_offset(sp, run));

        if (r < 0)
                return r;
        *ret_start = word >> RUN_STREAM_BITS;
        *ret_stream = (unsigned)(word & 1);
        return 0;
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

int cay_spool_create(struct cay_spool *sp, int dir, const char *name, uint64_t keep, uint64_t window)
{
        struct cay_spool made = {
                .fd = -1, .keep = keep, .slack = window * CAY_SPOOL_STREAMS, .second = UINT64_MAX
        };
        int r;

        if (keep == 0 || keep > CAY_SPOOL_KEEP_MAX || window > CAY_SPOOL_KEEP_MAX)
                return -EINVAL;
        made.fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (made.fd < 0)
                return -errno;
        /* The page must be there before it is mapped: a hole on a full disk is a signal when it is touched. */
        do
                r = -posix_fallocate(made.fd, 0, HEADER_BYTES);
        while (r == -EINTR); /* in memory (tmpfs) any signal cuts it short */
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
        in_order();
        memcpy(made.head->magic, MAGIC, sizeof(made.head->magic));
        *sp = made;
        return 0;
}

static bool is_sound(const struct cay_spool *sp)
{
        return sp->end <= CURSOR_MAX && sp->oldest <= sp->end && sp->end - sp->oldest <= data_cap(sp) &&
               sp->run_first <= sp->run_end && sp->run_end - sp->run_first <= runs_cap(sp) &&
               sp->got[0] <= sp->end && sp->end - sp->got[0] == sp->got[1] &&
               (sp->run_first < sp->run_end || sp->end == 0);
}

/* What is only in memory: the last run's stream and start, and where the second one starts. */
static int look_at_runs(struct cay_spool *sp)
{
        uint64_t start;
        unsigned stream;
        int r;

        sp->second = UINT64_MAX;
        if (sp->run_first == sp->run_end)
                return 0;
        r = read_run(sp, sp->run_end - 1, &start, &sp->stream);
        if (r < 0 || start >= sp->end)
                return r < 0 ? r : -EBADMSG;
        sp->last = start;
        if (sp->run_end - sp->run_first < 2)
                return 0;
        return read_run(sp, sp->run_first + 1, &sp->second, &stream);
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
        if (r == 0 && (memcmp(found.head->magic, MAGIC, sizeof(found.head->magic)) != 0 ||
                       found.head->version != VERSION || found.head->active > 1 || found.head->keep == 0 ||
                       found.head->keep > CAY_SPOOL_KEEP_MAX || found.head->end_len > CAY_SPOOL_END_MAX ||
                       found.head->slack > CAY_SPOOL_STREAMS * CAY_SPOOL_KEEP_MAX))
                r = -EBADMSG;
        if (r == 0) {
                slot = &found.head->slots[found.head->active];
                found.keep = found.head->keep;
                found.slack = found.head->slack;
                found.end = slot->end;
                found.oldest = slot->oldest;
                memcpy(found.got, slot->got, sizeof(found.got));
                found.run_first = slot->run_first;
                found.run_end = slot->run_end;
                r = is_sound(&found) ? look_at_runs(&found) : -EBADMSG;
        }
        if (r < 0) {
                cay_spool_close(&found);
                return r == -EIO ? -EBADMSG : r;
        }
        *sp = found;
        return 0;
}

bool cay_spool_has_room(const struct cay_spool *sp, uint64_t wall)
{
        if (wall >= sp->end)
                return true;
        /* Runs before the wall may go; counting all of them is the safe side, and only streams that alternate in tiny pieces notice. */
        return sp->end - wall <= sp->keep && sp->run_end - sp->run_first <= CAY_SPOOL_RUNS_KEEP;
}

/* Lets the oldest bytes and runs go, up to the wall: in `next`, nothing is said to the header yet. */
static int let_go(const struct cay_spool *sp, struct cay_spool *next, uint64_t wall)
{
        uint64_t least = next->end > next->keep ? next->end - next->keep : 0;
        unsigned stream;
        int r = 0;

        if (least > wall)
                least = wall;
        if (least > next->oldest)
                next->oldest = least;
        while (r == 0 && next->second <= wall && next->second < next->end &&
               (next->second <= next->oldest || next->run_end - next->run_first > CAY_SPOOL_RUNS_KEEP)) {
                if (next->oldest < next->second)
                        next->oldest = next->second;
                next->run_first++;
                next->second = UINT64_MAX;
                /* The newest run is not in the file yet when it is the one asked for; then it starts where the old end was. */
                if (next->run_end - next->run_first < 2)
                        continue;
                if (next->run_first + 1 == sp->run_end)
                        next->second = sp->end;
                else
                        r = read_run(sp, next->run_first + 1, &next->second, &stream);
        }
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
        return sp->end + len - sp->oldest > data_cap(sp) ||
               (begins_run(sp, stream) && sp->run_end - sp->run_first >= runs_cap(sp));
}

/* Full to the brim: what the wall has given up since the last put goes by itself, before anything is written over it. */
static int make_room(struct cay_spool *sp, uint64_t wall)
{
        struct cay_spool next = *sp;
        int r = let_go(sp, &next, wall);

        if (r == 0)
                commit(sp, &next);
        return r;
}

int cay_spool_put(struct cay_spool *sp, unsigned stream, const void *bytes, size_t len, uint64_t wall)
{
        struct cay_spool next;
        int r = 0;

        assert(stream < CAY_SPOOL_STREAMS && len <= CAY_SPOOL_PIECE_MAX);
        if (len == 0)
                return 0;
        if (is_full(sp, stream, len))
                r = make_room(sp, wall);
        if (r < 0)
                return r;
        if (is_full(sp, stream, len) || sp->end > CURSOR_MAX - len)
                return -ENOBUFS;
        next = *sp;
        if (begins_run(sp, stream)) {
                uint64_t word = sp->end << RUN_STREAM_BITS | stream;

                r = write_at(sp->fd, &word, sizeof(word), run_offset(sp, sp->run_end));
                if (sp->run_end - sp->run_first == 1)
                        next.second = sp->end;
                next.run_end++;
                next.stream = stream;
                next.last = sp->end;
        }
        if (r == 0)
                r = write_bytes(sp, bytes, len);
        next.end += len;
        next.got[stream] += len;
        if (r == 0)
                r = let_go(sp, &next, wall);
        if (r == 0)
                commit(sp, &next);
        return r;
}

/* The run that holds a cursor of [oldest, end), and where the next one starts. */
static int find_run(const struct cay_spool *sp, struct cay_spool_place *place, uint64_t *ret_next,
                    unsigned *ret_stream)
{
        uint64_t low = sp->run_first, high = sp->run_end, start;
        unsigned stream;
        int r;

        if (place->at >= sp->last) { /* no need to ask the file */
                place->run = sp->run_end - 1;
                *ret_next = sp->end;
                *ret_stream = sp->stream;
                return 0;
        }
        if (place->run >= low && place->run < high) { /* mostly this run, or the one after it */
                r = read_run(sp, place->run, &start, &stream);
                if (r == 0 && start <= place->at)
                        low = place->run;
                if (r == 0 && start <= place->at && high - low > 2) {
                        r = read_run(sp, low + 2, &start, &stream);
                        if (r == 0 && start > place->at)
                                high = low + 2;
                }
                if (r < 0)
                        return r;
        }
        while (high - low > 1) {
                uint64_t mid = low + (high - low) / 2;

                r = read_run(sp, mid, &start, &stream);
                if (r < 0)
                        return r;
                if (start <= place->at)
                        low = mid;
                else
                        high = mid;
        }
        place->run = low;
        *ret_next = sp->end;
        if (low + 1 < sp->run_end) {
                r = read_run(sp, low + 1, ret_next, &stream);
                if (r < 0)
                        return r;
        }
        return read_run(sp, low, &start, ret_stream);
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
        r = find_run(sp, place, &next, ret_stream);
        if (r < 0)
                return r;
        if (next <= place->at || next > sp->end)
                return -EIO;
        left = data_cap(sp) - place->at % data_cap(sp);
        if (left > next - place->at)
                left = next - place->at;
        if (size > left)
                size = (size_t)left;
        r = read_at(sp->fd, buf, size, data_offset(sp, place->at));
        if (r < 0)
                return r;
        place->at += size;
        return (ssize_t)size;
}

int cay_spool_set_end(struct cay_spool *sp, const void *bytes, size_t len)
{
        if (len == 0 || len > CAY_SPOOL_END_MAX)
                return -EMSGSIZE;
        if (sp->head->end_len > 0)
                return -EEXIST;
        memcpy(sp->head->end, bytes, len);
        in_order();
        __atomic_store_n(&sp->head->end_len, (uint32_t)len, __ATOMIC_RELEASE);
        return 0;
}

size_t cay_spool_get_end(const struct cay_spool *sp, const void **ret)
{
        *ret = sp->head->end;
        return sp->head->end_len;
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
