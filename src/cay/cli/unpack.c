/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks an archive. */
#include "cay/cli/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "foundation/base/path.h"
#include "cay/cli/safe.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/sparse.h"

#define DIRS_MAX 1000000u

struct cay_unpack_dir {
        char *path; /* owned */
        uint32_t mode;
        struct timespec mtime;
};

static int fail(const struct cay_unpack *u, int r, const char *what, struct cay_error *err)
{
        char safe[160];

        return cay_fail_sys(err, r == -ENOSPC ? CAY_NO_SPACE : CAY_INTERNAL, r, "%s '%s'", what,
                            cay_safe_copy(u->path, safe, sizeof(safe)));
}

/* From a member's name in the archive to its path below the folder. */
static int place(const struct cay_unpack *u, const char *member, char *ret, size_t size,
                 struct cay_error *err)
{
        const char *rest = strncmp(member, "./", 2) == 0 ? member + 2 : member;
        size_t len = strlen(rest);
        char safe[120];
        int n;

        while (len > 0 && rest[len - 1] == '/')
                len--;
        n = u->is_tree && len > 0 ? snprintf(ret, size, "%s/%.*s", u->name, (int)len, rest)
                                  : snprintf(ret, size, "%s", u->name);
        if (n < 0 || n >= (int)size || !cay_change_path_is_valid(ret))
                return cay_fail(err, CAY_INVALID, "the archive has an invalid name: '%s'",
                                cay_safe_copy(member, safe, sizeof(safe)));
        return 0;
}

/* Removes what is in the place of a new entry; a directory stays and is in the way. */
static int make_room(int dir, const char *name)
{
        return unlinkat(dir, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

static int keep_dir(struct cay_unpack *u, const struct cay_tar_member *m, struct cay_error *err)
{
        struct cay_unpack_dir *d;

        if (u->dir_count == u->dir_room) {
                size_t room = u->dir_room > 0 ? u->dir_room * 2 : 64;
                struct cay_unpack_dir *dirs =
                        room <= DIRS_MAX ? reallocarray(u->dirs, room, sizeof(*dirs)) : NULL;

                if (dirs == NULL)
                        return cay_fail(err, CAY_LIMIT, "too many folders");
                u->dirs = dirs;
                u->dir_room = room;
        }
        d = &u->dirs[u->dir_count];
        *d = (struct cay_unpack_dir){ strdup(u->path), m->mode & 0777, { m->mtime_s, m->mtime_ns } };
        if (d->path == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        u->dir_count++;
        return 0;
}

static int make_dir(struct cay_unpack *u, const struct cay_tar_member *m, int dir, const char *name,
                    struct cay_error *err)
{
        struct stat st;

        if (mkdirat(dir, name, 0700) < 0) {
                if (errno != EEXIST || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        return fail(u, -errno, "make the folder", err);
                if (!S_ISDIR(st.st_mode))
                        return fail(u, -ENOTDIR, "make the folder", err);
                if ((st.st_mode & 0700) != 0700)
                        sys_chmod_at(dir, name, (st.st_mode & 0777) | 0700);
        }
        return keep_dir(u, m, err);
}

static int make_file(struct cay_unpack *u, const struct cay_tar_member *m, int dir, const char *name,
                     struct cay_error *err)
{
        struct stat st;
        int r = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) ? -EISDIR : 0;

        if (r == 0)
                r = sys_replace_open(&u->file, dir); /* the folder's descriptor stays until the next member */
        u->mode = m->mode & 0777;
        u->mtime = (struct timespec){ m->mtime_s, m->mtime_ns };
        return r < 0 ? fail(u, r, "make", err) : 0;
}

static int make_symlink(struct cay_unpack *u, const struct cay_tar_member *m, int dir, const char *name,
                        struct cay_error *err)
{
        const struct timespec times[] = { { .tv_nsec = UTIME_NOW }, { m->mtime_s, m->mtime_ns } };
        int r = make_room(dir, name);

        if (r == 0 && symlinkat(m->link, dir, name) < 0)
                r = -errno;
        if (r == 0)
                utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW);
        return r < 0 ? fail(u, r, "make the link", err) : 0;
}

/* A link to an earlier member, by a path that is resolved as strictly. */
static int make_link(struct cay_unpack *u, const struct cay_tar_member *m, struct cay_error *err)
{
        cay_auto_close int from_dir = -1;
        const char *from, *to;
        int r, dir;

        if (place(u, m->link, u->link, sizeof(u->link), err) < 0)
                return -1;
        r = cay_folder_parent(&u->folder, u->link, &from);
        if (r >= 0) {
                from_dir = fcntl(r, F_DUPFD_CLOEXEC, 3); /* the next call invalidates the result */
                r = from_dir < 0 ? -errno : 0;
        }
        dir = r < 0 ? r : cay_folder_parent(&u->folder, u->path, &to);
        r = dir < 0 ? dir : make_room(dir, to);
        if (r == 0 && linkat(from_dir, from, dir, to, 0) < 0)
                r = -errno;
        return r < 0 ? fail(u, r, "make the hard link", err) : 0;
}

static int on_member(struct cay_tar_sink *sink, const struct cay_tar_member *m, struct cay_error *err)
{
        struct cay_unpack *u = cay_container_of(sink, struct cay_unpack, sink);
        bool is_first = !u->has_root;
        const char *name;
        int dir;

        if (is_first) {
                u->has_root = true;
                u->is_tree = m->type == CAY_TAR_DIRECTORY;
        } else if (!u->is_tree) {
                return cay_fail(err, CAY_INVALID, "the archive has more than one entry");
        }
        if (m->type == CAY_TAR_DIRECTORY && is_first)
                snprintf(u->path, sizeof(u->path), "%s", u->name);
        else if (place(u, m->name, u->path, sizeof(u->path), err) < 0)
                return -1;
        u->entries++;
        if (m->type == CAY_TAR_LINK)
                return make_link(u, m, err);
        dir = cay_folder_parent(&u->folder, u->path, &name);
        if (dir < 0)
                return fail(u, dir, "go to the folder of", err);
        switch (m->type) {
        case CAY_TAR_DIRECTORY:
                return make_dir(u, m, dir, name, err);
        case CAY_TAR_FILE:
                return make_file(u, m, dir, name, err);
        case CAY_TAR_SYMLINK:
                return make_symlink(u, m, dir, name, err);
        default:
                u->entries--;
                u->left_out++;
                return 0;
        }
}

static int on_data(struct cay_tar_sink *sink, const void *bytes, size_t len, struct cay_error *err)
{
        struct cay_unpack *u = cay_container_of(sink, struct cay_unpack, sink);
        int r = sys_sparse_write(u->file.fd, bytes, len);

        u->bytes += len;
        return r < 0 ? fail(u, r, "write", err) : 0;
}

static int on_hole(struct cay_tar_sink *sink, uint64_t len, struct cay_error *err)
{
        struct cay_unpack *u = cay_container_of(sink, struct cay_unpack, sink);

        return lseek(u->file.fd, (off_t)len, SEEK_CUR) < 0 ? fail(u, -errno, "write", err) : 0;
}

static int on_end(struct cay_tar_sink *sink, struct cay_error *err)
{
        struct cay_unpack *u = cay_container_of(sink, struct cay_unpack, sink);
        const struct timespec times[] = { { .tv_nsec = UTIME_NOW }, u->mtime };
        int r = sys_sparse_end(u->file.fd);

        if (r < 0)
                return fail(u, r, "finish", err);
        if (fchmod(u->file.fd, u->mode) < 0 || futimens(u->file.fd, times) < 0)
                r = -errno;
        if (r == 0)
                r = sys_replace_commit(&u->file, cay_path_base(u->path), false);
        if (r == 0 && close(cay_take_fd(u->file.fd)) < 0)
                r = -errno;
        sys_replace_drop(&u->file);
        return r < 0 ? fail(u, r, "finish", err) : 0;
}

static const struct cay_tar_sink_ops sink_ops = {
        .member = on_member, .data = on_data, .end = on_end, .hole = on_hole
};

int cay_unpack_init_take(struct cay_unpack *u, int folder_fd, const char *name, struct cay_error *err)
{
        int r = cay_folder_init_take(&u->folder, folder_fd);

        u->sink.ops = &sink_ops;
        u->name = name;
        u->file = SYS_REPLACE_NONE;
        u->dirs = NULL;
        u->dir_count = u->dir_room = 0;
        u->has_root = u->is_tree = false;
        u->bytes = u->entries = u->left_out = 0;
        cay_tar_reader_init(&u->reader, &u->sink);
        if (r < 0)
                return cay_fail_sys(err, CAY_INVALID, r, "open the target's folder");
        return cay_path_is_name(name) ? 0 : cay_fail(err, CAY_INVALID, "the target has no name");
}

int cay_unpack_feed(struct cay_unpack *u, const void *bytes, size_t len, struct cay_error *err)
{
        return cay_tar_reader_feed(&u->reader, bytes, len, err);
}

/* The deepest first: a directory that may not be searched would hide those below it. */
static int finish_dirs(struct cay_unpack *u, struct cay_error *err)
{
        for (size_t i = u->dir_count; i-- > 0;) {
                const struct cay_unpack_dir *d = &u->dirs[i];
                const struct timespec times[] = { { .tv_nsec = UTIME_NOW }, d->mtime };
                cay_auto_close int fd = cay_folder_open_dir(&u->folder, d->path);

                snprintf(u->path, sizeof(u->path), "%s", d->path);
                if (fd < 0 || fchmod(fd, d->mode) < 0 || futimens(fd, times) < 0)
                        return fail(u, fd < 0 ? fd : -errno, "finish the folder", err);
        }
        return 0;
}

int cay_unpack_finish(struct cay_unpack *u, struct cay_error *err)
{
        if (cay_tar_reader_finish(&u->reader, err) < 0)
                return -1;
        if (!u->has_root)
                return cay_fail(err, CAY_INVALID, "the archive is empty");
        return finish_dirs(u, err);
}

void cay_unpack_done(struct cay_unpack *u)
{
        sys_replace_drop(&u->file); /* a partial file is removed, and what it would have replaced stays */
        for (size_t i = 0; i < u->dir_count; i++)
                free(u->dirs[i].path);
        free(u->dirs);
        u->dirs = NULL;
        u->dir_count = 0;
        cay_folder_done(&u->folder);
}
