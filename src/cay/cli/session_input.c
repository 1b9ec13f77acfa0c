/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends standard input to a command: a piece, its answer, the next. A daemon may be restarted meanwhile:
 * pieces that were not accepted are retried for a while. A piece without an answer is retried too: it has an
 * offset and is applied once. Keys typed at a terminal have no offset: they are not repeated, since the user
 * retypes lost ones, and later keys are sent. The end of input has no bytes that could be duplicated, so it
 * is retried; a daemon that already has it says so.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "foundation/base/clock.h"
#include "cay/cli/session_priv.h"

#define REUSE_MS 1000u /* a connection idle for longer may be closed by the daemon just as we use it */
#define LEAVE 0x1d     /* Ctrl-] */
#define LEAVE_MS 5000u /* for the keys before it: detaching does not wait for ever */
#define REQUEST_MAX (CAY_CONN_PIECE + 64u * 1024)

static void wait_for_input(struct session *t);
static void send_piece(struct session *t, size_t len);

static bool reads_keys(const struct session *t)
{
        return t->s->is_terminal && isatty(STDIN_FILENO);
}

static void stop(struct session *t)
{
        cay_watch_remove(&t->in.stdin_watch);
        cay_watch_remove(&t->in.conn_watch);
        cay_timer_clear(&t->in.timer);
        t->in.state = SESSION_INPUT_OVER;
}

void cay_session_input_done(struct session *t)
{
        stop(t);
        cay_client_conn_close(&t->in.conn);
        cay_buf_done(&t->in.out);
}

static void leave(struct session *t)
{
        stop(t);
        t->s->left = true;
        cay_loop_stop(t->loop);
}

static void hang_up(struct session_input *in)
{
        cay_watch_remove(&in->conn_watch);
        cay_client_conn_close(&in->conn);
        cay_client_conn_init(&in->conn);
}

/* No more input can be given; the command continues without it. */
static void give_up(struct session *t)
{
        stop(t);
        hang_up(&t->in);
        if (t->in.leaves)
                leave(t);
}

static void on_time(struct cay_timer *timer)
{
        struct session *t = cay_container_of(timer, struct session, in.timer);

        send_piece(t, t->in.len);
}

/* The piece was not accepted. */
static void try_again(struct session *t)
{
        struct session_input *in = &t->in;

        hang_up(in);
        in->state = SESSION_INPUT_AGAIN;
        if (in->leaves || ++in->retries > SESSION_RETRIES_MAX ||
            cay_timer_set(t->loop, &in->timer, SESSION_RETRY_MS, on_time) < 0)
                give_up(t);
}

/* Later keys are still sent, and Ctrl-] is read; a stream with a gap is not continued. */
static void drop_piece(struct session *t)
{
        if (!reads_keys(t) || t->in.eof || t->in.leaves) {
                give_up(t);
                return;
        }
        hang_up(&t->in);
        t->in.retries = 0;
        wait_for_input(t);
}

static bool has_offset(const struct session *t)
{
        return !reads_keys(t) && !t->in.plain;
}

/* The connection is lost, and with it the answer to what was sent. */
static void lose(struct session *t)
{
        if (!t->in.begun || t->in.eof || has_offset(t)) {
                try_again(t);
                return;
        }
        drop_piece(t);
}

/* The daemon or sandbox is not ready, or is too busy. The answer's text overwrites the request. */
static bool was_not_taken(const struct session_input *in)
{
        struct cay_json_view json = { 0 };
        char reason[32];

        if (in->conn.answer.status != 503 && in->conn.answer.status != 429)
                return false;
        cay_json_view_open(cay_buf_data(&in->out), in->out.len, &json);
        cay_json_view_copy(cay_json_view_find(json, "error.reason"), reason, sizeof(reason));
        return strcmp(reason, cay_reason_word(CAY_REASON_RETRY)) == 0;
}

static void on_answer(struct session *t)
{
        struct session_input *in = &t->in;

        for (;;) {
                const char *bytes;
                size_t len;
                int r = cay_client_conn_take_bytes(&in->conn, &bytes, &len);

                if (r == -EAGAIN)
                        return;
                if (r < 0) {
                        lose(t);
                        return;
                }
                if (r == 0)
                        break;
                cay_buf_put(&in->out, bytes, len); /* more than fits is not our kind of refusal */
        }
        if (in->conn.answer.status / 100 != 2) {
                was_not_taken(in) ? try_again(t) : drop_piece(t); /* a paused sandbox takes none */
                return;
        }
        cay_watch_remove(&in->conn_watch);
        in->answered_ms = cay_clock_ms();
        in->retries = 0;
        in->offset += in->len;
        if (in->conn.answer.closes)
                hang_up(in);
        if (in->leaves)
                leave(t);
        else if (in->eof)
                stop(t);
        else
                wait_for_input(t);
}

static void on_conn(struct cay_watch *w, uint32_t events)
{
        struct session *t = cay_container_of(w, struct session, in.conn_watch);
        struct session_input *in = &t->in;
        ssize_t n = 0;

        if (in->state == SESSION_INPUT_SENDING && !(events & EPOLLIN)) {
                n = send(in->conn.fd, cay_buf_data(&in->out), in->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
                if (n < 0 && errno != EAGAIN && errno != EINTR) {
                        lose(t);
                        return;
                }
                if (n > 0) {
                        in->begun = true;
                        cay_buf_drop(&in->out, (size_t)n);
                }
                if (in->out.len > 0)
                        return;
                in->state = SESSION_INPUT_ANSWER;
                cay_watch_set(w, EPOLLIN);
                return;
        }
        if (in->state == SESSION_INPUT_SENDING) { /* answered while still being sent: a refusal */
                cay_buf_clear(&in->out);
                cay_watch_set(w, EPOLLIN);
        }
        in->state = SESSION_INPUT_ANSWER;
        on_answer(t);
}

static int format(struct session *t, size_t len, struct cay_error *err)
{
        cay_auto_values struct cay_values v;
        cay_auto_buf struct cay_buf target = { 0 }, none = { 0 };
        struct cay_request req = {
                .method = "POST", .type = "application/octet-stream", .length = len, .fd = -1
        };
        char offset[24];
        bool has_body;

        snprintf(offset, sizeof(offset), "%llu", (unsigned long long)t->in.offset);
        cay_values_init(&v, cay_cli_op_find("exec_input"));
        cay_buf_init(&target, 4096);
        if (cay_values_set(&v, "id", t->s->sandbox, err) < 0 ||
            cay_values_set(&v, "exec", t->s->exec_id, err) < 0 ||
            (t->in.eof && cay_values_set(&v, "eof", "true", err) < 0) ||
            (has_offset(t) && cay_values_set(&v, "offset", offset, err) < 0) ||
            cay_values_format(&v, &target, &none, &has_body, err) < 0)
                return -1;
        req.target = cay_buf_data(&target);
        cay_buf_clear(&t->in.out);
        if (cay_client_conn_format(&t->s->reach->client, &req, &t->in.out) < 0 ||
            cay_buf_put(&t->in.out, t->in.bytes, len) < 0)
                return cay_fail(err, CAY_INTERNAL, "no memory for input");
        return 0;
}

/* An idle connection is readable only if the other end closed it. */
static bool is_good(const struct session_input *in)
{
        char byte;

        return cay_clock_ms() - in->answered_ms <= REUSE_MS &&
               recv(in->conn.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static void on_leave_late(struct cay_timer *timer)
{
        give_up(cay_container_of(timer, struct session, in.timer));
}

static void send_piece(struct session *t, size_t len)
{
        struct session_input *in = &t->in;
        struct cay_error err = { 0 };

        in->len = len;
        in->begun = false;
        if (in->conn.fd >= 0 && !is_good(in))
                hang_up(in);
        if (format(t, len, &err) < 0) {
                give_up(t);
                return;
        }
        if (in->conn.fd < 0 && cay_client_conn_open(&in->conn, &t->s->reach->client, &err) < 0) {
                try_again(t);
                return;
        }
        cay_answer_done(&in->conn.answer);
        cay_answer_init(&in->conn.answer);
        in->conn.at = in->conn.have = 0;
        in->state = SESSION_INPUT_SENDING;
        if (cay_watch_add(t->loop, &in->conn_watch, in->conn.fd, EPOLLIN | EPOLLOUT, on_conn) < 0 ||
            (in->leaves && cay_timer_set(t->loop, &in->timer, LEAVE_MS, on_leave_late) < 0))
                give_up(t);
}

/* Two Ctrl-] in a row detach; a single one is sent with the key after it. Returns how many bytes are sent. */
static size_t filter_keys(struct session_input *in, const char *keys, size_t len)
{
        size_t n = 0;

        for (size_t i = 0; i < len && !in->leaves; i++) {
                if (keys[i] == LEAVE) {
                        in->leaves = in->held;
                        in->held = true;
                        continue;
                }
                if (in->held)
                        in->bytes[n++] = LEAVE;
                in->held = false;
                in->bytes[n++] = keys[i];
        }
        return n;
}

static void read_keys(struct session *t)
{
        char keys[CAY_CONN_PIECE / 2];
        ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));
        size_t len;

        if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
                wait_for_input(t);
                return;
        }
        t->in.eof = n <= 0;
        len = n > 0 ? filter_keys(&t->in, keys, (size_t)n) : 0;
        if (len > 0 || t->in.eof)
                send_piece(t, len);
        else if (t->in.leaves)
                leave(t);
        else
                wait_for_input(t);
}

static void read_bytes(struct session *t)
{
        ssize_t n = read(STDIN_FILENO, t->in.bytes, sizeof(t->in.bytes));

        if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
                wait_for_input(t);
                return;
        }
        t->in.eof = n <= 0;
        send_piece(t, n > 0 ? (size_t)n : 0);
}

static void read_input(struct session *t)
{
        if (reads_keys(t))
                read_keys(t);
        else
                read_bytes(t);
}

static void on_stdin(struct cay_watch *w, uint32_t events)
{
        struct session *t = cay_container_of(w, struct session, in.stdin_watch);

        cay_watch_remove(w);
        read_input(t);
}

static void on_again(struct cay_deferred *d)
{
        struct session *t = cay_container_of(d, struct session, in.again);

        t->in.queued = false;
        if (t->in.state == SESSION_INPUT_WAITING)
                read_input(t);
}

static void wait_for_input(struct session *t)
{
        int r = cay_watch_add(t->loop, &t->in.stdin_watch, STDIN_FILENO, EPOLLIN, on_stdin);

        t->in.state = SESSION_INPUT_WAITING;
        if (r == -EPERM && !t->in.queued) { /* a file: always ready, cannot be polled */
                t->in.queued = true;
                t->in.again.run = on_again;
                cay_loop_defer(t->loop, &t->in.again);
        } else if (r < 0 && r != -EPERM) {
                give_up(t);
        }
}

void cay_session_input_begin(struct session *t)
{
        cay_buf_init(&t->in.out, REQUEST_MAX);
        t->in.plain = t->s->exec != NULL; /* others may have sent input before: our offset is unknown */
        wait_for_input(t);
}
