/* SPDX-License-Identifier: Apache-2.0 */
/* Parses bytes into a status and a body. */
#include "cay/client/answer.h"

#include <errno.h>

#include "foundation/base/str.h"
#include "foundation/http/chars.h"

#define INTERIMS_MAX 8u

static const struct cay_http_head_limits limits = {
        .line_bytes = 8 * 1024,
        .head_bytes = CAY_HTTP_HEAD_MAX,
        .lines = CAY_HTTP_LINES_MAX,
};

void cay_answer_init(struct cay_answer *a)
{
        *a = (struct cay_answer){ .state = CAY_ANSWER_HEAD };
        cay_buf_init(&a->head, CAY_HTTP_HEAD_MAX);
}

void cay_answer_done(struct cay_answer *a)
{
        cay_buf_done(&a->head);
}

bool cay_answer_has_head(const struct cay_answer *a)
{
        return a->state == CAY_ANSWER_BODY || a->state == CAY_ANSWER_DONE;
}

static void note_type(struct cay_answer *a, const struct cay_http_head *h)
{
        char *bytes = cay_buf_data(&a->head);

        for (unsigned i = 0; i < h->line_count; i++) {
                const struct cay_http_line *line = &h->lines[i];

                if (!cay_http_same_name(bytes + line->name, line->name_len, "content-type"))
                        continue;
                bytes[line->value + line->value_len] = '\0';
                cay_str_copy(a->type, sizeof(a->type), bytes + line->value);
        }
}

/* The whole head is in a->head. */
static int read_head(struct cay_answer *a)
{
        struct cay_http_fault fault;
        struct cay_http_head h;

        if (cay_http_head_read_response(&h, CAY_HTTP_GET, cay_buf_data(&a->head), a->head.len, &fault) < 0)
                return -EBADMSG;
        if (h.status < 200 && !(h.status == 101 && a->may_upgrade)) {
                cay_buf_clear(&a->head);
                a->search = (struct cay_http_head_search){ 0 };
                return h.status == 101 || ++a->interims > INTERIMS_MAX ? -EBADMSG : 0;
        }
        a->status = h.status;
        a->closes = !h.keep_alive || h.framing == CAY_HTTP_UNTIL_CLOSE;
        note_type(a, &h);
        cay_http_body_begin(&a->body, h.framing, h.length, UINT64_MAX);
        a->state = a->body.done ? CAY_ANSWER_DONE : CAY_ANSWER_BODY;
        return 0;
}

/* Takes one line of the head, or a part of it. */
static ssize_t feed_head(struct cay_answer *a, const char *bytes, size_t len)
{
        const char *newline = memchr(bytes, '\n', len);
        size_t n = newline != NULL ? (size_t)(newline - bytes) + 1 : len;
        struct cay_http_fault fault;
        ssize_t found;

        if (cay_buf_put(&a->head, bytes, n) < 0)
                return -EBADMSG;
        found = cay_http_head_find(&a->search, cay_buf_data(&a->head), a->head.len, &limits, &fault);
        if (found < 0 || (found > 0 && read_head(a) < 0))
                return -EBADMSG;
        return (ssize_t)n;
}

static ssize_t feed_body(struct cay_answer *a, const char *bytes, size_t len, size_t *ret_body_len)
{
        size_t framing;

        if (cay_http_body_look(&a->body, bytes, len, &framing, ret_body_len) < 0)
                return -EBADMSG;
        cay_http_body_took(&a->body, *ret_body_len);
        if (a->body.done)
                a->state = CAY_ANSWER_DONE;
        return (ssize_t)(framing + *ret_body_len);
}

ssize_t cay_answer_feed(struct cay_answer *a, const char *bytes, size_t len, const char **ret_body,
                        size_t *ret_body_len)
{
        size_t used = 0;
        ssize_t n = a->state == CAY_ANSWER_FAILED ? -EBADMSG : 0;

        *ret_body_len = 0;
        while (n >= 0 && used < len && a->state == CAY_ANSWER_HEAD) {
                n = feed_head(a, bytes + used, len - used);
                if (n > 0)
                        used += (size_t)n;
        }
        if (n == 0 && len > 0 && a->state == CAY_ANSWER_BODY) {
                n = feed_body(a, bytes, len, ret_body_len);
                if (n > 0)
                        used = (size_t)n;
        }
        *ret_body = bytes + used - *ret_body_len;
        if (n >= 0)
                return (ssize_t)used;
        a->state = CAY_ANSWER_FAILED;
        return n;
}

int cay_answer_end(struct cay_answer *a)
{
        if (a->state == CAY_ANSWER_BODY && cay_http_body_eof(&a->body) == 0)
                a->state = CAY_ANSWER_DONE;
        if (a->state == CAY_ANSWER_DONE)
                return 0;
        a->state = CAY_ANSWER_FAILED;
        return -EBADMSG;
}
