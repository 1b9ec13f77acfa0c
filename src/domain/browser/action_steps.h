/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that several actions have, and small helpers for steps. */
#pragma once

#include "domain/browser/action.h"
#include "domain/browser/browser_priv.h"
#include "foundation/base/json_out.h"

/*
 * action_element.c: our world in the page; the element that `target` names (a reference, a selector, a text);
 * where it is
 */
extern const struct cay_step cay_step_world;     /* skipped where there is no target */
extern const struct cay_step cay_step_our_world; /* never skipped */
extern const struct cay_step cay_step_resolve, cay_step_find;
extern const struct cay_step cay_step_aim;   /* x and y; waits until it can be clicked */
extern const struct cay_step cay_step_frame; /* left, top, width, height; does not wait */
/* action_frame.c: after either, if the element is in a frame: where that is in the page */
extern const struct cay_step cay_step_owner, cay_step_owner_scroll, cay_step_owner_view, cay_step_owner_box,
        cay_step_owner_hit;
/*
 * After them, before the mouse is used: moves it to an element in another process until it has come there;
 * skipped for others. cay_step_watch_wheel: only when the wheel is to be turned.
 */
extern const struct cay_step cay_step_watch, cay_step_watch_wheel, cay_step_reach, cay_step_came;
#define CAY_STEPS_REACH(watch) watch, &cay_step_reach, &cay_step_came
#define CAY_STEPS_AIM &cay_step_aim, CAY_STEPS_OUTWARDS
#define CAY_STEPS_OUTWARDS                                                                                   \
        &cay_step_owner, &cay_step_owner_scroll, &cay_step_owner_view, &cay_step_owner_box,                  \
                &cay_step_owner_hit

/* "e12", or "f3e12" in a frame, as an outline shows them. frame 0: the page itself. */
bool cay_action_reference(const char *text, uint64_t *ret_frame, uint64_t *ret_node);
/*
 * action_frame.c. What is looked for is not in this document: goes on with the next one, from the row's world
 * on; after the last one in a moment.
 */
enum cay_step_next cay_action_next_frame(struct cay_action *a);
enum cay_step_next cay_action_lost_frame(struct cay_action *a);  /* the same where one has gone */
enum cay_step_next cay_action_first_frame(struct cay_action *a); /* in a moment, from the page on */
bool cay_action_has_next_frame(const struct cay_action *a);
void cay_action_to_frame(struct cay_action *a); /* for `put`: this call goes to the element's document */
/*
 * Calls the page's script on the element, or without one. More arguments are added by the caller, then
 * cay_action_script_end.
 */
void cay_action_script(struct cay_action *a, struct cay_json *j, const char *what);
void cay_action_script_end(struct cay_json *j);
void cay_action_argument(struct cay_json *j, const char *text);
/* The value that the script returned; absent: it threw, and err says what. */
struct cay_json_view cay_action_value(struct cay_action *a, struct cay_json_view result);
/* CAY_STEP_FAIL, with the script's own words in err, where the value has an `error`. Else CAY_STEP_NEXT. */
enum cay_step_next cay_action_check(struct cay_action *a, struct cay_json_view value, const char *field);

double cay_action_number(struct cay_json_view object, const char *name);
/* Keeps a value for the answer. */
enum cay_step_next cay_action_keep(struct cay_action *a, struct cay_json_view value);
struct cay_json_view cay_action_kept(const struct cay_action *a);
enum cay_step_next cay_action_fail(struct cay_action *a, const char *field, enum cay_code code,
                                   const char *fmt, ...) CAY_PRINTF(4, 5);
void cay_action_put_u64(struct cay_json *j, const char *key, uint64_t v);
void cay_action_put_text(struct cay_json *j, const char *key, const char *text);
void cay_action_put_bool(struct cay_json *j, const char *key, bool v);
void cay_action_put_real(struct cay_json *j, const char *key, double v);
/* A value that the browser wrote; absent: null. */
void cay_action_put_raw(struct cay_json *j, const char *key, struct cay_json_view v);
/* The same of a text, a whole number, or a list or an object of texts. */
void cay_action_put_plain(struct cay_json *j, const char *key, struct cay_json_view v);
enum cay_step_next cay_action_fail_gone(struct cay_action *a); /* the element of a reference */
/* Writes objectId. */
enum cay_step_next cay_action_put_object(struct cay_action *a, struct cay_json *j);

/*
 * action_element.c. Before what needs a page that is drawn: a Chromium with a screen draws only the tab in
 * front, and pictures of others and the mouse in them wait for ever.
 */
extern const struct cay_step cay_step_front;
/* actions_page.c: what navigating is, for other rows that do it too */
extern const struct cay_step cay_step_navigate, cay_step_loaded;
void cay_action_put_loaded(const struct cay_action *a, struct cay_json *j);

/* Rows of each file. */
extern const struct cay_action_row cay_action_rows_page[], cay_action_rows_input[], cay_action_rows_look[],
        cay_action_rows_outline[], cay_action_rows_state[];
extern const unsigned cay_action_rows_page_count, cay_action_rows_input_count, cay_action_rows_look_count,
        cay_action_rows_outline_count, cay_action_rows_state_count;
