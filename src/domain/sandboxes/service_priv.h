/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the service know of each other.
 *
 *   service.c        opening, closing, health            sandbox.c          one sandbox: its state, its views, its end
 *   table.c          finding and listing                 sandbox_make.c     create, start
 *   async.c          jobs of engine and store            sandbox_unmake.c   stop, destroy, cleanup, a box that went by itself
 *   event.c          the journal                         sandbox_change.c   pause, resume, extend, stats
 *   record.c         objects ↔ records of the store      link.c             the box link: lost, back, pinged
 *   tick.c           deadlines                           exec*.c            commands: start, output, input, end
 *   adopt*.c         start-up                            channel.c          files and ports
 *   engines.c        the engines there are              meters.c           counts and times, of all and of each owner
 *   recover.c        files that no record knows of       *_phase.c          the tables of their lives, and the one writer of each
 *
 * Ownership. The service owns sandboxes and async operations; a sandbox owns its box client and its execs' place in its list; an exec lives
 * while its sandbox lists it, a watcher watches it or an async operation is about it (refs).
 */
#pragma once

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
#include "domain/sandboxes/sandbox_phase.h"
#include "domain/sandboxes/service.h"
#include "domain/sandboxes/spool.h"
#include "domain/sandboxes/steps.h"

#define CAY_SERVICE_MAKE_MS 30000    /* the engine makes a box within this */
#define CAY_SERVICE_UNMAKE_MS 30000  /* and unmakes one */
#define CAY_SERVICE_ENGINE_MS 10000  /* and does anything else */
#define CAY_SERVICE_STATS_MS 10000   /* how long the verdict on a command waits for figures */
#define CAY_SERVICE_START_MS 30000   /* a command starts within this */
#define CAY_SERVICE_WELCOME_MS 10000 /* an adopted box answers within this */
#define CAY_SERVICE_GONE_MS                                                                                  \
        1000 /* the engine says that a box is gone: its last words may still be in the link */
#define CAY_SERVICE_GIVE_UP_MS 300000 /* a box that cannot be reached for so long is given up */
#define CAY_SERVICE_KILL_MS                                                                                  \
        10000 /* a command that was to be killed and does not end is ended without its word */
#define CAY_SERVICE_FLUSH_MS 60000  /* the last output of a command waits so long for a full disk */
#define CAY_SERVICE_USED_MS 60000   /* how old the stored time of last use may get */
#define CAY_SERVICE_FRESH_MS 1000   /* who asked for a command has so long to watch it from its first byte */
#define CAY_SERVICE_LET_GO_MS 20000 /* a start waits so long for files that its last box is not done with */
#define CAY_SERVICE_LET_GO_AGAIN_MS 100
#define CAY_SERVICE_LOST_MAX 4 /* stretches of output that are known to be lost */
#define CAY_SERVICE_LOST_TEXT (CAY_SERVICE_LOST_MAX * 2 * 21 + 1)
#define CAY_SERVICE_AWAIT_MS 30000 /* and so long to come back to it after a restart of ours */
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
 * What the engine or the store borrows until its job is done: outlives whatever it is about. Freed after on_done; a deadline may
 * call on_done before the job is done, and then the job's own end is not told any more.
 */
struct cay_async {
        struct cay_service *service;   /* NULL: the service has gone */
        struct cay_engine_row *engine; /* whom it asks, if it asks one; the service's */
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
        bool makes;                         /* a box that comes after its deadline is to be destroyed */
        bool tells;                         /* its commit holds an event: watchers are told */
        char owner[CAY_NAME_MAX + 1], id[CAY_NAME_MAX + 1]; /* for that */
        char claim[CAY_SERVICE_CLAIM_MAX + 1];
        struct cay_service_call *call; /* of extend; figures: all who wait for them */
        uint64_t old_expires_ms, old_idle_ms;
};

/* An engine as the service knows it: one that is there, or one that only records name. */
struct cay_engine_row {
        struct cay_service *service;
        char name[CAY_NAME_MAX + 1];
        char note[256];
        struct cay_engine *engine; /* borrowed; NULL: it is not there */
        bool up;                   /* as of the last word of its own */
        char why[256];             /* when it is not */
        bool ping_out;             /* it was asked and has not answered */
        unsigned misses;           /* in a row */
        uint64_t ping_at_ms;       /* monotonic */
        unsigned left_count;       /* files of its sandboxes that no record knows of (recover.c) */
        bool keeps_left;           /* such files are left alone */
        bool files_known;          /* the store says that there are none */
};

struct cay_sandbox {
        struct cay_service *service;
        struct cay_engine_row *engine; /* the service's; who has its box, and nobody else may speak of it */
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
        char *policy; /* owned; of its network (policy_text.h); NULL: an engine's own, or none */
        enum cay_spec_egress egress;                        /* as the policy needs it */
        bool network_asked;                                 /* new sockets for its box are on their way */
        struct cay_spec_port ports[CAY_SPEC_PORTS_MAX];     /* as asked for; our own: as last published */
        struct cay_spec_port box_ports[CAY_SPEC_PORTS_MAX]; /* of these, the ones that the engine publishes */
        uint16_t published[CAY_SPEC_PORTS_MAX];             /* what became of each; 0: nobody knows */
        struct cay_spec_volume *volumes;                    /* in mem */
        const char **label_words; /* in mem; labels as engines take them, once needed */
        unsigned port_count, box_port_count, volume_count;
        bool has_workspace, read_only, own_user_only, no_init;
        enum cay_workspace_mode workspace_mode;
        int workspace_fd;   /* owned; -1: none, or lost with an earlier process */
        int workspace_peer; /* owned until it is used; -1: none */
        unsigned workspace_root;
        char *workspace_below; /* owned; with workspace_root */
        char claim[CAY_SERVICE_CLAIM_MAX + 1];

        /* how it is */
        enum cay_sandbox_phase phase; /* cay_sandbox_move alone writes it */
        enum cay_cause cause;
        char cause_text[200];
        uint64_t created_wall_ms, started_wall_ms, changed_wall_ms;
        uint64_t expires_ms, idle_ms, used_ms, used_stored_ms;
        uint64_t paused_ms;               /* PAUSED: since when, in store time; 0: it is not */
        uint64_t stood_ms, was_paused_ms; /* of a resume that is under way */
        uint8_t secret[CAY_STORE_SECRET];
        bool has_box;      /* the engine has, or may have, a box of this id */
        bool unmaking;     /* at start-up: the box of a stop that was cut off is being removed */
        bool stopping;     /* STOPPED is stored; that its box is gone is not, nor the event that says so */
        bool kept;         /* the engine keeps its writable layer: stop leaves it, start goes on with it */
        bool layer_seen;   /* at start-up: it is there */
        bool layer_bad;    /* START: it could not be had back */
        bool layer_mended; /* START: not all of it made sense, and what was written last may be missing */
        bool dirty;        /* the record is behind: put it again at the next tick */
        enum cay_state put_state; /* what the last put said */
        bool listed;              /* is in the table */
        unsigned skipped, watched;
        char *box_workspace; /* owned; NULL: the usual place */
        enum cay_template_kind template_kind;

        /* the operation under way */
        uint64_t begun_ns;                      /* monotonic */
        struct cay_service_call *calls;         /* answered when it is over */
        struct cay_service_call *destroy_calls; /* wait for it, then destroy */
        const char *destroy_why;                /* it is destroyed when that is over; NULL: it is not */
        struct cay_error why;                   /* of undoing */
        enum cay_state before; /* START: how it was. Its engine is away: how it is in the store */
        enum cay_cause before_cause;
        char before_text[200];
        enum cay_cause lost_as; /* CLEAN: what its commands are told */

        /* the link */
        struct cay_box_client *client; /* owned */
        bool link_lost, unresponsive, ping_out, adopting;
        bool engine_was_down; /* while it was lost */
        unsigned misses, relink_tries, short_lives;
        unsigned gone_looks; /* so often there were words left to read of a box that is gone */
        uint64_t ping_at_ms, lost_at_ms, linked_at_ms; /* monotonic */
        struct cay_timer relink_timer, gone_timer, adopt_timer;
        uint64_t
                let_go_until_ms; /* monotonic: a start that finds its files still in use tries again until then */

        /* what is in it */
        struct cay_exec *execs;       /* ref each; oldest first */
        unsigned exec_count, running; /* running: stored, and not told as ended; cay_exec_move counts */
        struct cay_service_channel *channels;
        unsigned channel_count;
        uint64_t oom_seen, pids_seen; /* counts of the box as of the last figures */
        bool figures_unknown;         /* of an adopted box: what happened before us is nobody's */
        bool figures_old;             /* commands ended since */
        struct cay_async *figures;    /* borrowed: asks for them now; NULL: none does */
        struct cay_history *history;  /* owned; NULL: none yet */
        uint64_t history_at_ms;       /* its next point; monotonic, 0: not known yet */
        bool no_history;              /* there were too many when its first point came */
};

struct cay_exec {
        struct cay_service *service;
        struct cay_sandbox *sandbox; /* NULL: it has gone */
        struct cay_exec *next;
        unsigned refs;
        struct cay_arena mem, start_mem; /* texts; those that only starting needs */
        char id[CAY_NAME_MAX + 1], sandbox_id[CAY_NAME_MAX + 1];
        char owner[CAY_NAME_MAX + 1]; /* who asked for it: of the claim */

        const char **argv;
        const char *cwd, *user_text, *argv_json;
        const char *term;
        struct cay_field_map env; /* start_mem: may hold secrets, not stored */
        bool is_line, has_stdin, tty, background, output_cut;
        uint16_t rows, cols;
        uint64_t timeout_ms, cpu_time_ms, output_bytes;
        char claim[CAY_SERVICE_CLAIM_MAX + 1];

        enum cay_exec_phase phase; /* cay_exec_move alone writes it */
        bool ran;                  /* init said so: it stays true when the phase says nothing of it */
        bool begun;                /* init said to this process that it runs, or did */
        bool start_told, end_told; /* exec_started and exec_ended are in the journal, or on their way there */
        bool told_together;        /* in one batch */
        struct cay_exec_call *call; /* start, not answered yet */
        bool dirty;                 /* its record is behind */
        uint64_t flush_until_ms;    /* monotonic: its end waits so long for its last output; 0: it does not */
        bool held;                  /* acknowledgements are withheld */
        bool abandoned;             /* nobody wants it, and it could not be told yet */
        bool in_closed;
        bool in_lost;  /* not all that was taken of it: ended for that */
        bool was_left; /* a terminal that nobody watched or used any more: ended for that */
        bool output_gone;
        struct cay_exec_lost lost[CAY_SERVICE_LOST_MAX + 1]; /* in order, apart; one more while it is added */
        unsigned lost_count;
        uint32_t channel_number, pid;
        uint64_t started_wall_ms, ended_wall_ms;
        uint64_t deadline_ms; /* store time; 0: none */
        uint64_t used_ms;     /* store time: typed into, printed, or watched last */
        uint64_t force_at_ms; /* monotonic: ended without init's word then; 0: not */
        enum cay_cause force_as;
        struct cay_timer start_timer;

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
        uint64_t asked_ns; /* monotonic */

        struct cay_spool spool;                                  /* open while it runs or is read */
        uint64_t output_first, output_end, out_bytes, err_bytes; /* as of the last time it was open */
        bool fresh;              /* nobody could watch it yet: nothing of it is let go */
        uint64_t fresh_until_ms; /* monotonic */
        bool awaited; /* whoever watched it may come back: nothing from awaited_from on is let go */
        uint64_t awaited_from, awaited_until_ms; /* monotonic */
        uint64_t owed[CAY_SPOOL_STREAMS];        /* received, not acknowledged */
        struct cay_buf pending;                  /* could not be written: stream, length, bytes… */
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
        struct cay_claim *claims; /* owned: of requests under way */
        struct cay_left *left;    /* owned: files that no record knows of (recover.c) */
        unsigned left_count;
        bool probing;                   /* whether a store that was full can store again is being tried */
        bool full_told;                 /* that it is full is in the log */
        struct cay_timer network_timer; /* boxes that got no network are tried again */
        struct cay_timer tick_timer;
        uint64_t tick_at_ms; /* monotonic; 0: not armed */
        unsigned adopting;   /* operations of the start that are under way */
        uint64_t adoptions, relinks;
        struct cay_meters meters;
};

/* service.c */
void *cay_service_alloc(size_t size);                  /* zeroed; stops the process when there is no memory */
uint64_t cay_service_now(const struct cay_service *s); /* store time */
uint64_t cay_service_wall(const struct cay_service *s); /* for people */
int cay_service_make_id(const struct cay_service *s, char id[CAY_NAME_MAX + 1], struct cay_error *err);
void cay_service_fail_job(struct cay_service *s, struct cay_job *job, const struct cay_error *err);
int cay_service_check_ready(const struct cay_service *s, struct cay_error *err);
/* A record is behind, and tried again: said in the log, of a full disk once and not for every record at every try. */
void cay_service_log_unstored(struct cay_service *s, const char *what, const char *id,
                              const struct cay_error *err);

/* engines.c */
void cay_engines_open(struct cay_service *s);  /* from the environment */
void cay_engines_close(struct cay_service *s); /* they speak to nobody any more */
struct cay_engine_row *cay_engine_default(struct cay_service *s);
struct cay_engine_row *cay_engine_find(struct cay_service *s, const char *name); /* NULL: none */
/* By name; one that nobody has told us of gets a row that is not there. NULL: too many names. */
struct cay_engine_row *cay_engine_of_record(struct cay_service *s, const char *name);
/* For a new sandbox; NULL with CAY_INVALID or CAY_CONFLICT. */
struct cay_engine_row *cay_engine_pick(struct cay_service *s, const char *name, struct cay_error *err);
bool cay_engine_is_up(struct cay_engine_row *row, char why[256]);
void cay_engines_health(struct cay_service *s, const struct cay_viewer *v, struct cay_service_health *ret);
void cay_engine_note(struct cay_engine_row *row, const struct cay_error *err); /* how a job of it ended */
void cay_engine_set(struct cay_engine_row *row, bool up, const char *why);
void cay_engine_ping(struct cay_service *s, uint64_t now_ms); /* engine_ping.c: those whose turn it is */
bool cay_sandbox_is_away(const struct cay_sandbox *sb);       /* its engine is not there */
int cay_sandbox_check_engine(const struct cay_sandbox *sb, struct cay_error *err); /* CAY_UNAVAILABLE */

/* async.c */
struct cay_async *cay_async_new(struct cay_service *s, struct cay_sandbox *sb, struct cay_exec *x,
                                void (*on_done)(struct cay_async *e, const struct cay_error *err));
void cay_async_commit(struct cay_async *e, struct cay_store_batch *b); /* takes b */
void cay_async_query(struct cay_async *e);
/* Before the engine is called with e->job: on_done comes after `ms` at the latest, as CAY_TIMEOUT. */
struct cay_job *cay_async_engine(struct cay_async *e, unsigned ms);
/* The same, and whom to call. NULL: it is not there, and on_done will be told so from the loop. */
struct cay_engine *cay_async_ask(struct cay_async *e, unsigned ms, struct cay_job **ret_job);
void cay_async_forget_sandbox(struct cay_service *s, struct cay_sandbox *sb);
void cay_async_let_go_all(struct cay_service *s);
/* Has the engine end e->box, for at most `ms`: with its layer, or (keep) without that. */
void cay_async_unmake(struct cay_async *e, bool keep, unsigned ms);
/* Removes a box that nobody owns, or (keep) all but its layer; what comes of it is only logged. */
void cay_async_remove_box(struct cay_engine_row *row, const char *id, bool keep);

/* event.c */
/* Adds an event to a batch and notes on the async operation that watchers are to be told. fmt: JSON members as `name` or text pairs, NULL-ended. */
void cay_event_put(struct cay_async *e, struct cay_store_batch *b, const struct cay_sandbox *sb,
                   enum cay_event_kind kind, ... /* name, value; NULL */);
/* The same of one that concerns no sandbox: only administrators see it. */
void cay_event_put_daemon(struct cay_async *e, struct cay_store_batch *b, enum cay_event_kind kind,
                          ... /* name, value; NULL */);
void cay_event_tell(struct cay_service *s, const char *owner, const char *sandbox);
void cay_event_drop_all(struct cay_service *s);

/* record.c */
int cay_record_make_texts(struct cay_sandbox *sb,
                          struct cay_error *err); /* the JSON texts that never change */
void cay_record_put_sandbox(struct cay_sandbox *sb, struct cay_store_batch *b, enum cay_state state);
void cay_record_put_sandbox_as(struct cay_sandbox *sb, struct cay_store_batch *b, enum cay_state state,
                               enum cay_cause cause, const char *text);
void cay_record_put_exec(struct cay_exec *x, struct cay_store_batch *b);
int cay_record_argv_text(struct cay_exec *x, struct cay_error *err);
int cay_record_read_sandbox(struct cay_service *s, const struct cay_store_sandbox *r,
                            struct cay_sandbox **ret, struct cay_error *err);
int cay_record_read_exec(struct cay_service *s, struct cay_sandbox *sb, const struct cay_store_exec *r,
                         struct cay_exec **ret, struct cay_error *err);
size_t cay_record_exec_size(const struct cay_exec *x); /* about so much it is in a batch */
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
/* The one writer of its phase: sandbox_phases.def must have the pair. */
void cay_sandbox_move(struct cay_sandbox *sb, enum cay_sandbox_event event);
void cay_sandbox_count(struct cay_sandbox *sb, bool more); /* one command more, or less, runs */
enum cay_state cay_sandbox_state(const struct cay_sandbox *sb);
enum cay_pending cay_sandbox_pending(const struct cay_sandbox *sb);
bool cay_sandbox_is_stored(const struct cay_sandbox *sb); /* the store has a record */

/* sandbox.c */
struct cay_sandbox *cay_sandbox_new(struct cay_service *s);
void cay_sandbox_free(struct cay_sandbox *sb);   /* and all that is in it; the box is left alone */
void cay_sandbox_settle(struct cay_sandbox *sb); /* what runs has changed: stored, if that is news */
void cay_sandbox_set_cause(struct cay_sandbox *sb, enum cay_cause cause, const char *text);
void cay_sandbox_use(struct cay_sandbox *sb);
bool cay_sandbox_is_idle(const struct cay_sandbox *sb);     /* nothing runs, nothing is open */
bool cay_sandbox_counts_idle(const struct cay_sandbox *sb); /* and it is to end when that lasts */
int cay_sandbox_check_usable(const struct cay_sandbox *sb,
                             struct cay_error *err); /* commands, files, ports */
int cay_sandbox_check_pairs(const char *what, const struct cay_field_map *map, bool is_env,
                            struct cay_error *err);
int cay_sandbox_check_free(const struct cay_sandbox *sb,
                           struct cay_error *err);        /* no operation is under way */
bool cay_sandbox_is_ending(const struct cay_sandbox *sb); /* an operation under way takes its box away */
void cay_sandbox_begin(struct cay_sandbox *sb, enum cay_sandbox_event event, struct cay_service_call *c);
/* The operation is over, and the phase says so: its calls are answered; what waited for it follows. sb may be gone afterwards. */
void cay_sandbox_finish(struct cay_sandbox *sb, const struct cay_error *err);
void cay_sandbox_answer(struct cay_service *s, struct cay_service_call **calls, const struct cay_error *err);
void cay_sandbox_store_again(
        struct cay_sandbox *sb); /* puts the record as it is; a failure leaves it dirty */
void cay_sandbox_empty(struct cay_sandbox *sb, const struct cay_error *why); /* link and channels go */
void cay_sandbox_fill_view(struct cay_sandbox *sb, struct cay_sandbox_view *ret);
/* sandbox_extras.c: networks, ports, volumes */
int cay_sandbox_read_extras(struct cay_sandbox *sb, enum cay_network network,
                            const struct cay_field_texts *ports, const struct cay_field_texts *volumes,
                            struct cay_error *err);
int cay_sandbox_check_extras(const struct cay_sandbox *sb, struct cay_error *err);    /* can its engine? */
int cay_sandbox_check_own_ports(const struct cay_sandbox *sb, struct cay_error *err); /* its owner's share */
int cay_sandbox_put_extras(struct cay_sandbox *sb, struct cay_spec *spec, struct cay_error *err);
void cay_sandbox_note_ports(struct cay_sandbox *sb, const struct cay_engine_box *box);
void cay_sandbox_view_extras(const struct cay_sandbox *sb, struct cay_sandbox_view *ret);
bool cay_sandbox_has_own_ports(const struct cay_sandbox *sb); /* that the daemon itself answers */
/* Asks for ports of the host for them; the async operation's box has what they became. */
struct cay_async *cay_sandbox_publish(struct cay_sandbox *sb,
                                      void (*on_done)(struct cay_async *e, const struct cay_error *err));
bool cay_sandbox_note_own_ports(struct cay_sandbox *sb,
                                const struct cay_engine_box *box); /* true: one is another now */
void cay_sandbox_unpublish(struct cay_sandbox *sb);                /* fine when there are none */

/* sandbox_network.c */
/* policy: NULL: none was given. Copied and checked; its engine is known. */
int cay_sandbox_read_policy(struct cay_sandbox *sb, const char *policy, struct cay_error *err);
int cay_sandbox_put_network(const struct cay_sandbox *sb, struct cay_spec *spec, struct cay_error *err);
/* Hands the sockets of a box that was made to the broker. Takes fd. */
struct cay_async *cay_sandbox_connect_take(struct cay_sandbox *sb, int fd,
                                           void (*on_done)(struct cay_async *e, const struct cay_error *err));
void cay_network_drop(struct cay_service *s, const char *id); /* fine when it has none */
void cay_network_open(struct cay_service *s);                 /* records are loaded */
void cay_network_tend(struct cay_service *s); /* boxes that should have a network and have none get one */
void cay_network_close(struct cay_service *s);

/* sandbox_unmake.c */
void cay_sandbox_destroy(struct cay_sandbox *sb, const char *why, struct cay_service_call *c);
/* False: another operation is under way, nothing was done. */
bool cay_sandbox_gone(struct cay_sandbox *sb, enum cay_cause as, const char *text);
void cay_sandbox_tell_stopped(
        struct cay_sandbox *sb); /* its box is gone: the event of a stop, if it is due */
void cay_sandbox_fail(struct cay_sandbox *sb, enum cay_cause cause, const char *text); /* ERROR, box kept */
void cay_sandbox_recover(struct cay_sandbox *sb);

/* sandbox_change.c */
void cay_sandbox_greeted(struct cay_sandbox *sb); /* WELCOME came: a resume that waits for it is over */
void cay_sandbox_refresh_figures(struct cay_sandbox *sb);
void cay_sandbox_note_figures(struct cay_sandbox *sb, const struct cay_engine_stats *stats);
void cay_sandbox_let_figures_go(
        struct cay_sandbox *sb); /* who waits for them is told that an operation is under way */

/* link.c */
/* Takes fd; -1: there is none yet, it is asked for by and by. */
int cay_link_attach(struct cay_sandbox *sb, int fd, bool adopting, struct cay_error *err);
void cay_link_close(struct cay_sandbox *sb);
void cay_link_again(struct cay_sandbox *sb); /* one that is lost is asked for now */
void cay_link_ping(struct cay_sandbox *sb, uint64_t now_ms);
void cay_link_on_gone(void *ctx, const char *id); /* the word of an engine: ctx is its row */

/* adopt.c */
int cay_adopt_begin(struct cay_service *s, struct cay_error *err);
void cay_adopt_welcome(struct cay_sandbox *sb, const struct cay_box_welcome *w);
void cay_adopt_done(struct cay_sandbox *sb); /* one operation of the start is over */

/* adopt_load.c */
int cay_adopt_load(struct cay_service *s, struct cay_error *err); /* records become sandboxes and commands */
void cay_adopt_sweep_spools(struct cay_service *s);               /* of commands that have no record */

/* adopt_unowned.c. Of one engine that is there, when records are loaded. */
void cay_adopt_remove_unowned(struct cay_engine_row *row); /* boxes */
void cay_adopt_sort_layers(struct cay_engine_row *row);    /* kept files: seen, removed, or lost */

/* recover.c */
int cay_left_load(struct cay_service *s, struct cay_error *err); /* may files without a record be removed? */
void cay_left_add(struct cay_engine_row *row, const char *id);
void cay_left_note(struct cay_engine_row *row); /* all of its files were looked at: stored, if that is news */
void cay_left_tell(struct cay_service *s);      /* all of them were added: log, journal */
void cay_left_free(struct cay_service *s);

/* tick.c */
void cay_tick_by(struct cay_service *s, uint64_t in_ms); /* tick within this */
void cay_tick_stop(struct cay_service *s);

/* exec.c */
struct cay_exec *cay_exec_new(struct cay_service *s, struct cay_sandbox *sb);
void cay_exec_unref(struct cay_exec *x); /* accepts NULL */
struct cay_exec *cay_exec_ref(struct cay_exec *x);
void cay_exec_list_add(struct cay_sandbox *sb, struct cay_exec *x);
void cay_exec_remove(struct cay_exec *x); /* from its sandbox, with its spool; x may be gone afterwards */
struct cay_exec *cay_exec_get(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                              const char *exec, struct cay_sandbox **ret_sb, struct cay_error *err);
void cay_exec_fill_view(const struct cay_exec *x, struct cay_exec_view *ret);
/* Somebody types into it: a shell in a terminal, mostly. It has no time limit but its own, and ends when it is left alone. */
bool cay_exec_is_terminal(const struct cay_exec *x);
void cay_exec_use(struct cay_exec *x); /* it was typed into, printed something, or is watched */
/* How long it has been left alone: 0 while somebody watches. */
uint64_t cay_exec_idle_ms(const struct cay_exec *x);
void cay_exec_drop_record(struct cay_exec *x);
void cay_exec_spool_name(const struct cay_exec *x, char ret[2 * CAY_NAME_MAX + 2]);
void cay_exec_trim(struct cay_sandbox *sb); /* ended ones beyond what is kept */

/* exec_phase.c */
/* The one writer of its phase: exec_phases.def must have the pair. False: it is where it was, and this was known. */
bool cay_exec_move(struct cay_exec *x, enum cay_exec_event event);
enum cay_exec_state cay_exec_state(const struct cay_exec *x); /* for clients */
bool cay_exec_is_alive(const struct cay_exec *x);             /* no end of it is known */
bool cay_exec_is_judged(const struct cay_exec *x);            /* its cause is known, and not told yet */
bool cay_exec_is_ended(const struct cay_exec *x);             /* its end was told */
bool cay_exec_is_stored(const struct cay_exec *x);            /* the store has a record */

/* exec_start.c */
void cay_exec_maybe_answer(struct cay_exec *x);
void cay_exec_refuse(struct cay_exec *x, const struct cay_error *err); /* before it ran: it leaves no trace */
extern const struct cay_box_channel cay_exec_channel_events;

/* exec_end.c */
void cay_exec_on_end(struct cay_box_channel *ch, const struct cay_box_end *end);
/*
 * Without init's word: by us (killed_by_us) or lost. Judged at once, not stored. One that is judged already stays as it was judged; one that
 * was not sent yet is refused, and x may be gone afterwards.
 */
void cay_exec_end_without(struct cay_exec *x, enum cay_cause as, const char *text);
/* The same, and stored by itself. */
void cay_exec_end_and_store(struct cay_exec *x, enum cay_cause as, const char *text);
void cay_exec_end_known(struct cay_exec *x, const struct cay_box_end *end); /* as read back from the spool */
/* All that run: ended without init's word, and stored each by itself. */
void cay_exec_end_all(struct cay_sandbox *sb, enum cay_cause as, const char *text);
void cay_exec_verdict(struct cay_exec *x);     /* commits its end, unless somebody else does */
void cay_exec_tell(struct cay_exec *x);        /* its sandbox's commit spoke for it: watchers are told */
void cay_exec_check_flush(struct cay_exec *x); /* the last output may be in the spool now */
void cay_exec_force_end(struct cay_exec *x);   /* its time is over and nobody says so */
void cay_exec_store_again(struct cay_exec *x); /* the record of an ended one is behind */
void cay_exec_tell_start(struct cay_exec *x);  /* commits the event, when it is true and due */
bool cay_exec_is_spoken_for(const struct cay_exec *x); /* a commit of its sandbox tells its end */
void cay_exec_put_started(struct cay_async *e, struct cay_store_batch *b, struct cay_exec *x);
void cay_exec_put_ended(struct cay_async *e, struct cay_store_batch *b, struct cay_exec *x);
void cay_exec_note_untold(struct cay_exec *x); /* the batch of cay_exec_put_ended failed */

/* exec_output.c */
void cay_exec_on_data(struct cay_box_channel *ch, enum cay_stream stream, const void *bytes, size_t len);
void cay_exec_release(struct cay_exec *x); /* acknowledges what may be */
void cay_exec_flush_pending(struct cay_exec *x);
uint64_t cay_exec_drop_pending(struct cay_exec *x); /* how many bytes of output those were */
void cay_exec_notify(struct cay_exec *x);
int cay_exec_open_spool(struct cay_exec *x, struct cay_error *err);
uint64_t cay_exec_output_end(const struct cay_exec *x); /* cursor */
/* exec_lost.c: notes and logs that bytes [from, to) of the output are damaged, and says so; -1. */
int cay_exec_fail_lost(struct cay_exec *x, uint64_t from, uint64_t to, struct cay_error *err);
void cay_exec_lost_text(const struct cay_exec *x, char ret[CAY_SERVICE_LOST_TEXT]); /* for the record */
void cay_exec_lost_read(struct cay_exec *x, const char *text);
void cay_exec_close_spool(struct cay_exec *x);
void cay_exec_drop_watchers(struct cay_exec *x);

/* exec_input.c */
void cay_exec_on_room(struct cay_box_channel *ch);
void cay_exec_end_inputs(struct cay_exec *x, const struct cay_error *err);
void cay_exec_resume_input(struct cay_exec *x);   /* how much of it init has is known now */
void cay_exec_kill_abandoned(struct cay_exec *x); /* now, or it stays abandoned and a tick comes back to it */

/* claim.c */
/* The claim is in the hands of a request now; NULL, or who has it already. Given back with cay_claim_release. */
const char *cay_claim_take(struct cay_service *s, const char *owner, const char *key, const char *id);
void cay_claim_release(struct cay_service *s, const char *owner, const char *key);
void cay_claim_release_all(struct cay_service *s);
void cay_claim_look_up(struct cay_async *e, const char *owner, const char *key); /* rows: the first one's */
void cay_claim_say_taken(struct cay_error *err, const char *claim, const char *first);
int cay_claim_check(const char *claim, struct cay_error *err);

/* channel.c */
void cay_channel_end_all(struct cay_sandbox *sb, const struct cay_error *why);
