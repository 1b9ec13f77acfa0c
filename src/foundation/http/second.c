/* SPDX-License-Identifier: Apache-2.0 */
/* llhttp reads one head and is stopped where it thinks that the head ends. */
#include "foundation/http/second.h"

#include <llhttp.h>

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
