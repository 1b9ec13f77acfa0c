/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short form of a page for language models, with the frames in it.
 *
 * Theory of operation. Chromium has a tree of nodes for each document, and a session for each process. So the
 * frames are found out first (frames.h); then for each the node that it lies in, which the session of the
 * document around it knows; then its nodes (outline.h). Its lines are kept with the place in the lines of
 * another frame where they belong. At the end they are put together from the page's on. A frame whose node
 * has no line, because it is hidden, is left out with it. One that does not answer is left out too, and the
 * answer says that it is not whole.
 */
#include <stdlib.h>
#include <string.h>

#include "domain/browser/action_steps.h"
#include "domain/browser/frames.h"
#include "domain/browser/outline.h"
#include "foundation/base/str.h"

#define LIMIT (8u << 20)

static size_t limit_of(const struct cay_action *a)
{
        return a->args->limit ? (size_t)a->args->limit : LIMIT;
}

/* Where they lie */

/* Of the page there is nothing to ask. */
static enum cay_step_next begin(struct cay_action *a, struct cay_json_view none)
{
        struct cay_frames *f = a->frames;

        (void)none;
        f->at = 1;
        for (unsigned i = 1; i < f->count; i++)
                f->items[i].number =
                        cay_driver_number_frame(&a->browser->driver, f->items[i].id, f->items[i].session);
        cay_buf_init(&f->lines, limit_of(a) + 4096);
        if (a->browser->payer)
                cay_buf_charge(&f->lines, &a->browser->payer->budget);
        return CAY_STEP_NEXT;
}

static enum cay_step_next put_owner(struct cay_action *a, struct cay_json *j)
{
        const struct cay_frames *f = a->frames;

        if (f->at >= f->count)
                return CAY_STEP_SKIP;
        cay_str_copy(a->via, sizeof(a->via), f->items[f->at].around);
        cay_action_put_text(j, "frameId", f->items[f->at].id);
        return CAY_STEP_SEND;
}

static enum cay_step_next next_owner(struct cay_action *a)
{
        if (++a->frames->at < a->frames->count)
                a->step--;
        else
                a->frames->at = 0;
        return CAY_STEP_NEXT;
}

static enum cay_step_next take_owner(struct cay_action *a, struct cay_json_view result)
{
        struct cay_frame *one = &a->frames->items[a->frames->at];

        if (!cay_json_view_u64(cay_cdp_find(result, "backendNodeId"), &one->place.owner))
                one->place.owner = 0;
        return next_owner(a);
}

static enum cay_step_next lost_owner(struct cay_action *a)
{
        a->frames->is_whole = false;
        return next_owner(a);
}

/* Their nodes */

static enum cay_step_next put_nodes(struct cay_action *a, struct cay_json *j)
{
        struct cay_frames *f = a->frames;

        if (f->at >= f->count)
                f->at = 0; /* there is only the page */
        if (f->at > 0)
                cay_str_copy(a->via, sizeof(a->via), f->items[f->at].session);
        cay_action_put_text(j, "frameId", f->items[f->at].id);
        return CAY_STEP_SEND;
}

static enum cay_step_next next_nodes(struct cay_action *a)
{
        if (++a->frames->at < a->frames->count)
                a->step--;
        return CAY_STEP_NEXT;
}

/*
 * Numbers of nodes mean something in one session only: these are the frames that lie in this one's documents.
 */
static int write_lines(struct cay_action *a, struct cay_frame *one, struct cay_json_view nodes)
{
        struct cay_frames *f = a->frames;
        struct cay_outline_hole holes[CAY_FRAMES_MAX];
        struct cay_outline_options o = { .frame = one->number, .holes = holes };
        unsigned who[CAY_FRAMES_MAX];
        struct cay_outline found;
        size_t limit = limit_of(a);
        int r;

        for (unsigned i = 1; i < f->count; i++) {
                const struct cay_frame *inner = &f->items[i];

                if (inner != one && !inner->place.is_found && inner->place.owner > 0 &&
                    strcmp(inner->around, one->session) == 0) {
                        who[o.hole_count] = i;
                        holes[o.hole_count++] = inner->place;
                }
        }
        one->begin = f->lines.len;
        r = cay_outline_write(nodes, &o, limit > f->lines.len ? limit - f->lines.len : 0, &f->lines, &found);
        one->end = f->lines.len;
        if (r < 0)
                return r;
        f->line_count += found.lines;
        f->is_whole &= !found.truncated;
        for (unsigned i = 0; i < o.hole_count; i++) {
                f->items[who[i]].place = holes[i];
                f->items[who[i]].in = (unsigned)(one - f->items);
        }
        return 0;
}

static enum cay_step_next take_nodes(struct cay_action *a, struct cay_json_view result)
{
        struct cay_json_view nodes = cay_cdp_find(result, "nodes");
        struct cay_frames *f = a->frames;
        int r;

        r = cay_json_view_open(nodes.at, nodes.len, &nodes);
        if (r == 0)
                r = write_lines(a, &f->items[f->at], nodes);
        if (r < 0 && f->at == 0)
                return cay_action_fail(a, NULL, CAY_CONFLICT,
                                       "the page's elements could not be read; retry, or use browser_text");
        f->is_whole &= r == 0;
        return next_nodes(a);
}

static enum cay_step_next lost_nodes(struct cay_action *a)
{
        a->frames->is_whole = false;
        return next_nodes(a);
}

/* Together */

static void put_lines(struct cay_action *a, size_t from, size_t to, unsigned depth)
{
        const char *text = cay_buf_data(&a->frames->lines);

        while (from < to) {
                const char *end = memchr(text + from, '\n', to - from);
                size_t len = end ? (size_t)(end - (text + from)) + 1 : to - from;

                cay_buf_printf(&a->kept, "%*s%.*s", (int)(depth * 2), "", (int)len, text + from);
                from += len;
        }
}

/* The frame that comes next behind this place of a frame; 0: none. */
static unsigned next_in(const struct cay_frames *f, unsigned frame, size_t from)
{
        unsigned best = 0;

        for (unsigned i = 1; i < f->count; i++) {
                const struct cay_frame *one = &f->items[i];

                if (one->place.is_found && !one->was_put && one->in == frame && one->place.at >= from &&
                    (best == 0 || one->place.at < f->items[best].place.at))
                        best = i;
        }
        return best;
}

static void put_frame(struct cay_action *a, unsigned frame, unsigned depth)
{
        struct cay_frames *f = a->frames;
        size_t from = f->items[frame].begin;
        unsigned inner;

        f->items[frame].was_put = true;
        if (depth > CAY_OUTLINE_DEPTH_MAX)
                depth = CAY_OUTLINE_DEPTH_MAX;
        while ((inner = next_in(f, frame, from)) > 0) {
                put_lines(a, from, f->items[inner].place.at, depth);
                from = f->items[inner].place.at;
                put_frame(a, inner, depth + f->items[inner].place.depth);
        }
        put_lines(a, from, f->items[frame].end, depth);
}

static enum cay_step_next put_together(struct cay_action *a, struct cay_json_view none)
{
        size_t limit = limit_of(a);
        const char *line;

        (void)none;
        cay_buf_clear(&a->kept);
        put_frame(a, 0, 0);
        a->facts = !a->frames->is_whole;
        a->lines = a->frames->line_count;
        if (a->kept.len <= limit)
                return CAY_STEP_NEXT;
        line = memrchr(cay_buf_data(&a->kept), '\n', limit);
        cay_buf_cut(&a->kept, line ? (size_t)(line - cay_buf_data(&a->kept)) + 1 : 0);
        a->facts = true;
        return CAY_STEP_NEXT;
}

static void put_answer(const struct cay_action *a, struct cay_json *j)
{
        cay_json_key(j, "outline");
        cay_json_string(j, cay_buf_data(&a->kept), a->kept.len);
        cay_action_put_u64(j, "lines", a->lines);
        cay_action_put_bool(j, "truncated", a->facts != 0);
}

static const struct cay_step step_begin = { .take = begin };
static const struct cay_step step_owner = { .method = "DOM.getFrameOwner",
                                            .put = put_owner,
                                            .take = take_owner,
                                            .refused = lost_owner,
                                            .lost = lost_owner };
static const struct cay_step step_nodes = {
        .method = "Accessibility.getFullAXTree", .put = put_nodes, .take = take_nodes, .lost = lost_nodes
};
static const struct cay_step step_together = { .take = put_together };

const struct cay_action_row cay_action_rows_outline[] = {
        { "outline",
          CAY_ACTION_TAB,
          { &cay_step_all_frames, &step_begin, &step_owner, &step_nodes, &step_together },
          .put = put_answer },
};
const unsigned cay_action_rows_outline_count = CAY_COUNT(cay_action_rows_outline);
