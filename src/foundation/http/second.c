/* SPDX-License-Identifier: Apache-2.0 */
/* llhttp reads one head and is stopped where it finds the head's end; then both results are compared. */
#include "foundation/http/second.h"

#include <llhttp.h>

#include "foundation/http/head.h"

static int on_headers_complete(llhttp_t *parser)
{
        return HPE_PAUSED;
}

static const llhttp_settings_t settings = { .on_headers_complete = on_headers_complete };

int cay_http_second_read(struct cay_http_second *s, bool is_request, const char *head, size_t len,
                         const char **ret_why)
{
        llhttp_t parser;
        llhttp_errno_t r;

        llhttp_init(&parser, is_request ? HTTP_REQUEST : HTTP_RESPONSE, &settings);
        r = llhttp_execute(&parser, head, len);
        if (r != HPE_PAUSED) {
                *ret_why = r == HPE_OK ? "the head has no end" : llhttp_get_error_reason(&parser);
                return -1;
        }
        /* It stops on the last line feed or just behind it, depending on what the message is. */
        if (llhttp_get_error_pos(&parser) < head + len - 1) {
                *ret_why = "the head ends before its empty line";
                return -1;
        }
        s->is_chunked = parser.flags & F_CHUNKED;
        s->has_length = parser.flags & F_CONTENT_LENGTH;
        s->upgrade = parser.upgrade;
        s->length = parser.content_length;
        s->keep_alive = llhttp_should_keep_alive(&parser);
        s->major = parser.http_major;
        s->minor = parser.http_minor;
        return 0;
}

static int compare(const struct cay_http_head *h, const char *bytes, size_t len, bool is_request,
                   struct cay_http_fault *ret_fault)
{
        struct cay_http_second s;
        const char *why;

        if (cay_http_second_read(&s, is_request, bytes, len, &why) == 0) {
                if (s.major == 1 && s.minor == h->minor && s.is_chunked == h->is_chunked &&
                    s.has_length == h->has_length && (!h->has_length || s.length == h->length) &&
                    (!is_request || h->minor == 0 || s.upgrade == h->upgrade))
                        return 0;
                why = "the header is ambiguous";
        }
        *ret_fault = (struct cay_http_fault){ .status = is_request ? 400 : 502, .text = why };
        return -1;
}

int cay_http_head_parse_request(struct cay_http_head *h, const char *bytes, size_t len,
                                struct cay_http_fault *ret_fault)
{
        int r = cay_http_head_read_request(h, bytes, len, ret_fault);

        return r < 0 ? r : compare(h, bytes, len, true, ret_fault);
}

int cay_http_head_parse_response(struct cay_http_head *h, enum cay_http_method method, const char *bytes,
                                 size_t len, struct cay_http_fault *ret_fault)
{
        int r = cay_http_head_read_response(h, method, bytes, len, ret_fault);

        return r < 0 ? r : compare(h, bytes, len, false, ret_fault);
}
