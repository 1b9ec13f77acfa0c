/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Front ↔ cay-process: fixed-size messages over a SOCK_SEQPACKET socket, one request or answer each. Plain values only: which
 * program is started, where and as whom is not a front's to say; what it names is an id of ours, limits, and its end of a stream.
 * process_message.def is the policy. Every request is answered once, in any order (`seq` pairs them); box_gone comes unasked (seq 0).
 */
#pragma once

#include <stdint.h>

#include "foundation/base/id.h"

#define PROCESS_WIRE_VERSION 1u
#define PROCESS_WIRE_MAGIC 0x63617970u
#define PROCESS_FRONT_FD 3  /* where cay-process finds its end */
#define PROCESS_KEEPER_FD 4 /* who hands it one front after the other (struct wire_keeper); its end is ours */
#define PROCESS_SECRET 32
#define PROCESS_TEXT 256
#define PROCESS_WORKSPACE 64

enum process_state { PROCESS_FRESH = 1, PROCESS_READY = 2 };

enum process_type {
        PROCESS_NONE,
#define PROCESS_REQUEST(name, permitted, min, max) PROCESS_##name,
#include "links/helper/process_message.def"
#undef PROCESS_REQUEST
        PROCESS_TYPE_COUNT,
        PROCESS_box_gone = 100, /* answers only */
};

enum process_limit { /* bits: as every link calls them */
                     PROCESS_LIMIT_MEMORY = 1,
                     PROCESS_LIMIT_SWAP = 2,
                     PROCESS_LIMIT_CPUS = 4,
                     PROCESS_LIMIT_PIDS = 8,
                     PROCESS_LIMIT_DISK = 16,
                     PROCESS_LIMIT_INODES = 32,
};

struct process_plan { /* descriptor: init's end of the box link */
        char id[CAY_NAME_MAX + 1];
        uint32_t may_skip;  /* enum process_limit */
        uint32_t cpu_milli; /* 0: no limit, likewise below */
        uint64_t memory_bytes, swap_bytes, pids, disk_bytes, inodes;
        uint8_t secret[PROCESS_SECRET]; /* of the box link */
};

struct process_request {
        uint32_t magic, size;
        uint32_t type, seq;
        union {
                struct {
                        uint32_t version;
                } hello;
                struct process_plan plan;
                struct {
                        char id[CAY_NAME_MAX + 1];
                } box;
                struct {
                        uint32_t from; /* rows before this one have been told */
                } list;
        };
};

struct process_answer {
        uint32_t magic, size;
        uint32_t type, seq;
        uint32_t code; /* enum cay_code */
        int32_t sys;
        char text[PROCESS_TEXT];
        union {
                struct {
                        uint32_t version, can_hold; /* enum process_limit */
                } hello;
                struct {
                        char id[CAY_NAME_MAX + 1];
                        uint32_t skipped;                    /* box_make, box_link: enum process_limit */
                        char workspace[PROCESS_WORKSPACE];   /* likewise: the folder that commands start in */
                        uint64_t memory_bytes, pids, cpu_us; /* box_stat, box_drop */
                } box;
                struct {                           /* box_list: the first box at or behind `from` */
                        char id[CAY_NAME_MAX + 1]; /* "": there are no more */
                        uint32_t next, live;
                } list;
        };
};

/* Row of a request: 0 when type, size and descriptor count fit and it is permitted in `state`; -EPROTO. */
int process_request_check(const struct process_request *req, int64_t len, unsigned fds, unsigned state);
const char *process_request_name(unsigned type);
