/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Front ↔ cay-process: fixed-size messages over a SOCK_SEQPACKET socket, one request or answer each. Plain
 * values only: a front names an id, limits and its end of a stream. It cannot choose the program, its folder
 * or its user. process_message.def is the policy. Every request is answered once, in any order (`seq` pairs
 * them). box_gone is unsolicited (seq 0).
 */
#pragma once

#include <stdint.h>

#include "links/helper/helper_message.h"

#define PROCESS_WIRE_VERSION 1u
#define PROCESS_WIRE_MAGIC 0x63617970u
#define PROCESS_WORKSPACE 64

enum process_type {
        PROCESS_NONE,
#define HELPER_REQUEST(name, permitted, min, max) PROCESS_##name,
#include "links/helper/process_message.def"
#undef HELPER_REQUEST
        PROCESS_TYPE_COUNT,
        PROCESS_box_gone = 100, /* answers only */
};

struct process_plan { /* descriptor: init's end of the box link */
        char id[CAY_NAME_MAX + 1];
        uint32_t may_skip;  /* enum helper_limit */
        uint32_t cpu_milli; /* 0: no limit, likewise below */
        uint64_t memory_bytes, swap_bytes, pids, disk_bytes, inodes;
        uint8_t secret[HELPER_SECRET]; /* of the box link */
};

struct process_request {
        HELPER_REQUEST_HEAD;
        union {
                struct helper_hello hello;
                struct process_plan plan;
                struct helper_box_id box;
                struct helper_list list;
        };
};

struct process_answer {
        HELPER_ANSWER_HEAD;
        union {
                struct helper_hello_answer hello;
                struct {
                        char id[CAY_NAME_MAX + 1];
                        uint32_t skipped; /* box_make, box_link: enum helper_limit */
                        /* likewise: the folder in which commands start */
                        char workspace[PROCESS_WORKSPACE];
                        uint64_t memory_bytes, pids, cpu_us; /* box_stat, box_drop */
                } box;
                struct helper_list_answer list;
        };
};

extern const struct helper_protocol process_protocol;
