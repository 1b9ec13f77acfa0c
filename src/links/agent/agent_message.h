/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The link between a daemon and an agent (`cay agent`) on a user's machine, as messages in flat memory: a
 * head of 8 bytes (type, three zeros, number) and a payload, little-endian, each message one binary message
 * of a WebSocket. Both ends count as hostile to the other. The format and the proofs are described in
 * docs/agent-link.md.
 */
#pragma once

#include "foundation/base/bytes.h"
#include "foundation/base/error.h"
#include "foundation/base/id.h"

#define AGENT_VERSION 2u /* a HELLO of a later version begins with the fields of this one; more may follow */
#define AGENT_PATH "/agent"
#define AGENT_HEAD 8u
#define AGENT_DATA_MAX (64u * 1024)
#define AGENT_MAX (AGENT_HEAD + AGENT_DATA_MAX)
#define AGENT_SMALL_MAX 2048u /* of every message but DATA, with its head */
#define AGENT_KEY 32
#define AGENT_NONCE 32
#define AGENT_SIGNATURE 64
#define AGENT_MAC 32
#define AGENT_CODE_ID 5 /* characters of a pairing code that only find it */
#define AGENT_SECRET 32
#define AGENT_TEXT_MAX 255
#define AGENT_ABOUT_MAX 127
#define AGENT_FOLDER_MAX 1023 /* bytes of a path */
#define AGENT_WORKSPACE_MAX 255

enum agent_side { AGENT_AGENT = 1, AGENT_DAEMON = 2, AGENT_BOTH = 3 };

enum agent_type {
        AGENT_NONE,
#define AGENT_MESSAGE(name, from, number, min, max) AGENT_##name,
#include "links/agent/agent_messages.def"
#undef AGENT_MESSAGE
        AGENT_TYPE_COUNT
};

enum agent_what {
        AGENT_ASK_NONE,
#define AGENT_ASK(name, plan, channel) AGENT_ASK_##name,
#include "links/agent/agent_asks.def"
#undef AGENT_ASK
        AGENT_ASK_COUNT
};

struct agent_hello {
        uint16_t version;                /* the newest that it speaks */
        char name[CAY_NAME_MAX + 1];     /* "": as the daemon calls it */
        char code_id[AGENT_CODE_ID + 1]; /* it wants to be paired; "": it was */
        uint8_t key[AGENT_KEY];          /* public */
        uint8_t nonce[AGENT_NONCE];
        char about[AGENT_ABOUT_MAX + 1]; /* for people: "Linux 6.1 x86_64, cay 0.9" */
};

struct agent_challenge {
        uint16_t version; /* that is spoken from now on */
        uint8_t key[AGENT_KEY];
        uint8_t nonce[AGENT_NONCE];
        uint8_t signature[AGENT_SIGNATURE];
        uint8_t mac[AGENT_MAC]; /* pairing: by the code; else random */
};

struct agent_proof {
        uint8_t signature[AGENT_SIGNATURE];
        uint8_t mac[AGENT_MAC];
};

struct agent_welcome {
        uint32_t heartbeat_ms; /* how often the daemon sends PING */
        char name[CAY_NAME_MAX + 1];
};

struct agent_refused {
        uint8_t code; /* enum cay_code */
        char text[AGENT_TEXT_MAX + 1];
};

struct agent_ready {
        uint32_t can_hold; /* enum agent_limit */
        uint8_t is_open;   /* commands run without isolation, as its user */
};

struct agent_plan {
        uint8_t secret[AGENT_SECRET]; /* of the box link */
        uint8_t read_only, host_plain, one_shot;
        uint32_t may_skip; /* enum agent_limit */
        uint64_t memory_bytes, swap_bytes, cpu_milli, pids, disk_bytes, inodes;
        uint8_t mode;                      /* of the folder: enum agent_mode */
        char folder[AGENT_FOLDER_MAX + 1]; /* of that machine, for the workspace; "": none */
};

struct agent_ask {
        uint8_t what; /* enum agent_what */
        char id[CAY_NAME_MAX + 1];
        uint32_t channel; /* of the box's link; 0 where there is none */
        struct agent_plan plan;
};

struct agent_answer {
        uint8_t code; /* enum cay_code; all below the text is zero where it is not CAY_OK */
        char text[AGENT_TEXT_MAX + 1];
        uint32_t skipped, watched; /* enum agent_limit */
        uint64_t memory_bytes, memory_peak_bytes, oom_kills, pids, pids_refused, cpu_us;
        uint8_t is_open;                         /* make, link: its commands are not isolated */
        char workspace[AGENT_WORKSPACE_MAX + 1]; /* make, link: where it is, for commands; "": /workspace */
};

struct agent_message {
        enum agent_type type;
        uint32_t number;
        union {
                struct agent_hello hello;
                struct agent_challenge challenge;
                struct agent_proof proof;
                struct agent_welcome welcome;
                struct agent_refused refused;
                char id[CAY_NAME_MAX + 1]; /* box, gone */
                struct agent_ready ready;
                uint64_t token; /* ping, pong */
                struct agent_ask ask;
                struct agent_answer answer;
                uint32_t credit;
                struct cay_view data; /* points into the message that was read */
        };
};

enum agent_mode { AGENT_MODE_RO, AGENT_MODE_RW, AGENT_MODE_COW, AGENT_MODE_COUNT };

/* Limits by their bits on the wire. */
enum agent_limit {
        AGENT_LIMIT_MEMORY = 1,
        AGENT_LIMIT_SWAP = 2,
        AGENT_LIMIT_CPUS = 4,
        AGENT_LIMIT_PIDS = 8,
        AGENT_LIMIT_DISK = 16,
        AGENT_LIMIT_INODES = 32,
};

/*
 * Returns the message's length, or -EINVAL: it does not fit its row (a text too long). DATA is written
 * without its bytes.
 */
int agent_message_write(const struct agent_message *m, uint8_t *ret, size_t size);
/*
 * from: who sent it. 0 or -EPROTO. Texts are valid UTF-8 without control characters, ids and names valid,
 * codes and bits known.
 */
int agent_message_read(const void *bytes, size_t len, enum agent_side from, struct agent_message *ret);
bool agent_ask_has_channel(enum agent_what what);
/* UTF-8 that a person can be shown: no control characters, none that changes the direction of text. */
bool agent_text_is_plain(const char *text, size_t len);
/* A text that may be sent: cut to its maximum, with a question mark for what may not be in it. */
void agent_text_set(char ret[AGENT_TEXT_MAX + 1], const char *text);
