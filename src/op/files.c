/* SPDX-License-Identifier: Apache-2.0 */
/* What the file ops share. */
#include "op/files.h"

#include <stdio.h>
#include <string.h>

#include "op/view.h"

static void release(struct cay_deferred *d)
{
        struct cay_op_channel *s = cay_container_of(d, struct cay_op_channel, release);

        if (s->done)
                s->done(s);
        free(s);
}

struct cay_op_call *cay_op_channel_finish(struct cay_op_channel *s)
{
        struct cay_op_call *c = s->call;

        cay_service_channel_close(&s->ch);
        s->call = NULL;
        s->release.run = release;
        cay_loop_defer(c->world->loop, &s->release);
        return c;
}

void cay_op_channel_fail(struct cay_op_channel *s, const struct cay_error *err)
{
        struct cay_error copy = *err;

        cay_op_fail(cay_op_channel_finish(s), &copy, NULL);
}

static void on_gone(struct cay_op_call *c)
{
        struct cay_op_channel *s = c->state;

        cay_op_channel_finish(s);
        c->doors->abort(c);
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

void cay_op_put_stat(struct cay_json *j, const struct cay_box_stat *st)
{
        char mode[8];

        snprintf(mode, sizeof(mode), "%04o", st->mode & 07777u);
        cay_op_put_bytes(j, "name", "name_base64", st->name.ptr, st->name.len);
        cay_op_key_text(j, "type", type_word(st->type));
        cay_op_key_u64(j, "size", st->size);
        cay_op_key_text(j, "mode", mode);
        cay_op_key_u64(j, "uid", st->uid);
        cay_op_key_u64(j, "gid", st->gid);
        cay_op_key_time(j, "modified_at", st->mtime_ns > 0 ? (uint64_t)st->mtime_ns / 1000000 : 0);
        if (st->type == CAY_FILE_SYMLINK)
                cay_op_put_bytes(j, "target", "target_base64", st->target.ptr, st->target.len);
}

int cay_op_parse_mode(const char *text, uint32_t *ret, struct cay_error *err)
{
        uint32_t mode = 0;

        for (const char *at = text; *at; at++) {
                if (*at < '0' || *at > '7')
                        return cay_fail(err, CAY_INVALID, "mode: '%.10s' is no octal number", text);
                mode = mode * 8 + (uint32_t)(*at - '0');
        }
        if (mode > 0777)
                return cay_fail(err, CAY_INVALID, "mode: '%.10s' is above 0777", text);
        *ret = mode;
        return 0;
}
