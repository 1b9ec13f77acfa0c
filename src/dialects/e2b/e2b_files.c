/* SPDX-License-Identifier: Apache-2.0 */
/*
 * envd: /files. A download is a file's bytes. An upload is a form with files, or the bytes of one file, and
 * may be packed with gzip.
 *
 * Theory of operation. What HTTP brings goes to `in`, is unpacked to `plain` and taken apart from there; a
 * file's bytes go to the op that writes it, as fast as that takes them. While it takes none, nothing more is
 * read from the client. Each file is written whole or not at all; those before a failure stay.
 *
 * Who may. The sandbox's token; or a signature in the query, which is made of the token and names path, user
 * and direction. A signed address without a sandbox in it is found by trying the tokens of the sandboxes that
 * run. That is work for anybody who asks, so it is charged at the gate like so many requests.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "foundation/http/multipart.h"
#include "dialects/e2b/e2b_stream.h"
#include "domain/auth/digest.h"
#include "domain/auth/sandbox_token.h"
#include "domain/model/port_clock.h"
#include "domain/settings/config.h"
#include "foundation/base/base64.h"
#include "foundation/base/parse.h"
#include "foundation/base/str.h"
#include "foundation/compress/pack.h"

#define PIECE (64u * 1024)
#define ANSWER_MAX (1u << 20)
#define METADATA_MAX 12287u /* bytes, encoded; file_write has its own limits */
#define METADATA_FIELD "X-Metadata-"
#define TRIED_FOR_ONE 32u /* tokens that are tried for the price of one request */

struct transfer {
        struct e2b_request *q;
        const char *user;
        bool has_path;
        char asked[E2B_PATH_MAX], path[E2B_PATH_MAX];
        /* uploads */
        struct cay_multipart form;
        struct cay_unpacker *unpacker; /* owned; NULL: not packed */
        struct cay_buf in, plain, answer;
        struct cay_json files;
        struct cay_buf metadata; /* of each file, as file_write takes it */
        bool is_form, is_writing, is_ready, body_ended, is_ending, is_over;
        unsigned count;
        struct cay_error why; /* of a refusal that waits for the op's end */
};

static void free_transfer(void *state)
{
        struct transfer *t = state;

        cay_unpacker_free(t->unpacker);
        cay_buf_done(&t->in);
        cay_buf_done(&t->plain);
        cay_buf_done(&t->answer);
        cay_buf_done(&t->metadata);
        free(t);
}

/* Signatures */

struct signing {
        char path[E2B_PATH_MAX], user[64], given[128], expires[32];
        bool has_expiry, is_write;
        const struct cay_op_world *world;
        unsigned tried;
        char sandbox[CAY_NAME_MAX + 1], owner[CAY_OWNER_MAX + 1]; /* found */
};

static bool is_signed_for(const struct signing *s, const char *sandbox)
{
        cay_auto_buf struct cay_buf text = { 0 }, base64 = { 0 };
        char token[CAY_SANDBOX_TOKEN_LEN + 1], right[64];
        uint8_t hash[CAY_DIGEST_SIZE];

        s->world->sandbox_token(s->world, CAY_SANDBOX_TOKEN_ACCESS, sandbox, token);
        cay_buf_init(&text, 2 * E2B_PATH_MAX);
        cay_buf_init(&base64, 64);
        if (cay_buf_printf(&text, "%s:%s:%s:%s%s%s", s->path, s->is_write ? "write" : "read", s->user, token,
                           s->has_expiry ? ":" : "", s->has_expiry ? s->expires : "") < 0 ||
            cay_digest_sha256(cay_buf_data(&text), text.len, hash) < 0 ||
            cay_base64_encode(hash, sizeof(hash), &base64) < 0)
                return false;
        snprintf(right, sizeof(right), "v1_%.*s", (int)strcspn(cay_buf_data(&base64), "="),
                 cay_buf_data(&base64));
        explicit_bzero(token, sizeof(token));
        explicit_bzero(cay_buf_data(&text), text.len);
        return strlen(s->given) == strlen(right) && cay_digest_equal(s->given, right, strlen(right));
}

static void try_sandbox(void *ctx, const struct cay_sandbox_view *view)
{
        struct signing *s = ctx;

        if (s->sandbox[0])
                return;
        s->tried++;
        if (!is_signed_for(s, view->id))
                return;
        cay_str_copy(s->sandbox, sizeof(s->sandbox), view->id);
        cay_str_copy(s->owner, sizeof(s->owner), view->owner);
}

/* Among those that run. -1: the caller has asked too often, and was refused. */
static int find_signer(struct e2b_request *q, struct signing *s)
{
        const struct cay_viewer everybody = { .owner = "", .sees_all = true };
        const struct cay_sandbox_filter up = { .states = 1u << CAY_STATE_READY | 1u << CAY_STATE_BUSY };
        char cursor[CAY_SERVICE_CURSOR_MAX] = "", next[CAY_SERVICE_CURSOR_MAX] = "";
        struct cay_error err = { 0 };
        uint64_t wait_ms;

        do {
                memcpy(cursor, next, sizeof(cursor));
                if (cay_service_list(s->world->service, &everybody, &up, cursor, 0, try_sandbox, s, next,
                                     &err) < 0)
                        return 0;
                for (; s->tried >= TRIED_FOR_ONE; s->tried -= TRIED_FOR_ONE) {
                        if (cay_pass_pay(&q->guard.pass, &wait_ms, &err) < 0) {
                                e2b_fail(q, &err);
                                return -1;
                        }
                }
        } while (next[0] && !s->sandbox[0]);
        return 0;
}

static int read_signing(struct e2b_request *q, struct signing *s)
{
        static const char *const names[] = { "path", "username", "signature", "signature_expiration" };
        char *const rooms[] = { s->path, s->user, s->given, s->expires };
        const size_t sizes[] = { sizeof(s->path), sizeof(s->user), sizeof(s->given), sizeof(s->expires) };
        char room[E2B_PATH_MAX];
        const char *text;

        for (unsigned i = 0; i < CAY_COUNT(names); i++) {
                int r = e2b_query(q, names[i], room, sizeof(room), &text);

                if (r < 0)
                        return -1;
                if (r > 0 && !cay_str_copy(rooms[i], sizes[i], text)) {
                        e2b_refuse(q, CAY_INVALID, "%s: too long", names[i]);
                        return -1;
                }
                if (r > 0 && i == 3)
                        s->has_expiry = true;
        }
        return 0;
}

/* Whether the caller may do this; -1: refused. */
static int check_signature(struct e2b_request *q)
{
        struct signing s = { .world = q->world, .is_write = q->req->method == CAY_HTTP_POST };
        struct cay_clock_reading now;
        uint64_t expires = 0;

        if (q->is_known)
                return 0;
        if (read_signing(q, &s) < 0)
                return -1;
        if (!q->sandbox[0]) {
                if (find_signer(q, &s) < 0)
                        return -1;
        } else if (is_signed_for(&s, q->sandbox)) {
                const struct cay_viewer everybody = { .owner = "", .sees_all = true };
                struct cay_sandbox_view view;
                struct cay_error ignored = { 0 };

                if (cay_service_get(q->world->service, &everybody, q->sandbox, &view, &ignored) == 0)
                        try_sandbox(&s, &view);
        }
        if (!s.sandbox[0]) {
                e2b_refuse_status(q, 401, "invalid signature");
                return -1;
        }
        q->world->clock->read(q->world->clock, &now);
        if (s.has_expiry && (cay_parse_u64(s.expires, &expires) < 0 || expires < now.wall_ms / 1000)) {
                e2b_refuse_status(q, 401, "signature is already expired");
                return -1;
        }
        q->is_known = true;
        q->caller = (struct cay_caller){ .scopes = CAY_SCOPE_READ | CAY_SCOPE_EXEC,
                                         .credential = CAY_CREDENTIAL_TOKEN };
        cay_str_copy(q->caller.owner, sizeof(q->caller.owner), s.owner);
        cay_str_copy(q->sandbox, sizeof(q->sandbox), s.sandbox);
        return 0;
}

/* The user and the path; NULL: refused. */
static struct transfer *new_transfer(struct e2b_request *q)
{
        struct transfer *t = calloc(1, sizeof(*t));
        char room[E2B_PATH_MAX];
        const char *text;
        int r;

        q->state = t;
        q->free_state = free_transfer;
        if (!t) {
                e2b_fail_memory(q);
                return NULL;
        }
        t->q = q;
        t->user = e2b_user(q, true);
        r = t->user ? e2b_query(q, "path", room, sizeof(room), &text) : -1;
        if (r < 0)
                return NULL;
        t->has_path = r > 0 && text[0];
        if (t->has_path) {
                snprintf(t->asked, sizeof(t->asked), "%s", text);
                if (e2b_path(q, t->user, text, t->path) < 0)
                        return NULL;
        }
        return t;
}

static void begin_path(const struct transfer *t, struct cay_call_args *args)
{
        e2b_args_begin(t->q, args);
        cay_op_key_text(&args->j, "path", t->path);
        cay_op_key_bool(&args->j, "as_root", e2b_is_root(t->user));
}

/* Download */

static int on_begin(struct e2b_request *q, const struct cay_op_bytes *bytes)
{
        return e2b_begin(q, "application/octet-stream",
                         bytes->length == CAY_OP_UNKNOWN_LENGTH ? CAY_HTTP_NO_LENGTH : bytes->length);
}

static ssize_t on_bytes(struct e2b_request *q, const void *bytes, size_t len)
{
        return e2b_write(q, bytes, len);
}

static void on_end(struct e2b_request *q, bool was_cut)
{
        if (was_cut)
                e2b_cut(q);
        else
                e2b_end(q);
}

static const struct e2b_stream_ops read_ops = { .on_begin = on_begin,
                                                .on_bytes = on_bytes,
                                                .on_end = on_end };

static void run_download(struct e2b_request *q)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct transfer *t;

        if (check_signature(q) < 0)
                return;
        t = new_transfer(q);
        if (!t)
                return;
        if (!t->has_path) {
                e2b_refuse(q, CAY_INVALID, "path: required");
                return;
        }
        begin_path(t, &args);
        e2b_ask_stream(q, "file_read", &args, &read_ops);
}

/* Upload */

static void go_on(struct transfer *t);

static void refuse_upload(struct transfer *t, const struct cay_error *err)
{
        t->is_over = true;
        t->why = *err;
        if (t->q->ask)
                cay_call_gone(
                        t->q->ask); /* the file that is not whole is not kept; then on_aborted answers */
        else
                e2b_fail(t->q, err);
}

static void on_aborted(struct e2b_request *q, bool was_cut)
{
        const struct transfer *t = q->state;

        (void)was_cut;
        if (t->why.code != CAY_OK)
                e2b_fail(q, &t->why);
        else
                e2b_cut(q);
}

/* Metadata: fields of the request, whose names come in any case. */

static bool find_metadata(const struct cay_http_request *req, unsigned at, char name[256],
                          const char **ret_value)
{
        const size_t len = strlen(METADATA_FIELD);
        const char *field;

        cay_http_request_header_at(req, at, &field, ret_value);
        if (strncasecmp(field, METADATA_FIELD, len) != 0)
                return false;
        snprintf(name, 256, "%s", field + len);
        for (char *c = name; *c; c++)
                *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
        return true;
}

static void put_metadata(struct cay_json *j, const struct cay_http_request *req)
{
        const char *value;
        char name[256];

        cay_json_key(j, "metadata");
        cay_json_begin_object(j);
        for (unsigned i = 0; i < req->line_count; i++)
                if (find_metadata(req, i, name, &value))
                        cay_op_key_text(j, name, value);
        cay_json_end_object(j);
}

static int put_encoded(struct cay_buf *out, const char *text)
{
        for (; *text; text++) {
                bool is_plain = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
                                (*text >= '0' && *text <= '9');

                if (cay_buf_printf(out, is_plain ? "%c" : "%%%02x", (unsigned char)*text) < 0)
                        return -1;
        }
        return 0;
}

static int read_metadata(struct transfer *t, const struct cay_http_request *req)
{
        const char *value;
        char name[256];

        cay_buf_init(&t->metadata, METADATA_MAX);
        for (unsigned i = 0; i < req->line_count; i++) {
                if (!find_metadata(req, i, name, &value))
                        continue;
                if ((t->metadata.len > 0 && cay_buf_putc(&t->metadata, '&') < 0) ||
                    put_encoded(&t->metadata, name) < 0 || cay_buf_putc(&t->metadata, '=') < 0 ||
                    put_encoded(&t->metadata, value) < 0)
                        return -1;
        }
        return 0;
}

static void on_written(struct e2b_request *q, const struct cay_json_value *answer)
{
        struct transfer *t = q->state;
        const char *slash = strrchr(t->path, '/');

        (void)answer;
        cay_json_begin_object(&t->files);
        cay_op_key_text(&t->files, "path", t->path);
        cay_op_key_text(&t->files, "name", slash ? slash + 1 : t->path);
        cay_op_key_text(&t->files, "type", "file");
        if (t->metadata.len > 0)
                put_metadata(&t->files, t->q->req);
        cay_json_end_object(&t->files);
        t->count++;
        t->is_writing = t->is_ready = t->is_ending = false;
        go_on(t);
}

/* A folder in its place, and the like. */
static void on_not_written(struct e2b_request *q, const struct cay_error *err)
{
        struct transfer *t = q->state;
        struct cay_error told = *err;

        if (told.code == CAY_CONFLICT || told.code == CAY_EXISTS)
                told.code = CAY_INVALID;
        t->is_over = true;
        e2b_fail(q, &told);
}

static void on_room(struct e2b_request *q)
{
        struct transfer *t = q->state;

        t->is_ready = true;
        if (!t->is_ending)
                go_on(t);
}

static void begin_file(struct transfer *t)
{
        static const struct e2b_stream_ops ops = { .on_room = on_room, .on_end = on_aborted };
        cay_auto_call_args struct cay_call_args args = { 0 };

        t->is_writing = true;
        begin_path(t, &args);
        cay_op_key_bool(&args.j, "parents", true);
        cay_op_key_text(&args.j, "metadata", t->metadata.len > 0 ? cay_buf_data(&t->metadata) : "");
        t->q->stream_ops = &ops;
        t->q->on_fail = on_not_written;
        e2b_ask(t->q, "file_write", &args, on_written);
}

static void end_file(struct transfer *t)
{
        t->is_ending = true;
        cay_call_write_end(t->q->ask);
}

static void refuse_memory(struct transfer *t)
{
        struct cay_error err = { 0 };

        cay_fail(&err, CAY_UNAVAILABLE, "no memory for this file now: client_memory is in use");
        refuse_upload(t, &err);
}

/* Fills `plain`. False: there is nothing to take it from, or the request was refused. */
static bool unpack(struct transfer *t)
{
        struct cay_error err = { 0 };
        struct cay_pack_io io;
        char *room;

        if (t->in.len == 0)
                return false;
        if (!t->unpacker) {
                if (cay_buf_put(&t->plain, cay_buf_data(&t->in), t->in.len) < 0) {
                        refuse_memory(t);
                        return false;
                }
                cay_buf_clear(&t->in);
                return true;
        }
        if (cay_buf_left(&t->plain) < PIECE)
                return false;
        room = cay_buf_room(&t->plain, PIECE);
        if (!room) {
                refuse_memory(t);
                return false;
        }
        io = (struct cay_pack_io){ (const uint8_t *)cay_buf_data(&t->in), t->in.len, (uint8_t *)room, PIECE };
        if (cay_unpacker_step(t->unpacker, &io, &err) < 0) {
                refuse_upload(t, &err);
                return false;
        }
        cay_buf_added(&t->plain, PIECE - io.out_room);
        cay_buf_drop(&t->in, t->in.len - io.in_len);
        return true;
}

/* Gives a file's bytes to its op. False: it takes none now. */
static bool give(struct transfer *t, size_t len)
{
        size_t n;

        if (!t->is_ready)
                return false;
        n = cay_call_write(t->q->ask, cay_buf_data(&t->plain), len);
        cay_buf_drop(&t->plain, n);
        if (n < len)
                t->is_ready = false;
        return n > 0;
}

static void begin_part(struct transfer *t)
{
        const char *name = t->has_path ? t->asked : t->form.filename;
        struct cay_error err = { 0 };

        if (strcmp(t->form.name, "file") != 0)
                return; /* other fields do not count */
        if (!name[0]) {
                cay_fail(&err, CAY_INVALID, "path: required, unless each file has a name");
                refuse_upload(t, &err);
        } else if (e2b_path(t->q, t->user, name, t->path) < 0) {
                t->is_over = true;
        } else {
                begin_file(t);
        }
}

/* One step of a form. False: it waits, for bytes or for the op. */
static bool step_form(struct transfer *t)
{
        struct cay_multipart before = t->form;
        struct cay_error err = { 0 };
        size_t used;
        enum cay_multipart_event event =
                cay_multipart_step(&t->form, cay_buf_data(&t->plain), t->plain.len, &used);

        switch (event) {
        case CAY_MULTIPART_MORE:
        case CAY_MULTIPART_DONE:
                cay_buf_drop(&t->plain, event == CAY_MULTIPART_DONE ? t->plain.len : used);
                return used > 0 && event == CAY_MULTIPART_MORE;
        case CAY_MULTIPART_BEGIN:
                cay_buf_drop(&t->plain, used);
                begin_part(t);
                return !t->is_over;
        case CAY_MULTIPART_DATA:
                if (t->is_writing)
                        return give(t, used);
                cay_buf_drop(&t->plain, used);
                return true;
        case CAY_MULTIPART_END:
                if (t->is_writing && !t->is_ready) {
                        t->form = before; /* the op has not begun to take bytes: again, when it does */
                        return false;
                }
                cay_buf_drop(&t->plain, used);
                if (t->is_writing)
                        end_file(t);
                return !t->is_ending;
        default:
                cay_fail(&err, CAY_INVALID, "the body is not multipart/form-data");
                refuse_upload(t, &err);
                return false;
        }
}

static bool step_bytes(struct transfer *t)
{
        if (!t->is_writing && t->count == 0)
                begin_file(t);
        return t->plain.len > 0 && give(t, t->plain.len);
}

static void answer_upload(struct transfer *t)
{
        struct cay_error err = { 0 };

        if (t->unpacker && cay_unpacker_finish(t->unpacker, &err) < 0) {
                refuse_upload(t, &err);
                return;
        }
        if (t->is_form && t->form.state != CAY_MULTIPART_OVER)
                cay_fail(&err, CAY_INVALID, "the form is cut: its last delimiter is missing");
        else if (t->count == 0)
                cay_fail(&err, CAY_INVALID, "there is no file in the form");
        if (err.code != CAY_OK) {
                refuse_upload(t, &err);
                return;
        }
        t->is_over = true;
        cay_json_end_array(&t->files);
        if (cay_json_end(&t->files) < 0)
                e2b_fail_memory(t->q);
        else
                e2b_answer(t->q, 200, &t->answer);
}

static void go_on(struct transfer *t)
{
        bool moved = true;

        while (moved && !t->is_over && !t->is_ending) {
                moved = t->is_form ? t->plain.len > 0 && step_form(t) : step_bytes(t);
                if (!moved && !t->is_over && !t->is_ending && !(t->is_writing && !t->is_ready))
                        moved = unpack(t);
        }
        if (t->is_over || t->is_ending)
                return;
        if (!t->body_ended) {
                if (t->in.len == 0)
                        cay_http_request_resume(t->q->req);
                return;
        }
        if (t->in.len > 0)
                return;
        if (!t->is_form && t->is_writing && t->is_ready && t->plain.len == 0)
                end_file(t);
        else if (!t->is_writing)
                answer_upload(t);
        else if (t->is_form && t->is_ready && t->form.state != CAY_MULTIPART_OVER) {
                struct cay_error err = { 0 };

                cay_fail(&err, CAY_INVALID, "the form is cut: its last delimiter is missing");
                refuse_upload(t, &err);
        }
}

static size_t on_body(struct e2b_request *q, const void *bytes, size_t len)
{
        struct transfer *t = q->state;
        size_t n = len < PIECE ? len : PIECE;

        if (t->is_over)
                return len;
        if (t->in.len > 0 || t->plain.len > 4 * PIECE)
                return 0;
        if (cay_buf_put(&t->in, bytes, n) < 0) {
                refuse_memory(t);
                return len;
        }
        go_on(t);
        return n;
}

static void on_body_end(struct e2b_request *q)
{
        struct transfer *t = q->state;

        t->body_ended = true;
        if (!t->is_over)
                go_on(t);
}

static int begin_upload(struct transfer *t, struct cay_error *err)
{
        const struct cay_http_request *req = t->q->req;
        const char *type = cay_http_request_header(req, "Content-Type");
        const char *packed = cay_http_request_header(req, "Content-Encoding");

        if (read_metadata(t, req) < 0)
                return cay_fail(err, CAY_INVALID, "X-Metadata: more than %u bytes", METADATA_MAX);
        t->is_form = cay_multipart_init(&t->form, type);
        if (!t->is_form && (!type || strncasecmp(type, "application/octet-stream", 24) != 0))
                return cay_fail(err, CAY_INVALID,
                                "Content-Type: must be multipart/form-data or application/octet-stream");
        if (!t->is_form && !t->has_path)
                return cay_fail(err, CAY_INVALID, "path: required");
        if (packed && strcasecmp(packed, "gzip") != 0 && strcasecmp(packed, "identity") != 0)
                return cay_fail(err, CAY_INVALID, "Content-Encoding: must be gzip");
        if (packed && strcasecmp(packed, "gzip") == 0) {
                t->unpacker = cay_unpacker_new(CAY_PACK_GZIP, t->q->world->config->max_body);
                if (!t->unpacker)
                        return cay_fail(err, CAY_UNAVAILABLE, "no memory for this request");
        }
        cay_buf_init(&t->in, PIECE);
        cay_buf_init(&t->plain, 8 * PIECE);
        cay_buf_init(&t->answer, ANSWER_MAX);
        e2b_charge(t->q, &t->in);
        e2b_charge(t->q, &t->plain);
        e2b_charge(t->q, &t->answer);
        cay_json_init(&t->files, &t->answer);
        cay_json_begin_array(&t->files);
        return 0;
}

static void run_upload(struct e2b_request *q)
{
        struct cay_error err = { 0 };
        struct transfer *t;

        if (check_signature(q) < 0)
                return;
        t = new_transfer(q);
        if (!t)
                return;
        if (begin_upload(t, &err) < 0) {
                e2b_fail(q, &err);
                return;
        }
        q->on_body = on_body;
        q->on_body_end = on_body_end;
        if (cay_http_request_read(q->req, q->world->config->max_body, 0) < 0)
                e2b_refuse_status(q, 413, "the body is larger than max_body allows");
}

static const struct e2b_row rows[] = {
        { "GET /files", run_download, E2B_FORM_REST, E2B_OWN_AUTH },
        { "POST /files", run_upload, E2B_FORM_REST, E2B_OWN_AUTH | E2B_RAW_BODY },
};

const struct e2b_rows e2b_files_rows = { rows, CAY_COUNT(rows) };
