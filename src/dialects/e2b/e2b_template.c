/* SPDX-License-Identifier: Apache-2.0 */
/* The control plane: templates that clients build (e2b_build.h). */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "dialects/e2b/e2b_build.h"
#include "dialects/e2b/e2b_create.h"
#include "foundation/base/parse.h"

#define LOGS_MAX 100u
#define UPLOADS "/templates/.uploads/"

/* POST /v3/templates: a build, which waits for its files and its steps. */

static void answer_new(struct e2b_request *q, const struct e2b_build *b)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        e2b_begin_json(&j, &out);
        cay_json_begin_object(&j);
        cay_op_key_text(&j, "templateID", b->name);
        cay_op_key_text(&j, "buildID", b->id);
        cay_op_key_bool(&j, "public", false);
        e2b_build_put_tags(&j, "names", b, true);
        e2b_build_put_tags(&j, "tags", b, false);
        cay_json_key(&j, "aliases");
        cay_json_begin_array(&j);
        cay_json_text(&j, b->name);
        cay_json_end_array(&j);
        cay_json_end_object(&j);
        e2b_answer_json(q, 202, &j, &out);
}

/* -1: refused */
static int read_size(struct e2b_request *q, const char *name, int64_t most, int64_t *ret)
{
        const struct cay_json_value *v = e2b_member(q, name);

        *ret = 0;
        if (cay_json_value_type(v) == CAY_JSON_NULL ||
            (cay_json_value_i64(v, ret) && *ret >= 1 && *ret <= most))
                return 0;
        e2b_refuse(q, CAY_INVALID, "%s: must be a number from 1 on", name);
        return -1;
}

static void run_new(struct e2b_request *q)
{
        const struct cay_json_value *body = q->body ? cay_json_in_root(q->body) : NULL;
        const char *name = e2b_text(body, "name");
        int64_t cpus, memory, disk;
        struct e2b_build *b;

        if (!e2b_may(q, "sandbox_create"))
                return;
        if (!name || !name[0]) {
                e2b_refuse(q, CAY_INVALID, "name: required");
                return;
        }
        if (read_size(q, "cpuCount", 1024, &cpus) < 0 || read_size(q, "memoryMB", 1 << 26, &memory) < 0 ||
            read_size(q, "minFreeDiskMb", 1 << 26, &disk) < 0)
                return;
        b = e2b_build_new(q, name, e2b_member(q, "tags"));
        if (!b)
                return;
        b->cpus = cpus;
        b->memory_mb = memory;
        b->disk_mb = disk;
        if (e2b_is_template(q->world, b->name)) {
                e2b_refuse(q, CAY_CONFLICT,
                           "name: '%s' is a template of this server's operator; choose another", b->name);
                e2b_build_drop(b);
                return;
        }
        answer_new(q, b);
}

/* Files: where to send them, and what comes there. */

static bool is_hash(const char *text)
{
        return text[0] && strlen(text) <= E2B_BUILD_HASH && strspn(text, "0123456789abcdef") == strlen(text);
}

static void answer_link(struct e2b_request *q, const struct e2b_build *b, const char *hash)
{
        const char *host = cay_http_request_header(q->req, "Host");
        cay_auto_buf struct cay_buf out = { 0 }, url = { 0 };
        struct cay_json j;

        cay_buf_init(&url, 1024);
        cay_buf_printf(&url, "%s://%s" UPLOADS "%s/%s", q->req->peer.is_tls ? "https" : "http",
                       host ? host : "localhost", b->id, hash);
        e2b_begin_json(&j, &out);
        cay_json_begin_object(&j);
        cay_op_key_bool(&j, "present", e2b_build_file_find(b, hash) != NULL);
        cay_op_key_text(&j, "url", cay_buf_data(&url));
        cay_json_end_object(&j);
        e2b_answer_json(q, 201, &j, &out);
}

static void run_link(struct e2b_request *q)
{
        const char *hash = cay_route_value(&q->match, "hash"), *name = cay_route_value(&q->match, "template");
        struct e2b_build *b = e2b_build_waiting(q->e2b, q->caller.owner, name);

        if (!e2b_may(q, "sandbox_create"))
                return;
        if (!is_hash(hash))
                e2b_refuse(q, CAY_INVALID, "hash: must be hexadecimal");
        else if (!b)
                e2b_refuse(q, CAY_NOT_FOUND, "no build of template '%.63s' waits for files", name);
        else
                answer_link(q, b, hash);
}

struct upload {
        struct cay_e2b *e2b;
        struct e2b_build *build;
        struct cay_buf bytes;
        bool is_over;
};

static void free_upload(void *state)
{
        struct upload *u = state;

        if (u->build) {
                e2b_build_give_bytes(u->build, u->bytes.len);
                u->build->uploads--;
        }
        cay_buf_done(&u->bytes);
        free(u);
}

static size_t on_body(struct e2b_request *q, const void *bytes, size_t len)
{
        struct upload *u = q->state;

        if (u->is_over)
                return len;
        if (e2b_build_take_bytes(u->build, len)) {
                if (cay_buf_put(&u->bytes, bytes, len) == 0)
                        return len;
                e2b_build_give_bytes(u->build, len);
        }
        u->is_over = true;
        e2b_refuse_status(q, 413,
                          "there is no room for these files: they are larger than 64 MiB, your other builds "
                          "have too many, or client_memory is in use");
        return len;
}

static void on_body_end(struct e2b_request *q)
{
        struct upload *u = q->state;

        if (u->is_over)
                return;
        if (u->build->state != E2B_BUILD_WAITING)
                e2b_refuse(q, CAY_CONFLICT, "this build has begun");
        else if (e2b_build_file_take(u->build, cay_route_value(&q->match, "hash"), &u->bytes) < 0)
                e2b_refuse(q, CAY_LIMIT, "a build may copy at most %u times", E2B_BUILD_FILES_MAX);
        else
                e2b_answer_empty(q, 204);
}

/* The address itself says who may: it has the build's id in it. */
static void run_upload(struct e2b_request *q)
{
        struct e2b_build *b = e2b_build_find(q->e2b, cay_route_value(&q->match, "build"));
        struct upload *u = b ? calloc(1, sizeof(*u)) : NULL;

        if (!b || b->state != E2B_BUILD_WAITING || !is_hash(cay_route_value(&q->match, "hash"))) {
                free(u);
                e2b_refuse(q, CAY_NOT_FOUND, "no build waits for these files");
                return;
        }
        q->state = u;
        q->free_state = free_upload;
        if (!u) {
                q->free_state = NULL;
                e2b_fail_memory(q);
                return;
        }
        u->e2b = q->e2b;
        u->build = b;
        b->uploads++;
        cay_buf_init(&u->bytes, E2B_BUILD_FILE_BYTES);
        if (b->owner)
                cay_buf_charge(&u->bytes, &b->owner->budget);
        q->on_body = on_body;
        q->on_body_end = on_body_end;
        if (cay_http_request_read(q->req, E2B_BUILD_FILE_BYTES, 0) < 0)
                e2b_refuse_status(q, 413, "a COPY may have at most 64 MiB of files");
}

/* Building */

/* The template that an image's name stands for: those of E2B's own, and what the registry's aliases say. */
static bool find_image(const struct cay_op_world *world, const char *image, char ret[CAY_NAME_MAX + 1])
{
        static const char *const rows[][2] = { { "e2bdev/base", "base" },
                                               { "e2bdev/code-interpreter", "code-interpreter-v1" } };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                size_t len = strlen(rows[i][0]);

                if (strncmp(image, rows[i][0], len) == 0 && (image[len] == '\0' || image[len] == ':'))
                        image = rows[i][1];
        }
        if (!e2b_is_template(world, image))
                return false;
        e2b_template_of(world, image, ret);
        return true;
}

static int find_base(struct e2b_request *q, char ret[CAY_NAME_MAX + 1], struct cay_error *err)
{
        const char *name = cay_json_value_text(e2b_member(q, "fromTemplate")),
                   *image = cay_json_value_text(e2b_member(q, "fromImage"));

        if (name) {
                e2b_template_of(q->world, name, ret);
                if (e2b_is_template(q->world, ret) || e2b_is_snapshot(q->world, q->caller.owner, ret))
                        return 0;
                return cay_fail(err, CAY_NOT_FOUND, "fromTemplate: there is no template '%.80s'", name);
        }
        if (!image)
                return cay_fail(err, CAY_INVALID, "fromImage or fromTemplate: required");
        if (find_image(q->world, image, ret))
                return 0;
        return cay_fail(err, CAY_UNSUPPORTED,
                        "fromImage: images are not fetched by this server; its operator can say in "
                        "settings.aliases of the registry which template stands for '%.80s'",
                        image);
}

static struct e2b_build *find_build(struct e2b_request *q)
{
        const char *id = cay_route_value(&q->match, "build"), *name = cay_route_value(&q->match, "template");
        struct e2b_build *b = e2b_build_find(q->e2b, id);

        if (b && strcmp(b->name, name) == 0 && strcmp(b->caller.owner, q->caller.owner) == 0)
                return b;
        e2b_refuse(q, CAY_NOT_FOUND,
                   "there is no build '%.40s' of template '%.63s'; the daemon forgets builds when it is "
                   "restarted, "
                   "and an hour after their end",
                   id, name);
        return NULL;
}

static void run_build(struct e2b_request *q)
{
        struct e2b_build *b = e2b_may(q, "sandbox_create") ? find_build(q) : NULL;
        char base[CAY_NAME_MAX + 1];
        struct cay_error err = { 0 };

        if (!b)
                return;
        b->pass = q->guard.pass; /* that of who begins it counts */
        if (b->state != E2B_BUILD_WAITING || b->uploads > 0)
                e2b_refuse(q, CAY_CONFLICT, "this build has begun, or its files are still being sent");
        else if (!q->body)
                e2b_refuse(q, CAY_INVALID, "steps: required");
        else if (find_base(q, base, &err) < 0)
                e2b_fail(q, &err);
        else if (e2b_build_run(b, q, base, cay_take(q->body), &err) < 0)
                e2b_fail(q, &err);
        else
                e2b_answer_empty(q, 202);
}

/* How it goes */

static void put_entries(struct cay_json *j, const struct e2b_build *b, uint64_t from)
{
        const char *log = cay_buf_data(&b->log);

        cay_json_key(j, "logEntries");
        cay_json_begin_array(j);
        for (uint64_t i = from; i < b->log_count && i < from + LOGS_MAX; i++) {
                uint32_t begin = i > 0 ? b->log_ends[i - 1] : 0;

                cay_json_raw(j, log + begin, b->log_ends[i] - begin);
        }
        cay_json_end_array(j);
}

static void put_reason(struct cay_json *j, const struct e2b_build *b)
{
        cay_json_key(j, "reason");
        cay_json_begin_object(j);
        cay_op_key_text(j, "message", b->reason);
        cay_op_key_text(j, "step", b->reason_step);
        cay_json_key(j, "logEntries");
        cay_json_begin_array(j);
        cay_json_end_array(j);
        cay_json_end_object(j);
}

static void run_status(struct e2b_request *q)
{
        static const char *const words[] = { [E2B_BUILD_WAITING] = "waiting",
                                             [E2B_BUILD_BUILDING] = "building",
                                             [E2B_BUILD_READY] = "ready",
                                             [E2B_BUILD_FAILED] = "error" };
        const struct e2b_build *b = find_build(q);
        cay_auto_buf struct cay_buf out = { 0 };
        const char *text = NULL;
        uint64_t from = 0;
        struct cay_json j;
        char room[32];
        int r = b ? e2b_query(q, "logsOffset", room, sizeof(room), &text) : -1;

        if (r < 0)
                return;
        if (r > 0 && (cay_parse_u64(text, &from) < 0 || from > UINT32_MAX)) {
                e2b_refuse(q, CAY_INVALID, "logsOffset: must be a number");
                return;
        }
        e2b_begin_json(&j, &out);
        cay_json_begin_object(&j);
        cay_op_key_text(&j, "templateID", b->name);
        cay_op_key_text(&j, "buildID", b->id);
        cay_op_key_text(&j, "status", words[b->state]);
        cay_json_key(&j, "logs");
        cay_json_begin_array(&j);
        cay_json_end_array(&j);
        put_entries(&j, b, from);
        if (b->state == E2B_BUILD_FAILED)
                put_reason(&j, b);
        cay_json_end_object(&j);
        e2b_answer_json(q, 200, &j, &out);
}

/* Whether there is one */

static void run_alias(struct e2b_request *q)
{
        const char *alias = cay_route_value(&q->match, "alias");
        cay_auto_buf struct cay_buf out = { 0 };
        char name[CAY_NAME_MAX + 1];
        struct cay_json j;

        e2b_template_of(q->world, alias, name);
        if (!e2b_is_template(q->world, name) && !e2b_is_snapshot(q->world, q->caller.owner, name)) {
                e2b_refuse(q, CAY_NOT_FOUND, "there is no template '%.80s'", alias);
                return;
        }
        e2b_begin_json(&j, &out);
        cay_json_begin_object(&j);
        cay_op_key_text(&j, "templateID", name);
        cay_op_key_bool(&j, "public", false);
        cay_json_end_object(&j);
        e2b_answer_json(q, 200, &j, &out);
}

static const struct e2b_row rows[] = {
        { "POST /v3/templates", run_new, E2B_FORM_REST, E2B_TAKES_JSON },
        { "GET /templates/{template}/files/{hash}", run_link, E2B_FORM_REST, 0 },
        { "PUT " UPLOADS "{build}/{hash}", run_upload, E2B_FORM_REST, E2B_OWN_AUTH | E2B_RAW_BODY },
        { "POST /v2/templates/{template}/builds/{build}", run_build, E2B_FORM_REST, E2B_TAKES_JSON },
        { "GET /templates/{template}/builds/{build}/status", run_status, E2B_FORM_REST, 0 },
        { "GET /templates/aliases/{alias}", run_alias, E2B_FORM_REST, 0 },
};

const struct e2b_rows e2b_template_rows = { rows, CAY_COUNT(rows) };
