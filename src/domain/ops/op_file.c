/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File operations that are answered with one JSON object: stat, mkdir, move, remove, list; and the process
 * list.
 */
#include <errno.h>
#include <string.h>

#include "domain/ops/files.h"
#include "domain/ops/view.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/results.h"

#define LIST_DEFAULT 1000u
#define LIST_MAX 10000u
#define PROCESSES_MAX (4u * 1024 * 1024)

struct args {
        const char *id, *path, *to, *mode;
        uint64_t offset, max;
        bool parents, recursive, follow, no_replace, sorted, as_root, with_metadata;
};

struct work {
        struct cay_op_channel base;
        struct cay_op_result o;
        struct cay_buf rest; /* of a LIST: bytes of an incomplete entry; of PROCESSES: all */
        struct cay_error bad;
};

#define FIELD_ID CAY_OP_SANDBOX_FIELD(struct args, id)
#define FIELD_PATH(text) CAY_OP_PATH_FIELD(struct args, path, text)
#define FIELD_ROOT CAY_OP_USER_FIELD(struct args, as_root)
#define FIELD_METADATA                                                                                       \
        {                                                                                                    \
                "metadata", CAY_FIELD_BOOL, offsetof(struct args, with_metadata), 0,                         \
                        "show the metadata that files were written with"                                     \
        }

static void work_done(struct cay_op_channel *base)
{
        struct work *s = cay_container_of(base, struct work, base);

        cay_buf_done(&s->rest);
        cay_op_result_done(&s->o);
}

static void on_end(struct cay_service_channel *ch, const struct cay_box_end *end, const struct cay_error *err)
{
        struct work *s = cay_container_of(ch, struct work, base.ch);

        if (err && err->code != CAY_OK) {
                cay_op_channel_fail(&s->base, err);
                return;
        }
        cay_op_put_stat(&s->o.j, &end->file.stat);
        cay_op_result_answer(&s->o, cay_op_channel_finish(&s->base), CAY_OP_OK);
}

static struct work *begin(struct cay_op_call *c)
{
        struct work *s = cay_op_alloc(c, sizeof(*s));

        if (!s)
                return NULL;
        s->base.done = work_done;
        s->base.ch.on_end = on_end;
        cay_op_result_begin(&s->o, c);
        return s;
}

static void run_one(struct cay_op_call *c, const struct cay_box_open *open)
{
        const struct args *a = c->args;
        struct work *s = begin(c);

        if (s)
                cay_op_channel_open(&s->base, c, a->id, open);
}

/* stat */

static const struct cay_field stat_fields[] = {
        FIELD_ID,
        FIELD_PATH("file or folder; below the workspace unless it starts with /"),
        { "follow", CAY_FIELD_BOOL, offsetof(struct args, follow), 0, "follow a symbolic link" },
        FIELD_METADATA,
        FIELD_ROOT,
        {},
};

static void run_stat(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_STAT, a->path, a->as_root);

        open.file.flags = (a->follow ? CAY_BOX_FOLLOW : 0u) | (a->with_metadata ? CAY_BOX_ATTRIBUTES : 0u);
        run_one(c, &open);
}

const struct cay_op cay_op_file_stat = {
        .name = "file_stat",
        .route = "GET /api/sandboxes/{id}/files/stat",
        .doc = "Shows the attributes of a file",
        .scope = CAY_SCOPE_READ,
        .flags = CAY_OP_INSIDE,
        .fields = stat_fields,
        .args_size = sizeof(struct args),
        .result = &cay_result_file,
        .run = run_stat,
};

/* mkdir, move, remove: answered with what was done, because init only reports success */

static void on_done_end(struct cay_service_channel *ch, const struct cay_box_end *end,
                        const struct cay_error *err)
{
        struct work *s = cay_container_of(ch, struct work, base.ch);

        if (err && err->code != CAY_OK) {
                cay_op_channel_fail(&s->base, err);
                return;
        }
        cay_op_key_u64(&s->o.j, "entries", end->file.entries);
        cay_op_result_answer(&s->o, cay_op_channel_finish(&s->base), CAY_OP_OK);
}

static void run_change(struct cay_op_call *c, const struct cay_box_open *open)
{
        const struct args *a = c->args;
        struct work *s = begin(c);

        if (!s)
                return;
        s->base.ch.on_end = on_done_end;
        cay_op_put_bytes(&s->o.j, "path", "path_base64", a->path, strlen(a->path));
        cay_op_channel_open(&s->base, c, a->id, open);
}

static const struct cay_field mkdir_fields[] = {
        FIELD_ID,
        FIELD_PATH("folder to create"),
        { "parents", CAY_FIELD_BOOL, offsetof(struct args, parents), 0,
          "create missing parent folders, and succeed if it exists" },
        { "mode", CAY_FIELD_TEXT, offsetof(struct args, mode), 0, "permission bits in octal; default 0755",
          .max = 5 },
        FIELD_ROOT,
        {},
};

static void run_mkdir(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_MKDIR, a->path, a->as_root);
        struct cay_error err = { 0 };

        open.file.flags = a->parents ? CAY_BOX_PARENTS : 0;
        open.file.mode = 0755;
        if (a->mode && cay_op_parse_mode(a->mode, &open.file.mode, &err) < 0)
                cay_op_fail(c, &err, "mode");
        else
                run_change(c, &open);
}

RESULT(result_changed, NULL, IF("path", TEXT), IF("path_base64", TEXT), NUMBER("entries"));

const struct cay_op cay_op_file_mkdir = {
        .name = "file_mkdir",
        .route = "POST /api/sandboxes/{id}/files/mkdir",
        .doc = "Creates a folder",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_INSIDE,
        .fields = mkdir_fields,
        .args_size = sizeof(struct args),
        .result = &result_changed,
        .run = run_mkdir,
};

static const struct cay_field move_fields[] = {
        FIELD_ID,
        FIELD_PATH("file or folder to move"),
        { "to", CAY_FIELD_TEXT, offsetof(struct args, to), CAY_FIELD_REQUIRED | CAY_FIELD_BYTES,
          "its new path", .min = 1, .max = CAY_BOX_PATH_MAX - 1 },
        { "no_replace", CAY_FIELD_BOOL, offsetof(struct args, no_replace), 0, "fail if the target exists" },
        FIELD_ROOT,
        {},
};

static void run_move(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_MOVE, a->path, a->as_root);

        open.file.path2 = (struct cay_view){ a->to, (uint32_t)strlen(a->to) };
        open.file.flags = a->no_replace ? CAY_BOX_EXCLUSIVE : 0;
        run_change(c, &open);
}

const struct cay_op cay_op_file_move = {
        .name = "file_move",
        .route = "POST /api/sandboxes/{id}/files/move",
        .doc = "Moves or renames a file or folder",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_INSIDE,
        .fields = move_fields,
        .args_size = sizeof(struct args),
        .result = &result_changed,
        .tool = CAY_TOOL("Move a file", "Moves or renames a file or folder; replaces a file that is there.",
                         "move_path", CAY_TOOL_DESTROYS,
                         CAY_TOOL_PARAMS({ "path", "path", "What to move.", NULL, true,
                                           "source from old_path src" },
                                         { "to", "to", "Its new path.", NULL, true,
                                           "destination new_path dst dest" })),
        .run = run_move,
};

static const struct cay_field remove_fields[] = {
        FIELD_ID,
        FIELD_PATH("file or folder to remove"),
        { "recursive", CAY_FIELD_BOOL, offsetof(struct args, recursive), 0,
          "remove a folder with its content" },
        FIELD_ROOT,
        {},
};

static void run_remove(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_REMOVE, a->path, a->as_root);

        open.file.flags = a->recursive ? CAY_BOX_RECURSIVE : 0;
        run_change(c, &open);
}

const struct cay_op cay_op_file_remove = {
        .name = "file_remove",
        .route = "DELETE /api/sandboxes/{id}/files",
        .doc = "Removes a file, a link or a folder",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_DESTRUCTIVE | CAY_OP_INSIDE,
        .fields = remove_fields,
        .args_size = sizeof(struct args),
        .result = &result_changed,
        .tool = CAY_TOOL("Delete a file", "Deletes a file or folder.", "delete_path", CAY_TOOL_REPEATS,
                         CAY_TOOL_PARAMS({ "path", "path", "What to delete.", NULL, true,
                                           CAY_TOOL_PATH_WORDS },
                                         { "recursive", "recursive", "A folder with all in it." })),
        .run = run_remove,
};

/* list */

static const struct cay_field list_fields[] = {
        FIELD_ID,
        FIELD_PATH("folder"),
        { "recursive", CAY_FIELD_BOOL, offsetof(struct args, recursive), 0,
          "list everything below it; names are then paths" },
        { "offset", CAY_FIELD_U64, offsetof(struct args, offset), 0, "skip this many entries",
          .max = INT64_MAX },
        { "limit", CAY_FIELD_U64, offsetof(struct args, max), 0, "at most this many; default 1000", .min = 1,
          .max = LIST_MAX },
        { "sorted", CAY_FIELD_BOOL, offsetof(struct args, sorted), 0,
          "sort by name, with a folder's content after it; at most 50000 entries" },
        FIELD_METADATA,
        FIELD_ROOT,
        {},
};

/* Entries are written as they arrive; a part at the end of a piece waits for the next one. */
static void on_entries(struct cay_service_channel *ch, const void *bytes, size_t len)
{
        struct work *s = cay_container_of(ch, struct work, base.ch);
        struct cay_box_stat st;
        int n = 0;

        cay_op_channel_ack(&s->base, len);
        if (cay_buf_put(&s->rest, bytes, len) < 0)
                n = -ENOSPC;
        while (n >= 0 && (n = cay_box_entry_decode(cay_buf_data(&s->rest), s->rest.len, &st)) > 0) {
                cay_json_begin_object(&s->o.j);
                cay_op_put_stat(&s->o.j, &st);
                cay_json_end_object(&s->o.j);
                cay_buf_drop(&s->rest, (size_t)n);
        }
        if (n < 0) {
                cay_fail(&s->bad, CAY_INTERNAL, "the sandbox sent an invalid list");
                cay_op_channel_fail(&s->base, &s->bad);
        }
}

static void on_list_end(struct cay_service_channel *ch, const struct cay_box_end *end,
                        const struct cay_error *err)
{
        struct work *s = cay_container_of(ch, struct work, base.ch);
        const struct args *a = s->base.call->args;

        if (err && err->code != CAY_OK) {
                cay_op_channel_fail(&s->base, err);
                return;
        }
        cay_json_end_array(&s->o.j);
        cay_op_key_bool(&s->o.j, "more", end->file.entries >= (a->max ? a->max : LIST_DEFAULT));
        cay_op_result_answer(&s->o, cay_op_channel_finish(&s->base), CAY_OP_OK);
}

static void run_list(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_LIST, a->path, a->as_root);
        struct work *s = begin(c);

        if (!s)
                return;
        open.file.flags = (a->recursive ? CAY_BOX_RECURSIVE : 0u) | (a->sorted ? CAY_BOX_SORTED : 0u) |
                          (a->with_metadata ? CAY_BOX_ATTRIBUTES : 0u);
        open.file.offset = a->offset;
        open.file.max_entries = a->max ? a->max : LIST_DEFAULT;
        cay_buf_init(&s->rest, CAY_BOX_ENTRY_MAX + CAY_BOX_WINDOW_MAX);
        s->base.ch.on_data = on_entries;
        s->base.ch.on_end = on_list_end;
        cay_op_put_bytes(&s->o.j, "path", "path_base64", a->path, strlen(a->path));
        cay_json_key(&s->o.j, "entries");
        cay_json_begin_array(&s->o.j);
        cay_op_channel_open(&s->base, c, a->id, &open);
}

RESULT(result_files, NULL, IF("path", TEXT), IF("path_base64", TEXT), LIST("entries", cay_result_file),
       BOOL("more"));

const struct cay_op cay_op_file_list = {
        .name = "file_list",
        .route = "GET /api/sandboxes/{id}/files/list",
        .doc = "Lists a folder",
        .scope = CAY_SCOPE_READ,
        .flags = CAY_OP_INSIDE,
        .fields = list_fields,
        .args_size = sizeof(struct args),
        .result = &result_files,
        .run = run_list,
};

/* The process list: lines of text, each an object here. */

static const struct cay_field process_fields[] = { FIELD_ID, {} };

static void on_lines(struct cay_service_channel *ch, const void *bytes, size_t len)
{
        struct work *s = cay_container_of(ch, struct work, base.ch);

        cay_op_channel_ack(&s->base, len);
        if (cay_buf_put(&s->rest, bytes, len) < 0) {
                cay_fail(&s->bad, CAY_LIMIT, "the list of processes is longer than %u bytes", PROCESSES_MAX);
                cay_op_channel_fail(&s->base, &s->bad);
        }
}

/* "S", or "S:CPU_MS:MEMORY_KIB"; an init from before an upgrade sends the state only. */
static void put_figures(struct cay_json *j, char *word)
{
        char *cpu = strchr(word, ':'), *memory = cpu ? strchr(cpu + 1, ':') : NULL;

        if (!memory)
                return;
        *cpu = '\0';
        cay_op_key_u64(j, "cpu_ms", strtoull(cpu + 1, NULL, 10));
        cay_op_key_u64(j, "memory_bytes", strtoull(memory + 1, NULL, 10) * 1024);
}

static void put_process(struct cay_json *j, char *line)
{
        static const char *const names[] = { "pid", "parent", "channel", "state" };
        char *save = NULL;

        cay_json_begin_object(j);
        for (unsigned i = 0; i < CAY_COUNT(names); i++) {
                char *word = strtok_r(i == 0 ? line : NULL, " ", &save);
                char *end = NULL;
                unsigned long long n = word ? strtoull(word, &end, 10) : 0;

                if (word && i == CAY_COUNT(names) - 1)
                        put_figures(j, word);
                cay_json_key(j, names[i]);
                if (word && *word && *end == '\0')
                        cay_json_u64(j, n);
                else
                        cay_json_text(j, word);
        }
        cay_op_key_text(j, "command", save);
        cay_json_end_object(j);
}

static void on_lines_end(struct cay_service_channel *ch, const struct cay_box_end *end,
                         const struct cay_error *err)
{
        struct work *s = cay_container_of(ch, struct work, base.ch);
        char *save = NULL;

        (void)end;
        if (err && err->code != CAY_OK) {
                cay_op_channel_fail(&s->base, err);
                return;
        }
        for (char *line = strtok_r(cay_buf_data(&s->rest), "\n", &save); line;
             line = strtok_r(NULL, "\n", &save))
                put_process(&s->o.j, line);
        cay_json_end_array(&s->o.j);
        cay_op_result_answer(&s->o, cay_op_channel_finish(&s->base), CAY_OP_OK);
}

static void run_processes(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_PROCESSES, NULL, false);
        struct work *s = begin(c);

        if (!s)
                return;
        cay_buf_init(&s->rest, PROCESSES_MAX);
        s->base.ch.on_data = on_lines;
        s->base.ch.on_end = on_lines_end;
        cay_json_key(&s->o.j, "processes");
        cay_json_begin_array(&s->o.j);
        cay_op_channel_open(&s->base, c, a->id, &open);
}

RESULT(result_process, "Process", IF("cpu_ms", NUMBER), IF("memory_bytes", NUMBER), MAYBE("pid", EITHER),
       MAYBE("parent", EITHER), MAYBE("channel", EITHER), MAYBE("state", EITHER), MAYBE("command", TEXT));
RESULT(result_processes, NULL, LIST("processes", result_process));

const struct cay_op cay_op_process_list = {
        .name = "process_list",
        .route = "GET /api/sandboxes/{id}/processes",
        .doc = "Lists the processes of a sandbox, with processor time and memory of each",
        .scope = CAY_SCOPE_READ,
        .flags = CAY_OP_INSIDE,
        .fields = process_fields,
        .args_size = sizeof(struct args),
        .result = &result_processes,
        .run = run_processes,
};
