/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Front ↔ cay-docker: fixed-size messages over a SOCK_SEQPACKET socket, one request or answer each. Plain
 * values only: a plan describes the box, never how Docker is called. docs/docker.md describes the protocol,
 * docker_message.def is the policy. Every request is answered once, in any order (`seq` pairs them). box_gone
 * and daemon are unsolicited (seq 0).
 */
#pragma once

#include <stdint.h>

#include "links/helper/helper_message.h"

#define DOCKER_WIRE_VERSION 4u
#define DOCKER_WIRE_MAGIC 0x63617964u
#define DOCKER_BELOW 1024
#define DOCKER_IMAGE 128
#define DOCKER_WORD 64 /* owner, template */

enum docker_type {
        DOCKER_NONE,
#define HELPER_REQUEST(name, permitted, min, max) DOCKER_##name,
#include "links/helper/docker_message.def"
#undef HELPER_REQUEST
        DOCKER_TYPE_COUNT,
        DOCKER_box_gone = 100, /* answers only */
        DOCKER_daemon,
        /* somebody else removed the container of a box that could have been started again */
        DOCKER_files_lost
};

enum docker_plan_flags {
        DOCKER_PLAN_READ_ONLY = 1,
        DOCKER_PLAN_KEEP = 2,      /* `box_stop` leaves the container */
        DOCKER_PLAN_GO_ON = 4,     /* with KEEP: reuse the container that an earlier box of this id left */
        DOCKER_PLAN_WORKSPACE = 8, /* workspace_root and workspace_below name it */
        DOCKER_PLAN_WORKSPACE_RW = 16,
        DOCKER_PLAN_BUILT =
                32, /* use the image that was built from the template's Dockerfile; `image` is "" */
        /* nothing is copied into the container: it runs one command, and cay-docker acts as its init */
        DOCKER_PLAN_NO_INIT = 64,
        DOCKER_PLAN_CA = 128, /* `ca` is used; neither with NO_INIT nor with READ_ONLY */
        DOCKER_PLAN_ALL = 255,
};

enum docker_build_flags {
        DOCKER_BUILD_CANCEL = 1,   /* the build is cancelled when nobody reads its lines any more */
        DOCKER_BUILD_NO_CACHE = 2, /* build even when nothing has changed, and without Docker's cache */
        DOCKER_BUILD_ALL = 3,
};

enum docker_image_state {
        DOCKER_IMAGE_NONE,
        DOCKER_IMAGE_BUILDING,
        DOCKER_IMAGE_BUILT,
        DOCKER_IMAGE_STALE, /* its files have changed since */
        DOCKER_IMAGE_FAILED,
        DOCKER_IMAGE_STATE_COUNT
};

#define DOCKER_IMAGE_ID 80   /* "sha256:" and 64 digits, with room */
#define DOCKER_CONTEXT 65    /* hash of a build's files, in hex */
#define DOCKER_LINE_MAX 4096 /* of a build's output: one message each on its descriptor */

#define DOCKER_PORTS_MAX 16u
#define DOCKER_VOLUMES_MAX 8u
#define DOCKER_TARGET 128
#define DOCKER_LABELS 4096 /* bytes of the caller's labels */
#define DOCKER_CA 768

enum docker_network {
        DOCKER_NETWORK_NONE, /* loopback alone */
        /* a bridge of its own with access to the outside; made and removed with the box */
        DOCKER_NETWORK_BRIDGE,
        DOCKER_NETWORK_COUNT
};

struct docker_port {           /* TCP, on the Docker host's loopback */
        uint16_t inside, host; /* host in a plan: the requested port, 0: any free one */
};

struct docker_volume { /* one of the owner's volumes: created if missing, kept when the box is removed */
        char name[CAY_NAME_MAX + 1];
        char target[DOCKER_TARGET]; /* where it is mounted */
        uint32_t read_only;
};

/* workspace_below is below /: for a user who started cay-docker without a keeper, with their own rights */
#define DOCKER_ROOT_CALLER 0xffffffffu

struct docker_plan { /* descriptor: the link stream */
        char id[CAY_NAME_MAX + 1];
        uint32_t flags;
        uint32_t may_skip;  /* enum helper_limit */
        uint32_t test_off;  /* layers.def; test builds */
        uint32_t cpu_milli; /* 0: no limit (also below) */
        uint64_t memory_bytes, swap_bytes, pids, disk_bytes, inodes;
        uint8_t secret[HELPER_SECRET]; /* of the box link */
        uint32_t workspace_root; /* index of a root that cay-docker was started with, or DOCKER_ROOT_CALLER */
        char workspace_below[DOCKER_BELOW];
        char image[DOCKER_IMAGE]; /* an image that cay-docker was started with; "": the first */
        char owner[DOCKER_WORD], template_name[DOCKER_WORD]; /* labels; may be "" */
        uint32_t network;                                    /* enum docker_network */
        uint32_t port_count, volume_count;
        struct docker_port ports[DOCKER_PORTS_MAX]; /* with a bridge only */
        struct docker_volume volumes[DOCKER_VOLUMES_MAX];
        /* the caller's labels: name, NUL, value, NUL, …; an empty name ends them */
        char labels[DOCKER_LABELS];
        /* with CA: text that follows the host's certificates in the container's /etc/cay-ca.pem */
        char ca[DOCKER_CA];
};

struct docker_request {
        HELPER_REQUEST_HEAD;
        union {
                struct helper_hello hello;
                struct docker_plan plan;
                struct helper_box_id box;
                struct helper_list list;
                struct { /* image_build (descriptor: output for its lines), image_drop */
                        char name[DOCKER_WORD]; /* of the template; a front cannot say where its files are */
                        uint32_t flags;         /* enum docker_build_flags */
                } image;
                struct
                { /* volume_list: those behind the row of after_owner and name; volume_drop: that one */
                        char owner[DOCKER_WORD]; /* volume_list: "": of all owners */
                        char after_owner[DOCKER_WORD];
                        char name[CAY_NAME_MAX + 1];
                } volume;
        };
};

#define DOCKER_VOLUME_ROWS 16u /* of one page */

struct docker_volume_row {
        char owner[DOCKER_WORD], name[CAY_NAME_MAX + 1];
        int64_t created_s; /* 0: unknown */
};

struct docker_volume_page { /* in the order of owner and name */
        uint32_t count;
        uint32_t total; /* of this page and behind it */
        struct docker_volume_row rows[DOCKER_VOLUME_ROWS];
};

struct docker_stats {
        uint64_t memory_bytes, memory_peak_bytes, oom_kills, pids, cpu_us;
        uint64_t rx_bytes, tx_bytes; /* of its network, all but loopback */
};

struct docker_answer {
        HELPER_ANSWER_HEAD;
        union {
                struct helper_hello_answer hello;
                struct {
                        char id[CAY_NAME_MAX + 1];
                        uint32_t skipped; /* enum helper_limit */
                        uint32_t kept;
                        uint32_t port_count;
                        struct docker_port ports[DOCKER_PORTS_MAX]; /* host: the actual port */
                        struct docker_stats stats;
                } box;
                struct helper_list_answer list;
                struct {
                        uint32_t away;     /* Docker does not respond: `text` says why */
                        uint32_t can_hold; /* else: enum helper_limit */
                } daemon;
                struct {                        /* image_build, image_drop; image_list: the row `from` */
                        char name[DOCKER_WORD]; /* of the template; "": there are no more */
                        uint32_t state;         /* enum docker_image_state */
                        uint32_t up_to_date;    /* nothing had to be done */
                        uint32_t dropped;       /* images that went */
                        char id[DOCKER_IMAGE_ID], context[DOCKER_CONTEXT]; /* of the image; "": none */
                        uint64_t size_bytes;
                        int64_t built_s;
                        char step[HELPER_TEXT], error[HELPER_TEXT]; /* of the last build that failed */
                } image;
                struct docker_volume_page volumes; /* volume_list */
        };
};

#define DOCKER_IMAGE_LACKS                                                                                   \
        "*lacks*" /* as image.name of image_list: Docker has no image of the name in `error` */

extern const struct helper_protocol docker_protocol;
