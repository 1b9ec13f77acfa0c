/* SPDX-License-Identifier: Apache-2.0 */
/* `cay cp`: copies trees between here and a sandbox, as tar archives in constant memory. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/base/parse.h"
#include "foundation/base/path.h"
#include "cay/cli/cli.h"
#include "cay/cli/pack.h"
#include "cay/cli/progress.h"
#include "cay/cli/safe.h"
#include "cay/cli/unpack.h"
#include "cay/cli/verb.h"
#include "foundation/sys/fd.h"

/*
 * What a sandbox may send unless --max-bytes says otherwise. Its disk limit is no bound: hard links are sent
 * as copies, a template's files do not count, and a hostile sandbox can send more than any disk holds. Holes
 * are not sent, so what is written here is at most what was received.
 */
#define MAX_BYTES (8ull << 30)
#define WAIT_MS 600000 /* a box that is silent this long while it packs or unpacks is in trouble */

struct end {                     /* one of the two */
        bool is_ours, is_stream; /* is_stream: "-" */
        char box[128];
        char path[PATH_MAX];
};

struct copy {
        struct cay_reach *reach;
        const struct cay_verb_args *args;
        struct end source, target;
        struct cay_client_conn conn;
        struct cay_progress progress;
        struct cay_pack pack;
        uint64_t max_bytes; /* out of a sandbox; 0: no bound */
};

/* SANDBOX:PATH is in a sandbox; a name without a colon, or with a slash before it, is local. */
static int read_end(const char *text, struct end *ret, struct cay_error *err)
{
        const char *colon = strchr(text, ':'), *slash = strchr(text, '/');

        *ret = (struct end){ .is_ours = true, .is_stream = strcmp(text, "-") == 0 };
        if (colon == NULL || colon == text || (slash != NULL && slash < colon)) {
                if (snprintf(ret->path, sizeof(ret->path), "%s", text) >= (int)sizeof(ret->path))
                        return cay_fail(err, CAY_INVALID, "the path '%.60s…' is too long", text);
                return 0;
        }
        ret->is_ours = false;
        if ((size_t)(colon - text) >= sizeof(ret->box))
                return cay_fail(err, CAY_INVALID, "'%.60s…' is not a sandbox", text);
        memcpy(ret->box, text, (size_t)(colon - text));
        if (snprintf(ret->path, sizeof(ret->path), "%s", colon[1] != '\0' ? colon + 1 : ".") >=
            (int)sizeof(ret->path))
                return cay_fail(err, CAY_INVALID, "the path '%.60s…' is too long", text);
        return 0;
}

/* Trailing slashes mean a folder. */
static bool trim(char *path)
{
        size_t len = strlen(path);
        bool had = len > 1 && path[len - 1] == '/';

        while (len > 1 && path[len - 1] == '/')
                path[--len] = '\0';
        return had;
}

/* The part before the last name ("." if there is none), and the name. */
static void split(const char *path, char parent[PATH_MAX], const char **ret_name)
{
        const char *slash = strrchr(path, '/');

        *ret_name = slash != NULL ? slash + 1 : path;
        if (slash == NULL)
                snprintf(parent, PATH_MAX, ".");
        else
                snprintf(parent, PATH_MAX, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

/* Whether the name is empty ("", ".", ".."). Then the copy gets the name of its source's folder, or fails. */
static bool is_no_name(const char *name)
{
        return !cay_path_is_name(name);
}

/* What exists there: its type ("" for nothing) and size. */
static int look_there(struct copy *c, const struct end *e, bool follow, char type[16], uint64_t *ret_size,
                      struct cay_error *err)
{
        cay_auto_answer struct cay_reach_answer answer = { 0 };
        cay_auto_values struct cay_values v;

        type[0] = '\0';
        cay_values_init(&v, cay_cli_op_find("file_stat"));
        if (cay_values_set(&v, "id", e->box, err) < 0 || cay_values_set(&v, "path", e->path, err) < 0 ||
            (follow && cay_values_set(&v, "follow", "true", err) < 0))
                return -1;
        if (cay_reach_call(c->reach, &v, -1, CAY_REACH_WAIT_MS, &answer, err) < 0) {
                cay_auto_answer struct cay_reach_answer box = { 0 };
                cay_auto_values struct cay_values ask;

                if (c->reach->status != 404)
                        return -1;
                /* Tells a missing file from a missing sandbox. */
                *err = (struct cay_error){ 0 };
                cay_values_init(&ask, cay_cli_op_find("sandbox_get"));
                if (cay_values_set(&ask, "id", e->box, err) < 0)
                        return -1;
                return cay_reach_call(c->reach, &ask, -1, CAY_REACH_WAIT_MS, &box, err);
        }
        cay_json_view_copy(cay_json_view_find(answer.json, "type"), type, 16);
        cay_json_view_u64(cay_json_view_find(answer.json, "size"), ret_size);
        return 0;
}

static void report(const struct copy *c, const char *what, uint64_t left_out)
{
        if (left_out > 0 && !c->args->quiet)
                fprintf(stderr, "cay cp: %llu special file%s left out %s\n", (unsigned long long)left_out,
                        left_out == 1 ? "" : "s", what);
}

/* To a sandbox */

static int on_packed(void *ctx, const void *bytes, size_t len, struct cay_error *err)
{
        struct copy *c = ctx;

        cay_progress_at(&c->progress, c->pack.bytes);
        return cay_client_conn_write(&c->conn, bytes, len, err);
}

static int send_stream(struct copy *c, struct cay_error *err)
{
        char bytes[CAY_CONN_PIECE];
        uint64_t all = 0;
        int r = 0;

        while (r == 0) {
                ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return cay_fail_sys(err, CAY_INTERNAL, -errno, "read standard input");
                if (n == 0)
                        break;
                all += (uint64_t)n;
                cay_progress_at(&c->progress, all);
                r = cay_client_conn_write(&c->conn, bytes, (size_t)n, err);
        }
        return r;
}

static int send_archive(struct copy *c, const char *folder, const char *name, struct cay_error *err)
{
        cay_auto_buf struct cay_buf body = { 0 };
        cay_auto_values struct cay_values v;
        int r;

        c->pack = (struct cay_pack){ .write = on_packed, .ctx = c };
        cay_values_init(&v, cay_cli_op_find("archive_put"));
        if (cay_values_set(&v, "id", c->target.box, err) < 0 || cay_values_set(&v, "path", folder, err) < 0 ||
            (cay_values_get(&c->args->values, "as_root") != NULL &&
             cay_values_set(&v, "as_root", "true", err) < 0) ||
            cay_reach_send(c->reach, &c->conn, &v, -1, err) < 0)
                return -1;
        r = c->source.is_stream ? send_stream(c, err) : cay_pack_run(&c->pack, c->source.path, name, err);
        if (r < 0)
                return -1;
        cay_buf_init(&body, 64 * 1024);
        if (cay_client_conn_write_end(&c->conn, err) < 0 ||
            cay_reach_await(c->reach, &c->conn, WAIT_MS, err) < 0)
                return -1;
        return cay_client_conn_collect(&c->conn, &body, WAIT_MS, err);
}

/* The target: inside an existing folder under its own name, else the named place. */
static int copy_in(struct copy *c, struct cay_error *err)
{
        char folder[PATH_MAX], type[16], real[PATH_MAX];
        const char *name, *own;
        uint64_t size = 0;
        struct stat st = { 0 };
        bool wants_folder = trim(c->target.path);

        if (!c->source.is_stream && lstat(c->source.path, &st) < 0)
                return cay_fail_sys(err, errno == ENOENT ? CAY_NOT_FOUND : CAY_DENIED, -errno, "'%.150s'",
                                    c->source.path);
        if (look_there(c, &c->target, true, type, &size, err) < 0)
                return -1;
        if (strcmp(type, "directory") == 0 || c->source.is_stream) {
                trim(c->source.path);
                own = cay_path_base(c->source.path);
                if (!c->source.is_stream && is_no_name(own)) {
                        if (realpath(c->source.path, real) == NULL || is_no_name(cay_path_base(real)))
                                return cay_fail(err, CAY_INVALID, "'%.120s' has no name to copy it under",
                                                c->source.path);
                        own = cay_path_base(real);
                }
                name = own;
                snprintf(folder, sizeof(folder), "%s", c->target.path);
        } else if (wants_folder) {
                return cay_fail(err, CAY_NOT_FOUND, "'%.120s' is not a folder in the sandbox",
                                c->target.path);
        } else if (type[0] != '\0' && S_ISDIR(st.st_mode)) {
                return cay_fail(err, CAY_CONFLICT, "'%.120s' is not a folder; a folder cannot replace it",
                                c->target.path);
        } else {
                split(c->target.path, folder, &name);
        }
        cay_progress_begin(&c->progress, c->args->quiet, S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0);
        if (send_archive(c, folder, name, err) < 0)
                return -1;
        report(c, "here", c->pack.left_out);
        return 0;
}

/* From a sandbox */

static int receive(struct copy *c,
                   int (*take)(void *ctx, const char *bytes, size_t len, struct cay_error *err), void *ctx,
                   struct cay_error *err)
{
        cay_auto_values struct cay_values v;
        const char *bytes;
        uint64_t all = 0;
        ssize_t n;

        cay_values_init(&v, cay_cli_op_find("archive_get"));
        if (cay_values_set(&v, "id", c->source.box, err) < 0 ||
            cay_values_set(&v, "path", c->source.path, err) < 0 ||
            (cay_values_get(&c->args->values, "as_root") != NULL &&
             cay_values_set(&v, "as_root", "true", err) < 0) ||
            cay_reach_begin(c->reach, &c->conn, &v, -1, WAIT_MS, err) < 0)
                return -1;
        while ((n = cay_client_conn_read(&c->conn, &bytes, WAIT_MS, err)) > 0) {
                all += (uint64_t)n;
                cay_progress_at(&c->progress, all);
                if (c->max_bytes > 0 && all > c->max_bytes)
                        return cay_fail(err, CAY_LIMIT,
                                        "the copy is longer than %llu bytes; what came before is kept. "
                                        "--max-bytes SIZE allows more, 0 any length",
                                        (unsigned long long)c->max_bytes);
                if (take(ctx, bytes, (size_t)n, err) < 0)
                        return -1;
        }
        return (int)n;
}

static int take_out(void *ctx, const char *bytes, size_t len, struct cay_error *err)
{
        struct cay_safe_tail *tail = ctx; /* NULL: unchanged */
        int r = tail != NULL ? cay_safe_write(STDOUT_FILENO, tail, bytes, len)
                             : sys_write_all(STDOUT_FILENO, bytes, len);

        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "write to standard output") : 0;
}

static int take_member(void *ctx, const char *bytes, size_t len, struct cay_error *err)
{
        return cay_unpack_feed(ctx, bytes, len, err);
}

static int receive_into(struct copy *c, const char *folder, const char *name, struct cay_error *err)
{
        cay_auto_free struct cay_unpack *u = calloc(1, sizeof(*u));
        int fd = sys_open_at(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0), r;

        if (fd < 0)
                return cay_fail_sys(err, fd == -ENOENT ? CAY_NOT_FOUND : CAY_DENIED, fd,
                                    "the folder '%.120s'", folder);
        if (u == NULL) {
                close(fd);
                return cay_fail(err, CAY_INTERNAL, "no memory");
        }
        r = cay_unpack_init_take(u, fd, name, err);
        if (r == 0)
                r = receive(c, take_member, u, err);
        if (r == 0)
                r = cay_unpack_finish(u, err);
        if (r == 0)
                report(c, "there", u->left_out);
        cay_unpack_done(u);
        return r;
}

static int copy_out(struct copy *c, struct cay_error *err)
{
        char folder[PATH_MAX], type[16], source[PATH_MAX];
        bool wants_folder = trim(c->target.path), is_dir;
        const char *name;
        struct cay_safe_tail tail = { 0 };
        uint64_t size = 0;
        struct stat st;

        if (look_there(c, &c->source, false, type, &size, err) < 0)
                return -1;
        if (type[0] == '\0')
                return cay_fail(err, CAY_NOT_FOUND, "there is no '%.150s' in the sandbox", c->source.path);
        cay_progress_begin(&c->progress, c->args->quiet, strcmp(type, "file") == 0 ? size : 0);
        if (c->target.is_stream)
                return receive(c, take_out, isatty(STDOUT_FILENO) && !c->args->raw ? &tail : NULL, err);
        is_dir = stat(c->target.path, &st) == 0 && S_ISDIR(st.st_mode);
        if (wants_folder && !is_dir)
                return cay_fail(err, CAY_NOT_FOUND, "'%.120s' is not a folder", c->target.path);
        if (!is_dir) {
                split(c->target.path, folder, &name);
                return receive_into(c, folder, name, err);
        }
        snprintf(source, sizeof(source), "%s", c->source.path);
        trim(source);
        name = cay_path_base(source);
        if (is_no_name(name))
                name = strcmp(name, ".") == 0 ? "workspace" : c->source.box;
        return receive_into(c, c->target.path, name, err);
}

static int copy(struct copy *c, struct cay_error *err)
{
        if (read_end(c->args->words[0], &c->source, err) < 0 ||
            read_end(c->args->words[1], &c->target, err) < 0)
                return -1;
        if (c->source.is_ours == c->target.is_ours)
                return cay_fail(err, CAY_INVALID, "exactly one of SOURCE and TARGET must be SANDBOX:PATH");
        return c->source.is_ours ? copy_in(c, err) : copy_out(c, err);
}

static int run_cp(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err)
{
        cay_auto_free struct copy *c = calloc(1, sizeof(*c));
        int r;

        if (c == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        c->reach = reach;
        c->args = a;
        c->max_bytes = MAX_BYTES;
        if (a->max_bytes != NULL && cay_parse_size(a->max_bytes, &c->max_bytes) < 0)
                return cay_fail(err, CAY_INVALID, "--max-bytes: '%.40s' is not a size; examples: 500m, 20g",
                                a->max_bytes);
        cay_client_conn_init(&c->conn);
        r = copy(c, err);
        cay_progress_end(&c->progress);
        cay_client_conn_close(&c->conn);
        return r;
}

int cay_cmd_cp(int argc, char **argv)
{
        return cay_verb_main(argc, argv, run_cp);
}
