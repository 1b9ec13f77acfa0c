/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a stream of events: lines, then the end. */
#include "cay/cli/template_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cay/cli/cli.h"
#include "cay/cli/safe.h"

#define LINE_MAX_BYTES (1024u * 1024)
#define IDLE_MS (10 * 60 * 1000) /* the daemon sends keep-alives */

enum ended { NOT_YET, BUILT, FAILED };

struct build {
        const struct cay_verb_args *args;
        struct cay_buf line;
        enum ended ended;
};

static const char *cell(struct cay_json_view e, const char *name, enum cay_cell kind, char ret[CAY_CELL_MAX])
{
        return cay_cell_format(cay_json_view_find(e, name), kind, ret);
}

/* Output of the build is escaped for this terminal. */
static void print_line(struct build *b, struct cay_json_view e)
{
        struct cay_json_view line = cay_json_view_find(e, "line");
        char text[8192], safe[4 * sizeof(text)];

        if (b->args->quiet)
                return;
        if (!cay_json_view_is_text(line))
                printf("[bytes that are not text]\n");
        else
                printf("%s\n",
                       cay_safe_line(cay_json_view_copy(line, text, sizeof(text)), safe, sizeof(safe)));
}

static void print_end(struct build *b, struct cay_json_view e)
{
        char state[CAY_CELL_MAX], step[CAY_CELL_MAX], why[CAY_CELL_MAX], image[CAY_CELL_MAX],
                size[CAY_CELL_MAX], took[CAY_CELL_MAX];
        bool was_there = cay_json_view_is_true(cay_json_view_find(e, "up_to_date"));

        b->ended = strcmp(cell(e, "state", CAY_CELL_TEXT, state), "built") == 0 ? BUILT : FAILED;
        if (b->args->json)
                return;
        if (b->ended == BUILT && !b->args->quiet)
                printf("%s: %s (%s, %s)\n", was_there ? "up to date" : "built",
                       cell(e, "image", CAY_CELL_TEXT, image), cell(e, "size_bytes", CAY_CELL_BYTES, size),
                       cell(e, "took_ms", CAY_CELL_MS, took));
        if (b->ended == FAILED)
                fprintf(stderr, "cay template build: not built: %s\n", cell(e, "error", CAY_CELL_TEXT, why));
        if (b->ended == FAILED && !cay_json_view_is_null(cay_json_view_find(e, "step")))
                fprintf(stderr, "  in: %s\n", cell(e, "step", CAY_CELL_TEXT, step));
}

static int take_event(struct build *b, const char *bytes, size_t len, struct cay_error *err)
{
        char kind[CAY_CELL_MAX], message[CAY_CELL_MAX];
        struct cay_json_view e;

        if (cay_json_view_open(bytes, len, &e) < 0)
                return cay_fail(err, CAY_INVALID, "the daemon sent a line that is not an event");
        if (b->args->json)
                cay_safe_json(stdout, bytes, len);
        cell(e, "event", CAY_CELL_TEXT, kind);
        if (strcmp(kind, "error") == 0)
                return cay_fail(err, CAY_CONFLICT, "%s", cell(e, "message", CAY_CELL_TEXT, message));
        if (strcmp(kind, "end") == 0)
                print_end(b, e);
        else if (!b->args->json)
                print_line(b, e);
        return 0;
}

static int take(struct build *b, const char *bytes, size_t len, struct cay_error *err)
{
        char *newline;
        int r = 0;

        if (cay_buf_put(&b->line, bytes, len) < 0)
                return cay_fail(err, CAY_LIMIT, "an event is longer than %u bytes", LINE_MAX_BYTES);
        while (r == 0 && (newline = memchr(cay_buf_data(&b->line), '\n', b->line.len)) != NULL) {
                size_t n = (size_t)(newline - cay_buf_data(&b->line));

                if (n > 0) /* a blank line is a keep-alive */
                        r = take_event(b, cay_buf_data(&b->line), n, err);
                cay_buf_drop(&b->line, n + 1);
        }
        return r == 0 ? cay_verb_flush(err) : r;
}

static int follow(struct build *b, struct cay_client_conn *conn, struct cay_error *err)
{
        const char *bytes;
        ssize_t n;

        while ((n = cay_client_conn_read(conn, &bytes, IDLE_MS, err)) > 0)
                if (take(b, bytes, (size_t)n, err) < 0)
                        return -1;
        if (n < 0)
                return -1;
        if (b->ended == NOT_YET)
                return cay_fail(err, CAY_UNAVAILABLE,
                                "the connection to the daemon is lost; the build continues, and `cay "
                                "template ls` shows its state");
        return b->ended == BUILT ? 0 : 1;
}

int cay_template_build(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err)
{
        struct build b = { .args = a };
        struct cay_client_conn conn;
        int r;

        if (cay_values_set(&a->values, "stream", "true", err) < 0)
                return -1;
        cay_client_conn_init(&conn);
        cay_buf_init(&b.line, LINE_MAX_BYTES);
        r = cay_reach_begin(reach, &conn, &a->values, -1, CAY_REACH_WAIT_MS, err);
        if (r == 0)
                r = follow(&b, &conn, err);
        cay_client_conn_close(&conn);
        cay_buf_done(&b.line);
        return r;
}

int cay_template_rm(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err)
{
        cay_auto_answer struct cay_reach_answer answer = { 0 };
        char name[CAY_CELL_MAX];

        if (cay_reach_call(reach, &a->values, -1, CAY_REACH_WAIT_MS, &answer, err) < 0)
                return -1;
        if (a->json)
                cay_safe_json(stdout, answer.json.at, answer.json.len);
        else
                printf("%s\n", cell(answer.json, "template", CAY_CELL_TEXT, name));
        return cay_verb_flush(err);
}
