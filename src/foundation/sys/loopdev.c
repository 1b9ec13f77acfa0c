/* SPDX-License-Identifier: Apache-2.0 */
/* Writable layers in files on loop devices. */
#include "foundation/sys/loopdev.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "foundation/sys/child.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/mounts.h"
#include "foundation/sys/syscalls.h"

#define MKE2FS "/sbin/mke2fs"
#define E2FSCK "/sbin/e2fsck"
#define E2FSCK_MENDED 1 /* exit status: errors were found and corrected */
#define JOURNAL_MIB "4" /* the minimum with blocks of this size */
#define JOURNAL_BYTES (4u << 20)
#define FORMAT_MS 30000
#define STATE_AT 1082 /* in an image: state of the file system, 16 bits, the lowest first */
#define STATE_ERRORS 0x02u
#define ERRORS_AT 1428   /* how many errors the kernel met in it, 32 bits */
#define INCOMPAT_AT 1120 /* in an image: features of ext4 that must be known, 32 bits, the lowest first */
#define COMPAT_AT 1116   /* features that need not be known */
#define COMPAT_JOURNAL 0x04u
#define BLOCK 4096u
#define EXTENTS 64u
#define EXTENT_ROUNDS 4096u
#define INCOMPAT_RECOVER 0x04u /* "its journal has to be replayed": it was mounted when the machine stopped */

bool sys_layer_image_can(void)
{
        return access(MKE2FS, X_OK) == 0 && access("/dev/loop-control", R_OK | W_OK) == 0;
}

/* Small file systems need room for their own tables; the limit applies to users' data. */
static uint64_t with_tables(uint64_t bytes, uint64_t inodes)
{
        return bytes + (inodes ? inodes * 256 : bytes / 64) + bytes / 64 + (256u << 10);
}

/* Bounded: a disk that does not respond must not block us forever. */
static int await_program(pid_t pid)
{
        int status, r = sys_child_await(pid, FORMAT_MS, &status);

        if (r == 0) {
                kill(pid, SIGKILL);
                if (waitpid(pid, &status, 0) < 0)
                        return -errno;
        }
        if (r < 0)
                return r;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}

int sys_layer_image_run(int file, const char *program, char *const *argv)
{
        char *const env[] = { "PATH=/sbin:/usr/sbin:/bin:/usr/bin", NULL };
        pid_t pid = vfork();

        if (pid < 0)
                return -errno;
        if (pid == 0) {
                int null = open("/dev/null", O_RDWR);

                if (fcntl(file, F_SETFD, 0) < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
                    dup2(null, 2) < 0)
                        _exit(126);
                execve(program, argv, env);
                _exit(127);
        }
        return await_program(pid);
}

static int format(int file, uint64_t inodes, bool journal)
{
        char path[32], count[24];
        char *argv[24] = { "mke2fs",
                           "-q",
                           "-F",
                           "-t",
                           "ext4",
                           "-m",
                           "0",
                           "-b",
                           "4096",
                           "-E",
                           "nodiscard,lazy_itable_init=1,lazy_journal_init=1",
                           "-O" };
        unsigned n = 12;
        int r;

        argv[n++] = journal ? "has_journal,^resize_inode" : "^has_journal,^resize_inode";
        if (journal) {
                argv[n++] = "-J";
                argv[n++] = "size=" JOURNAL_MIB;
        }
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
        snprintf(count, sizeof(count), "%llu", (unsigned long long)inodes);
        if (inodes) { /* else as many as mke2fs finds right */
                argv[n++] = "-N";
                argv[n++] = count;
        }
        argv[n] = path;
        r = sys_layer_image_run(file, MKE2FS, argv);
        return r > 0 ? -EIO : r;
}

int sys_layer_image_format(int file, uint64_t bytes, uint64_t inodes, bool journal)
{
        uint64_t all = with_tables(bytes, inodes) + (journal ? JOURNAL_BYTES : 0);

        if (ftruncate(file, (off_t)(all & ~4095ull)) < 0)
                return -errno;
        return format(file, inodes, journal);
}

/* Without option: replays the journal alone. */
static int check(int file, char *option)
{
        char path[32];
        char *const all[] = { "e2fsck", "-p", option, path, NULL };
        char *const journal[] = { "e2fsck", "-p", "-E", "journal_only", path, NULL };
        int r;

        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
        r = sys_layer_image_run(file, E2FSCK, option ? all : journal);
        return r > E2FSCK_MENDED ? -EUCLEAN : r;
}

/* Replaying a journal is not a repair: it restores what was written. */
int sys_layer_image_mend(int file)
{
        int r = sys_layer_image_is_unclean(file) ? check(file, NULL) : 0;

        if (r >= 0 && sys_layer_image_has_errors(file)) /* the journal may have noted some */
                r = -EUCLEAN;
        return r < 0 ? r : check(file, "-f");
}

bool sys_layer_image_has_errors(int file)
{
        uint8_t state[2], errors[4];

        if (pread(file, state, sizeof(state), STATE_AT) != (ssize_t)sizeof(state) ||
            pread(file, errors, sizeof(errors), ERRORS_AT) != (ssize_t)sizeof(errors))
                return false; /* not a file system at all: mounting reports that */
        return (state[0] & STATE_ERRORS) != 0 || (errors[0] | errors[1] | errors[2] | errors[3]) != 0;
}

int sys_layer_device(int mount, char *ret, size_t size)
{
        char path[64], to[256];
        const char *slash;
        struct stat st;
        ssize_t n;

        if (fstat(mount, &st) < 0)
                return -errno;
        snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
        n = readlink(path, to, sizeof(to) - 1);
        if (n < 0)
                return -errno;
        to[n] = 0;
        slash = strrchr(to, '/');
        if (!slash || strlen(slash + 1) >= size)
                return -ENOENT;
        snprintf(ret, size, "%s", slash + 1);
        return 0;
}

bool sys_layer_image_is_unclean(int file)
{
        uint8_t incompat[4];

        return pread(file, incompat, sizeof(incompat), INCOMPAT_AT) != (ssize_t)sizeof(incompat) ||
               (incompat[0] & INCOMPAT_RECOVER) != 0;
}

bool sys_layer_image_has_journal(int file)
{
        uint8_t compat[4];

        return pread(file, compat, sizeof(compat), COMPAT_AT) == (ssize_t)sizeof(compat) &&
               (compat[0] & COMPAT_JOURNAL) != 0;
}

static int copy_piece(int from, int to, off_t at, off_t end)
{
        char buf[16 * 1024]; /* for kernels and file systems without copy offload */

        while (at < end) {
                size_t want = (size_t)(end - at) < sizeof(buf) ? (size_t)(end - at) : sizeof(buf);
                loff_t in = at, out = at;
                ssize_t n = copy_file_range(from, &in, to, &out, (size_t)(end - at), 0);

                if (n < 0 && (errno == ENOSYS || errno == EXDEV || errno == EINVAL || errno == EOPNOTSUPP)) {
                        n = pread(from, buf, want, at);
                        if (n > 0)
                                n = pwrite(to, buf, (size_t)n, at);
                }
                if (n <= 0)
                        return n < 0 ? -errno : -EIO;
                at += n;
        }
        return 0;
}

int sys_layer_image_copy(int from, int to)
{
        return sys_layer_image_share(from, to) == 0 ? 0 : sys_layer_image_copy_data(from, to);
}

int sys_layer_image_share(int from, int to)
{
        return ioctl(to, FICLONE, from) < 0 ? -errno : 0;
}

bool sys_layer_image_can_share(int from, int to)
{
        struct file_clone_range one = { .src_fd = from, .src_length = BLOCK };

        return ioctl(to, FICLONERANGE, &one) == 0;
}

int sys_layer_image_copy_data(int from, int to)
{
        off_t at = 0, end;
        struct stat st;
        int r = 0;

        if (fstat(from, &st) < 0 || ftruncate(to, st.st_size) < 0)
                return -errno;
        while (r == 0 && at < st.st_size) {
                at = lseek(from, at, SEEK_DATA);
                if (at < 0)
                        return errno == ENXIO ? 0 : -errno; /* the rest is a hole */
                end = lseek(from, at, SEEK_HOLE);
                if (end < 0)
                        return -errno;
                r = copy_piece(from, to, at, end);
                at = end;
        }
        return r;
}

/* Extents come in portions; a file that changes meanwhile gives an estimate. */
int sys_layer_image_own_bytes(int file, bool write_out, uint64_t *ret)
{
        union { /* the extents follow the head */
                struct fiemap map;
                char room[sizeof(struct fiemap) + EXTENTS * sizeof(struct fiemap_extent)];
        } m;
        uint64_t at = 0, own = 0;
        struct stat st;
        bool is_last = false;

        if (fstat(file, &st) < 0)
                return -errno;
        *ret = (uint64_t)st.st_blocks * 512;
        for (unsigned rounds = 0; !is_last && rounds < EXTENT_ROUNDS; rounds++) {
                memset(&m, 0, sizeof(m));
                m.map.fm_start = at;
                m.map.fm_length = FIEMAP_MAX_OFFSET - at;
                m.map.fm_extent_count = EXTENTS;
                m.map.fm_flags = write_out ? FIEMAP_FLAG_SYNC : 0;
                if (ioctl(file, FS_IOC_FIEMAP, &m) < 0)
                        return 0;
                if (m.map.fm_mapped_extents == 0)
                        break;
                for (unsigned i = 0; i < m.map.fm_mapped_extents && i < EXTENTS; i++) {
                        const struct fiemap_extent *e = &m.map.fm_extents[i];

                        own += e->fe_flags & FIEMAP_EXTENT_SHARED ? 0 : e->fe_length;
                        at = e->fe_logical + e->fe_length;
                        is_last = e->fe_flags & FIEMAP_EXTENT_LAST;
                }
        }
        if (own < *ret)
                *ret = own;
        return 0;
}

/* LOOP_CONFIGURE came with Linux 5.8; before, it takes two calls. */
static int configure(int dev, int file)
{
        struct loop_config config = { .fd = (uint32_t)file, .info.lo_flags = LO_FLAGS_AUTOCLEAR };

        if (ioctl(dev, LOOP_CONFIGURE, &config) == 0)
                return 0;
        if (errno != EINVAL && errno != ENOTTY)
                return -errno;
        if (ioctl(dev, LOOP_SET_FD, file) < 0)
                return -errno;
        if (ioctl(dev, LOOP_SET_STATUS64, &config.info) < 0) {
                int r = -errno;

                ioctl(dev, LOOP_CLR_FD, 0);
                return r;
        }
        return 0;
}

/* Another process may take the free device before it is configured: retry. */
int sys_layer_image_attach(int file, char *ret_path, size_t size)
{
        cay_auto_close int control = sys_open_at(AT_FDCWD, "/dev/loop-control", O_RDWR, 0);

        if (control < 0)
                return control;
        for (int tries = 0; tries < 64; tries++) {
                cay_auto_close int dev = -1;
                int nr = ioctl(control, LOOP_CTL_GET_FREE), r;

                if (nr < 0)
                        return -errno;
                snprintf(ret_path, size, "/dev/loop%d", nr);
                dev = sys_open_at(AT_FDCWD, ret_path, O_RDWR, 0);
                if (dev == -ENXIO) /* in use, and being released */
                        continue;
                if (dev < 0)
                        return dev;
                r = configure(dev, file);
                if (r == 0)
                        return cay_take_fd(dev);
                if (r != -EBUSY)
                        return r;
        }
        return -EBUSY;
}

/*
 * The formatted file on its device, which exists while the descriptor is open or the file system is mounted.
 */
static int make(const char *dir, uint64_t bytes, uint64_t inodes, char *ret_path, size_t size)
{
        cay_auto_close int file = sys_open_at(AT_FDCWD, dir, O_TMPFILE | O_RDWR, 0600);
        int r;

        if (file < 0)
                return file;
        r = sys_layer_image_format(file, bytes, inodes, false);
        return r < 0 ? r : sys_layer_image_attach(file, ret_path, size);
}

/*
 * Tables that were never written read as zeros, so nothing has to initialise them in the background. No
 * barriers: each would wait for the host's disk (mounting and unmounting have several), and they only protect
 * against a power cut, see loopdev.h. discard returns freed blocks to the host's disk. An error makes the
 * file system read-only, so that the damage does not grow.
 */
int sys_layer_image_mount_file(int file, unsigned attr)
{
        char source[48] = "source=";
        const char *options[] = {
                source, "noinit_itable", "nobarrier", "discard", "errors=remount-ro", NULL
        };
        cay_auto_close int dev = sys_layer_image_attach(file, source + 7, sizeof(source) - 7);

        return dev < 0 ? dev : sys_mount_new("ext4", options, attr);
}

int sys_layer_image_mount_durable(int file, unsigned attr)
{
        char source[48] = "source=";
        const char *options[] = { source, "noinit_itable", "discard", "errors=remount-ro", NULL };
        cay_auto_close int dev = sys_layer_image_attach(file, source + 7, sizeof(source) - 7);

        return dev < 0 ? dev : sys_mount_new("ext4", options, attr);
}

int sys_layer_image_mount_read(int file, unsigned attr)
{
        char source[48] = "source=";
        const char *options[] = { source, "ro", NULL };
        cay_auto_close int dev = sys_layer_image_attach(file, source + 7, sizeof(source) - 7);

        return dev < 0 ? dev : sys_mount_new("ext4", options, attr);
}

/* The open device cannot be released and taken for another file meanwhile. */
int sys_layer_image_mount_again(int file, const char *device, unsigned attr)
{
        char source[48];
        const char *options[] = { source, NULL };
        cay_auto_close int dev = -1;
        struct loop_info64 info = { 0 };
        struct stat st;

        snprintf(source, sizeof(source), "source=/dev/%s", device);
        dev = sys_open_at(AT_FDCWD, source + 7, O_RDWR, 0);
        if (dev == -ENXIO || dev == -ENOENT)
                return -ESTALE;
        if (dev < 0)
                return dev;
        if (ioctl(dev, LOOP_GET_STATUS64, &info) < 0)
                return errno == ENXIO ? -ESTALE : -errno;
        if (fstat(file, &st) < 0)
                return -errno;
        if (info.lo_inode != st.st_ino || info.lo_device != st.st_dev)
                return -ESTALE;
        return sys_mount_new("ext4", options, attr);
}

int sys_layer_image_mount(const char *dir, uint64_t bytes, uint64_t inodes, unsigned attr)
{
        char source[48] = "source=";
        const char *options[] = { source, "nobarrier", NULL }; /* lost after a power cut anyway */
        cay_auto_close int dev = make(dir, bytes, inodes, source + 7, sizeof(source) - 7);

        return dev < 0 ? dev : sys_mount_new("ext4", options, attr);
}

int sys_layer_image_place(const char *dir, uint64_t bytes, uint64_t inodes, unsigned attr, int dirfd,
                          const char *path)
{
        char source[48] = "source=";
        const char *options[] = { source, "nobarrier", NULL }; /* lost after a power cut anyway */
        cay_auto_close int dev = make(dir, bytes, inodes, source + 7, sizeof(source) - 7);

        return dev < 0 ? dev : sys_mount_place_new("ext4", options, attr, dirfd, path);
}
