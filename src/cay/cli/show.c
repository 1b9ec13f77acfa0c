/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints answers, one function each. A switch selects them, not a pointer in a row: pointers would need
 * relocation at every start.
 */
#include "cay/cli/show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "domain/model/sandbox_options.h"
#include "cay/cli/safe.h"
#include "cay/cli/table.h"

static int show_sandboxes(struct cay_json_view answer, FILE *out, struct cay_error *err)
{
        static const struct cay_column columns[] = {
                { "SANDBOX", "sandbox_id", CAY_CELL_TEXT },
                { "NAME", "name", CAY_CELL_TEXT },
                { "STATUS", "status", CAY_CELL_STATUS },
                { "TEMPLATE", "template", CAY_CELL_TEXT },
                { "MEMORY", "limits.memory_bytes", CAY_CELL_BYTES, .may_go = true },
                { "CPUS", "limits.cpu_milli", CAY_CELL_MILLI, .may_go = true },
                { "RUNNING", "execs_running", CAY_CELL_NUMBER, .may_go = true },
                { "PORTS", "ports", CAY_CELL_PORTS, .may_go = true, .if_any = true },
                { "AGE", "created_at", CAY_CELL_AGE },
                { "LEFT", "expires_in_ms", CAY_CELL_MS },
                { "" },
        };

        struct cay_json_view list = cay_json_view_find(answer, "sandboxes"), first;
        struct cay_json_walk w = cay_json_view_walk(list);

        if (!cay_json_view_next(&w, NULL, &first) && isatty(fileno(out)))
                fprintf(stderr,
                        "cay: no sandboxes; `cay create` makes one\n"); /* scripts get an empty list */
        return cay_table_print(out, list, columns, err);
}

static int show_sandbox(struct cay_json_view answer, FILE *out, struct cay_error *err)
{
        static const struct cay_column columns[] = {
                { "sandbox", "sandbox_id", CAY_CELL_TEXT },
                { "name", "name", CAY_CELL_TEXT },
                { "status", "status", CAY_CELL_STATUS },
                { "asleep", "asleep", CAY_CELL_BOOL },
                { "memory freed", "memory_freed_bytes", CAY_CELL_BYTES },
                { "cause", "cause", CAY_CELL_TEXT },
                { "why", "cause_text", CAY_CELL_TEXT },
                { "advice", "advice", CAY_CELL_TEXT },
                { "busy with", "busy_with", CAY_CELL_TEXT },
                { "owner", "owner", CAY_CELL_TEXT },
                { "template", "template", CAY_CELL_TEXT },
                { "engine", "engine", CAY_CELL_TEXT },
                { "network", "network", CAY_CELL_TEXT },
                { "ports", "ports", CAY_CELL_PORTS },
                { "volumes", "volumes", CAY_CELL_VOLUMES },
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
#define CAY_SANDBOX_FIELD(kind, name, uses, head, doc)                                                       \
        CAY_OPTION_IF_ASKED_##uses({ head, #name, CAY_CELL_##kind }, )
#include "domain/model/sandbox_fields.def"
#undef CAY_SANDBOX_FIELD
                { "created", "created_at", CAY_CELL_WHEN },
                { "lives for", "expires_in_ms", CAY_CELL_MS },
                { "idle for", "idle_ms", CAY_CELL_MS },
                { "ends if idle for", "idle_expires_in_ms", CAY_CELL_MS },
                { "running", "execs_running", CAY_CELL_NUMBER },
                { "" },
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
        struct cay_json_view freed = cay_json_view_find(answer, "memory_freed_bytes");
        char id[CAY_CELL_MAX], status[CAY_CELL_MAX], bytes[CAY_CELL_MAX];
        uint64_t n = 0;

        fprintf(out, "%s  %s", cay_cell_format(cay_json_view_find(answer, "sandbox_id"), CAY_CELL_TEXT, id),
                cay_cell_format(cay_json_view_find(answer, "status"), CAY_CELL_TEXT, status));
        if (cay_json_view_u64(freed, &n) && n > 0)
                fprintf(out, "  memory freed: %s", cay_cell_format(freed, CAY_CELL_BYTES, bytes));
        fputc('\n', out);
        return 0;
}

/* What it found, and below it where results differ. */
static int show_replay(struct cay_json_view answer, FILE *out, struct cay_error *err)
{
        static const struct cay_column all[] = {
                { "same", "same", CAY_CELL_BOOL },
                { "commands", "commands", CAY_CELL_NUMBER },
                { "compared", "compared", CAY_CELL_NUMBER },
                { "files", "files", CAY_CELL_NUMBER },
                { "secrets omitted", "variables_left_out", CAY_CELL_NUMBER },
                { "differences", "count", CAY_CELL_NUMBER },
                { "timed out", "timed_out", CAY_CELL_BOOL },
                { "recording ended", "stopped", CAY_CELL_TEXT },
                { "sandbox", "replay_id", CAY_CELL_TEXT },
                { "" },
        };
        static const struct cay_column each[] = {
                { "COMMAND", "command", CAY_CELL_TEXT },
                { "WHAT", "what", CAY_CELL_TEXT },
                { "WAS", "was", CAY_CELL_TEXT },
                { "NOW", "now", CAY_CELL_TEXT },
                { "" },
        };
        uint64_t count = 0;

        cay_record_print(out, answer, all);
        if (!cay_json_view_u64(cay_json_view_find(answer, "count"), &count) || count == 0)
                return 0;
        fputc('\n', out);
        return cay_table_print(out, cay_json_view_find(answer, "differences"), each, err);
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

static int show_events(struct cay_json_view answer, FILE *out, struct cay_error *err)
{
        static const struct cay_column columns[] = {
                { "NR", "seq", CAY_CELL_NUMBER },           { "AT", "at", CAY_CELL_WHEN },
                { "SANDBOX", "sandbox_id", CAY_CELL_TEXT }, { "KIND", "kind", CAY_CELL_TEXT },
                { "DETAIL", "detail", CAY_CELL_PAIRS },     { "" },
        };

        return cay_table_print(out, cay_json_view_find(answer, "events"), columns, err);
}

static int show_ports(struct cay_json_view answer, FILE *out, struct cay_error *err)
{
        struct cay_json_walk w = cay_json_view_walk(cay_json_view_find(answer, "ports"));
        struct cay_json_view port;
        uint64_t n, shown = 0;

        while (cay_json_view_next(&w, NULL, &port))
                if (cay_json_view_u64(port, &n))
                        shown += fprintf(out, "%" PRIu64 "\n", n) > 0;
        if (cay_json_view_u64(cay_json_view_find(answer, "count"), &n) && n > shown)
                fprintf(out, "and %" PRIu64 " higher ones\n", n - shown);
        return 0;
}

/*
 * Options in one line, then a template's part: rules are checked by the daemon, and made safe here all the
 * same.
 */
static int show_suggestion(struct cay_json_view answer, FILE *out, struct cay_error *err)
{
        struct cay_json_walk w = cay_json_view_walk(cay_json_view_find(answer, "allow"));
        struct cay_json_view rule;
        char text[CAY_CELL_MAX];
        unsigned count = 0;

        for (; cay_json_view_next(&w, NULL, &rule); count++)
                fprintf(out, "%s--allow '%s'", count > 0 ? " " : "",
                        cay_cell_format(rule, CAY_CELL_TEXT, text));
        fprintf(out, "%s\n\nsecurity:\n  network:\n    allow:%s\n",
                count > 0 ? "" : "# it connected to nothing that was allowed", count > 0 ? "" : " []");
        w = cay_json_view_walk(cay_json_view_find(answer, "allow"));
        while (cay_json_view_next(&w, NULL, &rule))
                fprintf(out, "      - \"%s\"\n", cay_cell_format(rule, CAY_CELL_TEXT, text));
        w = cay_json_view_walk(cay_json_view_find(answer, "refused"));
        while (cay_json_view_next(&w, NULL, &rule))
                fprintf(out, "    # refused: %s\n", cay_cell_format(rule, CAY_CELL_TEXT, text));
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
                fprintf(stderr, "cay cleanup: %" PRIu64 " would be destroyed\n", seen);
        else
                fprintf(stderr, "cay cleanup: %" PRIu64 " destroyed\n", gone);
        if (failed > 0)
                return cay_fail(err, CAY_CONFLICT, "%" PRIu64 " could not be destroyed: %s", failed,
                                cay_cell_format(cay_json_view_find(answer, "first_failure"), CAY_CELL_TEXT,
                                                text));
        return 0;
}

/* SYSTEM.md, line by line: control characters are escaped, line breaks stay. */
static void print_system(struct cay_json_view text, FILE *out)
{
        cay_auto_free char *all = cay_json_view_is_text(text) ? malloc(text.len + 1) : NULL;
        char *save = NULL;

        if (all == NULL)
                return;
        cay_json_view_copy(text, all, text.len + 1);
        fprintf(out, "\nInstructions (SYSTEM.md):\n");
        for (char *line = strtok_r(all, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
                char safe[4096];

                fprintf(out, "  %s\n", cay_safe_copy(line, safe, sizeof(safe)));
        }
}

static void show_template(struct cay_json_view answer, FILE *out)
{
        static const struct cay_column columns[] = {
                { "template", "name", CAY_CELL_TEXT },
                { "description", "description", CAY_CELL_TEXT },
                { "available", "available", CAY_CELL_BOOL },
                { "why not", "why", CAY_CELL_TEXT },
                { "root", "root", CAY_CELL_TEXT },
                { "engine", "engine", CAY_CELL_TEXT },
                { "build", "build.state", CAY_CELL_STATUS },
                { "image", "build.image", CAY_CELL_TEXT },
                { "size", "build.size_bytes", CAY_CELL_SIZE },
                { "built", "build.built_at", CAY_CELL_WHEN },
                { "failed in", "build.step", CAY_CELL_TEXT },
                { "failed with", "build.error", CAY_CELL_TEXT },
                { "network", "network", CAY_CELL_TEXT },
                { "allow", "allow", CAY_CELL_LIST },
                { "deny", "deny", CAY_CELL_LIST },
#define CAY_SANDBOX_FIELD(kind, name, uses, head, doc)                                                       \
        CAY_OPTION_IF_ASKED_##uses({ head, #name, CAY_CELL_##kind }, )
#include "domain/model/sandbox_fields.def"
#undef CAY_SANDBOX_FIELD
                { "confirmation", "needs_confirm", CAY_CELL_BOOL },
                { "memory", "limits.memory_bytes", CAY_CELL_BYTES },
                { "cpus", "limits.cpu_milli", CAY_CELL_MILLI },
                { "pids", "limits.pids", CAY_CELL_NUMBER },
                { "disk", "limits.disk_bytes", CAY_CELL_BYTES },
                { "time", "limits.wall_ms", CAY_CELL_MS },
                { "lives for", "life_time_ms", CAY_CELL_LIMIT_MS },
                { "idle for", "idle_time_ms", CAY_CELL_LIMIT_MS },
                { "variables", "env", CAY_CELL_LIST },
                { "command", "command", CAY_CELL_COMMAND },
                { "interpreter", "interpreter", CAY_CELL_COMMAND },
                { "triggers", "triggers", CAY_CELL_QUOTED },
                { "" },
        };

        cay_record_print(out, answer, columns);
        print_system(cay_json_view_find(answer, "system"), out);
}

static int show_templates(struct cay_json_view answer, FILE *out, struct cay_error *err)
{
        static const struct cay_column columns[] = {
                { "TEMPLATE", "name", CAY_CELL_TEXT },
                { "ENGINE", "engine", CAY_CELL_TEXT, .may_go = true },
                { "AVAILABLE", "available", CAY_CELL_BOOL },
                { "BUILD", "build.state", CAY_CELL_STATUS, .may_go = true },
                { "SIZE", "build.size_bytes", CAY_CELL_SIZE, .may_go = true },
                { "DESCRIPTION", "description", CAY_CELL_TEXT },
                { "" },
        };
        struct cay_json_view list = cay_json_view_find(answer, "templates");

        if (cay_json_view_is_array(list))
                return cay_table_print(out, list, columns, err);
        show_template(answer, out);
        return 0;
}

int cay_show(enum cay_show how, struct cay_json_view answer, FILE *out, struct cay_error *err)
{
        switch (how) {
        case CAY_SHOW_SANDBOXES:
                return show_sandboxes(answer, out, err);
        case CAY_SHOW_SANDBOX:
                return show_sandbox(answer, out, err);
        case CAY_SHOW_ID:
                return show_id(answer, out, err);
        case CAY_SHOW_STATE:
                return show_state(answer, out, err);
        case CAY_SHOW_REPLAY:
                return show_replay(answer, out, err);
        case CAY_SHOW_LIFE:
                return show_life(answer, out, err);
        case CAY_SHOW_EVENTS:
                return show_events(answer, out, err);
        case CAY_SHOW_PORTS:
                return show_ports(answer, out, err);
        case CAY_SHOW_SUGGESTION:
                return show_suggestion(answer, out, err);
        case CAY_SHOW_CLEANUP:
                return show_cleanup(answer, out, err);
        case CAY_SHOW_TEMPLATES:
                return show_templates(answer, out, err);
        case CAY_SHOW_JSON:
        case CAY_SHOW_COLUMNS:
                break;
        }
        cay_safe_json(out, answer.at, answer.len);
        return 0;
}

int cay_show_columns(const char *list, const struct cay_column *columns, struct cay_json_view answer,
                     FILE *out, struct cay_error *err)
{
        if (list[0] != '\0')
                return cay_table_print(out, cay_json_view_find(answer, list), columns, err);
        cay_record_print(out, answer, columns);
        return 0;
}
