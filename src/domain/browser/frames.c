/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/browser/frames.h"

#include <stdlib.h>
#include <string.h>

#include "domain/browser/action_steps.h"
#include "foundation/base/str.h"

void cay_frames_free(struct cay_frames *f)
{
        if (f)
                cay_buf_done(&f->lines);
        free(f);
}

static enum cay_step_next put_all_frames(struct cay_action *a, struct cay_json *j)
{
        const struct cay_target *t = cay_action_target(a);

        (void)j;
        if (!a->frames) {
                a->frames = calloc(1, sizeof(*a->frames));
                if (!a->frames)
                        return cay_action_fail(a, NULL, CAY_LIMIT,
                                               "no memory for the frames of the page; retry");
                a->frames->is_whole = true;
                cay_str_copy(a->frames->session, sizeof(a->frames->session), t->session);
        }
        if (strcmp(a->frames->session, t->session) != 0)
                cay_str_copy(a->via, sizeof(a->via), a->frames->session);
        return CAY_STEP_SEND;
}

static enum cay_step_next put_frames(struct cay_action *a, struct cay_json *j)
{
        if (!a->wants_frames || (a->frames && a->frames->session[0] == '\0'))
                return CAY_STEP_SKIP;
        return put_all_frames(a, j);
}

/* {frame: {id}, childFrames: […]}: those of this session only. */
static void add(struct cay_frames *f, struct cay_json_view tree, const struct cay_frame *like, bool is_root,
                unsigned level)
{
        struct cay_json_walk walk;
        struct cay_json_view key, child;
        struct cay_frame *one;

        if (f->count == CAY_FRAMES_MAX || level > CAY_FRAMES_MAX) {
                f->is_whole = false;
                return;
        }
        one = &f->items[f->count++];
        *one = *like;
        cay_json_view_copy(cay_json_view_find(tree, "frame.id"), one->id, sizeof(one->id));
        if (!is_root)
                cay_str_copy(one->around, sizeof(one->around), like->session);
        walk = cay_json_view_walk(cay_json_view_find(tree, "childFrames"));
        while (cay_json_view_next(&walk, &key, &child))
                add(f, child, like, false, level + 1);
}

/* The next session of this tab that has documents; NULL: none. */
static const struct cay_target *next_target(const struct cay_action *a)
{
        const struct cay_target *page = cay_action_target(a), *t = a->browser->driver.targets;

        if (strcmp(a->frames->session, page->session) != 0) {
                t = cay_driver_session(&a->browser->driver, a->frames->session);
                t = t ? t->next : NULL;
        }
        while (t && (strcmp(t->type, "iframe") != 0 || strcmp(t->tab, a->tab) != 0 || t->has_crashed))
                t = t->next;
        return t;
}

static enum cay_step_next ask_next(struct cay_action *a)
{
        const struct cay_target *t = next_target(a);
        struct cay_frames *f = a->frames;

        if (t && f->count < CAY_FRAMES_MAX) {
                cay_str_copy(f->session, sizeof(f->session), t->session);
                a->step--;
                return CAY_STEP_NEXT;
        }
        f->is_whole &= t == NULL;
        f->session[0] = '\0';
        return CAY_STEP_NEXT;
}

/* Of the page at least itself is known. */
static enum cay_step_next lost(struct cay_action *a)
{
        struct cay_frames *f = a->frames;

        if (f->count == 0) {
                cay_str_copy(f->items[0].id, sizeof(f->items[0].id), a->tab);
                cay_str_copy(f->items[0].session, sizeof(f->items[0].session), f->session);
                f->count = 1;
        }
        f->is_whole = false;
        return ask_next(a);
}

static enum cay_step_next take_frames(struct cay_action *a, struct cay_json_view result)
{
        const struct cay_target *t = cay_driver_session(&a->browser->driver, a->frames->session);
        struct cay_json_view tree = cay_cdp_find(result, "frameTree");
        struct cay_frame like = { .number = 0 };

        if (!t || cay_json_view_open(tree.at, tree.len, &tree) < 0)
                return lost(a);
        cay_str_copy(like.session, sizeof(like.session), t->session);
        if (strcmp(t->type, "iframe") == 0)
                cay_str_copy(like.around, sizeof(like.around), t->parent);
        add(a->frames, tree, &like, true, 0);
        return ask_next(a);
}

const struct cay_step cay_step_all_frames = {
        .method = "Page.getFrameTree", .put = put_all_frames, .take = take_frames, .lost = lost
};
const struct cay_step cay_step_frames = {
        .method = "Page.getFrameTree", .put = put_frames, .take = take_frames, .lost = lost
};
