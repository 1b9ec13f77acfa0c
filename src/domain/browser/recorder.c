/* SPDX-License-Identifier: Apache-2.0 */
/* A recording while it runs: a viewer of the screen that writes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "domain/browser/action_steps.h"
#include "domain/browser/screencast_priv.h"
#include "foundation/base/clock.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"

#define FACTS_MAX (12u * 1024)

static struct cay_screencast *of_viewer(struct cay_live_viewer *v)
{
        return cay_container_of(v, struct cay_screencast, viewer);
}

void cay_recorder_end(struct cay_screencast *r, const char *why)
{
        if (r->fd < 0)
                return;
        cay_live_close(&r->viewer);
        cay_timer_clear(&r->time);
        cay_str_copy(r->why, sizeof(r->why), why);
        cay_screencast_finish(r);
        close(cay_take_fd(r->fd));
}

static void on_gone(struct cay_live_viewer *v, const struct cay_error *why)
{
        cay_recorder_end(of_viewer(v), why->msg);
}

static void on_news(struct cay_live_viewer *v, unsigned bits)
{
        (void)v;
        (void)bits; /* a frame tells what there is to tell */
}

static void on_time(struct cay_timer *t)
{
        cay_recorder_end(cay_container_of(t, struct cay_screencast, time), "its time was over");
}

/* What is known of a frame; its texts come from pages. */
static int put_facts(struct cay_screencast *r, const struct cay_live_frame *f, uint64_t at_ms,
                     struct cay_buf *out)
{
        const struct cay_tab *tab = cay_live_tab(&r->viewer);
        struct cay_json j;
        int x, y;

        cay_buf_init(out, FACTS_MAX);
        cay_json_init(&j, out);
        cay_json_begin_object(&j);
        cay_action_put_u64(&j, "at_ms", at_ms);
        cay_action_put_u64(&j, "width", f->width);
        cay_action_put_u64(&j, "height", f->height);
        cay_action_put_u64(&j, "tab", f->tab);
        cay_action_put_text(&j, "url", tab ? tab->url : "");
        cay_action_put_text(&j, "title", tab ? tab->title : "");
        if (cay_live_pointer(&r->viewer, &x, &y)) {
                cay_action_put_u64(&j, "x", (uint64_t)x);
                cay_action_put_u64(&j, "y", (uint64_t)y);
        }
        cay_json_end_object(&j);
        return cay_json_end(&j);
}

static void on_frame(struct cay_live_viewer *v, const struct cay_live_frame *f)
{
        struct cay_screencast *r = of_viewer(v);
        uint64_t at_ms = cay_clock_ms() - r->begin_ms;
        cay_auto_buf struct cay_buf facts = { 0 };
        int e = put_facts(r, f, at_ms, &facts);
        struct cay_error full = { 0 };

        if (cay_service_check_disk(r->all->env.service, &full) < 0) { /* others need what is left */
                cay_recorder_end(r, "the daemon's disk was nearly full");
                return;
        }
        if (r->bytes + f->len + facts.len + FACTS_MAX > r->limits.bytes) {
                cay_recorder_end(r, "it had as many bytes as it may have");
                return;
        }
        if (e == 0)
                e = cay_screencast_put(r, f, cay_buf_data(&facts), at_ms);
        if (e == -ENOSPC) {
                cay_recorder_end(r, "the daemon's disk was full");
        } else if (e < 0 && e != -ENOMEM) { /* without memory: one frame is left out */
                cay_log_warn("a recording cannot be written", "recording=%s errno=%d", r->id, -e);
                cay_recorder_end(r, "its file could not be written");
        } else if (r->frames >= CAY_SCREENCAST_FRAMES_MAX) {
                cay_recorder_end(r, "it had as many frames as it may have");
        } else {
                cay_live_ready(v);
        }
}

int cay_recorder_begin(struct cay_screencast *r, const struct cay_viewer *who, struct cay_error *err)
{
        struct cay_loop *loop = r->all->env.loop;

        r->viewer = (struct cay_live_viewer){ .on_frame = on_frame,
                                              .on_news = on_news,
                                              .on_gone = on_gone,
                                              .least_ms = (unsigned)r->limits.gap_ms,
                                              .only_looks = true,
                                              .is_recorder = true };
        r->begin_ms = cay_clock_ms();
        if (cay_live_open(r->all->browsers, who, r->sandbox, false, &r->viewer, err) < 0)
                return -1;
        cay_timer_set(loop, &r->time, r->limits.time_ms, on_time);
        cay_live_ready(&r->viewer);
        return 0;
}
