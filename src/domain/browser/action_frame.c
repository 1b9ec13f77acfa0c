/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements in frames. Each frame has a document, with a world of ours of its own, since scripts of one site
 * cannot look into a document of another. Documents of other sites may be in other processes: then they have
 * sessions of their own, know only their own view, and number their elements by themselves.
 *
 * What has a selector or a text is looked for in the page first, then in one frame after the other
 * (next_frame); references name theirs. Input goes to the page as a whole, which passes it on by what is
 * under the pointer. So a place in a frame is turned into one of the view of the session around it, until it
 * is the page's: the element that the frame lies in is scrolled there, and asked for its box. What is over it
 * is asked too. Chromium answers all of that by itself; no script of a page has a part in it.
 *
 * Chromium's browser process passes input on to another process by where its compositor showed that one's
 * frames last. After the page has moved, that follows some time later, so that a click at the right place
 * could go to what was there before. Nothing tells when it has followed: waiting for frames to be drawn, or
 * for the same place twice, is right on an idle machine alone. So the mouse is moved there first, which does
 * no harm, and a listener in our world of the element's document says whether it came; until then the place
 * is looked for again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain/browser/action_steps.h"
#include "domain/browser/frames.h"
#include "foundation/base/str.h"

#define LOOK_TURNS 10u /* after so many looks at a page without frames it is asked for frames again */

#define REACH_MS 50u  /* until the mouse is moved again to where it did not come */
#define FIRST_MS 100u /* until the frames of a page are looked at again: longer with many */
#define MORE_MS 20u

/* Searching */

static void go_to(struct cay_action *a, const char *method)
{
        while (a->step > 0 &&
               (!a->row->steps[a->step]->method || strcmp(a->row->steps[a->step]->method, method) != 0))
                a->step--;
        a->object[0] = a->inner[0] = '\0';
        a->keeps_why = true;
}

static void ask_frames(struct cay_action *a)
{
        go_to(a, cay_step_frames.method);
        cay_frames_free(cay_take(a->frames));
        a->wants_frames = true;
}

enum cay_step_next cay_action_first_frame(struct cay_action *a)
{
        const struct cay_frames *f = a->frames;

        if (f && f->count > 1)
                a->again_ms = FIRST_MS + f->count * MORE_MS;
        if (f && (f->count > 1 || a->turn % LOOK_TURNS == LOOK_TURNS - 1))
                ask_frames(a);
        return CAY_STEP_AGAIN;
}

enum cay_step_next cay_action_next_frame(struct cay_action *a)
{
        struct cay_frames *f = a->frames;

        if (f && f->at + 1 >= f->count)
                return cay_action_first_frame(a);
        if (f) {
                f->at++;
                go_to(a, CAY_ACTION_WORLD);
        } else {
                ask_frames(a);
        }
        a->step--; /* it is counted up, from -1 too */
        return CAY_STEP_NEXT;
}

bool cay_action_has_next_frame(const struct cay_action *a)
{
        return !a->frames || a->frames->at + 1 < a->frames->count;
}

enum cay_step_next cay_action_lost_frame(struct cay_action *a)
{
        uint64_t frame, node;

        if (cay_action_reference(a->args->target, &frame, &node) && a->call.code == 0)
                return cay_action_fail(a, "target", CAY_CONFLICT, "target: the frame of %s does not answer",
                                       a->args->target);
        if (cay_action_reference(a->args->target, &frame, &node))
                return cay_action_fail_gone(a);
        if (a->why[0] == '\0')
                snprintf(a->why, sizeof(a->why), "a frame of the page does not answer");
        return cay_action_next_frame(a);
}

/* Outwards */

/* The session of the document that the frame lies in; NULL: it has gone. */
static const struct cay_target *around(const struct cay_action *a)
{
        const struct cay_driver *d = &a->browser->driver;
        const struct cay_target *t = cay_driver_frame(d, a->inner);

        return cay_driver_session(d, t ? t->parent : a->inner_session);
}

/* To that document. */
static enum cay_step_next put_outer(struct cay_action *a)
{
        const struct cay_target *t;
        enum cay_step_next next;

        if (a->inner[0] == '\0')
                return CAY_STEP_SKIP;
        t = around(a);
        if (!t) {
                next = cay_action_lost_frame(a);
                return next == CAY_STEP_NEXT ? CAY_STEP_SKIP : next;
        }
        cay_str_copy(a->via, sizeof(a->via), t->session);
        return CAY_STEP_SEND;
}

static enum cay_step_next put_owner(struct cay_action *a, struct cay_json *j)
{
        enum cay_step_next next = put_outer(a);

        if (next == CAY_STEP_SEND)
                cay_action_put_text(j, "frameId", a->inner);
        return next;
}

static enum cay_step_next take_owner(struct cay_action *a, struct cay_json_view result)
{
        return cay_json_view_u64(cay_cdp_find(result, "backendNodeId"), &a->owner) ? CAY_STEP_NEXT
                                                                                   : cay_action_lost_frame(a);
}

static enum cay_step_next put_owner_node(struct cay_action *a, struct cay_json *j)
{
        enum cay_step_next next = put_outer(a);

        if (next == CAY_STEP_SEND)
                cay_action_put_u64(j, "backendNodeId", a->owner);
        return next;
}

static enum cay_step_next put_scroll(struct cay_action *a, struct cay_json *j)
{
        enum cay_step_next next = put_owner_node(a, j);

        if (next != CAY_STEP_SEND)
                return next;
        cay_json_key(j, "rect");
        cay_json_begin_object(j);
        cay_action_put_real(j, "x", a->x);
        cay_action_put_real(j, "y", a->y);
        cay_action_put_real(j, "width", 1);
        cay_action_put_real(j, "height", 1);
        cay_json_end_object(j);
        return CAY_STEP_SEND;
}

static enum cay_step_next put_view(struct cay_action *a, struct cay_json *j)
{
        (void)j;
        return put_outer(a);
}

static enum cay_step_next take_view(struct cay_action *a, struct cay_json_view result)
{
        struct cay_json_view view = cay_cdp_find(result, "cssVisualViewport");

        a->scroll_x = cay_action_number(view, "pageX");
        a->scroll_y = cay_action_number(view, "pageY");
        return CAY_STEP_NEXT;
}

/* The corners of a box, clockwise from its upper left one: x, y. */
static bool read_corners(struct cay_json_view list, double ret[8])
{
        struct cay_json_view key, value;
        struct cay_json_walk walk;
        unsigned n = 0;
        char text[40];

        if (cay_json_view_open(list.at, list.len, &list) < 0)
                return false;
        walk = cay_json_view_walk(list);
        while (n < 8 && cay_json_view_next(&walk, &key, &value)) {
                if (value.len == 0 || value.len >= sizeof(text))
                        return false;
                memcpy(text, value.at, value.len);
                text[value.len] = '\0';
                ret[n++] = strtod(text, NULL);
        }
        return n == 8;
}

static enum cay_step_next is_not_shown(struct cay_action *a)
{
        snprintf(a->why, sizeof(a->why), "the frame that '%.100s' is in is not visible", a->args->target);
        return CAY_STEP_AGAIN;
}

/* By its corners, so that frames may be scaled or turned. */
static enum cay_step_next take_box(struct cay_action *a, struct cay_json_view result)
{
        struct cay_json_view model = cay_cdp_find(result, "model");
        double c[8], x, y, across, down;

        if (!read_corners(cay_cdp_find(model, "content"), c))
                return is_not_shown(a);
        across = a->view_width > 0 ? a->x / a->view_width : a->x / (c[2] > c[0] ? c[2] - c[0] : 1);
        down = a->view_height > 0 ? a->y / a->view_height : a->y / (c[7] > c[1] ? c[7] - c[1] : 1);
        x = c[0] + across * (c[2] - c[0]) + down * (c[6] - c[0]);
        y = c[1] + across * (c[3] - c[1]) + down * (c[7] - c[1]);
        a->left += x - a->x;
        a->top += y - a->y;
        a->x = x;
        a->y = y;
        a->view_width = a->view_height = 0;
        return CAY_STEP_NEXT;
}

/* Before the first of these steps. */
static void go_back(struct cay_action *a)
{
        while (a->row->steps[a->step] != &cay_step_owner)
                a->step--;
        a->step--;
}

/* Another look begins with the element, whose place in its frame x and y are then again. */
static enum cay_step_next look_again(struct cay_action *a)
{
        go_back(a);
        a->keeps_why = true;
        return CAY_STEP_AGAIN;
}

/* x and y are those of the view of the session around the frame now. */
static enum cay_step_next go_out(struct cay_action *a)
{
        const struct cay_target *t = around(a);

        if (t && strcmp(t->type, "iframe") == 0) {
                a->is_far |= strcmp(t->session, a->inner_session) != 0;
                cay_str_copy(a->inner, sizeof(a->inner), t->id);
                cay_str_copy(a->inner_session, sizeof(a->inner_session), t->session);
                go_back(a);
                return CAY_STEP_NEXT;
        }
        a->is_far |= t && strcmp(t->session, a->inner_session) != 0;
        a->inner[0] = '\0';
        a->keeps_why = a->is_far;
        return CAY_STEP_NEXT;
}

/* What is there, in the document's own coordinates. For a picture it does not matter. */
static enum cay_step_next put_hit(struct cay_action *a, struct cay_json *j)
{
        double x = a->x + a->scroll_x, y = a->y + a->scroll_y;
        enum cay_step_next next = put_outer(a);

        if (next != CAY_STEP_SEND)
                return next;
        if (!a->aims) {
                go_out(a);
                return CAY_STEP_SKIP;
        }
        cay_action_put_u64(j, "x", x > 0 ? (uint64_t)x : 0);
        cay_action_put_u64(j, "y", y > 0 ? (uint64_t)y : 0);
        return CAY_STEP_SEND;
}

static enum cay_step_next take_hit(struct cay_action *a, struct cay_json_view result)
{
        uint64_t hit = 0;
        char frame[40];

        /* A frame of the same process is looked into: then it is something in its document. */
        cay_cdp_find_text(result, "frameId", frame, sizeof(frame));
        if ((!cay_json_view_u64(cay_cdp_find(result, "backendNodeId"), &hit) || hit != a->owner) &&
            strcmp(frame, a->inner) != 0) {
                snprintf(a->why, sizeof(a->why), "the frame that '%.100s' is in is covered there",
                         a->args->target);
                return look_again(a);
        }
        return go_out(a);
}

static enum cay_step_next refused_hit(struct cay_action *a)
{
        is_not_shown(a);
        return look_again(a);
}

static enum cay_step_next refused_scroll(struct cay_action *a)
{
        is_not_shown(a); /* it has no box: the next step says so again */
        return CAY_STEP_NEXT;
}

const struct cay_step cay_step_owner = { .method = "DOM.getFrameOwner",
                                         .put = put_owner,
                                         .take = take_owner };
const struct cay_step cay_step_owner_scroll = { .method = "DOM.scrollIntoViewIfNeeded",
                                                .put = put_scroll,
                                                .refused = refused_scroll };
const struct cay_step cay_step_owner_view = { .method = "Page.getLayoutMetrics",
                                              .put = put_view,
                                              .take = take_view };
const struct cay_step cay_step_owner_box = {
        .method = "DOM.getBoxModel", .put = put_owner_node, .take = take_box, .refused = is_not_shown
};
const struct cay_step cay_step_owner_hit = {
        .method = "DOM.getNodeForLocation", .put = put_hit, .take = take_hit, .refused = refused_hit
};

/* Reaching */

static enum cay_step_next put_watch(struct cay_action *a, struct cay_json *j)
{
        a->is_watched = a->is_far;
        if (!a->is_watched)
                return CAY_STEP_SKIP;
        cay_action_script(a, j, "watch");
        cay_action_script_end(j);
        return CAY_STEP_SEND;
}

static enum cay_step_next put_watch_wheel(struct cay_action *a, struct cay_json *j)
{
        a->is_watched = false;
        return a->args->direction ? put_watch(a, j) : CAY_STEP_SKIP;
}

static enum cay_step_next take_watch(struct cay_action *a, struct cay_json_view result)
{
        struct cay_json_view v = cay_action_value(a, result);

        if (v.len == 0)
                return CAY_STEP_FAIL;
        return cay_json_view_is_true(cay_cdp_find(v, "gone")) ? look_again(a) : CAY_STEP_NEXT;
}

static enum cay_step_next put_reach(struct cay_action *a, struct cay_json *j)
{
        if (!a->is_watched)
                return CAY_STEP_SKIP;
        cay_action_put_text(j, "type", "mouseMoved");
        cay_action_put_real(j, "x", a->x);
        cay_action_put_real(j, "y", a->y);
        return CAY_STEP_SEND;
}

static enum cay_step_next put_came(struct cay_action *a, struct cay_json *j)
{
        if (!a->is_watched)
                return CAY_STEP_SKIP;
        cay_action_script(a, j, "came");
        cay_action_script_end(j);
        return CAY_STEP_SEND;
}

static enum cay_step_next take_came(struct cay_action *a, struct cay_json_view result)
{
        struct cay_json_view v = cay_action_value(a, result);

        if (v.len == 0)
                return CAY_STEP_FAIL;
        if (cay_json_view_is_true(cay_cdp_find(v, "came"))) {
                a->keeps_why = false;
                return CAY_STEP_NEXT;
        }
        snprintf(a->why, sizeof(a->why), "the mouse does not come to '%.100s', which is in a frame",
                 a->args->target);
        a->again_ms = REACH_MS;
        return look_again(a);
}

const struct cay_step cay_step_watch = { .method = "Runtime.callFunctionOn",
                                         .put = put_watch,
                                         .take = take_watch };
const struct cay_step cay_step_watch_wheel = { .method = "Runtime.callFunctionOn",
                                               .put = put_watch_wheel,
                                               .take = take_watch };
const struct cay_step cay_step_reach = { .method = "Input.dispatchMouseEvent", .put = put_reach };
const struct cay_step cay_step_came = { .method = "Runtime.callFunctionOn",
                                        .put = put_came,
                                        .take = take_came };
