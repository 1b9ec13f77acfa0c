/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcay's run-once: make a box, run one command in it, take everything away, say why it ended. No daemon.
 * cay_run_begin works in the caller's loop (`cay run` uses it); cay_run_once is the same with a loop of its
 * own.
 */
#pragma once

#include "domain/model/cause.h"
#include "domain/model/port_engine.h"

#define CAY_RUN_DENIED_MAX 16

struct cay_run; /* one under way; owned by who began it */

struct cay_run_denied {
        int nr;
        unsigned count;
};

#define CAY_RUN_BLOCKED_MAX 16

enum cay_run_network_mode { /* what the command may reach */
                            CAY_RUN_NETWORK_NONE,
                            CAY_RUN_NETWORK_LIST,   /* what `allow` names */
                            CAY_RUN_NETWORK_PUBLIC, /* every public address, less what `deny` names */
};

struct cay_run_blocked { /* something that it tried to reach and did not */
        char name[256];  /* of a host, or an address */
        unsigned port;   /* 0: the name was asked for */
        unsigned count;
        bool is_failure; /* it may, but the name is not known or the host does not answer */
};

struct cay_run_result {
        char id[CAY_NAME_MAX + 1];
        int exit_code; /* -1: none */
        int signal;    /* 0: none */
        int status;    /* exit status for a shell: the command's, 128+n, 124, 137, 125, 126, 127 */
        bool started;  /* false: the program could not be started; the verdict's text says why */
        struct cay_verdict verdict;
        bool is_open; /* it was not isolated, and had this id of the host's: */
        uint32_t host_uid;
        unsigned skipped; /* limits not held */
        /* limits held by watching instead of by the kernel: a box can be above one for a moment */
        unsigned watched;
        uint64_t out_bytes, err_bytes,
                cut_bytes; /* handed out; dropped at the output limit or when nobody took them */
        uint64_t memory_peak_bytes, cpu_us, user_us, sys_us;
        uint64_t start_ns, ready_ns, exec_ns, end_ns,
                gone_ns; /* monotonic: called, box there, command started, ended, nothing left */
        /* system calls that were denied, first ones first */
        struct cay_run_denied denied[CAY_RUN_DENIED_MAX];
        unsigned denied_kinds, denied_count;
        struct cay_run_blocked blocked[CAY_RUN_BLOCKED_MAX]; /* by the network's policy, first ones first */
        unsigned blocked_count;
        bool lacks_network;       /* it failed, has none, and its output says that it lacks one */
        struct cay_error cleanup; /* code CAY_OK: nothing is left */
        /*
         * A copy-on-write workspace: the change set that was written to changes_fd; entries 0: nothing was
         * changed.
         */
        uint64_t changes_bytes, changes_entries;
        uint64_t changes_left_out; /* entries that a set can't hold: special files and the like */
        /* code CAY_OK: the set is whole; else what was written is worth nothing */
        struct cay_error changes_error;
};

struct cay_run_options {
        struct cay_spec spec; /* spec.id "" = a fresh id; one_shot is set here */
        /*
         * limits (mask) that the caller named: of the others, those that an engine never holds are left out
         */
        unsigned given;
        /* "native", "docker", "process", "auto": native where it holds; NULL: the default */
        const char *engine;
        const char *const *argv; /* NULL-terminated */
        /* K=V, NULL-terminated; added to PATH, HOME, USER, LANG (TERM with a tty), or in their place */
        const char *const *env;
        /* "1001", "0:0", "root", "sandbox", or a name of the image's /etc/passwd; NULL: sandbox */
        const char *user;
        const char *cwd;  /* NULL: the workspace */
        const char *term; /* TERM with a tty; NULL: xterm-256color */
        bool tty;
        unsigned rows, cols; /* 0: 24 by 80 */
        int stdin_fd;        /* -1: none; else forwarded (borrowed; its flags are left alone) */
        /*
         * With spec.workspace_cow: gets the change set (foundation/tar/change.h) between the command's end
         * and the box's, whatever the command did; a file, opened before on_started gives up the right to.
         * -1: nobody wants it. Borrowed.
         */
        int changes_fd;
        enum cay_run_network_mode network;
        const char *const *allow,
                *const *deny; /* rules (domain/network/policy.h), NULL-terminated; NULL: none */
        bool trace;
        const char *program_dir;                 /* where cay-init and cay-warden are */
        const struct cay_engine_ops *engine_ops; /* in place of `engine`; for tests. NULL otherwise */

        /*
         * Live output; bytes are borrowed. Returns how many were taken; after fewer than len the run holds
         * the rest (and, in time, the command) back until cay_run_continue. May be NULL: output is dropped.
         */
        size_t (*on_output)(void *ctx, int stream /* 1 out, 2 err */, const void *bytes, size_t len);
        /*
         * The plan is on its way to the engine: this process needs no privileges any more. 1: it gave them
         * up; -1: end the run with err.
         */
        int (*on_started)(void *ctx, struct cay_error *err);
        /*
         * Over, exactly once, from the loop: result, or err when there was no run to speak of (result then
         * has the id only).
         */
        void (*on_done)(void *ctx, const struct cay_run_result *result, const struct cay_error *err);
        void *ctx;
};

/*
 * Starts a run. Everything that options point to is borrowed until on_done. -1: nothing was made, on_done is
 * not called.
 */
int cay_run_begin(struct cay_loop *loop, const struct cay_run_options *options, struct cay_run **ret,
                  struct cay_error *err);
/*
 * Accepts NULL; a run that is not over is torn down (blocking, without on_done). -1: something may have
 * stayed.
 */
int cay_run_free(struct cay_run *run);
CAY_DEFINE_AUTO(struct cay_run, cay_run_free)

void cay_run_continue(struct cay_run *run, int stream); /* on_output has room again */
/*
 * Ends the run with cause `killed`; signo decides the exit status (128+signo). Output not taken yet is
 * dropped.
 */
void cay_run_stop(struct cay_run *run, int signo);
void cay_run_signal(struct cay_run *run, int signo); /* to the command; ignored when there is none */
void cay_run_resize(struct cay_run *run, unsigned rows, unsigned cols);
/* Step times so far, oldest first: who, step, nanoseconds since the first. */
void cay_run_trace(struct cay_run *run,
                   void (*each)(void *ctx, const char *who, const char *step, uint64_t ns), void *ctx);

/*
 * All of it at once; on_done of the options is ignored. 0: *ret is filled (whatever the command did). -1: no
 * run.
 */
int cay_run_once(const struct cay_run_options *options, struct cay_run_result *ret, struct cay_error *err);

/* What a caller may ask for, in words. */
bool cay_run_has_engine(const char *name);
const char *cay_run_engine_names(char *buf, size_t size);
#ifdef CAY_TEST_HOOKS
int cay_run_parse_layers(const char *option, const char *text, unsigned *ret_mask, struct cay_error *err);
#endif
