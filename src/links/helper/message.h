/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Front ↔ warden: fixed-size messages over a SOCK_SEQPACKET socketpair, one request or answer each, with
 * descriptors by SCM_RIGHTS. Plain values only. docs/warden-link.md describes the protocol, requests.def is
 * the policy. Every request is answered once, in any order (`seq` pairs them). `box_gone` is unsolicited (seq
 * 0).
 */
#pragma once

#include <stdint.h>

#include "links/helper/helper_message.h"
#include "links/helper/keeper_message.h"
#include "links/helper/steps.h"

#define WIRE_VERSION 8u
#define WIRE_CA 768
#define WIRE_MAGIC 0x63617977u
#define WIRE_LAYERS_FD 5   /* the same: folder of layers that outlive their box */
#define WIRE_DISK_FD 6     /* the same: a folder on the disk whose blocks these take in the end */
#define WIRE_LAYERS 8      /* ids of layers in one answer */
#define WIRE_BELOW 1024    /* path below a root, with its NUL */
#define WIRE_VOLUMES 8     /* of one box */
#define WIRE_VOLUME_ROWS 4 /* of one answer */
#define WIRE_TARGET 128    /* place of a volume in the box, with its NUL */
#define WIRE_MODULES 256   /* names of modules, with its NUL */

enum wire_type {
        WIRE_NONE,
#define HELPER_REQUEST(name, permitted, min, max) WIRE_##name,
#include "links/helper/requests.def"
#undef HELPER_REQUEST
        WIRE_TYPE_COUNT,
        WIRE_box_gone = 100 /* answer only */
};

enum wire_hello_flags {
        WIRE_HELLO_SINGLE = 1, /* exactly one box: the warden exits with it, without a request */
};

enum wire_clone_flags {
        WIRE_CLONE_REPLACE =
                1,           /* `to` exists, without a box, and is replaced at once; else it must not exist */
        WIRE_CLONE_SYNC = 2, /* answered when it is on disk */
        WIRE_CLONE_ALL = 3,
};

enum wire_plan_flags {
        WIRE_PLAN_ROOTFS = 1,    /* a rootfs descriptor comes second */
        WIRE_PLAN_WORKSPACE = 2, /* there is a workspace: its descriptor comes next, or BELOW names it */
        WIRE_PLAN_WORKSPACE_RW = 4,
        WIRE_PLAN_READ_ONLY = 8,
        WIRE_PLAN_ONE_SHOT = 16,
        WIRE_PLAN_HOST_PLAIN =
                32, /* no process in it may write to the host's trees anyway: nothing writable over them */
        WIRE_PLAN_WORKSPACE_COW =
                64, /* the workspace is the lower layer of an overlay: writes stay in the box's layer */
        WIRE_PLAN_KEEP = 128, /* the writable layer outlives the box, where that is possible */
        /* with KEEP: use the layer of an earlier box of this id, and no other */
        WIRE_PLAN_GO_ON = 256,
        /* the connection of the client that passed the descriptor comes last */
        WIRE_PLAN_WORKSPACE_PEER = 512,
        WIRE_PLAN_WORKSPACE_BELOW = 1024, /* no descriptor: workspace_root and workspace_below name it */
        /* plan.network is used; the socket that receives the box's sockets comes last of all */
        WIRE_PLAN_NETWORK = 2048,
        WIRE_PLAN_CA = 4096,          /* with NETWORK: plan.ca is used */
        WIRE_PLAN_BRIEF = 8192,       /* the box is for one piece of work: its layer may be memory */
        WIRE_PLAN_FONT_CACHE = 16384, /* the host's cache of fonts is shown, where there is one */
        WIRE_PLAN_WARM = 32768,       /* keep an interpreter ready in it (cay-init/warm.h) */
        WIRE_PLAN_ALL = 65535,
};

/* outbound traffic is diverted to sockets (foundation/sys/net_divert.h) for these destinations: */
enum wire_network_mode {
        /* addresses that stand for names; the kernel refuses all others immediately */
        WIRE_NETWORK_NAMES = 1,
        WIRE_NETWORK_ADDRESSES, /* any address */
        WIRE_NETWORK_PUBLIC,  /* those that stand for names, and public ones; the kernel refuses all others */
        WIRE_NETWORK_UDP = 4, /* a flag: datagrams too */
        WIRE_NETWORK_DIAL = 8, /* a flag: with sockets that connect inside the box */
        WIRE_NETWORK_ALL = 15,
};

/*
 * Message to the socket of a plan's network, from the process that made the sockets. Descriptors: those of
 * struct sys_divert_sockets. They belong to the box's network namespace wherever they are used.
 */
struct wire_network_sockets {
        uint32_t magic, size;
        int32_t result; /* 0, or -errno and no descriptors */
};

struct wire_volume { /* one of the owner's: created if missing, and kept when the box is removed */
        char name[CAY_NAME_MAX + 1];
        char target[WIRE_TARGET]; /* where it is mounted: an absolute path */
        uint32_t read_only;
        uint32_t is_layer; /* not a volume: the layer of this id, which no box has; read_only */
};

struct wire_plan { /* descriptors: link stream for init, [rootfs], [workspace], [peer], [network] */
        char id[CAY_NAME_MAX + 1];
        uint32_t flags;
        uint32_t may_skip;  /* enum helper_limit */
        uint32_t test_off;  /* layers.def; test builds */
        uint32_t cpu_milli; /* 0: no limit, likewise below */
        uint64_t memory_bytes, swap_bytes, pids, disk_bytes, inodes;
        uint8_t secret[HELPER_SECRET]; /* of the box link */
        uint32_t network;              /* enum wire_network_mode, with NETWORK */
        uint32_t workspace_root;       /* with BELOW: one of the keeper's roots, from 0 */
        char workspace_below[WIRE_BELOW];
        uint32_t volume_count;
        uint32_t volumes_max;  /* the owner may have: no further one is created */
        uint64_t volume_bytes; /* of one that is created */
        char volume_owner[CAY_NAME_MAX + 1];
        struct wire_volume volumes[WIRE_VOLUMES];
        char warm_modules[WIRE_MODULES]; /* with WARM: passed on to cay-init unread */
        /* with CA: text that follows the host's certificates in the box's /etc/cay-ca.pem */
        char ca[WIRE_CA];
};

struct wire_request {
        HELPER_REQUEST_HEAD;
        union {
                struct helper_hello hello;
                struct wire_plan plan;
                struct helper_box_id box;
                struct {
                        char id[CAY_NAME_MAX + 1];
                        uint32_t mode; /* enum wire_network_mode */
                        /* descriptor: socket to receive new sockets; without one the old ones stay */
                } network;
                struct helper_list list;
                struct {
                        uint64_t from; /* 0, or `next` of the last answer */
                } layers;              /* layer_list, volume_list */
                struct {
                        char owner[CAY_NAME_MAX + 1], name[CAY_NAME_MAX + 1];
                } volume; /* volume_drop */
                struct {  /* layer_clone: a copy of the layer `from`, as the layer `to` */
                        char from[CAY_NAME_MAX + 1], to[CAY_NAME_MAX + 1];
                        uint32_t flags; /* enum wire_clone_flags */
                } clone;
        };
};

struct wire_stats {
        uint64_t memory_bytes, memory_peak_bytes, oom_kills, pids, pids_refused, cpu_us;
};

struct wire_network { /* of a live box, since it was made */
        uint64_t rx_bytes, tx_bytes, loopback_bytes;
};

struct wire_volume_row {
        char owner[CAY_NAME_MAX + 1], name[CAY_NAME_MAX + 1];
        uint64_t bytes, used_bytes; /* what fits in; what it takes of the host's disk */
        int64_t created_s;          /* 0: unknown */
};

struct wire_answer {
        HELPER_ANSWER_HEAD;
        union {
                struct helper_hello_answer hello;
                struct {
                        char id[CAY_NAME_MAX + 1];
                        uint32_t skipped; /* enum helper_limit */
                        uint32_t watched; /* the enforced limits that cay-init watches */
                        uint32_t kept;    /* its layer outlives it */
                        /* box_make: the layer had to be repaired, the last writes may be missing */
                        uint32_t mended;
                        uint32_t damaged; /* box_stop: the layer is corrupt and was set aside */
                        struct wire_stats stats;
                        struct wire_network network; /* box_stat */
                        uint64_t reclaimed_bytes;    /* box_reclaim */
                } box;
                struct helper_list_answer list;
                struct { /* layer_list */
                        char ids[WIRE_LAYERS][CAY_NAME_MAX + 1];
                        uint32_t count;
                        uint32_t more; /* repeat the request with `next` */
                        uint64_t next;
                } layers;
                struct { /* volume_list: in no order */
                        struct wire_volume_row rows[WIRE_VOLUME_ROWS];
                        uint32_t count;
                        uint32_t more; /* repeat the request with `next` */
                        uint64_t next;
                } volumes;
                struct { /* layer_clone */
                        char to[CAY_NAME_MAX + 1];
                        uint32_t is_shared; /* blocks are shared, not copied */
                        uint64_t bytes;     /* that it has */
                        uint64_t added;     /* of those: that nothing had in common before */
                        uint64_t frozen_us; /* how long the box stood still */
                } clone;
                struct cay_steps trace;
        };
};

extern const struct helper_protocol wire_protocol;
