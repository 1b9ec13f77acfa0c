/* SPDX-License-Identifier: Apache-2.0 */
/* Workspaces: which folder, by whose right. See workspace.h for the theory. */
#include "cay-warden/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "foundation/sys/fd.h"
#include "foundation/sys/peer.h"
#include "cay-warden/warden.h"

/* File systems that are the kernel's own: what lies there are switches, not files. */
static const uint32_t kernel_systems[] = {
        PROC_SUPER_MAGIC,
        SYSFS_MAGIC,
        CGROUP_SUPER_MAGIC,
        CGROUP2_SUPER_MAGIC,
        DEVPTS_SUPER_MAGIC,
        DEBUGFS_MAGIC,
        TRACEFS_MAGIC,
        SECURITYFS_MAGIC,
        SELINUX_MAGIC,
        BPF_FS_MAGIC,
        PSTOREFS_MAGIC,
        EFIVARFS_MAGIC,
        BINFMTFS_MAGIC,
        NSFS_MAGIC,
        PIPEFS_MAGIC,
        HUGETLBFS_MAGIC,
        0x62656570u /* configfs */,
        0x19800202u /* mqueue */,
};

static bool socket_name(int sock, char *ret, size_t size)
{
        struct sockaddr_un at = { 0 };
        socklen_t len = sizeof(at);

        if (getsockname(sock, (struct sockaddr *)&at, &len) < 0 || at.sun_family != AF_UNIX ||
            len <= offsetof(struct sockaddr_un, sun_path) || at.sun_path[0] != '/' ||
            size < sizeof(at.sun_path))
                return false;
        memcpy(ret, at.sun_path, sizeof(at.sun_path));
        ret[sizeof(at.sun_path) - 1] = 0;
        return true;
}

void warden_listener_note(struct warden_listener *listener, int listening)
{
        struct stat st = { 0 };

        *listener = (struct warden_listener){ 0 };
        listener->by_file = sys_socket_file(listening, &st) == 0;
        listener->dev = st.st_dev;
        listener->ino = st.st_ino;
        listener->is_known =
                socket_name(listening, listener->name, sizeof(listener->name)) || listener->by_file;
}

/*
 * Whether a connection was accepted from the daemon's socket. Root's front has another root directory, where
 * it can bind any name: there only the file counts. An ordinary user's front has that user's rights, like the
 * warden: the name is enough.
 */
static int check_listener(const struct warden_listener *listener, int peer, struct cay_error *err)
{
        char name[sizeof(listener->name)];
        struct stat st;
        bool same;

        if (!listener->is_known)
                return cay_fail(err, CAY_DENIED,
                                "workspace: the daemon passed no listening socket, so its clients cannot be "
                                "told from others");
        if (!listener->by_file && geteuid() == 0)
                return cay_fail(
                        err, CAY_UNSUPPORTED,
                        "workspace: this kernel cannot say whose descriptor it is (needs Linux 4.13 and "
                        "CAP_NET_ADMIN): name a folder below workspace_roots instead");
        if (listener->by_file)
                same = sys_socket_file(peer, &st) == 0 && st.st_dev == listener->dev &&
                       st.st_ino == listener->ino;
        else
                same = socket_name(peer, name, sizeof(name)) && strcmp(name, listener->name) == 0;
        return same ? 0
                    : cay_fail(err, CAY_DENIED,
                               "workspace: the connection beside the folder was not made to the daemon's "
                               "socket");
}

/*
 * By mode bits, as the kernel would for this user. Access lists are ignored, which can only refuse too much.
 */
static bool may_read(const struct sys_peer *peer, const struct stat *st)
{
        mode_t want = st->st_uid == peer->uid                ? S_IRUSR | S_IXUSR
                      : sys_peer_has_group(peer, st->st_gid) ? S_IRGRP | S_IXGRP
                                                             : S_IROTH | S_IXOTH;

        return peer->uid == 0 || (st->st_mode & want) == want;
}

static int judge_peer(const struct warden *w, const struct wire_plan *p, int peer_fd,
                      struct warden_workspace *ws, const struct stat *st, struct cay_error *err)
{
        static struct sys_peer peer;
        int r, flags = fcntl(ws->fd, F_GETFL);

        if (peer_fd < 0)
                return cay_fail(
                        err, CAY_DENIED,
                        "workspace: a folder's descriptor counts only with the connection of the client "
                        "that passed it: give it again over the unix socket");
        r = sys_peer_get(peer_fd, &peer);
        if (r == -ENOTCONN)
                return cay_fail(err, CAY_DENIED, "workspace: the client that passed the folder has gone");
        if (r < 0)
                return cay_fail_sys(
                        err, CAY_DENIED, r,
                        "workspace: the descriptor beside the folder is not a client's connection");
        if (check_listener(&w->listener, peer_fd, err) < 0)
                return -1;
        if (flags < 0 || flags & O_PATH)
                return cay_fail(
                        err, CAY_DENIED,
                        "workspace: open the folder for reading (O_RDONLY | O_DIRECTORY): a descriptor "
                        "that only names it shows no right to it");
        if (!may_read(&peer, st))
                return cay_fail(err, CAY_DENIED, "workspace: uid %u may not read the folder",
                                (unsigned)peer.uid);
        if (p->flags & WIRE_PLAN_WORKSPACE_RW && st->st_uid != peer.uid && peer.uid != 0)
                return cay_fail(
                        err, CAY_DENIED,
                        "workspace: the folder belongs to uid %u, and uid %u asks: map it read-only (ro) or "
                        "as a copy (cow)",
                        (unsigned)st->st_uid, (unsigned)peer.uid);
        ws->as_owner = st->st_uid == peer.uid || peer.uid == 0;
        /* what is made inside is of the client's group, as if it had made it itself */
        if (peer.uid != 0 && !sys_peer_has_group(&peer, st->st_gid))
                ws->gid = peer.gid;
        return 0;
}

static int open_below(const struct warden *w, const struct wire_plan *p, struct cay_error *err)
{
        int fd;

        if (p->workspace_root >= WIRE_ROOTS || w->roots[p->workspace_root] < 0)
                return cay_fail(err, CAY_DENIED, "workspace: there is no root %u", p->workspace_root);
        if (memchr(p->workspace_below, 0, sizeof(p->workspace_below)) == NULL || p->workspace_below[0] == 0)
                return cay_fail(err, CAY_INVALID,
                                "workspace: the path below the root is empty or has no end");
        fd = sys_open_beneath(w->roots[p->workspace_root], p->workspace_below, O_PATH | O_DIRECTORY, 0);
        if (fd == -EXDEV || fd == -ELOOP)
                return cay_fail(
                        err, CAY_DENIED,
                        "workspace: '%.100s' leaves its root or leads over a link: name the folder itself",
                        p->workspace_below);
        if (fd < 0)
                return cay_fail_sys(err, CAY_INVALID, fd, "workspace: open '%.100s' below its root",
                                    p->workspace_below);
        return fd;
}

static bool is_kernels(int fd)
{
        struct statfs fs;

        if (fstatfs(fd, &fs) < 0)
                return true;
        for (unsigned i = 0; i < CAY_COUNT(kernel_systems); i++)
                if ((uint32_t)fs.f_type == kernel_systems[i])
                        return true;
        return false;
}

/* Applies to every folder that a front requests, whoever authorises it. */
static int judge_folder(const struct wire_plan *p, struct warden_workspace *ws, const struct stat *st,
                        struct cay_error *err)
{
        struct stat root;

        if (!S_ISDIR(st->st_mode))
                return cay_fail(err, CAY_INVALID, "workspace: that is not a folder");
        if (is_kernels(ws->fd))
                return cay_fail(err, CAY_DENIED,
                                "workspace: a file system of the kernel's own cannot be mapped");
        if (stat("/", &root) < 0 || (root.st_dev == st->st_dev && root.st_ino == st->st_ino))
                return cay_fail(err, CAY_DENIED, "workspace: the root directory cannot be mapped");
        if (p->flags & WIRE_PLAN_WORKSPACE_RW && (st->st_uid == 0 || ws->gid == 0))
                return cay_fail(
                        err, CAY_DENIED,
                        "workspace: root's folder (owner %u, group %u) is not mapped writable: give it "
                        "another owner, or map it read-only (ro) or as a copy (cow)",
                        (unsigned)st->st_uid, (unsigned)st->st_gid);
        ws->as_owner = ws->as_owner && st->st_uid != 0;
        ws->as_group = ws->as_owner && ws->gid != 0;
        /*
         * In another user's folder no id inside is owner or group, so an access list grants nothing either.
         */
        if (!ws->as_owner && !(st->st_mode & S_IXOTH))
                return cay_fail(
                        err, CAY_DENIED,
                        "workspace: no user of a sandbox could enter this folder of uid %u with mode %04o: "
                        "let others in (chmod o+rx FOLDER), or give it to the user who maps it (chown)",
                        (unsigned)st->st_uid, (unsigned)(st->st_mode & 07777));
        return 0;
}

static int judge(const struct warden *w, const struct wire_plan *p, int peer, struct warden_workspace *ws,
                 struct cay_error *err)
{
        bool below = p->flags & WIRE_PLAN_WORKSPACE_BELOW;
        struct stat st;

        if (fstat(ws->fd, &st) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "workspace: look at the folder");
        ws->uid = st.st_uid;
        ws->gid = st.st_gid;
        ws->as_owner = ws->as_group = true;
        if (!w->is_kept || (below && w->has_own_roots))
                return 0;
        if (!below && judge_peer(w, p, peer, ws, &st, err) < 0)
                return -1;
        return judge_folder(p, ws, &st, err);
}

int warden_workspace_open(const struct warden *w, const struct wire_plan *p, int folder, int peer,
                          struct warden_workspace *ret, struct cay_error *err)
{
        const uint32_t more = WIRE_PLAN_WORKSPACE_BELOW | WIRE_PLAN_WORKSPACE_PEER;

        *ret = (struct warden_workspace){ .fd = -1 };
        if (p->flags & more &&
            (!(p->flags & WIRE_PLAN_WORKSPACE) || !w->is_kept || (p->flags & more) == more))
                return cay_fail(err, CAY_INVALID, "the plan does not say whose the workspace is");
        if (!(p->flags & WIRE_PLAN_WORKSPACE))
                return 0;
        if (p->flags & WIRE_PLAN_WORKSPACE_BELOW)
                ret->fd = open_below(w, p, err);
        else
                ret->fd = fcntl(folder, F_DUPFD_CLOEXEC, 3);
        if (ret->fd < 0)
                return p->flags & WIRE_PLAN_WORKSPACE_BELOW
                               ? -1
                               : cay_fail_sys(err, CAY_INTERNAL, -errno, "workspace: keep the folder");
        if (judge(w, p, peer, ret, err) == 0)
                return 0;
        warden_workspace_close(ret);
        return -1;
}

void warden_workspace_close(struct warden_workspace *ws)
{
        if (ws->fd >= 0)
                close(ws->fd);
        ws->fd = -1;
}
