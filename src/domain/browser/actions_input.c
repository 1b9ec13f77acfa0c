/* SPDX-License-Identifier: Apache-2.0 */
/* Actions with mouse and keyboard. */
#include <stdio.h>
#include <string.h>

#include "domain/browser/action_steps.h"
#include "domain/browser/frames.h"
#include "domain/browser/web_keys.h"
#include "foundation/base/str.h"

#define SCROLL_DEFAULT 600u

/* The mouse */

static enum cay_step_next put_mouse(struct cay_action *a, struct cay_json *j, const char *type,
                                    unsigned count)
{
        const char *button = a->args->button ? a->args->button : "left";
        unsigned held = 0;

        if (a->args->keys && cay_web_modifiers(a->args->keys, &held, &a->err) < 0) {
                a->field = "keys";
                return CAY_STEP_FAIL;
        }
        cay_action_put_text(j, "type", type);
        cay_action_put_real(j, "x", a->x);
        cay_action_put_real(j, "y", a->y);
        if (count > 0) {
                cay_action_put_text(j, "button", button);
                cay_action_put_u64(j, "clickCount", count);
        }
        cay_action_put_u64(j, "modifiers", held);
        return CAY_STEP_SEND;
}

static enum cay_step_next put_move(struct cay_action *a, struct cay_json *j)
{
        return put_mouse(a, j, "mouseMoved", 0);
}

static enum cay_step_next put_press(struct cay_action *a, struct cay_json *j)
{
        return put_mouse(a, j, "mousePressed", 1);
}

static enum cay_step_next put_release(struct cay_action *a, struct cay_json *j)
{
        return put_mouse(a, j, "mouseReleased", 1);
}

static enum cay_step_next put_press_again(struct cay_action *a, struct cay_json *j)
{
        return a->args->count == 2 ? put_mouse(a, j, "mousePressed", 2) : CAY_STEP_SKIP;
}

static enum cay_step_next put_release_again(struct cay_action *a, struct cay_json *j)
{
        return a->args->count == 2 ? put_mouse(a, j, "mouseReleased", 2) : CAY_STEP_SKIP;
}

static const struct cay_step step_move = { .method = "Input.dispatchMouseEvent", .put = put_move };
static const struct cay_step step_press = { .method = "Input.dispatchMouseEvent", .put = put_press };
static const struct cay_step step_release = { .method = "Input.dispatchMouseEvent", .put = put_release };
static const struct cay_step step_press_again = { .method = "Input.dispatchMouseEvent",
                                                  .put = put_press_again };
static const struct cay_step step_release_again = { .method = "Input.dispatchMouseEvent",
                                                    .put = put_release_again };

static void put_point(const struct cay_action *a, struct cay_json *j)
{
        cay_action_put_u64(j, "x", a->x > 0 ? (uint64_t)a->x : 0);
        cay_action_put_u64(j, "y", a->y > 0 ? (uint64_t)a->y : 0);
}

/* The wheel. Without a point it is turned in the middle of the page. */

static enum cay_step_next put_middle_world(struct cay_action *a, struct cay_json *j)
{
        return a->args->has_x && !a->args->target ? CAY_STEP_SKIP : cay_step_our_world.put(a, j);
}

static enum cay_step_next take_any_world(struct cay_action *a, struct cay_json_view result)
{
        return cay_step_our_world.take(a, result);
}

static const struct cay_step step_wheel_world = { .method = CAY_ACTION_WORLD,
                                                  .put = put_middle_world,
                                                  .take = take_any_world };

static enum cay_step_next put_middle(struct cay_action *a, struct cay_json *j)
{
        if (a->object[0] != '\0' || a->args->has_x)
                return CAY_STEP_SKIP;
        cay_action_script(a, j, "middle");
        cay_action_script_end(j);
        return CAY_STEP_SEND;
}

static enum cay_step_next take_middle(struct cay_action *a, struct cay_json_view result)
{
        struct cay_json_view v = cay_action_value(a, result);

        if (v.len == 0)
                return CAY_STEP_FAIL;
        a->x = cay_action_number(v, "x");
        a->y = cay_action_number(v, "y");
        return CAY_STEP_NEXT;
}

static const struct cay_step step_middle = { .method = "Runtime.callFunctionOn",
                                             .put = put_middle,
                                             .take = take_middle };

static enum cay_step_next put_wheel(struct cay_action *a, struct cay_json *j)
{
        static const struct {
                const char *name;
                int x, y;
        } rows[] = { { "down", 0, 1 }, { "up", 0, -1 }, { "right", 1, 0 }, { "left", -1, 0 } };
        double by = (double)(a->args->amount ? a->args->amount : SCROLL_DEFAULT);
        const char *name = a->args->direction ? a->args->direction : a->args->target ? NULL : "down";
        unsigned i = 0;

        if (!name)
                return CAY_STEP_SKIP; /* to bring an element into view is all that is asked */
        while (i < CAY_COUNT(rows) && strcmp(rows[i].name, name) != 0)
                i++;
        if (i == CAY_COUNT(rows))
                return cay_action_fail(a, "direction", CAY_INVALID,
                                       "direction: must be up, down, left or right");
        put_mouse(a, j, "mouseWheel", 0);
        cay_action_put_real(j, "deltaX", rows[i].x * by);
        cay_action_put_real(j, "deltaY", rows[i].y * by);
        return CAY_STEP_SEND;
}

static const struct cay_step step_wheel = { .method = "Input.dispatchMouseEvent", .put = put_wheel };

/* The keyboard */

static enum cay_step_next put_key(struct cay_json *j, const struct cay_web_key *k, bool is_down)
{
        cay_action_put_text(j, "type", !is_down ? "keyUp" : k->text[0] ? "keyDown" : "rawKeyDown");
        cay_action_put_text(j, "key", k->key);
        if (k->code[0] != '\0')
                cay_action_put_text(j, "code", k->code);
        if (k->vk > 0)
                cay_action_put_u64(j, "windowsVirtualKeyCode", k->vk);
        if (is_down && k->text[0] != '\0')
                cay_action_put_text(j, "text", k->text);
        cay_action_put_u64(j, "modifiers", k->modifiers);
        return CAY_STEP_SEND;
}

static enum cay_step_next put_next_key(struct cay_action *a, struct cay_json *j, bool is_down)
{
        const char *at = a->at ? a->at : a->args->keys;
        struct cay_web_key key;

        if (cay_web_key_next(&at, &key, &a->err) < 0) {
                a->field = "keys";
                return CAY_STEP_FAIL;
        }
        if (!is_down)
                a->at = at;
        return put_key(j, &key, is_down);
}

static enum cay_step_next put_down(struct cay_action *a, struct cay_json *j)
{
        return put_next_key(a, j, true);
}

static enum cay_step_next put_up(struct cay_action *a, struct cay_json *j)
{
        return put_next_key(a, j, false);
}

static enum cay_step_next take_up(struct cay_action *a, struct cay_json_view result)
{
        (void)result;
        if (*a->at != '\0')
                a->step -= 2; /* the next key */
        return CAY_STEP_NEXT;
}

static const struct cay_step step_down = { .method = "Input.dispatchKeyEvent", .put = put_down };
static const struct cay_step step_up = { .method = "Input.dispatchKeyEvent", .put = put_up, .take = take_up };

/* A bad key is told before the first one is pressed. */
static enum cay_step_next check_keys(struct cay_action *a, struct cay_json_view none)
{
        const char *at = a->args->keys;
        struct cay_web_key key;
        int r;

        (void)none;
        while ((r = cay_web_key_next(&at, &key, &a->err)) > 0)
                ;
        if (r < 0)
                a->field = "keys";
        return r < 0 ? CAY_STEP_FAIL : CAY_STEP_NEXT;
}

static const struct cay_step step_check_keys = { .take = check_keys };

/* Text */

static enum cay_step_next put_focus(struct cay_action *a, struct cay_json *j)
{
        if (a->object[0] == '\0')
                return CAY_STEP_SKIP; /* into what has the focus */
        cay_action_script(a, j, "focus");
        cay_json_begin_object(j);
        cay_action_put_bool(j, "value", a->args->clear);
        cay_json_end_object(j);
        cay_action_argument(j, a->args->text);
        cay_action_script_end(j);
        return CAY_STEP_SEND;
}

enum { IS_SET = 1, HAS_TEXT = 2 }; /* facts */

static enum cay_step_next take_focus(struct cay_action *a, struct cay_json_view result)
{
        struct cay_json_view v = cay_action_value(a, result);
        enum cay_step_next next = cay_action_check(a, v, "target");

        if (next != CAY_STEP_NEXT)
                return next;
        if (cay_json_view_is_true(cay_cdp_find(v, "refused")))
                return cay_action_fail(a, "text", CAY_INVALID, "text: '%.60s' is no value for this field",
                                       a->args->text);
        a->facts = (cay_json_view_is_true(cay_cdp_find(v, "set")) ? IS_SET : 0) |
                   (cay_json_view_is_true(cay_cdp_find(v, "has")) ? HAS_TEXT : 0);
        return CAY_STEP_NEXT;
}

static const struct cay_step step_focus = { .method = "Runtime.callFunctionOn",
                                            .put = put_focus,
                                            .take = take_focus };

static enum cay_step_next put_insert(struct cay_action *a, struct cay_json *j)
{
        if (a->facts & IS_SET || a->args->text[0] == '\0')
                return CAY_STEP_SKIP;
        cay_action_put_text(j, "text", a->args->text);
        return CAY_STEP_SEND;
}

static const struct cay_step step_insert = { .method = "Input.insertText", .put = put_insert };

/* To clear a field without writing to it takes a key. */
static enum cay_step_next put_erase(struct cay_action *a, struct cay_json *j)
{
        const struct cay_web_key key = { .key = "Delete", .code = "Delete", .vk = 46 };

        if (!a->args->clear || a->args->text[0] != '\0' || a->facts & IS_SET || !(a->facts & HAS_TEXT))
                return CAY_STEP_SKIP;
        return put_key(j, &key, true);
}

static const struct cay_step step_erase = { .method = "Input.dispatchKeyEvent", .put = put_erase };

static enum cay_step_next put_enter(struct cay_action *a, struct cay_json *j, bool is_down)
{
        const struct cay_web_key key = { .key = "Enter", .code = "Enter", .text = "\r", .vk = 13 };

        return a->args->submit ? put_key(j, &key, is_down) : CAY_STEP_SKIP;
}

static enum cay_step_next put_enter_down(struct cay_action *a, struct cay_json *j)
{
        return put_enter(a, j, true);
}

static enum cay_step_next put_enter_up(struct cay_action *a, struct cay_json *j)
{
        return put_enter(a, j, false);
}

static const struct cay_step step_enter_down = { .method = "Input.dispatchKeyEvent", .put = put_enter_down };
static const struct cay_step step_enter_up = { .method = "Input.dispatchKeyEvent", .put = put_enter_up };

/* Lists and files */

static enum cay_step_next put_select(struct cay_action *a, struct cay_json *j)
{
        cay_action_script(a, j, "select");
        cay_json_begin_object(j);
        cay_json_key(j, "value");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < a->args->values.count; i++)
                cay_json_text(j, a->args->values.items[i]);
        cay_json_end_array(j);
        cay_json_end_object(j);
        cay_action_script_end(j);
        return CAY_STEP_SEND;
}

static enum cay_step_next take_select(struct cay_action *a, struct cay_json_view result)
{
        struct cay_json_view v = cay_action_value(a, result);
        enum cay_step_next next = cay_action_check(a, v, "values");

        return next == CAY_STEP_NEXT ? cay_action_keep(a, cay_cdp_find(v, "selected")) : next;
}

static const struct cay_step step_select = { .method = "Runtime.callFunctionOn",
                                             .put = put_select,
                                             .take = take_select };

static void put_selected(const struct cay_action *a, struct cay_json *j)
{
        struct cay_json_view v = cay_action_kept(a);

        if (v.len == 0)
                v = (struct cay_json_view){ "[]", 2 };
        cay_action_put_plain(j, "selected", v);
}

static enum cay_step_next put_files(struct cay_action *a, struct cay_json *j)
{
        cay_action_to_frame(a);
        cay_action_put_object(a, j);
        cay_json_key(j, "files");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < a->args->values.count; i++)
                cay_json_text(j, a->args->values.items[i]);
        cay_json_end_array(j);
        return CAY_STEP_SEND;
}

static enum cay_step_next refused_files(struct cay_action *a)
{
        return cay_action_fail(a, "target", CAY_INVALID, "target: '%.80s' takes no files", a->args->target);
}

static const struct cay_step step_files = { .method = "DOM.setFileInputFiles",
                                            .put = put_files,
                                            .refused = refused_files };

#define INPUT (CAY_ACTION_TAB | CAY_ACTION_INPUT | CAY_ACTION_SETTLES | CAY_ACTION_ACTS)
#define ELEMENT &cay_step_front, &cay_step_frames, &cay_step_world, &cay_step_resolve, &cay_step_find

const struct cay_action_row cay_action_rows_input[] = {
        { "click",
          INPUT,
          { ELEMENT, CAY_STEPS_AIM, CAY_STEPS_REACH(&cay_step_watch), &step_move, &step_press, &step_release,
            &step_press_again, &step_release_again },
          .put = put_point },
        { "type",
          INPUT,
          { ELEMENT, &step_focus, &step_erase, &step_insert, &step_enter_down, &step_enter_up } },
        { "press", INPUT, { &step_check_keys, &cay_step_front, &step_down, &step_up } },
        { "scroll",
          CAY_ACTION_TAB | CAY_ACTION_INPUT | CAY_ACTION_ACTS,
          { &cay_step_front, &cay_step_frames, &step_wheel_world, &cay_step_resolve, &cay_step_find,
            CAY_STEPS_AIM, CAY_STEPS_REACH(&cay_step_watch_wheel), &step_middle, &step_wheel } },
        { "select", INPUT, { ELEMENT, &step_select }, .put = put_selected },
        { "upload", INPUT, { ELEMENT, &step_files } },
};
const unsigned cay_action_rows_input_count = CAY_COUNT(cay_action_rows_input);
