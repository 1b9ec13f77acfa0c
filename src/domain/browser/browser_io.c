/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a browser's control channel: the command's output to the mux, the mux's to the command's input. */
#include <errno.h>
#include <string.h>

#include "domain/browser/browser_priv.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"

#define RETRY_MS 500u

static struct cay_service *service_of(const struct cay_browser *b)
{
        return b->all->env.service;
}

/* Input */

static void send_piece(struct cay_browser *b);

static void on_retry(struct cay_timer *t)
{
        send_piece(cay_container_of(t, struct cay_browser, retry));
}

/* Its box does not answer yet, or it is paused, or it has ended: then the watcher tells. */
static void await_input(struct cay_browser *b, const struct cay_error *why)
{
        cay_log_debug("a browser takes no input now", "exec=%s error=%s", b->exec, why->msg);
        cay_timer_set(b->all->env.loop, &b->retry, RETRY_MS, on_retry);
}

static void on_taken(struct cay_job *job)
{
        struct cay_browser *b = cay_container_of(job, struct cay_browser, input.job);
        size_t len = b->piece_len;

        b->piece_len = 0;
        if (cay_browser_is_over(b)) {
                cay_browser_free_if_done(b);
                return;
        }
        if (job->err.code != CAY_OK) {
                await_input(b, &job->err);
                return;
        }
        b->offset = b->input.next;
        cay_cdp_mux_sent(&b->mux, len);
        send_piece(b);
}

/* With an offset, so that bytes of a piece that failed half-way are not sent twice. */
static void send_piece(struct cay_browser *b)
{
        struct cay_viewer viewer = cay_browser_viewer(b);
        size_t len = b->mux.out.len < CAY_BROWSER_PIECE ? b->mux.out.len : CAY_BROWSER_PIECE;

        if (cay_browser_is_over(b) || b->piece_len > 0 || len == 0 || b->exec[0] == '\0' || b->retry.loop)
                return;
        memcpy(b->piece, cay_buf_data(&b->mux.out), len);
        b->piece_len = len;
        b->input = (struct cay_exec_input){
                .bytes = b->piece, .len = len, .has_offset = b->offset != UINT64_MAX, .offset = b->offset
        };
        cay_job_init(&b->input.job, on_taken);
        cay_service_exec_input(service_of(b), &viewer, b->sandbox, b->exec, &b->input);
}

static void on_mux_output(struct cay_cdp_mux *m)
{
        send_piece(cay_container_of(m, struct cay_browser, mux));
}

/* Output */

static void keep_tail(struct cay_browser *b, const char *bytes, size_t len)
{
        if (len >= CAY_BROWSER_TAIL) {
                bytes += len - CAY_BROWSER_TAIL;
                len = CAY_BROWSER_TAIL;
        }
        if (b->tail_len + len > CAY_BROWSER_TAIL) {
                size_t drop = b->tail_len + len - CAY_BROWSER_TAIL;

                memmove(b->tail, b->tail + drop, b->tail_len - drop);
                b->tail_len -= drop;
        }
        memcpy(b->tail + b->tail_len, bytes, len);
        b->tail_len += len;
        b->tail[b->tail_len] = '\0';
}

static void on_output(struct cay_exec_watcher *w)
{
        struct cay_browser *b = cay_container_of(w, struct cay_browser, watcher);
        struct cay_exec_piece piece;
        struct cay_exec_view view;
        struct cay_error err = { 0 };
        char bytes[CAY_BROWSER_PIECE];
        int r;

        while (!cay_browser_is_over(b) &&
               (r = cay_exec_watcher_read(w, bytes, sizeof(bytes), &piece, &err)) != 0) {
                if (r < 0) { /* bytes are lost: what follows may be the middle of a message */
                        cay_log_warn("output of a browser is lost", "exec=%s error=%s", b->exec, err.msg);
                        cay_cdp_mux_join(&b->mux);
                        err = (struct cay_error){ 0 };
                } else if (piece.stream == 2) {
                        keep_tail(b, bytes, piece.len);
                } else {
                        cay_cdp_mux_feed(&b->mux, bytes, piece.len);
                }
        }
        if (cay_browser_is_over(b) || !cay_exec_watcher_is_over(w))
                return;
        if (w->exec) {
                cay_exec_watcher_view(w, &view);
                cay_browser_explain(b, &view, &err);
        } else {
                cay_fail(&err, CAY_CONFLICT, "the browser's sandbox has gone");
        }
        cay_browser_over(b, &err);
}

static int watch(struct cay_browser *b, uint64_t from, struct cay_error *err)
{
        struct cay_viewer viewer = cay_browser_viewer(b);

        b->watcher = (struct cay_exec_watcher){ .on_output = on_output };
        if (cay_service_exec_watch(service_of(b), &viewer, b->sandbox, b->exec, from, true, &b->watcher,
                                   err) < 0)
                return -1;
        cay_browser_note_use(b);
        send_piece(b);
        return 0;
}

/* The command */

static void on_exec(struct cay_job *job)
{
        struct cay_browser *b = cay_container_of(job, struct cay_browser, exec_call.job);
        struct cay_viewer viewer = cay_browser_viewer(b);
        struct cay_error err = job->err;

        b->exec_pending = false;
        if (cay_browser_is_over(b)) { /* nobody wants it any more */
                if (err.code == CAY_OK)
                        cay_service_exec_abandon(service_of(b), &viewer, b->sandbox, b->exec_call.id);
                cay_browser_free_if_done(b);
                return;
        }
        if (err.code == CAY_OK) {
                cay_str_copy(b->exec, sizeof(b->exec), b->exec_call.id);
                watch(b, 0, &err);
        }
        if (err.code != CAY_OK)
                cay_browser_over(b, &err);
}

void cay_browser_begin_exec(struct cay_browser *b, const struct cay_browser_options *o)
{
        struct cay_viewer viewer = cay_browser_viewer(b);
        struct cay_browser_launch launch;
        struct cay_exec_new what = { .argv = launch.argv,
                                     .has_stdin = true,
                                     .background = true,
                                     .context = cay_exec_kind_name(CAY_EXEC_BROWSER),
                                     .language = CAY_BROWSER_LANGUAGE };

        cay_browser_launch_make(&launch, o);
        b->mux.on_output = on_mux_output;
        b->exec_pending = true;
        b->exec_call = (struct cay_exec_call){ 0 };
        cay_job_init(&b->exec_call.job, on_exec);
        cay_service_exec(service_of(b), &viewer, b->sandbox, &what, &b->exec_call);
}

int cay_browser_adopt_exec(struct cay_browser *b, const char *exec, struct cay_error *err)
{
        b->offset = UINT64_MAX;
        b->mux.on_output = on_mux_output;
        cay_str_copy(b->exec, sizeof(b->exec), exec);
        cay_cdp_mux_join(&b->mux);
        return watch(b, UINT64_MAX, err);
}

/* While it has clients or does something, its sandbox is in use. */
void cay_browser_note_use(struct cay_browser *b)
{
        unsigned of_ours = 1 + cay_live_is_unattended(b);
        bool wanted = b->mux.client_count > of_ours || b->phase == CAY_BROWSER_STARTING || b->actions;
        struct cay_error err = { 0 };

        if (!b->watcher.exec || wanted == b->is_busy)
                return;
        b->is_busy = wanted;
        if (!wanted)
                cay_exec_watcher_leave_kernel(&b->watcher);
        else if (cay_exec_watcher_take_kernel(&b->watcher, &err) < 0)
                b->is_busy = false;
}

bool cay_browser_is_held(const struct cay_browser *b)
{
        return b->exec_pending || b->input.job.queued;
}

void cay_browser_end_io(struct cay_browser *b)
{
        cay_timer_clear(&b->retry);
        cay_service_exec_unwatch(&b->watcher);
        if (b->piece_len > 0)
                cay_exec_input_cancel(&b->input);
        b->piece_len = 0;
}
