/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of pages: our world there, finding one, and where it is. */
#include "domain/browser/action_steps.h"
#include "domain/browser/frames.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain/browser/page_source.inc" /* made by tools/embed_text from page.js */
#include "foundation/base/str.h"

/* Helpers */

double cay_action_number(struct cay_json_view object, const char *name)
{
        struct cay_json_view v = cay_cdp_find(object, name);
        char text[40];

        if (v.len == 0 || v.len >= sizeof(text))
                return 0;
        memcpy(text, v.at, v.len);
        text[v.len] = '\0';
        return strtod(text, NULL);
}

enum cay_step_next cay_action_keep(struct cay_action *a, struct cay_json_view value)
{
        cay_buf_clear(&a->kept);
        if (value.len > 0 && cay_buf_put(&a->kept, value.at, value.len) < 0)
                return cay_action_fail(a, NULL, CAY_LIMIT,
                                       "the answer is too large for the memory of this daemon's clients "
                                       "(client_memory); ask for less");
        return CAY_STEP_NEXT;
}

struct cay_json_view cay_action_kept(const struct cay_action *a)
{
        return (struct cay_json_view){ cay_buf_data(&a->kept), a->kept.len };
}

enum cay_step_next cay_action_fail(struct cay_action *a, const char *field, enum cay_code code,
                                   const char *fmt, ...)
{
        char text[sizeof(a->err.msg)];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(text, sizeof(text), fmt, ap);
        va_end(ap);
        a->err = (struct cay_error){ 0 };
        cay_fail(&a->err, code, "%s", text);
        a->field = field;
        return CAY_STEP_FAIL;
}

void cay_action_put_u64(struct cay_json *j, const char *key, uint64_t v)
{
        cay_json_key(j, key);
        cay_json_u64(j, v);
}

void cay_action_put_text(struct cay_json *j, const char *key, const char *text)
{
        cay_json_key(j, key);
        cay_json_text(j, text);
}

void cay_action_put_bool(struct cay_json *j, const char *key, bool v)
{
        cay_json_key(j, key);
        cay_json_bool(j, v);
}

void cay_action_put_real(struct cay_json *j, const char *key, double v)
{
        char text[40];

        snprintf(text, sizeof(text), "%.3f", v);
        cay_json_key(j, key);
        cay_json_raw(j, text, strlen(text));
}

void cay_action_put_raw(struct cay_json *j, const char *key, struct cay_json_view v)
{
        cay_json_key(j, key);
        if (v.len > 0)
                cay_json_raw(j, v.at, v.len);
        else
                cay_json_null(j);
}

static void put_string(struct cay_json *j, struct cay_json_view v)
{
        cay_auto_buf struct cay_buf text = { 0 };

        cay_buf_init(&text, CAY_CDP_MESSAGE_MAX);
        if (cay_json_view_text(v, &text) < 0)
                cay_json_null(j);
        else
                cay_json_string(j, cay_buf_data(&text), text.len);
}

static void put_plain(struct cay_json *j, struct cay_json_view v)
{
        struct cay_json_walk walk;
        struct cay_json_view key, item;
        uint64_t number;
        char name[256];

        if (cay_json_view_is_text(v)) {
                put_string(j, v);
        } else if (cay_json_view_u64(v, &number)) {
                cay_json_u64(j, number);
        } else if (v.len > 0 && (v.at[0] == '[' || v.at[0] == '{')) {
                bool is_array = v.at[0] == '[';

                is_array ? cay_json_begin_array(j) : cay_json_begin_object(j);
                walk = cay_json_view_walk(v);
                while (cay_json_view_next(&walk, &key, &item)) {
                        if (!is_array)
                                cay_json_key(j, cay_json_view_copy(key, name, sizeof(name)));
                        cay_json_view_is_text(item) ? put_string(j, item) : cay_json_null(j);
                }
                is_array ? cay_json_end_array(j) : cay_json_end_object(j);
        } else {
                cay_json_null(j);
        }
}

void cay_action_put_plain(struct cay_json *j, const char *key, struct cay_json_view v)
{
        struct cay_json_view checked;

        cay_json_key(j, key);
        if (cay_json_view_open(v.at, v.len, &checked) < 0)
                cay_json_null(j);
        else
                put_plain(j, checked);
}

enum cay_step_next cay_action_put_object(struct cay_action *a, struct cay_json *j)
{
        cay_action_put_text(j, "objectId", a->object);
        return CAY_STEP_SEND;
}

/* The script */

void cay_action_argument(struct cay_json *j, const char *text)
{
        cay_json_begin_object(j);
        cay_action_put_text(j, "value", text);
        cay_json_end_object(j);
}

void cay_action_script(struct cay_action *a, struct cay_json *j, const char *what)
{
        cay_action_to_frame(a);
        cay_json_key(j, "functionDeclaration");
        cay_json_string(j, (const char *)page_source, sizeof(page_source));
        if (a->object[0] != '\0')
                cay_action_put_text(j, "objectId", a->object);
        else
                cay_action_put_u64(j, "executionContextId", a->world);
        cay_action_put_bool(j, "returnByValue", strcmp(what, "find") != 0);
        cay_json_key(j, "arguments");
        cay_json_begin_array(j);
        cay_action_argument(j, what);
}

void cay_action_script_end(struct cay_json *j)
{
        cay_json_end_array(j);
}

/* "SyntaxError: Failed to execute …": its first line. */
static void first_line(struct cay_json_view exception, char *ret, size_t size)
{
        struct cay_json_view text = cay_cdp_find(exception, "description");

        ret[0] = '\0';
        if (text.len == 0)
                text = cay_cdp_find(exception, "value");
        if (cay_json_view_open(text.at, text.len, &text) == 0)
                cay_json_view_copy(text, ret, size);
        ret[strcspn(ret, "\n")] = '\0';
}

struct cay_json_view cay_action_value(struct cay_action *a, struct cay_json_view result)
{
        struct cay_json_view thrown = cay_cdp_find(result, "exceptionDetails");
        char text[160];

        if (thrown.len == 0)
                return cay_cdp_find(cay_cdp_find(result, "result"), "value");
        first_line(cay_cdp_find(thrown, "exception"), text, sizeof(text));
        cay_action_fail(a, NULL, CAY_CONFLICT, "the page could not be looked at: %s", text);
        return (struct cay_json_view){ 0 };
}

enum cay_step_next cay_action_check(struct cay_action *a, struct cay_json_view value, const char *field)
{
        struct cay_json_view error = cay_cdp_find(value, "error");
        char text[400];

        if (value.len == 0)
                return CAY_STEP_FAIL;
        if (error.len == 0)
                return CAY_STEP_NEXT;
        if (cay_json_view_open(error.at, error.len, &error) < 0)
                return cay_action_fail(a, field, CAY_CONFLICT, "the page could not be looked at");
        cay_json_view_copy(error, text, sizeof(text));
        return cay_action_fail(a, field, CAY_INVALID, "%s: %s", field, text);
}

/* The world */

enum cay_step_next cay_action_fail_gone(struct cay_action *a)
{
        return cay_action_fail(a, "target", CAY_NOT_FOUND,
                               "target: %s is not on the page any more; take a new outline (browser_outline)",
                               a->args->target);
}

void cay_action_to_frame(struct cay_action *a)
{
        cay_str_copy(a->via, sizeof(a->via), a->frame[0] ? a->frame_session : "");
}

/* False: it has gone. */
static bool choose_frame(struct cay_action *a)
{
        const struct cay_driver *d = &a->browser->driver;
        const char *id = NULL, *session = NULL;
        uint64_t number, node;

        if (cay_action_reference(a->args->target, &number, &node) && number > 0) {
                const struct cay_known_frame *f = cay_driver_known_frame(d, number);
                const struct cay_target *t = f ? cay_driver_session(d, f->session) : NULL;

                if (!t || strcmp(t->tab, a->tab) != 0)
                        return false;
                id = f->id;
                session = f->session;
        } else if (a->frames && a->frames->at > 0) {
                id = a->frames->items[a->frames->at].id;
                session = a->frames->items[a->frames->at].session;
        }
        cay_str_copy(a->frame, sizeof(a->frame), id ? id : "");
        cay_str_copy(a->frame_session, sizeof(a->frame_session), id ? session : "");
        return true;
}

static enum cay_step_next put_our_world(struct cay_action *a, struct cay_json *j)
{
        if (!choose_frame(a))
                return cay_action_fail_gone(a);
        cay_action_to_frame(a);
        cay_action_put_text(j, "frameId",
                            a->frame[0] ? a->frame : a->tab); /* the main frame has the tab's id */
        cay_action_put_text(j, "worldName", "cay");
        cay_action_put_bool(j, "grantUniveralAccess", true); /* Chromium spells it so */
        return CAY_STEP_SEND;
}

static enum cay_step_next put_world(struct cay_action *a, struct cay_json *j)
{
        return a->args->target ? put_our_world(a, j) : CAY_STEP_SKIP;
}

static enum cay_step_next take_world(struct cay_action *a, struct cay_json_view result)
{
        if (!cay_json_view_u64(cay_cdp_find(result, "executionContextId"), &a->world))
                return cay_action_fail(a, NULL, CAY_CONFLICT, "the page could not be looked at; retry");
        return CAY_STEP_NEXT;
}

const struct cay_step cay_step_world = { .method = CAY_ACTION_WORLD, .put = put_world, .take = take_world };
const struct cay_step cay_step_our_world = { .method = CAY_ACTION_WORLD,
                                             .put = put_our_world,
                                             .take = take_world };

/* Finding */

static bool read_number(const char **text, uint64_t *ret)
{
        char *end;

        if (**text < '0' || **text > '9')
                return false;
        *ret = strtoull(*text, &end, 10);
        *text = end;
        return true;
}

bool cay_action_reference(const char *text, uint64_t *ret_frame, uint64_t *ret_node)
{
        *ret_frame = 0;
        if (!text || strlen(text) > 20)
                return false;
        if (*text == 'f' && (text++, !read_number(&text, ret_frame) || *ret_frame == 0))
                return false;
        return *text++ == 'e' && read_number(&text, ret_node) && *text == '\0';
}

static enum cay_step_next put_resolve(struct cay_action *a, struct cay_json *j)
{
        uint64_t frame, node;

        if (!cay_action_reference(a->args->target, &frame, &node))
                return CAY_STEP_SKIP;
        cay_action_to_frame(a);
        cay_action_put_u64(j, "backendNodeId", node);
        cay_action_put_u64(j, "executionContextId", a->world); /* else it would be the page's own */
        return CAY_STEP_SEND;
}

static enum cay_step_next take_resolve(struct cay_action *a, struct cay_json_view result)
{
        cay_cdp_find_text(cay_cdp_find(result, "object"), "objectId", a->object, sizeof(a->object));
        return a->object[0] ? CAY_STEP_NEXT
                            : cay_action_fail(a, "target", CAY_NOT_FOUND, "target: %s is no element",
                                              a->args->target);
}

static enum cay_step_next refused_resolve(struct cay_action *a)
{
        return cay_action_fail_gone(a);
}

const struct cay_step cay_step_resolve = {
        .method = "DOM.resolveNode", .put = put_resolve, .take = take_resolve, .refused = refused_resolve
};

static enum cay_step_next put_find(struct cay_action *a, struct cay_json *j)
{
        if (!a->args->target || a->object[0] != '\0')
                return CAY_STEP_SKIP;
        cay_action_script(a, j, "find");
        cay_action_argument(j, a->args->target);
        cay_action_script_end(j);
        return CAY_STEP_SEND;
}

static enum cay_step_next take_find(struct cay_action *a, struct cay_json_view result)
{
        struct cay_json_view found = cay_cdp_find(result, "result");

        if (cay_cdp_find(result, "exceptionDetails").len > 0)
                return cay_action_fail(a, "target", CAY_INVALID,
                                       "target: '%.80s' is no reference (e12), no CSS selector and no text "
                                       "(text=Sign in)",
                                       a->args->target);
        cay_cdp_find_text(found, "objectId", a->object, sizeof(a->object));
        if (a->object[0] != '\0') {
                a->keeps_why = false;
                return CAY_STEP_NEXT;
        }
        snprintf(a->why, sizeof(a->why), "no element matches '%.120s'", a->args->target);
        return cay_action_next_frame(a);
}

const struct cay_step cay_step_find = { .method = "Runtime.callFunctionOn",
                                        .put = put_find,
                                        .take = take_find };

/* Aiming */

static enum cay_step_next put_aim(struct cay_action *a, struct cay_json *j)
{
        a->x = (double)a->args->x;
        a->y = (double)a->args->y;
        if (a->object[0] == '\0')
                return CAY_STEP_SKIP;
        cay_action_script(a, j, "aim");
        cay_action_script_end(j);
        return CAY_STEP_SEND;
}

static bool read_place(struct cay_action *a, struct cay_json_view v)
{
        if (v.len == 0)
                return false;
        a->is_far = false;
        a->x = cay_action_number(v, "x");
        a->y = cay_action_number(v, "y");
        a->left = cay_action_number(v, "left");
        a->top = cay_action_number(v, "top");
        a->width = cay_action_number(v, "width");
        a->height = cay_action_number(v, "height");
        a->scroll_x = cay_action_number(v, "scroll_x");
        a->scroll_y = cay_action_number(v, "scroll_y");
        a->view_width = cay_action_number(v, "view_width");
        a->view_height = cay_action_number(v, "view_height");
        cay_str_copy(a->inner, sizeof(a->inner), a->frame);
        cay_str_copy(a->inner_session, sizeof(a->inner_session), a->frame_session);
        return true;
}

static enum cay_step_next take_aim(struct cay_action *a, struct cay_json_view result)
{
        struct cay_json_view v = cay_action_value(a, result);
        char covered[80];

        uint64_t frame, node;

        if (!read_place(a, v))
                return CAY_STEP_FAIL;
        if (cay_json_view_is_true(cay_cdp_find(v, "gone")))
                return cay_action_reference(a->args->target, &frame, &node) ? cay_action_fail_gone(a)
                                                                            : cay_action_next_frame(a);
        a->aims = true;
        cay_cdp_find_text(v, "covered", covered, sizeof(covered));
        if (!cay_json_view_is_true(cay_cdp_find(v, "shown")))
                snprintf(a->why, sizeof(a->why), "'%.120s' is there and not visible", a->args->target);
        else if (cay_json_view_is_true(cay_cdp_find(v, "disabled")))
                snprintf(a->why, sizeof(a->why), "'%.120s' is disabled", a->args->target);
        else if (covered[0] != '\0')
                snprintf(a->why, sizeof(a->why), "'%.100s' is covered by %s", a->args->target, covered);
        else
                return CAY_STEP_NEXT;
        return CAY_STEP_AGAIN;
}

static enum cay_step_next take_frame(struct cay_action *a, struct cay_json_view result)
{
        if (!read_place(a, cay_action_value(a, result)))
                return CAY_STEP_FAIL;
        return a->width >= 1 && a->height >= 1
                       ? CAY_STEP_NEXT
                       : cay_action_fail(a, "target", CAY_CONFLICT,
                                         "target: '%.120s' has no size on the page", a->args->target);
}

const struct cay_step cay_step_aim = { .method = "Runtime.callFunctionOn", .put = put_aim, .take = take_aim };
const struct cay_step cay_step_frame = { .method = "Runtime.callFunctionOn",
                                         .put = put_aim,
                                         .take = take_frame };

/* In front */

static enum cay_step_next put_front(struct cay_action *a, struct cay_json *j)
{
        (void)j;
        return a->browser->tabs.count > 1 && !cay_live_is_taken(a->browser) ? CAY_STEP_SEND : CAY_STEP_SKIP;
}

static enum cay_step_next refused_front(struct cay_action *a)
{
        (void)a; /* what follows says what is wrong with the tab */
        return CAY_STEP_NEXT;
}

const struct cay_step cay_step_front = { .method = "Page.bringToFront",
                                         .put = put_front,
                                         .refused = refused_front };
