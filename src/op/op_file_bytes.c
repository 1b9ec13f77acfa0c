/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes in and out: files and archives of any size in constant memory. Out: what the box sends is acknowledged only as it leaves, so
 * a slow client slows the box. In: the body is taken as the box's window has room. Facts of a file that is read are asked for
 * first (one more round trip inside the box), so that its length and range are known in the answer's head; a file that shrinks
 * meanwhile ends the stream short, which the client notices.
 */
#include <string.h>

#include "op/files.h"

struct args {
        const char *id, *path, *mode;
        uint64_t offset, length;
        bool parents, exclusive, append, as_root, has_offset, has_length;
};

struct range {
        uint64_t from, length, total;
};

struct flow {
        struct cay_op_channel base;
        unsigned kind;      /* enum cay_box_kind */
        struct range range; /* of a file that is read */
        uint64_t unacked;   /* written to the client, not yet acknowledged to the box */
        bool begun;         /* the answer's head is out */
        bool body_over;
};

#define FIELD_ID CAY_OP_SANDBOX_FIELD(struct args, id)
#define FIELD_PATH(text) CAY_OP_PATH_FIELD(struct args, path, text)
#define FIELD_ROOT CAY_OP_USER_FIELD(struct args, as_root)

static struct flow *begin(struct cay_op_call *c)
{
        struct flow *s = calloc(1, sizeof(*s));

        if (!s)
                cay_op_fail_memory(c);
        return s;
}

/* Out: the head goes out with the first byte or with the end, so that what cannot be opened is an error and no stream. */

static int begin_out(struct flow *s)
{
        struct cay_op_call *c = s->base.call;
        const struct args *a = c->args;
        const char *slash = strrchr(a->path, '/');
        const struct cay_op_bytes file = {
                .type = "application/octet-stream",
                .length = s->range.length,
                .is_part = a->has_offset || a->has_length,
                .from = s->range.from,
                .total = s->range.total,
                .name = slash ? slash + 1 : a->path,
        };
        const struct cay_op_bytes archive = { .type = "application/x-tar",
                                              .length = CAY_OP_UNKNOWN_LENGTH,
                                              .name = "archive.tar" };

        s->begun = true;
        return c->doors->begin_bytes(c, s->kind == CAY_BOX_TAR_OUT ? &archive : &file);
}

static void drop(struct flow *s)
{
        struct cay_op_call *c = cay_op_channel_finish(&s->base);

        c->doors->abort(c);
}

static void on_out(struct cay_service_channel *ch, const void *bytes, size_t len)
{
        struct flow *s = cay_container_of(ch, struct flow, base.ch);
        struct cay_op_call *c = s->base.call;
        ssize_t queued = -1;

        if (s->kind == CAY_BOX_READ && s->range.length == 0)
                len = 0;
        if (s->begun || begin_out(s) == 0)
                queued = c->doors->write(c, bytes, len);
        s->unacked += len;
        if (queued < 0) {
                drop(s);
        } else if (queued < (ssize_t)CAY_OP_HIGH) {
                cay_service_channel_ack(ch, s->unacked);
                s->unacked = 0;
        }
}

static void on_drain(struct cay_op_call *c)
{
        struct flow *s = c->state;

        if (s->unacked == 0)
                return;
        cay_service_channel_ack(&s->base.ch, s->unacked);
        s->unacked = 0;
}

/* A failure in the middle can only be told by ending short of what was announced. */
static void on_out_end(struct cay_service_channel *ch, const struct cay_box_end *end,
                       const struct cay_error *err)
{
        struct flow *s = cay_container_of(ch, struct flow, base.ch);
        bool failed = err && err->code != CAY_OK;
        struct cay_op_call *c;

        (void)end;
        if (failed && !s->begun) {
                cay_op_channel_fail(&s->base, err);
        } else if (failed || (!s->begun && begin_out(s) < 0)) {
                drop(s);
        } else {
                c = cay_op_channel_finish(&s->base);
                c->doors->end(c);
        }
}

static void run_out(struct cay_op_call *c, const struct cay_box_open *open, const struct range *range)
{
        const struct args *a = c->args;
        struct flow *s = begin(c);

        if (!s)
                return;
        s->kind = open->kind;
        if (range)
                s->range = *range;
        s->base.ch.on_data = on_out;
        s->base.ch.on_end = on_out_end;
        if (cay_op_channel_open(&s->base, c, a->id, open) == 0)
                c->on_drain = on_drain;
}

/* Reading a file: STAT, then READ on the same state. */

static const struct cay_field read_fields[] = {
        FIELD_ID,
        FIELD_PATH("file; below the workspace unless it starts with /"),
        { "offset", CAY_FIELD_U64, offsetof(struct args, offset), 0, "first byte", .max = INT64_MAX,
          .given = CAY_FIELD_GIVEN(struct args, has_offset) },
        { "length", CAY_FIELD_U64, offsetof(struct args, length), 0, "at most so many bytes",
          .max = INT64_MAX, .given = CAY_FIELD_GIVEN(struct args, has_length) },
        FIELD_ROOT,
        {},
};

static int find_range(const struct args *a, const struct cay_box_stat *st, struct range *ret,
                      struct cay_error *err)
{
        if (st->type != CAY_FILE_REGULAR)
                return cay_fail(err, CAY_INVALID, "path: it is no plain file");
        if (a->offset > st->size || (a->has_offset && a->offset == st->size && st->size > 0))
                return cay_fail(err, CAY_INVALID, "offset: the file has %llu bytes",
                                (unsigned long long)st->size);
        ret->from = a->offset;
        ret->total = st->size;
        ret->length = st->size - a->offset;
        if (a->has_length && a->length < ret->length)
                ret->length = a->length;
        return 0;
}

static void on_stat_end(struct cay_service_channel *ch, const struct cay_box_end *end,
                        const struct cay_error *err)
{
        struct flow *s = cay_container_of(ch, struct flow, base.ch);
        struct cay_op_call *c = s->base.call;
        const struct args *a = c->args;
        struct cay_error bad = { 0 };
        struct cay_box_open open;
        struct range range = { 0 };

        if (err && err->code != CAY_OK) {
                cay_op_channel_fail(&s->base, err);
                return;
        }
        if (find_range(c->args, &end->file.stat, &range, &bad) < 0) {
                cay_op_channel_fail(&s->base, &bad);
                return;
        }
        cay_op_channel_finish(&s->base);
        c->on_gone = NULL;
        open = cay_op_file_open(CAY_BOX_READ, a->path, a->as_root);
        open.file.offset = range.from;
        open.file.max_bytes = range.length > 0 ? range.length : 1; /* 0 would be all of it */
        run_out(c, &open, &range);
}

static void run_read(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_STAT, a->path, a->as_root);
        struct flow *s = begin(c);

        if (!s)
                return;
        open.file.flags = CAY_BOX_FOLLOW;
        s->base.ch.on_end = on_stat_end;
        cay_op_channel_open(&s->base, c, a->id, &open);
}

const struct cay_op cay_op_file_read = {
        .name = "file_read",
        .route = "GET /api/sandboxes/{id}/files",
        .doc = "A file's bytes, or a range of them",
        .scope = CAY_SCOPE_READ,
        .flags = CAY_OP_STREAM,
        .fields = read_fields,
        .args_size = sizeof(struct args),
        .run = run_read,
};

static const struct cay_field archive_get_fields[] = {
        FIELD_ID,
        FIELD_PATH("file or folder to pack"),
        FIELD_ROOT,
        {},
};

static void run_archive_get(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_TAR_OUT, a->path, a->as_root);

        run_out(c, &open, NULL);
}

const struct cay_op cay_op_archive_get = {
        .name = "archive_get",
        .route = "GET /api/sandboxes/{id}/archive",
        .doc = "A file or folder as a tar archive",
        .scope = CAY_SCOPE_READ,
        .flags = CAY_OP_STREAM,
        .fields = archive_get_fields,
        .args_size = sizeof(struct args),
        .run = run_archive_get,
};

/* In */

static size_t on_body(struct cay_op_call *c, const void *bytes, size_t len)
{
        struct flow *s = c->state;

        return cay_service_channel_write(&s->base.ch, bytes, len);
}

static void on_body_end(struct cay_op_call *c)
{
        struct flow *s = c->state;

        s->body_over = true;
        cay_service_channel_write_eof(&s->base.ch);
}

static void on_room(struct cay_service_channel *ch)
{
        struct flow *s = cay_container_of(ch, struct flow, base.ch);

        if (!s->body_over)
                s->base.call->doors->resume(s->base.call);
}

static void on_in_end(struct cay_service_channel *ch, const struct cay_box_end *end,
                      const struct cay_error *err)
{
        struct flow *s = cay_container_of(ch, struct flow, base.ch);
        const struct args *a = s->base.call->args;
        struct cay_op_json o;

        if (err && err->code != CAY_OK) {
                cay_op_channel_fail(&s->base, err);
                return;
        }
        cay_op_json_begin(&o);
        cay_op_key_text(&o.j, "path", a->path);
        cay_op_key_u64(&o.j, "bytes", end->file.bytes);
        if (s->kind == CAY_BOX_TAR_IN)
                cay_op_key_u64(&o.j, "entries", end->file.entries);
        cay_op_json_answer(&o, cay_op_channel_finish(&s->base), CAY_OP_OK);
}

static void run_in(struct cay_op_call *c, const struct cay_box_open *open)
{
        const struct args *a = c->args;
        struct flow *s = begin(c);
        struct cay_error err = { 0 };

        if (!s)
                return;
        s->kind = open->kind;
        s->base.ch.on_end = on_in_end;
        s->base.ch.on_room = on_room;
        if (cay_op_channel_open(&s->base, c, a->id, open) < 0)
                return;
        c->on_body = on_body;
        c->on_body_end = on_body_end;
        if (c->doors->read(c) < 0) {
                cay_fail(&err, CAY_LIMIT, "the body is larger than max_body allows");
                cay_op_channel_fail(&s->base, &err);
        }
}

static const struct cay_field write_fields[] = {
        FIELD_ID,
        FIELD_PATH("file; below the workspace unless it starts with /"),
        { "mode", CAY_FIELD_TEXT, offsetof(struct args, mode), 0,
          "permission bits of a new file in octal; default 0644", .max = 5 },
        { "offset", CAY_FIELD_U64, offsetof(struct args, offset), 0,
          "write from this byte on and keep the rest; without it the file is replaced", .max = INT64_MAX,
          .given = CAY_FIELD_GIVEN(struct args, has_offset) },
        { "append", CAY_FIELD_BOOL, offsetof(struct args, append), 0, "write behind what is there" },
        { "exclusive", CAY_FIELD_BOOL, offsetof(struct args, exclusive), 0, "fail if it is there already" },
        { "parents", CAY_FIELD_BOOL, offsetof(struct args, parents), 0, "make missing folders above it" },
        FIELD_ROOT,
        {},
};

static int fill_write(const struct args *a, struct cay_box_file *file, struct cay_error *err)
{
        if (a->append && a->has_offset)
                return cay_fail(err, CAY_INVALID, "offset: does not go with append");
        file->mode = 0644;
        if (a->mode && cay_op_parse_mode(a->mode, &file->mode, err) < 0)
                return -1;
        file->offset = a->offset;
        file->flags = (a->append       ? CAY_BOX_APPEND
                       : a->has_offset ? 0
                                       : CAY_BOX_TRUNCATE) |
                      (a->exclusive ? CAY_BOX_EXCLUSIVE : 0) | (a->parents ? CAY_BOX_PARENTS : 0);
        return 0;
}

static void run_write(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_WRITE, a->path, a->as_root);
        struct cay_error err = { 0 };

        if (fill_write(a, &open.file, &err) < 0)
                cay_op_fail(c, &err, NULL);
        else
                run_in(c, &open);
}

const struct cay_op cay_op_file_write = {
        .name = "file_write",
        .route = "PUT /api/sandboxes/{id}/files",
        .doc = "Writes the body to a file",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_RAW_IN,
        .fields = write_fields,
        .args_size = sizeof(struct args),
        .run = run_write,
};

static const struct cay_field archive_put_fields[] = {
        FIELD_ID,
        FIELD_PATH("folder to unpack in"),
        FIELD_ROOT,
        {},
};

static void run_archive_put(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_TAR_IN, a->path, a->as_root);

        run_in(c, &open);
}

const struct cay_op cay_op_archive_put = {
        .name = "archive_put",
        .route = "PUT /api/sandboxes/{id}/archive",
        .doc = "Unpacks the body, a tar archive, in a folder",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_RAW_IN,
        .fields = archive_put_fields,
        .args_size = sizeof(struct args),
        .run = run_archive_put,
};
