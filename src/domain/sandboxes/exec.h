/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands in sandboxes. A command runs until it ends, is killed, or its sandbox goes, whatever its clients
 * do. Its end and the last CAY_SERVICE_SPOOL_BYTES of its output stay available.
 *
 * Output. All output of a command goes into a spool (domain/sandboxes/spool.h): bytes of both streams in the
 * order of arrival, under one cursor that counts bytes since the start. Several watchers may read, each at
 * its own pace. A watcher that holds (`holds`) sets a low-water mark: nothing that it has not read is
 * dropped, and when it is a whole spool behind, the command blocks until it reads on. Without such a watcher
 * the oldest bytes are dropped and the command continues. A cursor before the oldest kept byte gives
 * CAY_CONFLICT, and the text says where the log begins. A new command waits for its first watcher in the same
 * way, for a second after the call was answered.
 *
 * The end of a command is announced when it is stored.
 */
#pragma once

#include "domain/sandboxes/exec_kind.h"
#include "domain/sandboxes/service.h"

struct cay_exec; /* private */

struct cay_exec_new {             /* zeroed: defaults */
        const char *const *argv;  /* NULL-terminated; or: */
        const char *line;         /* for /bin/sh -c */
        const char *cwd;          /* NULL: the workspace */
        struct cay_field_map env; /* on top of the sandbox's own */
        const char *user;         /* NULL: the sandbox's; "root", "1001:100", a name of its /etc/passwd */
        bool has_stdin;           /* else it reads /dev/null */
        bool tty;                 /* a terminal: one stream */
        unsigned rows, cols;      /* 0: 24 by 80 */
        const char *term;         /* TERM with a tty; NULL: xterm-256color */
        bool background;          /* for views; the service treats both alike */
        /*
         * the caller reports nothing before its end, and gives its input at once: a short one is stored once
         */
        bool waits;
        bool checkpoint;       /* makes a step before it (step.h), as with the sandbox's option */
        uint64_t timeout_ms;   /* 0: the sandbox's wall_ms (0 there: none) */
        uint64_t cpu_time_ms;  /* 0: the sandbox's */
        uint64_t output_bytes; /* most it may print; 0: no limit */
        bool output_cut;       /* at the limit: drop the rest instead of ending it */
        const char *claim;     /* as in struct cay_sandbox_new; the first result is an exec's id */
        /*
         * It is the kernel of this context, for this language (domain/contexts). Then it has no wall time,
         * and while nobody watches it, it does not count as use of its sandbox. NULL: none.
         */
        const char *context, *language;
};

struct cay_exec_call {
        struct cay_job job;
        char id[CAY_NAME_MAX + 1];    /* of the exec */
        char first[CAY_NAME_MAX + 1]; /* after CAY_EXISTS */
        struct cay_exec_call *next;   /* private */
};

/*
 * Answered when it is stored and runs, or has already ended (a missing program is an exec that ended with
 * 127). To miss nothing and to be told of the end, watch c->id from 0 inside on_done.
 */
void cay_service_exec(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                      const struct cay_exec_new *what, struct cay_exec_call *c);

enum cay_exec_state { CAY_EXEC_STARTING, CAY_EXEC_RUNNING, CAY_EXEC_ENDED, CAY_EXEC_STATE_COUNT };
const char *cay_exec_state_word(enum cay_exec_state state);

struct cay_exec_lost { /* bytes [from, to) of the output */
        uint64_t from, to;
};

#define CAY_EXEC_BLOCKED_MAX 8u

struct cay_exec_blocked { /* what a command could not reach */
        char host[256];   /* a name or an address */
        unsigned port;    /* 0: its name was not even looked up */
        uint64_t count;
        /* it is allowed, and did not answer, or its name is not known; otherwise the policy refused it */
        bool is_failure;
};

struct cay_exec_network { /* while it ran; others in the sandbox may have caused it */
        struct cay_exec_blocked items[CAY_EXEC_BLOCKED_MAX]; /* the first ones */
        unsigned count;
        struct cay_exec_blocked allowed[CAY_EXEC_BLOCKED_MAX]; /* what it reached: for the journal alone */
        unsigned allowed_count;
        bool is_over_quota;
        bool lacks_one; /* it failed, and says that it lacks a network: the sandbox has none */
};

struct cay_exec_view {
        const char *id, *sandbox;
        const char *const *argv; /* NULL-terminated; {"/bin/sh", "-c", line} for a line */
        bool is_line;
        const char *cwd, *user;         /* "" when not given */
        const char *context, *language; /* "": it is no kernel */
        bool runs_code;                 /* of a kernel: a run has it */
        uint32_t runs;                  /* that took the kernel, since this front began */
        bool has_stdin, tty, background;
        enum cay_exec_state state;
        uint32_t pid; /* inside the box; 0: not known */
        uint64_t started_wall_ms, ended_wall_ms;
        uint64_t wall_us, cpu_us, memory_peak_bytes; /* as far as known, at the end */
        /* ended: */
        int exit_code, signal; /* -1, 0: none */
        enum cay_cause cause;
        unsigned hints; /* bit set over enum cay_cause */
        const char *cause_text, *advice;
        const struct cay_exec_network *network; /* NULL: nothing to tell */
        /* output: */
        uint64_t out_bytes, err_bytes;     /* received */
        uint64_t cut_bytes;                /* dropped at its limit, as asked */
        uint64_t output_first, output_end; /* cursors: the oldest byte kept, the next to come */
        bool output_gone;                  /* no longer kept */
        const char *out_digest,
                *err_digest;              /* ended: SHA-256 of the first MiB of each stream; "": not known */
        const struct cay_exec_lost *lost; /* damaged on the disk, of what is kept and was read */
        unsigned lost_count;
        bool has_deadline;
        uint64_t deadline_in_ms;
        unsigned watchers; /* watchers of its output now */
        /*
         * Of a running terminal: how long it may be left alone (0: unlimited), and for how long it has been;
         * 0 while it is watched.
         */
        uint64_t idle_limit_ms, idle_ms;
};

int cay_service_exec_get(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                         const char *exec, struct cay_exec_view *ret, struct cay_error *err);
/* Oldest first; at most CAY_SERVICE_EXECS_RUNNING_MAX + CAY_SERVICE_EXECS_KEPT + CAY_SERVICE_EXECS_SPARE. */
int cay_service_exec_list(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                          void (*each)(void *ctx, const struct cay_exec_view *view), void *ctx,
                          struct cay_error *err);

/* Output */

struct cay_exec_watcher { /* embedded by its owner, zeroed */
        /*
         * There is something to read, or nothing more will come (then ask cay_exec_watcher_is_over). Called
         * from the loop, never inside a call, and again only after a read found nothing. The owner may
         * unwatch and free itself in it.
         */
        void (*on_output)(struct cay_exec_watcher *w);
        /* private */
        struct cay_exec *exec; /* NULL: not watching */
        struct cay_exec_watcher *next;
        uint64_t at, run;
        bool holds, hungry, end_told, runs_code;
};

struct cay_exec_piece {
        unsigned stream; /* 1 out, 2 err */
        uint64_t cursor; /* of its first byte; the next piece is at cursor + len */
        size_t len;
        uint64_t lost_from; /* with CAY_DAMAGED */
};

/*
 * From a cursor (UINT64_MAX: only new output). CAY_CONFLICT: the cursor's bytes are no longer kept;
 * CAY_INVALID: beyond the end; CAY_LIMIT: too many watch this command (64); CAY_DAMAGED: damaged there; the
 * text says where undamaged output begins.
 */
int cay_service_exec_watch(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                           const char *exec, uint64_t from, bool holds, struct cay_exec_watcher *w,
                           struct cay_error *err);
/*
 * Reads up to size bytes of one stream into buf: 1, or 0 when there is nothing now (on_output follows). -1
 * with CAY_CONFLICT: the watcher was overtaken; the next read continues at the oldest kept byte, ret->cursor.
 * -1 with CAY_DAMAGED: likewise, after the damage; bytes from ret->lost_from on are lost.
 */
int cay_exec_watcher_read(struct cay_exec_watcher *w, void *buf, size_t size, struct cay_exec_piece *ret,
                          struct cay_error *err);
bool cay_exec_watcher_is_over(
        const struct cay_exec_watcher *w); /* it ended, its end is stored, and all was read */
/* The command's view; works also after its sandbox has gone. */
void cay_exec_watcher_view(const struct cay_exec_watcher *w, struct cay_exec_view *ret);
void cay_service_exec_unwatch(struct cay_exec_watcher *w); /* may be called when it does not watch */
/* Takes the kernel that is watched for one run of code, until unwatch. CAY_CONFLICT: another run has it. */
int cay_exec_watcher_take_kernel(struct cay_exec_watcher *w, struct cay_error *err);
void cay_exec_watcher_leave_kernel(struct cay_exec_watcher *w); /* before unwatch; if it has taken it */
/* From now on the command is no kernel of a context: its context was removed, or has another. */
int cay_service_exec_leave_context(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                                   const char *exec, struct cay_error *err);

/* Input */

/*
 * A piece of input: done when the command's side has taken all of it; bytes are borrowed until then. Pieces
 * are processed in order. A piece with an offset is applied once: bytes that arrived before are skipped, so a
 * client without an answer can send it again.
 */
struct cay_exec_input {
        struct cay_job job;
        const void *bytes;
        size_t len;
        bool eof;        /* nothing more comes after it */
        bool has_offset; /* its offset in the command's input: */
        uint64_t offset;
        uint64_t next; /* when done: the offset of the next piece */
        /* private */
        size_t done;
        bool placed; /* bytes known to have arrived count as done */
        struct cay_exec *exec;
        struct cay_exec_input *after;
};

/*
 * CAY_CONFLICT: it has no stdin, or its stdin or itself has ended (also while waiting), or the offset leaves
 * a gap; CAY_LIMIT: 16 are pending.
 */
void cay_service_exec_input(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                            const char *exec, struct cay_exec_input *in);
/*
 * Withdraws the input of a client that went away: bytes not taken yet are dropped, and the job is not
 * finished.
 */
void cay_exec_input_cancel(struct cay_exec_input *in);

/* Sent at once. CAY_CONFLICT: it has ended (or has no terminal). CAY_INVALID: out of range. */
int cay_service_exec_resize(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                            const char *exec, unsigned rows, unsigned cols, struct cay_error *err);
int cay_service_exec_signal(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                            const char *exec, int signo, struct cay_error *err);
/* Kills it and all its descendants; it ends with cause `killed`. */
int cay_service_exec_kill(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                          const char *exec, struct cay_error *err);
/*
 * The same without waiting: if the sandbox is paused or its link is lost, it is killed as soon as possible.
 */
void cay_service_exec_abandon(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                              const char *exec);
