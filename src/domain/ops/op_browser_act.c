/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops that act on a page of a sandbox's browser. A row says what it takes and answers; what it does is a row
 * of domain/browser/actions_*.c.
 */
#include "domain/ops/browser_act.h"
#include "domain/ops/result_rows.h"

#define ACT(op_name, method, path, text, tool_row, verb_row, result_table, more_flags)                       \
        const struct cay_op cay_op_browser_##op_name = {                                                     \
                .name = "browser_" #op_name,                                                                 \
                .route = method " /api/sandboxes/{id}/browser/" path,                                        \
                .doc = text,                                                                                 \
                .scope = CAY_SCOPE_EXEC,                                                                     \
                .flags = CAY_OP_INSIDE | (more_flags),                                                       \
                .fields = op_name##_fields,                                                                  \
                .args_size = sizeof(struct cay_action_args),                                                 \
                .result = &(result_table),                                                                   \
                .tool = tool_row,                                                                            \
                .verb = verb_row,                                                                            \
                .run = cay_op_browser_act,                                                                   \
        }
#define TOOL(title, text, ...) CAY_TOOL(title, text, .group = "browser", __VA_ARGS__)
#define READS .flags = CAY_TOOL_READS
#define OPEN .flags = CAY_TOOL_OPEN
/* On the command line. */
#define ACT_SHOWS "url=url title=title dialog=dialog.type says=dialog.message opened_tab=opened_tab"
#define TARGET ACT_TARGET(CAY_FIELD_REQUIRED, ACT_TARGET_DOC)

RESULT(result_loaded, NULL, ALSO(cay_result_browser_act), MAYBE("status", NUMBER), BOOL("download"));
RESULT(result_clicked, NULL, ALSO(cay_result_browser_act), NUMBER("x"), NUMBER("y"));
RESULT(result_selected, NULL, ALSO(cay_result_browser_act), TEXTS("selected"));
RESULT(result_value, NULL, ALSO(cay_result_browser_act), WHATEVER("value"), TEXT("type"));
RESULT(result_text, NULL, ALSO(cay_result_browser_act), TEXT("text"), NUMBER("length"), BOOL("truncated"));
RESULT(result_dom, NULL, ALSO(cay_result_browser_act), TEXT("html"), NUMBER("length"), BOOL("truncated"));
RESULT(result_outline, NULL, ALSO(cay_result_browser_act), TEXT("outline"), NUMBER("lines"),
       BOOL("truncated"));

/* Going to pages */

static const struct cay_field navigate_fields[] = {
        ACT_ID,
        ACT_TEXT("url", url, CAY_FIELD_REQUIRED, "where to go; without a scheme it is https", 4096),
        ACT_UNTIL,
        ACT_TAB,
        ACT_TIMEOUT,
        {},
};
ACT(navigate, "POST", "navigate",
    "Goes to an address in the browser of a sandbox, and answers when the page has loaded; the browser is "
    "started if none runs",
    TOOL("Go to a page", "Opens an address and waits until it has loaded. Then: browser_outline.", OPEN),
    CAY_OP_VERB("browser navigate", "id url", NULL, ACT_SHOWS " status=status took=took_ms"), result_loaded,
    0);

static const struct cay_field history_fields[] = {
        ACT_ID,      ACT_TEXT("go", go, CAY_FIELD_REQUIRED, "back, forward or reload", 16),
        ACT_UNTIL,   ACT_TAB,
        ACT_TIMEOUT, {},
};
ACT(history, "POST", "history", "Goes back or forward in a tab, or loads its page again",
    TOOL("Back, forward, reload", "Goes back or forward, or reloads.", OPEN),
    CAY_OP_VERB("browser history", "id go", NULL, ACT_SHOWS " status=status"), result_loaded, 0);

static const struct cay_field wait_fields[] = {
        ACT_ID,
        ACT_TARGET(0, "an element: a CSS selector or text=…"),
        ACT_TEXT("state", state, 0, "of the element: visible (default), hidden or attached", 16),
        ACT_TEXT("text", text, 0, "that the page, or the element, shows", 2048),
        ACT_TEXT("url", url, 0, "a part of the tab's address", 2048),
        ACT_TEXT("until", until, 0, "of the page: load, domcontentloaded or networkidle", 32),
        { "delay", CAY_FIELD_DURATION, ACT_AT(delay_ms), 0, "and so long after that", .min = 1,
          .max = 60000 },
        ACT_TAB,
        ACT_TIMEOUT,
        {},
};
ACT(wait, "POST", "wait", "Waits for an element, a text, an address or the end of loading",
    TOOL("Wait for the page", "Waits for an element, text, address or load state.", READS),
    CAY_OP_VERB("browser wait", "id target?", NULL, ACT_SHOWS " took=took_ms"), cay_result_browser_act, 0);

static const struct cay_field dialog_fields[] = {
        ACT_ID,
        ACT_BOOL("accept", accept, "press OK; otherwise it is dismissed"),
        ACT_TEXT("text", text, 0, "the answer to a prompt", 4096),
        ACT_TAB,
        ACT_TIMEOUT,
        {},
};
ACT(dialog, "POST", "dialog", "Answers the dialog that a page shows (alert, confirm, prompt)",
    TOOL("Answer a dialog", "Answers an alert, confirm or prompt.", OPEN),
    CAY_OP_VERB("browser dialog", "id", NULL, ACT_SHOWS), cay_result_browser_act, 0);

/* Mouse and keyboard */

#define POINT                                                                                                \
        { "x",                                                                                               \
          CAY_FIELD_U64,                                                                                     \
          ACT_AT(x),                                                                                         \
          0,                                                                                                 \
          "in place of a target: pixels from the left of the page's view",                                   \
          .max = CAY_BROWSER_SIDE_MAX,                                                                       \
          .given = CAY_FIELD_GIVEN(struct cay_action_args, has_x) },                                         \
        {                                                                                                    \
                "y", CAY_FIELD_U64, ACT_AT(y), 0, "pixels from the top",                                     \
                        .max = CAY_BROWSER_SIDE_MAX, .given = CAY_FIELD_GIVEN(struct cay_action_args, has_y) \
        }

static const struct cay_field click_fields[] = {
        ACT_ID,
        ACT_TARGET(0, ACT_TARGET_DOC),
        POINT,
        ACT_TEXT("button", button, 0, "left (default), middle or right", 8),
        { "count", CAY_FIELD_U64, ACT_AT(count), 0, "2: a double click; default 1", .min = 1, .max = 2 },
        ACT_TEXT("keys", keys, 0, "keys that are held meanwhile, like ctrl+shift", 80),
        ACT_TAB,
        ACT_TIMEOUT,
        {},
};
ACT(click, "POST", "click",
    "Clicks an element, when it is visible and nothing covers it, and waits for the page that it leads to",
    TOOL("Click", "Clicks an element (e12, a CSS selector, text=…).", OPEN),
    CAY_OP_VERB("browser click", "id target?", NULL, "x=x y=y " ACT_SHOWS), result_clicked, 0);

static const struct cay_field type_fields[] = {
        ACT_ID,
        { "text", CAY_FIELD_TEXT, ACT_AT(text), CAY_FIELD_REQUIRED, "what to type", .max = 256 * 1024 },
        ACT_TARGET(0, ACT_TARGET_DOC "; default: what has the focus"),
        ACT_BOOL("clear", clear, "in place of what is there"),
        ACT_BOOL("submit", submit, "press Enter afterwards"),
        ACT_TAB,
        ACT_TIMEOUT,
        {},
};
ACT(type, "POST", "type", "Types a text into a field",
    TOOL("Type", "Types text into a field; submit presses Enter.", OPEN),
    CAY_OP_VERB("browser type", "id text target?", NULL, ACT_SHOWS), cay_result_browser_act, 0);

static const struct cay_field press_fields[] = {
        ACT_ID,
        { "keys", CAY_FIELD_TEXT, ACT_AT(keys), CAY_FIELD_REQUIRED,
          "keys one after the other, with blanks between: Enter, ctrl+a, Tab Tab Enter", .min = 1,
          .max = 1024 },
        ACT_TAB,
        ACT_TIMEOUT,
        {},
};
ACT(press, "POST", "press", "Presses keys in a tab",
    TOOL("Press keys", "Presses keys: Enter, ctrl+a, Tab Tab Enter.", OPEN),
    CAY_OP_VERB("browser press", "id keys", NULL, ACT_SHOWS), cay_result_browser_act, 0);

static const struct cay_field scroll_fields[] = {
        ACT_ID,
        ACT_TEXT("direction", direction, 0, "down (default without target), up, left or right", 8),
        { "amount", CAY_FIELD_U64, ACT_AT(amount), 0, "pixels; default 600", .min = 1, .max = 100000 },
        ACT_TARGET(0, "an element that is brought into view; with direction, the wheel turns over it"),
        POINT,
        ACT_TAB,
        ACT_TIMEOUT,
        {},
};
ACT(scroll, "POST", "scroll", "Scrolls the page, or brings an element into view",
    TOOL("Scroll", "Scrolls, or brings an element into view.", OPEN),
    CAY_OP_VERB("browser scroll", "id direction?", NULL, ACT_SHOWS), cay_result_browser_act, 0);

static const struct cay_field select_fields[] = {
        ACT_ID,
        TARGET,
        { "values", CAY_FIELD_TEXTS, ACT_AT(values), CAY_FIELD_REQUIRED, "values or labels of options",
          .max = 100, .item_max = 1024 },
        ACT_TAB,
        ACT_TIMEOUT,
        {},
};
ACT(select, "POST", "select", "Selects options of a list (<select>), and no others",
    TOOL("Select options", "Selects options of a <select>.", OPEN),
    CAY_OP_VERB("browser select", "id target", NULL, "selected=selected " ACT_SHOWS), result_selected, 0);

static const struct cay_field upload_fields[] = {
        ACT_ID,
        TARGET,
        { "files", CAY_FIELD_TEXTS, ACT_AT(values), CAY_FIELD_REQUIRED, "paths in the sandbox", .max = 100,
          .item_max = 4095 },
        ACT_TAB,
        ACT_TIMEOUT,
        {},
};
ACT(upload, "POST", "upload", "Gives files of the sandbox to a file field of a page",
    TOOL("Upload files", "Puts files of the sandbox into a file field.", OPEN),
    CAY_OP_VERB("browser upload", "id target", NULL, ACT_SHOWS), cay_result_browser_act, 0);

/* Looking */

static const struct cay_field evaluate_fields[] = {
        ACT_ID,
        { "expression", CAY_FIELD_TEXT, ACT_AT(expression), CAY_FIELD_REQUIRED,
          "JavaScript, run in the page; a promise is awaited", .min = 1, .max = 512 * 1024 },
        ACT_TAB,
        ACT_TIMEOUT,
        {},
};
ACT(evaluate, "POST", "evaluate", "Runs JavaScript in a page and answers with its value",
    TOOL("Run JavaScript", "Runs JavaScript in the page; its value comes back.", OPEN),
    CAY_OP_VERB("browser evaluate", "id expression", NULL, "VALUE=value/whole"), result_value, 0);

static const struct cay_field text_fields[] = {
        ACT_ID,
        ACT_TARGET(0, ACT_TARGET_DOC "; default: the page"),
        ACT_LIMIT("characters; default all", 8u << 20),
        ACT_TAB,
        ACT_TIMEOUT,
        {},
};
ACT(text, "POST", "text", "Returns the text that a page or an element shows",
    TOOL("Text of the page", "The text of the page or an element.", READS),
    CAY_OP_VERB("browser text", "id target?", NULL, "TEXT=text/whole"), result_text, 0);

static const struct cay_field dom_fields[] = {
        ACT_ID,
        ACT_TARGET(0, ACT_TARGET_DOC "; default: the document"),
        ACT_LIMIT("characters; default all", 8u << 20),
        ACT_TAB,
        ACT_TIMEOUT,
        {},
};
ACT(dom, "POST", "dom", "Returns the HTML of a page or an element, as it is now",
    TOOL("HTML of the page", "The HTML as it is now. browser_outline is shorter.", READS),
    CAY_OP_VERB("browser dom", "id target?", NULL, "HTML=html/whole"), result_dom, 0);

static const struct cay_field outline_fields[] = {
        ACT_ID, ACT_LIMIT("characters; default all", 8u << 20), ACT_TAB, ACT_TIMEOUT, {},
};
ACT(outline, "POST", "outline",
    "Returns a page as lines for language models: roles, names and states, with references (e12) of what can "
    "be acted on",
    TOOL("Outline of the page", "The page as lines: role, name, [reference] for click and type.", READS),
    CAY_OP_VERB("browser outline", "id", NULL, "OUTLINE=outline/whole"), result_outline, 0);

static const struct cay_field screenshot_fields[] = {
        ACT_ID,
        ACT_TARGET(0, ACT_TARGET_DOC "; default: what the tab shows"),
        ACT_BOOL("full", full, "the whole page, at most 16,384 pixels high (4,000 below 1 GiB of memory)"),
        ACT_TEXT("format", format, 0, "png (default), jpeg or webp", 8),
        { "quality", CAY_FIELD_U64, ACT_AT(quality), 0, "of jpeg and webp, in percent", .min = 1,
          .max = 100 },
        { "scale", CAY_FIELD_MILLI, ACT_AT(scale), 0, "0.05 to 2; default 1", .min = 50, .max = 2000 },
        ACT_TAB,
        ACT_TIMEOUT,
        {},
};
const struct cay_op cay_op_browser_screenshot = {
        .name = "browser_screenshot",
        .route = "POST /api/sandboxes/{id}/browser/screenshot",
        .doc = "Returns a picture of what a tab shows, of the whole page, or of an element",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_INSIDE | CAY_OP_STREAM | CAY_OP_BYTES,
        .fields = screenshot_fields,
        .args_size = sizeof(struct cay_action_args),
        .bytes = "image/png image/jpeg image/webp",
        .tool = TOOL("Screenshot", "A picture of the page, the whole page or an element.", READS),
        .verb = CAY_OP_VERB("browser screenshot", "id target?",
                            "Writes a picture of what a tab shows, of the whole page (--full) or of an "
                            "element to standard\n"
                            "output."),
        .run = cay_op_browser_act,
};

static const struct cay_field pdf_fields[] = {
        ACT_ID, ACT_BOOL("landscape", landscape, "wider than high"), ACT_TAB, ACT_TIMEOUT, {},
};
const struct cay_op cay_op_browser_pdf = {
        .name = "browser_pdf",
        .route = "POST /api/sandboxes/{id}/browser/pdf",
        .doc = "Prints a page as PDF",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_INSIDE | CAY_OP_STREAM | CAY_OP_BYTES,
        .fields = pdf_fields,
        .args_size = sizeof(struct cay_action_args),
        .bytes = "application/pdf",
        .verb = CAY_OP_VERB("browser pdf", "id", "Writes a page as PDF to standard output."),
        .run = cay_op_browser_act,
};
