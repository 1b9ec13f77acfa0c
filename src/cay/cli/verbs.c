/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of the daemon: one row each. */
#include <inttypes.h>
#include <string.h>

#include "cay/cli/verb.h"

/* Options of their own */

#define TRUE(member) cay_flag_set_true, offsetof(struct cay_verb_args, member)
#define TEXT(member) cay_flag_set_text, offsetof(struct cay_verb_args, member)

static const struct cay_flag create_flags[] = {
        { "workspace", "DIR[:ro|:rw|:cow]",
          "folder at /workspace; over the daemon's socket one of this machine's, opened with your rights",
          TEXT(workspace) },
        { "confirm", NULL, "say yes to a template that needs a confirmation (else you are asked)",
          TRUE(confirm) },
        { 0 },
};

static const struct cay_flag template_flags[] = {
        { "task", "TEXT", "say which template this text means, by its triggers, and why", TEXT(task) },
        { 0 },
};

static const struct cay_flag exec_flags[] = {
        { "detach", NULL, "leave it in the background and print its id", TRUE(detach), 'd' },
        { "no-stdin", NULL, "it reads nothing, whatever standard input is", TRUE(no_stdin), 'n' },
        { "quiet", NULL, "do not say why it ended", TRUE(quiet), 'q' },
        { "raw", NULL, "a terminal gets the sandbox's bytes as they are, control characters too", TRUE(raw) },
        { 0 },
};

static const struct cay_flag quiet_flags[] = {
        { "quiet", NULL, "say nothing but what went wrong", TRUE(quiet), 'q' },
        { 0 },
};

static const struct cay_flag output_flags[] = {
        { "quiet", NULL, "say nothing but what went wrong", TRUE(quiet), 'q' },
        { "raw", NULL, "a terminal gets the sandbox's bytes as they are, control characters too", TRUE(raw) },
        { 0 },
};

static const struct cay_flag copy_flags[] = {
        { "quiet", NULL, "say nothing but what went wrong", TRUE(quiet), 'q' },
        { "raw", NULL, "a terminal gets the sandbox's bytes as they are, control characters too", TRUE(raw) },
        { "max-bytes", "SIZE", "stop a copy out of a sandbox that is longer (8g; 0: never)",
          TEXT(max_bytes) },
        { 0 },
};

static const struct cay_flag logs_flags[] = {
        { "follow", NULL, "go on until the command ends", TRUE(follow), 'f' },
        { "raw", NULL, "a terminal gets the sandbox's bytes as they are, control characters too", TRUE(raw) },
        { 0 },
};

static const struct cay_flag stats_flags[] = {
        { "once", NULL, "print the figures once instead of again and again", TRUE(once) },
        { "interval", "TIME", "between two looks (2s)", TEXT(interval) },
        { 0 },
};

static const struct cay_flag body_flags[] = {
        { "body", "FILE", "bytes to send, of operations that take some; - is standard input (default)",
          TEXT(body) },
        { "unescaped", NULL, "a terminal gets the answer's bytes as they are, control characters too",
          TRUE(raw) },
        { 0 },
};

const struct cay_flag *cay_verb_more(const struct cay_verb *verb)
{
        static const struct cay_flag none[] = { { 0 } };

        switch (verb->more) {
        case CAY_MORE_CREATE:
                return create_flags;
        case CAY_MORE_EXEC:
                return exec_flags;
        case CAY_MORE_QUIET:
                return quiet_flags;
        case CAY_MORE_OUTPUT:
                return output_flags;
        case CAY_MORE_COPY:
                return copy_flags;
        case CAY_MORE_LOGS:
                return logs_flags;
        case CAY_MORE_STATS:
                return stats_flags;
        case CAY_MORE_TEMPLATE:
                return template_flags;
        case CAY_MORE_BODY:
                return body_flags;
        case CAY_MORE_NONE:
                break;
        }
        return none;
}

#define EXEC_HIDE "command cwd stdin open_stdin stream background max_output rows cols term"
#define EXEC_LETTERS "env:e workdir:w user:u tty:t"

const struct cay_verb cay_verbs[] = {
        { .name = "create",
          .op = "sandbox_create",
          .words = "template?",
          .both_ways = true,
          .hide = "project_name memory_limit cpu_limit workspace confirm",
          .flat = "limits",
          .letters = "env:e",
          .renames = "labels:label",
          .about = "Makes a sandbox and prints its id.",
          .more = CAY_MORE_CREATE,
          .show = CAY_SHOW_ID },
        { .name = "ls",
          .op = "sandbox_list",
          .words = "",
          .about = "Lists sandboxes; options choose among them.",
          .pages = "sandboxes",
          .show = CAY_SHOW_SANDBOXES },
        { .name = "get",
          .op = "sandbox_get",
          .words = "id",
          .about = "Shows what a sandbox is.",
          .show = CAY_SHOW_SANDBOX },
        { .name = "exec",
          .op = "exec_run",
          .words = "id ...",
          .hide = EXEC_HIDE,
          .letters = EXEC_LETTERS,
          .about = "Runs a command in a sandbox: its output is cay's output, its exit status cay's exit "
                   "status.\n"
                   "Ctrl-C and SIGTERM go to the command. One word with blanks in it is a line for a shell.\n"
                   "With --tty keys go to it as they are pressed; Ctrl-] twice leaves it running.",
          .more = CAY_MORE_EXEC },
        { .name = "shell",
          .op = "exec_run",
          .words = "id ...?",
          .hide = EXEC_HIDE " tty timeout execution_id output_limit output_cut cpu_time",
          .letters = EXEC_LETTERS,
          .about = "A shell in a sandbox, on this terminal; COMMAND… is run in its place. Ctrl-] twice "
                   "leaves it\n"
                   "running: `cay attach` comes back to it.",
          .more = CAY_MORE_QUIET,
          .no_json = true },
        { .name = "attach",
          .op = "exec_attach",
          .words = "id exec?",
          .hide = "from raw stream",
          .about = "Goes on with a command that runs: output from now on, and input if it takes any. The "
                   "last one that\n"
                   "was started, unless EXEC names it (`cay ps` lists them). Ctrl-] twice leaves it on a "
                   "terminal.",
          .more = CAY_MORE_OUTPUT,
          .no_json = true },
        { .name = "logs",
          .op = "exec_attach",
          .words = "id exec?",
          .hide = "raw",
          .about = "What a command has printed: the last one that was started, unless EXEC names it. With "
                   "--json the\n"
                   "events themselves, one a line.",
          .more = CAY_MORE_LOGS },
        { .name = "ps",
          .op = "exec_list",
          .words = "id",
          .about = "Lists the commands of a sandbox, ended ones too.",
          .show = CAY_SHOW_EXECS },
        { .name = "cp",
          .op = "archive_get",
          .words = "source target",
          .hide = "id path format",
          .about = "Copies a file or a tree between here and a sandbox; SANDBOX:PATH is there, \"-\" a tar "
                   "archive on standard\n"
                   "input or output. A TARGET that is a folder gets the copy below it. Links are copied as "
                   "links and\n"
                   "never followed; what is neither file, folder nor link is left out.",
          .more = CAY_MORE_COPY,
          .no_json = true },
        { .name = "stats",
          .op = "sandbox_stats",
          .words = "id*",
          .about = "What sandboxes use, again and again: those named, or all that run. Ctrl-C ends it.",
          .more = CAY_MORE_STATS },
        { .name = "start",
          .op = "sandbox_start",
          .words = "id+",
          .about = "Starts sandboxes that are stopped or failed.",
          .show = CAY_SHOW_STATE },
        { .name = "stop",
          .op = "sandbox_stop",
          .words = "id+",
          .about = "Ends everything in sandboxes; `cay start` goes on with them.",
          .show = CAY_SHOW_STATE },
        { .name = "pause",
          .op = "sandbox_pause",
          .words = "id+",
          .about = "Freezes everything in sandboxes.",
          .show = CAY_SHOW_STATE },
        { .name = "resume",
          .op = "sandbox_resume",
          .words = "id+",
          .about = "Lets paused sandboxes go on.",
          .show = CAY_SHOW_STATE },
        { .name = "extend",
          .op = "sandbox_extend",
          .words = "id timeout",
          .about = "Says anew how long a sandbox lives: TIMEOUT from now (90s, 10m, 2h); 0: until it is "
                   "destroyed.",
          .show = CAY_SHOW_LIFE },
        { .name = "rm",
          .op = "sandbox_destroy",
          .words = "id+",
          .about = "Destroys sandboxes and all that belongs to them.",
          .show = CAY_SHOW_ID },
        { .name = "cleanup",
          .op = "sandbox_cleanup",
          .words = "",
          .about = "Destroys all of your sandboxes that the options take; at least one is needed.",
          .show = CAY_SHOW_CLEANUP },
        { .name = "events",
          .op = "sandbox_events",
          .other_op = "event_list",
          .words = "id?",
          .about = "What happened to a sandbox (also one that is gone), or to all that you may see.",
          .letters = "follow:f",
          .show = CAY_SHOW_EVENTS },
        { .name = "ports",
          .op = "port_list",
          .words = "id",
          .about = "Ports that are listened on in a sandbox. Each is reached below the daemon's\n"
                   "/api/sandboxes/SANDBOX/ports/PORT/.",
          .show = CAY_SHOW_PORTS },
        { .name = "template",
          .op = "template_get",
          .other_op = "template_list",
          .words = "name?",
          .about = "Lists what sandboxes can be made from, or shows one of them. `cay template build NAME` "
                   "and\n"
                   "`cay template rm NAME` make and remove its image. Without a daemon:\n"
                   "`cay template check [--json] FILE…` checks registry files, `cay template schema` prints "
                   "their schema.",
          .more = CAY_MORE_TEMPLATE,
          .show = CAY_SHOW_TEMPLATES },
        { .name = "template build",
          .op = "template_build",
          .words = "name",
          .hide = "stream",
          .about = "Builds the image of a template that has a Dockerfile, unless its files have not changed, "
                   "and prints\n"
                   "what Docker prints. Exits with 1 when the build fails.",
          .more = CAY_MORE_QUIET },
        { .name = "template rm",
          .op = "template_remove",
          .words = "name",
          .about = "Removes the image that was built of a template; the template stays." },
        { .name = "recover",
          .op = "recover_list",
          .words = "",
          .about = "Lists files of sandboxes that the daemon has no record of: its database was removed, "
                   "emptied "
                   "or damaged.\n"
                   "They stay until `cay recover adopt FILES --owner OWNER` makes a stopped sandbox of them, "
                   "or\n"
                   "`cay recover rm FILES` removes them.",
          .show = CAY_SHOW_LEFT },
        { .name = "recover adopt",
          .op = "recover_adopt",
          .words = "files",
          .flat = "limits",
          .about = "Makes a stopped sandbox of files that have no record, and prints its id; `cay start` "
                   "goes on "
                   "with them.",
          .show = CAY_SHOW_ID },
        { .name = "recover rm",
          .op = "recover_remove",
          .words = "files",
          .about = "Removes files that have no record, for good." },
        { "" },
};
