/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container of a box without init: its streams, its limits and its end.
 *
 * Theory of operation. Docker is asked to wait for the container's end on a connection of its own. That
 * connection and the attached one break together when Docker goes; then what came is not known to be all, so
 * the command is lost, whatever Docker says afterwards. SIGKILL for the first process of a container ends
 * everything in it. Processor time is asked for at the earliest moment at which it could be used up, as far
 * as Docker's figures can keep up. That a process was killed for memory Docker learns by a way of its own,
 * sometimes later than the end: where the end looks like it, Docker is asked a few times more. One that
 * somebody else removes has no end to be told, whether Docker is still at it when it is asked, or has done
 * it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "foundation/base/clock.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"
#include "cay-docker/no_init.h"
#include "cay-docker/task.h"

enum {
        WAIT_MS = 3600 * 1000, /* then it is asked again */
        CPU_POLL_MIN_MS = 100,
        CPU_POLL_MAX_MS = 1000,
        QUIET_MS = 5000, /* between the end of a container and the end of its streams */
        OOM_LOOKS = 30,
        OOM_PAUSE_MS = 100,
        KILL_PAUSE_MS = 1000, /* before Docker is asked again for what it did not do */
        SIGNALLED = 128,      /* how Docker says that a signal ended it */
};
#define TIMER_MAX_MS (400ull * 24 * 3600 * 1000)

static void look(struct docker_no_init *o);
static void end_if_over(struct docker_no_init *o);

static void ask(struct docker_no_init *o, struct docker_call *call, enum cay_http_method method,
                const char *what, void (*on_done)(struct docker_call *), struct docker_call_request req)
{
        char path[160];

        snprintf(path, sizeof(path), "/containers/%s/%s", o->box->container, what);
        req.method = method;
        req.path = path;
        call->on_done = on_done;
        docker_call_begin(call, &o->broker->api, &req);
}

void docker_no_init_stop(struct docker_no_init *o)
{
        docker_call_abort(&o->wait);
        docker_call_abort(&o->kill);
        docker_call_abort(&o->look);
        cay_timer_clear(&o->wall);
        cay_timer_clear(&o->cpu);
        cay_timer_clear(&o->quiet);
        cay_timer_clear(&o->again);
        cay_timer_clear(&o->kill_again);
        if (o->docker)
                cay_duplex_close(cay_take(o->docker));
        cay_buf_done(&o->held);
}

/* Nobody will ever know how it ended: the box is gone, and what is left of it goes too. */
static void lose(struct docker_no_init *o, const char *why)
{
        if (o->state == DOCKER_NO_INIT_LOST)
                return;
        cay_log_warn("a command without init is lost", "id=%s error=%s", o->box->id, why);
        o->state = DOCKER_NO_INIT_LOST;
        docker_no_init_stop(o);
        cay_peer_close(&o->peer);
        docker_broker_gone(o->broker, o->box);
        docker_task_begin_drop(o->broker, o->box);
}

void docker_no_init_cut(struct docker_no_init *o)
{
        lose(o, "the connection to Docker was lost while it started");
}

/* Output */

static uint64_t produced(const struct docker_no_init *o)
{
        return o->bytes[0] + o->bytes[1];
}

/* How much of a piece is still within the limit; the rest is counted. */
static size_t within_limit(struct docker_no_init *o, size_t len)
{
        uint64_t most = o->open.exec.output_max_bytes, left;

        if (most == 0)
                return len;
        left = produced(o) < most ? most - produced(o) : 0;
        if (len <= left)
                return len;
        o->cut_bytes += len - left;
        if (!(o->open.exec.flags & CAY_BOX_CUT))
                docker_no_init_kill(o, CAY_KILLED_OUTPUT);
        return (size_t)left;
}

static void keep(struct docker_no_init *o, unsigned i, const char *bytes, size_t len)
{
        size_t kept = within_limit(o, len);

        o->bytes[i] += len;
        if (o->number != 0 && cay_sender_put(&o->outs[i], bytes, kept) < kept)
                lose(o, "no memory for its output");
}

/* How many bytes can be taken now: of a header, or of what its window has room for. */
static size_t takeable(struct docker_no_init *o)
{
        const struct docker_stream *f = &o->frames;
        const struct cay_sender *s = &o->outs[f->kind == DOCKER_STREAM_ERR];
        size_t room;

        if (f->left == 0)
                return DOCKER_STREAM_HEADER - f->have;
        if (o->number == 0 || f->kind == DOCKER_STREAM_IN)
                return f->left;
        room = s->window - (size_t)(s->written - s->acked);
        return room < f->left ? room : f->left;
}

/*
 * All that will come has come. A piece that its header promised and that is not there was not the command's
 * to leave out.
 */
static void complete(struct docker_no_init *o)
{
        if (!docker_stream_is_between(&o->frames)) {
                lose(o, "its streams broke off");
                return;
        }
        if (o->docker)
                cay_duplex_close(cay_take(o->docker));
        cay_timer_clear(&o->quiet);
        o->drained = true;
}

static bool take_piece(struct docker_no_init *o)
{
        size_t most = takeable(o), payload;
        enum docker_stream_kind kind;
        const char *at = cay_buf_data(&o->held);
        ssize_t n;

        if (most > o->held.len)
                most = o->held.len;
        if (most == 0)
                return false;
        n = docker_stream_take(&o->frames, at, most, &kind, &payload);
        if (n < 0) {
                lose(o, "Docker's stream has no frames");
                return false;
        }
        if (payload > 0 && kind != DOCKER_STREAM_IN)
                keep(o, kind == DOCKER_STREAM_ERR, at + (size_t)n - payload, payload);
        if (o->state == DOCKER_NO_INIT_LOST)
                return false;
        cay_buf_drop(&o->held, (size_t)n);
        if (o->docker)
                cay_duplex_consumed(o->docker, (size_t)n);
        return true;
}

void docker_no_init_take_output(struct docker_no_init *o)
{
        while (take_piece(o))
                ;
        if (o->state == DOCKER_NO_INIT_RUNNING)
                end_if_over(o);
}

static struct docker_no_init *of_user(struct cay_duplex_user *u)
{
        return cay_container_of(u, struct docker_no_init, user);
}

static void on_data(struct cay_duplex_user *u, const void *bytes, size_t len)
{
        struct docker_no_init *o = of_user(u);

        if (cay_buf_put(&o->held, bytes, len) < 0) {
                lose(o, "no memory for its output");
                return;
        }
        docker_no_init_take_output(o);
        docker_no_init_step(o);
}

static void on_room(struct cay_duplex_user *u)
{
        docker_no_init_feed(of_user(u));
        docker_no_init_step(of_user(u));
}

/* What is held still counts. */
static void on_eof(struct cay_duplex_user *u)
{
        struct docker_no_init *o = of_user(u);

        cay_duplex_close(cay_take(o->docker));
        docker_no_init_take_output(o);
        docker_no_init_step(o);
}

/* Docker closes also while input is on its way to it. */
static void on_lost(struct cay_duplex_user *u, int why)
{
        struct docker_no_init *o = of_user(u);

        o->docker = NULL;
        if (why != 0 && why != -ECONNRESET && why != -EPIPE) {
                lose(o, "its streams broke");
                return;
        }
        docker_no_init_take_output(o);
        docker_no_init_step(o);
}

void docker_no_init_join_take(struct docker_no_init *o, struct cay_duplex *docker, const struct cay_buf *rest)
{
        static const struct cay_duplex_user_ops ops = {
                .on_data = on_data, .on_room = on_room, .on_eof = on_eof, .on_lost = on_lost
        };

        o->user.ops = &ops;
        docker->user = &o->user;
        o->docker = docker;
        o->frames = (struct docker_stream){ 0 };
        cay_buf_init(&o->held, DOCKER_NO_INIT_HELD_MAX);
        if (rest->len > 0)
                cay_buf_put(&o->held, cay_buf_data(rest), rest->len); /* looked at when it runs */
}

/* Input */

void docker_no_init_feed(struct docker_no_init *o)
{
        bool used = o->open.exec.flags & CAY_BOX_STDIN;

        if (o->state == DOCKER_NO_INIT_STARTING)
                return;
        /* nobody reads: taken and dropped, so that the front is not kept waiting */
        if (!o->docker || !used || o->number == 0)
                cay_buf_clear(&o->waiting);
        else
                cay_buf_drop(&o->waiting,
                             cay_duplex_write(o->docker, cay_buf_data(&o->waiting), o->waiting.len));
        if (cay_receiver_consumed(&o->in, o->in.got - o->waiting.len))
                o->ack_due = true;
        if (o->docker && used && o->in.eof && o->waiting.len == 0 && !o->shut) {
                o->shut = true;
                cay_duplex_shut(o->docker);
        }
}

/* Signals */

static void send_signal(struct docker_no_init *o, int signo);

static void on_kill_again(struct cay_timer *t)
{
        struct docker_no_init *o = cay_container_of(t, struct docker_no_init, kill_again);

        if (!o->exited)
                send_signal(o, o->signal);
}

/* What is to end ends: Docker is asked until it does it. A limit that nobody can hold is no limit. */
static void kill_later(struct docker_no_init *o)
{
        if (cay_timer_set(o->broker->loop, &o->kill_again, KILL_PAUSE_MS, on_kill_again) < 0)
                lose(o, "no memory to end it");
}

static void on_thawed(struct docker_call *c)
{
        struct docker_no_init *o = cay_container_of(c, struct docker_no_init, kill);

        if (c->status == 204)
                send_signal(o, o->signal);
        else
                kill_later(o);
}

/* One that has ended needs none; one that is frozen takes none before it is thawed. */
static void on_signalled(struct docker_call *c)
{
        struct docker_no_init *o = cay_container_of(c, struct docker_no_init, kill);
        bool known = c->status == 204 || c->status == 404 || c->status == 409;
        int next;

        if (o->signal == SIGKILL && c->status == 409 && strstr(cay_buf_data(&c->body), "paused")) {
                ask(o, &o->kill, CAY_HTTP_POST, "unpause", on_thawed,
                    (struct docker_call_request){ .repeatable = true });
                return;
        }
        if (o->signal == SIGKILL && !known && !o->exited) {
                kill_later(o);
                return;
        }
        next = o->next_signal;
        o->signal = o->next_signal = 0;
        if (next != 0)
                send_signal(o, next);
}

static void send_signal(struct docker_no_init *o, int signo)
{
        char what[32];

        o->signal = signo;
        snprintf(what, sizeof(what), "kill?signal=%d", signo);
        ask(o, &o->kill, CAY_HTTP_POST, what, on_signalled,
            (struct docker_call_request){ .repeatable = signo == SIGKILL });
}

void docker_no_init_signal(struct docker_no_init *o, int signo)
{
        if (o->state != DOCKER_NO_INIT_RUNNING || o->exited)
                return;
        if (o->signal == 0)
                send_signal(o, signo);
        else if (o->next_signal != SIGKILL)
                o->next_signal = signo; /* the last one counts */
}

void docker_no_init_kill(struct docker_no_init *o, enum cay_box_killed why)
{
        if (o->exited || (o->state != DOCKER_NO_INIT_RUNNING && o->state != DOCKER_NO_INIT_STARTING))
                return;
        if (o->killed == CAY_KILLED_NOT)
                o->killed = why;
        docker_no_init_signal(o, SIGKILL); /* while it starts: when it has */
}

/* Limits */

static void on_wall_time(struct cay_timer *t)
{
        docker_no_init_kill(cay_container_of(t, struct docker_no_init, wall), CAY_KILLED_WALL_TIME);
}

static void on_cpu_time(struct cay_timer *t)
{
        look(cay_container_of(t, struct docker_no_init, cpu));
}

static void look_later(struct docker_no_init *o)
{
        uint64_t most_us = o->open.exec.cpu_ms * 1000, wait_ms;
        unsigned cpus = o->broker->facts.cpus > 0 ? o->broker->facts.cpus : 1;

        if (most_us == 0 || o->exited)
                return;
        wait_ms = o->cpu_us < most_us ? (most_us - o->cpu_us) / 1000 / cpus : 0;
        if (wait_ms < CPU_POLL_MIN_MS)
                wait_ms = CPU_POLL_MIN_MS;
        if (wait_ms > CPU_POLL_MAX_MS)
                wait_ms = CPU_POLL_MAX_MS;
        cay_timer_set(o->broker->loop, &o->cpu, wait_ms, on_cpu_time);
}

static void on_figures(struct docker_call *c)
{
        struct docker_no_init *o = cay_container_of(c, struct docker_no_init, look);
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        struct cay_error bad = { 0 };
        const struct cay_json_value *usage;
        int64_t ns = 0;

        if (c->status == 200 &&
            cay_json_in_parse(cay_buf_data(&c->body), c->body.len, NULL, &doc, &bad) == 0) {
                usage = cay_json_value_find(cay_json_value_find(cay_json_in_root(doc), "cpu_stats"),
                                            "cpu_usage");
                if (cay_json_value_i64(cay_json_value_find(usage, "total_usage"), &ns) && ns > 0)
                        o->cpu_us = (uint64_t)ns / 1000;
        }
        if (o->exited) {
                end_if_over(o);
                return;
        }
        if (o->cpu_us >= o->open.exec.cpu_ms * 1000)
                docker_no_init_kill(o, CAY_KILLED_CPU_TIME);
        else
                look_later(o);
}

/* The end */

/*
 * A first process dies of signals that it makes itself, or of ours: others it would have to wish for. Those
 * it may also have said as its exit status.
 */
static bool is_deadly(int signo)
{
        static const int list[] = { SIGKILL, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGTRAP };

        for (unsigned i = 0; i < CAY_COUNT(list); i++)
                if (list[i] == signo)
                        return true;
        return false;
}

static void put_end(struct docker_no_init *o, int64_t code, bool oom)
{
        struct cay_box_end end = { .kind = CAY_BOX_EXEC, .code = CAY_OK };
        struct cay_box_exec_end *e = &end.exec;
        bool signalled = code > SIGNALLED && is_deadly((int)code - SIGNALLED);

        *e = (struct cay_box_exec_end){
                .exit_code = signalled ? -1 : (int32_t)(code & 255),
                .signal = signalled ? (int32_t)code - SIGNALLED : 0,
                .killed = o->killed,
                .wall_us = o->wall_us,
                .cpu_us = o->cpu_us,
                .out_bytes = o->bytes[0],
                .err_bytes = o->bytes[1],
                .cut_bytes = o->cut_bytes,
                .last_denied = -1,
        };
        if (oom && code != 0 && o->killed == CAY_KILLED_NOT)
                e->killed = CAY_KILLED_MEMORY;
        docker_no_init_stop(o);
        docker_no_init_end(o, &end);
}

static void on_look_again(struct cay_timer *t)
{
        look(cay_container_of(t, struct docker_no_init, again));
}

static bool is_being_removed(const struct cay_json_value *state)
{
        const char *status = cay_json_value_text(cay_json_value_find(state, "Status"));

        return status && (strcmp(status, "removing") == 0 || strcmp(status, "dead") == 0);
}

/* It was killed, and not by us. */
static bool may_be_oom(const struct docker_no_init *o, int64_t code)
{
        return code == SIGNALLED + SIGKILL && o->killed == CAY_KILLED_NOT && o->order.plan.memory_bytes > 0;
}

static void on_inspected(struct docker_call *c)
{
        struct docker_no_init *o = cay_container_of(c, struct docker_no_init, look);
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        const struct cay_json_value *state;
        struct cay_error bad = { 0 };
        int64_t code = -1;
        bool oom;

        if (c->status != 200 ||
            cay_json_in_parse(cay_buf_data(&c->body), c->body.len, NULL, &doc, &bad) < 0) {
                lose(o, c->status == 404 ? "the container was removed" : "Docker did not say how it ended");
                return;
        }
        state = cay_json_value_find(cay_json_in_root(doc), "State");
        if (is_being_removed(state)) {
                lose(o, "the container was removed");
                return;
        }
        if (!cay_json_value_i64(cay_json_value_find(state, "ExitCode"), &code) || code < 0) {
                lose(o, "Docker gave no exit code");
                return;
        }
        oom = cay_json_value_is_true(cay_json_value_find(state, "OOMKilled")) ||
              o->box->oom_kills > o->oom_before;
        if (!oom && may_be_oom(o, code) && o->looks++ < OOM_LOOKS &&
            cay_timer_set(o->broker->loop, &o->again, OOM_PAUSE_MS, on_look_again) == 0)
                return;
        put_end(o, code, oom);
}

/* How much it has used, while it runs; how it ended, afterwards. */
static void look(struct docker_no_init *o)
{
        const struct docker_call_request req = { .repeatable = true };

        if (o->exited)
                ask(o, &o->look, CAY_HTTP_GET, "json", on_inspected, req);
        else
                ask(o, &o->look, CAY_HTTP_GET, "stats?stream=false&one-shot=true", on_figures, req);
}

static void on_quiet(struct cay_timer *t)
{
        struct docker_no_init *o = cay_container_of(t, struct docker_no_init, quiet);

        if (o->held.len == 0)
                complete(o);
        if (o->state == DOCKER_NO_INIT_RUNNING)
                end_if_over(o);
}

static void end_if_over(struct docker_no_init *o)
{
        if (!o->docker && o->held.len == 0)
                complete(o);
        if (!o->exited || o->state != DOCKER_NO_INIT_RUNNING)
                return;
        if (!o->drained) { /* its last words are on their way, or wait for the front */
                cay_timer_set(o->broker->loop, &o->quiet, QUIET_MS, on_quiet);
                return;
        }
        if (!o->look.active && !o->again.loop)
                look(o);
}

static void on_waited(struct docker_call *c);

static void await(struct docker_no_init *o)
{
        ask(o, &o->wait, CAY_HTTP_POST, "wait", on_waited,
            (struct docker_call_request){ .wait_ms = WAIT_MS });
}

static void on_waited(struct docker_call *c)
{
        struct docker_no_init *o = cay_container_of(c, struct docker_no_init, wait);

        if (c->status == 0 && c->err.code == CAY_TIMEOUT) {
                await(o);
                return;
        }
        if (c->status != 200) {
                lose(o, c->status == 404 ? "the container was removed" : "Docker went while it ran");
                return;
        }
        o->exited = true;
        o->wall_us = (cay_clock_ns() - o->begun_ns) / 1000;
        cay_timer_clear(&o->wall);
        cay_timer_clear(&o->cpu);
        docker_no_init_feed(o);
        docker_no_init_take_output(o);
        docker_no_init_step(o);
}

/* The start */

void docker_no_init_start(struct docker_no_init *o)
{
        struct docker_request req = { .type = DOCKER_TASK_RUN };
        struct cay_error none = { 0 };

        o->state = DOCKER_NO_INIT_STARTING;
        o->drained = o->exited = o->shut = false;
        o->signal = o->next_signal = 0;
        o->looks = 0;
        o->killed = CAY_KILLED_NOT;
        o->bytes[0] = o->bytes[1] = o->cut_bytes = o->cpu_us = o->wall_us = 0;
        o->oom_before = o->box->oom_kills;
        cay_str_copy(req.box.id, sizeof(req.box.id), o->box->id);
        docker_task_begin_take(o->broker, &req, -1);
        if (docker_task_is_busy(o->broker, o->box->id))
                return;
        cay_fail(&none, CAY_INTERNAL, "no memory to start it");
        docker_no_init_started(o, &none);
}

static int begin_limits(struct docker_no_init *o)
{
        uint64_t wall_ms = o->open.exec.wall_ms < TIMER_MAX_MS ? o->open.exec.wall_ms : TIMER_MAX_MS;

        look_later(o);
        return wall_ms > 0 ? cay_timer_set(o->broker->loop, &o->wall, wall_ms, on_wall_time) : 0;
}

void docker_no_init_started(struct docker_no_init *o, const struct cay_error *why)
{
        if (o->state != DOCKER_NO_INIT_STARTING)
                return;
        if (why->code != CAY_OK) {
                docker_no_init_stop(o);
                docker_no_init_fail(o, why);
                return;
        }
        o->state = DOCKER_NO_INIT_RUNNING;
        o->spent = true;
        o->begun_ns = cay_clock_ns();
        await(o);
        if (begin_limits(o) < 0) /* a limit that nobody watches is no limit */
                docker_no_init_kill(o, CAY_KILLED_WALL_TIME);
        else if (o->killed != CAY_KILLED_NOT)
                docker_no_init_signal(o, SIGKILL);
        docker_no_init_feed(o);
        docker_no_init_take_output(o);
        docker_no_init_step(o);
}
