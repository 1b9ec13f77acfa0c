/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes: files and mounts. See volume.h for the theory. */
#include "cay-warden/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/base/path.h"
#include "foundation/base/utf8.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/loopdev.h"
#include "foundation/sys/mounts.h"
#include "foundation/sys/syscalls.h"
#include "cay-warden/keep.h"
#include "cay-warden/room.h"

#define FOLDER "volumes"
#define SUFFIX ".img"
#define FILE_NAME (2 * CAY_NAME_MAX + 1 + CAY_NAME_MAX + sizeof(SUFFIX))
#define LOCK_MS 50 /* the warden waits no longer, as for layers */

/* Names */

static void file_name(const char *owner, const char *name, char ret[FILE_NAME])
{
        size_t at = 0;

        for (const unsigned char *c = (const unsigned char *)owner; *c; c++)
                at += (size_t)snprintf(ret + at, FILE_NAME - at, "%02x", *c);
        snprintf(ret + at, FILE_NAME - at, ".%s" SUFFIX, name);
}

static int hex_digit(char c)
{
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The other way round; false: it is no volume's. */
static bool read_name(const char *file, struct wire_volume_row *ret)
{
        size_t len = 0, tail = strlen(SUFFIX), name_len;
        const char *dot = strchr(file, '.');

        for (; file < dot; file += 2, len++) {
                int high = hex_digit(file[0]), low = high < 0 ? -1 : hex_digit(file[1]);

                if (low < 0 || (high | low) == 0 || len == CAY_NAME_MAX)
                        return false;
                ret->owner[len] = (char)(high << 4 | low);
        }
        ret->owner[len] = '\0';
        name_len = dot ? strlen(dot + 1) : 0;
        if (len == 0 || name_len <= tail || name_len - tail > CAY_NAME_MAX ||
            strcmp(dot + 1 + name_len - tail, SUFFIX) != 0)
                return false;
        snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(name_len - tail), dot + 1);
        return cay_id_is_valid(ret->name);
}

/* Opened for each request: a descriptor less to carry over. make: it is made if missing. */
static int open_folder(const struct warden *w, bool make)
{
        if (make && mkdirat(w->layers, FOLDER, 0700) < 0 && errno != EEXIST)
                return -errno;
        return sys_open_at(w->layers, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

/* Checks */

static bool is_text(const char *text, size_t size)
{
        return memchr(text, 0, size) != NULL;
}

static bool is_below(const char *path, const char *top)
{
        size_t len = strlen(top);

        return strncmp(path, top, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* Ours, or the kernel's. */
static bool is_taken(const char *target)
{
        static const char *const taken[] = { "/proc", "/sys", "/dev", "/etc", "/.cay" };

        for (unsigned i = 0; i < CAY_COUNT(taken); i++)
                if (is_below(target, taken[i]))
                        return true;
        return false;
}

static int check_one(const struct wire_plan *p, const struct wire_volume *v, struct cay_error *err)
{
        if (!is_text(v->name, sizeof(v->name)) || !cay_id_is_valid(v->name))
                return cay_fail(err, CAY_INVALID, "volumes: a name has 1 to %u characters a-z, 0-9 or '-'",
                                CAY_NAME_MAX);
        if (v->is_layer > 1 || (v->is_layer && !v->read_only))
                return cay_fail(err, CAY_INVALID, "volumes: a layer can only be read");
        if (!is_text(v->target, sizeof(v->target)) || v->target[0] != '/' ||
            !cay_path_is_plain(v->target + 1) || is_taken(v->target) ||
            !cay_utf8_valid(v->target, strlen(v->target)))
                return cay_fail(
                        err, CAY_INVALID,
                        "volumes: the place of '%s' must be an absolute path, outside of /proc, /sys, "
                        "/dev, /etc and /.cay",
                        v->name);
        if (is_below(v->target, "/workspace") && p->flags & WIRE_PLAN_WORKSPACE)
                return cay_fail(err, CAY_INVALID,
                                "volumes: '%s' cannot be in /workspace, which is a folder of the host here: "
                                "choose another place",
                                v->name);
        return 0;
}

int warden_volumes_check(const struct warden *w, const struct wire_plan *p, struct cay_error *err)
{
        if (p->volume_count == 0)
                return 0;
        if (w->self || !w->can_keep)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "volumes: they need a daemon with root's rights, loop devices and e2fsprogs: "
                                "map a folder as the workspace instead");
        if (p->volume_count > WIRE_VOLUMES)
                return cay_fail(err, CAY_INVALID, "volumes: at most %u", WIRE_VOLUMES);
        if (!is_text(p->volume_owner, sizeof(p->volume_owner)) || p->volume_owner[0] == '\0')
                return cay_fail(err, CAY_INVALID, "volumes: they need an owner");
        if (p->volume_bytes < 1u << 20 || p->volume_bytes > 1ull << 46)
                return cay_fail(err, CAY_INVALID, "volumes: a size is out of range");
        for (unsigned i = 0; i < p->volume_count; i++) {
                if (check_one(p, &p->volumes[i], err) < 0)
                        return -1;
                for (unsigned k = 0; k < i; k++)
                        if (is_below(p->volumes[i].target, p->volumes[k].target) ||
                            is_below(p->volumes[k].target, p->volumes[i].target))
                                return cay_fail(err, CAY_INVALID,
                                                "volumes: '%s' and '%s' are at the same place, or one in the "
                                                "other",
                                                p->volumes[k].name, p->volumes[i].name);
        }
        return 0;
}

/* Rows */

static struct warden_volume *find_row(struct warden *w, const char *owner, const char *name)
{
        for (unsigned i = 0; i < w->volume_rows; i++) {
                struct warden_volume *v = &w->volumes[i];

                if (v->is_used && strcmp(v->owner, owner) == 0 && strcmp(v->name, name) == 0)
                        return v;
        }
        return NULL;
}

static struct warden_volume *new_row(struct warden *w, const char *owner, const char *name)
{
        struct warden_volume *v = NULL;

        for (unsigned i = 0; i < w->volume_rows && !v; i++)
                if (!w->volumes[i].is_used)
                        v = &w->volumes[i];
        if (!v && w->volume_rows < WARDEN_VOLUMES)
                v = &w->volumes[w->volume_rows++];
        if (!v)
                return NULL;
        *v = (struct warden_volume){ .is_used = true, .mount = -1, .closer = -1, .closer_fd = -1 };
        snprintf(v->owner, sizeof(v->owner), "%s", owner);
        snprintf(v->name, sizeof(v->name), "%s", name);
        return v;
}

struct count {
        const char *owner;
        unsigned found;
};

static bool count_own(void *ctx, const char *file, uint64_t next)
{
        struct wire_volume_row row;
        struct count *c = ctx;

        (void)next;
        c->found += read_name(file, &row) && strcmp(row.owner, c->owner) == 0;
        return true;
}

/* A new image's file, locked. Its root belongs to the user of sandboxes. */
static int make_file(struct warden *w, int dir, const char *file, const struct wire_plan *p, const char *name,
                     struct cay_error *err)
{
        struct count own = { p->volume_owner, 0 };
        int r = cay_keep_walk(dir, 0, count_own, &own);

        if (r == 0 && own.found >= p->volumes_max)
                return cay_fail(err, CAY_LIMIT,
                                "volumes: you have %u, the most that an owner may have (max_volumes), and "
                                "'%s' would be one more; remove one (cay volume rm NAME)",
                                own.found, name);
        if (r == 0)
                r = cay_keep_new_file(w->layers, dir, file, p->volume_bytes, 0);
        return r >= 0 ? r
                      : cay_fail_sys(err,
                                     r == -ENOSPC || r == -EFBIG || r == -EDQUOT ? CAY_NO_SPACE
                                                                                 : CAY_INTERNAL,
                                     r, "volumes: make '%s' of %llu bytes in the data folder", name,
                                     (unsigned long long)p->volume_bytes);
}

static int fail_mount(int r, const char *name, const char *file, struct cay_error *err)
{
        if (r == -EBUSY || r == -ESTALE)
                return cay_fail_sys(
                        err, CAY_UNAVAILABLE, -EBUSY,
                        "the volume '%s' is still being released by the last sandbox that had it: "
                        "try again",
                        name);
        if (r == -EUCLEAN) {
                cay_fail(err, CAY_CONFLICT,
                         "the volume '%s' is damaged, writes to the host's disk failed: repair it with "
                         "e2fsck -f (layers/" FOLDER "/%s)",
                         name, file);
                err->sys = EUCLEAN;
                return -1;
        }
        return cay_fail_sys(err, CAY_INTERNAL, r, "mount the volume '%s' (layers/" FOLDER "/%s)", name, file);
}

/* The warden's own mount of a file that nobody has mounted. */
static int mount_first(int file, bool is_new)
{
        int r = cay_keep_lock(file, LOCK_MS), mount;

        if (r == 0 && !is_new && sys_layer_image_has_errors(file))
                r = -EUCLEAN;
        if (r == 0 && !is_new && sys_layer_image_is_unclean(file))
                r = sys_layer_image_mend(file);
        if (r < 0)
                return r;
        mount = sys_layer_image_mount_durable(file, SYS_MOUNT_SAFE);
        if (mount < 0 || !is_new)
                return mount;
        unlinkat(mount, "lost+found", AT_REMOVEDIR); /* e2fsck makes it again when it needs it */
        if (fchownat(mount, "", CAY_BOX_USER, CAY_BOX_USER, AT_EMPTY_PATH) < 0) {
                r = -errno;
                close(mount);
                return r;
        }
        return mount;
}

/* The row of a volume with its first mount. A row whose mount is being closed gets it again, or a new one. */
static struct warden_volume *open_row(struct warden *w, const struct wire_plan *p, const char *name,
                                      int *ret_file, struct cay_error *err)
{
        struct warden_volume *v = find_row(w, p->volume_owner, name);
        cay_auto_close int dir = open_folder(w, true);
        bool is_new = false;
        char path[FILE_NAME];
        struct stat st;
        int r;

        if (dir < 0) {
                cay_fail_sys(err, CAY_INTERNAL, dir, "open the folder of volumes");
                return NULL;
        }
        file_name(p->volume_owner, name, path);
        *ret_file = sys_open_at(dir, path, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
        if (*ret_file == -ENOENT && !v) {
                is_new = true;
                *ret_file = make_file(w, dir, path, p, name, err);
                if (*ret_file < 0)
                        return NULL;
        }
        if (*ret_file < 0 || fstat(*ret_file, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1) {
                cay_fail(err, CAY_CONFLICT,
                         "the volume '%s' is not the one that was kept (layers/" FOLDER "/%s)", name, path);
                return NULL;
        }
        if (!v)
                v = new_row(w, p->volume_owner, name);
        if (!v) {
                cay_fail(err, CAY_LIMIT,
                         "all %u volumes of this warden are in use: stop a sandbox that has one",
                         WARDEN_VOLUMES);
        } else if (v->mount < 0) {
                r = v->closer > 0 ? sys_layer_image_mount_again(*ret_file, v->room.device, SYS_MOUNT_SAFE)
                                  : -ESTALE;
                v->mount = r == -ESTALE ? mount_first(*ret_file, is_new) : r;
                if (v->mount >= 0) {
                        v->is_new = is_new;
                        warden_room_note_volume(w, v, v->mount);
                        return v;
                }
                fail_mount(v->mount, name, path, err);
                v->mount = -1;
                v->is_used = v->closer > 0;
                v = NULL;
        }
        if (!v && is_new)
                unlinkat(dir, path, 0);
        return v;
}

/* A further mount for one box. */
static int mount_for_box(const struct warden_volume *v, int file, int userns, bool read_only)
{
        struct sys_mount_attr shift = { .attr_set = SYS_MOUNT_IDMAP | (read_only ? SYS_MOUNT_RDONLY : 0),
                                        .userns_fd = (uint64_t)userns };
        cay_auto_close int mount = sys_layer_image_mount_again(file, v->room.device, SYS_MOUNT_SAFE);
        int r = mount < 0 ? mount : sys_mount_setattr(mount, "", AT_EMPTY_PATH, &shift);

        return r < 0 ? r : cay_take_fd(mount);
}

/*
 * A layer that no box has, for reading. It is locked against whoever would write to it. A front may name any
 * of its own warden's, as for copies (request_layer_clone.c).
 */
static int mount_layer(struct warden *w, const char *id, int userns, struct cay_error *err)
{
        struct sys_mount_attr shift = { .attr_set = SYS_MOUNT_IDMAP | SYS_MOUNT_RDONLY,
                                        .userns_fd = (uint64_t)userns };
        cay_auto_close int file = -1, mount = -1;
        char path[CAY_NAME_MAX + sizeof(SUFFIX)];
        struct stat st;
        int r;

        if (warden_find(w, id))
                return cay_fail(err, CAY_CONFLICT, "the files of '%s' are in use", id);
        snprintf(path, sizeof(path), "%s" SUFFIX, id);
        r = file = sys_open_at(w->layers, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
        if (r >= 0 && (fstat(file, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1))
                r = -EUCLEAN;
        if (r >= 0 && flock(file, LOCK_SH | LOCK_NB) < 0)
                r = -EBUSY;
        if (r >= 0 && (sys_layer_image_has_errors(file) || sys_layer_image_is_unclean(file)))
                r = -EUCLEAN;
        if (r >= 0)
                r = mount = sys_layer_image_mount_read(file, SYS_MOUNT_SAFE | SYS_MOUNT_RDONLY);
        if (r >= 0)
                r = sys_mount_setattr(mount, "", AT_EMPTY_PATH, &shift);
        return r < 0 ? cay_fail_sys(err, CAY_CONFLICT, r, "mount the files of '%s' for reading", id)
                     : cay_take_fd(mount);
}

int warden_volumes_mount(struct warden *w, struct warden_box *box, int userns, int *mounts,
                         struct cay_error *err)
{
        const struct wire_plan *p = &box->plan;

        for (unsigned i = 0; i < p->volume_count; i++) {
                cay_auto_close int file = -1;
                struct warden_volume *v;
                int r;

                if (p->volumes[i].is_layer) {
                        r = mounts[ISOLATE_VOLUME0 + i] = mount_layer(w, p->volumes[i].name, userns, err);
                        if (r < 0)
                                return -1;
                        continue;
                }
                v = open_row(w, p, p->volumes[i].name, &file, err);
                if (!v)
                        return -1;
                v->users++;
                box->volumes[i] = (uint16_t)(v - w->volumes + 1);
                r = mounts[ISOLATE_VOLUME0 + i] = mount_for_box(v, file, userns, p->volumes[i].read_only);
                if (r < 0)
                        return cay_fail_sys(err, CAY_INTERNAL, r, "mount the volume '%s' for the sandbox",
                                            v->name);
        }
        return 0;
}

/* Ends */

static struct warden_volume *volume_of(struct warden *w, const struct warden_box *box, unsigned i)
{
        return box->volumes[i] > 0 ? &w->volumes[box->volumes[i] - 1] : NULL;
}

void warden_volumes_keep(struct warden *w, struct warden_box *box)
{
        for (unsigned i = 0; i < WIRE_VOLUMES; i++) {
                struct warden_volume *v = volume_of(w, box, i);

                if (v)
                        v->is_new = false;
        }
}

static void unlink_file(const struct warden *w, const struct warden_volume *v)
{
        cay_auto_close int dir = open_folder(w, false);
        char path[FILE_NAME];

        file_name(v->owner, v->name, path);
        if (dir >= 0)
                unlinkat(dir, path, 0);
}

/* The last one has gone: a helper writes out and unmounts. */
static void close_row(struct warden *w, struct warden_volume *v)
{
        struct clone_args args = { .exit_signal = SIGCHLD };
        pid_t pid;

        if (v->closer > 0)
                return; /* of an earlier mount: its end brings us here again */
        if (v->is_new)
                unlink_file(w, v);
        pid = sys_clone3(&args);
        if (pid == 0) {
                int fs = dup2(v->mount, 3);

                sys_close_range(4, ~0u, 0);
                fs = fs >= 0 ? sys_open_at(fs, ".", O_RDONLY | O_DIRECTORY, 0) : -1;
                if (fs >= 0 && !v->is_new)
                        syncfs(fs);
                _exit(0); /* and with us goes the mount */
        }
        close(v->mount);
        v->mount = -1;
        v->closer = pid;
        v->closer_fd = pid > 0 ? sys_pidfd_open(pid, 0) : -1;
        if (v->closer_fd >= 0)
                warden_watch_volume(w, v->closer_fd, v);
        else
                warden_volume_on_closed(w, v);
}

void warden_volume_on_closed(struct warden *w, struct warden_volume *v)
{
        if (v->closer > 0)
                while (waitpid(v->closer, NULL, 0) < 0 && errno == EINTR)
                        ;
        if (v->closer_fd >= 0)
                close(v->closer_fd); /* and epoll forgets it */
        v->closer = v->closer_fd = -1;
        v->is_used = v->users > 0 || v->mount >= 0;
        if (v->users == 0 && v->mount >= 0)
                close_row(w, v);
}

void warden_volumes_release(struct warden *w, struct warden_box *box)
{
        for (unsigned i = 0; i < WIRE_VOLUMES; i++) {
                struct warden_volume *v = volume_of(w, box, i);

                box->volumes[i] = 0;
                if (v && --v->users == 0 && v->mount >= 0)
                        close_row(w, v);
        }
}

bool warden_volumes_are_closing(const struct warden *w)
{
        for (unsigned i = 0; i < w->volume_rows; i++)
                if (w->volumes[i].closer > 0)
                        return true;
        return false;
}

void warden_volumes_close(struct warden *w)
{
        for (unsigned i = 0; i < w->volume_rows; i++)
                if (w->volumes[i].closer > 0)
                        warden_volume_on_closed(w, &w->volumes[i]);
}

int warden_volume_measure(const struct warden *w, const struct warden_volume *v, uint64_t *ret_bytes,
                          uint64_t *ret_had)
{
        cay_auto_close int dir = open_folder(w, false);
        char path[FILE_NAME];
        struct stat st;

        if (dir < 0)
                return dir;
        file_name(v->owner, v->name, path);
        if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        *ret_bytes = (uint64_t)st.st_size;
        *ret_had = (uint64_t)st.st_blocks * 512;
        return 0;
}

/* Requests */

struct listing {
        int dir;
        struct wire_answer *answer;
};

static bool add_row(void *ctx, const char *file, uint64_t next)
{
        struct listing *l = ctx;
        struct wire_answer *a = l->answer;
        struct wire_volume_row *row = &a->volumes.rows[a->volumes.count % WIRE_VOLUME_ROWS];
        struct stat st;

        if (a->volumes.count == WIRE_VOLUME_ROWS) {
                a->volumes.more = 1;
                return false;
        }
        *row = (struct wire_volume_row){ 0 };
        if (read_name(file, row) && fstatat(l->dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0) {
                row->bytes = (uint64_t)st.st_size;
                row->used_bytes = (uint64_t)st.st_blocks * 512;
                row->created_s = sys_file_born(l->dir, file);
                a->volumes.count++;
        }
        a->volumes.next = next;
        return true;
}

void warden_volumes_list(struct warden *w, const struct wire_request *req, struct wire_answer *a)
{
        cay_auto_close int dir = w->layers >= 0 ? open_folder(w, false) : -ENOENT;
        struct listing l = { dir, a };
        struct cay_error err = { 0 };
        int r;

        if (dir == -ENOENT)
                return;
        a->volumes.next = req->layers.from;
        r = dir < 0 ? dir : cay_keep_walk(dir, req->layers.from, add_row, &l);
        if (r == 0)
                return;
        cay_fail_sys(&err, CAY_UNAVAILABLE, r, "read the folder of volumes");
        helper_answer_put_error(a, &err);
}

/* Safe for an untrusted front: the file's name is made of checked texts, and one that is mounted stays. */
static int drop(struct warden *w, const char *owner, const char *name, struct cay_error *err)
{
        cay_auto_close int dir = -1;
        struct warden_volume *v;
        char path[FILE_NAME];
        int r;

        if (!is_text(owner, CAY_NAME_MAX + 1) || !is_text(name, CAY_NAME_MAX + 1) || !owner[0] ||
            !cay_id_is_valid(name))
                return cay_fail(err, CAY_INVALID, "name: no volume has such a name");
        v = find_row(w, owner, name);
        if (v && v->users > 0)
                return cay_fail(err, CAY_CONFLICT,
                                "name: %u sandboxes have the volume '%s': destroy them first", v->users,
                                name);
        file_name(owner, name, path);
        dir = w->layers >= 0 ? open_folder(w, false) : -ENOENT;
        r = dir;
        if (r >= 0)
                r = unlinkat(dir, path, 0) < 0 ? -errno : 0; /* blocks go with the last mount */
        if (r == -ENOENT)
                return cay_fail(err, CAY_NOT_FOUND, "name: there is no volume '%s'", name);
        return r < 0 ? cay_fail_sys(err, CAY_UNAVAILABLE, r, "remove the volume '%s'", name) : 0;
}

void warden_volume_drop(struct warden *w, const struct wire_request *req, struct wire_answer *a)
{
        struct cay_error err = { 0 };

        if (drop(w, req->volume.owner, req->volume.name, &err) < 0)
                helper_answer_put_error(a, &err);
}
