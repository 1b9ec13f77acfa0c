/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service: sandboxes, their commands and their files, for code that translates requests into calls
 * (domain/ops). It has one event loop; only cay_service_open blocks. What takes time is a call with a job
 * (foundation/base/job.h).
 *
 * Theory of operation. A sandbox is one object in memory, one record in the store, one box in the engine and
 * one box link. Its state (domain/model/state.h) has one writer. Every change is committed before the call
 * that asked for it is answered, so an answered change survives the death of this process. The order of work
 * ensures that a death at any instruction leaves nothing without an owner. A box is made before its record
 * says READY: a box without a record is removed at the next start. A record says STOPPED, or is dropped,
 * before the box is removed: the same rule then removes the box. A failed commit undoes what was made. A
 * sandbox has one pending operation at a time. A second one that changes its state is refused with
 * CAY_CONFLICT, except destroy, which waits for the first and then wins.
 *
 * Calls. The caller owns a call struct: zeroed, its job initialised with on_done, kept until on_done ran. A
 * call cannot be withdrawn; a client that goes away changes nothing. Arguments are copied before the function
 * returns, unless it says otherwise. on_done never runs inside the function. job.err has the error in words
 * for the client.
 *
 * Visibility. Every function that takes an id takes the viewer too: what a viewer may not see does not exist
 * (CAY_NOT_FOUND). Views are snapshots that point into the service: use them at once, and never keep them
 * across a return to the loop.
 *
 * Time. Deadlines (expiry, idle, commands) are in the store's own time: they hold across restarts and when
 * the wall clock is set.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/arena.h"
#include "foundation/base/buf.h"
#include "foundation/base/field.h"
#include "foundation/base/job.h"
#include "domain/sandboxes/pool.h"
#include "domain/model/cause.h"
#include "domain/model/port_clock.h"
#include "domain/model/port_engine.h"
#include "domain/model/port_network.h"
#include "domain/model/port_store.h"
#include "domain/model/state.h"
#include "domain/sandboxes/meter.h"

#define CAY_SERVICE_PAIRS_MAX 256 /* of labels, of metadata, of env */
#define CAY_SERVICE_TEXT_MAX                                                                                 \
        (128u * 1024)                /* bytes of all labels together; the same for metadata, and for env */
#define CAY_SERVICE_KNOWN_MAX 100000 /* sandboxes, whatever their state */
#define CAY_SERVICE_PAGE_MAX 1000    /* sandboxes of one page */
#define CAY_SERVICE_CURSOR_MAX 96    /* of a list: bytes with the NUL */
#define CAY_SERVICE_CLAIM_MAX 128    /* bytes of a single-use id */
#define CAY_SERVICE_SPOOL_BYTES (8u << 20) /* of output that is kept of a command */
#define CAY_SERVICE_OWN_PORTS_MAX 256u     /* published ports that the daemon answers itself, of all owners */
#define CAY_SERVICE_EXECS_RUNNING_MAX 128  /* of a sandbox at once */
#define CAY_SERVICE_EXECS_KEPT 64          /* ended ones of a sandbox that can still be queried */
#define CAY_SERVICE_EXECS_SPARE 15         /* and so many more, until they are dropped together */
#define CAY_SERVICE_OUTPUT_KEPT                                                                              \
        (64ull << 20) /* bytes of ended commands of a sandbox; the oldest are dropped first */

struct cay_loop;
struct cay_service;
struct cay_sandbox; /* private */

/* Who asks. Pointers are borrowed for the call. */
struct cay_viewer {
        const char *owner; /* never NULL */
        bool sees_all;     /* admin */
        const char *by;    /* the token, key or session that asks, for the journal; NULL: nobody of these */
};

#define CAY_SERVICE_BY_MAX 127u

#define CAY_SERVICE_ENGINES_MAX 8 /* that are known, available or not */

struct cay_service_engine {        /* an engine for sandboxes, or the reason why it is missing */
        const char *name;          /* as requests and records say it; copied */
        struct cay_engine *engine; /* open; the service sets on_gone. NULL: missing */
        const char *note;          /* why it is there or missing, for people; copied; may be NULL */
};

struct cay_service_env { /* borrowed: everything outlives the service */
        struct cay_loop *loop;
        /* In order of preference: the first one there is the default. Ids are unique over all of them. */
        struct cay_service_engine engines[CAY_SERVICE_ENGINES_MAX];
        unsigned engine_count;
        struct cay_network_broker *network; /* for engines with CAY_ENGINE_CAN_EGRESS; NULL: none */
        struct cay_store *store;
        const struct cay_clock *clock; /* wall time for people */
        int spool_dir;                 /* a folder of its own: one output file per command; swept at start */
        /* Removes a file of that folder, perhaps later and beside the loop. NULL: removed in place. */
        void (*remove_spool)(void *ctx, const char *name);
        /* The same for one that nobody has open: it may be kept, emptied, for reuse. NULL: none is kept. */
        void (*recycle_spool)(void *ctx, const char *name);
        /* Gives a kept file, one page of zeros, this name. False: there is none. NULL: never. */
        bool (*reuse_spool)(void *ctx, const char *name);
        unsigned node, epoch; /* in every id (foundation/base/id.h) */
        bool keeps_unowned;   /* the store has lost records: files without a record are left alone */

        unsigned max_alive;         /* sandboxes with a box, all owners; 0: 10 */
        unsigned max_alive_owner;   /* of one owner; 0: only the total counts */
        unsigned max_known;         /* sandboxes, also stopped ones, all owners; 0: CAY_SERVICE_KNOWN_MAX */
        uint64_t max_disk_owner;    /* disk limits of one owner's, added up; 0: not counted */
        unsigned max_volumes_owner; /* named volumes; 0: any number */
        uint64_t volume_bytes;      /* of a new one, where the engine limits it */
        uint64_t pool_bytes;        /* memory for boxes that are kept ready; 0: none are */
        uint64_t disk_reserve;      /* free bytes of the spool folder's disk below which nothing is made */
        /* how long a terminal may be left alone, without a watcher, input or output; 0: unlimited */
        uint64_t terminal_idle_ms;
        uint64_t spool_bytes; /* of output kept of each command; 0: CAY_SERVICE_SPOOL_BYTES */
        uint64_t ping_ms;     /* between pings of each link; 0: 5,000 */
        unsigned ping_misses; /* in a row that make a sandbox ERROR; 0: 3 */
        uint64_t away_ms;     /* how long a sandbox on a user's machine is waited for; 0: for ever */

        /*
         * Resolves a template's name: its kind and, for a rootfs, an O_PATH descriptor, which the service
         * takes. Does not block. NULL: only "host" exists.
         */
        int (*open_template)(void *ctx, const char *name, enum cay_template_kind *ret_kind, int *ret_fd,
                             struct cay_error *err);
        /*
         * The image that a template names, for engines that take images; borrowed until the next round. May
         * be NULL or return NULL: none.
         */
        const char *(*image_of)(void *ctx, const char *name);
        /*
         * Ports of sandboxes that the daemon serves itself, whatever listens on them in the box (NULL: none).
         * Engines do not publish them, and they need no network. publish gives each a port of the host (in:
         * the wanted port or 0; out: the actual one) or fails; ports that the sandbox has already stay. The
         * job ends from the loop. unpublish ends all ports of a sandbox, if any.
         */
        bool (*is_own_port)(void *ctx, uint16_t inside);
        void (*publish)(void *ctx, const char *id, struct cay_spec_port *ports, unsigned count,
                        struct cay_job *job);
        void (*unpublish)(void *ctx, const char *id);
        /*
         * Reads back, at start-up, JSON texts that the service wrote: fills args by the table (as
         * foundation/json/json_in.h does). The filled struct points into *ret_doc until free_json.
         */
        int (*read_json)(void *ctx, const char *text, const struct cay_field *fields, void *args,
                         void **ret_doc, struct cay_error *err);
        void (*free_json)(void *ctx, void *doc);
        /*
         * Bytes that are kept of an owner beside sandboxes and snapshots, counted with them (max_disk_owner).
         * NULL: none.
         */
        uint64_t (*more_disk)(void *ctx, const char *owner);
        /*
         * Secrets of requests (docs/network.md); NULL: there are none. secrets_text appends what the broker
         * is told (domain/network/secret_text.h); secrets_ca is the certificate that boxes with secrets trust
         * (PEM), NULL: none.
         */
        int (*secrets_text)(void *ctx, const char *owner, const char *secrets, struct cay_buf *out);
        const char *(*secrets_ca)(void *ctx);
        void *ctx;
        /*
         * By which recordings are encrypted (32 bytes; recording.h); copied. NULL: nothing can be recorded.
         */
        const uint8_t *recordings_seed;
};

/* what the start found, for the log; every sandbox of the store is in one of the first four */
struct cay_service_report {
        unsigned adopted; /* continue, with their commands */
        unsigned lost;    /* should live but do not: ERROR with a cause */
        unsigned at_rest; /* STOPPED or ERROR before: unchanged */
        unsigned away;    /* should live, but their engine is missing: kept as they are, shown as ERROR */
        unsigned removed; /* boxes that no record knew: destroyed */
        unsigned execs_adopted, execs_lost, execs_ended; /* running ones: continue, lost, ended meanwhile */
        unsigned unreadable;                  /* unreadable records: kept in the store, logged, not served */
        unsigned layers_removed, layers_lost; /* files without a sandbox; sandboxes whose files are missing */
        unsigned layers_left;                 /* files without a sandbox that may be wanted: recover.c */
};

/*
 * Loads the store (which blocks), then adopts from the loop. cay_service_is_ready says when that is done, and
 * on_ready is called once, from the loop. Until then every call answers CAY_UNAVAILABLE.
 */
int cay_service_open(const struct cay_service_env *env, void (*on_ready)(struct cay_service *s, void *ctx),
                     void *ctx, struct cay_service **ret, struct cay_error *err);
bool cay_service_is_ready(const struct cay_service *s);
/*
 * Whether all facts about the ends of boxes are stored: freeing the service earlier leaves the next one to
 * guess the causes.
 */
bool cay_service_is_settled(const struct cay_service *s);
const struct cay_service_report *cay_service_report(const struct cay_service *s);
/*
 * Frees everything and leaves the boxes alone: the next service adopts them. Accepts NULL. Pending calls end
 * with CAY_UNAVAILABLE, at the loop's next drain; watchers and channels end without a call. Close the engines
 * and the store afterwards (their pending jobs are abandoned, not waited for).
 */
void cay_service_free(struct cay_service *s);
CAY_DEFINE_AUTO(struct cay_service, cay_service_free)

/* Sandboxes */

enum cay_network {
        CAY_NETWORK_NONE,    /* loopback alone */
        CAY_NETWORK_BRIDGE,  /* a way out to public addresses: not all engines support it */
        CAY_NETWORK_LIST,    /* to what its rules allow: for engines with CAY_ENGINE_CAN_EGRESS */
        CAY_NETWORK_LEARN,   /* as bridge, to see from its log which rules it needs: likewise */
        CAY_NETWORK_PRIVATE, /* to others of its private network alone: likewise */
        CAY_NETWORK_COUNT
};

#define CAY_NETWORK_RULES_MAX 100u /* allowances of one request; the same for denials */

/*
 * The id of the owner's sandbox with this name in its private network (stopped ones count), other than
 * `except`; NULL: none.
 */
const char *cay_service_member_find(const struct cay_service *s, const char *owner, const char *network,
                                    const char *host, const char *except);

const char *cay_network_word(enum cay_network network); /* never NULL */
int cay_network_find(const char *word);                 /* -1: none */

struct cay_folder {    /* of the host, and the right by which it is mapped; borrowed. See struct cay_spec. */
        int fd;        /* directory that a client passed; -1: none */
        int peer;      /* that client's connection; 0 or -1: none */
        unsigned root; /* or: one of workspace_roots, from 1; 0: none */
        const char *below; /* and the path below it */
};

#define CAY_FOLDER_NONE ((struct cay_folder){ .fd = -1 })

#define CAY_SANDBOX_BEFORE "/mnt/cay-before"
#define CAY_SANDBOX_AFTER "/mnt/cay-after"

struct cay_sandbox_new {           /* zeroed: all defaults but limits */
        const char *owner;         /* who it belongs to */
        const char *by;            /* as in struct cay_viewer */
        const char *name;          /* NULL or "": none; else cay_id_is_valid, unique among the owner's */
        const char *template_name; /* NULL: "host" */
        const char *engine;        /* NULL or "auto": the default one; see cay_service_engine_choose */
        const char *snapshot;      /* id of the owner's whose files it gets (snapshot.h); NULL: none */
        struct cay_field_map labels, metadata, env;
        /* as the engine is to hold them; wall_ms, cpu_time_ms, output_bytes: defaults of execs */
        struct cay_limits limits;
        unsigned may_skip; /* limits (mask) that need not be enforced on this host */
        enum cay_network network;
        /* domain/network/policy_text.h; NULL: what the mode says. For engines with CAY_ENGINE_CAN_EGRESS */
        const char *policy;
        struct cay_field_texts ports,
                volumes;     /* as domain/model/spec.h reads them; ports: with a bridge, or our own */
        const char *secrets; /* for requests to hosts: lines of NAME PLACEHOLDER; NULL: none. With a policy */
        /*
         * ids of two of the owner's snapshots or steps, mounted read-only at CAY_SANDBOX_BEFORE and _AFTER;
         * or NULL
         */
        const char *compare[2];
        bool has_workspace; /* a host folder is mapped; else the workspace is a new empty folder */
        enum cay_workspace_mode workspace_mode;
        struct cay_folder folder;           /* looked at only with has_workspace; copied */
        const char *workspace_path;         /* for people; may be NULL */
        struct cay_sandbox_options options; /* texts in it are copied */
        unsigned pool;                      /* boxes of its shape to be kept ready; 0: none */
        bool brief;          /* for one piece of work: its files end with its box, and no stop keeps them */
        uint64_t timeout_ms; /* lifetime; 0: unlimited */
        uint64_t idle_ms;    /* without use; 0: unlimited */
        /*
         * The client's single-use id; NULL: none. A second use ends with CAY_EXISTS and makes nothing
         * (call.first has the first one's result).
         */
        const char *claim;
};

/*
 * Whether one more may be alive now, of all and of this owner; CAY_LIMIT names the limit. create checks the
 * same.
 */
int cay_service_check_room(const struct cay_service *s, const char *owner, struct cay_error *err);
unsigned cay_service_room(const struct cay_service *s);                  /* how many more in all */
void cay_service_note_refused(struct cay_service *s, const char *owner); /* counts refused requests, too */

/* A call about one sandbox: create and whatever changes its state. */
struct cay_service_call {
        struct cay_job job;           /* the caller's on_done */
        char id[CAY_NAME_MAX + 1];    /* of the sandbox; set by create before it returns, as far as it got */
        char first[CAY_NAME_MAX + 1]; /* after CAY_EXISTS for a claim: the first one's result */
        /*
         * destroy: answered when it is stored that the sandbox is gone; its box is removed after that. If
         * that fails, the sandbox is back, in ERROR with the cause.
         */
        bool early;
        struct cay_service_call *next; /* private */
};

/* Answered when it is READY and stored. */
void cay_service_create(struct cay_service *s, const struct cay_sandbox_new *what,
                        struct cay_service_call *c);
/*
 * From STOPPED or ERROR: a box with the same settings and its earlier files, if the engine keeps them
 * (view.kept). If the files cannot be restored, the sandbox becomes ERROR with that cause, and the call ends
 * with CAY_CONFLICT: a sandbox is never silently made empty. A sandbox with a workspace needs its folder: the
 * one given at create while this process lives, else this one (NULL: none); a connection in it counts for
 * either.
 */
void cay_service_start(struct cay_service *s, const struct cay_viewer *v, const char *id,
                       const struct cay_folder *folder, struct cay_service_call *c);
/* A sandbox that is stopped, or being stopped by another request, is success. */
void cay_service_stop(struct cay_service *s, const struct cay_viewer *v, const char *id,
                      struct cay_service_call *c);
void cay_service_pause(struct cay_service *s, const struct cay_viewer *v, const char *id,
                       struct cay_service_call *c);
/*
 * Sleepers: sandboxes that the daemon paused because nobody used them (options.sleep_after_s). Whoever needs
 * the inside of one wakes it first. wake of a sandbox that does not sleep succeeds.
 */
bool cay_service_sleeps(struct cay_service *s, const struct cay_viewer *v, const char *id);
void cay_service_wake(struct cay_service *s, const struct cay_viewer *v, const char *id,
                      struct cay_service_call *c);
void cay_service_resume(struct cay_service *s, const struct cay_viewer *v, const char *id,
                        struct cay_service_call *c);
/* Destroys it and all that belongs to it, in any state; waits while a box is being made or removed. */
void cay_service_destroy(struct cay_service *s, const struct cay_viewer *v, const char *id,
                         struct cay_service_call *c);
/*
 * One that could not be destroyed, and that nobody was told of: it ends as soon as its engine can do that.
 */
void cay_service_discard(struct cay_service *s, const struct cay_viewer *v, const char *id);
/* How long it lives from now on, and how long it may be idle; what is not set stays. 0: unlimited. */
struct cay_service_life {
        bool set_timeout, set_idle;
        uint64_t timeout_ms, idle_ms;
};
void cay_service_extend(struct cay_service *s, const struct cay_viewer *v, const char *id,
                        const struct cay_service_life *life, struct cay_service_call *c);

struct cay_service_stats {
        struct cay_service_call call;
        struct cay_engine_stats stats; /* filled */
};

/* Figures of a box; CAY_CONFLICT when it has none. */
void cay_service_stats(struct cay_service *s, const struct cay_viewer *v, const char *id,
                       struct cay_service_stats *c);

struct cay_network_change {
        enum cay_network network;
        const char *policy;       /* as in struct cay_sandbox_new; copied */
        struct cay_limits limits; /* all of them; those of the network may differ */
};

/*
 * Of a sandbox with or without a box; answered when it is stored and in force. CAY_UNSUPPORTED: its engine
 * has no networks by policy. CAY_CONFLICT: another operation is under way.
 */
void cay_service_network_update(struct cay_service *s, const struct cay_viewer *v, const char *id,
                                const struct cay_network_change *change, struct cay_service_call *c);

struct cay_service_network { /* figures and entries: filled */
        struct cay_service_call call;
        struct cay_network_stats stats;
        struct cay_network_log log; /* from and max: asked for. cay_service_network_done */
};

/* Figures of a sandbox without a network, or without a box, are 0; it has no log (CAY_CONFLICT). */
void cay_service_network_stats(struct cay_service *s, const struct cay_viewer *v, const char *id,
                               struct cay_service_network *c);
void cay_service_network_log(struct cay_service *s, const struct cay_viewer *v, const char *id,
                             struct cay_service_network *c);
void cay_service_network_done(struct cay_service_network *c);
/*
 * The owner has set or removed this secret: running sandboxes that use it have the new one, or none, from now
 * on.
 */
void cay_service_secrets_changed(struct cay_service *s, const char *owner, const char *name);

struct cay_sandbox_view {
        const char *id, *name, *owner, *template_name, *engine;
        struct cay_field_map labels, metadata; /* env is not shown: it may hold secrets */
        const struct cay_limits *limits;
        unsigned skipped, watched; /* limits (masks) that are not held, or held by watching */
        enum cay_network network;
        const char *policy;                             /* policy_text.h; NULL: none enforced by Cay */
        struct cay_spec_port ports[CAY_SPEC_PORTS_MAX]; /* host: as published, else 0 */
        unsigned port_count;
        const struct cay_spec_volume *volumes;
        unsigned volume_count;
        bool has_workspace;
        enum cay_workspace_mode workspace_mode;
        const char *workspace_path; /* on the host, "" when there is none or nobody said */
        bool holds_workspace;       /* it can be started without naming its folder again */
        const char *workspace_in;   /* as commands see it */
        struct cay_sandbox_options options;
        /* PAUSED: that the pause gave back to the host; 0: nothing, or not known */
        uint64_t memory_freed_bytes;
        enum cay_state state;
        enum cay_cause cause;   /* of ERROR and STOPPED; else NONE */
        const char *cause_text; /* "" when there is none */
        bool kept;              /* STOPPED, ERROR: start continues with the same files */
        bool linked;            /* the box link is up and answered the last ping */
        const char *busy_with;  /* the pending operation: "start", "destroy"…; "": none */
        uint64_t created_wall_ms, started_wall_ms, changed_wall_ms; /* 0: never */
        bool expires;
        uint64_t expires_in_ms; /* from now */
        uint64_t idle_limit_ms; /* 0: none */
        uint64_t idle_ms;       /* since its last use; 0 while something runs or is open */
        bool idle_counts;       /* it ends when idle_ms reaches the limit */
        unsigned execs_running, execs_known, channels;
};

/* By id, or by the viewer's own name for it. CAY_NOT_FOUND: none that the viewer may see. */
int cay_service_get(struct cay_service *s, const struct cay_viewer *v, const char *id_or_name,
                    struct cay_sandbox_view *ret, struct cay_error *err);

struct cay_sandbox_filter {
        const char *name;              /* exact; NULL: any */
        const char *template_name;     /* NULL: any */
        struct cay_field_map labels;   /* each must be there; a NULL value: with any value */
        struct cay_field_map metadata; /* likewise */
        uint64_t after_wall_ms;        /* created at or after this time; 0: any */
        unsigned states;               /* bits 1 << enum cay_state; 0: any */
        uint64_t older_ms;             /* created at least so long ago (by the wall clock); 0: any */
        uint64_t idle_ms;              /* not used for at least so long; 0: any */
        bool newest_first;
};

/*
 * Calls back for each that the viewer may see and the filter accepts, in order of creation, at most max (0:
 * CAY_SERVICE_PAGE_MAX). cursor: NULL or "" from the start, else an earlier ret_cursor; it stays valid when
 * sandboxes come and go. ret_cursor is "" at the end. CAY_INVALID: not a cursor.
 */
int cay_service_list(struct cay_service *s, const struct cay_viewer *v,
                     const struct cay_sandbox_filter *filter, const char *cursor, unsigned max,
                     void (*each)(void *ctx, const struct cay_sandbox_view *view), void *ctx,
                     char ret_cursor[CAY_SERVICE_CURSOR_MAX], struct cay_error *err);

struct cay_service_cleanup { /* zeroed, job initialised */
        struct cay_job job;
        /* filled: */
        struct cay_arena mem;  /* owned: cay_service_cleanup_done */
        const char **ids;      /* what was chosen */
        unsigned count;        /* at most CAY_SERVICE_PAGE_MAX: the oldest */
        unsigned gone, failed; /* after a real run */
        bool more;             /* there were more than that */
        struct cay_error why;  /* the first failure */
        unsigned pending;      /* private */
        struct cleanup_item *items;
        struct cay_loop *loop;
};

/*
 * Destroys what the filter selects; an empty filter is CAY_INVALID. dry: only reports what would be
 * destroyed.
 */
void cay_service_cleanup(struct cay_service *s, const struct cay_viewer *v,
                         const struct cay_sandbox_filter *filter, bool dry, struct cay_service_cleanup *c);
void cay_service_cleanup_done(struct cay_service_cleanup *c); /* after the job; safe on a zeroed struct */

/*
 * Files that an engine keeps and that have no record, found at a start with a store that may be incomplete.
 * For administrators.
 */
void cay_service_left(struct cay_service *s,
                      void (*each)(void *ctx, const char *id, const char *engine, bool is_busy), void *ctx);
/*
 * Makes a STOPPED sandbox of these files with this id; uses owner, name, template_name, limits and may_skip
 * of `what`. CAY_NOT_FOUND.
 */
void cay_service_adopt_left(struct cay_service *s, const char *id, const struct cay_sandbox_new *what,
                            struct cay_service_call *c);
void cay_service_remove_left(struct cay_service *s, const char *id, struct cay_service_call *c);

/* The journal: what happened. Kinds are in domain/sandboxes/event_kinds.def. */

/*
 * Events that the viewer may see, of one sandbox or ("" or NULL) of all. The caller sets q->after, before,
 * newest_first, max and q->id (a kind); owner and sandbox are set here. Rows are struct cay_store_event; call
 * cay_store_query_done afterwards. Events of a destroyed sandbox are still there: the owner counts, not the
 * sandbox. `v` and `sandbox` are borrowed until q->job is done.
 */
void cay_service_events(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                        struct cay_store_query *q);

/*
 * Called from the loop when there are new events that the viewer may see: query them with
 * cay_service_events(after).
 */
struct cay_event_watch {
        void (*on_event)(struct cay_event_watch *w);
        /* private */
        struct cay_event_watch *next;
        struct cay_service *service;
        char owner[CAY_NAME_MAX + 1];
        char sandbox[CAY_NAME_MAX + 1];
        bool sees_all, due, of_network;
};

void cay_service_watch_events(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                              struct cay_event_watch *w);
/* The same, told of new entries in the log of one sandbox's network instead. */
void cay_service_watch_network(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                               struct cay_event_watch *w);
void cay_service_unwatch_events(struct cay_event_watch *w); /* fine when it does not watch */
unsigned cay_service_event_watches(const struct cay_service *s, const char *owner); /* how many are theirs */

/* Whether so many bytes more may be kept of an owner, beside its sandboxes. CAY_LIMIT, CAY_NO_SPACE. */
int cay_service_check_more_disk(struct cay_service *s, const char *owner, uint64_t bytes,
                                struct cay_error *err);
/* CAY_NO_SPACE: less than disk_reserve is free. */
int cay_service_check_disk(struct cay_service *s, struct cay_error *err);

/* Engines */

struct cay_engine_view {
        const char *name, *note; /* note: why it is there or missing; "": unknown */
        bool is_there;           /* if not, nothing below is set */
        bool is_default;         /* the default */
        bool up;                 /* it answered the last request */
        char why[256];           /* when it is not up */
        bool isolates, has_users, pauses;
        unsigned caps;  /* CAY_ENGINE_CAN_… */
        unsigned holds; /* limits (mask) */
        unsigned alive; /* sandboxes that it has a box of */
};

/* The engine of this name lost its helper program and has a new one (cay_engine_ops.reopen_take). */
void cay_service_engine_back(struct cay_service *s, const char *name);
/*
 * A machine of an owner is there again, and the engine lists its boxes and no others: those without a record
 * are removed.
 */
void cay_service_machine_back(struct cay_service *s, const char *engine, const char *owner,
                              const char *machine);
enum cay_machine_news {
        CAY_MACHINE_PAIRED,
        CAY_MACHINE_CONNECTED,
        CAY_MACHINE_AWAY,
        CAY_MACHINE_OFF,
        CAY_MACHINE_REMOVED
};
/* For the journal. name and value say more; value NULL: nothing does. */
void cay_service_machine_news(struct cay_service *s, const char *owner, const char *machine,
                              enum cay_machine_news news, const char *name, const char *value);
/*
 * Whether a box of this id may be on that machine: its sandbox is recorded for it, or there is none of that
 * id.
 */
bool cay_service_machine_may_have(struct cay_service *s, const char *engine, const char *owner,
                                  const char *machine, const char *id);
/* The nth in order of preference; false after the last. */
bool cay_service_engine_at(struct cay_service *s, unsigned nr, struct cay_engine_view *ret);
/*
 * The engine that a request means: by name; NULL or "auto" is the default. CAY_INVALID: unknown name, err
 * lists the known ones; CAY_CONFLICT: known but missing, err says why.
 */
int cay_service_engine_choose(struct cay_service *s, const char *name, struct cay_engine_view *ret,
                              struct cay_error *err);

/* Health, without asking anything; counts only sandboxes that the viewer may see. */
struct cay_network_totals {                /* of all sandboxes, since this process started */
        uint64_t allowed, refused, failed; /* connections; refused and failed: look-ups, too */
        uint64_t up_bytes, down_bytes;     /* of connections that have ended */
};

struct cay_service_health {
        bool ready;           /* adoption is through */
        bool engine_up;       /* the default engine answered the last request */
        char engine_why[256]; /* when it is not */
        struct cay_service_engine_health {
                const char *name; /* of one that is there */
                bool up;
                unsigned alive;
        } engines[CAY_SERVICE_ENGINES_MAX];
        unsigned engine_count;
        unsigned known, alive, by_state[CAY_STATE_COUNT];
        unsigned links_lost; /* boxes that should live and have no link now */
        unsigned execs_running, channels, watchers;
        uint64_t creates, create_failures, execs;
        uint64_t adoptions, relinks; /* 0 for viewers who do not see all */
        bool store_damaged;          /* likewise, until a restart */
        bool store_full; /* nothing can be stored now: shown to everybody, to avoid useless requests */
        unsigned files_unclaimed;                       /* the same: files without a record */
        struct cay_store_health store;                  /* the same */
        struct cay_network_totals network;              /* the same */
        struct cay_pool_figures pool;                   /* of everybody: who claimed what is not in them */
        struct cay_snapshot_figures {                   /* of copies of files */
                uint64_t snapshots, steps, added_bytes; /* added_bytes: to the disk's use, by both */
        } snapshots;
        unsigned asleep; /* of those that are paused */
};

void cay_service_figures(struct cay_service *s, const struct cay_viewer *v, struct cay_service_health *ret);
void cay_service_health(struct cay_service *s, struct cay_service_health *ret); /* for one who sees all */
/* Borrowed until the next round. */
const struct cay_service_meter *cay_service_meter(const struct cay_service *s, const struct cay_viewer *v);
/* Checks deadlines and links now instead of at the next tick: after a clock was moved, and in tests. */
void cay_service_tick(struct cay_service *s);
