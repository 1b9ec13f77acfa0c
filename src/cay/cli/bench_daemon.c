/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes of a daemon, on connections that stay open. */
#include "cay/cli/bench_daemon.h"

#include <string.h>

#include "foundation/base/id.h"

#define WAIT_MS 60000
#define PIECE (64u * 1024)
#define LIFE "10m"
#define LABEL "made-by=cay-bench"
#define FILE_PATH "/workspace/cay-bench"

struct seat { /* a sandbox and its connection */
        struct cay_client_conn conn;
        char id[CAY_NAME_MAX + 1]; /* "": none */
};

struct cay_bench_daemon {
        struct cay_reach *reach;
        unsigned crowd;
        struct seat seats[]; /* the first for single steps; then the batch's */
};

struct cay_bench_daemon *cay_bench_daemon_open(struct cay_reach *reach, unsigned crowd)
{
        struct cay_bench_daemon *d = calloc(1, sizeof(*d) + (crowd + 1) * sizeof(d->seats[0]));

        if (d == NULL)
                return NULL;
        d->reach = reach;
        d->crowd = crowd;
        for (unsigned i = 0; i <= crowd; i++)
                cay_client_conn_init(&d->seats[i].conn);
        return d;
}

/* Requests */

static int send_create(struct cay_bench_daemon *d, struct seat *s, struct cay_error *err)
{
        cay_auto_values struct cay_values v = { 0 };

        cay_values_init(&v, cay_cli_op_find("sandbox_create"));
        if (cay_values_set(&v, "timeout", LIFE, err) < 0 || cay_values_set(&v, "labels", LABEL, err) < 0)
                return -1;
        return cay_reach_send(d->reach, &s->conn, &v, -1, err);
}

static int send_exec(struct cay_bench_daemon *d, struct seat *s, struct cay_error *err)
{
        cay_auto_values struct cay_values v = { 0 };

        cay_values_init(&v, cay_cli_op_find("exec_run"));
        if (cay_values_set(&v, "id", s->id, err) < 0 || cay_values_set(&v, "command", "/bin/true", err) < 0)
                return -1;
        return cay_reach_send(d->reach, &s->conn, &v, -1, err);
}

static int send_destroy(struct cay_bench_daemon *d, struct seat *s, struct cay_error *err)
{
        cay_auto_values struct cay_values v = { 0 };

        cay_values_init(&v, cay_cli_op_find("sandbox_destroy"));
        if (cay_values_set(&v, "id", s->id, err) < 0)
                return -1;
        return cay_reach_send(d->reach, &s->conn, &v, -1, err);
}

/* Answers */

/* The connection is reused unless the answer forbids it. */
static void settle(struct seat *s, bool is_fine)
{
        if (is_fine && !s->conn.answer.closes)
                return;
        cay_client_conn_close(&s->conn);
        cay_client_conn_init(&s->conn);
}

static int take_answer(struct cay_bench_daemon *d, struct seat *s, struct cay_reach_answer *ret,
                       struct cay_error *err)
{
        int r;

        cay_buf_init(&ret->body, CAY_REACH_ANSWER_MAX);
        r = cay_reach_await(d->reach, &s->conn, WAIT_MS, err);
        if (r == 0)
                r = cay_client_conn_collect(&s->conn, &ret->body, WAIT_MS, err);
        settle(s, r == 0);
        if (r == 0 && cay_json_view_open(cay_buf_data(&ret->body), ret->body.len, &ret->json) < 0)
                return cay_fail(err, CAY_UNAVAILABLE,
                                "the server there is not a Cay daemon: its answer is not JSON");
        return r;
}

static int take_create(struct cay_bench_daemon *d, struct seat *s, struct cay_error *err)
{
        cay_auto_answer struct cay_reach_answer answer = { 0 };

        if (take_answer(d, s, &answer, err) < 0)
                return cay_wrap(err, "make a sandbox");
        cay_json_view_copy(cay_json_view_find(answer.json, "sandbox_id"), s->id, sizeof(s->id));
        return 0;
}

static int take_exec(struct cay_bench_daemon *d, struct seat *s, struct cay_error *err)
{
        cay_auto_answer struct cay_reach_answer answer = { 0 };
        uint64_t status = 1;

        if (take_answer(d, s, &answer, err) < 0)
                return cay_wrap(err, "run a command");
        if (!cay_json_view_u64(cay_json_view_find(answer.json, "exit_code"), &status) || status != 0)
                return cay_fail(err, CAY_UNAVAILABLE, "/bin/true failed in a sandbox");
        return 0;
}

static int take_destroy(struct cay_bench_daemon *d, struct seat *s, struct cay_error *err)
{
        cay_auto_answer struct cay_reach_answer answer = { 0 };
        int r = take_answer(d, s, &answer, err);

        if (r == 0 || d->reach->status == 404)
                s->id[0] = '\0';
        return r < 0 ? cay_wrap(err, "destroy a sandbox") : 0;
}

/* One by one */

int cay_bench_create(struct cay_bench_daemon *d, struct cay_error *err)
{
        return send_create(d, &d->seats[0], err) < 0 ? -1 : take_create(d, &d->seats[0], err);
}

int cay_bench_exec(struct cay_bench_daemon *d, struct cay_error *err)
{
        return send_exec(d, &d->seats[0], err) < 0 ? -1 : take_exec(d, &d->seats[0], err);
}

int cay_bench_destroy(struct cay_bench_daemon *d, struct cay_error *err)
{
        return send_destroy(d, &d->seats[0], err) < 0 ? -1 : take_destroy(d, &d->seats[0], err);
}

int cay_bench_put(struct cay_bench_daemon *d, struct cay_error *err)
{
        cay_auto_free char *zeros = calloc(1, PIECE);
        cay_auto_answer struct cay_reach_answer answer = { 0 };
        cay_auto_values struct cay_values v = { 0 };
        struct seat *s = &d->seats[0];
        int r = 0;

        cay_values_init(&v, cay_cli_op_find("file_write"));
        if (zeros == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        if (cay_values_set(&v, "id", s->id, err) < 0 || cay_values_set(&v, "path", FILE_PATH, err) < 0 ||
            cay_reach_send(d->reach, &s->conn, &v, -1, err) < 0)
                return -1;
        for (unsigned at = 0; at < CAY_BENCH_FILE_BYTES && r == 0; at += PIECE)
                r = cay_client_conn_write(&s->conn, zeros, PIECE, err);
        if (r < 0 || cay_client_conn_write_end(&s->conn, err) < 0)
                return -1;
        return take_answer(d, s, &answer, err) < 0 ? cay_wrap(err, "write a file") : 0;
}

int cay_bench_get(struct cay_bench_daemon *d, struct cay_error *err)
{
        cay_auto_values struct cay_values v = { 0 };
        struct seat *s = &d->seats[0];
        const char *bytes;
        uint64_t got = 0;
        ssize_t n;

        cay_values_init(&v, cay_cli_op_find("file_read"));
        if (cay_values_set(&v, "id", s->id, err) < 0 || cay_values_set(&v, "path", FILE_PATH, err) < 0 ||
            cay_reach_send(d->reach, &s->conn, &v, -1, err) < 0 ||
            cay_reach_await(d->reach, &s->conn, WAIT_MS, err) < 0)
                return cay_wrap(err, "read a file");
        while ((n = cay_client_conn_read(&s->conn, &bytes, WAIT_MS, err)) > 0)
                got += (uint64_t)n;
        settle(s, n == 0);
        if (n < 0)
                return cay_wrap(err, "read a file");
        return got == CAY_BENCH_FILE_BYTES ? 0
                                           : cay_fail(err, CAY_UNAVAILABLE, "the file came back incomplete");
}

/* All at once */

/* All requests are sent before any answer is read; the first failure is reported when all have answered. */
static int wave(struct cay_bench_daemon *d,
                int (*send)(struct cay_bench_daemon *, struct seat *, struct cay_error *),
                int (*take)(struct cay_bench_daemon *, struct seat *, struct cay_error *),
                struct cay_error *err)
{
        bool is_sent[CAY_BENCH_CROWD_MAX] = { 0 };
        int r = 0;

        for (unsigned i = 0; i < d->crowd; i++) {
                struct cay_error failed = { 0 };

                is_sent[i] = send(d, &d->seats[i + 1], &failed) == 0;
                if (!is_sent[i] && r == 0) {
                        *err = failed;
                        r = -1;
                }
        }
        for (unsigned i = 0; i < d->crowd; i++) {
                struct cay_error failed = { 0 };

                if (is_sent[i] && take(d, &d->seats[i + 1], &failed) < 0 && r == 0) {
                        *err = failed;
                        r = -1;
                }
        }
        return r;
}

/*
 * The remaining sandboxes from the seat `first` on: destroyed on new connections, because the state of the
 * old ones is unknown.
 */
static void sweep(struct cay_bench_daemon *d, unsigned first)
{
        for (unsigned i = first; i <= d->crowd; i++) {
                struct cay_error ignored = { 0 };
                struct seat *s = &d->seats[i];

                settle(s, false);
                if (s->id[0] != '\0' && send_destroy(d, s, &ignored) == 0)
                        take_destroy(d, s, &ignored);
        }
}

int cay_bench_crowd(struct cay_bench_daemon *d, struct cay_error *err)
{
        if (wave(d, send_create, take_create, err) == 0 && wave(d, send_exec, take_exec, err) == 0 &&
            wave(d, send_destroy, take_destroy, err) == 0)
                return 0;
        sweep(d, 1);
        return -1;
}

void cay_bench_daemon_close(struct cay_bench_daemon *d)
{
        if (d == NULL)
                return;
        sweep(d, 0);
        for (unsigned i = 0; i <= d->crowd; i++)
                cay_client_conn_close(&d->seats[i].conn);
        free(d);
}
