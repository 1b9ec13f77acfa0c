/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that says the truth: bytes and streams by cursor, walls, reopening, and what a process that is
 * killed while it writes leaves.
 */
#include "domain/sandboxes/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#define NONE UINT64_MAX
#define KEEP 10000
#define WINDOW 4096

struct test {
        char dir[32];
        int fd;
        struct cay_spool sp;
};

static int setup(void **state)
{
        struct test *t = calloc(1, sizeof(*t));

        snprintf(t->dir, sizeof(t->dir), "/tmp/cay-spool-XXXXXX");
        assert_non_null(mkdtemp(t->dir));
        t->fd = open(t->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(t->fd >= 0);
        t->sp = CAY_SPOOL_CLOSED;
        *state = t;
        return 0;
}

static int teardown(void **state)
{
        struct test *t = *state;

        cay_spool_close(&t->sp);
        unlinkat(t->fd, "s", 0);
        close(t->fd);
        assert_int_equal(rmdir(t->dir), 0);
        free(t);
        return 0;
}

/* What stands at a cursor: both a byte and a stream, so that any part can be checked by itself. */
static uint8_t byte_at(uint64_t cursor)
{
        return (uint8_t)((cursor * 0x9e3779b97f4a7c15u) >> 56);
}

static unsigned stream_at(uint64_t cursor)
{
        return (cursor / 613) % 3 == 0;
}

/* The next piece: at most max bytes of one stream. */
static size_t next_piece(uint64_t cursor, size_t max, uint8_t *buf)
{
        size_t len = 0;

        while (len < max && stream_at(cursor + len) == stream_at(cursor)) {
                buf[len] = byte_at(cursor + len);
                len++;
        }
        return len;
}

static int put_piece(struct cay_spool *sp, size_t max, uint64_t wall)
{
        static uint8_t buf[CAY_SPOOL_PIECE_MAX];
        size_t len = next_piece(sp->end, max, buf);

        return cay_spool_put(sp, stream_at(sp->end), buf, len, wall);
}

static void put_until(struct cay_spool *sp, uint64_t end, size_t max, uint64_t wall)
{
        while (sp->end < end)
                assert_int_equal(put_piece(sp, max, wall), 0);
}

/* Everything that is kept, from a cursor, in portions of a size. */
static void check(struct cay_spool *sp, uint64_t from, size_t portion)
{
        struct cay_spool_place place = { .at = from };
        uint8_t buf[4096];
        unsigned stream;
        ssize_t n;

        while ((n = cay_spool_read(sp, &place, buf, portion, &stream)) > 0) {
                uint64_t at = place.at - (uint64_t)n;

                for (ssize_t i = 0; i < n; i++) {
                        assert_int_equal(buf[i], byte_at(at + (uint64_t)i));
                        assert_int_equal(stream, stream_at(at + (uint64_t)i));
                }
        }
        assert_int_equal(n, 0);
        assert_int_equal(place.at, sp->end);
}

static void check_counts(const struct cay_spool *sp)
{
        uint64_t got[2] = { 0 };

        for (uint64_t i = 0; i < sp->end; i++)
                got[stream_at(i)]++;
        assert_int_equal(sp->got[0], got[0]);
        assert_int_equal(sp->got[1], got[1]);
}

static void reads_what_was_put(void **state)
{
        struct test *t = *state;
        struct cay_spool_place place = { 0 };
        uint8_t buf[16];
        unsigned stream;

        assert_int_equal(cay_spool_create(&t->sp, t->fd, "s", KEEP, WINDOW), 0);
        assert_int_equal(cay_spool_read(&t->sp, &place, buf, sizeof(buf), &stream), 0);
        assert_int_equal(cay_spool_put(&t->sp, 0, "one", 3, NONE), 0);
        assert_int_equal(cay_spool_put(&t->sp, 0, "two", 3, NONE), 0);
        assert_int_equal(cay_spool_put(&t->sp, 1, "bad", 3, NONE), 0);
        assert_int_equal(cay_spool_put(&t->sp, 1, "", 0, NONE), 0);
        assert_int_equal(cay_spool_read(&t->sp, &place, buf, sizeof(buf), &stream), 6);
        assert_int_equal(stream, 0);
        assert_memory_equal(buf, "onetwo", 6);
        assert_int_equal(cay_spool_read(&t->sp, &place, buf, 2, &stream), 2);
        assert_int_equal(stream, 1);
        assert_memory_equal(buf, "ba", 2);
        assert_int_equal(place.at, 8);
        assert_int_equal(cay_spool_create(&t->sp, t->fd, "s", KEEP, WINDOW), -EEXIST);
}

static void reuses_an_empty_file(void **state)
{
        static const char zeros[4096];
        struct test *t = *state;
        int fd = openat(t->fd, "s", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, zeros, sizeof(zeros)), sizeof(zeros));
        close(fd);
        assert_int_equal(cay_spool_reuse(&t->sp, t->fd, "s", KEEP, WINDOW), 0);
        assert_int_equal(t->sp.end, 0);
        assert_int_equal(cay_spool_put(&t->sp, 1, "new", 3, NONE), 0);
        cay_spool_close(&t->sp);
        assert_int_equal(cay_spool_open(&t->sp, t->fd, "s"), 0);
        assert_int_equal(t->sp.got[1], 3);
        cay_spool_close(&t->sp);
        assert_int_equal(cay_spool_reuse(&t->sp, t->fd, "none", KEEP, WINDOW), -ENOENT);
}

static void keeps_the_last_bytes(void **state)
{
        struct test *t = *state;
        struct cay_spool_place place = { 0 };
        uint8_t byte;
        unsigned stream;

        assert_int_equal(cay_spool_create(&t->sp, t->fd, "s", KEEP, WINDOW), 0);
        for (unsigned i = 1; i < 40; i++) {
                put_until(&t->sp, i * 3001, 1 + i * 37, NONE);
                assert_true(t->sp.end - t->sp.oldest <= KEEP);
                if (t->sp.end > KEEP)
                        assert_int_equal(t->sp.end - t->sp.oldest, KEEP);
                check(&t->sp, t->sp.oldest, 1 + i * 13 % 4000);
                check(&t->sp, (t->sp.oldest + t->sp.end) / 2, 777);
        }
        check_counts(&t->sp);
        assert_int_equal(cay_spool_read(&t->sp, &place, &byte, 1, &stream), -ERANGE);
}

static void holds_before_a_wall(void **state)
{
        struct test *t = *state;
        uint64_t wall = 500;

        assert_int_equal(cay_spool_create(&t->sp, t->fd, "s", KEEP, WINDOW), 0);
        while (cay_spool_has_room(&t->sp, wall))
                assert_int_equal(put_piece(&t->sp, 300, wall), 0);
        assert_true(t->sp.end > wall + KEEP);
        /* Held back now; a window of each stream may still come, whatever its pieces are like. */
        put_until(&t->sp, t->sp.end + 2 * WINDOW, 1, wall);
        assert_true(t->sp.oldest <= wall);
        check(&t->sp, wall, 1000);
        /* The reader goes on, and so may the writer. */
        wall = t->sp.end - 100;
        assert_true(cay_spool_has_room(&t->sp, wall));
        put_until(&t->sp, t->sp.end + KEEP, 1000, wall);
        check(&t->sp, wall, 1000);
}

static void refuses_a_writer_that_goes_on(void **state)
{
        struct test *t = *state;
        int r = 0;

        assert_int_equal(cay_spool_create(&t->sp, t->fd, "s", KEEP, WINDOW), 0);
        for (unsigned i = 0; i < 1000 && r == 0; i++)
                r = put_piece(&t->sp, 4000, 0);
        assert_int_equal(r, -ENOBUFS);
        check(&t->sp, 0, 4000);
        /* Not for good: when the reader has gone on, so may the writer. */
        assert_int_equal(put_piece(&t->sp, 4000, 0), -ENOBUFS);
        put_until(&t->sp, t->sp.end + 3 * KEEP, 4000, t->sp.end);
        check(&t->sp, t->sp.oldest, 4000);
        check_counts(&t->sp);
}

/* Streams that alternate byte by byte: runs are what is short then. */
static void runs_give_way_too(void **state)
{
        struct test *t = *state;
        struct cay_spool_place place;
        uint64_t wall;
        uint8_t byte = 0;
        unsigned stream;

        assert_int_equal(cay_spool_create(&t->sp, t->fd, "s", 1u << 20, WINDOW), 0);
        for (uint64_t i = 0; i < CAY_SPOOL_RUNS_KEEP + 5000; i++) {
                byte = (uint8_t)i;
                assert_int_equal(cay_spool_put(&t->sp, i & 1, &byte, 1, NONE), 0);
        }
        assert_int_equal(t->sp.end - t->sp.oldest, CAY_SPOOL_RUNS_KEEP);
        wall = t->sp.oldest;
        assert_true(cay_spool_has_room(&t->sp, wall));
        for (uint64_t i = t->sp.end, end = i + 2 * WINDOW; i < end; i++) {
                byte = (uint8_t)i;
                assert_int_equal(cay_spool_put(&t->sp, i & 1, &byte, 1, wall), 0);
        }
        assert_false(cay_spool_has_room(&t->sp, wall));
        assert_int_equal(t->sp.oldest, wall);
        place = (struct cay_spool_place){ .at = wall };
        for (uint64_t i = wall; i < t->sp.end; i++) {
                assert_int_equal(cay_spool_read(&t->sp, &place, &byte, 1, &stream), 1);
                assert_int_equal(byte, (uint8_t)i);
                assert_int_equal(stream, i & 1);
        }
        while (cay_spool_put(&t->sp, t->sp.end & 1, &byte, 1, wall) == 0)
                ;
        assert_int_equal(cay_spool_put(&t->sp, t->sp.end & 1, &byte, 1, wall), -ENOBUFS);
        assert_int_equal(cay_spool_put(&t->sp, t->sp.end & 1, &byte, 1, t->sp.end), 0);
}

static void goes_on_after_reopening(void **state)
{
        struct test *t = *state;
        struct cay_spool again = CAY_SPOOL_CLOSED;
        const void *end;

        assert_int_equal(cay_spool_open(&t->sp, t->fd, "s"), -ENOENT);
        assert_int_equal(cay_spool_create(&t->sp, t->fd, "s", KEEP, WINDOW), 0);
        put_until(&t->sp, 3 * KEEP, 700, NONE);
        assert_int_equal(cay_spool_get_end(&t->sp, &end), 0);
        assert_int_equal(cay_spool_set_end(&t->sp, "done", 4), 0);
        assert_int_equal(cay_spool_set_end(&t->sp, "done", 4), -EEXIST);
        assert_int_equal(cay_spool_set_end(&t->sp, "", CAY_SPOOL_END_MAX + 1), -EMSGSIZE);
        assert_false(cay_spool_is_in_closed(&t->sp));
        cay_spool_set_in_closed(&t->sp);
        assert_int_equal(cay_spool_get_in_taken(&t->sp), 0);
        cay_spool_set_in_taken(&t->sp, 7ull << 40);
        assert_int_equal(cay_spool_open(&again, t->fd, "s"), 0);
        assert_int_equal(again.end, t->sp.end);
        assert_int_equal(again.oldest, t->sp.oldest);
        assert_int_equal(cay_spool_get_end(&again, &end), 4);
        assert_memory_equal(end, "done", 4);
        assert_true(cay_spool_is_in_closed(&again));
        assert_true(cay_spool_get_in_taken(&again) == 7ull << 40);
        check(&again, again.oldest, 100);
        put_until(&again, again.end + 2 * KEEP, 900, NONE);
        check(&again, again.oldest, 100);
        check_counts(&again);
        cay_spool_close(&again);
}

static void refuses_what_is_no_spool(void **state)
{
        struct test *t = *state;
        static const char junk[5000] = "something else";
        uint32_t word = 77;
        int fd;

        fd = openat(t->fd, "s", O_WRONLY | O_CREAT, 0600);
        assert_int_equal(write(fd, junk, 10), 10);
        assert_int_equal(cay_spool_open(&t->sp, t->fd, "s"), -EBADMSG);
        assert_int_equal(write(fd, junk, sizeof(junk)), sizeof(junk));
        assert_int_equal(cay_spool_open(&t->sp, t->fd, "s"), -EBADMSG);
        close(fd);
        unlinkat(t->fd, "s", 0);
        assert_int_equal(cay_spool_create(&t->sp, t->fd, "s", KEEP, WINDOW), 0);
        put_until(&t->sp, 300, 300, NONE);
        cay_spool_close(&t->sp);
        fd = openat(t->fd, "s", O_WRONLY);
        for (off_t at = 0; at < 160;
             at += 4) { /* any word of the header wrong: refused, or the file's is not looked at */
                uint32_t old;
                int r, read_fd = openat(t->fd, "s", O_RDONLY);

                assert_int_equal(pread(read_fd, &old, 4, at), 4);
                close(read_fd);
                word = 0xffffffffu;
                assert_int_equal(pwrite(fd, &word, 4, at), 4);
                r = cay_spool_open(&t->sp, t->fd, "s");
                assert_true(r == 0 || r == -EBADMSG);
                cay_spool_close(&t->sp);
                assert_int_equal(pwrite(fd, &old, 4, at), 4);
        }
        close(fd);
        assert_int_equal(cay_spool_open(&t->sp, t->fd, "s"), 0);
        assert_int_equal(symlinkat("s", t->fd, "l"), 0);
        cay_spool_close(&t->sp);
        assert_int_equal(cay_spool_open(&t->sp, t->fd, "l"), -ELOOP);
        unlinkat(t->fd, "l", 0);
}

/* A disk that is full: the put fails whole, what was there stays, and later it goes on. */
static void a_failed_put_changes_nothing(void **state)
{
        struct test *t = *state;
        struct rlimit old, less;
        uint64_t end;
        off_t size;

        assert_int_equal(cay_spool_create(&t->sp, t->fd, "s", KEEP, WINDOW), 0);
        put_until(&t->sp, 5000, 500, NONE);
        end = t->sp.end;
        size = lseek(t->sp.fd, 0, SEEK_END);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
        signal(SIGXFSZ, SIG_IGN);
        less = (struct rlimit){ .rlim_cur = (rlim_t)size, .rlim_max = old.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
        assert_int_equal(put_piece(&t->sp, 500, NONE), -EFBIG);
        assert_int_equal(put_piece(&t->sp, 500, NONE), -EFBIG);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(t->sp.end, end);
        check(&t->sp, 0, 333);
        put_until(&t->sp, 3 * KEEP, 500, NONE);
        check(&t->sp, t->sp.oldest, 333);
        check_counts(&t->sp);
}

static void limit_files(rlim_t bytes)
{
        struct rlimit limit;

        assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
        limit.rlim_cur = bytes;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/*
 * Full to the brim a put says what it lets go of before it writes over that: one that ends in between, a few
 * bytes in, leaves a file whose every byte is right.
 */
static void a_put_that_ends_halfway_spoils_nothing(void **state)
{
        struct test *t = *state;
        struct rlimit old;
        uint64_t cap, end;
        off_t ring;

        assert_int_equal(cay_spool_create(&t->sp, t->fd, "s", KEEP, WINDOW), 0);
        cap = t->sp.keep + t->sp.slack + CAY_SPOOL_PIECE_MAX + CAY_SPOOL_BLOCK;
        cap = (cap + CAY_SPOOL_BLOCK - 1) / CAY_SPOOL_BLOCK * CAY_SPOOL_BLOCK;
        put_until(&t->sp, 2 * cap, 500, NONE);
        ring = lseek(t->sp.fd, 0, SEEK_END) - (off_t)cap; /* it is all of the file's end by now */
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
        signal(SIGXFSZ, SIG_IGN);
        for (unsigned i = 0; i < 5; i++) {
                uint64_t wall = t->sp.oldest;

                for (size_t max = 500; max > 0; max /= 500)
                        while (put_piece(&t->sp, max, wall) == 0)
                                ;
                end = t->sp.end;
                assert_int_equal(end - t->sp.oldest / CAY_SPOOL_BLOCK * CAY_SPOOL_BLOCK, cap);
                limit_files((rlim_t)(ring + (off_t)(end % cap)) + 7);
                assert_int_equal(put_piece(&t->sp, 100, end), -EFBIG);
                limit_files(old.rlim_cur);
                cay_spool_close(&t->sp); /* all that a writer which is killed there leaves */
                assert_int_equal(cay_spool_open(&t->sp, t->fd, "s"), 0);
                assert_int_equal(t->sp.end, end);
                assert_true(t->sp.oldest > wall);
                check(&t->sp, t->sp.oldest, 4000);
        }
        check_counts(&t->sp);
}

/* Damage */

#define RUNS_AT 4096
#define RUN_BYTES 16

static off_t data_at(const struct cay_spool *sp)
{
        uint64_t cap = sp->keep + sp->slack + CAY_SPOOL_PIECE_MAX + CAY_SPOOL_BLOCK, sums, at;

        sums = (cap + CAY_SPOOL_BLOCK - 1) / CAY_SPOOL_BLOCK;
        at = RUNS_AT + (CAY_SPOOL_RUNS_KEEP + sp->slack + 1) * RUN_BYTES + sums * 4;
        return (off_t)((at + CAY_SPOOL_BLOCK - 1) / CAY_SPOOL_BLOCK * CAY_SPOOL_BLOCK);
}

static void spoil(const struct cay_spool *sp, off_t at, size_t len, int with)
{
        static uint8_t junk[1u << 20];

        assert_true(len <= sizeof(junk));
        memset(junk, with, len);
        assert_int_equal(pwrite(sp->fd, junk, len, at), len);
}

/* Reads all from a cursor and passes over damage: what comes is right, and how much did not is counted. */
static uint64_t count_lost(struct cay_spool *sp, uint64_t from, uint64_t *ret_first)
{
        struct cay_spool_place place = { .at = from };
        uint64_t lost = 0;
        uint8_t buf[4096];
        unsigned stream;
        ssize_t n;

        *ret_first = NONE;
        while ((n = cay_spool_read(sp, &place, buf, sizeof(buf), &stream)) != 0) {
                uint64_t at = place.at - (n > 0 ? (uint64_t)n : 0);

                for (ssize_t i = 0; i < n; i++) {
                        assert_int_equal(buf[i], byte_at(at + (uint64_t)i));
                        assert_int_equal(stream, stream_at(at + (uint64_t)i));
                }
                if (n > 0)
                        continue;
                assert_int_equal(n, -EBADMSG);
                if (*ret_first == NONE)
                        *ret_first = at;
                place.at = cay_spool_skip(sp, at);
                assert_true(place.at > at);
                lost += place.at - at;
        }
        assert_int_equal(place.at, sp->end);
        return lost;
}

static void make_damaged(struct test *t)
{
        unlinkat(t->fd, "s", 0);
        cay_spool_close(&t->sp);
        assert_int_equal(cay_spool_create(&t->sp, t->fd, "s", 64 * 1024, WINDOW), 0);
        put_until(&t->sp, 40000, 3000, NONE);
}

static void bad_blocks_are_told(void **state)
{
        static const int with[] = { 0, 0xff, 0x5a };
        struct test *t = *state;
        uint64_t first;

        for (unsigned i = 0; i < 3; i++) {
                make_damaged(t);
                assert_int_equal(count_lost(&t->sp, 0, &first), 0);
                /*
                 * One byte in the third block, two blocks further on, and some of the last, which is not
                 * complete.
                 */
                spoil(&t->sp, data_at(&t->sp) + 2 * CAY_SPOOL_BLOCK + 100, 1, with[i]);
                spoil(&t->sp, data_at(&t->sp) + 5 * CAY_SPOOL_BLOCK - 1, 2, with[i]);
                spoil(&t->sp, data_at(&t->sp) + (off_t)t->sp.end - 4, 4, with[i]);
                assert_int_equal(count_lost(&t->sp, 0, &first),
                                 3 * CAY_SPOOL_BLOCK + t->sp.end % CAY_SPOOL_BLOCK);
                assert_int_equal(first, 2 * CAY_SPOOL_BLOCK);
                assert_int_equal(cay_spool_skip(&t->sp, 4 * CAY_SPOOL_BLOCK + 7), 6 * CAY_SPOOL_BLOCK);
                /* Whoever opens it next finds the same, and writing goes on. */
                cay_spool_close(&t->sp);
                assert_int_equal(cay_spool_open(&t->sp, t->fd, "s"), 0);
                put_until(&t->sp, 48000, 3000, NONE);
                assert_int_equal(count_lost(&t->sp, 0, &first), 4 * CAY_SPOOL_BLOCK);
                put_until(&t->sp, 400000, 3000, NONE);
                check(&t->sp, t->sp.oldest, 4096);
        }
}

/* What the ring held one turn before has a right sum of its own, and is as wrong as garbage. */
static void an_old_block_is_no_new_one(void **state)
{
        struct test *t = *state;
        uint8_t file[300000], now[4096];
        uint64_t first, cap;
        ssize_t len;

        make_damaged(t);
        cap = 64 * 1024 + 2 * WINDOW + CAY_SPOOL_PIECE_MAX + CAY_SPOOL_BLOCK;
        put_until(&t->sp, cap, 3000, NONE);
        len = pread(t->sp.fd, file, sizeof(file), data_at(&t->sp) - CAY_SPOOL_BLOCK);
        assert_true(len > (ssize_t)cap);
        put_until(&t->sp, cap + 50000, 3000, NONE);
        assert_int_equal(pread(t->sp.fd, now, sizeof(now), data_at(&t->sp) + 4096), sizeof(now));
        assert_memory_not_equal(now, file + 8192, sizeof(now));
        assert_int_equal(pwrite(t->sp.fd, file, 4 * 4096, data_at(&t->sp) - CAY_SPOOL_BLOCK), 4 * 4096);
        assert_true(count_lost(&t->sp, t->sp.oldest, &first) >= 3 * CAY_SPOOL_BLOCK);
        assert_int_equal(first, cap);
}

static void a_cut_file_is_told(void **state)
{
        struct test *t = *state;
        uint64_t first;

        make_damaged(t);
        cay_spool_close(&t->sp);
        assert_int_equal(cay_spool_open(&t->sp, t->fd, "s"), 0);
        assert_int_equal(ftruncate(t->sp.fd, data_at(&t->sp) + 3 * CAY_SPOOL_BLOCK + 5), 0);
        assert_int_equal(count_lost(&t->sp, 0, &first), t->sp.end - 3 * CAY_SPOOL_BLOCK);
        assert_int_equal(first, 3 * CAY_SPOOL_BLOCK);
        assert_int_equal(ftruncate(t->sp.fd, RUNS_AT), 0); /* nothing but the header */
        cay_spool_close(&t->sp);
        assert_int_equal(cay_spool_open(&t->sp, t->fd, "s"), 0);
        assert_int_equal(count_lost(&t->sp, 0, &first), t->sp.end);
        put_until(&t->sp, 400000, 3000, NONE);
        check(&t->sp, t->sp.oldest, 4096);
        assert_int_equal(ftruncate(t->sp.fd, RUNS_AT - 1), 0);
        cay_spool_close(&t->sp);
        assert_int_equal(cay_spool_open(&t->sp, t->fd, "s"), -EBADMSG);
}

/*
 * Every set of three runs in turn: bytes of a stream that nobody knows are lost, all others are right; the
 * last ones too.
 */
static void bad_runs_are_told(void **state)
{
        struct test *t = *state;
        uint64_t first, runs;

        make_damaged(t);
        runs = t->sp.run_end;
        assert_true(runs > 20);
        for (uint64_t run = 0; run < runs; run++) {
                uint64_t lost;

                make_damaged(t);
                spoil(&t->sp, RUNS_AT + (off_t)run * RUN_BYTES + 3, 2 * RUN_BYTES, (int)run);
                cay_spool_close(&t->sp);
                assert_int_equal(cay_spool_open(&t->sp, t->fd, "s"), 0);
                lost = count_lost(&t->sp, 0, &first);
                assert_true(lost > 0 && lost < 8 * 613);
                put_until(&t->sp, 400000, 3000, NONE);
                check(&t->sp, t->sp.oldest, 4096);
                check_counts(&t->sp);
        }
        make_damaged(t);
        spoil(&t->sp, RUNS_AT, (size_t)runs * RUN_BYTES, 0);
        cay_spool_close(&t->sp);
        assert_int_equal(cay_spool_open(&t->sp, t->fd, "s"), 0);
        assert_int_equal(count_lost(&t->sp, 0, &first), t->sp.end);
        put_until(&t->sp, 400000, 3000, NONE);
        check(&t->sp, t->sp.oldest, 4096);
}

/* Damage where runs give way: the writer is never held for good. */
static void bad_runs_hold_nobody(void **state)
{
        struct test *t = *state;
        uint8_t byte = 0;

        assert_int_equal(cay_spool_create(&t->sp, t->fd, "s", 1u << 20, WINDOW), 0);
        for (uint64_t i = 0; i < CAY_SPOOL_RUNS_KEEP; i++)
                assert_int_equal(cay_spool_put(&t->sp, i & 1, &byte, 1, NONE), 0);
        spoil(&t->sp, RUNS_AT, CAY_SPOOL_RUNS_KEEP * RUN_BYTES, 0x11);
        for (uint64_t i = 0; i < 3 * CAY_SPOOL_RUNS_KEEP; i++)
                assert_int_equal(cay_spool_put(&t->sp, i & 1, &byte, 1, NONE), 0);
        assert_true(cay_spool_has_room(&t->sp, t->sp.oldest));
}

static void a_bad_end_is_none(void **state)
{
        struct test *t = *state;
        const void *end;
        uint8_t page[4096], *found;

        make_damaged(t);
        assert_int_equal(cay_spool_set_end(&t->sp, "the end of it", 13), 0);
        assert_int_equal(pread(t->sp.fd, page, sizeof(page), 0), sizeof(page));
        found = memmem(page, sizeof(page), "the end of it", 13);
        assert_non_null(found);
        spoil(&t->sp, found - page, 1, 'T');
        cay_spool_close(&t->sp);
        assert_int_equal(cay_spool_open(&t->sp, t->fd, "s"), 0);
        assert_int_equal(cay_spool_get_end(&t->sp, &end), 0);
}

static void an_older_version_is_no_damage(void **state)
{
        struct test *t = *state;

        make_damaged(t);
        spoil(&t->sp, 8, 1, 1);
        cay_spool_close(&t->sp);
        assert_int_equal(cay_spool_open(&t->sp, t->fd, "s"), -EPROTONOSUPPORT);
}

static _Noreturn void write_until_killed(int dir)
{
        struct cay_spool sp = CAY_SPOOL_CLOSED;
        uint64_t wall;

        if (cay_spool_open(&sp, dir, "s") < 0)
                _exit(1);
        wall = sp.oldest;
        for (unsigned i = 0;; i++) {
                int r = put_piece(&sp, 1 + i * 7919 % 5000, wall);

                if (r == -ENOBUFS)
                        wall = sp.end; /* full to the brim: the reader goes on */
                else if (r < 0)
                        _exit(2);
        }
}

/*
 * A writer is killed at random points, again and again: each time the file is sound, and the next writer goes
 * on from it.
 */
static void survives_the_death_of_its_writer(void **state)
{
        struct test *t = *state;
        uint64_t last = 0, moved = 0;

        assert_int_equal(cay_spool_create(&t->sp, t->fd, "s", KEEP, WINDOW), 0);
        cay_spool_close(&t->sp);
        for (unsigned i = 0; i < 60 || (moved == 0 && i < 2000); i++) {
                struct timespec nap = { .tv_nsec = 100000 + (i * 104729) % 3000000 };
                int status;
                pid_t pid = fork();

                if (pid == 0)
                        write_until_killed(t->fd);
                assert_true(pid > 0);
                nanosleep(&nap, NULL);
                kill(pid, SIGKILL);
                assert_int_equal(waitpid(pid, &status, 0), pid);
                assert_true(WIFSIGNALED(status));
                assert_int_equal(cay_spool_open(&t->sp, t->fd, "s"), 0);
                assert_true(t->sp.end >= last);
                moved += t->sp.end > last;
                last = t->sp.end;
                check(&t->sp, t->sp.oldest, 4000);
                cay_spool_close(&t->sp);
        }
        assert_true(moved > 0); /* else nothing was tried */
        assert_int_equal(cay_spool_open(&t->sp, t->fd, "s"), 0);
        check_counts(&t->sp);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
                TEST(reads_what_was_put),
                TEST(reuses_an_empty_file),
                TEST(keeps_the_last_bytes),
                TEST(holds_before_a_wall),
                TEST(refuses_a_writer_that_goes_on),
                TEST(runs_give_way_too),
                TEST(goes_on_after_reopening),
                TEST(refuses_what_is_no_spool),
                TEST(a_failed_put_changes_nothing),
                TEST(a_put_that_ends_halfway_spoils_nothing),
                TEST(survives_the_death_of_its_writer),
                TEST(bad_blocks_are_told),
                TEST(an_old_block_is_no_new_one),
                TEST(a_cut_file_is_told),
                TEST(bad_runs_are_told),
                TEST(bad_runs_hold_nobody),
                TEST(a_bad_end_is_none),
                TEST(an_older_version_is_no_damage),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
