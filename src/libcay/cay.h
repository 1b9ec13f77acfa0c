/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcay: run one command in a fresh sandbox, get its output and why it ended. No daemon.
 *
 *         struct cay_task *task = cay_task_new();
 *         struct cay_result *result = NULL;
 *         const char *command[] = { "/bin/echo", "hello", NULL };
 *
 *         if (task != NULL && cay_task_set_command(task, command) == 0 &&
 *             cay_task_set_limit(task, "memory", "64m") == 0 && cay_task_run(task, &result) == 0)
 *                 printf("%s", (const char *)cay_result_output(result, CAY_STDOUT, NULL));
 *         cay_result_free(result);
 *         cay_task_free(task);
 *
 * A task says what to run and how; a result is what came of one run. Both are opaque and grow without
 * breaking programs. The sandbox has no network, nothing of the machine in it can be written to, and it is
 * gone when cay_task_run returns.
 *
 * Errors. Functions that can fail return 0 or one of CAY_E_…; cay_task_error then has a sentence for people.
 * A command that failed, or that was ended by a limit, is no error of cay_task_run: the result tells. What a
 * function is said to return never is NULL unless that is said too. NULL in place of a task or a result,
 * where none is allowed, is a mistake that the library does not catch.
 *
 * Ownership. Strings and arrays that are passed in are copied. Strings and bytes that are handed out belong
 * to the task or result they come from, and last until it is freed (cay_task_error: until the next call on
 * that task).
 *
 * Threads. Different tasks may be used, and may run, in different threads at the same time. One task is for
 * one thread at a time; only cay_task_cancel may be called from anywhere. A finished result is only read, by
 * any number of threads. The calling thread does the work; no thread is started. A thread inside cay_task_run
 * must not be cancelled with pthread_cancel. The environment is read (CAY_LIBEXEC) and must not be changed
 * meanwhile.
 *
 * What it does to the program around it. A run starts one child process, cay-warden (vfork and exec;
 * everything that is forked after that is forked in there), and waits for that child alone. No signal handler
 * is set, no signal mask kept, nothing is printed, exit is never called, SIGPIPE is never raised, and every
 * descriptor is close-on-exec. A program may ignore SIGCHLD or wait for any child. If the program dies, the
 * warden ends the command and takes the sandbox away. A program that forks without exec while a run is under
 * way hands the run's descriptors to its child, and with them that promise, until that child ends.
 *
 * Privileges. The caller keeps its own. What the sandbox says (output, exit status) is parsed in the calling
 * process, by code that is written and fuzzed for hostile input; `cay run` gives up its privileges before it
 * does so, and a caller who wants the same calls cay_task_run in a process that has none to lose.
 */
#ifndef CAY_H
#define CAY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAY_API_VERSION 2 /* grows when something is added to this file */

struct cay_task;
struct cay_result;

/* Why a function could not do it; 0 is success. */
enum {
        CAY_E_INVALID = 1,     /* an argument or a setting is wrong */
        CAY_E_NOT_FOUND = 2,   /* something named does not exist */
        CAY_E_EXISTS = 3,      /* there is a run with this id */
        CAY_E_DENIED = 4,      /* this user may not do it */
        CAY_E_CONFLICT = 5,    /* the task is running already */
        CAY_E_LIMIT = 6,       /* as many as there may be */
        CAY_E_UNSUPPORTED = 7, /* this machine cannot do it, or cannot hold a limit */
        CAY_E_UNAVAILABLE = 8, /* cay-warden cannot be started, or went away */
        CAY_E_TIMEOUT = 9,     /* the sandbox was not made, or the command not started, in time */
        CAY_E_NO_SPACE = 10,   /* no space left to make it */
        CAY_E_INTERNAL = 11,   /* anything else: memory, descriptors, the system below */
        CAY_E_DAMAGED = 12     /* what was kept is damaged */
};

enum { CAY_STDOUT = 1, CAY_STDERR = 2 };

enum {
        CAY_WORKSPACE_READ_ONLY = 0,
        CAY_WORKSPACE_READ_WRITE = 1, /* what the command changes is changed in the folder itself */
        CAY_WORKSPACE_COPY = 2 /* it may change what it sees, and the folder stays as it is: copy on write */
};

/* For cay_result_number. */
enum cay_number {
        CAY_NUMBER_MEMORY_PEAK_BYTES = 1, /* of everything in the sandbox; 0: not measured here */
        CAY_NUMBER_CPU_US = 2,            /* processor time of the command and all it started */
        CAY_NUMBER_START_US = 3,          /* from the call until the command ran */
        CAY_NUMBER_RUN_US = 4,            /* the command */
        CAY_NUMBER_TOTAL_US = 5,          /* from the call until nothing was left */
        CAY_NUMBER_STDOUT_BYTES = 6,      /* handed out or kept */
        CAY_NUMBER_STDERR_BYTES = 7,
        CAY_NUMBER_CUT_BYTES = 8,        /* output that was dropped: past the limit, or after a cancel */
        CAY_NUMBER_DENIED_CALLS = 9,     /* system calls that the sandbox refused */
        CAY_NUMBER_CHANGES = 10,         /* entries of the change set; 0: nothing was changed */
        CAY_NUMBER_CHANGES_LEFT_OUT = 11 /* what a change set cannot hold: sockets and the like */
};

/* The library's version, "0.1.0". */
const char *cay_version(void);
/*
 * A code as a word ("not_found"; "ok" for 0) and as a general sentence; "unknown" for a number that is no
 * code.
 */
const char *cay_error_word(int code);
const char *cay_error_text(int code);

/*
 * A task with no command, the machine's own /usr as its root, an empty workspace, no input, the limits of
 * `cay run` (below). NULL: no memory or no descriptors (errno says). It may run any number of times, one
 * after the other.
 */
struct cay_task *cay_task_new(void);
/* Accepts NULL. The task must not be running. */
void cay_task_free(struct cay_task *task);
/* What was wrong the last time that a call on this task failed; "" before any did. */
const char *cay_task_error(const struct cay_task *task);

/* Program and arguments, NULL-terminated. A name without '/' is looked up in the command's PATH, inside. */
int cay_task_set_command(struct cay_task *task, const char *const *argv);
/*
 * One more variable for the command; the same name again replaces. PATH, HOME, USER and LANG are set unless
 * given here; nothing of the caller's environment is passed on.
 */
int cay_task_set_env(struct cay_task *task, const char *name, const char *value);
/* Working directory inside, absolute. NULL: /workspace. */
int cay_task_set_cwd(struct cay_task *task, const char *path);
/*
 * "1001", "1001:100", "root", or a name of the template's /etc/passwd. NULL: "sandbox", who owns a writable
 * workspace.
 */
int cay_task_set_user(struct cay_task *task, const char *user);
/*
 * A folder of this machine, seen as /workspace inside; mode is one of CAY_WORKSPACE_…. NULL: an empty one
 * that goes with the sandbox. The folder is opened now: renaming it later changes nothing.
 */
int cay_task_set_workspace(struct cay_task *task, const char *path, int mode);
/*
 * With CAY_WORKSPACE_COPY: what was changed in the workspace is written to this descriptor when the command
 * has ended, however it ended; a regular file, written from where it stands, that the caller keeps open until
 * the run is over. It is a tar archive: what is new or changed as it is now, and, in entries whose pax record
 * CAY.kind is "removed", the names of what is gone. -1 (the default): changes go with the sandbox.
 */
int cay_task_set_changes_fd(struct cay_task *task, int fd);
/*
 * What the root is made of: "host" (this machine's /usr; the default), or a folder that holds a root file
 * system.
 */
int cay_task_set_template(struct cay_task *task, const char *text);
/* Not 0: only /workspace, /tmp and /dev/shm can be written to. */
int cay_task_set_read_only(struct cay_task *task, int on);
/*
 * What the command may reach: "none" (the default), "list" (what `allow` names) or "bridge" (every public
 * address). Rules are lists that end with NULL, or NULL for none: "pypi.org", "*.example.org:443",
 * "10.1.2.0/24:5432", "preset:python". `deny` wins over `allow`. Rules are checked by cay_task_run. Needs the
 * engine of this machine, and cay-net beside cay-warden.
 */
int cay_task_set_network(struct cay_task *task, const char *mode, const char *const *allow,
                         const char *const *deny);
/*
 * One limit by its name, as text:
 *         memory "256m"    swap "0"        cpus "0.5"      pids "50"       disk "64m"      inodes "16384"
 *         files "4096"     output "8m"     wall_time "60"  cpu_time (none)
 *         network_up, network_down, network_total, network_connections, network_connects, network_queries
 *         (none)
 * These are the defaults. Sizes take k, m, g, t; times are seconds, or 250ms, 10m, 2h. "1m:cut" for output
 * drops what is beyond the limit; without :cut the command is ended there.
 */
int cay_task_set_limit(struct cay_task *task, const char *name, const char *value);
/*
 * Limits that need not hold where this machine cannot hold them: "memory,pids", or "all". Without this such a
 * machine refuses the run with CAY_E_UNSUPPORTED. cay_result_skipped tells which were left out. NULL: none
 * (the default).
 */
int cay_task_allow_missing(struct cay_task *task, const char *names);
/* The run's id: 1 to 63 of a-z, 0-9 and '-'. NULL: a fresh one for each run. */
int cay_task_set_id(struct cay_task *task, const char *id);

/*
 * The command's standard input, read from a descriptor by the thread in cay_task_run while the command takes
 * it. The caller keeps it open until the run is over, and nobody else reads from it. -1: none (the default);
 * the command then finds the end at once.
 */
int cay_task_set_stdin_fd(struct cay_task *task, int fd);
/* The same from memory; the bytes are copied. Each run gets all of them. */
int cay_task_set_stdin(struct cay_task *task, const void *bytes, size_t len);
/*
 * Called with the command's output while it runs, in the thread of cay_task_run; stream is CAY_STDOUT or
 * CAY_STDERR and the bytes are the library's. While it does not return, the command is held back as soon as
 * it has printed more than is on its way; its time runs on. Not 0 ends the run as cay_task_cancel does, and
 * it is not called again. It may call cay_task_cancel, and nothing else on this task. NULL: output is kept
 * for cay_result_output (the default; the output limit may then be 256m at most).
 */
typedef int cay_output_fn(void *ctx, int stream, const void *bytes, size_t len);
int cay_task_set_output(struct cay_task *task, cay_output_fn *fn, void *ctx);
/*
 * Where cay-warden and cay-init are. NULL (the default): the environment's CAY_LIBEXEC, unless the program
 * runs with more rights than its caller's (set-user-id); else PREFIX/lib/cay of the installation. Whoever can
 * write to that folder can do whatever the caller can.
 */
int cay_task_set_program_dir(struct cay_task *task, const char *path);

/*
 * Makes the sandbox, runs the command, removes the sandbox. 0: *ret is the result, owned by the caller,
 * whatever became of the command. Otherwise *ret is NULL, and what had been made is removed. (Should the
 * warden die before that, the next run of the same user removes it.) It always returns: wall_time bounds the
 * command, and making and removing the sandbox have bounds of their own, 30 s each; writing a change set may
 * take as long as 10 minutes.
 */
int cay_task_run(struct cay_task *task, struct cay_result **ret);
/*
 * Ends the run that is under way; cay_task_run then returns soon, with the cause "killed". From any thread,
 * from a signal handler, from the output function. A task that is not running remembers it: its next run ends
 * at once. The task must exist.
 */
void cay_task_cancel(struct cay_task *task);

/* Accepts NULL. */
void cay_result_free(struct cay_result *result);
const char *cay_result_id(const struct cay_result *result);
/*
 * As a shell would put it: the exit code; 128+n after signal n; 124 out of time; 137 out of memory; 143
 * cancelled; 126 and 127: it could not be started, or not found; 125: the sandbox was lost, or could not be
 * removed.
 */
int cay_result_status(const struct cay_result *result);
int cay_result_exit_code(const struct cay_result *result); /* -1: it did not exit by itself */
int cay_result_signal(const struct cay_result *result);    /* 0: no signal ended it */
/*
 * Why it ended, in one word: exited, signalled, memory, pids, disk, cpu_time, wall_time, output, syscall,
 * killed, sandbox_gone, engine_lost. More words may come. (Others call wall_time "timeout" and memory "oom".)
 */
const char *cay_result_cause(const struct cay_result *result);
/*
 * The same as a sentence with the figures, and what could be done about it ("" if nothing). Limits are named
 * as `cay run` does.
 */
const char *cay_result_text(const struct cay_result *result);
const char *cay_result_advice(const struct cay_result *result);
/*
 * Lists like "memory, pids"; "" for none. Hints: limits that were met without being the cause. Skipped:
 * limits that were not held. Watched: limits that this machine's kernel does not hold for this user, and that
 * were held by looking often instead.
 */
const char *cay_result_hints(const struct cay_result *result);
const char *cay_result_skipped(const struct cay_result *result);
const char *cay_result_watched(const struct cay_result *result);
/*
 * Hosts that its network refused: "evil.example, 10.0.0.1:22"; "" for none. At most 1,023 bytes, whole names
 * only.
 */
const char *cay_result_blocked(const struct cay_result *result);
/*
 * What is wrong with the change set, as a sentence: what was written is worth nothing then. "": it is whole,
 * or none was asked for.
 */
const char *cay_result_changes_error(const struct cay_result *result);
/* What could not be removed afterwards, as a sentence; "": nothing is left. The status is 125 then. */
const char *cay_result_leftover(const struct cay_result *result);
/*
 * Output that was kept: all bytes of one stream, with a NUL behind the last that does not count; *ret_len
 * (may be NULL) is their number. Empty when there was an output function.
 */
const void *cay_result_output(const struct cay_result *result, int stream, size_t *ret_len);
/* One figure; 0 for a number that this version does not know. */
uint64_t cay_result_number(const struct cay_result *result, enum cay_number which);

#ifdef __cplusplus
}
#endif

#endif
