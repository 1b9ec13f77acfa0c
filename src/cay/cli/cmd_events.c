/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay events`: the journal, and with --follow what comes after it: a stream that is resumed where it was cut
 * off. The log of a network is followed in the same way.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cay/cli/cli.h"
#include "cay/cli/safe.h"
#include "cay/cli/verb.h"

#define LINE_MAX_BYTES (1024u * 1024)
#define PAUSE_MS 500
#define RETRIES_MAX 60u

struct follow {
        struct cay_reach *reach;
        struct cay_verb_args *args;
        struct cay_client_conn conn;
        struct cay_buf line;
        uint64_t last;   /* number of the last event */
        bool is_network; /* entries of a network's log, which resume from a number, not after one */
        char after[24];
};

static void print_event(struct follow *f, struct cay_json_view e)
{
        char at[CAY_CELL_MAX], id[CAY_CELL_MAX], kind[CAY_CELL_MAX], detail[CAY_CELL_MAX];

        cay_json_view_u64(cay_json_view_find(e, "seq"), &f->last);
        if (f->args->json) {
                cay_safe_json(stdout, e.at, e.len);
                return;
        }
        printf("%s  %s  %-18s  %s\n", cay_cell_format(cay_json_view_find(e, "at"), CAY_CELL_WHEN, at),
               cay_cell_format(cay_json_view_find(e, "sandbox_id"), CAY_CELL_TEXT, id),
               cay_cell_format(cay_json_view_find(e, "kind"), CAY_CELL_TEXT, kind),
               cay_cell_format(cay_json_view_find(e, "detail"), CAY_CELL_PAIRS, detail));
}

static void print_entry(struct follow *f, struct cay_json_view e)
{
        char at[CAY_CELL_MAX], kind[CAY_CELL_MAX], verdict[CAY_CELL_MAX], name[CAY_CELL_MAX],
                address[CAY_CELL_MAX], port[CAY_CELL_MAX], why[CAY_CELL_MAX];

        cay_json_view_u64(cay_json_view_find(e, "number"), &f->last);
        if (f->args->json) {
                cay_safe_json(stdout, e.at, e.len);
                return;
        }
        printf("%s  %-5s  %-7s  %s  %s  %s  %s\n",
               cay_cell_format(cay_json_view_find(e, "at"), CAY_CELL_WHEN, at),
               cay_cell_format(cay_json_view_find(e, "kind"), CAY_CELL_TEXT, kind),
               cay_cell_format(cay_json_view_find(e, "verdict"), CAY_CELL_TEXT, verdict),
               cay_cell_format(cay_json_view_find(e, "name"), CAY_CELL_TEXT, name),
               cay_cell_format(cay_json_view_find(e, "address"), CAY_CELL_TEXT, address),
               cay_cell_format(cay_json_view_find(e, "port"), CAY_CELL_NUMBER, port),
               cay_cell_format(cay_json_view_find(e, "why"), CAY_CELL_TEXT, why));
}

static int take(struct follow *f, const char *bytes, size_t len, struct cay_error *err)
{
        struct cay_json_view event;
        char *newline;

        if (cay_buf_put(&f->line, bytes, len) < 0)
                return cay_fail(err, CAY_LIMIT, "an event is longer than %u bytes", LINE_MAX_BYTES);
        while ((newline = memchr(cay_buf_data(&f->line), '\n', f->line.len)) != NULL) {
                size_t n = (size_t)(newline - cay_buf_data(&f->line));

                if (n > 0 && cay_json_view_open(cay_buf_data(&f->line), n, &event) < 0)
                        return cay_fail(err, CAY_INVALID, "the daemon sent a line that is not an event");
                if (n > 0) /* a blank line is a keep-alive */
                        (f->is_network ? print_entry : print_event)(f, event);
                cay_buf_drop(&f->line, n + 1);
        }
        return cay_verb_flush(err);
}

/* One connection, to its end. 0: it was cut off or ended; -1: it cannot be resumed. */
static int stream(struct follow *f, struct cay_error *err)
{
        const char *bytes;
        ssize_t n;
        int r = 0;

        cay_client_conn_close(&f->conn);
        cay_client_conn_init(&f->conn);
        cay_buf_clear(&f->line);
        if (cay_reach_begin(f->reach, &f->conn, &f->args->values, -1, CAY_REACH_WAIT_MS, err) < 0)
                return f->reach->status == 0 && f->last > 0 ? 0 : -1;
        while (r == 0 && (n = cay_client_conn_read(&f->conn, &bytes, -1, err)) > 0)
                r = take(f, bytes, (size_t)n, err);
        return r;
}

static int follow(struct follow *f, struct cay_error *err)
{
        const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000l };
        unsigned retries = 0;

        for (;;) {
                uint64_t before = f->last;

                if (stream(f, err) < 0)
                        return -1;
                retries = f->last > before ? 0 : retries + 1;
                if (retries > RETRIES_MAX)
                        return err->code != CAY_OK
                                       ? -1
                                       : cay_fail(err, CAY_UNAVAILABLE, "the daemon ended the stream");
                snprintf(f->after, sizeof(f->after), "%" PRIu64, f->last + f->is_network);
                if (f->last > 0 &&
                    cay_values_set(&f->args->values, f->is_network ? "from" : "after", f->after, err) < 0)
                        return -1;
                nanosleep(&pause, NULL);
        }
}

int cay_verb_follow(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err)
{
        cay_auto_free struct follow *f = NULL;
        int r;

        if (cay_values_get(&a->values, "follow") == NULL)
                return cay_verb_call(reach, a, err);
        f = calloc(1, sizeof(*f));
        if (f == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        f->reach = reach;
        f->args = a;
        f->is_network = strcmp(a->verb->op, "network_log") == 0;
        cay_client_conn_init(&f->conn);
        cay_buf_init(&f->line, LINE_MAX_BYTES);
        r = follow(f, err);
        cay_client_conn_close(&f->conn);
        cay_buf_done(&f->line);
        return r;
}

int cay_cmd_events(int argc, char **argv)
{
        return cay_verb_main(argc, argv, cay_verb_follow);
}
