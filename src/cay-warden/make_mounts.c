/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A box's mounts, made from outside with the host's rights: its writable layer, its workspace, its root or
 * the host's trees, each shown with the box's ids. Where the warden has no such rights the box makes them
 * itself (isolate_root.c), and there is nothing to do here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "foundation/sys/idmap.h"
#include "foundation/sys/loopdev.h"
#include "foundation/sys/mounts.h"
#include "cay-warden/keep.h"
#include "cay-warden/make.h"
#include "cay-warden/room.h"
#include "cay-warden/volume.h"

#define LAYER_STEP (64u << 10)
#define LAYER_LEAST (1u << 20)  /* an ext4 with a little in it */
#define IMAGE_FOLDER "/var/tmp" /* unnamed files: large, on disk, removed automatically */
#define EXT4_OWN_INODES 16u     /* reserved ones, the root, lost+found */

static uint64_t safe_attr(const struct warden_box *box)
{
        return (cay_layer_is_on(box->plan.test_off, CAY_LAYER_NOSUID) ? SYS_MOUNT_NOSUID : 0) |
               (cay_layer_is_on(box->plan.test_off, CAY_LAYER_NODEV) ? SYS_MOUNT_NODEV : 0);
}

/*
 * The rootfs and the host's trees are shown with the box's ids: root outside is root inside, and no other id
 * is mapped.
 */
static int copy_shifted(const struct warden_box *box, int dirfd, const char *path, int userns)
{
        int plain = 0;

        return sys_mount_copy_idmapped(dirfd, path, safe_attr(box) | SYS_MOUNT_RDONLY, userns, &plain);
}

/*
 * The folder's owner outside is the sandbox's user inside, and no other id is mapped: files made inside
 * belong to the owner.
 */
static int copy_workspace(const struct warden_box *box, const struct warden_workspace *ws)
{
        uint32_t user = box->ids.first_uid + CAY_BOX_USER;
        uint64_t attr = safe_attr(box) | (box->plan.flags & WIRE_PLAN_WORKSPACE_RW ? 0 : SYS_MOUNT_RDONLY);
        struct sys_idmap uids = { ws->as_owner ? ws->uid : user, user, 1 }; /* to itself: owns nothing */
        struct sys_idmap gids = { ws->as_group ? ws->gid : user, user, 1 };
        cay_auto_close int userns = sys_idmap_namespace(&uids, &gids);
        int plain = 0, copy;

        if (userns < 0)
                return userns;
        copy = sys_mount_copy_idmapped(ws->fd, "", attr, userns, &plain);
        if (copy >= 0 && plain && !(attr & SYS_MOUNT_RDONLY)) {
                close(copy); /* files written there would belong to ids that another box may use later */
                return -EOPNOTSUPP;
        }
        return copy;
}

/*
 * The maximum size of such a layer. It is sparse, so it could promise more than the disk has, and then
 * acknowledged data would be lost. So it is not larger than the disk's free space above the margin: a write
 * inside fails with ENOSPC before the disk is full. Layers made at the same time see the same free space.
 * Unlike kept layers (room.h) these are not checked again, because a single box has no process to do that.
 */
static int bound_layer(const struct warden *w, uint64_t *bytes, struct cay_error *err)
{
        uint64_t margin = w->margin > 0 ? w->margin : WARDEN_LEAST_MARGIN, room;
        struct statvfs fs;

        if (statvfs(IMAGE_FOLDER, &fs) < 0)
                return 0; /* unknown; making the file will report the error */
        room = (uint64_t)fs.f_bavail * fs.f_frsize;
        room -= room < margin ? room : margin;
        if (*bytes > room)
                *bytes = room - room % LAYER_STEP;
        if (*bytes < LAYER_LEAST)
                return cay_fail(err, CAY_NO_SPACE,
                                "disk: no room for a writable layer: " IMAGE_FOLDER
                                " has to keep %llu MiB free; remove something there",
                                (unsigned long long)(margin >> 20));
        return 0;
}

/* A separate file for this box only, removed with it. */
static int make_layer(const struct warden *w, const struct warden_box *box, struct cay_error *err)
{
        uint64_t wanted = box->plan.disk_bytes + ISOLATE_OWN_BYTES, bytes = wanted;
        uint64_t inodes = box->plan.inodes ? box->plan.inodes + ISOLATE_OWN_INODES + EXT4_OWN_INODES : 0;
        struct cay_error few = { 0 };
        int fd;

        if (cay_keep_check_inodes(bytes, inodes, err) < 0 || bound_layer(w, &bytes, err) < 0)
                return -1;
        if (bytes < wanted && cay_keep_check_inodes(bytes, inodes, &few) < 0)
                inodes = 0; /* as many as a disk of this size has: fewer than were asked for */
        fd = sys_layer_image_mount(IMAGE_FOLDER, bytes, inodes, SYS_MOUNT_SAFE);
        if (fd < 0)
                return cay_fail_sys(err, fd == -ENOSPC || fd == -EFBIG ? CAY_NO_SPACE : CAY_INTERNAL, fd,
                                    "disk: make a writable layer of %llu bytes in " IMAGE_FOLDER,
                                    (unsigned long long)box->plan.disk_bytes);
        return fd;
}

/*
 * A layer that outlives its box. A tmpfs cannot, and without shifted ids the next box would be another user
 * for its own files.
 */
static int make_kept_layer(struct warden *w, struct warden_box *box, struct cay_error *err)
{
        struct cay_keep_facts facts = { 0 };
        int fd =
                cay_keep_mount(w->layers, box->plan.id, box->plan.flags & WIRE_PLAN_GO_ON,
                               box->plan.disk_bytes + ISOLATE_OWN_BYTES,
                               box->plan.inodes ? box->plan.inodes + ISOLATE_OWN_INODES + EXT4_OWN_INODES : 0,
                               &facts, err);

        box->drop_layer = facts.made;
        box->is_mended = facts.mended;
        if (fd < 0)
                return fd;
        warden_room_note_layer(w, box, fd);
        if (warden_room_check(w, box, err) == 0)
                return fd;
        close(fd);
        return -1;
}

static int show_layer(struct warden *w, struct warden_box *box, int userns, int *ret, struct cay_error *err)
{
        struct sys_mount_attr shift = { .attr_set = SYS_MOUNT_IDMAP, .userns_fd = (uint64_t)userns };
        cay_auto_close int fd = box->kept ? make_kept_layer(w, box, err) : make_layer(w, box, err);
        int r;

        if (fd < 0)
                return -1;
        /* Not a copy: before Linux 6.15 a mount that is nowhere yet has none. */
        r = sys_mount_setattr(fd, "", AT_EMPTY_PATH, &shift);
        if (r < 0 && box->kept)
                return cay_fail_sys(err, CAY_UNSUPPORTED, r,
                                    "ids cannot be shifted here, so files cannot be kept for the next start");
        if (r < 0 && r != -EINVAL && r != -EPERM)
                return cay_fail_sys(err, CAY_INTERNAL, r, "show the writable layer");
        *ret = cay_take_fd(fd);
        return 0;
}

int warden_make_mounts(struct warden *w, struct warden_box *box, const struct warden_given *given,
                       const struct cay_proc_overlay *proc_overlay, bool tmpfs, int *mounts,
                       struct cay_error *err)
{
        cay_auto_close int userns = -1;
        int root = AT_FDCWD, r;

        if (proc_overlay->mount < 0)
                return 0; /* the box makes them all itself */
        userns = sys_idmap_open(box->pid);
        if (userns < 0)
                return cay_fail_sys(err, CAY_INTERNAL, userns, "open the box's user namespace");
        mounts[ISOLATE_PROC_OVERLAY] = proc_overlay->mount;
        if (!tmpfs && show_layer(w, box, userns, &mounts[ISOLATE_LAYER], err) < 0)
                return -1;
        if (warden_volumes_mount(w, box, userns, mounts, err) < 0)
                return -1;
        if (given->workspace.fd >= 0) {
                r = mounts[ISOLATE_WORKSPACE] = copy_workspace(box, &given->workspace);
                if (r == -EOPNOTSUPP)
                        return cay_fail(err, CAY_UNSUPPORTED,
                                        "the workspace's file system cannot map ids: map it read-only (:ro)");
                if (r == -EINVAL)
                        return cay_fail(err, CAY_INVALID,
                                        "workspace: the folder is not where this daemon can see it (another "
                                        "container's, or mounted nowhere)");
                if (r < 0)
                        return cay_fail_sys(err, CAY_INTERNAL, r, "map the workspace");
        }
        if (given->rootfs >= 0) {
                r = mounts[ISOLATE_LOWER] = copy_shifted(box, given->rootfs, "", userns);
                return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "show the rootfs") : 0;
        }
        for (unsigned i = 0; i < ISOLATE_MOUNTS - ISOLATE_HOST0; i++) {
                char path[64];
                struct stat st;

                snprintf(path, sizeof(path), "/%s", host_trees[i].path);
                if (!isolate_wants_tree(&box->plan, &host_trees[i]) || lstat(path, &st) < 0 ||
                    S_ISLNK(st.st_mode))
                        continue; /* links are made again inside */
                r = mounts[ISOLATE_HOST0 + i] = copy_shifted(box, root, path, userns);
                if (r < 0)
                        return cay_fail_sys(err, CAY_INTERNAL, r, "show %s", path);
        }
        return 0;
}
