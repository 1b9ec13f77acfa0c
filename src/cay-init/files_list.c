/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worker LIST: the entries of a directory, or of all below it, as records on OUT, in the file system's order.
 * A page is entries `offset` to `offset + max_entries`; pages fit together as long as the directory is not
 * changed in between. A recursive listing stays on its mount, and names are paths below the directory; what
 * is too deep to be named in a request is left out and counted in the message. With *sorted* entries come by
 * name, and of those that the glob in path2 matches alone, if there is one; then at most CAY_GATHER_NAMES are
 * known of, which the message says.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/clock.h"
#include "cay-init/files.h"
#include "cay-init/files_attributes.h"
#include "cay-init/files_gather.h"
#include "cay-init/files_walk.h"
#include "foundation/sys/fd.h"

#define LIST_ENTRIES_MAX 1000000u
#define SORTED_MS 10000u

struct listing {
        struct cay_files_walk walk;
        int out_fd;
        uint64_t seen, sent, left_out;
        bool with_attributes;
        size_t len; /* of buf */
        char name[CAY_BOX_PATH_MAX + 1];
        char target[CAY_BOX_PATH_MAX + 1];
        char buf[CAY_FILES_BUFFER / 2];
};

static int flush(struct listing *l)
{
        int r = sys_write_all(l->out_fd, l->buf, l->len);

        l->len = 0;
        return r;
}

/* Reports `at` below fd as `name`. 0 also when it does not exist any more. */
static int entry_put(struct listing *l, int fd, const char *at, const char *name, size_t len)
{
        struct cay_box_stat m = { 0 };
        struct stat st;
        ssize_t n = 0;
        int r;

        if (fstatat(fd, at, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -errno;
        if (S_ISLNK(st.st_mode)) {
                n = readlinkat(fd, at, l->target, sizeof(l->target) - 1);
                if (n < 0)
                        n = 0; /* replaced meanwhile: a link whose target is not known */
        } else if (l->with_attributes && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))) {
                cay_files_attributes_find(fd, at, l->target, CAY_BOX_PATH_MAX);
                n = (ssize_t)strlen(l->target);
        }
        m.type = cay_files_type(st.st_mode);
        m.mode = st.st_mode & 07777;
        m.uid = st.st_uid;
        m.gid = st.st_gid;
        m.size = (uint64_t)st.st_size;
        m.mtime_ns = cay_files_mtime_ns(&st);
        m.name = (struct cay_view){ name, (uint32_t)len };
        m.target = (struct cay_view){ l->target, (uint32_t)n };
        r = cay_box_entry_encode(&m, l->buf + l->len, sizeof(l->buf) - l->len);
        if (r < 0) {
                r = flush(l);
                if (r == 0)
                        r = cay_box_entry_encode(&m, l->buf, sizeof(l->buf));
        }
        if (r < 0)
                return r;
        l->len += (size_t)r;
        l->sent++;
        return 0;
}

/* The current entry of the walk. */
static int entry_send(struct listing *l)
{
        int fd = cay_files_chain_fd(&l->walk.chain), r;

        if (fd < 0)
                return fd;
        r = cay_files_chain_join(&l->walk.chain, l->walk.name, l->name, sizeof(l->name));
        if (r < 0) {
                l->left_out++;
                return 0;
        }
        return entry_put(l, fd, l->walk.name, l->name, (size_t)r);
}

static bool may_be_directory(struct listing *l)
{
        return l->walk.dtype == DT_DIR || l->walk.dtype == DT_UNKNOWN;
}

static int list_run(struct listing *l, const struct cay_box_file *f)
{
        uint64_t max = f->max_entries > 0 ? f->max_entries : LIST_ENTRIES_MAX;
        int r;

        while (l->sent < max && (r = cay_files_walk_next(&l->walk)) != CAY_FILES_END) {
                if (r < 0)
                        return r;
                if (r != CAY_FILES_ENTRY)
                        continue;
                if (l->seen++ >= f->offset) {
                        r = entry_send(l);
                        if (r < 0)
                                return r;
                }
                if (!(f->flags & CAY_BOX_RECURSIVE) || !may_be_directory(l))
                        continue;
                r = cay_files_walk_descend(&l->walk);
                if (r == -ENAMETOOLONG || r == -EACCES)
                        l->left_out++;
                else if (r < 0 && r != -ENOTDIR && r != -ENOENT && r != -EXDEV)
                        return r;
        }
        return flush(l);
}

/* Consumes fd. */
static int list_sorted(struct listing *l, int fd, const struct cay_worker_request *req,
                       struct cay_worker_result *ret, struct cay_error *err)
{
        const struct cay_box_file *f = &req->open->file;
        cay_auto_free struct cay_pattern *glob = req->path2[0] ? malloc(sizeof(*glob)) : NULL;
        struct cay_files_gather_what what = { .is_recursive = f->flags & CAY_BOX_RECURSIVE,
                                              .glob = glob,
                                              .until_ms = cay_clock_ms() + SORTED_MS };
        uint64_t max = f->max_entries > 0 ? f->max_entries : LIST_ENTRIES_MAX;
        cay_auto_close int dir = fd;
        struct cay_error why = { 0 };
        struct cay_files_gather g;
        int r = fcntl(dir, F_DUPFD_CLOEXEC, 3);

        if (r < 0 || (req->path2[0] && !glob))
                return cay_files_fail(err, r < 0 ? -errno : -ENOMEM, "list", req->path);
        if (glob && cay_pattern_compile_glob(glob, req->path2, strlen(req->path2), &why) < 0)
                return cay_fail(err, why.code, "pattern: %s", why.msg);
        r = cay_files_gather_take(&g, r, &what);
        for (uint64_t i = f->offset; r == 0 && i < g.count && l->sent < max; i++)
                r = entry_put(l, dir, g.names[i], g.names[i], strlen(g.names[i]));
        if (r == 0)
                r = flush(l);
        l->left_out = g.passed;
        if (g.is_crowded || g.is_late)
                snprintf(ret->msg, sizeof(ret->msg), "only the first %u entries %s were looked at", g.count,
                         g.is_late ? "of what takes long" : "of more");
        cay_files_gather_done(&g);
        return r < 0 ? cay_files_fail(err, r, "list", req->path) : 0;
}

static int list_walk(struct listing *l, int fd, const struct cay_worker_request *req, struct cay_error *err)
{
        int r = cay_files_walk_init_take(&l->walk, fd);

        if (r == 0) {
                r = list_run(l, &req->open->file);
                cay_files_walk_done(&l->walk);
        }
        return r < 0 ? cay_files_fail(err, r, "list", req->path) : 0;
}

static int list_entry(const struct cay_worker_request *req, struct cay_worker_result *ret,
                      struct cay_error *err)
{
        cay_auto_at struct cay_files_at at = { AT_FDCWD, "" };
        cay_auto_free struct listing *l = malloc(sizeof(*l));
        struct stat st;
        int r, fd;

        if (!l)
                return cay_files_fail(err, -ENOMEM, "list", req->path);
        if (cay_files_at_open(&at, req->path, err) < 0)
                return -1;
        fd = openat(at.fd, at.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return cay_files_fail(err, -errno, "list", req->path);
        if (fstat(fd, &st) == 0)
                cay_files_answer_stat(ret, &st, cay_files_last_name(req->path));
        l->out_fd = req->out_fd;
        l->seen = l->sent = l->left_out = 0;
        l->with_attributes = req->open->file.flags & CAY_BOX_ATTRIBUTES;
        l->len = 0;
        r = req->open->file.flags & CAY_BOX_SORTED ? list_sorted(l, fd, req, ret, err)
                                                   : list_walk(l, fd, req, err);
        ret->entries = l->sent;
        if (l->left_out > 0 && !ret->msg[0])
                snprintf(ret->msg, sizeof(ret->msg),
                         "%llu directories or names were left out: unreadable or too deep",
                         (unsigned long long)l->left_out);
        return r;
}

void cay_file_list(const struct cay_worker_request *req, struct cay_worker_result *ret)
{
        struct cay_error err = { .code = CAY_OK };

        if (list_entry(req, ret, &err) < 0)
                cay_files_answer(ret, &err);
}
