/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Front ↔ cay-docker: fixed-size messages over a SOCK_SEQPACKET socket, one request or answer each. Plain values only: a plan says
 * what kind of box is wanted, never how Docker is to be asked for it. docs/docker.md is the text, docker_message.def the
 * policy. Every request is answered once, in any order (`seq` pairs them); box_gone and daemon come unasked (seq 0).
 */
#pragma once

#include <stdint.h>

#include "links/helper/helper_message.h"

#define DOCKER_WIRE_VERSION 2u
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
        DOCKER_daemon
};

enum docker_plan_flags {
        DOCKER_PLAN_READ_ONLY = 1,
        DOCKER_PLAN_KEEP = 2,      /* `box_stop` leaves the container */
        DOCKER_PLAN_GO_ON = 4,     /* with KEEP: the container that an earlier box of this id left */
        DOCKER_PLAN_WORKSPACE = 8, /* workspace_root and workspace_below name it */
        DOCKER_PLAN_WORKSPACE_RW = 16,
        DOCKER_PLAN_BUILT =
                32, /* of the image that was built from the template's Dockerfile; `image` is "" */
        DOCKER_PLAN_NO_INIT =
                64, /* nothing goes into the container: it runs one command, which cay-docker stands in for */
        DOCKER_PLAN_ALL = 127,
};

enum docker_build_flags {
        DOCKER_BUILD_CANCEL = 1, /* ends when nobody reads its lines any more */
        DOCKER_BUILD_ANEW = 2,   /* also when nothing has changed, and without Docker's cache */
        DOCKER_BUILD_ALL = 3,
};

enum docker_image_state {
        DOCKER_IMAGE_NONE,
        DOCKER_IMAGE_BUILDING,
        DOCKER_IMAGE_BUILT,
        DOCKER_IMAGE_STALE, /* its files are others by now */
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

enum docker_network {
        DOCKER_NETWORK_NONE,   /* loopback alone */
        DOCKER_NETWORK_BRIDGE, /* one of its own, with a way out; made and removed with the box */
        DOCKER_NETWORK_COUNT
};

struct docker_port {           /* TCP, on the Docker host's loopback */
        uint16_t inside, host; /* host in a plan: the one that is wished for, 0: any that is free */
};

struct docker_volume { /* one of the owner's: made where there is none, and left when the box goes */
        char name[CAY_NAME_MAX + 1];
        char target[DOCKER_TARGET]; /* where it is seen */
        uint32_t read_only;
};

#define DOCKER_ROOT_CALLER                                                                                   \
        0xffffffffu /* workspace_below is below /: for who started cay-docker without a keeper, with their own rights */

struct docker_plan { /* descriptor: the link stream */
        char id[CAY_NAME_MAX + 1];
        uint32_t flags;
        uint32_t may_skip;  /* enum helper_limit */
        uint32_t test_off;  /* layers.def; test builds */
        uint32_t cpu_milli; /* 0: no limit, likewise below */
        uint64_t memory_bytes, swap_bytes, pids, disk_bytes, inodes;
        uint8_t secret[HELPER_SECRET]; /* of the box link */
        uint32_t workspace_root; /* one of those cay-docker was started with, from 0; or DOCKER_ROOT_CALLER */
        char workspace_below[DOCKER_BELOW];
        char image[DOCKER_IMAGE]; /* one of those cay-docker was started with; "": the first */
        char owner[DOCKER_WORD], template_name[DOCKER_WORD]; /* labels; may be "" */
        uint32_t network;                                    /* enum docker_network */
        uint32_t port_count, volume_count;
        struct docker_port ports[DOCKER_PORTS_MAX]; /* with a bridge only */
        struct docker_volume volumes[DOCKER_VOLUMES_MAX];
        char labels[DOCKER_LABELS]; /* the caller's: name, NUL, value, NUL, …; a name that is "" ends them */
};

struct docker_request {
        HELPER_REQUEST_HEAD;
        union {
                struct helper_hello hello;
                struct docker_plan plan;
                struct helper_box_id box;
                struct helper_list list;
                struct { /* image_build (descriptor: where lines go), image_drop */
                        char name
                                [DOCKER_WORD]; /* of the template: where its files are is not a front's to say */
                        uint32_t flags;        /* enum docker_build_flags */
                } image;
        };
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
                        struct docker_port ports[DOCKER_PORTS_MAX]; /* host: as it is */
                        struct docker_stats stats;
                } box;
                struct helper_list_answer list;
                struct {
                        uint32_t away;     /* Docker does not answer: `text` says why */
                        uint32_t can_hold; /* else: enum helper_limit */
                } daemon;
                struct {                        /* image_build, image_drop; image_list: the row `from` */
                        char name[DOCKER_WORD]; /* of the template; "": there are no more */
                        uint32_t state;         /* enum docker_image_state */
                        uint32_t up_to_date;    /* nothing was to be done */
                        uint32_t dropped;       /* images that went */
                        char id[DOCKER_IMAGE_ID], context[DOCKER_CONTEXT]; /* of the image; "": none */
                        uint64_t size_bytes;
                        int64_t built_s;
                        char step[HELPER_TEXT], error[HELPER_TEXT]; /* of the last build that failed */
                } image;
        };
};

#define DOCKER_IMAGE_LACKS                                                                                   \
        "*lacks*" /* as image.name of image_list: Docker has no image by the name in `error` */

extern const struct helper_protocol docker_protocol;
