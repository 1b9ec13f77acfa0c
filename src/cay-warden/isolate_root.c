/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The box's root. The writable layer is mounted over a directory of the host, which soon becomes invisible
 * with the rest. It is /usr, which every machine has and which is no longer needed (its copy was passed by
 * descriptor), or, when we make the copies ourselves, one that is not part of any. It holds:
 *   root/           the root itself (host template), or the place where the overlay goes (rootfs template)
 *   X-low, X-up, X-work   overlays: image (a rootfs), usr, etc;  etc-all  where parts of /etc are bound from
 *   workspace, tmp  where they are not part of the root
 * Only root/ is seen from inside.
 *
 * A layer that an earlier box left (WIRE_PLAN_GO_ON) has all of that. The content of root/ was then
 * controlled by root of that box: only single names are looked up in it, and no link of it is followed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "foundation/sys/fd.h"
#include "foundation/sys/mounts.h"
#include "cay-warden/isolate.h"

static const struct {
        const char *path;
        mode_t mode;
        uint32_t owner;
} host_dirs[] = {
        { "etc", 0755, 0 },
        { "etc/ssl", 0755, 0 },
        { "home", 0755, 0 },
        { "home/sandbox", 0750, CAY_BOX_USER },
        { "home/user", 0755, CAY_BOX_USER }, /* the home that clients of E2B ask for; root works there, too */
        { "opt", 0755, 0 },
        { "root", 0700, 0 },
        { "run", 01777, 0 },
        { "tmp", 01777, 0 },
        { "var", 0755, 0 },
        { "var/tmp", 01777, 0 },
        { "var/lib", 0755, 0 },
        { "var/cache", 0755, 0 },
};

static const struct {
        const char *path, *text;
} host_files[] = {
        { "etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"
                        "sandbox:x:1001:1001:sandbox:/home/sandbox:/bin/sh\n"
                        "user:x:1001:1001:user:/home/user:/bin/bash\n"
                        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n" },
        { "etc/group", "root:x:0:\ntty:x:5:\nsandbox:x:1001:\nuser:x:1001:\nnogroup:x:65534:\n" },
        { "etc/hosts", "127.0.0.1 localhost cay\n::1 localhost\n" },
        { "etc/hostname", "cay\n" },
        { "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n" },
};

/*
 * Without it ICU (Chromium, Node.js) compares /etc/localtime with every file of zoneinfo: 15,000 opens at a
 * start.
 */
static const char time_zone[] = "/usr/share/zoneinfo/Etc/UTC";

static unsigned safe_attr(const struct isolate *iso)
{
        return (isolate_has(iso, CAY_LAYER_NOSUID) ? SYS_MOUNT_NOSUID : 0) |
               (isolate_has(iso, CAY_LAYER_NODEV) ? SYS_MOUNT_NODEV : 0);
}

static bool goes_on(const struct isolate *iso)
{
        return iso->plan->flags & WIRE_PLAN_GO_ON;
}

static bool is_dir(int at, const char *path)
{
        struct stat st;

        return fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* path is one name, or we made its parents. What an earlier box of this layer left stays unchanged. */
static void make_dir(struct isolate *iso, int at, const char *path, mode_t mode, uint32_t owner)
{
        int r;

        if (mkdirat(at, path, mode) < 0) {
                r = -errno;
                if (goes_on(iso) && r == -EEXIST && is_dir(at, path))
                        return;
                isolate_fail(iso, r, "make directory %s", path);
        }
        r = isolate_give(iso, at, path, owner);
        if (r < 0)
                isolate_fail(iso, r, "give directory %s to uid %u", path, owner);
}

/* A directory of the layer, shown at a place below it or of the root. Returns a descriptor of it. */
static int copy_here(struct isolate *iso, const char *name, uint64_t attr, int at, const char *path)
{
        int fd = sys_mount_place_copy(iso->layer, name, false, attr, at, path);

        if (fd < 0)
                isolate_fail(iso, fd, "show /%s", name);
        return fd;
}

int isolate_dir(struct isolate *iso, const char *path, mode_t mode, uint32_t owner)
{
        int fd;

        if (mkdirat(iso->root, path, mode) == 0) {
                int r = isolate_give(iso, iso->root, path, owner);

                if (r < 0)
                        isolate_fail(iso, r, "give /%s to uid %u", path, owner);
        } else if (errno != EEXIST) {
                isolate_fail(iso, -errno, "make /%s in the image", path);
        }
        fd = sys_open_beneath(iso->root, path, O_PATH | O_DIRECTORY, 0);
        if (fd < 0)
                isolate_fail(iso, fd, "/%s of the image must be a plain directory", path);
        return fd;
}

static const char *place_of_layer(const struct isolate *iso)
{
        static const char *const places[] = { "/sys", "/mnt", "/media", "/srv", "/tmp" };
        struct stat st;

        for (unsigned i = 0; iso->self && i < CAY_COUNT(places); i++)
                if (lstat(places[i], &st) == 0 && S_ISDIR(st.st_mode))
                        return places[i];
        return "/usr";
}

static void mount_layer(struct isolate *iso)
{
        const struct wire_plan *plan = iso->plan;
        bool hold = isolate_has(iso, CAY_LAYER_DISK);
        char size[48], inodes[48];
        const char *options[] = { "mode=0755", NULL, NULL, NULL };
        unsigned count = 1;

        if (!iso->self && iso->mount[ISOLATE_LAYER] >= 0) {
                int r = sys_mount_attach(iso->mount[ISOLATE_LAYER], AT_FDCWD, "/usr");

                iso->layer = r < 0 ? r : iso->mount[ISOLATE_LAYER];
        } else {
                if (plan->disk_bytes && hold) {
                        snprintf(size, sizeof(size), "size=%llu",
                                 (unsigned long long)plan->disk_bytes + ISOLATE_OWN_BYTES +
                                         (iso->self ? ISOLATE_PROC_OVERLAY_BYTES + iso->cpus * 8192ull : 0));
                        options[count++] = size;
                }
                if (plan->inodes && hold) {
                        snprintf(inodes, sizeof(inodes), "nr_inodes=%llu",
                                 (unsigned long long)plan->inodes + ISOLATE_OWN_INODES + (iso->self ? 9 : 0));
                        options[count++] = inodes;
                }
                iso->layer =
                        sys_mount_place_new("tmpfs", options, safe_attr(iso), AT_FDCWD, place_of_layer(iso));
        }
        if (iso->layer < 0)
                isolate_fail(iso, iso->layer, "make the writable layer");
        if (fchdir(iso->layer) < 0)
                isolate_fail(iso, -errno, "enter the writable layer");
        make_dir(iso, iso->layer, "root", 0755, 0);
        cay_step_reached(iso->steps, CAY_STEP_box_layer);
}

/*
 * The merged folder has the attributes of its upper directory, from which cay-init reads the changes at the
 * end.
 */
static void show_changes(struct isolate *iso, const char *low, const char *up)
{
        int base = sys_open_at(iso->layer, low, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
        int changes = sys_open_at(iso->layer, up, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
        struct stat st;
        int r;

        if (base < 0 || changes < 0 || fstat(base, &st) < 0)
                isolate_fail(iso,
                             base < 0      ? base
                             : changes < 0 ? changes
                                           : -errno,
                             "open the workspace's halves");
        r = isolate_give(iso, iso->layer, up, CAY_BOX_USER);
        if (r < 0 || fchmodat(iso->layer, up, st.st_mode & 0777, 0) < 0)
                isolate_fail(iso, r < 0 ? r : -errno, "give the workspace to the sandbox's user");
        iso->own[CAY_INIT_FD_BASE] = base;
        iso->own[CAY_INIT_FD_CHANGES] = changes;
}

/*
 * Refused by a kernel without overlays in user namespaces, or because something is mounted on a tree of the
 * host (in containers, on files of /etc). Trees that would not be written to, or that are the host's own, are
 * then shown as they are.
 */
static bool can_do_without(const struct isolate *iso, enum isolate_mount which, int r)
{
        bool lacking = r == -EPERM || r == -ENODEV;

        if (which == ISOLATE_WORKSPACE)
                return false;
        if (lacking && iso->plan->flags & WIRE_PLAN_READ_ONLY)
                return true;
        return (lacking || r == -EINVAL) && iso->self && which >= ISOLATE_HOST0;
}

/*
 * An overlay of a tree and the directories <name>-up and <name>-work of the layer. The tree is attached first
 * (<name>-low): overlay requires its layers in our own mount namespace. Paths are relative to the layer, so
 * mountinfo shows no others. false: the tree is shown as it is.
 */
static bool overlay(struct isolate *iso, enum isolate_mount which, const char *name, unsigned attr, int at,
                    const char *path)
{
        static const char *const parts[] = { "low", "up", "work" };
        char dirs[3][32], values[3][112];
        const char *options[] = { values[0], values[1], values[2], "userxattr", NULL };
        static const char *const keys[] = { "lowerdir", "upperdir", "workdir" };
        int fd;

        for (unsigned i = 0; i < CAY_COUNT(parts); i++) {
                snprintf(dirs[i], sizeof(dirs[i]), "%s-%s", name, parts[i]);
                snprintf(values[i], sizeof(values[i]), "%s=%s", keys[i], dirs[i]);
                make_dir(iso, iso->layer, dirs[i], 0755, 0);
        }
        isolate_attach(iso, which, iso->layer, dirs[0]);
        if (which == ISOLATE_WORKSPACE)
                show_changes(iso, dirs[0], dirs[1]);
        fd = sys_mount_place_new("overlay", options, safe_attr(iso) | attr, at, path);
        if (can_do_without(iso, which, fd)) {
                isolate_attach(iso, which, at, path);
                return false;
        }
        if (fd == -EPERM || fd == -ENODEV)
                isolate_fail(iso, 0,
                             "this kernel allows no overlay in a user namespace (it needs Linux 5.11): "
                             "make it read-only, or of the host template for its own user alone");
        if (fd < 0)
                isolate_fail(iso, fd, "make an overlay of the %s and the writable layer", name);
        close(fd);
        return true;
}

/*
 * A tree of the host for users who could not write to it anyway: an overlay of it and an empty directory,
 * without a writable part. It costs half of one with an upper directory, and its inodes are the box's own:
 * locks and watches on a file affect only the box. false: the tree is shown as it is.
 */
static bool show_apart(struct isolate *iso, enum isolate_mount which, const char *name, int at,
                       const char *path)
{
        char low[32], lower[48];
        const char *options[] = { lower, "userxattr", NULL };
        int fd;

        snprintf(low, sizeof(low), "%s-low", name);
        snprintf(lower, sizeof(lower), "lowerdir=none:%s", low);
        make_dir(iso, iso->layer, low, 0755, 0);
        isolate_attach(iso, which, iso->layer, low);
        fd = sys_mount_place_new("overlay", options, safe_attr(iso) | SYS_MOUNT_RDONLY, at, path);
        if (fd == -EPERM || fd == -ENODEV || (fd == -EINVAL && iso->self)) {
                isolate_attach(iso, which, at, path); /* as it is: see can_do_without */
                return false;
        }
        if (fd < 0)
                isolate_fail(iso, fd, "show /%s apart from the host's", name);
        close(fd);
        return true;
}

static void open_root(struct isolate *iso)
{
        iso->root = sys_open_at(iso->layer, "root", O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
        if (iso->root < 0)
                isolate_fail(iso, iso->root, "open the new root");
}

static void show(struct isolate *iso, const char *name, mode_t mode, uint32_t owner, const char *path)
{
        int target = isolate_dir(iso, path, mode, owner);

        make_dir(iso, iso->layer, name, mode, owner);
        close(copy_here(iso, name, safe_attr(iso), target, ""));
        close(target);
}

/*
 * The same in a root that a sandbox has used: its /etc may have been moved and replaced by links, so nothing
 * is named by a path. A part without a place is left out: root of that box removed it.
 */
static void show_part_again(struct isolate *iso, const char *from, const char *part, mode_t kind)
{
        const char *slash = strrchr(part, '/');
        const char *name = slash ? slash + 1 : part;
        char dir[64];
        cay_auto_close int parent = -1, target = -1, shown = -1;
        struct stat st;

        snprintf(dir, sizeof(dir), "etc/%.*s", slash ? (int)(slash - part) : 0, part);
        parent = sys_open_beneath(iso->root, dir, O_PATH | O_DIRECTORY, 0);
        if (parent < 0)
                return;
        if ((kind == S_IFDIR ? mkdirat(parent, name, 0755) : mknodat(parent, name, S_IFREG | 0444, 0)) < 0 &&
            errno != EEXIST)
                isolate_fail(iso, -errno, "make a place for /etc/%s", part);
        target = sys_open_beneath(parent, name, O_PATH | O_NOFOLLOW, 0);
        if (target < 0 || fstat(target, &st) < 0 || (st.st_mode & S_IFMT) != kind)
                return;
        shown = sys_mount_place_copy(iso->layer, from, false, 0, target, "");
        if (shown < 0)
                isolate_fail(iso, shown, "show /etc/%s", part);
}

/*
 * The same for one part of a tree that could not be shown apart as a whole: in containers, something is
 * mounted on other files of /etc. A folder gets an overlay of its own, a file is copied. `from` and `to` are
 * below the layer, our working directory.
 */
static bool show_part_apart(struct isolate *iso, const char *from, const char *to, const struct stat *st)
{
        char lower[96];
        const char *options[] = { lower, "userxattr", NULL };
        const char *name = strrchr(from, '/') + 1;
        cay_auto_close int file = -1, copy = -1, shown = -1;

        if (S_ISDIR(st->st_mode)) {
                snprintf(lower, sizeof(lower), "lowerdir=none:%s", from);
                shown = sys_mount_place_new("overlay", options, safe_attr(iso) | SYS_MOUNT_RDONLY, AT_FDCWD,
                                            to);
                return shown >= 0;
        }
        file = sys_open_at(AT_FDCWD, from, O_RDONLY, 0);
        copy = sys_open_at(AT_FDCWD, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0444);
        for (off_t at = 0; file >= 0 && copy >= 0 && at < st->st_size;)
                if (sendfile(copy, file, &at, (size_t)(st->st_size - at)) <= 0)
                        return false;
        if (file >= 0 && copy >= 0)
                shown = sys_mount_place_copy(iso->layer, name, false, safe_attr(iso) | SYS_MOUNT_RDONLY,
                                             AT_FDCWD, to);
        return shown >= 0;
}

/* Only these parts of /etc are visible: all of it is mounted elsewhere, and they are bound from there. */
static void show_etc(struct isolate *iso, enum isolate_mount tree, bool plain)
{
        static const struct {
                const char *path;
                mode_t kind;
        } etc_parts[] = { { "ld.so.cache", S_IFREG }, { "alternatives", S_IFDIR }, { "ssl/certs", S_IFDIR } };

        bool is_apart;

        make_dir(iso, iso->layer, "etc-all", 0755, 0);
        is_apart = plain ? show_apart(iso, tree, "etc", iso->layer, "etc-all")
                         : overlay(iso, tree, "etc", 0, iso->layer, "etc-all");
        for (unsigned i = 0; i < CAY_COUNT(etc_parts); i++) {
                char from[64], to[64];
                struct stat st;

                snprintf(from, sizeof(from), "etc-all/%s", etc_parts[i].path);
                snprintf(to, sizeof(to), "root/etc/%s", etc_parts[i].path);
                if (lstat(from, &st) < 0 || (st.st_mode & S_IFMT) != etc_parts[i].kind)
                        continue;
                if (goes_on(iso)) {
                        show_part_again(iso, from, etc_parts[i].path, etc_parts[i].kind);
                        continue;
                }
                if ((S_ISDIR(st.st_mode) ? mkdir(to, 0755) : mknod(to, S_IFREG | 0444, 0)) < 0)
                        isolate_fail(iso, -errno, "make a place for /etc/%s", etc_parts[i].path);
                if (!is_apart && show_part_apart(iso, from, to, &st))
                        continue;
                if (mount(from, to, NULL, MS_BIND, NULL) < 0)
                        isolate_fail(iso, -errno, "show /etc/%s", etc_parts[i].path);
        }
}

/* bin → usr/bin and the like, as the host has them. */
static void copy_link(struct isolate *iso, const char *path)
{
        char from[64], target[64];
        ssize_t len;

        snprintf(from, sizeof(from), "/%s", path);
        len = readlink(from, target, sizeof(target) - 1);
        if (len <= 0)
                return;
        target[len] = 0;
        if (target[0] != '/' && symlinkat(target, iso->root, path) < 0 && !(goes_on(iso) && errno == EEXIST))
                isolate_fail(iso, -errno, "make link %s", from);
}

/*
 * In a root that a sandbox has used nothing is made or named by a path; without a place for it, it is left
 * out.
 */
static void show_cache(struct isolate *iso, enum isolate_mount which, const char *path)
{
        cay_auto_close int target = -1;

        if (iso->mount[which] < 0)
                return;
        if (!goes_on(iso))
                make_dir(iso, iso->root, path, 0755, 0);
        target = sys_open_beneath(iso->root, path, O_PATH | O_DIRECTORY, 0);
        if (target >= 0)
                show_apart(iso, which, "cache", target, "");
}

static void show_host(struct isolate *iso)
{
        unsigned read_only = iso->plan->flags & WIRE_PLAN_READ_ONLY ? SYS_MOUNT_RDONLY : 0;
        bool plain = iso->plan->flags & WIRE_PLAN_HOST_PLAIN;

        make_dir(iso, iso->layer, "none", 0755, 0);
        for (unsigned i = 0; i < CAY_COUNT(host_trees); i++) {
                const struct host_tree *tree = &host_trees[i];
                enum isolate_mount which = ISOLATE_HOST0 + i;

                if (tree->kind == HOST_TREE_CACHE) {
                        show_cache(iso, which, tree->path);
                        continue;
                }
                if (iso->mount[which] < 0) {
                        copy_link(iso, tree->path);
                        continue;
                }
                if (tree->kind == HOST_TREE_PARTS) {
                        show_etc(iso, which, plain);
                        continue;
                }
                make_dir(iso, iso->root, tree->path, 0755, 0);
                if (tree->kind == HOST_TREE_LAYERED && !plain)
                        overlay(iso, which, tree->path, read_only, iso->root, tree->path);
                else
                        show_apart(iso, which, tree->path, iso->root, tree->path);
        }
}

/* Only once: later changes belong to the sandbox. */
static void furnish(struct isolate *iso)
{
        for (unsigned i = 0; i < CAY_COUNT(host_dirs); i++)
                make_dir(iso, iso->root, host_dirs[i].path, host_dirs[i].mode, host_dirs[i].owner);
        for (unsigned i = 0; i < CAY_COUNT(host_files); i++) {
                int r = sys_make_file(iso->root, host_files[i].path, 0644, host_files[i].text,
                                      strlen(host_files[i].text));

                if (r < 0)
                        isolate_fail(iso, r, "write /%s", host_files[i].path);
        }
        if (symlinkat(time_zone, iso->root, "etc/localtime") < 0)
                isolate_fail(iso, -errno, "make link /etc/localtime");
}

static void host_root(struct isolate *iso)
{
        close(copy_here(iso, "root", safe_attr(iso), iso->layer, "root"));
        open_root(iso);
        if (!goes_on(iso))
                furnish(iso);
        show_host(iso);
}

void isolate_root(struct isolate *iso)
{
        bool host = !(iso->plan->flags & WIRE_PLAN_ROOTFS);
        bool read_only = iso->plan->flags & WIRE_PLAN_READ_ONLY;

        mount_layer(iso);
        if (host) {
                host_root(iso);
        } else {
                overlay(iso, ISOLATE_LOWER, "image", 0, iso->layer, "root");
                open_root(iso);
        }
        if (iso->mount[ISOLATE_WORKSPACE] >= 0) {
                int target = isolate_dir(iso, "workspace", 0755, 0);

                if (iso->plan->flags & WIRE_PLAN_WORKSPACE_COW)
                        overlay(iso, ISOLATE_WORKSPACE, "workspace", 0, target, "");
                else
                        isolate_attach(iso, ISOLATE_WORKSPACE, target, "");
                close(target);
        } else if (host && !read_only) {
                if (!goes_on(iso)) /* else as the sandbox left it, even if removed */
                        make_dir(iso, iso->root, "workspace", 0777, CAY_BOX_USER);
        } else {
                show(iso, "workspace", 0777, CAY_BOX_USER,
                     "workspace"); /* also for commands of another user */
        }
        if (read_only)
                show(iso, "tmp", 01777, 0, "tmp");
        else if (!host)
                close(isolate_dir(iso, "tmp", 01777, 0));
}
