/* SPDX-License-Identifier: Apache-2.0 */
/* multipart/form-data, piece by piece. */
#include "foundation/http/multipart.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

bool cay_multipart_init(struct cay_multipart *m, const char *type)
{
        const char *at = NULL;
        size_t len;

        *m = (struct cay_multipart){ 0 };
        if (!type || strncasecmp(type, "multipart/form-data", 19) != 0 ||
            (type[19] != ';' && type[19] != ' '))
                return false;
        at = strcasestr(type, "boundary=");
        if (!at)
                return false;
        at += 9;
        len = at[0] == '"' ? strcspn(at + 1, "\"") : strcspn(at, "; \t");
        at += at[0] == '"';
        if (len == 0 || len > CAY_MULTIPART_BOUNDARY)
                return false;
        m->delimiter_len = (size_t)snprintf(m->delimiter, sizeof(m->delimiter), "\r\n--%.*s", (int)len, at);
        return true;
}

/* A parameter of Content-Disposition, in quotes. False: not there, or too long. */
static bool find_parameter(const char *line, size_t len, const char *name, char *ret, size_t size)
{
        size_t name_len = strlen(name);

        for (size_t i = 0; i + name_len + 2 < len; i++) {
                const char *value = line + i + name_len + 2, *end;

                if ((line[i] != ';' && line[i] != ' ') || strncasecmp(line + i + 1, name, name_len) != 0 ||
                    line[i + 1 + name_len] != '=' || value >= line + len || *value != '"')
                        continue;
                value++;
                end = memchr(value, '"', (size_t)(line + len - value));
                if (!end || (size_t)(end - value) >= size || memchr(value, '\0', (size_t)(end - value)))
                        return false;
                memcpy(ret, value, (size_t)(end - value));
                ret[end - value] = '\0';
                return true;
        }
        return false;
}

/* Clients encode these three characters, and no others. */
static void decode_name(char *text)
{
        static const struct {
                const char *code;
                char c;
        } rows[] = { { "%22", '"' }, { "%0D", '\r' }, { "%0A", '\n' } };
        char *out = text;

        while (*text) {
                unsigned i;

                for (i = 0; i < 3 && strncasecmp(text, rows[i].code, 3) != 0; i++)
                        ;
                *out++ = i < 3 ? rows[i].c : *text;
                text += i < 3 ? 3 : 1;
        }
        *out = '\0';
}

static void read_head(struct cay_multipart *m, const char *head, size_t len)
{
        static const char field[] = "Content-Disposition:";

        m->name[0] = m->filename[0] = '\0';
        m->has_filename = false;
        while (len > 0) {
                const char *end = memmem(head, len, "\r\n", 2);
                size_t line = end ? (size_t)(end - head) : len;

                if (line > strlen(field) && strncasecmp(head, field, strlen(field)) == 0) {
                        if (!find_parameter(head, line, "name", m->name, sizeof(m->name)))
                                m->name[0] = '\0';
                        m->has_filename =
                                find_parameter(head, line, "filename", m->filename, sizeof(m->filename));
                        decode_name(m->filename);
                }
                head += line + (end ? 2 : 0);
                len -= line + (end ? 2 : 0);
        }
}

/* Behind a delimiter: another part, or none. */
static enum cay_multipart_event after_delimiter(struct cay_multipart *m, const char *bytes, size_t len,
                                                size_t *ret_used)
{
        if (len < 2)
                return CAY_MULTIPART_MORE;
        *ret_used += 2;
        if (memcmp(bytes, "--", 2) == 0) {
                m->state = CAY_MULTIPART_OVER;
                return CAY_MULTIPART_DONE;
        }
        m->state = CAY_MULTIPART_IN_HEAD;
        return memcmp(bytes, "\r\n", 2) == 0 ? CAY_MULTIPART_END : CAY_MULTIPART_BAD;
}

static enum cay_multipart_event step_head(struct cay_multipart *m, const char *bytes, size_t len,
                                          size_t *ret_used)
{
        const char *end = memmem(bytes, len, "\r\n\r\n", 4);

        if (!end)
                return len > CAY_MULTIPART_HEAD ? CAY_MULTIPART_BAD : CAY_MULTIPART_MORE;
        if ((size_t)(end - bytes) > CAY_MULTIPART_HEAD)
                return CAY_MULTIPART_BAD;
        read_head(m, bytes, (size_t)(end - bytes));
        *ret_used = (size_t)(end - bytes) + 4;
        m->state = CAY_MULTIPART_IN_BODY;
        return CAY_MULTIPART_BEGIN;
}

static enum cay_multipart_event step_body(struct cay_multipart *m, const char *bytes, size_t len,
                                          size_t *ret_used)
{
        const char *end = memmem(bytes, len, m->delimiter, m->delimiter_len);

        if (end == bytes) {
                *ret_used = m->delimiter_len;
                m->state = CAY_MULTIPART_AFTER;
                return CAY_MULTIPART_END;
        }
        if (end)
                *ret_used = (size_t)(end - bytes);
        else if (len >= m->delimiter_len)
                *ret_used = len - m->delimiter_len + 1; /* the rest may begin one */
        return *ret_used > 0 ? CAY_MULTIPART_DATA : CAY_MULTIPART_MORE;
}

enum cay_multipart_event cay_multipart_step(struct cay_multipart *m, const char *bytes, size_t len,
                                            size_t *ret_used)
{
        enum cay_multipart_event event;

        *ret_used = 0;
        switch (m->state) {
        case CAY_MULTIPART_START:           /* without the line's end before it */
                if (len < m->delimiter_len) /* two characters follow it */
                        return CAY_MULTIPART_MORE;
                if (memcmp(bytes, m->delimiter + 2, m->delimiter_len - 2) != 0)
                        return CAY_MULTIPART_BAD;
                *ret_used = m->delimiter_len - 2;
                event = after_delimiter(m, bytes + *ret_used, len - *ret_used, ret_used);
                return event == CAY_MULTIPART_END ? CAY_MULTIPART_MORE : event;
        case CAY_MULTIPART_IN_HEAD:
                return step_head(m, bytes, len, ret_used);
        case CAY_MULTIPART_IN_BODY:
                return step_body(m, bytes, len, ret_used);
        case CAY_MULTIPART_AFTER:
                event = after_delimiter(m, bytes, len, ret_used);
                return event == CAY_MULTIPART_END ? CAY_MULTIPART_MORE : event;
        default:
                return CAY_MULTIPART_DONE;
        }
}
