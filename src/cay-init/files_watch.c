/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worker WATCH: reports changes in a folder, or in its whole tree, until the folder is removed or the channel
 * is closed.
 *
 * Theory of operation. Inotify watches single folders, so the worker keeps a watch on each and a tree of
 * their places. A new folder is first watched and then scanned: entries made in between are found by the
 * scan, later ones by inotify. Some are reported twice, but none is missed. The two events of a rename are
 * queued in sequence and reported as one move when both concern watched folders. If the first event is the
 * last one read, the worker waits briefly for the second.
 *
 * Nothing is lost silently. When the kernel's queue overflows (a slow reader blocks the worker), or when the
 * tree becomes inconsistent, everything is watched again and then OVERFLOW is reported. A client that scans
 * after OVERFLOW has seen everything, since later changes are reported again. A folder that cannot be watched
 * is reported by name.
 *
 * The watched folder is known by its path, not held open: the kernel reports the removal of a folder only
 * when it is not open. So before a folder is added, check that the path still leads to the same one; if not,
 * the watched folder was removed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "links/box/notice.h"
#include "cay-init/files.h"
#include "cay-init/files_walk.h"
#include "cay-init/files_watch_tree.h"
#include "foundation/sys/fd.h"

#define FOLDERS_MAX 8192u
#define PAIR_WAIT_MS 200
#define ROUNDS_MAX 100u /* scans of a tree that changes all the time */
#define MASK                                                                                                 \
        (IN_CREATE | IN_DELETE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO |      \
         IN_DELETE_SELF | IN_MOVE_SELF | IN_EXCL_UNLINK | IN_ONLYDIR | IN_DONT_FOLLOW)

struct watching {
        struct cay_files_tree tree;
        struct cay_files_walk walk;
        char root[CAY_BOX_PATH_MAX + 1];
        dev_t dev;
        ino_t ino;
        unsigned folders_max;
        bool recursive;
        bool full_told; /* a folder beyond the limit was already reported */
        bool is_gone;
        bool is_confused; /* everything has to be watched again */
        int out_fd, error;
        uint64_t told;
        /* of a look: the nodes down to where it is */
        struct cay_files_node *levels[CAY_BOX_PATH_MAX / 2 + 2];
        char full[2 * CAY_BOX_PATH_MAX], name[CAY_BOX_PATH_MAX], name2[CAY_BOX_PATH_MAX];
        size_t out_len, in_len;
        char out[CAY_FILES_BUFFER / 2];
        char in[CAY_FILES_BUFFER / 2] __attribute__((aligned(8)));
};

/* Telling */

static void flush(struct watching *w)
{
        int r = w->error < 0 ? 0 : sys_write_all(w->out_fd, w->out, w->out_len);

        if (r < 0)
                w->error = r;
        w->out_len = 0;
}

static void tell(struct watching *w, const struct cay_box_notice *m)
{
        int n = cay_box_notice_encode(m, w->out + w->out_len, sizeof(w->out) - w->out_len);

        if (n == -EMSGSIZE) {
                flush(w);
                n = cay_box_notice_encode(m, w->out, sizeof(w->out));
        }
        if (n < 0) {
                w->error = n;
                return;
        }
        w->out_len += (size_t)n;
        w->told++;
}

static void tell_state(struct watching *w, unsigned kind)
{
        struct cay_box_notice m = { .kind = (uint8_t)kind };

        if (kind != CAY_NOTICE_GONE)
                m.folders = w->tree.count;
        tell(w, &m);
}

/* An entry is too deep to be reported by name: the client has to scan. */
static void tell_unnamed(struct watching *w)
{
        tell_state(w, CAY_NOTICE_OVERFLOW);
}

static void tell_entry(struct watching *w, unsigned kind, const struct cay_files_node *node, const char *name,
                       bool is_folder)
{
        int len = cay_files_tree_path(node, name, w->name, sizeof(w->name));
        struct cay_box_notice m = { .kind = (uint8_t)kind, .is_folder = is_folder };

        if (len < 0) {
                tell_unnamed(w);
                return;
        }
        m.name = (struct cay_view){ w->name, (uint32_t)len };
        tell(w, &m);
}

static void tell_unwatched(struct watching *w, const struct cay_files_node *parent, const char *name, int sys)
{
        int len = cay_files_tree_path(parent, name, w->name, sizeof(w->name));
        bool is_full = sys == ENOSPC || sys == ENOMEM;
        struct cay_box_notice m = { .kind = CAY_NOTICE_UNWATCHED, .is_folder = true, .sys = (uint32_t)sys };

        if (is_full && w->full_told)
                return;
        w->full_told |= is_full;
        if (len < 0) {
                tell_unnamed(w);
                return;
        }
        m.name = (struct cay_view){ w->name, (uint32_t)len };
        tell(w, &m);
}

static void tell_moved(struct watching *w, const struct cay_files_node *from, const char *name,
                       const struct cay_files_node *to, const char *name2, bool is_folder)
{
        int len = cay_files_tree_path(from, name, w->name, sizeof(w->name));
        int len2 = cay_files_tree_path(to, name2, w->name2, sizeof(w->name2));
        struct cay_box_notice m = { .kind = CAY_NOTICE_MOVED, .is_folder = is_folder };

        if (len < 0 || len2 < 0) {
                tell_unnamed(w);
                return;
        }
        m.name = (struct cay_view){ w->name, (uint32_t)len };
        m.name2 = (struct cay_view){ w->name2, (uint32_t)len2 };
        tell(w, &m);
}

/* Folders */

static int full_path(struct watching *w, const struct cay_files_node *node, const char *name)
{
        size_t at = strlen(w->root);
        int len;

        memcpy(w->full, w->root, at);
        if (at == 0 || w->full[at - 1] != '/')
                w->full[at++] = '/';
        len = cay_files_tree_path(node, name, w->full + at,
                                  CAY_BOX_PATH_MAX > at ? CAY_BOX_PATH_MAX - at : 0);
        return len < 0 ? len : 0;
}

static bool root_is_there(struct watching *w)
{
        struct stat st;

        if (stat(w->root, &st) == 0 && st.st_dev == w->dev && st.st_ino == w->ino)
                return true;
        w->is_gone = true;
        return false;
}

/* Watches a folder; NULL: it is not a folder (any more), or cannot be watched, which is reported. */
static struct cay_files_node *add(struct watching *w, struct cay_files_node *parent, const char *name)
{
        struct cay_files_node *node, *old;
        int wd;

        if (w->tree.count >= w->folders_max) {
                tell_unwatched(w, parent, name, ENOSPC);
                return NULL;
        }
        if (!root_is_there(w))
                return NULL;
        if (full_path(w, parent, name) < 0) {
                tell_unwatched(w, parent, name, ENAMETOOLONG);
                return NULL;
        }
        wd = inotify_add_watch(w->tree.fd, w->full, MASK);
        if (wd < 0) {
                if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
                        tell_unwatched(w, parent, name, errno);
                return NULL;
        }
        old = cay_files_tree_child(&w->tree, parent, name);
        if (old && old->wd != wd)
                cay_files_tree_drop(&w->tree, old);
        node = cay_files_tree_put(&w->tree, wd, parent, name);
        w->is_confused |= !node;
        return node;
}

static bool is_folder_at(struct watching *w)
{
        struct stat st;
        int fd;

        if (w->walk.dtype != DT_UNKNOWN)
                return w->walk.dtype == DT_DIR;
        fd = cay_files_chain_fd(&w->walk.chain);
        return fd >= 0 && fstatat(fd, w->walk.name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Into the folder that the look stands at. */
static void look_into(struct watching *w, unsigned *depth)
{
        struct cay_files_node *node = add(w, w->levels[*depth], w->walk.name);
        int r;

        if (!node || *depth + 1 >= CAY_COUNT(w->levels))
                return;
        r = cay_files_walk_descend(&w->walk);
        if (r == 0) {
                w->levels[++*depth] = node;
                return;
        }
        cay_files_tree_drop(&w->tree, node);
        if (r != -ENOENT && r != -ENOTDIR)
                tell_unwatched(w, w->levels[*depth], w->walk.name, -r);
}

/* Watches all folders below the node; says: report what is found as new. */
static void look(struct watching *w, struct cay_files_node *node, bool says)
{
        unsigned depth = 0;
        int fd, r;

        if (full_path(w, node, NULL) < 0)
                return;
        fd = open(w->full, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return; /* removed again, which is reported too */
        r = cay_files_walk_init_take(&w->walk, fd);
        w->levels[0] = node;
        while (r >= 0 && !w->is_gone && !w->is_confused && w->error == 0) {
                bool is_folder;

                r = cay_files_walk_next(&w->walk);
                if (r < 0 || r == CAY_FILES_END)
                        break;
                if (r == CAY_FILES_LEAVE) {
                        depth -= depth > 0;
                        continue;
                }
                is_folder = is_folder_at(w);
                if (says)
                        tell_entry(w, CAY_NOTICE_CREATED, w->levels[depth], w->walk.name, is_folder);
                if (is_folder && w->recursive)
                        look_into(w, &depth);
        }
        if (r < 0)
                w->is_confused = true;
        cay_files_walk_done(&w->walk);
}

/* Everything, from nothing. */
static int build(struct watching *w, struct cay_error *err)
{
        struct cay_files_node *root;
        int r, wd;

        for (unsigned round = 0; round < ROUNDS_MAX; round++) {
                cay_files_tree_done(&w->tree);
                w->is_confused = w->full_told = false;
                r = cay_files_tree_init(&w->tree);
                if (r < 0)
                        return cay_files_fail(err, r, "watch", w->root);
                wd = inotify_add_watch(w->tree.fd, w->root, MASK & ~(uint32_t)IN_DONT_FOLLOW);
                if (wd < 0)
                        return cay_files_fail(err, errno == ENOSPC ? -EMFILE : -errno, "watch", w->root);
                root = cay_files_tree_put(&w->tree, wd, NULL, "");
                if (!root)
                        return cay_files_fail(err, -ENOMEM, "watch", w->root);
                if (!root_is_there(w))
                        return 0;
                if (w->recursive)
                        look(w, root, false);
                if (!w->is_confused)
                        return 0;
        }
        return cay_fail(err, CAY_CONFLICT, "the folder changes faster than it can be looked through");
}

/* What inotify says */

static bool is_root(const struct cay_files_node *node)
{
        return node->parent == NULL;
}

static void came(struct watching *w, struct cay_files_node *node, const struct inotify_event *e)
{
        struct cay_files_node *child;

        tell_entry(w, CAY_NOTICE_CREATED, node, e->name, e->mask & IN_ISDIR);
        if (!(e->mask & IN_ISDIR) || !w->recursive)
                return;
        child = add(w, node, e->name);
        if (child)
                look(w, child, true);
}

static void went(struct watching *w, struct cay_files_node *node, const struct inotify_event *e)
{
        struct cay_files_node *child;

        tell_entry(w, CAY_NOTICE_REMOVED, node, e->name, e->mask & IN_ISDIR);
        child = e->mask & IN_ISDIR ? cay_files_tree_child(&w->tree, node, e->name) : NULL;
        if (child)
                cay_files_tree_drop(&w->tree, child);
}

static void moved(struct watching *w, struct cay_files_node *node, const struct inotify_event *e,
                  struct cay_files_node *to, const struct inotify_event *e2)
{
        struct cay_files_node *child, *old;

        tell_moved(w, node, e->name, to, e2->name, e->mask & IN_ISDIR);
        if (!(e->mask & IN_ISDIR) || !w->recursive)
                return;
        child = cay_files_tree_child(&w->tree, node, e->name);
        old = cay_files_tree_child(&w->tree, to, e2->name);
        if (old && old != child) /* an empty folder, replaced */
                cay_files_tree_drop(&w->tree, old);
        if (child) {
                w->is_confused |= cay_files_tree_move(child, to, e2->name) < 0;
                return;
        }
        child = add(w, to, e2->name); /* it was not watched, perhaps for its name alone */
        if (child)
                look(w, child, false);
}

static struct inotify_event *event_at(struct watching *w, size_t at)
{
        return at < w->in_len ? (struct inotify_event *)(void *)(w->in + at) : NULL;
}

static size_t event_size(const struct inotify_event *e)
{
        return sizeof(*e) + e->len;
}

/* The other event of a rename, if it was already read; it is consumed. */
static struct inotify_event *find_pair(struct watching *w, size_t at, uint32_t cookie)
{
        struct inotify_event *e;

        for (; (e = event_at(w, at)); at += event_size(e)) {
                if ((e->mask & IN_MOVED_TO) && e->cookie == cookie)
                        return e;
        }
        return NULL;
}

static void handle(struct watching *w, struct inotify_event *e, struct inotify_event *pair)
{
        static const struct {
                uint32_t bit;
                unsigned kind;
        } plain[] = { { IN_MODIFY, CAY_NOTICE_MODIFIED },
                      { IN_CLOSE_WRITE, CAY_NOTICE_CLOSED },
                      { IN_ATTRIB, CAY_NOTICE_ATTRIBUTES } };
        struct cay_files_node *node = cay_files_tree_find(&w->tree, e->wd), *to;

        if (e->mask & IN_Q_OVERFLOW)
                w->is_confused = true;
        if (!node || e->mask == 0)
                return;
        if (e->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) {
                if (is_root(node))
                        w->is_gone = true;
                else if (e->mask & IN_IGNORED)
                        cay_files_tree_drop(&w->tree, node);
                return;
        }
        if (e->len == 0)
                return; /* of a watched folder itself: reported by its parent, with a name */
        to = pair ? cay_files_tree_find(&w->tree, pair->wd) : NULL;
        if (to) {
                moved(w, node, e, to, pair);
                pair->mask = 0;
        } else if (e->mask & (IN_CREATE | IN_MOVED_TO)) {
                came(w, node, e);
        } else if (e->mask & (IN_DELETE | IN_MOVED_FROM)) {
                went(w, node, e);
        } else {
                for (size_t i = 0; i < CAY_COUNT(plain); i++) {
                        if (e->mask & plain[i].bit)
                                tell_entry(w, plain[i].kind, node, e->name, e->mask & IN_ISDIR);
                }
        }
}

/*
 * Handles the events that were read. A first event of a rename at the end stays, unless its second is late.
 */
static void handle_all(struct watching *w, bool is_late)
{
        struct inotify_event *e;
        size_t at = 0;

        while ((e = event_at(w, at)) && !w->is_gone && !w->is_confused && w->error == 0) {
                struct inotify_event *pair = NULL;

                if (e->mask & IN_MOVED_FROM)
                        pair = find_pair(w, at + event_size(e), e->cookie);
                if ((e->mask & IN_MOVED_FROM) && !pair && !is_late && at + event_size(e) == w->in_len)
                        break;
                at += event_size(e);
                handle(w, e, pair);
        }
        if (at < w->in_len)
                memmove(w->in, w->in + at, w->in_len - at);
        w->in_len -= at;
}

/* One wait and what it brought. */
static int step(struct watching *w, struct cay_error *err)
{
        struct pollfd p = { .fd = w->tree.fd, .events = POLLIN };
        ssize_t n;
        int r;

        flush(w);
        r = poll(&p, 1, w->in_len > 0 ? PAIR_WAIT_MS : -1);
        if (r < 0 && errno != EINTR)
                return cay_files_fail(err, -errno, "watch", w->root);
        if (r > 0) {
                n = read(w->tree.fd, w->in + w->in_len, sizeof(w->in) - w->in_len);
                if (n < 0 && errno != EINTR)
                        return cay_files_fail(err, -errno, "watch", w->root);
                w->in_len += n > 0 ? (size_t)n : 0;
        }
        handle_all(w, r == 0);
        if (!w->is_confused || w->is_gone)
                return 0;
        w->in_len = 0;
        if (build(w, err) < 0)
                return -1;
        tell_state(w, CAY_NOTICE_OVERFLOW);
        return 0;
}

static int watch(struct watching *w, struct cay_error *err)
{
        if (build(w, err) < 0)
                return -1;
        tell_state(w, CAY_NOTICE_READY);
        while (!w->is_gone && w->error == 0) {
                if (step(w, err) < 0) {
                        flush(w);
                        return -1;
                }
        }
        tell_state(w, CAY_NOTICE_GONE);
        flush(w);
        return w->error < 0 ? cay_files_fail(err, w->error, "tell of", w->root) : 0;
}

/* The folder's own path, links resolved: one that is changed later leads elsewhere. */
static int find_root(struct watching *w, const struct cay_worker_request *req, struct cay_worker_result *ret,
                     struct cay_error *err)
{
        cay_auto_at struct cay_files_at at = { AT_FDCWD, "" };
        cay_auto_close int fd = -1;
        char link[32];
        struct stat st;
        ssize_t n;

        if (cay_files_at_open(&at, req->path, err) < 0)
                return -1;
        fd = openat(at.fd, at.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return cay_files_fail(err, -errno, "watch", req->path);
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, w->root, sizeof(w->root) - 1);
        if (n < 0)
                return cay_files_fail(err, -errno, "watch", req->path);
        if (n >= (ssize_t)CAY_BOX_PATH_MAX)
                return cay_files_fail(err, -ENAMETOOLONG, "watch", req->path);
        w->root[n] = '\0';
        w->dev = st.st_dev;
        w->ino = st.st_ino;
        cay_files_answer_stat(ret, &st, cay_files_last_name(req->path));
        return 0;
}

void cay_file_watch(const struct cay_worker_request *req, struct cay_worker_result *ret)
{
        const struct cay_box_file *f = &req->open->file;
        struct cay_error err = { .code = CAY_OK };
        cay_auto_free struct watching *w = calloc(1, sizeof(*w));

        if (!w) {
                cay_files_fail(&err, -ENOMEM, "watch", req->path);
                cay_files_answer(ret, &err);
                return;
        }
        w->tree.fd = -1;
        w->out_fd = req->out_fd;
        w->recursive = f->flags & CAY_BOX_RECURSIVE;
        w->folders_max =
                f->max_entries > 0 && f->max_entries < FOLDERS_MAX ? (unsigned)f->max_entries : FOLDERS_MAX;
        if (find_root(w, req, ret, &err) < 0 || watch(w, &err) < 0)
                cay_files_answer(ret, &err);
        ret->entries = w->told;
        cay_files_tree_done(&w->tree);
}
