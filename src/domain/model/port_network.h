/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Port: who decides what sandboxes may reach, and has their sockets (docs/network.md). An adapter embeds
 * struct cay_network_broker and finds itself by cay_container_of. The broker may end and be replaced at any
 * time: it then has no sandbox any more, and on_ready is told when the next one can be asked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/id.h"
#include "foundation/base/job.h"
#include "domain/model/limits.h"

#define CAY_NETWORK_LOG_MAX 500u /* entries that are kept of each sandbox */

struct cay_network_stats { /* of one sandbox, since its box was made */
        uint64_t up_bytes, down_bytes;
        uint64_t connections, connections_all, refused; /* now; since then; of these refused */
        uint64_t queries, queries_refused;
};

struct cay_network_entry { /* one query or connection */
        uint64_t number, wall_ms, connection;
        uint64_t up_bytes, down_bytes, duration_ms;
        const char *kind, *verdict; /* words; static */
        unsigned port;              /* 0: a name was asked for */
        char address[46];           /* "": none */
        char name[256], rule[320], why[200];
};

struct cay_network_log {                   /* filled by read_log; freed by whoever asked */
        uint64_t from;                     /* numbers from this one on; 0: the last `max` */
        unsigned max;                      /* at most CAY_NETWORK_LOG_MAX */
        struct cay_network_entry *entries; /* owned; oldest first */
        unsigned count;
};

struct cay_network_broker;

/* What is passed by pointer lives until the job is finished, unless it is said to be copied. */
struct cay_network_ops {
        /*
         * fd: where the sockets of the box have arrived (cay_engine_box.network_fd); taken. policy, and of
         * the limits those of networks: copied. -1: there are none, and connect_take is its only way out.
         * CAY_EXISTS: it is there already.
         */
        void (*add_take)(struct cay_network_broker *n, const char *id, int fd, const char *policy,
                         const struct cay_limits *limits, struct cay_job *job);
        /*
         * A stream to the proxy of one that was added without sockets; taken. If it cannot be served, it is
         * closed.
         */
        void (*connect_take)(struct cay_network_broker *n, const char *id, int fd);
        /*
         * Of one that is there: connections that are not allowed any more end. Both copied. CAY_NOT_FOUND.
         * CAY_CONFLICT: it lacks sockets for this policy: it is to be let go, and added with new ones.
         */
        void (*change)(struct cay_network_broker *n, const char *id, const char *policy,
                       const struct cay_limits *limits, struct cay_job *job);
        /*
         * What requests of the sandbox get (domain/network/secret_text.h); copied. After add_take; fine when
         * it is not there.
         */
        void (*set_secrets)(struct cay_network_broker *n, const char *id, const char *text, size_t len);
        void (*drop)(struct cay_network_broker *n, const char *id); /* fine when it is not there */
        /*
         * As drop, for one that will be added again: its sockets are closed when the job ends; its log's
         * numbers go on.
         */
        void (*let_go)(struct cay_network_broker *n, const char *id, struct cay_job *job);
        bool (*has)(struct cay_network_broker *n, const char *id);
        void (*each)(struct cay_network_broker *n, void (*each)(void *ctx, const char *id), void *ctx);
        void (*stats)(struct cay_network_broker *n, const char *id, struct cay_network_stats *ret,
                      struct cay_job *job);
        void (*read_log)(struct cay_network_broker *n, const char *id, struct cay_network_log *log,
                         struct cay_job *job);
        /*
         * Told each entry as it is written; entry may be NULL: nobody is told any more. What is told while
         * this process is busy may be missing.
         */
        void (*on_entry)(struct cay_network_broker *n,
                         void (*entry)(void *ctx, const char *id, const struct cay_network_entry *e),
                         void *ctx);
        bool (*is_ready)(struct cay_network_broker *n);
        /* Told each time a broker can be asked again; ready may be NULL: nobody is told any more. */
        void (*on_ready)(struct cay_network_broker *n, void (*ready)(void *ctx), void *ctx);
};

struct cay_network_broker {
        const struct cay_network_ops *ops;
};
