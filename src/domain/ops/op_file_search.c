/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds files by content (file_search) or by name (file_find). Init does all the work, as the sandbox's user,
 * with its own limits for time and memory. The pattern is checked here too, so that an error names its field
 * and costs the sandbox nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/pattern.h"
#include "links/box/match.h"
#include "domain/ops/files.h"
#include "domain/ops/view.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/results.h"

#define MATCHES_DEFAULT 200u
#define FOUND_DEFAULT 1000u
#define LIMIT_MAX 10000u
#define TEXT_MAX (1024u * 1024) /* of all lines and names in the answer */
#define TEXT_DEFAULT (256u * 1024)

struct args {
        const char *id, *path, *pattern, *glob;
        uint64_t max, max_bytes, offset;
        bool ignore_case, literal, as_root;
};

struct work {
        struct cay_op_channel base;
        struct cay_op_result o;
        struct cay_buf rest; /* bytes of an incomplete record */
        struct cay_buf request;
        struct cay_error bad;
        int (*take)(struct work *s); /* a record off rest: its length; 0: incomplete; negative: invalid */
};

#define PATH_FIELD(text)                                                                                     \
        {                                                                                                    \
                "path", CAY_FIELD_TEXT, offsetof(struct args, path), 0, text, .min = 1,                      \
                                                                              .max = CAY_BOX_PATH_MAX - 1    \
        }

static void work_done(struct cay_op_channel *base)
{
        struct work *s = cay_container_of(base, struct work, base);

        cay_buf_done(&s->rest);
        cay_buf_done(&s->request);
        cay_op_result_done(&s->o);
}

static void on_data(struct cay_service_channel *ch, const void *bytes, size_t len)
{
        struct work *s = cay_container_of(ch, struct work, base.ch);
        int n = cay_buf_put(&s->rest, bytes, len);

        cay_op_channel_ack(&s->base, len);
        while (n >= 0 && (n = s->take(s)) > 0)
                cay_buf_drop(&s->rest, (size_t)n);
        if (n < 0) {
                cay_fail(&s->bad, CAY_INTERNAL, "the sandbox sent an invalid list");
                cay_op_channel_fail(&s->base, &s->bad);
        }
}

static struct work *begin(struct cay_op_call *c, size_t record_max)
{
        const struct args *a = c->args;
        struct work *s = cay_op_alloc(c, sizeof(*s));

        if (!s)
                return NULL;
        s->base.done = work_done;
        s->base.ch.on_data = on_data;
        cay_buf_init(&s->rest, record_max + CAY_BOX_WINDOW_MAX);
        cay_buf_init(&s->request, CAY_BOX_PATH_MAX);
        cay_op_result_begin(&s->o, c);
        cay_op_key_text(&s->o.j, "path", a->path ? a->path : ".");
        return s;
}

/* The pattern's own error does not name the field yet. */
static bool refuse_pattern(struct cay_op_call *c, const struct cay_error *why, const char *field)
{
        struct cay_error err = { 0 };

        cay_fail(&err, why->code, "%s: %s", field, why->msg);
        cay_op_fail(c, &err, field);
        return false;
}

static bool check_patterns(struct cay_op_call *c, const char *glob_field, const char *glob)
{
        const struct args *a = c->args;
        cay_auto_free struct cay_pattern *p = malloc(sizeof(*p));
        bool is_search = strcmp(glob_field, "glob") == 0;
        struct cay_error err = { 0 };

        if (!p) {
                cay_op_fail_memory(c);
                return false;
        }
        if (glob && (strchr(glob, '\n') || cay_pattern_compile_glob(p, glob, strlen(glob), &err) < 0)) {
                if (err.code == CAY_OK)
                        cay_fail(&err, CAY_INVALID, "must be one line");
                return refuse_pattern(c, &err, glob_field);
        }
        if (is_search && cay_pattern_compile(p, a->pattern, strlen(a->pattern),
                                             a->literal ? CAY_PATTERN_LITERAL : 0u, &err) < 0)
                return refuse_pattern(c, &err, "pattern");
        return true;
}

/* file_search */

static const struct cay_field search_fields[] = {
        CAY_OP_SANDBOX_FIELD(struct args, id),
        { "pattern", CAY_FIELD_TEXT, offsetof(struct args, pattern), CAY_FIELD_REQUIRED,
          "regular expression that a line must match: . * + ? {2,5} [a-z] (a|b) ^ $ \\d \\w \\s \\b; no "
          "references, no "
          "looking "
          "around",
          .min = 1, .max = CAY_PATTERN_TEXT_MAX },
        PATH_FIELD("folder to search with everything below it, or a file; default: the workspace"),
        { "glob", CAY_FIELD_TEXT, offsetof(struct args, glob), 0,
          "search only files whose path matches, like *.py or src/**/*.{c,h}", .min = 1,
          .max = CAY_PATTERN_TEXT_MAX / 2 },
        { "ignore_case", CAY_FIELD_BOOL, offsetof(struct args, ignore_case), 0, "ignore case" },
        { "literal", CAY_FIELD_BOOL, offsetof(struct args, literal), 0, "take the pattern as plain text" },
        { "limit", CAY_FIELD_U64, offsetof(struct args, max), 0, "at most this many lines; default 200",
          .min = 1, .max = LIMIT_MAX },
        { "max_bytes", CAY_FIELD_U64, offsetof(struct args, max_bytes), 0,
          "at most this many bytes of names and lines; default 262144", .min = 1, .max = TEXT_MAX },
        CAY_OP_USER_FIELD(struct args, as_root),
        {},
};

static int take_match(struct work *s)
{
        struct cay_box_match m;
        int n = cay_box_match_decode(cay_buf_data(&s->rest), s->rest.len, &m);

        if (n <= 0)
                return n;
        cay_json_begin_object(&s->o.j);
        cay_op_put_bytes(&s->o.j, "name", "name_base64", m.name.ptr, m.name.len);
        cay_op_key_u64(&s->o.j, "line", m.line);
        cay_op_put_bytes(&s->o.j, "text", "text_base64", m.text.ptr, m.text.len);
        cay_op_key_bool(&s->o.j, "cut", m.flags != 0);
        cay_json_end_object(&s->o.j);
        return n;
}

static const char *explain(uint32_t why)
{
        return why & CAY_SEARCH_TIME
                       ? "it took longer than 10 seconds; search a smaller folder, or use a glob"
               : why & CAY_SEARCH_ENOUGH
                       ? "there are more lines than the limit; use a narrower pattern, path or glob"
               : why & CAY_SEARCH_CROWDED
                       ? "there are more than 50000 files; search a smaller folder, or use a glob"
               : why & CAY_SEARCH_PASSED ? "some files or folders could not be read"
                                         : NULL;
}

static void on_search_end(struct cay_service_channel *ch, const struct cay_box_end *end,
                          const struct cay_error *err)
{
        struct work *s = cay_container_of(ch, struct work, base.ch);

        if (err && err->code != CAY_OK) {
                cay_op_channel_fail(&s->base, err);
                return;
        }
        cay_json_end_array(&s->o.j);
        cay_op_key_u64(&s->o.j, "files", end->file.stat.size);
        cay_op_key_u64(&s->o.j, "bytes", end->file.bytes);
        cay_op_key_bool(&s->o.j, "more", end->file.stat.mode & ~(uint32_t)CAY_SEARCH_PASSED);
        cay_op_key_text(&s->o.j, "why", explain(end->file.stat.mode));
        cay_op_result_answer(&s->o, cay_op_channel_finish(&s->base), CAY_OP_OK);
}

static void run_search(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_SEARCH, a->path ? a->path : ".", a->as_root);
        struct work *s = check_patterns(c, "glob", a->glob) ? begin(c, CAY_BOX_MATCH_MAX) : NULL;

        if (!s)
                return;
        cay_buf_printf(&s->request, "%s\n%s", a->glob ? a->glob : "", a->pattern);
        open.file.path2 = (struct cay_view){ cay_buf_data(&s->request), (uint32_t)s->request.len };
        open.file.flags = (a->ignore_case ? CAY_BOX_NO_CASE : 0u) | (a->literal ? CAY_BOX_LITERAL : 0u);
        open.file.max_entries = a->max ? a->max : MATCHES_DEFAULT;
        open.file.max_bytes = a->max_bytes ? a->max_bytes : TEXT_DEFAULT;
        s->take = take_match;
        s->base.ch.on_end = on_search_end;
        cay_json_key(&s->o.j, "matches");
        cay_json_begin_array(&s->o.j);
        cay_op_channel_open(&s->base, c, a->id, &open);
}

RESULT(result_match, "Match", IF("name", TEXT), IF("name_base64", TEXT), NUMBER("line"), IF("text", TEXT),
       IF("text_base64", TEXT), BOOL("cut"));
RESULT(result_matches, NULL, TEXT("path"), LIST("matches", result_match), NUMBER("files"), NUMBER("bytes"),
       BOOL("more"), MAYBE("why", TEXT));

const struct cay_op cay_op_file_search = {
        .name = "file_search",
        .route = "GET /api/sandboxes/{id}/files/search",
        .doc = "Finds lines of files that match a pattern",
        .scope = CAY_SCOPE_READ,
        .flags = CAY_OP_INSIDE,
        .fields = search_fields,
        .args_size = sizeof(struct args),
        .result = &result_matches,
        .run = run_search,
};

/* file_find */

static const struct cay_field find_fields[] = {
        CAY_OP_SANDBOX_FIELD(struct args, id),
        { "pattern", CAY_FIELD_TEXT, offsetof(struct args, pattern), CAY_FIELD_REQUIRED,
          "glob that a path must match: *.py matches names in any folder, src/**/*.{c,h} matches paths",
          .min = 1, .max = CAY_PATTERN_TEXT_MAX / 2 },
        PATH_FIELD("folder to search with everything below it; default: the workspace"),
        { "offset", CAY_FIELD_U64, offsetof(struct args, offset), 0, "skip this many", .max = INT64_MAX },
        { "limit", CAY_FIELD_U64, offsetof(struct args, max), 0, "at most this many; default 1000", .min = 1,
          .max = LIMIT_MAX },
        CAY_OP_USER_FIELD(struct args, as_root),
        {},
};

static int take_entry(struct work *s)
{
        struct cay_box_stat st;
        int n = cay_box_entry_decode(cay_buf_data(&s->rest), s->rest.len, &st);

        if (n <= 0)
                return n;
        cay_json_begin_object(&s->o.j);
        cay_op_put_stat(&s->o.j, &st);
        cay_json_end_object(&s->o.j);
        return n;
}

static void on_find_end(struct cay_service_channel *ch, const struct cay_box_end *end,
                        const struct cay_error *err)
{
        struct work *s = cay_container_of(ch, struct work, base.ch);
        const struct args *a = s->base.call->args;
        char note[CAY_BOX_MSG_MAX + 1] = "";

        if (err && err->code != CAY_OK) {
                cay_op_channel_fail(&s->base, err);
                return;
        }
        if (end->msg.len > 0 && end->msg.len < sizeof(note))
                memcpy(note, end->msg.ptr, end->msg.len);
        cay_json_end_array(&s->o.j);
        cay_op_key_bool(&s->o.j, "more", end->file.entries >= (a->max ? a->max : FOUND_DEFAULT));
        cay_op_key_text(&s->o.j, "why", note[0] ? note : NULL);
        cay_op_result_answer(&s->o, cay_op_channel_finish(&s->base), CAY_OP_OK);
}

static void run_find(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_LIST, a->path ? a->path : ".", a->as_root);
        struct work *s = check_patterns(c, "pattern", a->pattern) ? begin(c, CAY_BOX_ENTRY_MAX) : NULL;

        if (!s)
                return;
        open.file.path2 = (struct cay_view){ a->pattern, (uint32_t)strlen(a->pattern) };
        open.file.flags = CAY_BOX_SORTED | CAY_BOX_RECURSIVE;
        open.file.offset = a->offset;
        open.file.max_entries = a->max ? a->max : FOUND_DEFAULT;
        s->take = take_entry;
        s->base.ch.on_end = on_find_end;
        cay_json_key(&s->o.j, "entries");
        cay_json_begin_array(&s->o.j);
        cay_op_channel_open(&s->base, c, a->id, &open);
}

RESULT(result_found_files, NULL, TEXT("path"), LIST("entries", cay_result_file), BOOL("more"),
       MAYBE("why", TEXT));

const struct cay_op cay_op_file_find = {
        .name = "file_find",
        .route = "GET /api/sandboxes/{id}/files/find",
        .doc = "Finds files and folders whose path matches a glob",
        .scope = CAY_SCOPE_READ,
        .flags = CAY_OP_INSIDE,
        .fields = find_fields,
        .args_size = sizeof(struct args),
        .result = &result_found_files,
        .run = run_find,
};
