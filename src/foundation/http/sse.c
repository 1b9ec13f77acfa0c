/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server-sent events. The size is computed before anything is written, so an event is written completely or
 * not at all.
 */
#include "foundation/http/sse.h"

#include <errno.h>

static bool is_one_line(const char *s)
{
        return !s || !strpbrk(s, "\r\n");
}

/* The next line of data; false: there is none. The last line has no end. */
static bool next_line(const char **at, const char *end, const char **ret, size_t *ret_len)
{
        const char *c = *at, *nl, *cr;

        if (!c)
                return false;
        *ret = c;
        nl = memchr(c, '\n', (size_t)(end - c));
        cr = memchr(c, '\r', (size_t)((nl ? nl : end) - c));
        c = cr ? cr : nl ? nl : end;
        *ret_len = (size_t)(c - *ret);
        if (c == end)
                *at = NULL;
        else
                *at = *c == '\r' && c + 1 < end && c[1] == '\n' ? c + 2 : c + 1;
        return true;
}

static size_t field_len(const char *name, size_t len)
{
        return strlen(name) + 2 + len + 1;
}

static void put_field(struct cay_buf *out, const char *name, const char *value, size_t len)
{
        cay_buf_puts(out, name);
        cay_buf_put(out, ": ", 2);
        cay_buf_put(out, value, len);
        cay_buf_putc(out, '\n');
}

int cay_sse_put(struct cay_buf *out, const char *id, const char *event, const char *data, size_t len)
{
        const char *at = data, *line;
        size_t line_len, total = 1;

        if (!is_one_line(id) || !is_one_line(event))
                return -EINVAL;
        if (id)
                total += field_len("id", strlen(id));
        if (event)
                total += field_len("event", strlen(event));
        while (next_line(&at, data + len, &line, &line_len))
                total += field_len("data", line_len);
        if (total > cay_buf_left(out))
                return -ENOSPC;
        if (!cay_buf_room(out, total))
                return -ENOMEM;
        if (id)
                put_field(out, "id", id, strlen(id));
        if (event)
                put_field(out, "event", event, strlen(event));
        at = data;
        while (next_line(&at, data + len, &line, &line_len))
                put_field(out, "data", line, line_len);
        cay_buf_putc(out, '\n');
        return 0;
}
