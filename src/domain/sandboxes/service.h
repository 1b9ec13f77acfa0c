/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service: sandboxes, their commands and their files, for whoever translates requests into calls (op/). One event loop,
 * nothing blocks but cay_service_open; what takes time is a call with a job (foundation/base/job.h) in it.
 *
 * Theory of operation. A sandbox is one object in memory, one record in the store, one box in the engine and one box link. The
 * state (domain/model/state.h) has one writer and every change of it is committed before the call that asked for it is answered,
 * so what was answered is there after the death of this process. Order of work, so that a death at any instruction leaves
 * nothing that nobody owns: a box is made before its record says READY (a box without a record is removed at the next start), and a
 * record says STOPPED, or is dropped, before the box is unmade (the same rule removes the box). A commit that fails undoes
 * what was made. One story at a time happens to a sandbox: a second one that changes its state is refused with
 * CAY_CONFLICT, except destroy, which waits for the first and then wins.
 *
 * Calls. A call struct is the caller's: zeroed, its job initialised with on_done, kept until on_done ran (a call cannot be taken
 * back: a client that goes away changes nothing). Arguments are copied before the function returns, unless it says otherwise.
 * on_done never runs inside the function. job.err says what went wrong, in words meant for the client.
 *
 * Who may see what. Every function that takes an id takes the viewer too: what somebody may not see does not exist (CAY_NOT_FOUND).
 * Views are snapshots that point into the service: used at once, never kept over a return to the loop.
 *
 * Time. Deadlines (expiry, idle, commands) are in the store's own time: they hold over restarts and when the wall clock is set.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/arena.h"
#include "foundation/base/field.h"
#include "foundation/base/job.h"
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
#define CAY_SERVICE_EXECS_KEPT 64          /* ended ones of a sandbox that can still be asked about */
#define CAY_SERVICE_OUTPUT_KEPT (64ull << 20) /* bytes of ended commands of a sandbox; the oldest go first */

struct cay_loop;
struct cay_service;
struct cay_sandbox; /* private */

/* Who asks. Pointers are borrowed for the call. */
struct cay_viewer {
        const char *owner; /* never NULL */
        bool sees_all;     /* admin */
};

#define CAY_SERVICE_ENGINES_MAX 8 /* that are known, there or not */

struct cay_service_engine {        /* one that a sandbox may be made by, or why none can */
        const char *name;          /* as requests and records say it; copied */
        struct cay_engine *engine; /* open; on_gone is taken by the service. NULL: it is not there */
        const char *note;          /* why it is there, or why not, for people; copied; may be NULL */
};

struct cay_service_env { /* borrowed: everything outlives the service */
        struct cay_loop *loop;
        /* In the order of preference: the first that is there makes what names none. Ids are unique over all of them. */
        struct cay_service_engine engines[CAY_SERVICE_ENGINES_MAX];
        unsigned engine_count;
        struct cay_network_broker *network; /* for engines with CAY_ENGINE_CAN_EGRESS; NULL: there is none */
        struct cay_store *store;
        const struct cay_clock *clock; /* wall time for people */
        int spool_dir;        /* folder of its own: one file per command with output; swept at start */
        unsigned node, epoch; /* in every id (foundation/base/id.h) */
        bool keeps_unowned;   /* the store has lost records: files that none knows of are left alone */

        unsigned max_alive;       /* sandboxes with a box, all owners; 0: 10 */
        unsigned max_alive_owner; /* of one owner; 0: only the total counts */
        uint64_t disk_reserve;    /* free bytes of the spool folder's disk below which nothing is made */
        uint64_t
                terminal_idle_ms; /* how long a terminal may be left alone: nobody watches, types, or is told anything; 0: for ever */
        uint64_t spool_bytes; /* of output kept of each command; 0: CAY_SERVICE_SPOOL_BYTES */
        uint64_t ping_ms;     /* between pings of each link; 0: 5,000 */
        unsigned ping_misses; /* in a row that make a sandbox ERROR; 0: 3 */

        /*
         * What a template's name means now: its kind and, for a rootfs, an O_PATH descriptor, which the service takes. Does not
         * block. NULL: there is "host" alone.
         */
        int (*open_template)(void *ctx, const char *name, enum cay_template_kind *ret_kind, int *ret_fd,
                             struct cay_error *err);
        /* The image that a template names, for engines that take images; borrowed until the next round. May be NULL, and give NULL: none. */
        const char *(*image_of)(void *ctx, const char *name);
        /*
         * Ports of sandboxes that the daemon answers itself, whatever listens on them in the box (NULL: there are none). They are no
         * engine's to publish, and no network is needed for them. publish gives each a port of the host (in: the one that is wished for,
         * or 0; out: what it became), or fails; those that the sandbox has already stay. The job ends from the loop. unpublish ends
         * all of a sandbox, also where there is none.
         */
        bool (*is_own_port)(void *ctx, uint16_t inside);
        void (*publish)(void *ctx, const char *id, struct cay_spec_port *ports, unsigned count,
                        struct cay_job *job);
        void (*unpublish)(void *ctx, const char *id);
        /*
         * Reads back, at start-up, JSON texts that the service wrote: fills args by the table (foundation/json/json_in.h does that). *ret_doc is
         * what the filled struct points into, until free_json.
         */
        int (*read_json)(void *ctx, const char *text, const struct cay_field *fields, void *args,
                         void **ret_doc, struct cay_error *err);
        void (*free_json)(void *ctx, void *doc);
        void *ctx;
};

struct cay_service_report { /* what the start met, for the log; every sandbox of the store is in one of the first four */
        unsigned adopted; /* live on, with their commands */
        unsigned lost;    /* should live, do not: ERROR with a cause */
        unsigned at_rest; /* STOPPED or ERROR before: nothing to do */
        unsigned away;    /* should live, and their engine is not there: kept as they are, shown as ERROR */
        unsigned removed; /* boxes that no record knew: destroyed */
        unsigned execs_adopted, execs_lost, execs_ended; /* running ones: go on, lost, ended meanwhile */
        unsigned
                unreadable; /* records that could not be read back: kept in the store, told in the log, not served */
        unsigned layers_removed,
                layers_lost;  /* files without a sandbox; sandboxes without the files they left */
        unsigned layers_left; /* files without a sandbox that may be somebody's: recover.c */
};

/*
 * Loads the store (blocks for that), then adopts from the loop; cay_service_is_ready says when it is through, and on_ready is
 * told once, from the loop. Until then every call answers CAY_UNAVAILABLE.
 */
int cay_service_open(const struct cay_service_env *env, void (*on_ready)(struct cay_service *s, void *ctx),
                     void *ctx, struct cay_service **ret, struct cay_error *err);
bool cay_service_is_ready(const struct cay_service *s);
/* Nothing that was learned of a box's end is still to be stored: who frees it before that leaves the next one to guess the cause. */
bool cay_service_is_settled(const struct cay_service *s);
const struct cay_service_report *cay_service_report(const struct cay_service *s);
/*
 * Lets go of everything and leaves the boxes alone: the next service adopts them. Accepts NULL. Calls under way are finished as
 * CAY_UNAVAILABLE, to be told at the loop's next drain; watchers and channels end without a word.
 * The engine and the store are closed after it (jobs of theirs that are under way are let go, not waited for).
 */
void cay_service_free(struct cay_service *s);
CAY_DEFINE_AUTO(struct cay_service, cay_service_free)

/* Sandboxes */

enum cay_network {
        CAY_NETWORK_NONE,   /* loopback alone */
        CAY_NETWORK_BRIDGE, /* a way out to public addresses: not every engine has it */
        CAY_NETWORK_LIST,   /* to what its rules allow: for engines with CAY_ENGINE_CAN_EGRESS */
};

#define CAY_NETWORK_RULES_MAX 100u /* allowances of one request; the same for denials */

const char *cay_network_word(enum cay_network network); /* never NULL */
int cay_network_find(const char *word);                 /* -1: there is no such */

struct cay_folder {        /* of the host, and by whose right it is mapped; borrowed. See struct cay_spec. */
        int fd;            /* directory that a client passed; -1: none */
        int peer;          /* that client's connection; 0 or -1: none */
        unsigned root;     /* or: one of workspace_roots, from 1; 0: none */
        const char *below; /* and the path below it */
};

#define CAY_FOLDER_NONE ((struct cay_folder){ .fd = -1 })

struct cay_sandbox_new {           /* zeroed: all defaults but limits */
        const char *owner;         /* who it belongs to */
        const char *name;          /* NULL or "": none; else cay_id_is_valid, unique among the owner's */
        const char *template_name; /* NULL: "host" */
        const char *engine;        /* NULL or "auto": the default one; see cay_service_engine_choose */
        struct cay_field_map labels, metadata, env;
        struct cay_limits
                limits; /* as the engine is to hold them; wall_ms, cpu_time_ms, output_bytes: defaults of execs */
        unsigned may_skip; /* limits (mask) that need not hold on this host */
        enum cay_network network;
        const char *
                policy; /* domain/network/policy_text.h; NULL: what the mode says. For engines with CAY_ENGINE_CAN_EGRESS */
        struct cay_field_texts ports,
                volumes;    /* as domain/model/spec.h reads them; ports: with a bridge, or our own */
        bool has_workspace; /* a host folder is mapped; else the workspace is an empty folder of its own */
        enum cay_workspace_mode workspace_mode;
        struct cay_folder folder;   /* looked at only with has_workspace; copied */
        const char *workspace_path; /* for people; may be NULL */
        bool read_only;             /* root read-only */
        bool no_init;        /* nothing goes into it, and it runs one command: not every engine has it */
        bool own_user_only;  /* no command will run as another user (root…): cheaper to make */
        uint64_t timeout_ms; /* of its life; 0: none */
        uint64_t idle_ms;    /* without use; 0: none */
        /*
         * The client's single-use id, NULL: none. A second use ends as CAY_EXISTS and nothing is made (call.first says what the
         * first one made).
         */
        const char *claim;
};

/* Whether one more may be alive now, of all and of this owner: CAY_LIMIT says which limit it is. A create checks the same. */
int cay_service_check_room(const struct cay_service *s, const char *owner, struct cay_error *err);
unsigned cay_service_room(const struct cay_service *s); /* how many more of all */
void cay_service_note_refused(struct cay_service *s,
                              const char *owner); /* who was not let in has asked, too */

/* A call about one sandbox: create and whatever changes its state. */
struct cay_service_call {
        struct cay_job job;            /* the caller's on_done */
        char id[CAY_NAME_MAX + 1];     /* of the sandbox; set by create before it returns, as far as it got */
        char first[CAY_NAME_MAX + 1];  /* after CAY_EXISTS for a claim: what the first one made */
        struct cay_service_call *next; /* private */
};

/* Answered when it is READY and stored. */
void cay_service_create(struct cay_service *s, const struct cay_sandbox_new *what,
                        struct cay_service_call *c);
/*
 * From STOPPED or ERROR: a box with the same settings and the files that it left, where the engine keeps them (view.kept), else with none. Files that
 * cannot be had back make it ERROR with that cause, CAY_CONFLICT; it is never made anew in silence. A sandbox with a
 * workspace needs its folder: the one given at create while this process lives, else this one (NULL: none is given); a connection in
 * it counts for either.
 */
void cay_service_start(struct cay_service *s, const struct cay_viewer *v, const char *id,
                       const struct cay_folder *folder, struct cay_service_call *c);
/* One that is stopped already, or is being stopped by another request, is success. */
void cay_service_stop(struct cay_service *s, const struct cay_viewer *v, const char *id,
                      struct cay_service_call *c);
void cay_service_pause(struct cay_service *s, const struct cay_viewer *v, const char *id,
                       struct cay_service_call *c);
void cay_service_resume(struct cay_service *s, const struct cay_viewer *v, const char *id,
                        struct cay_service_call *c);
/* It and all that belongs to it. Works in every state; with a box that is being made or unmade it waits its turn. */
void cay_service_destroy(struct cay_service *s, const struct cay_viewer *v, const char *id,
                         struct cay_service_call *c);
/* Lives timeout_ms from now (0: for ever); set_idle: also how long it may be idle (0: for ever). */
void cay_service_extend(struct cay_service *s, const struct cay_viewer *v, const char *id,
                        uint64_t timeout_ms, bool set_idle, uint64_t idle_ms, struct cay_service_call *c);

struct cay_service_stats {
        struct cay_service_call call;
        struct cay_engine_stats stats; /* filled */
};

/* Figures of a box; CAY_CONFLICT when it has none. */
void cay_service_stats(struct cay_service *s, const struct cay_viewer *v, const char *id,
                       struct cay_service_stats *c);

struct cay_service_network { /* figures and entries: filled */
        struct cay_service_call call;
        struct cay_network_stats stats;
        struct cay_network_log log; /* from and max: asked for. cay_service_network_done */
};

/* Of a sandbox whose box has a policy; CAY_CONFLICT when it has none. */
void cay_service_network_stats(struct cay_service *s, const struct cay_viewer *v, const char *id,
                               struct cay_service_network *c);
void cay_service_network_log(struct cay_service *s, const struct cay_viewer *v, const char *id,
                             struct cay_service_network *c);
void cay_service_network_done(struct cay_service_network *c);

struct cay_sandbox_view {
        const char *id, *name, *owner, *template_name, *engine;
        struct cay_field_map labels, metadata; /* env is not shown: it may hold secrets */
        const struct cay_limits *limits;
        unsigned skipped, watched; /* limits (masks) that are not held, or held by watching */
        enum cay_network network;
        const char *policy;                             /* policy_text.h; NULL: none that Cay holds */
        struct cay_spec_port ports[CAY_SPEC_PORTS_MAX]; /* host: as published, else 0 */
        unsigned port_count;
        const struct cay_spec_volume *volumes;
        unsigned volume_count;
        bool has_workspace;
        enum cay_workspace_mode workspace_mode;
        const char *workspace_path; /* on the host, "" when there is none or nobody said */
        bool holds_workspace;       /* it can be started without being given its folder again */
        const char *workspace_in;   /* as commands see it */
        bool read_only, own_user_only, no_init;
        enum cay_state state;
        enum cay_cause cause;   /* of ERROR and STOPPED; else NONE */
        const char *cause_text; /* "" when there is none */
        bool kept;              /* STOPPED, ERROR: start goes on with the same files */
        bool linked;            /* the box link is up and answered the last ping */
        const char *busy_with;  /* the story under way: "start", "destroy"…; "" when there is none */
        uint64_t created_wall_ms, started_wall_ms, changed_wall_ms; /* 0: never */
        bool expires;
        uint64_t expires_in_ms; /* from now */
        uint64_t idle_limit_ms; /* 0: none */
        uint64_t idle_ms;       /* since its last use; 0 while something runs or is open */
        bool idle_counts;       /* it ends when idle_ms reaches the limit, if nothing happens */
        unsigned execs_running, execs_known, channels;
};

/* By id, or by the viewer's own name for it. CAY_NOT_FOUND when there is none that the viewer may see. */
int cay_service_get(struct cay_service *s, const struct cay_viewer *v, const char *id_or_name,
                    struct cay_sandbox_view *ret, struct cay_error *err);

struct cay_sandbox_filter {
        const char *name;            /* exact; NULL: any */
        const char *template_name;   /* NULL: any */
        struct cay_field_map labels; /* each must be there; a NULL value: with any value */
        unsigned states;             /* bits 1 << enum cay_state; 0: any */
        uint64_t older_ms;           /* made at least so long ago (by the wall clock); 0: any */
        uint64_t idle_ms;            /* not used for at least so long; 0: any */
        bool newest_first;
};

/*
 * Calls back for each that the viewer may see and the filter takes, in the order of their making, at most max (0:
 * CAY_SERVICE_PAGE_MAX). cursor: NULL or "" from the start, else what ret_cursor said; stays right when sandboxes come and go.
 * ret_cursor is "" when there is nothing more. CAY_INVALID: not a cursor.
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

/* Destroys what the filter takes (an empty filter is CAY_INVALID: say what is meant). dry: says only what would go. */
void cay_service_cleanup(struct cay_service *s, const struct cay_viewer *v,
                         const struct cay_sandbox_filter *filter, bool dry, struct cay_service_cleanup *c);
void cay_service_cleanup_done(struct cay_service_cleanup *c); /* after the job; safe on a zeroed struct */

/*
 * Files that an engine keeps and no record knows of, found at the start while the store could not be trusted to know all. For administrators.
 */
void cay_service_left(struct cay_service *s,
                      void (*each)(void *ctx, const char *id, const char *engine, bool is_busy), void *ctx);
/* A STOPPED sandbox with these files and this id; of `what` owner, name, template_name, limits and may_skip count. CAY_NOT_FOUND. */
void cay_service_adopt_left(struct cay_service *s, const char *id, const struct cay_sandbox_new *what,
                            struct cay_service_call *c);
void cay_service_remove_left(struct cay_service *s, const char *id, struct cay_service_call *c);

/* The journal: what happened. Kinds are in domain/sandboxes/event_kinds.def. */

/*
 * Events that the viewer may see, of one sandbox or ("" or NULL) of all: q->after, before, newest_first, max and q->id (a kind) are the
 * caller's to set; owner and sandbox are set here. Rows are struct cay_store_event; cay_store_query_done afterwards.
 * Those of a destroyed sandbox are still there: the owner decides, not the sandbox. `v` and `sandbox` are borrowed until q->job is done.
 */
void cay_service_events(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                        struct cay_store_query *q);

/* Told, from the loop, when there are new events that the viewer may see: then ask with cay_service_events(after). */
struct cay_event_watch {
        void (*on_event)(struct cay_event_watch *w);
        /* private */
        struct cay_event_watch *next;
        struct cay_service *service;
        char owner[CAY_NAME_MAX + 1];
        char sandbox[CAY_NAME_MAX + 1];
        bool sees_all, due;
};

void cay_service_watch_events(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                              struct cay_event_watch *w);
void cay_service_unwatch_events(struct cay_event_watch *w); /* fine when it does not watch */
unsigned cay_service_event_watches(const struct cay_service *s, const char *owner); /* how many are theirs */

/* Engines */

struct cay_engine_view {
        const char *name, *note; /* note: why it is there, or why not; "" when nobody said */
        bool is_there;           /* if not, nothing below is set */
        bool is_default;         /* makes what names no engine */
        bool up;                 /* it answered the last time it was asked */
        char why[256];           /* when it is not up */
        bool isolates, has_users, pauses;
        unsigned caps;  /* CAY_ENGINE_CAN_… */
        unsigned holds; /* limits (mask) */
        unsigned alive; /* sandboxes that it has a box of */
};

/* The nth in the order of preference; false behind the last. */
/* The engine of this name lost the program behind it, and has another one now (cay_engine_ops.reopen_take). */
void cay_service_engine_back(struct cay_service *s, const char *name);
bool cay_service_engine_at(struct cay_service *s, unsigned nr, struct cay_engine_view *ret);
/*
 * Which one a request means: by name; NULL or "auto" is the default. CAY_INVALID: nobody knows that name, err says which there are;
 * CAY_CONFLICT: it is known, and not there, err says why.
 */
int cay_service_engine_choose(struct cay_service *s, const char *name, struct cay_engine_view *ret,
                              struct cay_error *err);

/* How things are, without asking anybody; counts are of the sandboxes that the viewer may see. */
struct cay_service_health {
        bool ready;           /* adoption is through */
        bool engine_up;       /* the default engine answered the last time it was asked */
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
        uint64_t adoptions, relinks; /* 0 for who does not see all */
        bool store_damaged;          /* likewise, until a restart */
        bool store_full;          /* nothing can be stored now: told to everybody, or requests come in vain */
        unsigned files_unclaimed; /* the same: files of sandboxes that no record knows of */
        struct cay_store_health store; /* the same */
};

void cay_service_figures(struct cay_service *s, const struct cay_viewer *v, struct cay_service_health *ret);
void cay_service_health(struct cay_service *s, struct cay_service_health *ret); /* for one who sees all */
/* Borrowed until the next round. */
const struct cay_service_meter *cay_service_meter(const struct cay_service *s, const struct cay_viewer *v);
/* Looks at deadlines and links now instead of at the next tick: after a clock was moved, and in tests. */
void cay_service_tick(struct cay_service *s);
