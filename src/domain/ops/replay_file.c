/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/ops/replay_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/str.h"

#define OPEN_MAX CAY_SERVICE_CHANNELS_MAX

struct cay_replay_file {
        struct cay_replay_file *next;
        struct cay_replay *replay;
        struct cay_service_channel ch;
        uint64_t number;
        char path[CAY_REPLAY_TEXT + 1];
        unsigned was; /* how it ended in the recording: enum cay_code */
        unsigned is;  /* and here */
        char why[80];
        bool is_over, is_awaited;
};

static struct cay_replay_file *find(struct cay_replay *r, uint64_t number)
{
        struct cay_replay_file *f = r->open;

        while (f && f->number != number)
                f = f->next;
        return f;
}

static void drop(struct cay_replay_file *f)
{
        struct cay_replay_file **at = &f->replay->open;

        while (*at != f)
                at = &(*at)->next;
        *at = f->next;
        cay_service_channel_close(&f->ch);
        free(f);
}

static void compare(struct cay_replay_file *f)
{
        if ((f->was == CAY_OK) != (f->is == CAY_OK))
                cay_replay_differs(f->replay, "", f->path, "file", f->was == CAY_OK ? "done" : "failed",
                                   f->is == CAY_OK ? "done" : f->why);
        drop(f);
}

static void on_end(struct cay_service_channel *ch, const struct cay_box_end *end, const struct cay_error *err)
{
        struct cay_replay_file *f = cay_container_of(ch, struct cay_replay_file, ch);
        struct cay_replay *r = f->replay;
        bool is_awaited = f->is_awaited || r->current_file == f;

        (void)end;
        f->is_over = true;
        f->is = err ? err->code : CAY_OK;
        cay_str_copy(f->why, sizeof(f->why), err ? err->msg : "");
        if (r->current_file == f)
                r->current_file = NULL;
        if (f->is_awaited)
                compare(f);
        if (is_awaited)
                cay_recording_read_go_on(&r->read);
}

/* Continues the write under way; all was taken: the next item. */
static bool pump(struct cay_replay_file *f)
{
        struct cay_replay *r = f->replay;

        if (r->sent < r->bytes.len)
                r->sent += cay_service_channel_write(&f->ch, cay_buf_data(&r->bytes) + r->sent,
                                                     r->bytes.len - r->sent);
        return r->sent == r->bytes.len;
}

static void on_room(struct cay_service_channel *ch)
{
        struct cay_replay_file *f = cay_container_of(ch, struct cay_replay_file, ch);
        struct cay_replay *r = f->replay;

        if (r->current_file != f || !pump(f))
                return;
        r->current_file = NULL;
        cay_recording_read_go_on(&r->read);
}

int cay_replay_file_open(struct cay_replay *r, struct cay_item *item, struct cay_error *err)
{
        const uint64_t *n = item->numbers;
        struct cay_box_open open = { .kind = (uint16_t)n[1] };
        struct cay_replay_file *f;
        struct cay_error bad = { 0 };
        unsigned count = 0;

        for (f = r->open; f; f = f->next)
                count++;
        f = count < OPEN_MAX ? calloc(1, sizeof(*f)) : NULL;
        if (!f)
                return cay_fail(err, CAY_LIMIT, "too many files are written at once");
        open.file.uid = (uint32_t)n[2];
        open.file.gid = (uint32_t)n[3];
        open.file.mode = (uint32_t)n[4];
        open.file.flags = (uint32_t)n[5];
        open.file.offset = n[6];
        cay_item_next(item, &open.file.path);
        cay_item_next(item, &open.file.path2);
        f->replay = r;
        f->number = n[0];
        cay_str_copy(f->path, sizeof(f->path), open.file.path.ptr);
        f->ch.on_end = on_end;
        f->ch.on_room = on_room;
        f->next = r->open;
        r->open = f;
        r->files++;
        if (cay_service_channel_open(r->world->service, &r->viewer, r->other, &open, &f->ch, &bad) < 0) {
                f->is_over = true;
                f->is = bad.code;
                cay_str_copy(f->why, sizeof(f->why), bad.msg);
        }
        return 0;
}

int cay_replay_file_write(struct cay_replay *r, struct cay_item *item, struct cay_error *err)
{
        struct cay_replay_file *f = find(r, item->numbers[0]);
        struct cay_view text;

        cay_item_next(item, &text);
        if (!f || f->is_over)
                return 0;
        cay_buf_clear(&r->bytes);
        r->sent = 0;
        if (cay_buf_put(&r->bytes, text.ptr, text.len) < 0)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        if (!pump(f)) {
                r->current_file = f;
                cay_recording_read_hold(&r->read);
        }
        return 0;
}

void cay_replay_file_end(struct cay_replay *r, struct cay_item *item)
{
        struct cay_replay_file *f = find(r, item->numbers[0]);

        if (!f)
                return;
        f->was = (unsigned)item->numbers[1];
        if (f->was == CAY_UNAVAILABLE) { /* its client went away: nothing of it stays */
                drop(f);
        } else if (f->is_over) {
                compare(f);
        } else {
                f->is_awaited = true;
                cay_recording_read_hold(&r->read);
                cay_service_channel_write_eof(&f->ch);
        }
}

void cay_replay_files_close(struct cay_replay *r)
{
        while (r->open)
                drop(r->open);
}
