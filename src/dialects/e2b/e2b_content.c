/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/e2b/e2b_content.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dialects/e2b/e2b_start.h"
#include "dialects/e2b/e2b_stream.h"
#include "domain/auth/digest.h"
#include "domain/auth/sandbox_token.h"
#include "domain/settings/config.h"
#include "foundation/base/parse.h"
#include "foundation/base/str.h"

#define PLACE "/volume"
#define IDLE "60s"
#define LIFE_MS (24ull * 60 * 60 * 1000)
#define LIST_MAX 10000u
#define CHMOD_MS 10000u

struct content {
        char volume[CAY_NAME_MAX + 1], asked[E2B_PATH_MAX], path[E2B_PATH_MAX + 16];
        bool as_root, force, has_mode;
        uint64_t mode, depth;
        void (*act)(struct e2b_request *q); /* when there is a sandbox */
};

/* Tokens */

static void sign(const struct cay_op_world *world, const char *owner, const char *volume,
                 char ret[CAY_SANDBOX_TOKEN_LEN + 1])
{
        uint8_t hash[CAY_DIGEST_SIZE];
        char text[CAY_OWNER_MAX + CAY_NAME_MAX + 4], id[33];
        int len = snprintf(text, sizeof(text), "%s/%s", volume, owner); /* a volume's name has no slash */

        ret[0] = '\0';
        if (len < 0 || len >= (int)sizeof(text) || cay_digest_sha256(text, (size_t)len, hash) < 0)
                return;
        for (unsigned i = 0; i < 16; i++)
                snprintf(id + 2 * (size_t)i, 3, "%02x", hash[i]);
        world->sandbox_token(world, CAY_SANDBOX_TOKEN_VOLUME, id, ret);
}

void e2b_volume_token(const struct cay_op_world *world, const char *owner, const char *volume,
                      char ret[E2B_VOLUME_TOKEN_MAX])
{
        char signature[CAY_SANDBOX_TOKEN_LEN + 1];
        size_t at;

        sign(world, owner, volume, signature);
        at = (size_t)snprintf(ret, E2B_VOLUME_TOKEN_MAX, "%s", signature);
        for (size_t i = 0; owner[i] && at + 2 < E2B_VOLUME_TOKEN_MAX; i++, at += 2)
                snprintf(ret + at, 3, "%02x", (unsigned char)owner[i]);
        explicit_bzero(signature, sizeof(signature));
}

/* The owner of a token; false: it is not one. */
static bool read_owner(const char *text, char ret[CAY_OWNER_MAX + 1])
{
        size_t len = strlen(text);

        if (len <= CAY_SANDBOX_TOKEN_LEN || len >= E2B_VOLUME_TOKEN_MAX || len % 2 != 0)
                return false;
        text += CAY_SANDBOX_TOKEN_LEN;
        for (len = 0; text[0]; text += 2) {
                unsigned byte;

                if (sscanf(text, "%2x", &byte) != 1 || byte == 0)
                        return false;
                ret[len++] = (char)byte;
        }
        ret[len] = '\0';
        return true;
}

/* Who may is known from the token alone; -1: refused. */
static int check_token(struct e2b_request *q, const char *volume)
{
        const char *field = cay_http_request_header(q->req, "Authorization");
        char owner[CAY_OWNER_MAX + 1], right[E2B_VOLUME_TOKEN_MAX];
        bool is_right;

        if (!field || strncasecmp(field, "Bearer ", 7) != 0 || !cay_id_is_valid(volume) ||
            !read_owner(field + 7, owner)) {
                e2b_refuse_status(q, 401, "Authorization: the token of this volume is needed");
                return -1;
        }
        e2b_volume_token(q->world, owner, volume, right);
        is_right = strlen(right) > CAY_SANDBOX_TOKEN_LEN && strlen(right) == strlen(field + 7) &&
                   cay_digest_equal(field + 7, right, strlen(right));
        explicit_bzero(right, sizeof(right));
        if (!is_right) {
                e2b_refuse_status(q, 401, "Authorization: this is not the token of this volume");
                return -1;
        }
        q->is_known = true;
        q->caller = (struct cay_caller){ .scopes = CAY_SCOPE_READ | CAY_SCOPE_EXEC,
                                         .credential = CAY_CREDENTIAL_TOKEN };
        cay_str_copy(q->caller.owner, sizeof(q->caller.owner), owner);
        return 0;
}

/* The sandbox */

static void begin_find(struct cay_call_args *args, const char *volume)
{
        char label[CAY_NAME_MAX + 32];

        snprintf(label, sizeof(label), E2B_LABEL_VOLUME "=%s", volume);
        cay_call_args_begin(args);
        cay_op_key_text(&args->j, "label", label);
        cay_op_key_text(&args->j, "state", "creating,ready,busy,paused,stopped");
}

static void use(struct e2b_request *q, const struct cay_json_value *sandbox)
{
        const struct content *c = q->state;

        cay_str_copy(q->sandbox, sizeof(q->sandbox), e2b_text(sandbox, "sandbox_id"));
        c->act(q);
}

static void make(struct e2b_request *q)
{
        const struct content *c = q->state;
        cay_auto_call_args struct cay_call_args args = { 0 };
        char name[CAY_NAME_MAX + 1], text[CAY_NAME_MAX + 32], time[32];

        e2b_template_of(q->world, "base", name);
        snprintf(text, sizeof(text), "%s:" PLACE, c->volume);
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "template", name);
        cay_op_key_text(&args.j, "timeout", e2b_time_at_most(q->world, &q->caller, LIFE_MS, time));
        cay_op_key_text(&args.j, "idle_timeout", IDLE);
        cay_op_key_text(&args.j, "on_timeout", "destroy");
        cay_json_key(&args.j, "labels");
        cay_json_begin_object(&args.j);
        cay_op_key_text(&args.j, E2B_LABEL_VOLUME, c->volume);
        cay_json_end_object(&args.j);
        cay_json_key(&args.j, "volumes");
        cay_json_begin_array(&args.j);
        cay_json_text(&args.j, text);
        cay_json_end_array(&args.j);
        e2b_ask(q, "sandbox_create", &args, use);
}

/* A volume is made by who mounts it: not by who looks into it. */
static void on_volumes(struct e2b_request *q, const struct cay_json_value *answer)
{
        const struct cay_json_value *list = cay_json_value_find(answer, "volumes"), *v;
        const struct content *c = q->state;

        for (size_t i = 0; (v = cay_json_value_at(list, i)); i++) {
                if (strcmp(e2b_text(v, "name"), c->volume) == 0) {
                        make(q);
                        return;
                }
        }
        e2b_refuse(q, CAY_NOT_FOUND, "there is no volume '%s'", c->volume);
}

static void on_sandboxes(struct e2b_request *q, const struct cay_json_value *answer)
{
        const struct cay_json_value *list = cay_json_value_find(answer, "sandboxes"), *s;
        cay_auto_call_args struct cay_call_args args = { 0 };

        for (size_t i = 0; (s = cay_json_value_at(list, i)); i++) {
                if (e2b_runs(q->world, e2b_text(s, "sandbox_id"))) {
                        use(q, s);
                        return;
                }
        }
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "owner", q->caller.owner);
        e2b_ask(q, "volume_list", &args, on_volumes);
}

/* Ending it */

static void end_next(struct e2b_request *q);

static void on_ended(struct e2b_request *q, const struct cay_json_value *answer)
{
        (void)answer;
        end_next(q);
}

static void on_not_ended(struct e2b_request *q, const struct cay_error *err)
{
        const struct content *c = q->state;

        (void)err;
        c->act(q); /* the volume is in use, then */
}

/* An administrator sees the sandboxes of all owners, whose volumes may have this name, too. */
static const struct cay_json_value *find_own(const struct e2b_request *q, const struct cay_json_value *list)
{
        const struct cay_json_value *s;

        for (size_t i = 0; (s = cay_json_value_at(list, i)); i++)
                if (strcmp(e2b_text(s, "owner"), q->caller.owner) == 0)
                        return s;
        return NULL;
}

static void on_to_end(struct e2b_request *q, const struct cay_json_value *answer)
{
        const struct cay_json_value *s = find_own(q, cay_json_value_find(answer, "sandboxes"));
        const struct content *c = q->state;

        if (!s || !cay_str_copy(q->sandbox, sizeof(q->sandbox), e2b_text(s, "sandbox_id"))) {
                c->act(q);
                return;
        }
        q->on_fail = on_not_ended;
        e2b_ask_sandbox(q, "sandbox_destroy", on_ended);
}

static void end_next(struct e2b_request *q)
{
        const struct content *c = q->state;
        cay_auto_call_args struct cay_call_args args = { 0 };

        begin_find(&args, c->volume);
        q->on_fail = on_not_ended;
        e2b_ask(q, "sandbox_list", &args, on_to_end);
}

static struct content *new_content(struct e2b_request *q, const char *volume,
                                   void (*act)(struct e2b_request *q))
{
        struct content *c = calloc(1, sizeof(*c));

        q->state = c;
        q->free_state = free;
        if (!c) {
                e2b_fail_memory(q);
                return NULL;
        }
        cay_str_copy(c->volume, sizeof(c->volume), volume);
        c->act = act;
        return c;
}

void e2b_content_end(struct e2b_request *q, const char *volume, void (*then)(struct e2b_request *q))
{
        if (new_content(q, volume, then))
                end_next(q);
}

/* Requests */

static int read_path(struct e2b_request *q, struct content *c)
{
        char room[E2B_PATH_MAX];
        const char *text = "";
        int r = e2b_query(q, "path", room, sizeof(room), &text);
        size_t len;

        if (r < 0)
                return -1;
        text += strspn(text, "/");
        len = strlen(text);
        while (len > 0 && text[len - 1] == '/')
                len--;
        snprintf(c->asked, sizeof(c->asked), "/%.*s", (int)len, text);
        for (const char *at = c->asked; at; at = strchr(at + 1, '/')) {
                if (strncmp(at, "/..", 3) == 0 && (at[3] == '/' || at[3] == '\0')) {
                        e2b_refuse(q, CAY_INVALID, "path: must not have '..'");
                        return -1;
                }
        }
        snprintf(c->path, sizeof(c->path), PLACE "%s%.*s", len ? "/" : "", (int)len, text);
        return 0;
}

/* 1, 0: not given, -1: refused. */
static int read_number(struct e2b_request *q, const char *name, uint64_t max, uint64_t *ret)
{
        char room[32];
        const char *text = NULL;
        int r = e2b_query(q, name, room, sizeof(room), &text);

        if (r > 0 && (cay_parse_u64(text, ret) < 0 || *ret > max)) {
                e2b_refuse(q, CAY_INVALID, "%s: must be a number, at most %llu", name,
                           (unsigned long long)max);
                return -1;
        }
        return r;
}

static int check_id(struct e2b_request *q, const char *name, uint64_t id)
{
        if (id == 0 || id == 1001)
                return 0;
        e2b_refuse(q, CAY_UNSUPPORTED, "%s: files belong to 1001 or 0 here", name);
        return -1;
}

static int read_options(struct e2b_request *q, struct content *c)
{
        uint64_t uid = 1001, gid = 1001;
        char room[16];
        const char *force = NULL;
        int has_mode = read_number(q, "mode", 0777, &c->mode);

        if (has_mode < 0 || read_number(q, "uid", UINT32_MAX, &uid) < 0 ||
            read_number(q, "gid", UINT32_MAX, &gid) < 0 || read_number(q, "depth", 100, &c->depth) < 0 ||
            e2b_query(q, "force", room, sizeof(room), &force) < 0 || check_id(q, "uid", uid) < 0 ||
            check_id(q, "gid", gid) < 0)
                return -1;
        c->has_mode = has_mode > 0;
        c->as_root = uid == 0;
        c->force = force && strcmp(force, "true") == 0;
        return 0;
}

/* NULL: refused. */
static struct content *read_request(struct e2b_request *q, void (*act)(struct e2b_request *q))
{
        const char *volume = cay_route_value(&q->match, "volume");
        struct content *c = check_token(q, volume) < 0 ? NULL : new_content(q, volume, act);

        return !c || read_path(q, c) < 0 || read_options(q, c) < 0 ? NULL : c;
}

static void go(struct e2b_request *q)
{
        const struct content *c = q->state;
        cay_auto_call_args struct cay_call_args args = { 0 };

        begin_find(&args, c->volume);
        e2b_ask(q, "sandbox_list", &args, on_sandboxes);
}

static void begin(struct e2b_request *q, void (*act)(struct e2b_request *q))
{
        if (read_request(q, act))
                go(q);
}

static void begin_path(const struct e2b_request *q, struct cay_call_args *args)
{
        const struct content *c = q->state;

        e2b_args_begin(q, args);
        cay_op_key_text(&args->j, "path", c->path);
        cay_op_key_bool(&args->j, "as_root", c->as_root);
}

static void put_mode(const struct content *c, struct cay_call_args *args)
{
        char text[16];

        if (!c->has_mode)
                return;
        snprintf(text, sizeof(text), "%04llo", (unsigned long long)c->mode);
        cay_op_key_text(&args->j, "mode", text);
}

/* Entries */

static void put_entry(struct cay_json *j, const struct cay_json_value *file, const char *path)
{
        const char *type = e2b_text(file, "type"), *slash = strrchr(path, '/');
        static const char *const times[] = { "atime", "mtime", "ctime" };
        int64_t size = 0, uid = 0, gid = 0;
        bool is_known =
                strcmp(type, "file") == 0 || strcmp(type, "directory") == 0 || strcmp(type, "symlink") == 0;

        e2b_number(file, "size", &size);
        e2b_number(file, "uid", &uid);
        e2b_number(file, "gid", &gid);
        cay_json_begin_object(j);
        cay_op_key_text(j, "name", slash ? slash + 1 : path);
        cay_op_key_text(j, "path", path);
        cay_op_key_text(j, "type", is_known ? type : "unknown");
        cay_op_key_u64(j, "size", (uint64_t)size);
        cay_op_key_u64(j, "mode", strtoul(e2b_text(file, "mode"), NULL, 8));
        cay_op_key_u64(j, "uid", (uint64_t)uid);
        cay_op_key_u64(j, "gid", (uint64_t)gid);
        for (unsigned i = 0; i < CAY_COUNT(times); i++) { /* the others are not known */
                cay_json_key(j, times[i]);
                cay_json_value_put(j, cay_json_value_find(file, "modified_at"));
        }
        if (e2b_text(file, "target"))
                cay_op_key_text(j, "target", e2b_text(file, "target"));
        cay_json_end_object(j);
}

static void answer_entry(struct e2b_request *q, unsigned status, const struct cay_json_value *file)
{
        const struct content *c = q->state;
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        e2b_begin_json(&j, &out);
        put_entry(&j, file, c->asked);
        e2b_answer_json(q, status, &j, &out);
}

static void ask_stat(struct e2b_request *q,
                     void (*on_answer)(struct e2b_request *q, const struct cay_json_value *file))
{
        cay_auto_call_args struct cay_call_args args = { 0 };

        begin_path(q, &args);
        e2b_ask(q, "file_stat", &args, on_answer);
}

static void answer_shown(struct e2b_request *q, const struct cay_json_value *file)
{
        answer_entry(q, 200, file);
}

static void answer_made(struct e2b_request *q, const struct cay_json_value *file)
{
        answer_entry(q, 201, file);
}

static void show(struct e2b_request *q)
{
        ask_stat(q, answer_shown);
}

static void show_made(struct e2b_request *q, const struct cay_json_value *answer)
{
        (void)answer;
        ask_stat(q, answer_made);
}

static void run_show(struct e2b_request *q)
{
        begin(q, show);
}

/* Folders */

static uint64_t depth_of(const char *name)
{
        uint64_t depth = 1;

        for (; *name; name++)
                depth += *name == '/';
        return depth;
}

static void on_listed(struct e2b_request *q, const struct cay_json_value *answer)
{
        const struct cay_json_value *list = cay_json_value_find(answer, "entries"), *file;
        const struct content *c = q->state;
        cay_auto_buf struct cay_buf out = { 0 };
        char path[2 * E2B_PATH_MAX];
        struct cay_json j;

        if (e2b_flag(answer, "more", false)) {
                e2b_refuse(q, CAY_LIMIT, "more than %u entries; list a part of them", LIST_MAX);
                return;
        }
        e2b_begin_json(&j, &out);
        cay_json_begin_array(&j);
        for (size_t i = 0; (file = cay_json_value_at(list, i)); i++) {
                const char *name = e2b_text(file, "name");

                if (!name || depth_of(name) > (c->depth ? c->depth : 1))
                        continue;
                snprintf(path, sizeof(path), "%s/%s", c->asked[1] ? c->asked : "", name);
                put_entry(&j, file, path);
        }
        cay_json_end_array(&j);
        e2b_answer_json(q, 200, &j, &out);
}

static void list(struct e2b_request *q)
{
        const struct content *c = q->state;
        cay_auto_call_args struct cay_call_args args = { 0 };

        begin_path(q, &args);
        cay_op_key_bool(&args.j, "recursive", c->depth > 1);
        cay_op_key_bool(&args.j, "sorted", true);
        cay_op_key_u64(&args.j, "limit", LIST_MAX);
        e2b_ask(q, "file_list", &args, on_listed);
}

static void run_list(struct e2b_request *q)
{
        begin(q, list);
}

static void make_folder(struct e2b_request *q)
{
        const struct content *c = q->state;
        cay_auto_call_args struct cay_call_args args = { 0 };

        begin_path(q, &args);
        cay_op_key_bool(&args.j, "parents", c->force);
        put_mode(c, &args);
        e2b_ask(q, "file_mkdir", &args, show_made);
}

static void run_make_folder(struct e2b_request *q)
{
        begin(q, make_folder);
}

/* Removing and changing, as who the file belongs to */

static void on_removed(struct e2b_request *q, const struct cay_json_value *answer)
{
        (void)answer;
        e2b_answer_empty(q, 204);
}

static void take_owner(struct e2b_request *q, const struct cay_json_value *file)
{
        struct content *c = q->state;
        int64_t uid = 1001;

        e2b_number(file, "uid", &uid);
        c->as_root = uid == 0;
}

static void on_to_remove(struct e2b_request *q, const struct cay_json_value *file)
{
        cay_auto_call_args struct cay_call_args args = { 0 };

        take_owner(q, file);
        begin_path(q, &args);
        cay_op_key_bool(&args.j, "recursive", true);
        e2b_ask(q, "file_remove", &args, on_removed);
}

static void remove_it(struct e2b_request *q)
{
        const struct content *c = q->state;

        if (c->asked[1])
                ask_stat(q, on_to_remove);
        else
                e2b_refuse(q, CAY_INVALID, "path: the volume itself is removed with DELETE /volumes/%s",
                           c->volume);
}

static void run_remove(struct e2b_request *q)
{
        begin(q, remove_it);
}

static void on_changed(struct e2b_request *q, const struct cay_json_value *answer)
{
        int64_t code = -1;

        if (e2b_number(answer, "exit_code", &code) && code == 0)
                ask_stat(q, answer_shown);
        else
                e2b_refuse(q, CAY_DENIED, "mode: %.200s",
                           e2b_text(answer, "stderr") ? e2b_text(answer, "stderr") : "");
}

static void on_to_change(struct e2b_request *q, const struct cay_json_value *file)
{
        struct content *c = q->state;
        cay_auto_call_args struct cay_call_args args = { 0 };
        char mode[16], time[32];

        take_owner(q, file);
        if (!c->has_mode) {
                answer_entry(q, 200, file);
                return;
        }
        snprintf(mode, sizeof(mode), "%04llo", (unsigned long long)c->mode);
        e2b_args_begin(q, &args);
        cay_json_key(&args.j, "command");
        cay_json_begin_array(&args.j);
        cay_json_text(&args.j, "/bin/chmod");
        cay_json_text(&args.j, mode);
        cay_json_text(&args.j, "--");
        cay_json_text(&args.j, c->path);
        cay_json_end_array(&args.j);
        if (c->as_root)
                cay_op_key_text(&args.j, "user", "root");
        cay_op_key_text(&args.j, "timeout", e2b_time_at_most(q->world, &q->caller, CHMOD_MS, time));
        e2b_ask(q, "exec_run", &args, on_changed);
}

static void change(struct e2b_request *q)
{
        ask_stat(q, on_to_change);
}

static void run_change(struct e2b_request *q)
{
        const struct cay_json_value *body = q->body ? cay_json_in_root(q->body) : NULL;
        struct content *c = read_request(q, change);
        int64_t mode = 0, id;

        if (!c)
                return;
        c->has_mode = e2b_number(body, "mode", &mode);
        c->mode = (uint64_t)mode;
        if (mode < 0 || mode > 0777)
                e2b_refuse(q, CAY_INVALID, "mode: must be a number from 0 to 511");
        else if (e2b_number(body, "uid", &id) || e2b_number(body, "gid", &id))
                e2b_refuse(q, CAY_UNSUPPORTED, "uid, gid: the owner of a file cannot be changed here");
        else
                go(q);
}

/* Files */

static int on_begin(struct e2b_request *q, const struct cay_op_bytes *bytes)
{
        return e2b_begin(q, "application/octet-stream",
                         bytes->length == CAY_OP_UNKNOWN_LENGTH ? CAY_HTTP_NO_LENGTH : bytes->length);
}

static void on_end(struct e2b_request *q, bool was_cut)
{
        if (was_cut)
                e2b_cut(q);
        else
                e2b_end(q);
}

static void on_to_read(struct e2b_request *q, const struct cay_json_value *file)
{
        static const struct e2b_stream_ops ops = { .on_begin = on_begin,
                                                   .on_bytes = e2b_write,
                                                   .on_end = on_end };
        cay_auto_call_args struct cay_call_args args = { 0 };

        take_owner(q, file);
        begin_path(q, &args);
        e2b_ask_stream(q, "file_read", &args, &ops);
}

static void read_it(struct e2b_request *q)
{
        ask_stat(q, on_to_read);
}

static void run_read(struct e2b_request *q)
{
        begin(q, read_it);
}

static size_t on_body(struct e2b_request *q, const void *bytes, size_t len)
{
        return q->ask ? cay_call_write(q->ask, bytes, len) : len;
}

static void on_body_end(struct e2b_request *q)
{
        if (q->ask)
                cay_call_write_end(q->ask);
}

/* The file takes bytes: the body is asked for, or goes on. */
static void on_room(struct e2b_request *q)
{
        if (q->on_body) {
                cay_http_request_resume(q->req);
                return;
        }
        q->on_body = on_body;
        q->on_body_end = on_body_end;
        if (cay_http_request_read(q->req, q->world->config->max_body, 0) < 0)
                cay_call_gone(q->ask); /* on_cut answers */
}

static void on_cut(struct e2b_request *q, bool was_cut)
{
        (void)was_cut;
        if (q->is_gone)
                e2b_cut(q);
        else
                e2b_refuse_status(q, 413, "the body is larger than max_body allows");
}

static void write_it(struct e2b_request *q)
{
        static const struct e2b_stream_ops ops = { .on_room = on_room, .on_end = on_cut };
        const struct content *c = q->state;
        cay_auto_call_args struct cay_call_args args = { 0 };

        begin_path(q, &args);
        cay_op_key_bool(&args.j, "parents", c->force);
        put_mode(c, &args);
        q->stream_ops = &ops;
        e2b_ask(q, "file_write", &args, show_made);
}

static void run_write(struct e2b_request *q)
{
        begin(q, write_it);
}

static const struct e2b_row rows[] = {
        { "GET /volumecontent/{volume}/dir", run_list, E2B_FORM_REST, E2B_OWN_AUTH },
        { "POST /volumecontent/{volume}/dir", run_make_folder, E2B_FORM_REST, E2B_OWN_AUTH },
        { "GET /volumecontent/{volume}/path", run_show, E2B_FORM_REST, E2B_OWN_AUTH },
        { "PATCH /volumecontent/{volume}/path", run_change, E2B_FORM_REST, E2B_OWN_AUTH | E2B_TAKES_JSON },
        { "DELETE /volumecontent/{volume}/path", run_remove, E2B_FORM_REST, E2B_OWN_AUTH },
        { "GET /volumecontent/{volume}/file", run_read, E2B_FORM_REST, E2B_OWN_AUTH },
        { "PUT /volumecontent/{volume}/file", run_write, E2B_FORM_REST, E2B_OWN_AUTH | E2B_RAW_BODY },
};

const struct e2b_rows e2b_content_rows = { rows, CAY_COUNT(rows) };
