/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Port: the daemon's persistent state. An adapter embeds struct cay_store and finds itself by
 * cay_container_of.
 *
 * Theory of operation. Changes are collected in a batch and committed whole or not at all; the commit's job
 * is finished when they are stored, so what is answered after that survives the death of the daemon. put
 * copies records: the caller may change its own immediately. Words (state, cause, kind) and JSON texts
 * (labels, argv…) are opaque here. Reads are jobs too and see every commit that was finished before they were
 * started. Nothing but open, load and close blocks.
 *
 * Time. Deadlines are kept in the store's own time (`now_ms`): it grows with the machine's monotonic clock,
 * continues where it stopped when the daemon restarts, and is independent of changes of the wall clock.
 * Members named *_wall_ms are for people.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/arena.h"
#include "foundation/base/id.h"
#include "foundation/base/job.h"
#include "domain/model/limits.h"

#define CAY_STORE_SECRET 32
#define CAY_STORE_HASH 32
#define CAY_STORE_TEXT_MAX (256u * 1024)   /* of one text of a record */
#define CAY_STORE_BATCH_MAX (1024u * 1024) /* of a batch, all told */
#define CAY_STORE_ROWS_MAX 1000            /* of one query */
#define CAY_STORE_CLAIMS_MAX 100000
/*
 * Values with this prefix guarantee that the disk has nothing without a record. A store that was restored
 * from an older state drops them.
 */
#define CAY_STORE_FILES_KNOWN "files_known."
#define CAY_STORE_CLAIM_MS (24ull * 3600 * 1000)
#define CAY_STORE_EVENTS_MAX 100000
#define CAY_STORE_EVENT_MS (30ull * 24 * 3600 * 1000)
#define CAY_STORE_EXECS_MAX 1000 /* ended ones that are kept of a sandbox */
#define CAY_STORE_KEYS_MAX 10000

/* Texts are borrowed for the call; NULL is stored as "". What a query gives belongs to the query. */
struct cay_store_sandbox {
        const char *id, *name, *owner, *template_name, *engine;
        const char *labels, *metadata; /* JSON objects */
        const char *env;               /* JSON object; may hold secrets: never shown, never logged */
        const char *spec;              /* JSON object: its other parameters */
        const char *state, *cause;     /* words */
        const char *cause_text;
        struct cay_limits limits;
        uint64_t created_wall_ms, started_wall_ms, changed_wall_ms;
        uint64_t expires_ms;              /* store time; 0: no expiry */
        uint64_t idle_ms;                 /* maximum idle time; 0: unlimited */
        uint64_t used_ms;                 /* store time of its last use */
        uint8_t secret[CAY_STORE_SECRET]; /* of the box link */
};

struct cay_store_exec {
        const char *id, *sandbox;
        const char *argv; /* JSON array */
        const char *spec; /* JSON object: cwd, env, user… */
        const char *state, *cause, *cause_text;
        uint64_t channel; /* of the box link: used to find it again */
        uint64_t started_wall_ms, ended_wall_ms;
        uint64_t deadline_ms;              /* store time; 0: none */
        uint64_t output_first, output_end; /* offsets: oldest byte kept, next byte to come */
        int64_t exit_code;                 /* -1: none */
        uint64_t signal;
};

struct cay_store_snapshot { /* files of a sandbox as they were; the engine keeps them under the same id */
        const char *id, *name, *owner;
        const char *sandbox; /* of which it was made; may be gone */
        const char *template_name, *engine;
        const char *env;  /* JSON object; may hold secrets: never shown, never logged */
        const char *spec; /* JSON object: its other parameters */
        struct cay_limits limits;
        uint64_t created_wall_ms;
        uint64_t expires_ms; /* store time; 0: no expiry */
        uint64_t bytes, added;
        uint64_t step;    /* of its sandbox, from 1; 0: it is no step */
        const char *note; /* a step: what came after it */
};

/* A single-use id: the first claim of (owner, key) gets it, later ones get the first one's result. */
struct cay_store_claim {
        const char *owner, *key;
        const char *result;  /* id of what was made */
        uint64_t created_ms; /* set by the store */
};

struct cay_store_key { /* a long-lived API key; the key itself is not stored */
        const char *id, *owner, *label;
        uint64_t scopes;
        uint64_t created_wall_ms, used_wall_ms;
        uint64_t revoked_wall_ms; /* 0: valid */
        uint8_t hash[CAY_STORE_HASH];
};

struct cay_store_event {
        uint64_t seq;                /* set by the store: grows, never repeats */
        const char *sandbox, *owner; /* "" when it concerns none */
        const char *kind;            /* word */
        const char *detail;          /* JSON object */
        uint64_t wall_ms;
        uint64_t at_ms; /* set by the store: store time */
        /*
         * Set by the store: the chain of its sandbox's events (domain/auth/journal_chain.h). Zeros: the event
         * is from before there was one, or a note of the store about its own repair.
         */
        uint8_t before[CAY_STORE_HASH], hash[CAY_STORE_HASH];
};

struct cay_store_value { /* small facts of the daemon itself: node, epoch… */
        const char *name, *value;
};

enum cay_store_kind {
        CAY_STORE_SANDBOX,
        CAY_STORE_EXEC,
        CAY_STORE_CLAIM,
        CAY_STORE_KEY,
        CAY_STORE_EVENT,
        CAY_STORE_VALUE,
        CAY_STORE_SNAPSHOT,
        CAY_STORE_KIND_COUNT
};

enum cay_store_how {
        CAY_STORE_FAST, /* survives the daemon's death; a power cut may lose the last moment */
        CAY_STORE_SURE, /* survives a power cut: revoked keys */
};

/* Filled by the caller's side; read when the job is done. */
struct cay_store_commit {
        struct cay_job job;
        char first[CAY_NAME_MAX + 1]; /* after CAY_EXISTS: the result of the first claim */
        uint64_t seq;                 /* of the last event added, 0: none was */
};

/*
 * Filters that are NULL or 0 do not filter. Rows come by the kind's order (claims and execs by time, events
 * by seq).
 */
struct cay_store_query {
        struct cay_job job;
        enum cay_store_kind kind;
        const char *id; /* of the record; a claim's key, an event's kind; borrowed until the job is done */
        const char *sandbox, *owner; /* for kinds that have them; borrowed */
        uint64_t after, before;      /* events: seq; execs: started_wall_ms; both exclusive */
        bool newest_first;
        unsigned max; /* 0 or more than CAY_STORE_ROWS_MAX: that many */
        /* filled */
        struct cay_arena mem; /* owned by the query: cay_store_query_done */
        const void **rows;    /* struct cay_store_<kind> each */
        unsigned count;
};

struct cay_store_health {
        unsigned queued; /* batches waiting */
        bool is_full;    /* the last commit failed for want of space */
        /* a commit found damage in the database; a restart repairs what is possible */
        bool is_damaged;
        uint64_t commits, groups; /* batches committed, and in how many transactions */
        uint64_t worst_us;        /* the longest transaction */
        uint64_t file_bytes;      /* database and log */
};

struct cay_store;
struct cay_store_batch;

struct cay_store_ops {
        /* NULL: no memory; put, drop and commit accept that and the commit fails. */
        struct cay_store_batch *(*begin)(struct cay_store *s);
        /*
         * Inserts or replaces (by id; a claim: see there; an event: always new). A failure is reported by the
         * commit.
         */
        void (*put)(struct cay_store_batch *b, enum cay_store_kind kind, const void *record);
        /*
         * Removes; an absent id is allowed. A sandbox is removed with its execs. Not for claims and events,
         * which expire by age.
         */
        void (*drop)(struct cay_store_batch *b, enum cay_store_kind kind, const char *id);
        void (*abandon)(struct cay_store_batch *b); /* instead of commit; accepts NULL */
        /*
         * Consumes b. CAY_EXISTS: a claim was taken before, nothing is stored; CAY_NO_SPACE: the disk is
         * full, nothing is stored (a batch that drops something may use the reserve); CAY_LIMIT: too many are
         * pending, or a text or the batch is too long; CAY_UNAVAILABLE: the store is closing.
         */
        void (*commit)(struct cay_store *s, struct cay_store_batch *b, enum cay_store_how how,
                       struct cay_store_commit *c);
        void (*query)(struct cay_store *s, struct cay_store_query *q);
        /* All records of a kind, in order; blocks, for start-up. `each` returns false to stop. */
        int (*load)(struct cay_store *s, enum cay_store_kind kind,
                    bool (*each)(void *ctx, const void *record), void *ctx, struct cay_error *err);
        uint64_t (*now_ms)(const struct cay_store *s);
        void (*health)(struct cay_store *s, struct cay_store_health *ret);
        /*
         * Accepts NULL. Earlier commits are stored first; their jobs are finished and reported at the next
         * drain.
         */
        void (*close)(struct cay_store *s);
};

struct cay_store {
        const struct cay_store_ops *ops;
};

/* Typed wrappers of put and drop. */
static inline void cay_store_put_sandbox(struct cay_store *s, struct cay_store_batch *b,
                                         const struct cay_store_sandbox *record)
{
        s->ops->put(b, CAY_STORE_SANDBOX, record);
}

static inline void cay_store_put_exec(struct cay_store *s, struct cay_store_batch *b,
                                      const struct cay_store_exec *record)
{
        s->ops->put(b, CAY_STORE_EXEC, record);
}

static inline void cay_store_put_claim(struct cay_store *s, struct cay_store_batch *b,
                                       const struct cay_store_claim *record)
{
        s->ops->put(b, CAY_STORE_CLAIM, record);
}

static inline void cay_store_put_key(struct cay_store *s, struct cay_store_batch *b,
                                     const struct cay_store_key *record)
{
        s->ops->put(b, CAY_STORE_KEY, record);
}

static inline void cay_store_put_event(struct cay_store *s, struct cay_store_batch *b,
                                       const struct cay_store_event *record)
{
        s->ops->put(b, CAY_STORE_EVENT, record);
}

static inline void cay_store_put_snapshot(struct cay_store *s, struct cay_store_batch *b,
                                          const struct cay_store_snapshot *record)
{
        s->ops->put(b, CAY_STORE_SNAPSHOT, record);
}

static inline void cay_store_put_value(struct cay_store *s, struct cay_store_batch *b, const char *name,
                                       const char *value)
{
        const struct cay_store_value record = { .name = name, .value = value };

        s->ops->put(b, CAY_STORE_VALUE, &record);
}

static inline void cay_store_query_done(struct cay_store_query *q) /* safe on a zeroed struct */
{
        cay_arena_done(&q->mem);
        q->rows = NULL;
        q->count = 0;
}
