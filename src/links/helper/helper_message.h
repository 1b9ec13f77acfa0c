/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every link between a front and a helper program has in common: fixed-size messages over a
 * SOCK_SEQPACKET socket, one request or answer each, with descriptors by SCM_RIGHTS. Plain values only. Every
 * request is answered once, in any order (`seq` pairs them). Unsolicited messages have seq 0.
 *
 * A helper's own header adds its requests: a .def with one policy row each, structs that begin with the heads
 * below, and a struct helper_protocol, so that one check serves all helpers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "foundation/base/error.h"
#include "foundation/base/id.h"

#define HELPER_FRONT_FD 3 /* descriptor of a helper's end of the first front's link */
/* in a daemon: socket on which the keeper passes one front after the other (keeper_message.h) */
#define HELPER_KEEPER_FD 4
#define HELPER_SECRET 32 /* of the box link */
#define HELPER_TEXT 256

/* state of a front's link: before and after its hello */
enum helper_state { HELPER_FRESH = 1, HELPER_READY = 2 };

/*
 * The head of every request and every answer. Macros, so that a helper's structs have these as direct
 * members.
 */
#define HELPER_REQUEST_HEAD                                                                                  \
        uint32_t magic, size;                                                                                \
        uint32_t type, seq
#define HELPER_ANSWER_HEAD                                                                                   \
        HELPER_REQUEST_HEAD;                                                                                 \
        uint32_t code; /* enum cay_code */                                                                   \
        int32_t sys;   /* errno */                                                                           \
        char text[HELPER_TEXT]

struct helper_request_head {
        HELPER_REQUEST_HEAD;
};

struct helper_answer_head {
        HELPER_ANSWER_HEAD;
};

_Static_assert(sizeof(struct helper_request_head) % 8 == 0 && sizeof(struct helper_answer_head) % 8 == 0,
               "what follows a head lies at the same place in every helper's messages");

/* Bodies that helpers share; each is a member of the union after the head. */

struct helper_hello {
        uint32_t version, flags;
};

struct helper_hello_answer {
        uint32_t version, can_hold; /* enum helper_limit */
        uint32_t watched;           /* the part of can_hold that cay-init enforces */
        uint32_t can_keep;          /* layers may outlive their box */
};

struct helper_box_id { /* also the beginning of every answer about a box */
        char id[CAY_NAME_MAX + 1];
};

struct helper_list {
        uint32_t from; /* first row to return */
};

struct helper_list_answer {        /* the first box at or after `from` */
        char id[CAY_NAME_MAX + 1]; /* "": there are no more */
        uint32_t next;             /* `from` of the next request */
        uint32_t live;             /* it runs; 0: starting, ended and not dropped, or kept and stopped */
        uint32_t kept;
};

enum helper_limit { /* bits: limits that a helper enforces, or refuses */
                    HELPER_LIMIT_MEMORY = 1,
                    HELPER_LIMIT_SWAP = 2,
                    HELPER_LIMIT_CPUS = 4,
                    HELPER_LIMIT_PIDS = 8,
                    HELPER_LIMIT_DISK = 16,
                    HELPER_LIMIT_INODES = 32,
                    HELPER_LIMIT_WATCHABLE = 15, /* limits that cay-init can enforce by watching */
                    HELPER_LIMIT_ALL = 63,
};

struct helper_request_row {
        const char *name; /* NULL: no such request */
        unsigned permitted;
        unsigned fds_min, fds_max;
};

struct helper_protocol {
        const char *who; /* in messages */
        uint32_t magic, version;
        size_t request_size, answer_size;
        const struct helper_request_row *rows; /* by type; 0 is none */
        unsigned row_count;
};

/* A row for HELPER_REQUEST of a helper's .def; PREFIX is the prefix of its type names. */
#define HELPER_REQUEST_ROW(PREFIX, request, permitted, min, max)                                             \
        [PREFIX##request] = { #request, permitted, min, max },

/*
 * 0 when size, type and descriptor count are correct and the request is permitted in `state`; else -EPROTO.
 */
int helper_request_check(const struct helper_protocol *p, const void *request, int64_t len, unsigned fds,
                         unsigned state);
const char *helper_request_name(const struct helper_protocol *p, unsigned type); /* "?": none */
/* -EPROTO: these bytes are not an answer of this helper. */
int helper_answer_check(const struct helper_protocol *p, const void *answer, int64_t len);
/* The caller's hello has another version: CAY_INVALID. */
int helper_hello_check(const struct helper_protocol *p, uint32_t version, struct cay_error *err);
/* Fill an answer: the error, and magic and size before it is sent. `answer` begins with an answer's head. */
void helper_answer_put_error(void *answer, const struct cay_error *err);
void helper_answer_seal(const struct helper_protocol *p, void *answer);
