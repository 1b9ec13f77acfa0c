/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a session: downloads as a zip archive, uploads from a form. An upload lies in /tmp/.uploads of the
 * sandbox, where pages' file inputs can be given it by its path. Its bytes go to the op that writes it as
 * fast as that takes them; while it takes none, nothing more is read from the client.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/browserbase/bb_priv.h"
#include "domain/settings/config.h"
#include "foundation/http/multipart.h"

#define PIECE (64u * 1024)
#define UPLOADS "/tmp/.uploads"
#define NAME_BYTES_MAX 255u

/* Downloads */

static int on_begin(struct bb_request *q, const struct cay_op_bytes *bytes)
{
        cay_http_response_add(q->req, "Content-Disposition", "attachment; filename=\"downloads.zip\"");
        return bb_begin(q, "application/zip",
                        bytes->length == CAY_OP_UNKNOWN_LENGTH ? CAY_HTTP_NO_LENGTH : bytes->length);
}

static ssize_t on_bytes(struct bb_request *q, const void *bytes, size_t len)
{
        return bb_write(q, bytes, len);
}

static void on_end(struct bb_request *q, bool was_cut)
{
        if (was_cut)
                bb_cut(q);
        else
                bb_end(q);
}

static void ask_zip(struct bb_request *q)
{
        static const struct bb_stream_ops ops = { .on_begin = on_begin,
                                                  .on_bytes = on_bytes,
                                                  .on_end = on_end };
        cay_auto_call_args struct cay_call_args args = { 0 };

        bb_args_begin(q, &args);
        bb_ask_stream(q, "browser_downloads_zip", &args, &ops);
}

static void run_downloads(struct bb_request *q)
{
        bb_look(q, ask_zip);
}

/* Uploads */

struct upload {
        struct bb_request *q;
        struct cay_multipart form;
        struct cay_buf in;
        char path[sizeof(UPLOADS) + NAME_BYTES_MAX + 2];
        bool is_writing, is_ready, is_ending, is_written, body_ended, is_over;
        struct cay_error why;
};

static void free_upload(void *state)
{
        struct upload *u = state;

        cay_buf_done(&u->in);
        free(u);
}

static void go_on(struct upload *u);

static void on_aborted(struct bb_request *q, bool was_cut)
{
        const struct upload *u = q->state;

        (void)was_cut;
        if (u->why.code != CAY_OK)
                bb_fail(q, &u->why);
        else
                bb_cut(q);
}

/* A file that is not whole is not kept. */
static void refuse(struct upload *u, const char *text)
{
        u->is_over = true;
        cay_fail(&u->why, CAY_INVALID, "%s", text);
        if (u->q->ask)
                cay_call_gone(u->q->ask); /* then on_aborted answers */
        else
                bb_fail(u->q, &u->why);
}

static void on_written(struct bb_request *q, const struct cay_json_value *answer)
{
        struct upload *u = q->state;

        (void)answer;
        u->is_writing = u->is_ending = false;
        u->is_written = true;
        go_on(u);
}

static void on_not_written(struct bb_request *q, const struct cay_error *err)
{
        struct upload *u = q->state;

        u->is_over = true;
        bb_fail(q, err);
}

static void on_room(struct bb_request *q)
{
        struct upload *u = q->state;

        u->is_ready = true;
        if (!u->is_ending)
                go_on(u);
}

static void begin_file(struct upload *u)
{
        static const struct bb_stream_ops ops = { .on_room = on_room, .on_end = on_aborted };
        cay_auto_call_args struct cay_call_args args = { 0 };
        const char *name = strrchr(u->form.filename, '/');

        name = name ? name + 1 : u->form.filename;
        if (strcmp(u->form.name, "file") != 0 || u->is_written)
                return; /* other fields do not count */
        if (!name[0] || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strlen(name) > NAME_BYTES_MAX) {
                refuse(u, "file: must have a name of 1 to 255 bytes");
                return;
        }
        snprintf(u->path, sizeof(u->path), UPLOADS "/%.*s", (int)NAME_BYTES_MAX, name);
        u->is_writing = true;
        bb_args_begin(u->q, &args);
        cay_op_key_text(&args.j, "path", u->path);
        cay_op_key_bool(&args.j, "parents", true);
        u->q->stream_ops = &ops;
        u->q->on_fail = on_not_written;
        bb_ask(u->q, "file_write", &args, on_written);
}

/* Gives a file's bytes to its op. False: it takes none now. */
static bool give(struct upload *u, size_t len)
{
        size_t n = u->is_ready ? cay_call_write(u->q->ask, cay_buf_data(&u->in), len) : 0;

        cay_buf_drop(&u->in, n);
        if (n < len)
                u->is_ready = false;
        return n > 0;
}

/* False: it waits, for bytes or for the op. */
static bool step(struct upload *u)
{
        struct cay_multipart before = u->form;
        size_t used;

        switch (cay_multipart_step(&u->form, cay_buf_data(&u->in), u->in.len, &used)) {
        case CAY_MULTIPART_MORE:
                cay_buf_drop(&u->in, used);
                return used > 0;
        case CAY_MULTIPART_DONE:
                cay_buf_drop(&u->in, u->in.len);
                return false;
        case CAY_MULTIPART_BEGIN:
                cay_buf_drop(&u->in, used);
                begin_file(u);
                return !u->is_over;
        case CAY_MULTIPART_DATA:
                if (u->is_writing)
                        return give(u, used);
                cay_buf_drop(&u->in, used);
                return true;
        case CAY_MULTIPART_END:
                if (u->is_writing && !u->is_ready) {
                        u->form = before; /* the op has not begun to take bytes: again, when it does */
                        return false;
                }
                cay_buf_drop(&u->in, used);
                if (u->is_writing) {
                        u->is_ending = true;
                        cay_call_write_end(u->q->ask);
                }
                return !u->is_ending;
        default:
                refuse(u, "the body is not multipart/form-data");
                return false;
        }
}

static void answer(struct upload *u)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        if (u->form.state != CAY_MULTIPART_OVER) {
                refuse(u, "the form is cut: its last delimiter is missing");
                return;
        }
        if (!u->is_written) {
                refuse(u, "file: required, as a part of the form with a name");
                return;
        }
        u->is_over = true;
        cay_buf_init(&out, PIECE);
        cay_json_init(&j, &out);
        cay_json_begin_object(&j);
        cay_op_key_text(&j, "message", "File uploaded successfully");
        cay_op_key_text(&j, "path", u->path);
        cay_json_end_object(&j);
        bb_answer_json(u->q, 200, &j);
}

static void go_on(struct upload *u)
{
        while (!u->is_over && !u->is_ending && u->in.len > 0 && step(u))
                ;
        if (u->is_over || u->is_ending)
                return;
        if (!u->body_ended) {
                if (u->in.len < PIECE)
                        cay_http_request_resume(u->q->req);
        } else if (!u->is_writing) {
                answer(u);
        } else if (u->is_ready) {
                refuse(u, "the form is cut: its last delimiter is missing");
        }
}

static size_t on_body(struct bb_request *q, const void *bytes, size_t len)
{
        struct upload *u = q->state;
        size_t n = len < PIECE ? len : PIECE;

        if (u->is_over)
                return len;
        if (u->in.len > PIECE || cay_buf_put(&u->in, bytes, n) < 0)
                return 0;
        go_on(u);
        return n;
}

static void on_body_end(struct bb_request *q)
{
        struct upload *u = q->state;

        u->body_ended = true;
        if (!u->is_over)
                go_on(u);
}

static void begin_upload(struct bb_request *q)
{
        struct upload *u = calloc(1, sizeof(*u));

        q->state = u;
        q->free_state = free_upload;
        if (!u) {
                bb_fail_memory(q);
                return;
        }
        u->q = q;
        cay_buf_init(&u->in, 4 * PIECE);
        q->on_body = on_body;
        q->on_body_end = on_body_end;
        if (q->seen.status != BB_RUNNING)
                bb_refuse(q, CAY_DAMAGED, "session '%s' has ended: it takes no files", q->id);
        else if (!cay_multipart_init(&u->form, cay_http_request_header(q->req, "Content-Type")))
                bb_refuse(q, CAY_INVALID, "Content-Type: must be multipart/form-data");
        else if (cay_http_request_read(q->req, q->world->config->max_body, 0) < 0)
                bb_refuse_status(q, 413, "the file is too large: the body is larger than max_body allows");
}

static void run_upload(struct bb_request *q)
{
        bb_look(q, begin_upload);
}

static const struct bb_row rows[] = {
        { "GET /v1/sessions/{id}/downloads", run_downloads, 0 },
        { "POST /v1/sessions/{id}/uploads", run_upload, BB_RAW_BODY },
};

const struct bb_rows bb_file_rows = { rows, CAY_COUNT(rows) };
