/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of envelopes, users and paths. */
#include "dialects/e2b/e2b_stream.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "dialects/e2b/e2b_envelope.h"
#include "foundation/base/base64.h"
#include "foundation/base/parse.h"

#define MESSAGE_MAX (4u << 20)
#define KEPT 65536u /* bytes of memory that wait for the next message */
#define ALIVE_S 50u
#define ALIVE_MAX_S 250u /* clients give up after 300 */

/* A long message's memory is not kept for the short ones behind it. */
static void trim(struct cay_buf *b)
{
        if (b->cap > KEPT)
                cay_buf_done(b);
}

static ssize_t send_frame(struct e2b_stream *s, unsigned flags, const char *bytes, size_t len)
{
        ssize_t queued;
        int r;

        s->spoke = true;
        cay_buf_clear(&s->frame);
        r = e2b_envelope_put(&s->frame, flags, bytes, len);
        queued = r < 0 ? r : e2b_write(s->q, cay_buf_data(&s->frame), s->frame.len);
        trim(&s->frame);
        return queued;
}

static void on_alive(struct cay_timer *t)
{
        struct e2b_stream *s = cay_container_of(t, struct e2b_stream, alive);

        if (!s->spoke)
                send_frame(s, 0, s->keepalive, strlen(s->keepalive));
        s->spoke = false;
        cay_timer_set(s->q->world->loop, t, s->alive_ms, on_alive);
}

int e2b_stream_begin(struct e2b_stream *s, struct e2b_request *q, const char *keepalive)
{
        const char *asked = cay_http_request_header(q->req, "Keepalive-Ping-Interval");
        uint64_t seconds = ALIVE_S;

        if (!asked || cay_parse_u64(asked, &seconds) < 0 || seconds == 0)
                seconds = ALIVE_S;
        s->q = q;
        s->keepalive = keepalive;
        s->alive_ms = (uint32_t)(seconds < ALIVE_MAX_S ? seconds : ALIVE_MAX_S) * 1000;
        cay_buf_init(&s->message, MESSAGE_MAX);
        cay_buf_init(&s->frame, MESSAGE_MAX + E2B_ENVELOPE_HEAD);
        e2b_request_watch(q);
        cay_timer_set(q->world->loop, &s->alive, s->alive_ms, on_alive);
        return e2b_begin(q, "application/connect+json", CAY_HTTP_NO_LENGTH);
}

struct cay_json *e2b_stream_message(struct e2b_stream *s, struct cay_json *j)
{
        cay_buf_clear(&s->message);
        cay_json_init(j, &s->message);
        cay_json_begin_object(j);
        return j;
}

ssize_t e2b_stream_put(struct e2b_stream *s, struct cay_json *j)
{
        ssize_t queued;
        int r;

        cay_json_end_object(j);
        r = cay_json_end(j);
        queued = r < 0 ? r : send_frame(s, 0, cay_buf_data(&s->message), s->message.len);
        trim(&s->message);
        return queued;
}

void e2b_stream_done(struct e2b_stream *s)
{
        cay_timer_clear(&s->alive);
        cay_buf_done(&s->message);
        cay_buf_done(&s->frame);
}

void e2b_stream_end(struct e2b_stream *s)
{
        send_frame(s, E2B_ENVELOPE_END, "{}", 2);
        cay_timer_clear(&s->alive);
        e2b_end(s->q);
}

/* Users */

bool e2b_is_root(const char *user)
{
        return strcmp(user, "root") == 0;
}

static const char *known_user(struct e2b_request *q, const char *name, size_t len)
{
        static const char *const users[] = { "user", "root" };
        char text[160];

        for (unsigned i = 0; i < CAY_COUNT(users); i++)
                if (strlen(users[i]) == len && memcmp(users[i], name, len) == 0)
                        return users[i];
        snprintf(text, sizeof(text), "there is no user '%.*s' here; user and root are",
                 (int)(len < 64 ? len : 64), name);
        e2b_refuse_status(q, 401, text);
        return NULL;
}

/* Who a request means that names nobody. */
static const char *default_user(const struct e2b_request *q)
{
        return e2b_label(q->world, q->sandbox, E2B_LABEL_USER) ? "root" : "user";
}

const char *e2b_user(struct e2b_request *q, bool in_query)
{
        const char *field = cay_http_request_header(q->req, "Authorization");
        cay_auto_buf struct cay_buf name = { 0 };
        const char *text = NULL;
        char room[256];
        int r;

        if (in_query) {
                r = e2b_query(q, "username", room, sizeof(room), &text);
                return r < 0                ? NULL
                       : r == 0 || !text[0] ? default_user(q)
                                            : known_user(q, text, strlen(text));
        }
        if (!field || strncasecmp(field, "Basic ", 6) != 0)
                return default_user(q);
        cay_buf_init(&name, sizeof(room));
        field += 6;
        if (cay_base64_decode(field, strlen(field), &name) < 0) {
                e2b_refuse_status(q, 401, "Authorization: not the name of a user in base64");
                return NULL;
        }
        return known_user(q, cay_buf_data(&name), strcspn(cay_buf_data(&name), ":"));
}

/* An absolute path without what means nothing: "//", "/.", a slash at its end; goes_up: and without "..". */
static void clean_path(char *path, bool goes_up)
{
        char *end = path;

        for (const char *at = path; *at != '\0';) {
                size_t len;

                at += strspn(at, "/");
                len = strcspn(at, "/");
                if (goes_up && len == 2 && memcmp(at, "..", 2) == 0) {
                        while (end > path && *--end != '/')
                                ;
                } else if (len > 0 && !(len == 1 && at[0] == '.')) {
                        *end++ = '/';
                        memmove(end, at, len);
                        end += len;
                }
                at += len;
        }
        if (end == path)
                *end++ = '/';
        *end = '\0';
}

int e2b_path(struct e2b_request *q, const char *user, const char *path, char ret[E2B_PATH_MAX])
{
        const char *home = e2b_is_root(user) ? "/root" : "/home/user", *rest = path ? path : "", *workdir;
        int len;

        if (rest[0] == '~' && rest[1] != '\0' && rest[1] != '/') {
                e2b_refuse(q, CAY_INVALID, "path: '%.100s' is the home of another user", path);
                return -1;
        }
        if (rest[0] == '~')
                rest++;
        else if ((workdir = e2b_label(q->world, q->sandbox, E2B_LABEL_WORKDIR)) != NULL)
                home = workdir;
        if (path && path[0] == '/')
                len = snprintf(ret, E2B_PATH_MAX, "%s", path);
        else
                len = snprintf(ret, E2B_PATH_MAX, "%s%s%s", home, rest[0] && rest[0] != '/' ? "/" : "", rest);
        if (len >= (int)E2B_PATH_MAX) {
                e2b_refuse(q, CAY_INVALID, "path: longer than %u bytes", E2B_PATH_MAX - 1);
                return -1;
        }
        clean_path(ret, !path || path[0] != '/'); /* the kernel's way up from a link is another one */
        return 0;
}
