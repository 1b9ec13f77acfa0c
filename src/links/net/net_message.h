/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Front ↔ cay-net: fixed-size messages over a SOCK_SEQPACKET socket, one request or answer each. Plain values
 * and descriptors; net_message.def is the policy. Every request is answered once, in order (`seq` pairs
 * them). Log entries are unsolicited (seq 0).
 *
 * A policy is longer than a message: it is passed as a sealed memfd (NET_POLICY_SEALS), or as the bytes in a
 * stream socket whose other end is closed (a daemon's front may not create memfds), with the text that
 * domain/network/policy_text.h describes. The sockets of a box are those of sys_divert_set_up
 * (foundation/sys/net_divert.h).
 *
 * dial is for the daemon itself, which may open no socket: a connection to the agent of a user's machine. It
 * is answered at once; the outcome comes later, over the socket that was passed with it. Whoever closes the
 * other end of that socket does not want it any more.
 *
 * Log entries have numbers per sandbox, from 1 and without gaps. cay-net keeps the latest entries of each
 * sandbox and sends each new one to the current front. A front that finds a gap, or that is new, requests
 * missing entries with log_read.
 */
#pragma once

#include <stdint.h>

#include "links/helper/helper_message.h"

#define NET_WIRE_VERSION 2u
#define NET_WIRE_MAGIC 0x6361796eu
#define NET_BOXES_MAX 1024u    /* sandboxes at once */
#define NET_LOG_MAX 500u       /* entries kept per sandbox */
#define NET_POLICY_MAX 262144u /* bytes of a policy's text */
#define NET_NAME 256           /* of a host, with its NUL */
#define NET_RULE 320
#define NET_WHY 200
/* F_ADD_SEALS of the policy's memfd. */
#define NET_POLICY_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

enum net_type {
        NET_NONE,
#define NET_REQUEST(name, permitted, min, max) NET_##name,
#include "links/net/net_message.def"
#undef NET_REQUEST
        NET_TYPE_COUNT,
        NET_log = 100, /* answers only: a new entry */
};

/* order in box_add: struct sys_divert_sockets with up to NET_DIALS_MAX dials, then the policy */
enum net_fd {
        NET_FD_TCP,
        NET_FD_DNS_UDP,
        NET_FD_DNS_TCP,
        NET_FD_UDP,
        NET_FD_RAW4,
        NET_FD_RAW6,
        NET_FD_REFUSED,
        NET_FD_DIALS
};
#define NET_DIALS_MAX 32u

struct net_limits { /* of one sandbox. 0: no limit for bytes, the default for the others */
        uint64_t up_bytes_s, down_bytes_s; /* up: from the sandbox to the outside */
        uint64_t total_bytes;              /* both ways together, since the sandbox was made */
        uint32_t connections;              /* at once */
        uint32_t connections_s;
        uint32_t dns_s; /* queries */
        /* until a flow of datagrams that nobody answered is over; four times that with an answer */
        uint32_t udp_idle_s;
};

struct net_box_request { /* box_add, box_policy; the others read `id` alone */
        char id[CAY_NAME_MAX + 1];
        struct net_limits limits;
        /*
         * box_add: what it has already used and logged under an earlier cay-net. Counters and numbers
         * continue from there.
         */
        uint64_t up_bytes, down_bytes, log_next;
};

struct net_dial_request {
        char host[NET_NAME];  /* a name or an address */
        uint32_t port;        /* 1 to 65535 */
        uint32_t may_private; /* 0: public addresses that are not this host's; 1: any */
};

#define NET_DIALLED_MAGIC 0x63617964u

struct net_dialled { /* with the connected TCP socket where the code is CAY_OK */
        uint32_t magic, size;
        uint32_t code;      /* enum cay_code */
        char text[NET_WHY]; /* why not, for people; names no address behind a name */
};

struct net_request {
        HELPER_REQUEST_HEAD;
        union {
                struct {
                        uint32_t version;
                } hello;
                struct net_box_request box;
                struct net_dial_request dial;
                struct {
                        uint32_t from; /* first row to return */
                } list;
                struct {
                        char id[CAY_NAME_MAX + 1];
                        uint64_t from; /* return entries with this number or a higher one */
                } log;
        };
};

enum net_log_kind { NET_LOG_DNS = 1, NET_LOG_TCP, NET_LOG_TLS, NET_LOG_UDP, NET_LOG_QUOTA };

enum net_log_verdict {
        NET_LOG_ALLOWED = 1, /* a name was resolved, or a connection was established */
        NET_LOG_REFUSED,     /* by policy or limit; `why` says which */
        NET_LOG_FAILED,      /* it was allowed, but the destination could not be reached */
        NET_LOG_ENDED,       /* a connection that was allowed is over: bytes and duration are known */
};

struct net_log_entry {
        uint64_t number;     /* 0: none */
        uint64_t wall_ms;    /* since 1970 */
        uint64_t connection; /* the same in ALLOWED and ENDED; 0 for names */
        uint64_t up_bytes, down_bytes, duration_ms;
        uint32_t kind, verdict;
        uint32_t port;       /* 0: a name lookup */
        uint8_t address[16]; /* as struct cay_address; all 0: none */
        char name[NET_NAME]; /* "": the request was for an address */
        char rule[NET_RULE]; /* as written; "": none decided */
        char why[NET_WHY];   /* REFUSED, FAILED and ENDED: in words, for people */
};

struct net_answer {
        HELPER_ANSWER_HEAD;
        char id[CAY_NAME_MAX + 1]; /* of the sandbox; "" in box_list: there are no more */
        union {
                struct {
                        uint32_t version;
                } hello;
                struct {
                        uint32_t next; /* `from` of the next request */
                } list;
                struct {
                        uint64_t up_bytes, down_bytes;
                        uint64_t connections, connections_all, refused; /* all: since it was added */
                        uint64_t queries, queries_refused;
                        /* numbers of entries available to log_read, from first to next - 1 */
                        uint64_t log_first, log_next;
                        uint32_t is_over_quota;
                } stats;
                struct net_log_entry log; /* log_read, log */
        };
};

extern const struct helper_protocol net_protocol;

/*
 * After helper_request_check: -EPROTO when a request that names a sandbox has no id in it, or dial no host,
 * port or flag.
 */
int net_request_check_id(const struct net_request *req);
