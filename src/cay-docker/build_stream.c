/* SPDX-License-Identifier: Apache-2.0 */
/* One object after the other; what is no object, or too long, is left out. */
#include "cay-docker/build_stream.h"

#include <stdio.h>
#include <string.h>

#include "foundation/base/banned.h"
#include "foundation/base/str.h"
#include "foundation/base/utf8.h"
#include "foundation/json/json_in.h"

#define OBJECT_MAX (256u * 1024)

void docker_build_stream_init(struct docker_build_stream *s,
                              void (*on_line)(struct docker_build_stream *s, const char *line, size_t len))
{
        *s = (struct docker_build_stream){ .on_line = on_line };
        cay_buf_init(&s->json, OBJECT_MAX);
        cay_buf_init(&s->text, DOCKER_LINE_MAX - 1);
}

void docker_build_stream_done(struct docker_build_stream *s)
{
        cay_buf_done(&s->json);
        cay_buf_done(&s->text);
}

/* For texts of our own answers: one line, cut between characters. */
static void note(char *ret, size_t size, const char *text)
{
        size_t n = 0;

        for (; *text && n + 1 < size; text++)
                ret[n++] = (unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text;
        n = cay_utf8_cut(ret, n);
        while (n > 0 && ret[n - 1] == ' ')
                n--;
        ret[n] = '\0';
}

static void tell(struct docker_build_stream *s)
{
        const char *line = cay_buf_data(&s->text);
        size_t len = s->text.len;

        while (len > 0 && line[len - 1] == '\r')
                len--;
        len = cay_utf8_cut(line, len);
        if (len > 0) {
                cay_buf_data(&s->text)[len] = '\0';
                if (cay_str_starts(line, "Step "))
                        note(s->step, sizeof(s->step), line);
                note(s->last, sizeof(s->last), line);
        }
        s->on_line(s, line, len);
        cay_buf_clear(&s->text);
}

static void add_text(struct docker_build_stream *s, const char *text)
{
        for (; *text; text++) {
                bool is_control =
                        (unsigned char)*text < 0x20 && *text != '\t' && *text != 0x1b && *text != '\r';

                if (*text == '\n')
                        tell(s);
                else if (cay_buf_left(&s->text) > 0) /* a longer line is cut */
                        cay_buf_putc(&s->text, is_control || *text == 0x7f ? ' ' : *text);
        }
}

static const char *text_of(const struct cay_json_value *object, const char *name)
{
        const char *text = cay_json_value_text(cay_json_value_find(object, name));

        return text ? text : "";
}

static bool is_image(const char *id)
{
        return cay_str_starts(id, "sha256:") && strlen(id) == 71 && strspn(id + 7, "0123456789abcdef") == 64;
}

/* A base image that Docker fetches: what is fetched, not how far it is. */
static void take_status(struct docker_build_stream *s, const struct cay_json_value *root)
{
        const char *id = text_of(root, "id"), *status = text_of(root, "status");

        if (status[0] == '\0' || text_of(root, "progress")[0] != '\0')
                return;
        add_text(s, id);
        add_text(s, id[0] ? ": " : "");
        add_text(s, status);
        add_text(s, "\n");
}

/*
 * An object is not lost for a byte that is no UTF-8 (Docker sends none, but its word is not taken), or for a
 * NUL that a program wrote.
 */
static void mend(char *bytes, size_t len)
{
        for (size_t at = 0, n; at < len; at += n) {
                n = cay_utf8_next(bytes + at, len - at);
                if (n == 0) {
                        bytes[at] = '?';
                        n = 1;
                } else if (bytes[at] == '\\' && len - at >= 6 && memcmp(bytes + at + 1, "u0000", 5) == 0) {
                        memcpy(bytes + at + 1, "u0020", 5);
                } else if (bytes[at] == '\\' && len - at >= 2 && bytes[at + 1] == '\\') {
                        n = 2;
                }
        }
}

static void take_object(struct docker_build_stream *s, char *bytes, size_t len)
{
        const struct cay_json_in_limits limits = { .bytes = OBJECT_MAX };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        const struct cay_json_value *root;
        struct cay_error err = { 0 };
        const char *text;

        mend(bytes, len);
        if (cay_json_in_parse(bytes, len, &limits, &doc, &err) < 0)
                return;
        root = cay_json_in_root(doc);
        add_text(s, text_of(root, "stream"));
        take_status(s, root);
        text = text_of(cay_json_value_find(root, "aux"), "ID");
        if (is_image(text))
                cay_str_copy(s->image, sizeof(s->image), text);
        text = text_of(root, "error");
        if (text[0])
                note(s->error, sizeof(s->error), text);
}

void docker_build_stream_feed(struct docker_build_stream *s, const char *bytes, size_t len)
{
        while (len > 0) {
                const char *end = memchr(bytes, '\n', len);
                size_t n = end ? (size_t)(end - bytes) : len;

                if (!s->skips && cay_buf_put(&s->json, bytes, n) < 0)
                        s->skips = true;
                n += end != NULL;
                bytes += n;
                len -= n;
                if (!end)
                        return;
                if (!s->skips && s->json.len > 0)
                        take_object(s, cay_buf_data(&s->json), s->json.len);
                cay_buf_clear(&s->json);
                s->skips = false;
        }
}

void docker_build_stream_end(struct docker_build_stream *s)
{
        if (!s->skips && s->json.len > 0)
                take_object(s, cay_buf_data(&s->json), s->json.len);
        cay_buf_clear(&s->json);
        if (s->text.len > 0)
                tell(s);
}
