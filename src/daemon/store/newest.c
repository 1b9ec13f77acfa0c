/* SPDX-License-Identifier: Apache-2.0 */
/* The newest position of the database. */
#include "daemon/store/newest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "foundation/base/crc32c.h"
#include "domain/model/port_store.h"

#define PAGE_BYTES 4096u

struct slot {
        uint64_t seq;
        uint32_t sum, unused;
};

struct cay_newest_page {
        struct slot slots[2];
};

static uint32_t sum_of(uint64_t seq)
{
        return cay_crc32c(0x6e657773, &seq, sizeof(seq));
}

/* The block is allocated before it is mapped: on a full disk, a hole would raise SIGBUS. */
static bool has_block(int fd)
{
        struct stat st;
        int r;

        do
                r = posix_fallocate(fd, 0, PAGE_BYTES);
        while (r == EINTR);
        return r == 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= (off_t)PAGE_BYTES;
}

void cay_newest_open(struct cay_newest *n, int fd)
{
        static const struct slot nothing;
        void *page;

        *n = (struct cay_newest){ 0 };
        if (fd < 0 || !has_block(fd))
                return;
        page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (page == MAP_FAILED)
                return;
        n->page = page;
        n->is_damaged = memcmp(&n->page->slots[0], &nothing, sizeof(nothing)) != 0 ||
                        memcmp(&n->page->slots[1], &nothing, sizeof(nothing)) != 0;
        for (unsigned i = 0; i < 2; i++) {
                struct slot *slot = &n->page->slots[i];

                if (slot->sum != sum_of(slot->seq)) {
                        *slot = nothing;
                        continue;
                }
                n->is_damaged = false;
                if (slot->seq > n->seq)
                        n->seq = slot->seq;
        }
}

void cay_newest_close(struct cay_newest *n)
{
        if (n->page)
                munmap(n->page, PAGE_BYTES);
        *n = (struct cay_newest){ 0 };
}

void cay_newest_set(struct cay_newest *n, uint64_t seq)
{
        struct slot *slot;

        if (!n->page || seq <= n->seq)
                return;
        n->seq = seq;
        slot = &n->page->slots[n->page->slots[0].seq > n->page->slots[1].seq];
        slot->seq = seq; /* the older slot: while it is written, the other one is valid */
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        slot->sum = sum_of(seq);
}

/* 0 if there was never an event. */
static int last_event(struct cay_db *db, uint64_t *ret, struct cay_error *err)
{
        int64_t seq = 0;

        if (cay_db_number(db, "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events'", &seq,
                          err) < 0)
                return -1;
        *ret = (uint64_t)seq;
        return 0;
}

int cay_newest_compare(const struct cay_newest *n, struct cay_db *db, uint64_t *ret_missing,
                       struct cay_error *err)
{
        uint64_t seq;

        *ret_missing = 0;
        if (!n->page)
                return 0;
        if (last_event(db, &seq, err) < 0)
                return -1;
        *ret_missing = n->is_damaged ? UINT64_MAX : n->seq > seq ? n->seq - seq : 0;
        return 0;
}

static int settle(const struct cay_newest *n, struct cay_db *db, uint64_t missing, uint64_t wall_ms,
                  struct cay_error *err)
{
        char sql[512], count[24] = "null";
        uint64_t seq;

        if (missing != UINT64_MAX)
                snprintf(count, sizeof(count), "%" PRIu64, missing);
        if (last_event(db, &seq, err) < 0)
                return -1;
        if (n->seq > seq)
                seq = n->seq;
        snprintf(sql, sizeof(sql), "DELETE FROM vals WHERE name LIKE '%s%%'", CAY_STORE_FILES_KNOWN);
        if (cay_db_run(db, sql, err) < 0)
                return -1;
        /* Its number makes SQLite continue after it. */
        snprintf(sql, sizeof(sql),
                 "INSERT INTO events(seq, sandbox, owner, kind, detail, wall_ms, at_ms) VALUES(%" PRIu64
                 ", '', '', 'store_older', '{\"missing_events\":%s}', %" PRIu64 ", %" PRIu64 ")",
                 seq + 1, count, wall_ms, wall_ms);
        return cay_db_run(db, sql, err);
}

int cay_newest_settle(struct cay_newest *n, struct cay_db *db, uint64_t missing, uint64_t wall_ms,
                      struct cay_error *err)
{
        struct cay_error ignored;
        uint64_t seq;

        if (cay_db_run(db, "BEGIN IMMEDIATE", err) < 0)
                return -1;
        if (settle(n, db, missing, wall_ms, err) < 0 || cay_db_run(db, "COMMIT", err) < 0) {
                cay_db_run(db, "ROLLBACK", &ignored);
                return -1;
        }
        n->is_damaged = false;
        if (last_event(db, &seq, err) < 0)
                return -1;
        cay_newest_set(n, seq);
        return 0;
}
