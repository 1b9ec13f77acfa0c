/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ops browser_* share: their arguments are those of an action (domain/browser/action.h), their run
 * is one function.
 */
#pragma once

#include "domain/browser/action.h"
#include "domain/ops/files.h"
#include "domain/ops/op.h"

/* Runs the action that the op is called after: "browser_click" is the action "click". */
void cay_op_browser_act(struct cay_op_call *c);
/* The members that every answer of an action has. */
extern const struct cay_result_table cay_result_browser_act, cay_result_browser_dialog;
extern const struct cay_result_table cay_result_browser_request, cay_result_browser_message; /* of lists */

#define ACT_AT(member) offsetof(struct cay_action_args, member)
#define ACT_ID CAY_OP_SANDBOX_FIELD(struct cay_action_args, id)
#define ACT_TAB                                                                                              \
        {                                                                                                    \
                "tab", CAY_FIELD_TEXT, ACT_AT(tab), 0, "number or id of a tab; default: the one used last",  \
                        .min = 1, .max = 40                                                                  \
        }
#define ACT_TIMEOUT                                                                                          \
        {                                                                                                    \
                "timeout", CAY_FIELD_DURATION, ACT_AT(timeout_ms), 0,                                        \
                        "the most that it may take, with the start of the browser; default 30 seconds",      \
                        .min = 100, .max = CAY_ACTION_TIMEOUT_MAX_MS                                         \
        }
#define ACT_TARGET(how, text)                                                                                \
        {                                                                                                    \
                "target", CAY_FIELD_TEXT, ACT_AT(target), how, text, .min = 1, .max = 2048                   \
        }
#define ACT_TARGET_DOC                                                                                       \
        "an element: its reference in an outline (e12), a CSS selector, or text=… for what has this text"
#define ACT_TEXT(name, member, how, text, most)                                                              \
        {                                                                                                    \
                name, CAY_FIELD_TEXT, ACT_AT(member), how, text, .max = most                                 \
        }
#define ACT_BOOL(name, member, text)                                                                         \
        {                                                                                                    \
                name, CAY_FIELD_BOOL, ACT_AT(member), 0, text                                                \
        }
#define ACT_UNTIL ACT_TEXT("until", until, 0, "load (default), domcontentloaded, networkidle or commit", 32)
#define ACT_LIMIT(text, most)                                                                                \
        {                                                                                                    \
                "limit", CAY_FIELD_U64, ACT_AT(limit), 0, text, .min = 1, .max = most                        \
        }
