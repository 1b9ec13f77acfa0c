/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One message of the Chrome DevTools Protocol (CDP), read in place: which members its outermost object has
 * and where.
 *
 * Theory of operation. A browser's pipe carries JSON objects, each followed by a NUL byte. A command is {id,
 * method, params, sessionId}, a reply {id, result or error, sessionId}, an event {method, params, sessionId}.
 * Values are not parsed: whoever passes a message on builds a new one from these spans, so a member that is
 * not listed here goes no further. That is safe only because the reader agrees with Chromium about where a
 * value ends. Hence outside of strings nothing is taken but JSON's own characters: Chromium accepts comments,
 * and a quotation mark inside a comment would make the two disagree. Text with a NUL is refused: it would
 * become two messages.
 *
 * A tree was rejected: messages have megabytes, of which four members matter.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/buf.h"
#include "foundation/base/json_view.h"

#define CAY_CDP_SESSION_LEN 32u /* hexadecimal digits */
#define CAY_CDP_METHOD_MAX 95u

struct cay_cdp_message {
        bool has_id;
        int32_t id;
        char method[CAY_CDP_METHOD_MAX + 1];   /* "": none */
        char session[CAY_CDP_SESSION_LEN + 1]; /* "": none */
        /* JSON values inside the text; len 0: absent. params is an object. */
        struct cay_json_view params, result, error;
};

/*
 * 0; -EBADMSG: not such an object; -EINVAL: a member has a value that CDP does not allow there (what was read
 * before it is filled: the id, if it came first). Of two members with one name the last counts.
 */
int cay_cdp_message_read(const char *text, size_t len, struct cay_cdp_message *ret);
/* The id at the beginning of a text that may be incomplete, as Chromium writes its replies. */
bool cay_cdp_message_peek_id(const char *text, size_t len, int32_t *ret);

/*
 * Appends a message. session "": none. The value's text (an object) comes as it is; len 0: no such member. 0,
 * -ENOSPC, -ENOMEM, -ENOBUFS: then nothing was appended.
 */
int cay_cdp_put_command(struct cay_buf *out, int32_t id, const char *method, struct cay_json_view params,
                        const char *session);
int cay_cdp_put_reply(struct cay_buf *out, int32_t id, struct cay_json_view result,
                      struct cay_json_view error, const char *session);
int cay_cdp_put_event(struct cay_buf *out, const char *method, struct cay_json_view params,
                      const char *session);
/* A reply that is an error of ours, with a code of JSON-RPC. */
int cay_cdp_put_refusal(struct cay_buf *out, bool has_id, int32_t id, int code, const char *text,
                        const char *session);

/*
 * A member of a value that Chromium wrote, by its name: the first. The value is not checked as a whole (it
 * may be deeper than cay_json_view_open reads), so it has to come from cay_cdp_message_read. Absent: len 0.
 * Small values found so can be opened with cay_json_view_open.
 */
struct cay_json_view cay_cdp_find(struct cay_json_view object, const char *name);
/* A member that is a text without escapes that CDP's ids do not have: copied, cut; "" if it is none. */
const char *cay_cdp_find_text(struct cay_json_view object, const char *name, char *ret, size_t size);
/* A member that is the id of a session; false, and ret is "": it is none. */
bool cay_cdp_find_session(struct cay_json_view object, const char *name, char ret[CAY_CDP_SESSION_LEN + 1]);
