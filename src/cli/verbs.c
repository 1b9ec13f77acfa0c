/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of the daemon: one row each. */
#include <inttypes.h>
#include <string.h>

#include "cli/verb.h"

/* How answers look */

static int show_sandboxes(struct cay_json_view answer, FILE *out, struct cay_error *err)
{
        static const struct cay_column columns[] = {
                { "SANDBOX", "sandbox_id", CAY_CELL_TEXT },
                { "NAME", "name", CAY_CELL_TEXT },
                { "STATUS", "status", CAY_CELL_STATUS },
                { "TEMPLATE", "template", CAY_CELL_TEXT },
                { "MEMORY", "limits.memory_bytes", CAY_CELL_BYTES },
                { "CPUS", "limits.cpu_milli", CAY_CELL_MILLI },
                { "RUNNING", "execs_running", CAY_CELL_NUMBER },
                { "AGE", "created_at", CAY_CELL_AGE },
                { "LEFT", "expires_in_ms", CAY_CELL_MS },
                { 0 },
        };

        return cay_table_print(out, cay_json_view_find(answer, "sandboxes"), columns, err);
}

static int show_sandbox(struct cay_json_view answer, FILE *out, struct cay_error *err)
{
        static const struct cay_column columns[] = {
                { "sandbox", "sandbox_id", CAY_CELL_TEXT },
                { "name", "name", CAY_CELL_TEXT },
                { "status", "status", CAY_CELL_STATUS },
                { "cause", "cause", CAY_CELL_TEXT },
                { "why", "cause_text", CAY_CELL_TEXT },
                { "advice", "advice", CAY_CELL_TEXT },
                { "busy with", "busy_with", CAY_CELL_TEXT },
                { "owner", "owner", CAY_CELL_TEXT },
                { "template", "template", CAY_CELL_TEXT },
                { "engine", "engine", CAY_CELL_TEXT },
                { "network", "network", CAY_CELL_TEXT },
                { "labels", "labels", CAY_CELL_PAIRS },
                { "metadata", "metadata", CAY_CELL_PAIRS },
                { "memory", "limits.memory_bytes", CAY_CELL_BYTES },
                { "cpus", "limits.cpu_milli", CAY_CELL_MILLI },
                { "pids", "limits.pids", CAY_CELL_NUMBER },
                { "disk", "limits.disk_bytes", CAY_CELL_BYTES },
                { "not held", "limits_skipped", CAY_CELL_LIST },
                { "workspace", "workspace.inside", CAY_CELL_TEXT },
                { "from", "workspace.path", CAY_CELL_TEXT },
                { "mode", "workspace.mode", CAY_CELL_TEXT },
                { "read-only", "read_only", CAY_CELL_BOOL },
                { "created", "created_at", CAY_CELL_WHEN },
                { "lives for", "expires_in_ms", CAY_CELL_MS },
                { "idle for", "idle_ms", CAY_CELL_MS },
                { "running", "execs_running", CAY_CELL_NUMBER },
                { 0 },
        };

        cay_record_print(out, answer, columns);
        return 0;
}

/* For scripts: `box=$(cay create)`. */
static int show_id(struct cay_json_view answer, FILE *out, struct cay_error *err)
{
        char text[CAY_CELL_MAX];

        fprintf(out, "%s\n", cay_cell_format(cay_json_view_find(answer, "sandbox_id"), CAY_CELL_TEXT, text));
        return 0;
}

static int show_state(struct cay_json_view answer, FILE *out, struct cay_error *err)
{
        char id[CAY_CELL_MAX], status[CAY_CELL_MAX];

        fprintf(out, "%s  %s\n", cay_cell_format(cay_json_view_find(answer, "sandbox_id"), CAY_CELL_TEXT, id),
                cay_cell_format(cay_json_view_find(answer, "status"), CAY_CELL_TEXT, status));
        return 0;
}

static int show_life(struct cay_json_view answer, FILE *out, struct cay_error *err)
{
        char id[CAY_CELL_MAX], left[CAY_CELL_MAX];
        struct cay_json_view ms = cay_json_view_find(answer, "expires_in_ms");

        fprintf(out, "%s  %s%s\n",
                cay_cell_format(cay_json_view_find(answer, "sandbox_id"), CAY_CELL_TEXT, id),
                cay_json_view_is_null(ms) ? "until it is destroyed" : "lives for ",
                cay_json_view_is_null(ms) ? "" : cay_cell_format(ms, CAY_CELL_MS, left));
        return 0;
}

static int show_execs(struct cay_json_view answer, FILE *out, struct cay_error *err)
{
        static const struct cay_column columns[] = {
                { "COMMAND-ID", "exec_id", CAY_CELL_TEXT }, { "STATUS", "status", CAY_CELL_STATUS },
                { "EXIT", "exit_code", CAY_CELL_NUMBER },   { "CAUSE", "cause", CAY_CELL_TEXT },
                { "STARTED", "started_at", CAY_CELL_AGE },  { "TOOK", "duration_ms", CAY_CELL_MS },
                { "COMMAND", "command", CAY_CELL_COMMAND }, { 0 },
        };

        return cay_table_print(out, cay_json_view_find(answer, "execs"), columns, err);
}

static int show_events(struct cay_json_view answer, FILE *out, struct cay_error *err)
{
        static const struct cay_column columns[] = {
                { "NR", "seq", CAY_CELL_NUMBER },           { "AT", "at", CAY_CELL_WHEN },
                { "SANDBOX", "sandbox_id", CAY_CELL_TEXT }, { "KIND", "kind", CAY_CELL_TEXT },
                { "DETAIL", "detail", CAY_CELL_PAIRS },     { 0 },
        };

        return cay_table_print(out, cay_json_view_find(answer, "events"), columns, err);
}

static int show_ports(struct cay_json_view answer, FILE *out, struct cay_error *err)
{
        struct cay_json_walk w = cay_json_view_walk(cay_json_view_find(answer, "ports"));
        struct cay_json_view port;
        uint64_t n;

        while (cay_json_view_next(&w, NULL, &port))
                if (cay_json_view_u64(port, &n))
                        fprintf(out, "%" PRIu64 "\n", n);
        return 0;
}

static int show_cleanup(struct cay_json_view answer, FILE *out, struct cay_error *err)
{
        struct cay_json_walk w = cay_json_view_walk(cay_json_view_find(answer, "sandboxes"));
        bool dry = cay_json_view_is_true(cay_json_view_find(answer, "dry_run"));
        uint64_t gone = 0, failed = 0, seen = 0;
        struct cay_json_view id;
        char text[CAY_CELL_MAX];

        for (; cay_json_view_next(&w, NULL, &id); seen++)
                fprintf(out, "%s\n", cay_cell_format(id, CAY_CELL_TEXT, text));
        cay_json_view_u64(cay_json_view_find(answer, "destroyed"), &gone);
        cay_json_view_u64(cay_json_view_find(answer, "failed"), &failed);
        if (dry)
                fprintf(stderr, "cay cleanup: %" PRIu64 " would go\n", seen);
        else
                fprintf(stderr, "cay cleanup: %" PRIu64 " destroyed\n", gone);
        if (failed > 0)
                return cay_fail(err, CAY_CONFLICT, "%" PRIu64 " could not be destroyed: %s", failed,
                                cay_cell_format(cay_json_view_find(answer, "first_failure"), CAY_CELL_TEXT,
                                                text));
        return 0;
}

static int show_templates(struct cay_json_view answer, FILE *out, struct cay_error *err)
{
        static const struct cay_column columns[] = {
                { "TEMPLATE", "name", CAY_CELL_TEXT },
                { "AVAILABLE", "available", CAY_CELL_BOOL },
                { "DESCRIPTION", "description", CAY_CELL_TEXT },
                { 0 },
        };
        struct cay_json_view list = cay_json_view_find(answer, "templates");
        struct cay_json_walk w = cay_json_view_walk(answer);
        struct cay_json_view key, value;

        if (cay_json_view_is_array(list))
                return cay_table_print(out, list, columns, err);
        while (cay_json_view_next(&w, &key, &value)) {
                char name[CAY_CELL_MAX], text[CAY_CELL_MAX];

                cay_cell_format(value, CAY_CELL_PAIRS, text);
                if (strcmp(text, "-") != 0)
                        fprintf(out, "%-20s  %s\n", cay_cell_format(key, CAY_CELL_TEXT, name), text);
        }
        return 0;
}

/* Options of their own */

#define TRUE(member) cay_flag_set_true, offsetof(struct cay_verb_args, member)
#define TEXT(member) cay_flag_set_text, offsetof(struct cay_verb_args, member)

static const struct cay_flag create_flags[] = {
        { "workspace", "DIR[:ro|:rw|:cow]",
          "folder at /workspace; over the daemon's socket one of this machine's, opened with your rights",
          TEXT(workspace) },
        { 0 },
};

static const struct cay_flag exec_flags[] = {
        { "detach", NULL, "leave it in the background and print its id", TRUE(detach), 'd' },
        { "no-stdin", NULL, "it reads nothing, whatever standard input is", TRUE(no_stdin), 'n' },
        { "quiet", NULL, "do not say why it ended", TRUE(quiet), 'q' },
        { 0 },
};

static const struct cay_flag quiet_flags[] = {
        { "quiet", NULL, "say nothing but what went wrong", TRUE(quiet), 'q' },
        { 0 },
};

static const struct cay_flag logs_flags[] = {
        { "follow", NULL, "go on until the command ends", TRUE(follow), 'f' },
        { 0 },
};

static const struct cay_flag stats_flags[] = {
        { "once", NULL, "print the figures once instead of again and again", TRUE(once) },
        { "interval", "TIME", "between two looks (2s)", TEXT(interval) },
        { 0 },
};

#define EXEC_HIDE "command cwd stdin open_stdin stream background max_output rows cols term"
#define EXEC_LETTERS "env:e workdir:w user:u tty:t"

const struct cay_verb cay_verbs[] = {
        { .name = "create",
          .op = "sandbox_create",
          .words = "template?",
          .hide = "project_name memory_limit cpu_limit workspace",
          .flat = "limits",
          .letters = "env:e",
          .renames = "labels:label",
          .about = "Makes a sandbox and prints its id.",
          .more = create_flags,
          .show = show_id },
        { .name = "ls",
          .op = "sandbox_list",
          .words = "",
          .about = "Lists sandboxes; options choose among them.",
          .pages = "sandboxes",
          .show = show_sandboxes },
        { .name = "get",
          .op = "sandbox_get",
          .words = "id",
          .about = "Shows what a sandbox is.",
          .show = show_sandbox },
        { .name = "exec",
          .op = "exec_run",
          .words = "id ...",
          .hide = EXEC_HIDE,
          .letters = EXEC_LETTERS,
          .about = "Runs a command in a sandbox: its output is cay's output, its exit status cay's exit "
                   "status.\n"
                   "Ctrl-C and SIGTERM go to the command. One word with blanks in it is a line for a shell.\n"
                   "With --tty keys go to it as they are pressed; Ctrl-] twice leaves it running.",
          .more = exec_flags },
        { .name = "shell",
          .op = "exec_run",
          .words = "id ...?",
          .hide = EXEC_HIDE " tty timeout execution_id output_limit output_cut cpu_time",
          .letters = EXEC_LETTERS,
          .about = "A shell in a sandbox, on this terminal; COMMAND… is run in its place. Ctrl-] twice "
                   "leaves it\n"
                   "running: `cay attach` comes back to it.",
          .more = quiet_flags,
          .no_json = true },
        { .name = "attach",
          .op = "exec_attach",
          .words = "id exec?",
          .hide = "from raw stream",
          .about = "Goes on with a command that runs: output from now on, and input if it takes any. The "
                   "last one that\n"
                   "was started, unless EXEC names it (`cay ps` lists them). Ctrl-] twice leaves it on a "
                   "terminal.",
          .more = quiet_flags,
          .no_json = true },
        { .name = "logs",
          .op = "exec_attach",
          .words = "id exec?",
          .hide = "raw",
          .about = "What a command has printed: the last one that was started, unless EXEC names it. With "
                   "--json the\n"
                   "events themselves, one a line.",
          .more = logs_flags },
        { .name = "ps",
          .op = "exec_list",
          .words = "id",
          .about = "Lists the commands of a sandbox, ended ones too.",
          .show = show_execs },
        { .name = "cp",
          .op = "archive_get",
          .words = "source target",
          .hide = "id path format",
          .about = "Copies a file or a tree between here and a sandbox; SANDBOX:PATH is there, \"-\" a tar "
                   "archive on standard\n"
                   "input or output. A TARGET that is a folder gets the copy below it. Links are copied as "
                   "links and\n"
                   "never followed; what is neither file, folder nor link is left out.",
          .more = quiet_flags,
          .no_json = true },
        { .name = "stats",
          .op = "sandbox_stats",
          .words = "id*",
          .about = "What sandboxes use, again and again: those named, or all that run. Ctrl-C ends it.",
          .more = stats_flags },
        { .name = "start",
          .op = "sandbox_start",
          .words = "id+",
          .about = "Starts sandboxes that are stopped or failed.",
          .show = show_state },
        { .name = "stop",
          .op = "sandbox_stop",
          .words = "id+",
          .about = "Ends everything in sandboxes; `cay start` goes on with them.",
          .show = show_state },
        { .name = "pause",
          .op = "sandbox_pause",
          .words = "id+",
          .about = "Freezes everything in sandboxes.",
          .show = show_state },
        { .name = "resume",
          .op = "sandbox_resume",
          .words = "id+",
          .about = "Lets paused sandboxes go on.",
          .show = show_state },
        { .name = "extend",
          .op = "sandbox_extend",
          .words = "id timeout",
          .about = "Says anew how long a sandbox lives: TIMEOUT from now (90s, 10m, 2h); 0: until it is "
                   "destroyed.",
          .show = show_life },
        { .name = "rm",
          .op = "sandbox_destroy",
          .words = "id+",
          .about = "Destroys sandboxes and all that belongs to them.",
          .show = show_id },
        { .name = "cleanup",
          .op = "sandbox_cleanup",
          .words = "",
          .about = "Destroys all of your sandboxes that the options take; at least one is needed.",
          .show = show_cleanup },
        { .name = "events",
          .op = "sandbox_events",
          .other_op = "event_list",
          .words = "id?",
          .about = "What happened to a sandbox (also one that is gone), or to all that you may see.",
          .letters = "follow:f",
          .show = show_events },
        { .name = "ports",
          .op = "port_list",
          .words = "id",
          .about = "Ports that are listened on in a sandbox. Each is reached below the daemon's\n"
                   "/api/sandboxes/SANDBOX/ports/PORT/.",
          .show = show_ports },
        { .name = "template",
          .op = "template_get",
          .other_op = "template_list",
          .words = "name?",
          .about = "Lists what sandboxes can be made from, or shows one of them. Without a daemon:\n"
                   "`cay template check [--json] FILE…` checks registry files, `cay template schema` prints "
                   "their schema.",
          .show = show_templates },
        { 0 },
};
