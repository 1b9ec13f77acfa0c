/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of the service.
 *
 *   service.c    open, close, health              sandbox.c          one sandbox: state, view, end
 *   table.c      find and list                    sandbox_make.c     create, start
 *   async.c      jobs of engine and store         sandbox_unmake.c   stop, destroy, cleanup, lost boxes
 *   event.c      the journal                      sandbox_change.c   pause, resume, extend, stats
 *   record.c     objects ↔ records of the store   link.c             the box link: lost, back, pinged
 *   tick.c       deadlines                        exec*.c            commands: start, output, input, end
 *   adopt*.c     start-up                         channel.c          files and ports
 *   engines.c    the engines                      meters.c           counts and times, in all and by owner
 *   recover.c    files without a record           *_phase.c          phase tables, and their only writers
 *   sandbox_network*.c   networks by policy       snapshot*.c        snapshots: table, record, making
 *   proxy.c      the way out of Docker's
 *   sandbox_from.c       sandboxes made of them   sandbox_pool.c     boxes made ahead (pool.c: which, how many)
 *
 * Ownership. The service owns sandboxes and async operations. A sandbox owns its box client and its list of
 * execs. An exec lives while its sandbox lists it, a watcher watches it or an async operation uses it (refs).
 */
#pragma once

#include "foundation/base/phase.h"
#include "foundation/base/buf.h"
#include "foundation/base/json_out.h"
#include "foundation/base/log.h"
#include "links/box/box_client.h"
#include "links/box/box_client_end.h"
#include "links/box/box_client_user.h"
#include "domain/model/command_env.h"
#include "domain/model/user.h"
#include "foundation/loop/loop.h"
#include "domain/sandboxes/channel.h"
#include "domain/sandboxes/exec.h"
#include "domain/sandboxes/exec_phase.h"
#include "domain/sandboxes/history.h"
#include "domain/sandboxes/meters.h"
#include "domain/sandboxes/pool.h"
#include "domain/sandboxes/proxy.h"
#include "domain/sandboxes/sandbox_phase.h"
#include "domain/sandboxes/service.h"
#include "domain/sandboxes/spool.h"
#include "domain/sandboxes/kill_points.h"

#define CAY_SERVICE_MAKE_MS 30000    /* for the engine to make a box */
#define CAY_SERVICE_UNMAKE_MS 30000  /* to remove one */
#define CAY_SERVICE_ENGINE_MS 10000  /* for any other request */
#define CAY_SERVICE_RECLAIM_MS 10000 /* to give memory back */
#define CAY_SERVICE_STATS_MS 10000   /* how long the verdict on a command waits for figures */
#define CAY_SERVICE_START_MS 30000   /* for a command to start */
#define CAY_SERVICE_WELCOME_MS 10000 /* for an adopted box to answer */
#define CAY_SERVICE_GONE_MS                                                                                  \
        1000 /* the engine says that a box is gone: its last messages may still be in the link */
#define CAY_SERVICE_GIVE_UP_MS 300000 /* a box that is unreachable this long is given up */
#define CAY_SERVICE_KILL_MS 10000   /* a killed command that does not end by then is ended without its END */
#define CAY_SERVICE_FLUSH_MS 60000  /* how long the last output of a command waits for a full disk */
#define CAY_SERVICE_USED_MS 60000   /* how old the stored time of last use may get */
#define CAY_SERVICE_QUICK_MS 50     /* a command that ends sooner is stored once, with its end */
#define CAY_SERVICE_FRESH_MS 1000   /* time for the caller to watch a new command from its first byte */
#define CAY_SERVICE_LET_GO_MS 20000 /* how long a start waits for files that the previous box still uses */
#define CAY_SERVICE_LET_GO_AGAIN_MS 100
#define CAY_SERVICE_LEAVING_MAX                                                                              \
        16                     /* boxes of destroyed sandboxes that are being removed, beyond the living */
#define CAY_SERVICE_LOST_MAX 4 /* known ranges of lost output */
#define CAY_SERVICE_LOST_TEXT (CAY_SERVICE_LOST_MAX * 2 * 21 + 1)
#define CAY_SERVICE_AWAIT_MS 30000 /* time to return to it after our restart */
#define CAY_SERVICE_WATCHERS_MAX 64
#define CAY_SERVICE_INPUTS_MAX 16
#define CAY_SERVICE_BUCKETS 4096u
#define CAY_SERVICE_JSON_MAX CAY_STORE_TEXT_MAX
#define CAY_SERVICE_ARGV_MAX (128u * 1024)

enum cay_event_kind {
#define CAY_EVENT_KIND(name, word, doc) CAY_EVENT_##name,
#include "domain/sandboxes/event_kinds.def"
#undef CAY_EVENT_KIND
        CAY_EVENT_KIND_COUNT
};

/*
 * What the engine or the store borrows until its job is done; it outlives the object that it is about. Freed
 * after on_done. A deadline may call on_done before the job is done; then the job's own end is ignored.
 */
struct cay_async {
        struct cay_service *service;   /* NULL: the service has gone */
        struct cay_engine_row *engine; /* the engine it asks, if any; owned by the service */
        struct cay_sandbox *sandbox;   /* NULL: none, or it has gone */
        struct cay_exec *exec;         /* ref; may be NULL */
        struct cay_async *next, **at;  /* of the service's list */
        void (*on_done)(struct cay_async *e, const struct cay_error *err);
        struct cay_store_commit commit;
        struct cay_store_query query;
        struct cay_job job; /* of the engine */
        struct cay_timer timer;
        unsigned deadline_ms;
        struct cay_spec spec;
        struct cay_engine_box box;
        struct cay_network_stats network_stats;
        struct cay_network_log network_log; /* its entries are owned */
        bool told;                          /* on_done ran */
        bool local;                         /* no word of the engine's */
        bool clones;                        /* a layer that comes after the deadline is to be removed */
        bool is_new;                        /* makes: with a layer that was made for it */
        bool makes;                         /* a box that comes after the deadline is to be destroyed */
        bool tells;                         /* its commit has an event: watchers are told */
        char owner[CAY_NAME_MAX + 1], id[CAY_NAME_MAX + 1]; /* for that */
        char claim[CAY_SERVICE_CLAIM_MAX + 1];
        struct cay_service_call *call;     /* of extend; figures: all who wait for them */
        struct cay_network_before *before; /* owned: of a change of its network */
        uint64_t old_expires_ms, old_idle_ms;
};

/* An engine as the service knows it: available, or known only by name. */
struct cay_engine_row {
        struct cay_service *service;
        char name[CAY_NAME_MAX + 1];
        char note[256];
        struct cay_engine *engine; /* borrowed; NULL: missing */
        bool up;                   /* as of its last message */
        char why[256];             /* when it is not */
        bool ping_out;             /* a request is pending */
        unsigned misses;           /* in a row */
        uint64_t ping_at_ms;       /* monotonic */
        unsigned left_count;       /* files of its sandboxes without a record (recover.c) */
        bool keeps_left;           /* such files are left alone */
        bool files_known;          /* the store says that there are none */
};

enum cay_link_phase {
        CAY_LINK_NONE, /* there is no client */
        CAY_LINK_UP,
        CAY_LINK_PINGED, /* up, and a ping waits for its answer */
        CAY_LINK_LOST,   /* its stream is gone; another one is asked for */
        CAY_LINK_PHASE_COUNT
};
extern const struct cay_phase_table cay_link_phases;

struct cay_sandbox {
        struct cay_service *service;
        struct cay_engine_row *engine; /* its engine; owned by the service */
        struct cay_sandbox *bucket_next;
        struct cay_arena mem; /* texts */

        /* what it was made with */
        char id[CAY_NAME_MAX + 1], name[CAY_NAME_MAX + 1], owner[CAY_NAME_MAX + 1];
        const char *template_name, *workspace_path;
        struct cay_field_map labels, metadata, env;
        const char *labels_json, *metadata_json, *env_json;
        struct cay_limits limits;
        unsigned may_skip;
        enum cay_network network;
        char *policy;  /* owned; of its network (policy_text.h); NULL: an engine's own, or none */
        char *secrets; /* owned; as in struct cay_sandbox_new; NULL: none */
        enum cay_spec_egress egress; /* as the policy needs it */
        bool network_asked;          /* its box's network is being set up or changed */
        bool network_synced;         /* this process told the broker its policy */
        /* as requested; the daemon's own: as last published */
        struct cay_spec_port ports[CAY_SPEC_PORTS_MAX];
        struct cay_spec_port box_ports[CAY_SPEC_PORTS_MAX]; /* of these, the ones that the engine publishes */
        uint16_t published[CAY_SPEC_PORTS_MAX];             /* resulting port of each; 0: unknown */
        struct cay_spec_volume *volumes;                    /* in mem */
        const char **label_words; /* in mem; labels as engines take them, once needed */
        unsigned port_count, box_port_count, volume_count;
        struct cay_sandbox_options options;
        struct cay_pool_made
                *pooled; /* owned: the box that was made ahead for it, until it is used; NULL: none */
        bool brief;      /* not stored: what was kept of it says the rest */
        bool has_workspace;
        enum cay_workspace_mode workspace_mode;
        int workspace_fd;   /* owned; -1: none, or lost with an earlier process */
        int workspace_peer; /* owned until it is used; -1: none */
        unsigned workspace_root;
        char *workspace_below; /* owned; with workspace_root */
        char claim[CAY_SERVICE_CLAIM_MAX + 1];

        /* how it is */
        enum cay_sandbox_phase phase; /* only cay_sandbox_move writes it */
        enum cay_cause cause;
        char cause_text[200];
        uint64_t created_wall_ms, started_wall_ms, changed_wall_ms;
        uint64_t expires_ms, idle_ms, used_ms, used_stored_ms;
        uint64_t paused_ms;               /* PAUSED: since when, in store time; 0: not paused */
        uint64_t stood_ms, was_paused_ms; /* of a resume under way */
        uint8_t secret[CAY_STORE_SECRET];
        bool has_box;    /* the engine has, or may have, a box with this id */
        bool unmaking;   /* at start-up: the box of a stop or start that was cut off is being removed */
        bool stopping;   /* STOPPED is stored; that its box is gone is not, nor the event that says so */
        bool kept;       /* the engine keeps its writable layer: stop leaves it, start uses it again */
        bool layer_seen; /* at start-up: the layer is there */
        unsigned clones; /* copies of its layer that are being made */
        char from[CAY_NAME_MAX + 1]; /* MAKE: the snapshot whose files it gets; "": none */
        void (*on_files)(struct cay_sandbox *sb, const struct cay_error *err); /* when they are copied */
        bool layer_bad;           /* START: it could not be restored */
        bool layer_mended;        /* START: it was damaged, and the last writes may be missing */
        bool dirty;               /* the record is outdated: stored again at the next tick */
        enum cay_state put_state; /* as of the last put */
        bool listed;              /* is in the table */
        bool hidden;              /* somebody was told that it is gone, and its box is on its way out */
        unsigned skipped, watched;
        char *box_workspace; /* owned; NULL: the default place */
        enum cay_template_kind template_kind;

        /* the pending operation */
        char by[CAY_SERVICE_BY_MAX + 1];        /* who asked for the last change; "": nobody, or not known */
        uint64_t begun_ns;                      /* monotonic */
        struct cay_service_call *calls;         /* answered when it is over */
        struct cay_service_call *destroy_calls; /* wait for it, then destroy */
        struct cay_service_call *wake_calls;    /* wait for it, then wake it */
        bool wakes;                             /* it is woken then, whether somebody waits or not */
        bool was_asleep;                        /* RESUME: before it */
        uint64_t reclaimed_bytes;               /* given back by the last pause */
        const char *destroy_why;                /* the destroy that follows; NULL: none */
        struct cay_error why;                   /* of undoing */
        enum cay_state before; /* START: the state before. Engine missing: the stored state */
        enum cay_cause before_cause;
        char before_text[200];
        enum cay_cause lost_as; /* CLEAN: the cause that its commands get */

        struct cay_recording *recording; /* owned (recording_priv.h); NULL: none, or not looked for */
        bool recording_known;            /* it was looked for */
        bool is_undoing;                 /* an undo is under way in this process (undo.c) */

        /* the link */
        struct cay_box_client *client; /* owned */
        enum cay_link_phase link;      /* only link.c writes it */
        bool adopting;                 /* the start waits for it: counted in the service's */
        bool engine_was_down;          /* while the link was lost */
        unsigned misses, relink_tries, short_lives;
        unsigned gone_looks; /* rounds of reading the last messages of a box that is gone */
        uint64_t ping_at_ms, lost_at_ms, linked_at_ms; /* monotonic */
        struct cay_timer relink_timer, gone_timer, adopt_timer;
        struct cay_timer tick_timer; /* its next deadline (tick.c) */
        uint64_t tick_at_ms;         /* monotonic; 0: not armed */
        uint64_t let_go_until_ms;    /* monotonic: until then, a start retries while its files are in use */

        /* what is in it */
        struct cay_exec *execs;       /* ref each; oldest first */
        unsigned exec_count, running; /* running: stored, and its end not announced; cay_exec_move counts */
        struct cay_service_channel *channels;
        unsigned channel_count;
        struct cay_proxied *proxied; /* proxy.h */
        unsigned proxied_count;
        uint64_t oom_seen, pids_seen; /* counts of the box as of the last figures */
        bool figures_unknown;         /* of an adopted box: earlier counts are attributed to nothing */
        bool figures_old;             /* commands ended since */
        struct cay_async *figures;    /* borrowed: asks for them now; NULL: none does */
        struct cay_history *history;  /* owned; NULL: none yet */
        uint64_t history_at_ms;       /* its next point; monotonic, 0: not known yet */
        bool no_history;              /* there was no room when its first point came */
};

#define CAY_RECORDING_SUFFIX ".recording"  /* of its file, behind the sandbox's id */
#define CAY_EXEC_DIGEST_MAX (1024u * 1024) /* bytes of each stream that are hashed */
#define CAY_EXEC_DIGEST_TEXT 65u

struct cay_digest;

struct cay_exec_digest {
        struct cay_digest *sum;          /* owned; NULL: not begun, or ended */
        uint64_t bytes;                  /* that came, hashed or not */
        bool is_lost;                    /* it cannot be computed */
        char text[CAY_EXEC_DIGEST_TEXT]; /* once ended */
};

struct cay_exec {
        struct cay_service *service;
        struct cay_sandbox *sandbox; /* NULL: it has gone */
        struct cay_exec *next;
        unsigned refs;
        struct cay_arena mem, start_mem; /* texts; those that only starting needs */
        char id[CAY_NAME_MAX + 1], sandbox_id[CAY_NAME_MAX + 1];
        char owner[CAY_NAME_MAX + 1];    /* who asked for it: for the claim */
        char by[CAY_SERVICE_BY_MAX + 1]; /* with which credential: for the journal */

        const char **argv;
        const char *cwd, *user_text, *argv_json;
        const char *context, *language; /* "": it is no kernel */
        bool runs_code;                 /* of a kernel: a run has it */
        uint32_t runs;
        const char *term;
        struct cay_field_map env; /* start_mem: may hold secrets, not stored */
        bool is_line, has_stdin, tty, background, output_cut;
        bool waits;      /* whoever asked for it is told of its end alone */
        bool takes_step; /* before it runs */
        uint16_t rows, cols;
        uint64_t timeout_ms, cpu_time_ms, output_bytes;
        char claim[CAY_SERVICE_CLAIM_MAX + 1];

        enum cay_exec_phase phase; /* only cay_exec_move writes it */
        bool ran;                  /* init said so: stays true in later phases */
        bool begun;                /* init said to this process that it runs, or did */
        bool start_told, end_told; /* exec_started and exec_ended are in the journal, or on their way there */
        bool told_together;        /* in one batch */
        bool has_figures;          /* the engine was asked for them after its end */
        struct cay_exec_call *call;   /* start, not answered yet */
        bool dirty;                   /* its record is outdated */
        bool is_dropped;              /* its record is: removed at the next tick */
        struct cay_async *dropped_by; /* borrowed: the commit that drops its record; NULL: none does */
        /* monotonic: until then, its end waits for its last output; 0: it does not */
        uint64_t flush_until_ms;
        bool held;      /* acknowledgements are withheld */
        bool abandoned; /* abandoned, but the box could not be told yet */
        bool in_closed;
        bool in_lost;  /* some of its input was lost: ended for that */
        bool was_left; /* a terminal that was left alone: ended for that */
        bool output_gone;
        /* ordered, disjoint; one more while one is added */
        struct cay_exec_lost lost[CAY_SERVICE_LOST_MAX + 1];
        unsigned lost_count;
        uint32_t channel_number, pid;
        uint64_t started_wall_ms, ended_wall_ms;
        uint64_t deadline_ms; /* store time; 0: none */
        uint64_t used_ms;     /* store time of the last input, output or watcher */
        uint64_t force_at_ms; /* monotonic: then it is ended without an END; 0: never */
        enum cay_cause force_as;
        struct cay_timer start_timer;
        struct cay_timer quick_timer; /* then its start is stored by itself, and told */

        struct cay_box_channel ch;
        struct cay_box_lookup lookup;
        struct cay_user user;
        struct cay_box_facts facts;
        uint64_t oom_before, pids_before;

        /* how it ended */
        int exit_code, signal;
        enum cay_cause cause;
        unsigned hints;
        char cause_text[200];
        uint64_t wall_us, cpu_us, memory_peak, cut_bytes;
        struct cay_exec_network *network; /* owned; NULL: nothing was refused */
        uint64_t asked_ns;                /* monotonic */

        struct cay_spool spool;                                  /* open while it runs or is read */
        uint64_t output_first, output_end, out_bytes, err_bytes; /* as of the last time it was open */
        bool fresh;              /* nobody could watch it yet: nothing is dropped */
        uint64_t fresh_until_ms; /* monotonic */
        bool awaited;            /* a watcher may return: nothing from awaited_from on is dropped */
        uint64_t awaited_from, awaited_until_ms; /* monotonic */
        uint64_t owed[CAY_SPOOL_STREAMS];        /* received, not acknowledged */
        struct cay_buf pending;                  /* could not be written: stream, length, bytes… */
        struct cay_exec_digest digests[CAY_SPOOL_STREAMS];
        struct cay_exec_watcher *watchers;
        unsigned watcher_count;
        struct cay_exec_input *inputs;
        unsigned input_count;
        struct cay_deferred notify, after_end;
        bool notify_queued;
};

struct cay_claim {
        struct cay_claim *next;
        char owner[CAY_NAME_MAX + 1], key[CAY_SERVICE_CLAIM_MAX + 1], id[CAY_NAME_MAX + 1];
};

struct cay_service {
        struct cay_service_env env;
        struct cay_loop *loop;
        struct cay_engine_row engines[CAY_SERVICE_ENGINES_MAX];
        unsigned engine_count;
        struct cay_store *store;
        void (*on_ready)(struct cay_service *s, void *ctx);
        void *ready_ctx;
        bool ready;
        struct cay_service_report report;
        struct cay_sandbox *buckets[CAY_SERVICE_BUCKETS];
        struct cay_sandbox **sorted; /* owned; by (created_wall_ms, id) */
        unsigned count, cap;
        struct cay_async *async_ops;
        struct cay_event_watch *event_watches;
        struct cay_claim *claims;        /* owned: of requests under way */
        struct cay_snapshots *snapshots; /* owned (snapshot_priv.h) */
        struct cay_left *left;           /* owned: files without a record (recover.c) */
        unsigned left_count;
        bool probing;                   /* a full store is being probed */
        bool full_told;                 /* the full store was logged */
        struct cay_timer network_timer; /* boxes without a network are tried again */
        struct cay_timer tick_timer;
        uint64_t tick_at_ms; /* monotonic; 0: not armed */
        uint64_t walk_at_ms; /* monotonic: then all sandboxes are checked, whatever their timers say */
        unsigned adopting;   /* pending operations of the start */
        uint64_t adoptions, relinks;
        struct cay_pool pool;
        struct cay_timer pool_timer; /* the next look at it */
        bool pool_making;            /* one is under way */
        struct cay_meters meters;
        struct cay_network_totals network_totals;
};

/* service.c */
void *cay_service_alloc(size_t size);                  /* zeroed; stops the process when there is no memory */
uint64_t cay_service_now(const struct cay_service *s); /* store time */
uint64_t cay_service_wall(const struct cay_service *s); /* for people */
int cay_service_make_id(const struct cay_service *s, char id[CAY_NAME_MAX + 1], struct cay_error *err);
void cay_service_fail_job(struct cay_service *s, struct cay_job *job, const struct cay_error *err);
int cay_service_check_ready(const struct cay_service *s, struct cay_error *err);
/* A record is outdated and tried again: logs it; a full disk is logged once, not for every record and try. */
void cay_service_log_unstored(struct cay_service *s, const char *what, const char *id,
                              const struct cay_error *err);

/* engines.c */
void cay_engines_open(struct cay_service *s);  /* from the environment */
void cay_engines_close(struct cay_service *s); /* no further messages */
struct cay_engine_row *cay_engine_default(struct cay_service *s);
struct cay_engine_row *cay_engine_find(struct cay_service *s, const char *name); /* NULL: none */
/* By name; an unknown one gets a row without an engine. NULL: too many names. */
struct cay_engine_row *cay_engine_of_record(struct cay_service *s, const char *name);
/* For a new sandbox; NULL with CAY_INVALID or CAY_CONFLICT. */
struct cay_engine_row *cay_engine_pick(struct cay_service *s, const char *name, struct cay_error *err);
bool cay_engine_is_up(struct cay_engine_row *row, char why[256]);
void cay_engines_health(struct cay_service *s, const struct cay_viewer *v, struct cay_service_health *ret);
void cay_engine_note(struct cay_engine_row *row,
                     const struct cay_error *err); /* takes the result of one of its jobs into account */
void cay_engine_set(struct cay_engine_row *row, bool up, const char *why);
void cay_engine_ping(struct cay_service *s, uint64_t now_ms); /* engine_ping.c: asks those that are due */
bool cay_sandbox_is_away(const struct cay_sandbox *sb);       /* its engine is missing */
int cay_sandbox_check_engine(const struct cay_sandbox *sb, struct cay_error *err); /* CAY_UNAVAILABLE */

/* async.c */
struct cay_async *cay_async_new(struct cay_service *s, struct cay_sandbox *sb, struct cay_exec *x,
                                void (*on_done)(struct cay_async *e, const struct cay_error *err));
void cay_async_commit(struct cay_async *e, struct cay_store_batch *b); /* takes b */
void cay_async_query(struct cay_async *e);
/* Call it before the engine gets e->job: on_done comes after `ms` at the latest, as CAY_TIMEOUT. */
struct cay_job *cay_async_engine(struct cay_async *e, unsigned ms);
/* The same, and returns the engine. NULL: missing; on_done is called with that from the loop. */
struct cay_engine *cay_async_ask(struct cay_async *e, unsigned ms, struct cay_job **ret_job);
void cay_async_forget_sandbox(struct cay_service *s, struct cay_sandbox *sb);
void cay_async_let_go_all(struct cay_service *s);
/* Has the engine remove e->box within `ms`, with its layer or (keep) without it. */
void cay_async_unmake(struct cay_async *e, bool keep, unsigned ms);
/* Removes a box without an owner, or (keep) all but its layer; the result is only logged. */
void cay_async_remove_box(struct cay_engine_row *row, const char *id, bool keep);

/* recording.c: writes it into the recording, if there is one (recording.h) */
void cay_recording_exec(struct cay_exec *x); /* it was sent; before its variables are forgotten */
void cay_recording_input(struct cay_exec *x, const void *bytes, size_t len);
void cay_recording_input_end(struct cay_exec *x);
void cay_recording_output(struct cay_exec *x, const void *bytes, size_t len); /* of a terminal */
void cay_recording_resize(struct cay_exec *x, unsigned rows, unsigned cols);
void cay_recording_signal(struct cay_exec *x, int signo); /* 0: it is killed */
void cay_recording_exec_end(struct cay_exec *x);
uint64_t cay_recording_file(struct cay_sandbox *sb,
                            const struct cay_box_open *open); /* its number; 0: none */
void cay_recording_file_data(struct cay_sandbox *sb, uint64_t number, const void *bytes, size_t len);
void cay_recording_file_end(struct cay_sandbox *sb, uint64_t number, unsigned code, uint64_t bytes,
                            const char *digest);

/* recording_begin.c */
void cay_recording_stop(struct cay_sandbox *sb, const char *why); /* also when there is none */
void cay_recording_close(struct cay_sandbox *sb);                 /* the file stays */
void cay_recording_remove(struct cay_sandbox *sb);

/* file_note.c: one channel */
bool cay_file_note_is_for(unsigned kind); /* it changes files */
void cay_file_note_begin(struct cay_service_channel *ch, const struct cay_viewer *v,
                         const struct cay_box_open *open);
void cay_file_note_data(struct cay_service_channel *ch, const void *bytes, size_t len); /* that were taken */
void cay_file_note_end(struct cay_service_channel *ch, unsigned code);                  /* enum cay_code */

/* exec_digest.c */
void cay_exec_digest_add(struct cay_exec *x, unsigned stream, const void *bytes, size_t len);
/* "" if there is none. May be called again. */
void cay_exec_digest_end(struct cay_exec *x, unsigned stream, char ret[CAY_EXEC_DIGEST_TEXT]);
void cay_exec_digest_free(struct cay_exec *x, unsigned stream);

/* event.c */
/* Who asks for the change that begins now; NULL: nobody does, it is the daemon's own. */
void cay_sandbox_asked_by(struct cay_sandbox *sb, const struct cay_viewer *v);
/*
 * Adds an event to a batch and notes on the async operation that watchers are to be told. fmt: JSON members
 * as `name` or text pairs, NULL-terminated.
 */
void cay_event_put(struct cay_async *e, struct cay_store_batch *b, const struct cay_sandbox *sb,
                   enum cay_event_kind kind, ... /* name, value; NULL */);
/* The same of one that may be gone. */
void cay_event_put_of(struct cay_async *e, struct cay_store_batch *b, const char *sandbox, const char *owner,
                      enum cay_event_kind kind, ... /* name, value; NULL */);
/* The same without a sandbox: only administrators see it. */
void cay_event_put_daemon(struct cay_async *e, struct cay_store_batch *b, enum cay_event_kind kind,
                          ... /* name, value; NULL */);
void cay_event_tell(struct cay_service *s, const char *owner, const char *sandbox);
/* Entries were written to the log of its network, or it has none any more. */
void cay_event_tell_network(struct cay_service *s, const char *owner, const char *sandbox);
void cay_event_drop_all(struct cay_service *s);

/* record.c */
int cay_record_make_texts(struct cay_sandbox *sb,
                          struct cay_error *err); /* the JSON texts that never change */
void cay_record_put_sandbox(struct cay_sandbox *sb, struct cay_store_batch *b, enum cay_state state);
void cay_record_put_sandbox_as(struct cay_sandbox *sb, struct cay_store_batch *b, enum cay_state state,
                               enum cay_cause cause, const char *text);
void cay_record_put_exec(struct cay_exec *x, struct cay_store_batch *b);
void cay_record_print_options(struct cay_json *j, const struct cay_sandbox_options *o); /* members */
int cay_record_argv_text(struct cay_exec *x, struct cay_error *err);
int cay_record_read_sandbox(struct cay_service *s, const struct cay_store_sandbox *r,
                            struct cay_sandbox **ret, struct cay_error *err);
int cay_record_read_exec(struct cay_service *s, struct cay_sandbox *sb, const struct cay_store_exec *r,
                         struct cay_exec **ret, struct cay_error *err);
size_t cay_record_exec_size(const struct cay_exec *x); /* its approximate size in a batch */
int cay_record_copy_map(struct cay_arena *mem, const struct cay_field_map *from, struct cay_field_map *ret);

/* table.c */
int cay_table_add(struct cay_service *s, struct cay_sandbox *sb); /* -ENOSPC: too many */
void cay_table_remove(struct cay_service *s, struct cay_sandbox *sb);
struct cay_sandbox *cay_table_find(struct cay_service *s, const char *id);
struct cay_sandbox *cay_table_find_name(struct cay_service *s, const char *owner, const char *name);
bool cay_table_may_see(const struct cay_viewer *v,
                       const struct cay_sandbox *sb); /* the one place that decides it */
/* By id or the viewer's name for it; NULL with CAY_NOT_FOUND. */
struct cay_sandbox *cay_table_get(struct cay_service *s, const struct cay_viewer *v, const char *id,
                                  struct cay_error *err);
bool cay_table_filter_takes(struct cay_sandbox *sb, const struct cay_viewer *v,
                            const struct cay_sandbox_filter *f);

/* sandbox_phase.c */
/* The only writer of its phase: sandbox_phases.def must have the pair. */
void cay_sandbox_move(struct cay_sandbox *sb, enum cay_sandbox_event event);
void cay_sandbox_count(struct cay_sandbox *sb, bool more); /* the number of running commands changed */
enum cay_state cay_sandbox_state(const struct cay_sandbox *sb);
enum cay_pending cay_sandbox_pending(const struct cay_sandbox *sb);
bool cay_sandbox_is_stored(const struct cay_sandbox *sb); /* the store has a record */

/* sandbox.c */
struct cay_sandbox *cay_sandbox_new(struct cay_service *s);
/* Of a byte stream. Rings grow by need, so the larger one costs only those who fill it. */
uint32_t cay_sandbox_window(const struct cay_sandbox *sb);
void cay_sandbox_free(struct cay_sandbox *sb); /* frees it with all that is in it; the box is left alone */
void cay_sandbox_settle(
        struct cay_sandbox *sb); /* the running commands changed: stores the state if it is new */
void cay_sandbox_set_cause(struct cay_sandbox *sb, enum cay_cause cause, const char *text);
void cay_sandbox_use(struct cay_sandbox *sb);
bool cay_sandbox_is_idle(const struct cay_sandbox *sb);     /* only waiting kernels run, nothing is open */
bool cay_sandbox_counts_idle(const struct cay_sandbox *sb); /* and it ends if that lasts */
int cay_sandbox_check_usable(const struct cay_sandbox *sb,
                             struct cay_error *err); /* commands, files, ports */
int cay_sandbox_check_pairs(const char *what, const struct cay_field_map *map, bool is_env,
                            struct cay_error *err);
int cay_sandbox_check_free(const struct cay_sandbox *sb,
                           struct cay_error *err);        /* no operation is under way */
bool cay_sandbox_is_ending(const struct cay_sandbox *sb); /* the pending operation removes its box */
void cay_sandbox_begin(struct cay_sandbox *sb, enum cay_sandbox_event event, struct cay_service_call *c);
/*
 * The pending operation is over, and the phase says so. Answers its calls and starts what waited for it. sb
 * may be freed.
 */
void cay_sandbox_finish(struct cay_sandbox *sb, const struct cay_error *err);
void cay_sandbox_answer(struct cay_service *s, struct cay_service_call **calls, const struct cay_error *err);
void cay_sandbox_store_again(struct cay_sandbox *sb); /* stores the record; a failure leaves it dirty */
void cay_sandbox_empty(struct cay_sandbox *sb, const struct cay_error *why); /* closes link and channels */
void cay_sandbox_fill_view(struct cay_sandbox *sb, struct cay_sandbox_view *ret);
/* sandbox_check.c: owner and name are valid, and the name is free */
int cay_sandbox_check_names(struct cay_service *s, const struct cay_sandbox_new *w, struct cay_error *err);

/* All of these: the values of `w`, and room for it. */
int cay_sandbox_check_new(struct cay_service *s, const struct cay_sandbox_new *w, struct cay_error *err);

/* No pause, resume, stop or start while a copy of its files is made. */
int cay_sandbox_check_still(const struct cay_sandbox *sb, struct cay_error *err);
uint64_t cay_service_disk_of(const struct cay_service *s, const char *owner); /* sandbox_make.c: bytes */

/* snapshot.c */
void cay_snapshots_open(struct cay_service *s);
void cay_snapshots_close(struct cay_service *s, const struct cay_error *err);
int cay_snapshots_load(struct cay_service *s, struct cay_error *err); /* snapshot_record.c */
uint64_t cay_snapshots_disk(const struct cay_service *s, const char *owner);
void cay_snapshots_tick(struct cay_service *s, uint64_t now_ms);
bool cay_snapshots_note_layer(struct cay_service *s, const char *id); /* true: it is a snapshot's */
void cay_snapshots_note_missing(struct cay_engine_row *row);          /* all of its layers were noted */

/* sandbox_from.c: its files come from a snapshot */
int cay_sandbox_from(struct cay_sandbox *sb, const char *snapshot, struct cay_error *err); /* of a new one */
void cay_sandbox_get_files(struct cay_sandbox *sb,
                           void (*then)(struct cay_sandbox *sb, const struct cay_error *err));

/* sandbox_extras.c: networks, ports, volumes */
int cay_sandbox_read_extras(struct cay_sandbox *sb, enum cay_network network,
                            const struct cay_field_texts *ports, const struct cay_field_texts *volumes,
                            struct cay_error *err);
int cay_sandbox_check_extras(const struct cay_sandbox *sb,
                             struct cay_error *err); /* whether its engine supports it */
int cay_sandbox_check_own_ports(const struct cay_sandbox *sb,
                                struct cay_error *err); /* whether its owner's share allows it */
int cay_sandbox_put_extras(struct cay_sandbox *sb, struct cay_spec *spec, struct cay_error *err);
void cay_sandbox_note_ports(struct cay_sandbox *sb, const struct cay_engine_box *box);
void cay_sandbox_view_extras(const struct cay_sandbox *sb, struct cay_sandbox_view *ret);
bool cay_sandbox_has_own_ports(const struct cay_sandbox *sb); /* those that the daemon serves itself */
/* Asks for host ports for them; the result is in the async operation's box. */
struct cay_async *cay_sandbox_publish(struct cay_sandbox *sb,
                                      void (*on_done)(struct cay_async *e, const struct cay_error *err));
bool cay_sandbox_note_own_ports(struct cay_sandbox *sb,
                                const struct cay_engine_box *box); /* true: one has changed */
void cay_sandbox_unpublish(struct cay_sandbox *sb);                /* also when there are none */

/* sandbox_network.c */
void cay_sandbox_send_secrets(struct cay_sandbox *sb); /* to the broker, which has it already */
/* policy: NULL: none given. Copied and checked; the engine is known. */
int cay_sandbox_read_policy(struct cay_sandbox *sb, const char *policy, struct cay_error *err);
int cay_sandbox_check_datagrams(const struct cay_sandbox *sb, struct cay_error *err);
unsigned cay_sandbox_unheld_network(const struct cay_sandbox *sb); /* limits (mask) that its engine ignores */
int cay_sandbox_check_network_limits(const struct cay_sandbox *sb, struct cay_error *err);
int cay_sandbox_put_network(const struct cay_sandbox *sb, struct cay_spec *spec, struct cay_error *err);
/* Gives the sockets of a new box to the broker. Takes fd. */
/* Its engine cannot hand over sockets: its way out, if it has a policy, is a proxy in the box. */
bool cay_sandbox_is_proxied(const struct cay_sandbox *sb);
struct cay_async *cay_sandbox_connect_take(struct cay_sandbox *sb, int fd,
                                           void (*on_done)(struct cay_async *e, const struct cay_error *err));
void cay_network_drop(struct cay_service *s, const char *id); /* also when it has none */
void cay_network_open(struct cay_service *s);                 /* records are loaded */
void cay_network_tend(struct cay_service *s); /* gives a network to boxes that should have one and do not */
void cay_network_tend_soon(struct cay_service *s); /* in the next rounds of the loop */
void cay_network_try_again(struct cay_service *s); /* the same, soon */
void cay_network_close(struct cay_service *s);

/* sandbox_network_change.c */
/*
 * Its rules to its box and to the broker. call: answered when they are in force; NULL: nobody waits. before
 * (taken): put back if it had none; NULL.
 */
void cay_network_apply(struct cay_sandbox *sb, struct cay_service_call *call,
                       struct cay_network_before *before);
void cay_network_before_free(struct cay_network_before *b); /* accepts NULL */

/* sandbox_pool.c */
/*
 * A new sandbox, not in the table yet: gives it a box that was made ahead (sb->pooled, and its id), if there
 * is one.
 */
void cay_pool_try(struct cay_sandbox *sb, unsigned want);
bool cay_pool_use(struct cay_sandbox *sb, struct cay_async *e); /* ends e with that box; false: it has none */
void cay_pool_unuse(struct cay_sandbox *sb);                    /* it comes to nothing: the box is removed */
void cay_pool_tend(struct cay_service *s, uint64_t in_ms);
void cay_pool_on_gone(struct cay_engine_row *row, const char *id); /* also when it is none of the pool's */
void cay_pool_clear(struct cay_engine_row *row, bool remove_boxes);
void cay_pool_close(struct cay_service *s);

/* sandbox_unmake.c */
/* Without a caller that waits: as cay_service_pause and cay_service_stop, of one that is usable. */
void cay_sandbox_pause(struct cay_sandbox *sb);
void cay_sandbox_resume(struct cay_sandbox *sb, struct cay_service_call *c); /* a paused one; c may be NULL */

/* sandbox_sleep.c */
bool cay_sandbox_sleeps(const struct cay_sandbox *sb); /* or is on its way there, or back */
void cay_sandbox_check_sleep(struct cay_sandbox *sb, uint64_t now_ms);
void cay_sandbox_wake(struct cay_sandbox *sb, struct cay_service_call *c); /* one that sleeps */
void cay_sandbox_wake_waiting(struct cay_sandbox *sb, const struct cay_error *err);
void cay_sandbox_stop(struct cay_sandbox *sb, struct cay_service_call *c); /* c: NULL: none */
/*
 * One that rests at the end of its time to live (on_timeout) has no such end from then on. The caller stores
 * it.
 */
void cay_sandbox_note_expiry(struct cay_sandbox *sb);
void cay_sandbox_destroy(struct cay_sandbox *sb, const char *why, struct cay_service_call *c);
/* False: another operation is pending; nothing was done. */
bool cay_sandbox_gone(struct cay_sandbox *sb, enum cay_cause as, const char *text);
void cay_sandbox_tell_stopped(
        struct cay_sandbox *sb); /* its box is gone: the event of a stop, if it is due */
void cay_sandbox_fail(struct cay_sandbox *sb, enum cay_cause cause, const char *text); /* ERROR, box kept */
void cay_sandbox_recover(struct cay_sandbox *sb);

/* sandbox_change.c */
void cay_sandbox_greeted(struct cay_sandbox *sb); /* WELCOME came: completes a resume that waits for it */
void cay_sandbox_refresh_figures(struct cay_sandbox *sb);
void cay_sandbox_note_figures(struct cay_sandbox *sb, const struct cay_engine_stats *stats);
void cay_sandbox_let_figures_go(
        struct cay_sandbox *sb); /* tells those who wait for figures that an operation is under way */

/* link.c */
/* Takes fd; -1: none yet, it is requested later. */
int cay_link_attach(struct cay_sandbox *sb, int fd, bool adopting, struct cay_error *err);
void cay_link_close(struct cay_sandbox *sb);
bool cay_link_is_silent(
        const struct cay_sandbox *sb);         /* it missed so many pings that it counts as unreachable */
void cay_link_silence(struct cay_sandbox *sb); /* as if it had missed them */
void cay_link_resumed(struct cay_sandbox *sb); /* it was paused, and could not answer */
void cay_link_again(struct cay_sandbox *sb);   /* requests a lost link now */
void cay_link_ping(struct cay_sandbox *sb, uint64_t now_ms);
void cay_link_on_gone(void *ctx, const char *id); /* called by an engine: ctx is its row */

/* adopt.c */
int cay_adopt_begin(struct cay_service *s, struct cay_error *err);
void cay_adopt_welcome(struct cay_sandbox *sb, const struct cay_box_welcome *w);
void cay_adopt_done(struct cay_sandbox *sb); /* one operation of the start is over */

/* adopt_load.c */
int cay_adopt_load(struct cay_service *s, struct cay_error *err); /* records become sandboxes and commands */
void cay_adopt_sweep_spools(struct cay_service *s);               /* of commands that have no record */

/* adopt_unowned.c. For each available engine, when records are loaded. */
void cay_adopt_remove_unowned(struct cay_engine_row *row); /* boxes */
void cay_adopt_sort_layers(struct cay_engine_row *row);    /* kept files: found, removed, or lost */
/* Of an engine that has another helper: kept files that nobody knows. */
void cay_adopt_remove_left_layers(struct cay_engine_row *row);
void cay_adopt_on_files_lost(void *ctx, const char *id); /* ctx: the row; somebody else removed them */

/* recover.c */
int cay_left_load(struct cay_service *s,
                  struct cay_error *err); /* whether files without a record may be removed */
void cay_left_add(struct cay_engine_row *row, const char *id);
void cay_left_note(struct cay_engine_row *row); /* all of its files were checked: stores that if it is new */
void cay_left_tell(struct cay_service *s);      /* all of them were added: tells log and journal */
void cay_left_free(struct cay_service *s);

/* undo.c: an undo that another front began */
void cay_undo_go_on(struct cay_sandbox *sb); /* also when there is none */
void cay_undo_go_on_all(struct cay_service *s);

/* tick.c */
void cay_tick_by(struct cay_service *s, uint64_t in_ms); /* the engines and the store, within this time */
void cay_tick_sandbox(struct cay_sandbox *sb,
                      uint64_t in_ms);    /* this sandbox and its commands; accepts NULL */
void cay_tick_all(struct cay_service *s); /* everything, soon */
void cay_tick_stop(struct cay_service *s);
void cay_tick_forget(struct cay_sandbox *sb); /* it is being freed */

/* exec.c */
struct cay_exec *cay_exec_new(struct cay_service *s, struct cay_sandbox *sb);
void cay_exec_unref(struct cay_exec *x); /* accepts NULL */
struct cay_exec *cay_exec_ref(struct cay_exec *x);
/* sandbox_from.c: mounts two of its owner's snapshots in it, to be compared */
int cay_sandbox_compare(struct cay_sandbox *sb, const char *const ids[2], struct cay_error *err);
/* snapshot_make.c: whether its engine has snapshots */
int cay_snapshot_check_engine(const struct cay_sandbox *sb, struct cay_error *err);
/* step.c: `then` with what became of it, unless the command has ended meanwhile. */
void cay_exec_take_step(struct cay_exec *x, void (*then)(struct cay_exec *x, const struct cay_error *err));
void cay_exec_list_add(struct cay_sandbox *sb, struct cay_exec *x);
void cay_exec_remove(struct cay_exec *x); /* removes it from its sandbox, with its spool; x may be freed */
struct cay_exec *cay_exec_get(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                              const char *exec, struct cay_sandbox **ret_sb, struct cay_error *err);
void cay_exec_fill_view(const struct cay_exec *x, struct cay_exec_view *ret);
/*
 * Whether it is interactive: a shell in a terminal, mostly. It has only its own time limit, and ends when it
 * is left alone.
 */
bool cay_exec_is_terminal(const struct cay_exec *x);
/* Whether it runs code for a context (domain/contexts). */
bool cay_exec_is_kernel(const struct cay_exec *x);
void cay_exec_use(struct cay_exec *x); /* it had input, output, or a watcher */
/* How long it has been left alone; 0 while it is watched. */
uint64_t cay_exec_idle_ms(const struct cay_exec *x);
void cay_exec_drop_record(struct cay_exec *x);
void cay_exec_spool_name(const struct cay_exec *x, char ret[2 * CAY_NAME_MAX + 2]);
/*
 * Ended ones beyond the limit: their records are dropped in the batch of e; they go themselves with the next
 * tick after it is stored, off the path of any answer.
 */
void cay_exec_put_trim(struct cay_async *e, struct cay_store_batch *b, struct cay_sandbox *sb);
void cay_exec_note_trim(const struct cay_async *e, struct cay_sandbox *sb, bool is_stored);
void cay_exec_trim(struct cay_sandbox *sb); /* from a tick */

/* exec_phase.c */
/*
 * The only writer of its phase: exec_phases.def must have the pair. False: the phase stays, and this was
 * expected.
 */
bool cay_exec_move(struct cay_exec *x, enum cay_exec_event event);
enum cay_exec_state cay_exec_state(const struct cay_exec *x); /* for clients */
bool cay_exec_is_alive(const struct cay_exec *x);             /* its end is not known */
bool cay_exec_is_judged(const struct cay_exec *x);            /* its cause is known, but not announced */
bool cay_exec_is_due(const struct cay_exec *x);    /* the same, and no commit of its end is under way */
bool cay_exec_is_ended(const struct cay_exec *x);  /* its end was announced */
bool cay_exec_is_stored(const struct cay_exec *x); /* the store has a record */

/* exec_start.c */
void cay_exec_maybe_answer(struct cay_exec *x);
void cay_exec_refuse(struct cay_exec *x, const struct cay_error *err); /* before it ran: leaves no trace */
/* Its first commit failed: the caller is told, and nothing of it stays. x may be freed. */
void cay_exec_unstored(struct cay_exec *x, const struct cay_error *err);
extern const struct cay_box_channel cay_exec_channel_events;

/* exec_end.c */
void cay_exec_on_end(struct cay_box_channel *ch, const struct cay_box_end *end);
/*
 * Ends it without init's END: by us (killed_by_us) or lost. Decides its cause at once and stores nothing. A
 * cause decided earlier stays. A command that was not sent yet is refused, and x may be freed.
 */
void cay_exec_end_without(struct cay_exec *x, enum cay_cause as, const char *text);
/* The same, and stores it separately. */
void cay_exec_end_and_store(struct cay_exec *x, enum cay_cause as, const char *text);
void cay_exec_end_known(struct cay_exec *x, const struct cay_box_end *end); /* as read back from the spool */
/* Ends all running ones without an END, and stores each separately. */
void cay_exec_end_all(struct cay_sandbox *sb, enum cay_cause as, const char *text);
void cay_exec_verdict(struct cay_exec *x);             /* commits its end, unless other code does */
void cay_exec_tell(struct cay_exec *x);                /* its sandbox's commit stored it: tells watchers */
void cay_exec_check_flush(struct cay_exec *x);         /* the last output may fit into the spool now */
void cay_exec_force_end(struct cay_exec *x);           /* its time is over without an END */
void cay_exec_store_again(struct cay_exec *x);         /* the record of an ended one is outdated */
void cay_exec_tell_start(struct cay_exec *x);          /* commits the event, when it is true and due */
bool cay_exec_is_spoken_for(const struct cay_exec *x); /* a commit of its sandbox tells its end */
void cay_exec_put_started(struct cay_async *e, struct cay_store_batch *b, struct cay_exec *x);
void cay_exec_put_ended(struct cay_async *e, struct cay_store_batch *b, struct cay_exec *x);
void cay_exec_note_untold(struct cay_exec *x); /* the batch of cay_exec_put_ended failed */

/* exec_network.c */
void cay_exec_note_network(struct cay_exec *x, const struct cay_network_entry *e);
/* True: what the broker wrote is on its way, and cay_exec_network_settled follows. */
bool cay_exec_settle_network(struct cay_exec *x);
void cay_exec_network_settled(struct cay_exec *x); /* exec_end.c */
void cay_exec_note_no_network(struct cay_exec *x); /* when its end is known, and its spool is still open */
void cay_exec_network_text(const struct cay_exec *x,
                           struct cay_buf *out); /* of one that has some: for the record */
void cay_exec_network_read(struct cay_exec *x, const char *text);

/* exec_output.c */
void cay_exec_on_data(struct cay_box_channel *ch, enum cay_stream stream, const void *bytes, size_t len);
void cay_exec_release(struct cay_exec *x); /* acknowledges what it may */
void cay_exec_flush_pending(struct cay_exec *x);
uint64_t cay_exec_drop_pending(struct cay_exec *x); /* how many bytes of output those were */
void cay_exec_notify(struct cay_exec *x);
int cay_exec_open_spool(struct cay_exec *x, struct cay_error *err);
uint64_t cay_exec_output_end(const struct cay_exec *x); /* cursor */
/* exec_lost.c: records and logs that bytes [from, to) of the output are damaged, and fills err; -1. */
int cay_exec_fail_lost(struct cay_exec *x, uint64_t from, uint64_t to, struct cay_error *err);
void cay_exec_lost_text(const struct cay_exec *x, char ret[CAY_SERVICE_LOST_TEXT]); /* for the record */
void cay_exec_lost_read(struct cay_exec *x, const char *text);
void cay_exec_close_spool(struct cay_exec *x);
void cay_exec_drop_watchers(struct cay_exec *x);

/* exec_input.c */
void cay_exec_on_room(struct cay_box_channel *ch);
void cay_exec_end_inputs(struct cay_exec *x, const struct cay_error *err);
void cay_exec_resume_input(struct cay_exec *x);   /* it is known now how much init has received */
void cay_exec_kill_abandoned(struct cay_exec *x); /* now; or it stays abandoned, and a tick tries again */

/* claim.c */
/* Reserves the claim for a request; NULL, or the request that has it. Release it with cay_claim_release. */
const char *cay_claim_take(struct cay_service *s, const char *owner, const char *key, const char *id);
void cay_claim_release(struct cay_service *s, const char *owner, const char *key);
void cay_claim_release_all(struct cay_service *s);
void cay_claim_look_up(struct cay_async *e, const char *owner, const char *key); /* rows: the first one's */
void cay_claim_say_taken(struct cay_error *err, const char *claim, const char *first);
int cay_claim_check(const char *claim, struct cay_error *err);

/* channel.c */
void cay_channel_end_all(struct cay_sandbox *sb, const struct cay_error *why);
