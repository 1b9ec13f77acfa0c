/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Front ↔ warden: fixed-size messages over a SOCK_SEQPACKET socketpair, one request or answer each, descriptors beside
 * them. Plain values only. docs/warden-link.md is the text; requests.def the policy. Every request is answered once, in
 * any order (`seq` pairs them); `box_gone` comes unasked (seq 0).
 */
#pragma once

#include <stdint.h>

#include "base/id.h"
#include "wire/steps.h"

#define WIRE_VERSION 1u
#define WIRE_MAGIC 0x63617977u
#define WIRE_WARDEN_FD 3 /* where cay-warden finds its end */
#define WIRE_KEEPER_FD 4 /* started as "cay-warden keep": who hands it one front after the other */
#define WIRE_SECRET 32
#define WIRE_TEXT 256

enum wire_state { WIRE_FRESH = 1, WIRE_READY = 2 };

enum wire_type {
        WIRE_NONE,
#define CAY_REQUEST(name, permitted, min, max) WIRE_##name,
#include "wire/requests.def"
#undef CAY_REQUEST
        WIRE_TYPE_COUNT,
        WIRE_box_gone = 100 /* answer only */
};

enum wire_hello_flags {
        WIRE_HELLO_SINGLE = 1, /* one box and no more: the warden ends with it, without being told */
};

enum wire_limit { /* bits: limits that the warden holds or refuses */
                  WIRE_LIMIT_MEMORY = 1,
                  WIRE_LIMIT_SWAP = 2,
                  WIRE_LIMIT_CPUS = 4,
                  WIRE_LIMIT_PIDS = 8,
                  WIRE_LIMIT_DISK = 16,
                  WIRE_LIMIT_INODES = 32,
                  WIRE_LIMIT_WATCHABLE =
                          15, /* what cay-init can hold by watching: memory, swap, cpus, pids */
};

enum wire_plan_flags {
        WIRE_PLAN_ROOTFS = 1,    /* a rootfs descriptor comes second */
        WIRE_PLAN_WORKSPACE = 2, /* a workspace descriptor comes last */
        WIRE_PLAN_WORKSPACE_RW = 4,
        WIRE_PLAN_READ_ONLY = 8,
        WIRE_PLAN_ONE_SHOT = 16,
        WIRE_PLAN_HOST_PLAIN = 32, /* nobody in it may write to the host's trees anyway: no layer over them */
        WIRE_PLAN_WORKSPACE_COW =
                64, /* the workspace is the lower half of an overlay: what is written stays in the box's layer */
        WIRE_PLAN_ALL = 127,
};

struct wire_plan { /* descriptors: link stream for init, [rootfs], [workspace] */
        char id[CAY_NAME_MAX + 1];
        uint32_t flags;
        uint32_t may_skip;  /* enum wire_limit */
        uint32_t test_off;  /* layers.def; test builds */
        uint32_t cpu_milli; /* 0: no limit, likewise below */
        uint64_t memory_bytes, swap_bytes, pids, disk_bytes, inodes;
        uint8_t secret[WIRE_SECRET]; /* of the box link */
};

struct wire_request {
        uint32_t magic, size;
        uint32_t type, seq;
        union {
                struct {
                        uint32_t version, flags;
                } hello;
                struct wire_plan plan;
                struct {
                        char id[CAY_NAME_MAX + 1];
                } box;
                struct {
                        uint32_t from; /* rows before this one have been told */
                } list;
        };
};

/* From the keeper, with one descriptor: the link to the next front. The one before is hung up on; its boxes stay. */
struct wire_front {
        uint32_t magic, size;
};

struct wire_stats {
        uint64_t memory_bytes, memory_peak_bytes, oom_kills, pids, pids_refused, cpu_us;
};

struct wire_answer {
        uint32_t magic, size;
        uint32_t type, seq;
        uint32_t code; /* enum cay_code */
        int32_t sys;
        char text[WIRE_TEXT];
        union {
                struct {
                        uint32_t version, can_hold,
                                watched; /* enum wire_limit; watched: by cay-init, a part of can_hold */
                } hello;
                struct {
                        char id[CAY_NAME_MAX + 1];
                        uint32_t skipped; /* enum wire_limit */
                        struct wire_stats stats;
                } box;
                struct {                           /* box_list: the first box at or behind `from` */
                        char id[CAY_NAME_MAX + 1]; /* "": there are no more */
                        uint32_t next;             /* to ask from for the one behind it */
                        uint32_t live;             /* cay-init runs; 0: on its way, or over and not dropped */
                } list;
                struct cay_steps trace;
        };
};

/* Row of a request: 0 when type, size and descriptor count fit and it is permitted in `state`; -EPROTO. */
int wire_request_check(const struct wire_request *req, int64_t len, unsigned fds, unsigned state);
const char *wire_request_name(unsigned type);
