/* SPDX-License-Identifier: Apache-2.0 */
/* Kept layers. */
#include "cay-warden/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "foundation/base/clock.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/loopdev.h"
#include "foundation/sys/mounts.h"

#define SUFFIX ".img"
#define DAMAGED ".damaged"
#define NAME_SIZE (CAY_NAME_MAX + sizeof(DAMAGED))
#define BASE ".base1-" /* the number grows when images are formatted in another way */
#define RESERVE ".reserve"
#define BASE_NEW ".base-new"
#define BASES_MAX 16u /* sizes that are kept ready; one more evicts all others */
#define LET_GO_MS 50  /* the warden itself waits no longer: it would delay everyone else */
/* a helper may wait longer: its box's stop is answered after it (box.c: WRITE_OUT_MS) */
#define WRITTEN_OUT_MS 19000u
#define KEEP_BLOCK 4096u
#define KEEP_INODES_OF_FEW 32768u
#define KEEP_INODES_OF_OURS 256u /* more than we and ext4 have for ourselves */

static void name_of(const char *id, char ret[NAME_SIZE])
{
        snprintf(ret, NAME_SIZE, "%s" SUFFIX, id);
}

static void damaged_name_of(const char *id, char ret[NAME_SIZE])
{
        snprintf(ret, NAME_SIZE, "%s" DAMAGED, id);
}

/* Names of a folder without a heap. */

struct entry {
        uint64_t ino;
        int64_t off; /* where the next one is */
        uint16_t len;
        uint8_t type;
        char name[];
};

int cay_keep_walk(int dir, uint64_t from, cay_keep_each_fn *each, void *ctx)
{
        _Alignas(struct entry) char buf[4096];
        cay_auto_close int fd = sys_open_at(dir, ".", O_RDONLY | O_DIRECTORY, 0);

        if (fd < 0)
                return fd;
        if (lseek(fd, (off_t)from, SEEK_SET) < 0)
                return -errno;
        for (;;) {
                long n = syscall(SYS_getdents64, fd, buf, sizeof(buf));

                if (n <= 0)
                        return n < 0 ? -errno : 0;
                for (long at = 0; at < n;) {
                        const struct entry *e = (const struct entry *)(buf + at);

                        if (!each(ctx, e->name, (uint64_t)e->off))
                                return 0;
                        at += e->len;
                }
        }
}

/* The length of what stands before the suffix; 0: it has not this one. */
static size_t strip(const char *name, size_t len, const char *suffix)
{
        size_t tail = strlen(suffix);

        return len > tail && strcmp(name + len - tail, suffix) == 0 ? len - tail : 0;
}

static bool add_id(void *ctx, const char *name, uint64_t next)
{
        struct wire_answer *a = ctx;
        size_t len = strlen(name);
        char *id = a->layers.ids[a->layers.count < WIRE_LAYERS ? a->layers.count : 0];

        if (a->layers.count == WIRE_LAYERS) {
                a->layers.more = 1;
                return false;
        }
        len = strip(name, len, SUFFIX) + strip(name, len, DAMAGED);
        if (len > 0 && len <= CAY_NAME_MAX) {
                snprintf(id, CAY_NAME_MAX + 1, "%.*s", (int)len, name);
                a->layers.count += cay_id_is_valid(id);
        }
        a->layers.next = next;
        return true;
}

int cay_keep_list(int dir, uint64_t from, struct wire_answer *ret)
{
        ret->layers.count = ret->layers.more = 0;
        ret->layers.next = from;
        return cay_keep_walk(dir, from, add_id, ret);
}

int cay_keep_drop(int dir, const char *id)
{
        char name[NAME_SIZE];

        damaged_name_of(id, name);
        if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
                return -errno;
        name_of(id, name);
        return unlinkat(dir, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int cay_keep_reserve(int dir, uint64_t bytes)
{
        cay_auto_close int file = sys_open_at(dir, RESERVE, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
        struct stat st;
        int r;

        if (file < 0)
                return file;
        if (fstat(file, &st) < 0)
                return -errno;
        r = bytes > 0 && fallocate(file, 0, 0, (off_t)bytes) < 0 ? -errno : 0;
        if (ftruncate(file, r < 0 ? st.st_size : (off_t)bytes) < 0)
                return -errno;
        return r;
}

int cay_keep_measure(int dir, const char *id, uint64_t *ret_bytes, uint64_t *ret_had)
{
        char name[NAME_SIZE];
        struct stat st;

        name_of(id, name);
        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        *ret_bytes = (uint64_t)st.st_size;
        *ret_had = (uint64_t)st.st_blocks * 512;
        return 0;
}

int cay_keep_measure_own(int dir, const char *id, uint64_t *ret_own)
{
        char name[NAME_SIZE];
        cay_auto_close int file = -1;

        name_of(id, name);
        file = sys_open_at(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
        return file < 0 ? file : sys_layer_image_own_bytes(file, false, ret_own);
}

int cay_keep_set_aside(int dir, const char *id)
{
        char from[NAME_SIZE], to[NAME_SIZE];

        name_of(id, from);
        damaged_name_of(id, to);
        if (renameat(dir, from, dir, to) < 0)
                return -errno;
        return fsync(dir) < 0 ? -errno : 0;
}

/* Bases */

static bool count_base(void *ctx, const char *name, uint64_t next)
{
        (void)next;
        *(unsigned *)ctx += strncmp(name, BASE, strlen(BASE)) == 0;
        return true;
}

struct one_base {
        char name[96];
};

static bool find_base(void *ctx, const char *name, uint64_t next)
{
        struct one_base *b = ctx;

        (void)next;
        if (strncmp(name, BASE, strlen(BASE)) != 0)
                return true;
        snprintf(b->name, sizeof(b->name), "%s", name);
        return false;
}

static void make_room(int dir)
{
        unsigned count = 0;

        if (cay_keep_walk(dir, 0, count_base, &count) < 0 || count < BASES_MAX)
                return;
        for (unsigned i = 0; i < count; i++) {
                struct one_base one = { "" };

                cay_keep_walk(dir, 0, find_base, &one);
                if (one.name[0])
                        unlinkat(dir, one.name, 0);
        }
}

/* Synced before it gets its name: an incomplete one must not look complete after a power cut. */
static int make_base(int dir, const char *name, uint64_t bytes, uint64_t inodes)
{
        cay_auto_close int file = -1;
        int r;

        make_room(dir);
        if (unlinkat(dir, BASE_NEW, 0) < 0 && errno != ENOENT)
                return -errno;
        file = sys_open_at(dir, BASE_NEW, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (file < 0)
                return file;
        r = sys_layer_image_format(file, bytes, inodes, bytes >= KEEP_JOURNAL_FROM);
        if (r == 0 && (fsync(file) < 0 || renameat(dir, BASE_NEW, dir, name) < 0))
                r = -errno;
        if (r < 0)
                unlinkat(dir, BASE_NEW, 0);
        return r < 0 ? r : cay_take_fd(file);
}

static int open_base(int dir, uint64_t bytes, uint64_t inodes)
{
        char name[96];
        int fd;

        snprintf(name, sizeof(name), BASE "%llu-%llu", (unsigned long long)bytes, (unsigned long long)inodes);
        fd = sys_open_at(dir, name, O_RDONLY | O_NOFOLLOW, 0);
        return fd == -ENOENT ? make_base(dir, name, bytes, inodes) : fd;
}

/* Layers */

int cay_keep_check_inodes(uint64_t bytes, uint64_t inodes, struct cay_error *err)
{
        uint64_t by_size = bytes / KEEP_BLOCK + KEEP_INODES_OF_OURS;

        if (inodes <= KEEP_INODES_OF_FEW || (inodes <= by_size && inodes <= UINT32_MAX))
                return 0;
        return cay_fail(err, CAY_INVALID,
                        "inodes: %llu are more than a disk of %llu bytes can have: ask for fewer, or for a "
                        "larger disk",
                        (unsigned long long)inodes, (unsigned long long)bytes);
}

/*
 * The kernel releases a mount, and with it the lock, a moment after its last process; later when much is
 * still to be written.
 */
int cay_keep_lock(int file, unsigned wait_ms)
{
        const struct timespec nap = { .tv_nsec = 1000000 };
        uint64_t until = cay_clock_ms() + wait_ms;

        for (;;) {
                if (flock(file, LOCK_EX | LOCK_NB) == 0)
                        return 0;
                if (errno != EWOULDBLOCK && errno != EINTR)
                        return -errno;
                if (cay_clock_ms() >= until)
                        return -EBUSY;
                nanosleep(&nap, NULL);
        }
}

int cay_keep_write_out(int dir, const char *id, int fs)
{
        char name[NAME_SIZE];
        cay_auto_close int file = -1;
        int r = fs >= 0 && syncfs(fs) < 0 ? -errno : 0; /* a write that failed since it was mounted counts */

        if (fs >= 0)
                close(fs); /* and with it goes the mount */
        if (r == -EIO || r == -ENOSPC || r == -EDQUOT)
                return -EUCLEAN;
        name_of(id, name);
        file = sys_open_at(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
        if (file < 0)
                return file;
        r = cay_keep_lock(file, WRITTEN_OUT_MS);
        if (fsync(file) < 0)
                return errno == EIO || errno == ENOSPC || errno == EDQUOT ? -EUCLEAN : -errno;
        if (sys_layer_image_has_errors(file))
                return -EUCLEAN;
        /* Nobody has it mounted any more: a journal that is not empty could not be written out. */
        return r == 0 && sys_layer_image_is_unclean(file) ? -EUCLEAN : r;
}

int cay_keep_new_file(int bases, int dir, const char *name, uint64_t bytes, uint64_t inodes)
{
        cay_auto_close int file = -1, base = open_base(bases, bytes, inodes);
        int r;

        if (base < 0)
                return base;
        file = sys_open_at(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (file < 0)
                return file;
        r = sys_layer_image_copy(base, file);
        if (r >= 0)
                return cay_take_fd(file);
        unlinkat(dir, name, 0);
        return r;
}

static int open_new(int dir, const char *id, const char *name, uint64_t bytes, uint64_t inodes,
                    struct cay_keep_facts *ret, struct cay_error *err)
{
        cay_auto_close int file = -1;
        int r;

        if (cay_keep_check_inodes(bytes, inodes, err) < 0)
                return -1;
        r = file = cay_keep_new_file(dir, dir, name, bytes, inodes);
        if (r == -EEXIST)
                return cay_fail(err, CAY_EXISTS,
                                "files of an earlier sandbox '%s' are there: destroy it first", id);
        ret->made = r >= 0;
        if (r >= 0)
                r = cay_keep_lock(file, LET_GO_MS);
        if (r < 0)
                return cay_fail_sys(err,
                                    r == -ENOSPC || r == -EFBIG || r == -EDQUOT ? CAY_NO_SPACE : CAY_INTERNAL,
                                    r, "disk: make a writable layer of %llu bytes in the data folder",
                                    (unsigned long long)bytes);
        return cay_take_fd(file);
}

static int say_damaged(const char *id, struct cay_error *err)
{
        cay_fail(err, CAY_CONFLICT,
                 "the files of '%s' are damaged, writes to the host's disk failed: kept as layers/%s" DAMAGED
                 "; mend them with e2fsck -f and rename them to " SUFFIX " to go on",
                 id, id);
        err->sys = EUCLEAN;
        return -1;
}

/* One that is not there under its own name. */
static int say_missing(int dir, const char *id, struct cay_error *err)
{
        char name[NAME_SIZE];

        damaged_name_of(id, name);
        if (faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
                return say_damaged(id, err);
        return cay_fail_sys(err, CAY_CONFLICT, -ENOENT, "the files of '%s' are gone (layers/%s" SUFFIX ")",
                            id, id);
}

static int open_old(int dir, const char *id, const char *name, uint64_t bytes, struct cay_keep_facts *ret,
                    struct cay_error *err)
{
        cay_auto_close int file = sys_open_at(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
        struct stat st;
        int r;

        if (file == -ENOENT)
                return say_missing(dir, id, err);
        if (file < 0 || fstat(file, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
                return cay_fail(err, CAY_CONFLICT,
                                "the files of '%s' are not those that were kept (layers/%s)", id, name);
        r = cay_keep_lock(file, LET_GO_MS);
        if (r == -EBUSY) /* the caller retries: domain/sandboxes/sandbox_make.c */
                return cay_fail_sys(
                        err, CAY_UNAVAILABLE, r,
                        "the files of '%s' are still mounted: what it wrote last is on its way to a slow "
                        "disk, or somebody holds layers/%s; try again",
                        id, name);
        if (r == 0 && sys_layer_image_has_errors(file))
                r = -EUCLEAN;
        if (r == 0 && (bytes < KEEP_JOURNAL_FROM || sys_layer_image_is_unclean(file)))
                r = sys_layer_image_mend(file);
        if (r == -EUCLEAN && sys_layer_image_has_errors(file) && cay_keep_set_aside(dir, id) == 0)
                return say_damaged(id, err);
        if (r < 0)
                return cay_fail_sys(err, CAY_CONFLICT, r, "the files of '%s' are damaged (layers/%s)", id,
                                    name);
        ret->mended = r > 0;
        return cay_take_fd(file);
}

int cay_keep_mount(int dir, const char *id, bool go_on, uint64_t bytes, uint64_t inodes,
                   struct cay_keep_facts *ret, struct cay_error *err)
{
        char name[NAME_SIZE];
        cay_auto_close int file = -1;
        int mount;

        name_of(id, name);
        file = go_on ? open_old(dir, id, name, bytes, ret, err)
                     : open_new(dir, id, name, bytes, inodes, ret, err);
        if (file < 0)
                return -1;
        mount = sys_layer_image_mount_file(file, SYS_MOUNT_SAFE);
        if (mount < 0 && go_on)
                return cay_fail_sys(err, CAY_CONFLICT, mount,
                                    "the files of '%s' cannot be mounted (layers/%s): e2fsck may repair them",
                                    id, name);
        if (mount < 0)
                return cay_fail_sys(err, CAY_INTERNAL, mount, "mount the writable layer of '%s'", id);
        return mount;
}
