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
          "map this folder at /workspace; over the unix socket it is opened with your rights",
          TEXT(workspace) },
        { "confirm", NULL, "agree to a template that needs a confirmation (default: ask)", TRUE(confirm) },
        { 0 },
};

static const struct cay_flag template_flags[] = {
        { "task", "TEXT", "show which template this text selects by its triggers", TEXT(task) },
        { 0 },
};

static const struct cay_flag exec_flags[] = {
        { "detach", NULL, "run it in the background and print its id", TRUE(detach), 'd' },
        { "no-stdin", NULL, "give the command no input", TRUE(no_stdin), 'n' },
        { "quiet", NULL, "do not print why it ended", TRUE(quiet), 'q' },
        { "raw", NULL, "do not escape control characters in output to a terminal", TRUE(raw) },
        { 0 },
};

static const struct cay_flag quiet_flags[] = {
        { "quiet", NULL, "print only errors", TRUE(quiet), 'q' },
        { 0 },
};

static const struct cay_flag output_flags[] = {
        { "quiet", NULL, "print only errors", TRUE(quiet), 'q' },
        { "raw", NULL, "do not escape control characters in output to a terminal", TRUE(raw) },
        { 0 },
};

static const struct cay_flag copy_flags[] = {
        { "quiet", NULL, "print only errors", TRUE(quiet), 'q' },
        { "raw", NULL, "do not escape control characters in output to a terminal", TRUE(raw) },
        { "max-bytes", "SIZE", "stop a copy out of a sandbox beyond this size (8g; 0: no limit)",
          TEXT(max_bytes) },
        { 0 },
};

static const struct cay_flag logs_flags[] = {
        { "follow", NULL, "print new output until the command ends", TRUE(follow), 'f' },
        { "raw", NULL, "do not escape control characters in output to a terminal", TRUE(raw) },
        { 0 },
};

static const struct cay_flag stats_flags[] = {
        { "once", NULL, "print once and exit", TRUE(once) },
        { "interval", "TIME", "time between updates (2s)", TEXT(interval) },
        { 0 },
};

static const struct cay_flag body_flags[] = {
        { "body", "FILE", "send the bytes of FILE, if the operation takes any; - is standard input (default)",
          TEXT(body) },
        { "unescaped", NULL, "do not escape control characters in output to a terminal", TRUE(raw) },
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
          .renames = "labels:label secrets:secret",
          .about = "Creates a sandbox and prints its id.",
          .more = CAY_MORE_CREATE,
          .show = CAY_SHOW_ID },
        { .name = "secret set",
          .op = "secret_set",
          .words = "name",
          .hide = "value",
          .about = "Sets a secret for requests of your sandboxes to one host. Its value is read from "
                   "standard\n"
                   "input and is never shown again. `cay create --secret NAME` lets a sandbox use it." },
        { .name = "ls",
          .op = "sandbox_list",
          .words = "",
          .about = "Lists sandboxes; options filter the list.",
          .pages = "sandboxes",
          .show = CAY_SHOW_SANDBOXES },
        { .name = "get",
          .op = "sandbox_get",
          .words = "id",
          .about = "Shows a sandbox.",
          .show = CAY_SHOW_SANDBOX },
        { .name = "exec",
          .op = "exec_run",
          .words = "id ...",
          .hide = EXEC_HIDE,
          .letters = EXEC_LETTERS,
          .about = "Runs a command in a sandbox. cay prints its output and exits with its exit status.\n"
                   "Ctrl-C and SIGTERM go to the command. A single word with spaces is run by a shell.\n"
                   "With --tty the command gets each key as it is pressed; press Ctrl-] twice to leave it\n"
                   "running.",
          .more = CAY_MORE_EXEC },
        { .name = "shell",
          .op = "exec_run",
          .words = "id ...?",
          .hide = EXEC_HIDE " tty timeout execution_id output_limit output_cut cpu_time",
          .letters = EXEC_LETTERS,
          .about =
                  "Opens a shell in a sandbox on this terminal, or runs COMMAND instead. Press Ctrl-] twice\n"
                  "to leave it running; `cay attach` connects to it again.",
          .more = CAY_MORE_QUIET,
          .no_json = true },
        { .name = "attach",
          .op = "exec_attach",
          .words = "id exec?",
          .hide = "from raw stream",
          .about = "Connects to a running command: prints its new output, and sends input if it takes any.\n"
                   "Without EXEC this is the command that was started last; `cay ps` lists them. On a\n"
                   "terminal, press Ctrl-] twice to leave.",
          .more = CAY_MORE_OUTPUT,
          .no_json = true },
        { .name = "code",
          .op = "context_run",
          .words = "id code",
          .hide = "stream",
          .about = "Runs code in a context: an interpreter in the sandbox that keeps its variables. Prints "
                   "what the\n"
                   "code prints, then its results. --context is python (default), javascript, bash, or the "
                   "name of\n"
                   "a context that `cay context create` made." },
        { .name = "logs",
          .op = "exec_attach",
          .words = "id exec?",
          .hide = "raw",
          .about = "Prints the output of a command. Without EXEC this is the command that was started last.\n"
                   "With --json prints the events, one per line.",
          .more = CAY_MORE_LOGS },
        { .name = "cast",
          .op = "recording_cast",
          .words = "id exec",
          .about =
                  "Prints a recorded terminal (`cay recording`) as asciicast v2: cay cast ID EXEC >one.cast.",
          .no_json = true },
        { .name = "cp",
          .op = "archive_get",
          .words = "source target",
          .hide = "id path format",
          .about = "Copies a file or a folder between this machine and a sandbox. SANDBOX:PATH is a path in\n"
                   "the sandbox; \"-\" is a tar archive on standard input or output. If TARGET is a folder,\n"
                   "the copy goes into it. Symbolic links are copied as links and never followed. Special\n"
                   "files are skipped.",
          .more = CAY_MORE_COPY,
          .no_json = true },
        { .name = "stats",
          .op = "sandbox_stats",
          .words = "id*",
          .about = "Shows what sandboxes use, live: those named, or all that run. Press Ctrl-C to end it.",
          .more = CAY_MORE_STATS },
        { .name = "start",
          .op = "sandbox_start",
          .words = "id+",
          .about = "Starts sandboxes that are stopped or failed.",
          .show = CAY_SHOW_STATE },
        { .name = "stop",
          .op = "sandbox_stop",
          .words = "id+",
          .about = "Ends all processes in sandboxes and keeps their files; `cay start` starts them again.",
          .show = CAY_SHOW_STATE },
        { .name = "replay",
          .op = "sandbox_replay",
          .words = "id",
          .about = "Runs what was recorded of a sandbox again (`cay create --record`), in a new one with\n"
                   "the files with which the recording began, and tells where results differ. Secrets,\n"
                   "networks and mapped folders are not in it.",
          .show = CAY_SHOW_REPLAY },
        { .name = "pause",
          .op = "sandbox_pause",
          .words = "id+",
          .about = "Freezes all processes in sandboxes.",
          .show = CAY_SHOW_STATE },
        { .name = "resume",
          .op = "sandbox_resume",
          .words = "id+",
          .about = "Continues paused sandboxes.",
          .show = CAY_SHOW_STATE },
        { .name = "extend",
          .op = "sandbox_extend",
          .words = "id timeout?",
          .about = "Changes a sandbox's time to live to TIMEOUT from now (90s, 10m, 2h; 0: until it is\n"
                   "destroyed), its idle limit (--idle-timeout), or both.",
          .show = CAY_SHOW_LIFE },
        { .name = "rm",
          .op = "sandbox_destroy",
          .words = "id+",
          .about = "Destroys sandboxes and everything that belongs to them.",
          .show = CAY_SHOW_ID },
        { .name = "cleanup",
          .op = "sandbox_cleanup",
          .words = "",
          .about = "Destroys all of your sandboxes that match the options; at least one option is needed.",
          .show = CAY_SHOW_CLEANUP },
        { .name = "events",
          .op = "sandbox_events",
          .other_op = "event_list",
          .words = "id?",
          .about = "Lists the events of a sandbox, even a destroyed one, or of all that you may see.",
          .letters = "follow:f",
          .show = CAY_SHOW_EVENTS },
        { .name = "ports",
          .op = "port_list",
          .words = "id",
          .about = "Lists the ports that servers in a sandbox listen on. The daemon forwards requests at\n"
                   "/api/sandboxes/SANDBOX/ports/PORT/ to them.",
          .show = CAY_SHOW_PORTS },
        { .name = "network suggest",
          .op = "network_suggest",
          .words = "id",
          .about =
                  "Prints the rules that would allow what a running sandbox connected to, as options and as\n"
                  "a template has them. Meant for the network learn.",
          .show = CAY_SHOW_SUGGESTION },
        { .name = "template",
          .op = "template_get",
          .other_op = "template_list",
          .words = "name?",
          .about = "Lists the templates, or shows one. `cay template build NAME` builds the image of a\n"
                   "template, and `cay template rm NAME` removes it. Without a daemon:\n"
                   "`cay template check [--json] FILE…` checks registry files, and `cay template schema`\n"
                   "prints their schema.",
          .more = CAY_MORE_TEMPLATE,
          .show = CAY_SHOW_TEMPLATES },
        { .name = "template build",
          .op = "template_build",
          .words = "name",
          .hide = "stream",
          .about = "Builds the image of a template with a Dockerfile, if its files have changed, and prints\n"
                   "what Docker prints. Exits with 1 if the build fails.",
          .more = CAY_MORE_QUIET },
        { .name = "template rm",
          .op = "template_remove",
          .words = "name",
          .about = "Removes the image that was built for a template. The template stays." },
        { .name = "recover adopt",
          .op = "recover_adopt",
          .words = "files",
          .flat = "limits",
          .about = "Makes a stopped sandbox of files that have no record, and prints its id. `cay start`\n"
                   "starts it.",
          .show = CAY_SHOW_ID },
        { .name = "recover rm",
          .op = "recover_remove",
          .words = "files",
          .about = "Removes files that have no record. This cannot be undone." },
        { "" },
};
