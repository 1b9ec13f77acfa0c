/* SPDX-License-Identifier: Apache-2.0 */
/* `cay exec`, `shell`, `attach`, `logs`: commands of a sandbox on our streams. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "foundation/base/utf8.h"
#include "cay/cli/cli.h"
#include "cay/cli/safe.h"
#include "cay/cli/session.h"
#include "cay/cli/tty.h"
#include "cay/cli/verb.h"

#define STDIN_TEXT_MAX (1024u * 1024) /* what exec_run takes as text */

/*
 * Pipes and files are passed on; a terminal only to a terminal; /dev/null is what a command without input has
 * anyway.
 */
static bool has_stdin(const struct cay_verb_args *a, bool tty)
{
        struct stat st;

        if (a->no_stdin)
                return false;
        if (isatty(STDIN_FILENO))
                return tty;
        if (fstat(STDIN_FILENO, &st) < 0)
                return false;
        return !(S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
}

/* One word with blanks is a command line for a shell: no program has such a name. */
static int add_command(struct cay_values *v, char **words, int count, struct cay_error *err)
{
        if (count == 1 && strpbrk(words[0], " \t\n") != NULL &&
            (cay_values_set(v, "command", "/bin/sh", err) < 0 || cay_values_set(v, "command", "-c", err) < 0))
                return -1;
        for (int i = 0; i < count; i++)
                if (cay_values_add(v, "command", "COMMAND", words[i], err) < 0)
                        return -1;
        return 0;
}

static int set_terminal(struct cay_values *v, char rows_text[12], char cols_text[12], struct cay_error *err)
{
        const char *term = getenv("TERM");
        unsigned rows, cols;

        if (term != NULL && term[0] != '\0' && strlen(term) < 64 && cay_values_set(v, "term", term, err) < 0)
                return -1;
        if (!cay_tty_size(STDIN_FILENO, &rows, &cols))
                return 0;
        snprintf(rows_text, 12, "%u", rows);
        snprintf(cols_text, 12, "%u", cols);
        return cay_values_set(v, "rows", rows_text, err) < 0 ? -1 : cay_values_set(v, "cols", cols_text, err);
}

/* The message at the end of a session. */
static int report(const struct cay_session *s, const struct cay_verb_args *a)
{
        if (s->left) {
                fprintf(stderr, "\ncay: left running: cay attach %s %s\n", s->sandbox, s->exec_id);
                return 0;
        }
        if (!a->quiet && s->ended)
                cay_session_print_end(s);
        return s->status;
}

static int run_stream(struct cay_reach *reach, struct cay_verb_args *a, bool tty, struct cay_error *err)
{
        struct cay_session s = { .reach = reach,
                                 .begins = &a->values,
                                 .sandbox = cay_values_get(&a->values, "id"),
                                 .wants_input = has_stdin(a, tty),
                                 .is_terminal = tty,
                                 .is_raw = a->raw,
                                 .follows = true,
                                 .passes_signals = true };
        char rows[12], cols[12];

        if ((tty && set_terminal(&a->values, rows, cols, err) < 0) ||
            (s.wants_input && cay_values_set(&a->values, "open_stdin", "true", err) < 0) ||
            cay_values_set(&a->values, "stream", "true", err) < 0 || cay_session_run(&s, err) < 0)
                return -1;
        return report(&s, a);
}

static int run_background(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err)
{
        cay_auto_answer struct cay_reach_answer answer = { 0 };
        char id[CAY_CELL_MAX];

        if (cay_values_set(&a->values, "background", "true", err) < 0 ||
            cay_reach_call(reach, &a->values, -1, CAY_REACH_WAIT_MS, &answer, err) < 0)
                return -1;
        if (a->json)
                cay_safe_json(stdout, answer.json.at, answer.json.len);
        else
                printf("%s\n",
                       cay_cell_format(cay_json_view_find(answer.json, "exec_id"), CAY_CELL_TEXT, id));
        return cay_verb_flush(err);
}

/* All of standard input as one text. */
static int read_text(struct cay_buf *text, struct cay_error *err)
{
        ssize_t n = 1;

        while (n > 0) {
                char *room = cay_buf_room(text, 64 * 1024);

                if (room == NULL)
                        return cay_fail(err, CAY_INVALID,
                                        "--json: standard input is longer than 1 MiB; leave --json out");
                do {
                        n = read(STDIN_FILENO, room, 64 * 1024);
                } while (n < 0 && errno == EINTR);
                if (n < 0)
                        return cay_fail_sys(err, CAY_INTERNAL, -errno, "read standard input");
                cay_buf_added(text, (size_t)n);
        }
        if (memchr(cay_buf_data(text), '\0', text->len) != NULL ||
            !cay_utf8_valid(cay_buf_data(text), text->len))
                return cay_fail(err, CAY_INVALID, "--json: standard input is not text; leave --json out");
        return 0;
}

/* One JSON answer when the command has ended; its exit status is still ours. */
static int run_waiting(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err)
{
        cay_auto_answer struct cay_reach_answer answer = { 0 };
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_session s = { 0 };

        cay_buf_init(&text, STDIN_TEXT_MAX + 64 * 1024);
        if (has_stdin(a, false) &&
            (read_text(&text, err) < 0 || cay_values_set(&a->values, "stdin", cay_buf_data(&text), err) < 0))
                return -1;
        if (cay_reach_call(reach, &a->values, -1, -1, &answer, err) < 0)
                return -1;
        cay_safe_json(stdout, answer.json.at, answer.json.len);
        cay_session_read_end(&s, answer.json, 0);
        return cay_verb_flush(err) < 0 ? -1 : s.status;
}

static int run_exec(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err)
{
        const char *tty = cay_values_get(&a->values, "tty");

        if (add_command(&a->values, a->rest, a->rest_count, err) < 0)
                return -1;
        if (a->detach)
                return run_background(reach, a, err);
        if (a->json)
                return run_waiting(reach, a, err);
        return run_stream(reach, a, tty != NULL && strcmp(tty, "true") == 0, err);
}

static int run_shell(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err)
{
        static char *shells[] = {
                (char *)"/bin/sh", (char *)"-c",
                (char *)"if command -v bash >/dev/null 2>&1; then exec bash; else exec sh; fi"
        };
        bool own = a->rest_count == 0;

        if (!isatty(STDIN_FILENO))
                return cay_fail(err, CAY_INVALID,
                                "standard input is not a terminal; `cay exec` runs commands without one");
        if (add_command(&a->values, own ? shells : a->rest, own ? 3 : a->rest_count, err) < 0 ||
            cay_values_set(&a->values, "tty", "true", err) < 0)
                return -1;
        return run_stream(reach, a, true, err);
}

/* The last started command; running ones first if requested. */
static int find_exec(struct cay_reach *reach, const char *sandbox, bool running, char ret[64],
                     struct cay_reach_answer *answer, struct cay_json_view *ret_exec, struct cay_error *err)
{
        cay_auto_values struct cay_values v;
        struct cay_json_view exec;
        struct cay_json_walk w;

        cay_values_init(&v, cay_cli_op_find("exec_list"));
        if (cay_values_set(&v, "id", sandbox, err) < 0 ||
            cay_reach_call(reach, &v, -1, CAY_REACH_WAIT_MS, answer, err) < 0)
                return -1;
        *ret_exec = (struct cay_json_view){ 0 };
        w = cay_json_view_walk(cay_json_view_find(answer->json, "execs"));
        while (cay_json_view_next(&w, NULL, &exec)) {
                char id[64], status[16];

                cay_json_view_copy(cay_json_view_find(exec, "exec_id"), id, sizeof(id));
                cay_json_view_copy(cay_json_view_find(exec, "status"), status, sizeof(status));
                if (ret[0] != '\0' ? strcmp(id, ret) == 0 : !running || strcmp(status, "ended") != 0)
                        *ret_exec = exec;
        }
        if (ret_exec->len == 0)
                return cay_fail(err, CAY_NOT_FOUND,
                                ret[0] != '\0' ? "there is no such command in it; `cay ps` lists them"
                                : running      ? "no command is running in it"
                                               : "no command was started in it");
        cay_json_view_copy(cay_json_view_find(*ret_exec, "exec_id"), ret, 64);
        return 0;
}

static int follow(struct cay_reach *reach, struct cay_verb_args *a, bool is_logs, struct cay_error *err)
{
        cay_auto_answer struct cay_reach_answer answer = { 0 };
        const char *given = cay_values_get(&a->values, "exec"), *from = cay_values_get(&a->values, "from");
        char id[64] = "", start[24];
        struct cay_session s = {
                .reach = reach, .begins = &a->values, .exec = id, .is_raw = a->raw, .as_events = a->json
        };
        struct cay_json_view exec;
        uint64_t first = 0;

        s.sandbox = cay_values_get(&a->values, "id");
        if (given != NULL)
                snprintf(id, sizeof(id), "%.63s", given);
        if (find_exec(reach, s.sandbox, !is_logs, id, &answer, &exec, err) < 0)
                return -1;
        cay_json_view_u64(cay_json_view_find(exec, "output_end"), &s.until);
        cay_json_view_u64(cay_json_view_find(exec, "output_first"), &first);
        s.from = is_logs ? first : s.until;
        if (from != NULL)
                s.from = strtoull(from, NULL, 10);
        snprintf(start, sizeof(start), "%" PRIu64, s.from);
        if (cay_values_set(&a->values, "exec", id, err) < 0 ||
            cay_values_set(&a->values, "from", start, err) < 0)
                return -1;
        s.follows = !is_logs || a->follow;
        s.passes_signals = !is_logs;
        s.is_terminal = !is_logs && cay_json_view_is_true(cay_json_view_find(exec, "tty"));
        s.wants_input = !is_logs && has_stdin(a, s.is_terminal);
        if (cay_session_run(&s, err) < 0)
                return -1;
        if (is_logs)
                return s.ended ? 0 : s.status;
        return report(&s, a);
}

static int run_attach(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err)
{
        return follow(reach, a, false, err);
}

static int run_logs(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err)
{
        return follow(reach, a, true, err);
}

int cay_cmd_exec(int argc, char **argv)
{
        return cay_verb_main(argc, argv, run_exec);
}

int cay_cmd_shell(int argc, char **argv)
{
        return cay_verb_main(argc, argv, run_shell);
}

int cay_cmd_attach(int argc, char **argv)
{
        return cay_verb_main(argc, argv, run_attach);
}

int cay_cmd_logs(int argc, char **argv)
{
        return cay_verb_main(argc, argv, run_logs);
}
