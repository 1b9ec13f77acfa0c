/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees as tar archives, compressed with gzip or zstd on request. Between the box and us an archive is plain
 * tar.
 *
 * An archive is unpacked as it arrives. If it is damaged or truncated, the answer says so; the members before
 * that place exist, the incomplete one does not (the box removes it). A compressed stream ends with a
 * checksum: if that is wrong, all members exist. The unpacked size is bounded like a body (max_body) and, in
 * the box, by the sandbox's disk.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "domain/ops/op_file_flow.h"
#include "domain/ops/view.h"
#include "domain/ops/result_rows.h"

struct args {
        const char *id, *path, *format;
        bool parents, as_root;
};

static const char *const formats[] = {
        [CAY_PACK_NONE] = "tar", [CAY_PACK_GZIP] = "tar.gz", [CAY_PACK_ZSTD] = "tar.zst"
};

_Static_assert(CAY_COUNT(formats) == CAY_PACK_FORM_COUNT, "a word for every form");

#define FIELD_ID CAY_OP_SANDBOX_FIELD(struct args, id)
#define FIELD_PATH(text) CAY_OP_PATH_FIELD(struct args, path, text)
#define FIELD_ROOT CAY_OP_USER_FIELD(struct args, as_root)

static int find_form(const char *format, enum cay_pack_form *ret, struct cay_error *err)
{
        for (unsigned i = 0; i < CAY_COUNT(formats); i++) {
                if (strcmp(format, formats[i]) == 0) {
                        *ret = (enum cay_pack_form)i;
                        return 0;
                }
        }
        return cay_fail(err, CAY_INVALID, "format: '%.20s' must be tar, tar.gz or tar.zst", format);
}

struct archive {
        struct cay_op_flow flow;
        char name[NAME_MAX + 16]; /* a file name for saving it */
};

/* Named after its content; the root and the workspace have no name. */
static const char *name_archive(struct archive *f, const char *path)
{
        size_t len = strlen(path), at;

        while (len > 1 && path[len - 1] == '/')
                len--;
        for (at = len; at > 0 && path[at - 1] != '/';)
                at--;
        if (len - at == 0 || len - at > NAME_MAX || path[at] == '.' || path[at] == '/')
                snprintf(f->name, sizeof(f->name), "archive.%s", formats[f->flow.form]);
        else
                snprintf(f->name, sizeof(f->name), "%.*s.%s", (int)(len - at), path + at,
                         formats[f->flow.form]);
        return f->name;
}

static struct cay_op_flow *begin(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct archive *archive = calloc(1, sizeof(*archive));
        struct cay_op_flow *f = archive ? &archive->flow : NULL;
        struct cay_error err = { 0 };

        if (!f) {
                cay_op_fail_memory(c);
                return NULL;
        }
        if (a->format && find_form(a->format, &f->form, &err) < 0) {
                free(archive);
                cay_op_fail(c, &err, "format");
                return NULL;
        }
        return f;
}

static const struct cay_field get_fields[] = {
        FIELD_ID,
        FIELD_PATH("file or folder to pack"),
        { "format", CAY_FIELD_TEXT, offsetof(struct args, format), 0, "tar (default), tar.gz or tar.zst",
          .max = 20 },
        FIELD_ROOT,
        {},
};

static void run_get(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_TAR_OUT, a->path, a->as_root);
        struct cay_op_flow *f = begin(c);

        if (!f)
                return;
        f->head = (struct cay_op_bytes){
                .type = f->form == CAY_PACK_NONE ? "application/x-tar" : cay_pack_type(f->form),
                .length = CAY_OP_UNKNOWN_LENGTH,
                .name = name_archive(cay_container_of(f, struct archive, flow), a->path),
        };
        cay_op_flow_out_take(f, c, a->id, &open);
}

const struct cay_op cay_op_archive_get = {
        .name = "archive_get",
        .route = "GET /api/sandboxes/{id}/archive",
        .doc = "Returns a file or folder as a tar archive, optionally compressed",
        .scope = CAY_SCOPE_READ,
        .flags = CAY_OP_STREAM | CAY_OP_BYTES | CAY_OP_INSIDE,
        .fields = get_fields,
        .args_size = sizeof(struct args),
        .bytes = "application/x-tar application/gzip application/zstd",
        .run = run_get,
};

static const struct cay_field put_fields[] = {
        FIELD_ID,
        FIELD_PATH("folder to unpack into"),
        { "format", CAY_FIELD_TEXT, offsetof(struct args, format), 0,
          "tar, tar.gz or tar.zst; default: detected", .max = 20 },
        { "parents", CAY_FIELD_BOOL, offsetof(struct args, parents), 0,
          "create the folder and its missing parents" },
        FIELD_ROOT,
        {},
};

static void put_unpacked(struct cay_op_flow *f, struct cay_json *j, const struct cay_box_end *end)
{
        const struct args *a = f->base.call->args;

        cay_op_put_bytes(j, "path", "path_base64", a->path, strlen(a->path));
        cay_op_key_text(j, "format", formats[f->form]);
        cay_op_key_u64(j, "bytes", end->file.bytes);
        cay_op_key_u64(j, "entries", end->file.entries);
}

static void run_put(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_TAR_IN, a->path, a->as_root);
        struct cay_op_flow *f = begin(c);

        if (!f)
                return;
        open.file.flags = a->parents ? CAY_BOX_PARENTS : 0;
        f->sniffs = !a->format;
        f->put_answer = put_unpacked;
        cay_op_flow_in_take(f, c, a->id, &open);
}

RESULT(result_unpacked, NULL, IF("path", TEXT), IF("path_base64", TEXT), TEXT("format"), NUMBER("bytes"),
       NUMBER("entries"));

const struct cay_op cay_op_archive_put = {
        .name = "archive_put",
        .route = "PUT /api/sandboxes/{id}/archive",
        .doc = "Unpacks the body, a tar archive (plain, gzip or zstd), into a folder",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_RAW_IN | CAY_OP_INSIDE,
        .fields = put_fields,
        .args_size = sizeof(struct args),
        .result = &result_unpacked,
        .run = run_put,
};
