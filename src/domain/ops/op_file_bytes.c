/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes a file's bytes. A read asks for the file's facts first (one more round trip inside the
 * box), so that length and range are in the answer's head. If the file shrinks meanwhile, the stream ends
 * early, and the client notices.
 */
#include <string.h>

#include "domain/ops/file_bytes_args.h"
#include "domain/ops/op_file_flow.h"
#include "domain/ops/pairs.h"
#include "domain/ops/view.h"
#include "domain/ops/result_rows.h"

struct range {
        uint64_t from, length, total;
};

#define METADATA_MAX 64u

#define FIELD_ID CAY_OP_SANDBOX_FIELD(struct cay_file_bytes_args, id)
#define FIELD_PATH(text) CAY_OP_PATH_FIELD(struct cay_file_bytes_args, path, text)
#define FIELD_ROOT CAY_OP_USER_FIELD(struct cay_file_bytes_args, as_root)

static struct cay_op_flow *begin(struct cay_op_call *c)
{
        struct cay_op_flow *f = calloc(1, sizeof(*f));

        if (!f)
                cay_op_fail_memory(c);
        return f;
}

/* Reading: STAT, then READ on a new state. */

static const struct cay_field read_fields[] = {
        FIELD_ID,
        FIELD_PATH("file; below the workspace unless it starts with /"),
        { "offset", CAY_FIELD_U64, offsetof(struct cay_file_bytes_args, offset), 0, "first byte",
          .max = INT64_MAX, .given = CAY_FIELD_GIVEN(struct cay_file_bytes_args, has_offset) },
        { "length", CAY_FIELD_U64, offsetof(struct cay_file_bytes_args, length), 0, "at most this many bytes",
          .max = INT64_MAX, .given = CAY_FIELD_GIVEN(struct cay_file_bytes_args, has_length) },
        { "tail", CAY_FIELD_U64, offsetof(struct cay_file_bytes_args, tail), 0,
          "only the last this many bytes", .max = INT64_MAX,
          .given = CAY_FIELD_GIVEN(struct cay_file_bytes_args, has_tail) },
        FIELD_ROOT,
        {},
};

static int outside(struct cay_op_call *c, const char *field, uint64_t size, struct cay_error *err)
{
        c->is_outside = true;
        c->total = size;
        return cay_fail(err, CAY_INVALID, "%s: the file has %llu bytes", field, (unsigned long long)size);
}

static int find_range(struct cay_op_call *c, const struct cay_box_stat *st, struct range *ret,
                      struct cay_error *err)
{
        const struct cay_file_bytes_args *a = c->args;

        if (st->type != CAY_FILE_REGULAR)
                return cay_fail_because(err, CAY_INVALID, CAY_REASON_NOT_A_FILE, "path: not a plain file");
        if (a->offset > st->size || (a->has_offset && a->offset == st->size && st->size > 0))
                return outside(c, "offset", st->size, err);
        if (a->has_tail && a->tail == 0)
                return outside(c, "tail", st->size, err);
        ret->from = a->has_tail && a->tail < st->size ? st->size - a->tail : a->offset;
        ret->total = st->size;
        ret->length = st->size - ret->from;
        if (a->has_length && a->length < ret->length)
                ret->length = a->length;
        return 0;
}

static void read_range(struct cay_op_call *c, const struct range *range)
{
        const struct cay_file_bytes_args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_READ, a->path, a->as_root);
        const char *slash = strrchr(a->path, '/');
        struct cay_op_flow *f = begin(c);

        if (!f)
                return;
        f->head = (struct cay_op_bytes){ .type = "application/octet-stream",
                                         .length = range->length,
                                         .is_part = a->has_offset || a->has_length || a->has_tail,
                                         .from = range->from,
                                         .total = range->total,
                                         .name = slash ? slash + 1 : a->path };
        f->is_empty = range->length == 0;
        open.file.offset = range->from;
        open.file.max_bytes = range->length > 0 ? range->length : 1; /* 0 would be all of it */
        cay_op_flow_out_take(f, c, a->id, &open);
}

static void on_stat_end(struct cay_service_channel *ch, const struct cay_box_end *end,
                        const struct cay_error *err)
{
        struct cay_op_channel *s = cay_container_of(ch, struct cay_op_channel, ch);
        struct cay_op_call *c = s->call;
        struct cay_error bad = { 0 };
        struct range range = { 0 };

        if (err && err->code != CAY_OK) {
                cay_op_channel_fail(s, err);
                return;
        }
        if (find_range(c, &end->file.stat, &range, &bad) < 0) {
                cay_op_channel_fail(s, &bad);
                return;
        }
        cay_op_channel_finish(s);
        c->on_gone = NULL;
        read_range(c, &range);
}

static void run_read(struct cay_op_call *c)
{
        const struct cay_file_bytes_args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_STAT, a->path, a->as_root);
        struct cay_op_channel *s;
        struct cay_error err = { 0 };

        if (a->has_tail && (a->has_offset || a->has_length)) {
                cay_fail(&err, CAY_INVALID, "tail: excludes offset and length");
                cay_op_fail(c, &err, NULL);
                return;
        }
        s = cay_op_alloc(c, sizeof(*s));
        if (!s)
                return;
        open.file.flags = CAY_BOX_FOLLOW;
        s->ch.on_end = on_stat_end;
        cay_op_channel_open(s, c, a->id, &open);
}

const struct cay_op cay_op_file_read = {
        .name = "file_read",
        .route = "GET /api/sandboxes/{id}/files",
        .doc = "Returns a file's bytes, or a range of them",
        .scope = CAY_SCOPE_READ,
        .flags = CAY_OP_STREAM | CAY_OP_BYTES | CAY_OP_INSIDE,
        .fields = read_fields,
        .args_size = sizeof(struct cay_file_bytes_args),
        .bytes = "application/octet-stream",
        .run = run_read,
};

/* Writing */

static const struct cay_field write_fields[] = {
        FIELD_ID,
        FIELD_PATH("file; below the workspace unless it starts with /"),
        { "mode", CAY_FIELD_TEXT, offsetof(struct cay_file_bytes_args, mode), 0,
          "permission bits of a new file in octal; default 0644", .max = 5 },
        { "offset", CAY_FIELD_U64, offsetof(struct cay_file_bytes_args, offset), 0,
          "write from this byte on and keep the rest; default: replace the file", .max = INT64_MAX,
          .given = CAY_FIELD_GIVEN(struct cay_file_bytes_args, has_offset) },
        { "append", CAY_FIELD_BOOL, offsetof(struct cay_file_bytes_args, append), 0, "append to the file" },
        { "exclusive", CAY_FIELD_BOOL, offsetof(struct cay_file_bytes_args, exclusive), 0,
          "fail if it exists" },
        { "parents", CAY_FIELD_BOOL, offsetof(struct cay_file_bytes_args, parents), 0,
          "create missing parent folders" },
        { "if_tag", CAY_FIELD_TEXT, offsetof(struct cay_file_bytes_args, if_tag), 0,
          "write only if the file still has this tag (from file_stat or file_list); otherwise 409", .min = 1,
          .max = CAY_OP_FILE_TAG - 1 },
        { "metadata", CAY_FIELD_TEXT, offsetof(struct cay_file_bytes_args, metadata), 0,
          "all the metadata that the file shall have: key=value pairs with & between them, encoded (%20), of "
          "printable ASCII; file_stat and file_list show it",
          .max = CAY_OP_FILE_METADATA },
        FIELD_ROOT,
        {},
};

/* Parses a tag of cay_op_file_tag. 0: invalid; no file has that. */
static uint64_t parse_tag(const char *text)
{
        unsigned long long mtime_ns, size;
        char end;

        return sscanf(text, "%llx-%llx%c", &mtime_ns, &size, &end) == 2 ? cay_box_file_tag(mtime_ns, size)
                                                                        : 0;
}

struct writing { /* with metadata */
        struct cay_op_flow flow;
        char attributes[CAY_BOX_PATH_MAX]; /* as links/box/message.h says */
};

static int put_attribute(struct writing *w, const struct cay_field_pair *pair, struct cay_error *err)
{
        size_t len = strlen(w->attributes), room = sizeof(w->attributes) - len;
        const char *texts[] = { pair->name, pair->value };

        for (unsigned i = 0; i < 2; i++)
                for (const char *c = texts[i]; *c; c++)
                        if (*c < ' ' || *c > '~')
                                return cay_fail(err, CAY_INVALID, "metadata: '%.80s' is not printable ASCII",
                                                texts[i]);
        if (!pair->name[0] || strlen(pair->name) > CAY_OP_FILE_METADATA_NAME)
                return cay_fail(err, CAY_INVALID, "metadata: a name has 1 to %u characters",
                                CAY_OP_FILE_METADATA_NAME);
        if ((size_t)snprintf(w->attributes + len, room, "%s\t%s\n", pair->name, pair->value) >= room)
                return cay_fail(err, CAY_INVALID, "metadata: more than %zu bytes with names and values",
                                sizeof(w->attributes) - 1);
        return 0;
}

static int fill_attributes(struct writing *w, const char *text, struct cay_box_file *file,
                           struct cay_error *err)
{
        struct cay_field_pair pairs[METADATA_MAX];
        char room[CAY_OP_FILE_METADATA + 1];
        int count;

        snprintf(room, sizeof(room), "%s", text);
        count = cay_op_pairs_read(room, pairs, METADATA_MAX, "metadata", err);
        if (count < 0)
                return -1;
        for (int i = 0; i < count; i++)
                if (put_attribute(w, &pairs[i], err) < 0)
                        return -1;
        file->flags |= CAY_BOX_ATTRIBUTES;
        file->path2 = (struct cay_view){ w->attributes, (uint32_t)strlen(w->attributes) };
        return 0;
}

static int fill_write(const struct cay_file_bytes_args *a, struct cay_box_file *file, struct cay_error *err)
{
        if (a->append && a->has_offset)
                return cay_fail(err, CAY_INVALID, "offset: excludes append; set only one");
        file->mode = 0644;
        if (a->mode && cay_op_parse_mode(a->mode, &file->mode, err) < 0)
                return -1;
        file->offset = a->offset;
        file->max_entries = a->if_tag ? parse_tag(a->if_tag) : 0;
        file->flags = (a->append       ? CAY_BOX_APPEND
                       : a->has_offset ? 0
                                       : CAY_BOX_TRUNCATE) |
                      (a->exclusive ? CAY_BOX_EXCLUSIVE : 0) | (a->parents ? CAY_BOX_PARENTS : 0);
        return 0;
}

static void put_written(struct cay_op_flow *f, struct cay_json *j, const struct cay_box_end *end)
{
        const struct cay_file_bytes_args *a = f->base.call->args;
        char tag[CAY_OP_FILE_TAG];

        cay_op_put_bytes(j, "path", "path_base64", a->path, strlen(a->path));
        cay_op_key_u64(j, "bytes", end->file.bytes);
        cay_op_file_tag(&end->file.stat, tag);
        cay_op_key_text(j, "tag", tag);
}

static void take_body(struct cay_op_call *c)
{
        const struct cay_file_bytes_args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_WRITE, a->path, a->as_root);
        struct writing *w = calloc(1, sizeof(*w));
        struct cay_error err = { 0 };

        if (!w) {
                cay_op_fail_memory(c);
                return;
        }
        if (fill_write(a, &open.file, &err) < 0 ||
            (a->metadata && fill_attributes(w, a->metadata, &open.file, &err) < 0)) {
                free(w);
                cay_op_fail(c, &err, NULL);
                return;
        }
        w->flow.put_answer = put_written;
        cay_op_flow_in_take(&w->flow, c, a->id, &open);
}

/*
 * if_tag: first STAT, so that a useless body is not read, then WRITE on a new state, which checks again when
 * all bytes have arrived.
 */
static void on_tag_end(struct cay_service_channel *ch, const struct cay_box_end *end,
                       const struct cay_error *err)
{
        struct cay_op_channel *s = cay_container_of(ch, struct cay_op_channel, ch);
        struct cay_op_call *c = s->call;
        const struct cay_file_bytes_args *a = c->args;
        char tag[CAY_OP_FILE_TAG] = "";
        struct cay_error bad = { 0 };

        if (err && err->code != CAY_OK && err->code != CAY_NOT_FOUND) {
                cay_op_channel_fail(s, err);
                return;
        }
        if (!err || err->code == CAY_OK)
                cay_op_file_tag(&end->file.stat, tag);
        if (strcmp(tag, a->if_tag) != 0) {
                cay_fail(&bad, CAY_CONFLICT,
                         tag[0] ? "if_tag: the file was changed since; read it again, or write without if_tag"
                                : "if_tag: the file is gone; write without if_tag to make it");
                cay_op_fail(cay_op_channel_finish(s), &bad, "if_tag");
                return;
        }
        cay_op_channel_finish(s);
        c->on_gone = NULL;
        take_body(c);
}

static void run_write(struct cay_op_call *c)
{
        const struct cay_file_bytes_args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_STAT, a->path, a->as_root);
        struct cay_op_channel *s;

        if (!a->if_tag) {
                take_body(c);
                return;
        }
        s = cay_op_alloc(c, sizeof(*s));
        if (!s)
                return;
        open.file.flags = CAY_BOX_FOLLOW;
        s->ch.on_end = on_tag_end;
        cay_op_channel_open(s, c, a->id, &open);
}

RESULT(result_written, NULL, IF("path", TEXT), IF("path_base64", TEXT), NUMBER("bytes"), TEXT("tag"));

const struct cay_op cay_op_file_write = {
        .name = "file_write",
        .route = "PUT /api/sandboxes/{id}/files",
        .doc = "Writes the body to a file. A replaced file is unchanged until the body is complete",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_RAW_IN | CAY_OP_INSIDE,
        .fields = write_fields,
        .args_size = sizeof(struct cay_file_bytes_args),
        .result = &result_written,
        .run = run_write,
};
