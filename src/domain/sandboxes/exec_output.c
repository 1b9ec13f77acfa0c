/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output: from the box into the spool, from the spool to watchers.
 *
 * Theory of operation. A piece is in the spool before it is acknowledged. It is acknowledged only while the
 * spool has room for all that may still come. The slowest watcher that holds sets the low-water mark. When it
 * is a whole spool behind, acknowledgements stop, init's ring fills, and the command's write blocks. Two
 * kinds of commands drop nothing until a holding watcher returns or CAY_SERVICE_AWAIT_MS have passed: those
 * that outlived their front, and background commands whose last holding watcher left. A piece may find no
 * room in the spool: the disk is full, or successive fronts each granted a window while nobody read. It then
 * waits in memory, at most one window of each stream, with the same effect on the command, and is tried
 * again.
 */
#include <errno.h>
#include <inttypes.h>

#include "foundation/base/clock.h"
#include "domain/sandboxes/service_priv.h"

/*
 * What a watcher has taken may be in buffers of this process or of its connection (the kernel holds up to 2.6
 * MB for a slow client), and is lost with them. So this much (4 MiB of 8) stays behind each watcher. It never
 * blocks a command: when streams alternate in tiny pieces and the spool is full of runs, only the usual
 * number of runs stays.
 */
#define BEHIND_PART 2

struct pending_head {
        uint32_t stream, len;
};

static uint64_t low_mark(const struct cay_exec *x)
{
        bool is_short = x->spool.run_end - x->spool.run_first > CAY_SPOOL_RUNS_KEEP;
        uint64_t behind = is_short ? 0 : x->spool.keep / BEHIND_PART;
        uint64_t least = x->fresh ? 0 : x->awaited ? x->awaited_from : UINT64_MAX;

        for (const struct cay_exec_watcher *w = x->watchers; w != NULL; w = w->next) {
                uint64_t at = w->at > behind ? w->at - behind : 0;

                if (w->holds && at < least)
                        least = at;
        }
        return least;
}

void cay_exec_release(struct cay_exec *x)
{
        if (x->spool.fd < 0)
                return;
        x->held = x->pending.len > 0 || !cay_spool_has_room(&x->spool, low_mark(x));
        for (unsigned i = 0; i < CAY_SPOOL_STREAMS && !x->held; i++) {
                size_t owed = (size_t)x->owed[i];

                x->owed[i] = 0;
                if (owed > 0)
                        cay_box_channel_ack(&x->ch, i == 0 ? CAY_STREAM_OUT : CAY_STREAM_ERR, owed);
        }
}

static int put_aside(struct cay_exec *x, unsigned stream, const void *bytes, size_t len)
{
        const struct pending_head head = { .stream = stream, .len = (uint32_t)len };

        if (cay_buf_left(&x->pending) < sizeof(head) + len ||
            cay_buf_put(&x->pending, &head, sizeof(head)) < 0)
                return -ENOMEM;
        return cay_buf_put(&x->pending, bytes, len);
}

void cay_exec_on_data(struct cay_box_channel *ch, enum cay_stream stream, const void *bytes, size_t len)
{
        struct cay_exec *x = cay_container_of(ch, struct cay_exec, ch);
        unsigned i = stream == CAY_STREAM_ERR;
        int r = -EAGAIN;

        cay_kill_point_reached(CAY_KILL_POINT_exec_output);
        cay_exec_digest_add(x, i, bytes, len);
        cay_recording_output(x, bytes, len);
        if (x->pending.len == 0)
                r = cay_spool_put(&x->spool, i, bytes, len, low_mark(x));
        if (r < 0) {
                if (r != -EAGAIN)
                        cay_log_warn("output not written, holding the command", "exec=%s errno=%d", x->id,
                                     -r);
                if (put_aside(x, i, bytes, len) < 0) {
                        cay_exec_end_and_store(x, CAY_CAUSE_OUTPUT,
                                               "its output could not be kept: the daemon's disk is full");
                        return;
                }
                cay_tick_sandbox(x->sandbox, 1000);
        }
        cay_kill_point_reached(CAY_KILL_POINT_exec_output_kept);
        x->owed[i] += len;
        cay_exec_use(x);
        cay_exec_release(x);
        cay_exec_notify(x);
}

static bool next_pending(const struct cay_exec *x, struct pending_head *ret)
{
        if (x->pending.len <= sizeof(*ret))
                return false;
        memcpy(ret, cay_buf_data(&x->pending), sizeof(*ret));
        return true;
}

void cay_exec_flush_pending(struct cay_exec *x)
{
        struct pending_head head;
        int r = 0;

        if (x->spool.fd < 0)
                return;
        while (r == 0 && next_pending(x, &head)) {
                r = cay_spool_put(&x->spool, head.stream, cay_buf_data(&x->pending) + sizeof(head), head.len,
                                  low_mark(x));
                if (r == 0)
                        cay_buf_drop(&x->pending, sizeof(head) + head.len);
        }
        if (r == -ENOBUFS && x->flush_until_ms > 0) /* it waits for a reader, not for the disk */
                x->flush_until_ms = cay_clock_ms() + CAY_SERVICE_FLUSH_MS;
        cay_exec_release(x);
        cay_exec_notify(x);
}

uint64_t cay_exec_drop_pending(struct cay_exec *x)
{
        struct pending_head head;
        uint64_t dropped = 0;

        while (next_pending(x, &head)) {
                cay_buf_drop(&x->pending, sizeof(head) + head.len);
                dropped += head.len;
        }
        return dropped;
}

/* Telling */

static bool has_news(const struct cay_exec *x, const struct cay_exec_watcher *w)
{
        return (cay_exec_is_ended(x) && !w->end_told) || (x->spool.fd >= 0 && w->at < x->spool.end);
}

static void on_notify(struct cay_deferred *d)
{
        struct cay_exec *x = cay_container_of(d, struct cay_exec, notify);
        struct cay_exec_watcher *w;

        x->notify_queued = false;
        do { /* a watcher may remove itself and others meanwhile */
                for (w = x->watchers; w != NULL && (!w->hungry || !has_news(x, w)); w = w->next)
                        ;
                if (w != NULL) {
                        w->hungry = false;
                        w->end_told = cay_exec_is_ended(x);
                        w->on_output(w);
                }
        } while (w != NULL);
        cay_exec_unref(x);
}

void cay_exec_notify(struct cay_exec *x)
{
        if (x->notify_queued || x->watchers == NULL)
                return;
        x->notify_queued = true;
        x->notify.run = on_notify;
        cay_exec_ref(x);
        cay_loop_defer(x->service->loop, &x->notify);
}

/* Watching */

int cay_exec_open_spool(struct cay_exec *x, struct cay_error *err)
{
        char name[2 * CAY_NAME_MAX + 2];
        int r;

        if (x->spool.fd >= 0)
                return 0;
        if (x->output_gone)
                return cay_fail(err, CAY_CONFLICT, "the output of exec '%s' is no longer kept", x->id);
        cay_exec_spool_name(x, name);
        r = cay_spool_open(&x->spool, x->service->env.spool_dir, name);
        if (r == -EBADMSG)
                return cay_exec_fail_lost(x, x->output_first, x->output_end, err);
        if (r == -EPROTONOSUPPORT)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "the output of exec '%s' was stored by an older Cay in a format that this "
                                "one does not read",
                                x->id);
        if (r == -ENOENT)
                return cay_fail(err, CAY_CONFLICT, "the output of exec '%s' is no longer kept", x->id);
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "open the output of exec '%s'", x->id) : 0;
}

void cay_exec_close_spool(struct cay_exec *x)
{
        uint64_t dropped;

        if (!cay_exec_is_ended(x) || x->watchers != NULL)
                return;
        cay_spool_close(&x->spool);
        /* Of a command that ended with its sandbox: nobody will take it any more. */
        dropped = cay_exec_drop_pending(x);
        cay_buf_done(&x->pending);
        if (dropped == 0)
                return;
        x->cut_bytes += dropped;
        x->dirty = true;
        cay_tick_sandbox(x->sandbox, 0);
}

/* Of a file that was truncated to a valid shorter one: the record knows how much was printed. */
uint64_t cay_exec_output_end(const struct cay_exec *x)
{
        return x->spool.fd >= 0 && (!cay_exec_is_ended(x) || x->spool.end > x->output_end) ? x->spool.end
                                                                                           : x->output_end;
}

/* Whether a read found damage at a place; if so, where undamaged output begins. */
static bool is_lost(struct cay_exec *x, ssize_t n, uint64_t at, uint64_t *ret_to)
{
        if (n == -EBADMSG)
                *ret_to = cay_spool_skip(&x->spool, at);
        else if (n == 0 && at >= x->spool.end)
                *ret_to = cay_exec_output_end(x);
        else
                return false;
        if (*ret_to >= x->spool.end)
                *ret_to = cay_exec_output_end(x);
        return *ret_to > at;
}

/* A client that resumes after a supposed connection failure learns the real reason here. */
static int check_place(struct cay_exec *x, uint64_t at, struct cay_error *err)
{
        struct cay_spool_place place = { .at = at };
        unsigned stream;
        uint64_t to;
        uint8_t byte;

        return is_lost(x, cay_spool_read(&x->spool, &place, &byte, 1, &stream), at, &to)
                       ? cay_exec_fail_lost(x, at, to, err)
                       : 0;
}

static int check_cursor(const struct cay_exec *x, uint64_t *from, struct cay_error *err)
{
        uint64_t end = cay_exec_output_end(x);

        if (*from == UINT64_MAX)
                *from = end;
        if (*from > end)
                return cay_fail(err, CAY_INVALID,
                                "from: %" PRIu64 " is beyond the end of the output, which is at %" PRIu64,
                                *from, end);
        if (*from < x->spool.oldest)
                return cay_fail(err, CAY_CONFLICT,
                                "output before cursor %" PRIu64
                                " is not kept any more; what is kept begins there",
                                x->spool.oldest);
        return 0;
}

int cay_service_exec_watch(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                           const char *exec, uint64_t from, bool holds, struct cay_exec_watcher *w,
                           struct cay_error *err)
{
        struct cay_sandbox *sb;
        struct cay_exec *x = cay_exec_get(s, v, sandbox, exec, &sb, err);

        if (x == NULL)
                return -1;
        if (x->watcher_count >= CAY_SERVICE_WATCHERS_MAX)
                return cay_fail(err, CAY_LIMIT, "%u clients watch exec '%s', which is the maximum",
                                x->watcher_count, x->id);
        if (cay_exec_open_spool(x, err) < 0)
                return -1;
        if (check_cursor(x, &from, err) < 0 || (holds && check_place(x, from, err) < 0)) {
                cay_exec_close_spool(x);
                return -1;
        }
        cay_sandbox_use(sb);
        x->fresh = false;
        x->awaited = x->awaited && !holds;
        w->exec = cay_exec_ref(x);
        w->at = from;
        w->run = 0;
        w->holds = holds;
        w->hungry = true;
        w->end_told = false;
        w->next = x->watchers;
        x->watchers = w;
        x->watcher_count++;
        cay_exec_notify(x);
        return 0;
}

int cay_exec_watcher_read(struct cay_exec_watcher *w, void *buf, size_t size, struct cay_exec_piece *ret,
                          struct cay_error *err)
{
        struct cay_exec *x = w->exec;
        struct cay_spool_place place = { .at = w->at, .run = w->run };
        unsigned stream;
        uint64_t to;
        ssize_t n;

        if (x == NULL)
                return 0;
        n = cay_spool_read(&x->spool, &place, buf, size, &stream);
        if (n == -ERANGE) {
                w->at = x->spool.oldest;
                *ret = (struct cay_exec_piece){ .cursor = w->at };
                return cay_fail(err, CAY_CONFLICT,
                                "this reader was too slow: output before cursor %" PRIu64
                                " is not kept any more",
                                w->at);
        }
        if (is_lost(x, n, w->at, &to)) {
                *ret = (struct cay_exec_piece){ .cursor = to, .lost_from = w->at };
                w->at = to;
                return cay_exec_fail_lost(x, ret->lost_from, to, err);
        }
        if (n == 0) {
                w->hungry = true;
                return 0;
        }
        *ret = (struct cay_exec_piece){ .stream = stream + 1, .cursor = w->at, .len = (size_t)n };
        w->at = place.at;
        w->run = place.run;
        if (w->holds && x->pending.len > 0)
                cay_exec_flush_pending(x);
        else if (w->holds && x->held)
                cay_exec_release(x);
        return 1;
}

bool cay_exec_watcher_is_over(const struct cay_exec_watcher *w)
{
        const struct cay_exec *x = w->exec;

        return x == NULL || (cay_exec_is_ended(x) && (x->spool.fd < 0 || w->at >= cay_exec_output_end(x)));
}

void cay_exec_watcher_view(const struct cay_exec_watcher *w, struct cay_exec_view *ret)
{
        cay_exec_fill_view(w->exec, ret);
}

int cay_exec_watcher_take_kernel(struct cay_exec_watcher *w, struct cay_error *err)
{
        struct cay_exec *x = w->exec;

        if (x->runs_code)
                return cay_fail(err, CAY_CONFLICT,
                                "context '%s' is busy with another run; wait for it, interrupt it, or use "
                                "another context",
                                x->context);
        x->runs_code = w->runs_code = true;
        x->runs++;
        return 0;
}

void cay_exec_watcher_leave_kernel(struct cay_exec_watcher *w)
{
        if (!w->runs_code)
                return;
        w->exec->runs_code = w->runs_code = false;
        if (w->exec->sandbox != NULL)
                cay_exec_use(w->exec);
}

int cay_service_exec_leave_context(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                                   const char *exec, struct cay_error *err)
{
        struct cay_exec *x = cay_exec_get(s, v, sandbox, exec, NULL, err);

        if (x == NULL)
                return -1;
        x->context = x->language = "";
        x->dirty = true;
        cay_tick_sandbox(x->sandbox, 0);
        return 0;
}

/* Its connection may have broken: if it returns soon, it finds all that it has not read. */
static void await(struct cay_exec *x, const struct cay_exec_watcher *left)
{
        uint64_t behind = x->spool.keep / BEHIND_PART;

        if (!left->holds || !x->background || !cay_exec_is_alive(x) || x->force_at_ms != 0 ||
            x->spool.fd < 0 || low_mark(x) != UINT64_MAX)
                return;
        x->awaited = true;
        x->awaited_from = left->at > behind ? left->at - behind : 0;
        x->awaited_until_ms = cay_clock_ms() + CAY_SERVICE_AWAIT_MS;
        cay_tick_sandbox(x->sandbox, CAY_SERVICE_AWAIT_MS);
}

void cay_service_exec_unwatch(struct cay_exec_watcher *w)
{
        struct cay_exec *x = cay_take(w->exec);

        if (x == NULL)
                return;
        for (struct cay_exec_watcher **at = &x->watchers; *at != NULL; at = &(*at)->next) {
                if (*at == w) {
                        *at = w->next;
                        break;
                }
        }
        w->next = NULL;
        x->watcher_count--;
        if (w->runs_code)
                x->runs_code = w->runs_code = false;
        if (x->sandbox != NULL) {
                cay_exec_use(x);
                await(x, w);
                cay_exec_release(x);
                if (cay_exec_is_ended(x)) /* its spool is closed then */
                        cay_tick_sandbox(x->sandbox, 0);
        }
        cay_exec_unref(x);
}

void cay_exec_drop_watchers(struct cay_exec *x)
{
        cay_exec_ref(x);
        while (x->watchers != NULL) {
                struct cay_exec_watcher *w = x->watchers;

                x->watchers = w->next;
                x->watcher_count--;
                w->exec = NULL;
                w->next = NULL;
                cay_exec_unref(x);
        }
        cay_exec_unref(x);
}
