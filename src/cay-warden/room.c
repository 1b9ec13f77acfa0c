/* SPDX-License-Identifier: Apache-2.0 */
/* Room for layers. See room.h for the theory. */
#include "cay-warden/room.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include "foundation/base/clock.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/loopdev.h"
#include "cay-warden/keep.h"
#include "cay-warden/room_pool.h"
#include "cay-warden/room_shared.h"
#include "cay-warden/volume.h"

#define LOOK_MS 200
#define LOOK_OFTEN_MS 50 /* while blocks are reserved, unless there are many */
/*
 * While the disk is short and blocks are kept back for overwriting: what a box takes meanwhile must fit into
 * what is free.
 */
#define LOOK_URGENT_MS 5
#define MANY 64
#define LOOK_SELDOM_MS 1000
#define PLENTY (8ull << 30) /* so much above all that is promised: nobody fills that in a second */

static uint64_t least(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

/* A number of an image's file system, as the kernel tells it; 0 when it does not. */
static uint64_t read_number(const struct warden_room *room, const char *name)
{
        char path[96], text[32];

        snprintf(path, sizeof(path), "/sys/fs/ext4/%s/%s", room->device, name);
        return sys_read_file(AT_FDCWD, path, text, sizeof(text)) > 0 ? strtoull(text, NULL, 10) : 0;
}

static void hold_back(struct warden_room *room, uint64_t clusters)
{
        char path[96], text[32];

        if (room->held == clusters)
                return;
        snprintf(path, sizeof(path), "/sys/fs/ext4/%s/reserved_clusters", room->device);
        snprintf(text, sizeof(text), "%llu", (unsigned long long)clusters);
        if (sys_write_file(AT_FDCWD, path, text) == 0)
                room->held = clusters;
}

void warden_room_soon(struct warden *w)
{
        w->room_at_ms = 1;
}

int warden_room_wait(const struct warden *w)
{
        uint64_t now = cay_clock_ms();

        if (w->room_at_ms == 0)
                return -1;
        return w->room_at_ms <= now ? 0 : (int)(w->room_at_ms - now);
}

/* Images that are mounted: layers of boxes, then volumes. Each has a number. */

static bool has_room(const struct warden_box *box)
{
        return box->kept && box->room.is_known && !box->is_damaged &&
               (box->state == BOX_MAKING || box->state == BOX_LIVE);
}

static unsigned image_count(const struct warden *w)
{
        return w->rows + w->volume_rows;
}

static struct warden_volume *volume_at(struct warden *w, unsigned nr)
{
        return nr >= w->rows ? &w->volumes[nr - w->rows] : NULL;
}

/* NULL: there is none of this number. */
static struct warden_room *room_at(struct warden *w, unsigned nr)
{
        struct warden_volume *v = volume_at(w, nr);

        if (v)
                return v->is_used && v->mount >= 0 && v->room.is_known ? &v->room : NULL;
        return has_room(&w->boxes[nr]) ? &w->boxes[nr].room : NULL;
}

static int measure(struct warden *w, unsigned nr, uint64_t *ret_bytes, uint64_t *ret_had)
{
        const struct warden_volume *v = volume_at(w, nr);

        return v ? warden_volume_measure(w, v, ret_bytes, ret_had)
                 : cay_keep_measure(w->layers, w->boxes[nr].plan.id, ret_bytes, ret_had);
}

/* What the disk may still have to give for an image. */
static bool read_need(struct warden *w, unsigned nr, struct warden_room *room)
{
        uint64_t bytes, had, tables;

        if (measure(w, nr, &bytes, &had) < 0)
                return false;
        tables = bytes - least(bytes, room->blocks * room->block_bytes);
        room->grew = had > room->had;
        room->had = had;
        room->need = bytes - least(bytes, had);
        room->tables = least(tables, room->need);
        return true;
}

/* And for all together. */
static uint64_t count_needs(struct warden *w, unsigned *ret_count)
{
        uint64_t all = 0;

        *ret_count = 0;
        for (unsigned i = 0; i < image_count(w); i++) {
                struct warden_room *room = room_at(w, i);

                if (!room)
                        continue;
                room->has_share = false;
                if (!read_need(w, i, room))
                        continue;
                all += room->need;
                ++*ret_count;
        }
        return all;
}

/*
 * Loop devices write with root's rights, so data in transit to layers would use the disk's reserve for root.
 * Then even blocks that the daemon releases would not be usable by it. So they are released as soon as users
 * have nothing left.
 */
static void mind_reserve(struct warden *w, const struct statvfs *fs, uint64_t room)
{
        if (w->reserve == KEEP_RESERVE && (uint64_t)fs->f_bavail * fs->f_frsize < KEEP_RESERVE / 2 &&
            cay_keep_reserve(w->disk, 0) == 0)
                w->reserve = 0;
        else if (w->reserve == 0 && room >= 2 * KEEP_RESERVE && cay_keep_reserve(w->disk, KEEP_RESERVE) == 0)
                w->reserve = KEEP_RESERVE;
}

static uint64_t margin_of(const struct warden *w)
{
        return w->margin > 0 ? w->margin : WARDEN_LEAST_MARGIN;
}

/* Of the disk, and of the pool on it that layers may be in: the pool's file is as sparse as they are. */
static uint64_t free_of(const struct warden *w, struct statvfs *disk)
{
        struct statvfs pool;
        uint64_t free, in_pool;

        if (fstatvfs(w->disk, disk) < 0)
                return UINT64_MAX; /* then nobody knows */
        free = (uint64_t)disk->f_bavail * disk->f_frsize;
        if (w->disk == w->layers || fstatvfs(w->layers, &pool) < 0)
                return free;
        in_pool = (uint64_t)pool.f_bavail * pool.f_frsize;
        return least(free, in_pool);
}

static uint64_t above_margin(const struct warden *w, uint64_t free)
{
        return free == UINT64_MAX ? free : free - least(free, margin_of(w));
}

/*
 * What is kept back for overwriting counts: it is there for what `shared` says. A locked pool needs nothing
 * of the disk.
 */
static uint64_t room_of_disk(const struct warden *w)
{
        struct statvfs fs;

        if (w->pool.helper > 0 && w->pool.has_room)
                return w->pool.room;
        if (w->pool.is_locked)
                return warden_pool_room(w);
        return above_margin(w, free_of(w, &fs)) + warden_shared_kept(w);
}

/* And what it can still be enlarged by. */
static uint64_t room_for_more(const struct warden *w)
{
        uint64_t room = room_of_disk(w);
        struct statvfs disk;

        if (w->pool.helper > 0 && w->pool.has_room)
                return w->pool.room_for_more;
        if (!w->pool.is_locked || fstatvfs(w->disk, &disk) < 0)
                return room;
        return room + above_margin(w, (uint64_t)disk.f_bavail * disk.f_frsize);
}

/*
 * While the pool is changed, blocks are on their way between it and the disk: what both had before that
 * counts.
 */
static bool mind_pool(struct warden *w, uint64_t shared, uint64_t free)
{
        uint64_t room = room_of_disk(w), more = room_for_more(w);
        pid_t before = w->pool.helper;

        if (!warden_pool_mind(w, shared, free, margin_of(w)))
                return false;
        if (w->pool.helper != before) {
                w->pool.room = room;
                w->pool.room_for_more = more;
                w->pool.has_room = true;
        }
        return true;
}

/*
 * True when the disk is short, and what is kept back must be released as it is needed, or is being made fast.
 */
static bool mind_disk(struct warden *w, uint64_t shared)
{
        struct statvfs fs;
        uint64_t free;
        bool is_changing;

        if (fstatvfs(w->disk, &fs) < 0)
                return false;
        free = (uint64_t)fs.f_bavail * fs.f_frsize;
        mind_reserve(w, &fs, free - least(free, margin_of(w)));
        is_changing = mind_pool(w, shared, free);
        if (!is_changing && !w->pool.is_locked)
                warden_shared_keep_back(w, shared, free, margin_of(w));
        return is_changing || (warden_shared_kept(w) > 0 && free < margin_of(w));
}

static uint64_t count_shared(const struct warden *w, const struct warden_box *but)
{
        uint64_t all = 0;

        for (unsigned i = 0; i < w->rows; i++)
                if (&w->boxes[i] != but && has_room(&w->boxes[i]))
                        all += w->boxes[i].room.shared;
        return all;
}

uint64_t warden_room_promised(const struct warden *w, const struct warden_box *but)
{
        uint64_t shared = count_shared(w, but);

        return shared - least(shared, warden_shared_kept(w));
}

uint64_t warden_room_for_copy(const struct warden *w, const struct warden_box *but)
{
        uint64_t room = room_for_more(w);

        return room - least(room, count_shared(w, but));
}

int warden_room_check(struct warden *w, const struct warden_box *box, struct cay_error *err)
{
        uint64_t others = count_shared(w, box), room = room_for_more(w);

        if (box->room.shared == 0 || others + box->room.shared <= room)
                return 0;
        return cay_fail(err, CAY_NO_SPACE,
                        "disk: the files of '%s' share %llu MiB with snapshots or other sandboxes; the disk "
                        "has no room to overwrite them (%llu MiB beside its reserve): remove something there",
                        box->plan.id, (unsigned long long)(box->room.shared >> 20),
                        (unsigned long long)((room - least(room, others)) >> 20));
}

static void release_all(struct warden *w)
{
        for (unsigned i = 0; i < image_count(w); i++) {
                struct warden_room *room = room_at(w, i);

                if (room)
                        hold_back(room, room->usual);
        }
}

/*
 * Free blocks inside. Of a layer through its box's first process, our child: a descriptor would keep the
 * mount. false: it does not exist (yet).
 */
static bool count_free(struct warden *w, unsigned nr, uint64_t *ret)
{
        const struct warden_volume *v = volume_at(w, nr);
        const struct warden_box *box = v ? NULL : &w->boxes[nr];
        char path[32];
        struct statfs fs;

        if (v) {
                if (fstatfs(v->mount, &fs) < 0)
                        return false;
        } else {
                snprintf(path, sizeof(path), "/proc/%d/root", (int)box->pid);
                if (box->pid <= 0 || statfs(path, &fs) < 0 || (uint64_t)fs.f_blocks != box->room.blocks)
                        return false;
        }
        *ret = (uint64_t)fs.f_bfree;
        return true;
}

/* Few are looked at quickly; in a pool, and where blocks are shared, there is more to look at. */
static bool has_spare(const struct warden *w, unsigned count)
{
        return count > MANY && !w->pool.is_one && count_shared(w, NULL) == 0;
}

static void allow_of(struct warden_room *room, uint64_t left, uint64_t bytes)
{
        uint64_t blocks = bytes / room->block_bytes;

        hold_back(room, left > blocks && left - blocks > room->usual ? left - blocks : room->usual);
}

static void allow(struct warden *w, unsigned nr, uint64_t bytes)
{
        uint64_t left;

        if (count_free(w, nr, &left))
                allow_of(room_at(w, nr), left, bytes);
}

/* Of what the last look left for images to come. */
static bool take_share(struct warden *w, unsigned nr, struct warden_room *room, uint64_t left)
{
        uint64_t need, share;

        if (w->spare.left == 0 || !read_need(w, nr, room))
                return false;
        room->had = 0; /* the next look takes it for one that grows */
        room->tables = least(room->tables, w->spare.tables);
        need = room->need - room->tables;
        share = w->spare.least == UINT64_MAX ? need : least(need, w->spare.left / 4);
        if (room->tables + share > w->spare.left || (share < need && share < w->spare.least))
                return false;
        w->spare.left -= room->tables + share;
        if (share < need)
                allow_of(room, left, share);
        return true;
}

static void note_mount(struct warden *w, unsigned nr, struct warden_room *room, int mount)
{
        struct statfs fs;

        *room = (struct warden_room){ 0 };
        room->is_known = sys_layer_device(mount, room->device, sizeof(room->device)) == 0 &&
                         fstatfs(mount, &fs) == 0 && fs.f_bsize > 0;
        if (!room->is_known)
                return;
        room->blocks = (uint64_t)fs.f_blocks;
        room->block_bytes = (uint64_t)fs.f_bsize;
        room->usual = room->held = read_number(room, "reserved_clusters");
        room->errors = read_number(room, "errors_count");
        room->has_share = take_share(w, nr, room, (uint64_t)fs.f_bfree);
        if (!room->has_share)
                warden_room_soon(w);
}

void warden_room_note_layer(struct warden *w, struct warden_box *box, int mount)
{
        note_mount(w, (unsigned)(box - w->boxes), &box->room, mount);
        warden_shared_read(w, box);
        if (box->room.shared > 0) {
                box->room.has_share = false;
                warden_room_soon(w);
        }
}

void warden_room_note_volume(struct warden *w, struct warden_volume *v, int mount)
{
        note_mount(w, w->rows + (unsigned)(v - w->volumes), &v->room, mount);
}

void warden_room_note_live(struct warden *w, const struct warden_box *box)
{
        if (box->kept && !box->room.has_share)
                warden_room_soon(w);
}

/*
 * Down, by a sixteenth at most: a share that changes a little is not worth a write for each of many images.
 */
static uint64_t rounded(uint64_t bytes)
{
        uint64_t step = 1;

        while (step < bytes / 32)
                step *= 2;
        return bytes - bytes % step;
}

static void divide(struct warden *w, uint64_t room, unsigned count)
{
        uint64_t tables = room / 4 / count, taken = 0, idle = 0, each;
        unsigned growing = 0;

        for (unsigned i = 0; i < image_count(w); i++) {
                struct warden_room *one = room_at(w, i);

                if (!one)
                        continue;
                /*
                 * Inodes are not made faster than we look: a part of the room will do, and a small disk is
                 * not all held back.
                 */
                one->tables = least(one->tables, tables);
                one->coming = least(one->need - one->tables,
                                    read_number(one, "delayed_allocation_blocks") * one->block_bytes);
                one->grew = one->grew || one->coming > 0;
                taken += one->tables + one->coming;
                growing += one->grew;
        }
        room -= least(room, taken);
        w->spare.tables = tables;
        w->spare.least = room / 2 / count;
        w->spare.left = has_spare(w, count) ? room / 4 : 0;
        room -= w->spare.left;
        each = growing == count ? 0 : room / 2 / count;
        if (count > MANY)
                each = rounded(each);
        for (unsigned i = 0; i < image_count(w); i++) {
                struct warden_room *one = room_at(w, i);

                if (!one || one->grew)
                        continue;
                one->share = least(one->need - one->tables, growing > 0 ? each : 2 * each);
                idle += one->share;
                allow(w, i, one->share);
        }
        each = growing > 0 ? (room - least(room, idle)) / growing : 0;
        for (unsigned i = 0; i < image_count(w); i++)
                if (room_at(w, i) && room_at(w, i)->grew)
                        allow(w, i, each);
}

/* A layer whose file system has met an error: its box ends now, with the reason. */
static void end_broken(struct warden *w)
{
        for (unsigned i = 0; i < w->rows; i++) {
                struct warden_box *box = &w->boxes[i];

                if (!has_room(box) || box->state != BOX_LIVE ||
                    read_number(&box->room, "errors_count") <= box->room.errors)
                        continue;
                box->is_damaged = true;
                warden_box_doom(w, box, NULL);
        }
}

static unsigned look_in(uint64_t needs, uint64_t room, unsigned count, bool is_urgent)
{
        if (is_urgent && count <= MANY)
                return LOOK_URGENT_MS;
        if (needs > room)
                return count <= MANY ? LOOK_OFTEN_MS : LOOK_MS;
        return room - needs > PLENTY ? LOOK_SELDOM_MS : LOOK_MS;
}

void warden_room_look(struct warden *w)
{
        uint64_t now = cay_clock_ms(), needs, room, shared;
        unsigned count;
        bool is_urgent;

        if (w->room_at_ms == 0 || now < w->room_at_ms)
                return;
        needs = count_needs(w, &count);
        shared = count_shared(w, NULL);
        is_urgent = mind_disk(w, shared);
        room = room_of_disk(w);
        if (needs + shared > room || warden_shared_kept(w) > 0 || w->pool.is_locked)
                warden_shared_read_next(w);
        room -= least(room, shared);
        if (needs <= room) {
                release_all(w);
                w->spare.tables = w->spare.least = UINT64_MAX;
                w->spare.left = has_spare(w, count) ? room - needs : 0;
        } else {
                divide(w, room, count);
        }
        if (now >= w->errors_at_ms) {
                end_broken(w);
                w->errors_at_ms = now + LOOK_SELDOM_MS;
        }
        if (count > 0)
                warden_pool_expect(w);
        if (count > 0 || warden_pool_is_busy(w))
                w->room_at_ms = now + look_in(needs, room, count, is_urgent);
        else
                w->room_at_ms = 0;
}
