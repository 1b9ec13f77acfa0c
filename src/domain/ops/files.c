/* SPDX-License-Identifier: Apache-2.0 */
/* What the file ops share. */
#include "domain/ops/files.h"

#include <stdio.h>
#include <string.h>

#include "domain/settings/config.h"
#include "domain/ops/view.h"

static void release_file_call(struct cay_deferred *d)
{
        struct cay_op_channel *s = cay_container_of(d, struct cay_op_channel, release);

        if (s->done)
                s->done(s);
        free(s);
}

struct cay_op_call *cay_op_channel_finish(struct cay_op_channel *s)
{
        struct cay_op_call *c = s->call;

        cay_timer_clear(&s->silence);
        cay_service_channel_close(&s->ch);
        s->call = NULL;
        s->release.run = release_file_call;
        cay_loop_defer(c->world->loop, &s->release);
        return c;
}

/* The box's error about a file concerns the path, unless there are two. */
static const char *blame(const struct cay_op *op, const struct cay_error *err)
{
        bool is_about = err->code == CAY_NOT_FOUND || err->code == CAY_EXISTS || err->code == CAY_INVALID ||
                        err->code == CAY_DENIED;

        return is_about && err->sys != 0 && cay_field_find(op->fields, "path", 4) &&
                               !cay_field_find(op->fields, "to", 2)
                       ? "path"
                       : NULL;
}

void cay_op_channel_fail(struct cay_op_channel *s, const struct cay_error *err)
{
        struct cay_error copy = *err;
        struct cay_op_call *c = cay_op_channel_finish(s);

        cay_op_fail(c, &copy, blame(c->op, &copy));
}

/* Deadlines */

static bool is_paused(const struct cay_op_channel *s)
{
        struct cay_viewer all = { .owner = s->call->caller.owner, .sees_all = true };
        struct cay_sandbox_view view;
        struct cay_error gone = { 0 };

        return cay_service_get(s->call->world->service, &all, s->sandbox, &view, &gone) == 0 &&
               view.state == CAY_STATE_PAUSED;
}

static void on_silence(struct cay_timer *t)
{
        struct cay_op_channel *s = cay_container_of(t, struct cay_op_channel, silence);
        struct cay_error err = { 0 };
        char wait[48];

        if (is_paused(s)) {
                cay_op_channel_await(s, true);
                return;
        }
        cay_limit_value_text(CAY_LIMIT_NR_wall_ms, s->call->world->config->file_timeout, wait, sizeof(wait));
        cay_fail(&err, CAY_TIMEOUT,
                 "the sandbox made no progress for %s (file_timeout), so this was cancelled; its commands "
                 "may keep it too busy, or have broken it",
                 wait);
        cay_service_channel_close(&s->ch);
        s->ch.on_end(&s->ch, NULL, &err);
}

void cay_op_channel_await(struct cay_op_channel *s, bool box_is_due)
{
        if (!s->call)
                return;
        if (box_is_due)
                cay_timer_set(s->call->world->loop, &s->silence, s->call->world->config->file_timeout,
                              on_silence);
        else
                cay_timer_clear(&s->silence);
}

void cay_op_channel_ack(struct cay_op_channel *s, size_t len)
{
        cay_service_channel_ack(&s->ch, len);
        cay_op_channel_await(s, true);
}

static void on_gone(struct cay_op_call *c)
{
        struct cay_op_channel *s = c->state;

        cay_op_channel_finish(s);
        cay_op_abort(c);
}

int cay_op_channel_open(struct cay_op_channel *s, struct cay_op_call *c, const char *sandbox,
                        const struct cay_box_open *open)
{
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };
        char id[CAY_NAME_MAX + 1] = "";

        s->call = c;
        c->state = s;
        if (cay_service_get(c->world->service, &viewer, sandbox, &view, &err) == 0)
                memccpy(id, view.id, '\0', CAY_NAME_MAX);
        if (err.code != CAY_OK ||
            cay_service_channel_open(c->world->service, &viewer, id, open, &s->ch, &err) < 0) {
                cay_op_channel_fail(s, &err);
                return -1;
        }
        c->on_gone = on_gone;
        memcpy(s->sandbox, id, sizeof(s->sandbox));
        cay_op_channel_await(s, true);
        return 0;
}

struct cay_box_open cay_op_file_open(unsigned kind, const char *path, bool as_root)
{
        struct cay_box_open open = { .kind = (uint16_t)kind };

        open.file.uid = open.file.gid = as_root ? 0 : CAY_BOX_ID_DEFAULT;
        open.file.path = (struct cay_view){ path, path ? (uint32_t)strlen(path) : 0 };
        return open;
}

static const char *type_word(uint32_t type)
{
        static const char *const words[] = { "other", "file",   "directory", "symlink",
                                             "fifo",  "socket", "device" };

        return type < CAY_COUNT(words) ? words[type] : words[0];
}

void cay_op_file_tag(const struct cay_box_stat *st, char ret[CAY_OP_FILE_TAG])
{
        snprintf(ret, CAY_OP_FILE_TAG, "%llx-%llx", (unsigned long long)st->mtime_ns,
                 (unsigned long long)st->size);
}

static bool is_printable(const char *at, const char *end)
{
        while (at < end && *at >= ' ' && *at <= '~')
                at++;
        return at == end;
}

/* "NAME\tVALUE\n" for each pair; what is not so is left out, because the sandbox says it. */
static void put_metadata(struct cay_json *j, const struct cay_view *text)
{
        const char *at = text->ptr, *end = text->ptr + text->len;

        cay_json_key(j, "metadata");
        cay_json_begin_object(j);
        while (at < end) {
                const char *line = memchr(at, '\n', (size_t)(end - at)),
                           *tab = line ? memchr(at, '\t', (size_t)(line - at)) : NULL;
                char name[CAY_BOX_PATH_MAX];

                if (!tab)
                        break;
                snprintf(name, sizeof(name), "%.*s", (int)(tab - at), at);
                if (is_printable(at, tab) && is_printable(tab + 1, line)) {
                        cay_json_key(j, name);
                        cay_json_string(j, tab + 1, (size_t)(line - tab - 1));
                }
                at = line + 1;
        }
        cay_json_end_object(j);
}

void cay_op_put_stat(struct cay_json *j, const struct cay_box_stat *st)
{
        char mode[8], tag[CAY_OP_FILE_TAG];

        snprintf(mode, sizeof(mode), "%04o", st->mode & 07777u);
        cay_op_put_bytes(j, "name", "name_base64", st->name.ptr, st->name.len);
        cay_op_key_text(j, "type", type_word(st->type));
        cay_op_key_u64(j, "size", st->size);
        cay_op_key_text(j, "mode", mode);
        cay_op_key_u64(j, "uid", st->uid);
        cay_op_key_u64(j, "gid", st->gid);
        cay_op_key_time(j, "modified_at", st->mtime_ns > 0 ? (uint64_t)st->mtime_ns / 1000000 : 0);
        cay_op_file_tag(st, tag);
        cay_op_key_text(j, "tag", tag);
        if (st->type == CAY_FILE_SYMLINK)
                cay_op_put_bytes(j, "target", "target_base64", st->target.ptr, st->target.len);
        else if (st->target.len > 0)
                put_metadata(j, &st->target);
}

int cay_op_parse_mode(const char *text, uint32_t *ret, struct cay_error *err)
{
        uint32_t mode = 0;

        for (const char *at = text; *at; at++) {
                if (*at < '0' || *at > '7')
                        return cay_fail(err, CAY_INVALID, "mode: '%.10s' is not an octal number", text);
                mode = mode * 8 + (uint32_t)(*at - '0');
        }
        if (mode > 0777)
                return cay_fail(err, CAY_INVALID, "mode: '%.10s' is above 0777", text);
        *ret = mode;
        return 0;
}
