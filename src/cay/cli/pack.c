/* SPDX-License-Identifier: Apache-2.0 */
/* Packs a tree. */
#include "cay/cli/pack.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "foundation/sys/fd.h"
#include "foundation/tar/tar.h"

#define BUFFER (64u * 1024)
#define DEPTH_MAX 256u /* descriptors open at once */

struct work {
        struct cay_pack *p;
        char name[CAY_TAR_NAME_MAX + 1];
        size_t name_len;
        char target[PATH_MAX];
        char buf[BUFFER];
};

static_assert(BUFFER >= CAY_TAR_HEADERS_MAX, "a header fits");

static int put(struct work *w, const void *bytes, size_t len, struct cay_error *err)
{
        return len > 0 ? w->p->write(w->p->ctx, bytes, len, err) : 0;
}

static int put_zeros(struct work *w, uint64_t count, struct cay_error *err)
{
        int r = 0;

        memset(w->buf, 0, sizeof(w->buf));
        while (count > 0 && r == 0) {
                size_t n = count < sizeof(w->buf) ? (size_t)count : sizeof(w->buf);

                r = put(w, w->buf, n, err);
                count -= n;
        }
        return r;
}

static int put_header(struct work *w, enum cay_tar_type type, const struct stat *st, const char *link,
                      struct cay_error *err)
{
        const struct cay_tar_member m = { .type = type,
                                          .mode = st->st_mode & 0777,
                                          .size = type == CAY_TAR_FILE ? (uint64_t)st->st_size : 0,
                                          .mtime_s = st->st_mtim.tv_sec,
                                          .mtime_ns = (uint32_t)st->st_mtim.tv_nsec,
                                          .name = w->name,
                                          .link = link };
        int n = cay_tar_member_format(&m, w->buf, sizeof(w->buf));

        if (n < 0)
                return cay_fail_sys(err, CAY_INVALID, n, "pack '%.120s'", w->name);
        w->p->entries++;
        return put(w, w->buf, (size_t)n, err);
}

/* As many bytes as the header announced. */
static int put_file(struct work *w, int fd, const struct stat *st, struct cay_error *err)
{
        uint64_t left = (uint64_t)st->st_size;
        int r = put_header(w, CAY_TAR_FILE, st, "", err);

        while (left > 0 && r == 0) {
                ssize_t n = read(fd, w->buf, left < sizeof(w->buf) ? (size_t)left : sizeof(w->buf));

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return cay_fail_sys(err, CAY_INTERNAL, -errno, "read '%.120s'", w->name);
                if (n == 0) {
                        w->p->changed++;
                        r = put_zeros(w, left, err);
                        break;
                }
                r = put(w, w->buf, (size_t)n, err);
                left -= (uint64_t)n;
                w->p->bytes += (uint64_t)n;
        }
        return r == 0 ? put_zeros(w, cay_tar_padding((uint64_t)st->st_size), err) : r;
}

static int put_link(struct work *w, int dir, const char *name, const struct stat *st, struct cay_error *err)
{
        ssize_t n = readlinkat(dir, name, w->target, sizeof(w->target) - 1);

        if (n < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "read the link '%.120s'", w->name);
        w->target[n] = '\0';
        return put_header(w, CAY_TAR_SYMLINK, st, w->target, err);
}

static int put_entry(struct work *w, int dir, const char *name, unsigned depth, struct cay_error *err);

static bool push_name(struct work *w, const char *name)
{
        int n = snprintf(w->name + w->name_len, sizeof(w->name) - w->name_len, "/%s", name);

        if (n >= (int)(sizeof(w->name) - w->name_len - 1))
                return false;
        w->name_len += (size_t)n;
        return true;
}

static int put_members(struct work *w, DIR *members, unsigned depth, struct cay_error *err)
{
        size_t before = w->name_len;
        struct dirent *e;
        int r = 0;

        while (r == 0 && (errno = 0, e = readdir(members)) != NULL) {
                if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
                        continue;
                if (!push_name(w, e->d_name))
                        return cay_fail(err, CAY_INVALID, "pack '%.120s…': the name is too long", w->name);
                r = put_entry(w, dirfd(members), e->d_name, depth, err);
                w->name_len = before;
                w->name[before] = '\0';
        }
        return r == 0 && errno != 0 ? cay_fail_sys(err, CAY_INTERNAL, -errno, "read '%.120s'", w->name) : r;
}

static int put_directory(struct work *w, int fd, const struct stat *st, unsigned depth, struct cay_error *err)
{
        size_t before = w->name_len;
        DIR *members;
        int r;

        if (depth == DEPTH_MAX) {
                close(fd);
                return cay_fail(err, CAY_INVALID, "pack '%.120s': more than %u folders deep", w->name,
                                DEPTH_MAX);
        }
        members = fdopendir(fd);
        if (members == NULL) {
                close(fd);
                return cay_fail(err, CAY_INTERNAL, "no memory");
        }
        snprintf(w->name + before, sizeof(w->name) - before, "/"); /* a directory's name ends with a slash */
        r = put_header(w, CAY_TAR_DIRECTORY, st, "", err);
        w->name[before] = '\0';
        if (r == 0)
                r = put_members(w, members, depth + 1, err);
        closedir(members);
        return r;
}

/* Checks, opens, and checks again: what is packed is what was opened. A FIFO or device is never opened. */
static int put_entry(struct work *w, int dir, const char *name, unsigned depth, struct cay_error *err)
{
        cay_auto_close int fd = -1;
        struct stat st;

        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return cay_fail_sys(err, errno == ENOENT ? CAY_NOT_FOUND : CAY_INTERNAL, -errno,
                                    "look at '%.120s'", w->name);
        if (S_ISLNK(st.st_mode))
                return put_link(w, dir, name, &st, err);
        if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
                w->p->left_out++;
                return 0;
        }
        fd = sys_open_at(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
        if (fd < 0 || fstat(fd, &st) < 0)
                return cay_fail_sys(err, CAY_DENIED, fd < 0 ? fd : -errno, "open '%.120s'", w->name);
        if (S_ISDIR(st.st_mode))
                return put_directory(w, cay_take_fd(fd), &st, depth, err);
        if (!S_ISREG(st.st_mode)) {
                w->p->left_out++;
                return 0;
        }
        return put_file(w, fd, &st, err);
}

int cay_pack_run(struct cay_pack *p, const char *path, const char *name, struct cay_error *err)
{
        cay_auto_free struct work *w = calloc(1, sizeof(*w));
        int r;

        if (w == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        w->p = p;
        w->name_len = (size_t)snprintf(w->name, sizeof(w->name), "%s", name);
        if (w->name_len >= NAME_MAX + 1)
                return cay_fail(err, CAY_INVALID, "the name '%.60s…' is too long", name);
        r = put_entry(w, AT_FDCWD, path, 0, err);
        return r == 0 ? put_zeros(w, 2 * CAY_TAR_BLOCK, err) : r;
}
