/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From plan to box: start the first process in new namespaces and, inside it, build root, /dev and /proc,
 * drop the remaining privileges and execute cay-init.
 *
 * Theory of operation. Two processes work together. The warden forks a helper, which takes the box's first
 * host id (so that the user namespace belongs to the box, not to root, and per-user limits count for it), and
 * clones the box's first process as the warden's own child. The warden maps its ids, makes the mounts that
 * only the host's root can make (idmapped copies of /usr, rootfs and workspace; images) and passes them in
 * one "go" message over the control socket. The first process does the rest with the privileges of its own
 * user namespace only. A failure is one message on the status pipe; on success the pipe closes at exec.
 *
 * Without the host's privileges, or on a kernel without idmapped mounts, the warden makes no mounts: "self".
 * The first process then opens the trees by name itself, before it changes ids (with the caller's rights, so
 * it can open no more than the caller). Everything is a plain copy within its own mount namespace.
 *
 * Mustn't: follow a link or a path of the image (targets are opened one component at a time without links and
 * checked to be plain directories); keep a descriptor of the host beyond exec; let a host path show in the
 * box's mountinfo.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "foundation/sys/syscalls.h"
#include "cay-warden/ids.h"
#include "cay-warden/proc_overlay.h"
#include "links/helper/layers.h"
#include "links/helper/init_config.h"
#include "links/helper/message.h"

/*
 * What a root needs of the writable layer (at most) before anything is written: added to the caller's limits.
 */
#define ISOLATE_OWN_INODES 60u
#define ISOLATE_OWN_BYTES (128u << 10)
#define ISOLATE_PROC_OVERLAY_BYTES (64u << 10) /* and the files of /proc, where they are in it ("self") */

enum isolate_mount { /* what the "go" message may carry, in this order; bit numbers of its mask */
                     ISOLATE_PROC_OVERLAY, /* tmpfs with the files bound over /proc/… */
                     ISOLATE_LAYER,        /* writable layer, when it is not a tmpfs */
                     ISOLATE_LOWER,        /* rootfs template */
                     ISOLATE_WORKSPACE,
                     ISOLATE_VOLUME0,                                /* then the plan's volumes */
                     ISOLATE_HOST0 = ISOLATE_VOLUME0 + WIRE_VOLUMES, /* then the rows of host_tree.def */
                     ISOLATE_MOUNTS = ISOLATE_HOST0
#define CAY_HOST_TREE(path, kind) +1
#include "cay-warden/host_tree.def"
#undef CAY_HOST_TREE
};

enum host_tree_kind { HOST_TREE_LAYERED, HOST_TREE_PARTS, HOST_TREE_PLAIN, HOST_TREE_CACHE };

struct host_tree {
        const char *path;
        enum host_tree_kind kind;
};

extern const struct host_tree host_trees[ISOLATE_MOUNTS - ISOLATE_HOST0];

bool isolate_wants_tree(const struct wire_plan *plan, const struct host_tree *tree);

struct isolate_go {
        uint32_t mask; /* of enum isolate_mount */
};

struct isolate_failure { /* what the status pipe carries when set-up fails */
        int32_t sys;     /* 0: not possible here, and the text says why */
        char text[224];
};

struct isolate { /* read by both processes; the box's copy is its own after the clone */
        const struct wire_plan *plan;
        struct cay_steps *steps;
        struct cay_ids ids;
        bool self;             /* the box makes all its mounts */
        uint32_t cpus;         /* that it sees; for `self` and pin_at */
        int pin_at;            /* where among the processors the box's begin; -1: a cpuset decides */
        int rootfs, workspace; /* from the plan; for `self`; -1: none */
        int control;           /* the box's end of the control socket */
        int status;            /* write end of the status pipe */
        int init_exe;          /* cay-init on a read-only mount */
        int cgroup2;           /* directory to be created in, or -1 */
        int birth;             /* pipe from the helper: the warden's end, the helper's in the helper */
        pid_t helper;          /* to be reaped when the box is ready, or gone */
        int net, net_far;      /* where the helper passes the network namespace; -1: none */
        bool is_proxied;       /* there is no nf_tables: its way out is a proxy on loopback */
        int network;           /* where the sockets of a diverted network are sent; -1: there is none */

        /* of the box's process only */
        int mount[ISOLATE_MOUNTS];  /* detached mounts; with `self`: places in our own namespace */
        int own[CAY_INIT_FD_COUNT]; /* what cay-init inherits from us; -1: none */
        int layer, root, proc, dev;
        int proc_sys; /* /proc/sys from before it was covered: still writable */
};

/* Starts the box's first process, in the background: 0 or -errno. */
int cay_isolate_begin(struct isolate *iso);
/*
 * Waits for its start: its pid, or -errno. *ret_pidfd is set on success. Call it after every begin; reap
 * iso->helper too.
 */
pid_t cay_isolate_end(struct isolate *iso, int *ret_pidfd);

/* Below: the box's process. Each ends the process with a message when something fails. */
_Noreturn void isolate_fail(struct isolate *iso, int neg_errno, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));
void isolate_open_trees(struct isolate *iso); /* with `self`: before ids change */
/* Attaches a tree that came with "go" (or that we opened): read-only unless it is a writable workspace. */
void isolate_attach(struct isolate *iso, enum isolate_mount which, int dirfd, const char *path);
/*
 * Changes the owner of a file of the layer to an id of the box; where that id does not exist, it stays ours.
 */
int isolate_give(struct isolate *iso, int dirfd, const char *path, uint32_t owner);
void isolate_root(struct isolate *iso); /* layer, root, /usr, /etc, /workspace, /tmp */
void isolate_volumes(struct isolate *iso);
void isolate_dev(struct isolate *iso);
void isolate_proc(struct isolate *iso);
void isolate_settings(struct isolate *iso); /* of the box's namespaces, once it is in all of them */
/* A directory of the box, made if missing; never through a link. Returns an O_PATH descriptor. */
int isolate_dir(struct isolate *iso, const char *path, mode_t mode, uint32_t owner);

/* isolate_net.c. The first is the helper's, as a member of the box's user namespace; the second the box's. */
void isolate_make_network(struct isolate *iso, int userns);
void isolate_enter_network(struct isolate *iso);
/*
 * Of the caller's namespaces, which are a box's: other rules, and new sockets sent to `to` unless that is -1.
 * 0 or -errno.
 */
int isolate_change_network(uint32_t mode, int to);
/* What programs look for a proxy in. Their own loopback is reached without one. */
#define ISOLATE_PROXY "127.0.0.1:64998" /* SYS_DIVERT_PORT */
#define ISOLATE_PROXY_VARIABLES                                                                              \
        "http_proxy=http://" ISOLATE_PROXY, "https_proxy=http://" ISOLATE_PROXY,                             \
                "HTTP_PROXY=http://" ISOLATE_PROXY, "HTTPS_PROXY=http://" ISOLATE_PROXY,                     \
                "all_proxy=socks5h://" ISOLATE_PROXY, "ALL_PROXY=socks5h://" ISOLATE_PROXY,                  \
                "no_proxy=localhost,127.0.0.1,::1", "NO_PROXY=localhost,127.0.0.1,::1"
/* The same of a box that was made without a way out. 1: it has a proxy instead, as there is no nf_tables. */
int isolate_set_up_network(uint32_t mode, int to);
/*
 * For calls that make something outside of the root: a layer of an earlier box already has it, and only we
 * could write there.
 */
static inline bool isolate_was_made(const struct isolate *iso, int r)
{
        return r == 0 || (errno == EEXIST && iso->plan->flags & WIRE_PLAN_GO_ON);
}

static inline bool isolate_has(const struct isolate *iso, enum cay_layer layer)
{
        return cay_layer_is_on(iso->plan->test_off, layer);
}
