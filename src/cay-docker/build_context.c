/* SPDX-License-Identifier: Apache-2.0 */
/* A folder, walked by descriptors, in the order of names. */
#include "cay-docker/build_context.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "domain/auth/digest.h"
#include "foundation/base/json_out.h"
#include "foundation/base/path.h"
#include "foundation/base/str.h"
#include "cay-docker/build_ignore.h"
#include "domain/templates/registry.h"
#include "foundation/sys/dir.h"
#include "foundation/sys/fd.h"
#include "foundation/tar/tar.h"

#define IGNORE_FILE ".dockerignore"
#define PATH_ROOM 4096u

struct names { /* of one folder */
        char **items;
        unsigned count, room;
        int failed; /* -errno */
};

struct walk {
        struct docker_context *c;
        struct docker_ignore ignore;
        int tar_fd; /* -1: none */
        uint8_t digest[CAY_DIGEST_SIZE];
        char path[PATH_ROOM]; /* of the entry */
};

/* The hash is a chain: what was before, what kind of entry this is, what is in it. */
static int add_digest(struct walk *w, const void *bytes, size_t len)
{
        uint8_t both[2 * CAY_DIGEST_SIZE];
        int r;

        memcpy(both, w->digest, CAY_DIGEST_SIZE);
        r = cay_digest_sha256(bytes, len, both + CAY_DIGEST_SIZE);
        return r < 0 ? r : cay_digest_sha256(both, sizeof(both), w->digest);
}

static int add_text(struct walk *w, const char *text)
{
        return add_digest(w, text, strlen(text));
}

/* Names */

static void add_name(void *ctx, int dirfd, const char *name, unsigned type)
{
        struct names *n = ctx;

        (void)dirfd;
        (void)type;
        if (n->failed < 0)
                return;
        if (n->count == n->room) {
                unsigned room = n->room ? n->room * 2 : 64;
                char **items = room <= 2 * DOCKER_CONTEXT_ENTRIES
                                       ? reallocarray(n->items, room, sizeof(*items))
                                       : NULL;

                if (!items) {
                        n->failed = -E2BIG;
                        return;
                }
                n->items = items;
                n->room = room;
        }
        n->items[n->count] = strdup(name);
        if (!n->items[n->count])
                n->failed = -ENOMEM;
        else
                n->count++;
}

static void names_done(struct names *n)
{
        for (unsigned i = 0; i < n->count; i++)
                free(n->items[i]);
        free(n->items);
}

static int compare(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list(int fd, struct names *ret)
{
        int r = sys_dir_each(fd, add_name, ret);

        if (r == 0)
                r = ret->failed;
        if (r == 0 && ret->count > 1)
                qsort(ret->items, ret->count, sizeof(*ret->items), compare);
        return r;
}

/* Entries */

static int write_member(struct walk *w, const struct cay_tar_member *m, const void *bytes)
{
        static const uint8_t zeros[CAY_TAR_BLOCK];
        static uint8_t head[CAY_TAR_HEADERS_MAX]; /* one process, one walk */
        int n, r;

        if (w->tar_fd < 0)
                return 0;
        n = cay_tar_member_format(m, head, sizeof(head));
        r = n < 0 ? n : sys_write_all(w->tar_fd, head, (size_t)n);
        if (r == 0 && m->size > 0)
                r = sys_write_all(w->tar_fd, bytes, m->size);
        return r == 0 ? sys_write_all(w->tar_fd, zeros, cay_tar_padding(m->size)) : r;
}

static int add_member(struct walk *w, enum cay_tar_type type, const struct stat *st, const char *link,
                      const void *bytes, size_t len, struct cay_error *err)
{
        const struct cay_tar_member m = { .type = type,
                                          .mode = (uint32_t)st->st_mode & 0777,
                                          .size = len,
                                          .mtime_s = st->st_mtime,
                                          .name = w->path,
                                          .link = link };
        char head[PATH_ROOM + 64];
        int r;

        w->c->bytes += len;
        if (++w->c->entries > DOCKER_CONTEXT_ENTRIES || w->c->bytes > DOCKER_CONTEXT_BYTES)
                return cay_fail(err, CAY_LIMIT,
                                "its folder has more than %llu MiB or %u files: leave out with .dockerignore "
                                "what the build does not need",
                                DOCKER_CONTEXT_BYTES >> 20, DOCKER_CONTEXT_ENTRIES);
        snprintf(head, sizeof(head), "%d %o %s", (int)type, m.mode, w->path);
        r = add_text(w, head);
        if (r == 0)
                r = type == CAY_TAR_SYMLINK ? add_text(w, link) : add_digest(w, bytes, len);
        if (r == 0)
                r = write_member(w, &m, bytes);
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "pack '%.100s'", w->path) : 0;
}

static int add_file(struct walk *w, int dirfd, const char *name, struct cay_error *err)
{
        cay_auto_close int fd = sys_open_beneath(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
        cay_auto_free char *bytes = NULL;
        struct stat st;
        ssize_t n;

        if (fd < 0 || fstat(fd, &st) < 0)
                return cay_fail_sys(err, CAY_CONFLICT, fd < 0 ? fd : -errno, "read '%.100s'", w->path);
        if (!S_ISREG(st.st_mode))
                return cay_fail(err, CAY_CONFLICT, "'%.100s' was replaced while it was read", w->path);
        if ((uint64_t)st.st_size > DOCKER_CONTEXT_BYTES - w->c->bytes)
                st.st_size = (off_t)(DOCKER_CONTEXT_BYTES - w->c->bytes) + 1; /* refused behind this */
        bytes = malloc((size_t)st.st_size + 1);
        n = bytes ? sys_read_fd(fd, bytes, (size_t)st.st_size + 1) : -ENOMEM;
        if (n < 0)
                return cay_fail_sys(err, CAY_CONFLICT, (int)n, "read '%.100s'", w->path);
        return add_member(w, CAY_TAR_FILE, &st, "", bytes, (size_t)n, err);
}

static int add_link(struct walk *w, int dirfd, const char *name, const struct stat *st, struct cay_error *err)
{
        char target[PATH_ROOM];
        ssize_t n = readlinkat(dirfd, name, target, sizeof(target) - 1);

        if (n < 0 || n == (ssize_t)sizeof(target) - 1)
                return cay_fail_sys(err, CAY_CONFLICT, n < 0 ? -errno : -ENAMETOOLONG, "read '%.100s'",
                                    w->path);
        target[n] = '\0';
        return add_member(w, CAY_TAR_SYMLINK, st, target, NULL, 0, err);
}

static int walk_folder(struct walk *w, int fd, unsigned depth, struct cay_error *err);

static int add_folder(struct walk *w, int dirfd, const char *name, const struct stat *st, bool is_out,
                      unsigned depth, struct cay_error *err)
{
        cay_auto_close int fd = -1;

        if (is_out && !w->ignore.has_exceptions)
                return 0;
        if (depth == DOCKER_CONTEXT_DEPTH)
                return cay_fail(err, CAY_LIMIT, "'%.100s': folders are nested more than %u deep", w->path,
                                DOCKER_CONTEXT_DEPTH);
        fd = sys_open_beneath(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (fd < 0)
                return cay_fail_sys(err, CAY_CONFLICT, fd, "read '%.100s'", w->path);
        if (!is_out && add_member(w, CAY_TAR_DIRECTORY, st, "", NULL, 0, err) < 0)
                return -1;
        return walk_folder(w, fd, depth + 1, err);
}

/*
 * The Dockerfile goes along whatever is said of it; what is neither file, folder nor link has no place in an
 * archive.
 */
static int add_entry(struct walk *w, int dirfd, const char *name, unsigned depth, struct cay_error *err)
{
        bool is_out = docker_ignore_has(&w->ignore, w->path) && strcmp(w->path, w->c->dockerfile) != 0;
        struct stat st;

        if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return cay_fail_sys(err, CAY_CONFLICT, -errno, "look at '%.100s'", w->path);
        if (S_ISDIR(st.st_mode))
                return add_folder(w, dirfd, name, &st, is_out, depth, err);
        if (is_out)
                return 0;
        if (S_ISREG(st.st_mode))
                return add_file(w, dirfd, name, err);
        return S_ISLNK(st.st_mode) ? add_link(w, dirfd, name, &st, err) : 0;
}

static int walk_folder(struct walk *w, int fd, unsigned depth, struct cay_error *err)
{
        size_t len = strlen(w->path);
        cay_auto(names_done) struct names names = { 0 };
        int r = list(fd, &names);

        if (r < 0)
                return cay_fail_sys(err, r == -E2BIG ? CAY_LIMIT : CAY_CONFLICT, r, "list '%.100s'",
                                    len ? w->path : ".");
        for (unsigned i = 0; i < names.count; i++) {
                int n = snprintf(w->path + len, sizeof(w->path) - len, "%s%s", len ? "/" : "",
                                 names.items[i]);

                r = n < (int)(sizeof(w->path) - len)
                            ? add_entry(w, fd, names.items[i], depth, err)
                            : cay_fail(err, CAY_LIMIT, "a path is too long: '%.100s'", w->path);
                w->path[len] = '\0';
                if (r < 0)
                        return -1;
        }
        return 0;
}

/* Templates */

static int read_ignore(struct walk *w, int fd, struct cay_error *err)
{
        cay_auto_free char *text = malloc(DOCKER_IGNORE_MAX + 2);
        cay_auto_close int file = sys_open_beneath(fd, IGNORE_FILE, O_RDONLY | O_NONBLOCK, 0);
        ssize_t n = 0;

        if (!text)
                return cay_fail(err, CAY_INTERNAL, "no memory for " IGNORE_FILE);
        if (file >= 0)
                n = sys_read_fd(file, text, DOCKER_IGNORE_MAX + 2);
        if (n < 0 || (file < 0 && file != -ENOENT))
                return cay_fail_sys(err, CAY_CONFLICT, n < 0 ? (int)n : file, "read " IGNORE_FILE);
        return docker_ignore_parse(&w->ignore, text, (size_t)n, err);
}

static int put_args(const struct cay_template *t, struct docker_context *c, struct cay_error *err)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        cay_buf_init(&out, DOCKER_CONTEXT_ARGS);
        cay_json_init(&j, &out);
        cay_json_begin_object(&j);
        for (unsigned i = 0; i < t->build_args.count; i++) {
                cay_json_key(&j, t->build_args.pairs[i].name);
                cay_json_text(&j, t->build_args.pairs[i].value);
        }
        cay_json_end_object(&j);
        if (cay_json_end(&j) < 0)
                return cay_fail(err, CAY_INVALID, "build.args: longer than %u bytes in total; shorten them",
                                DOCKER_CONTEXT_ARGS);
        cay_str_copy(c->args, sizeof(c->args), cay_buf_data(&out));
        return 0;
}

static int fill(const struct cay_template *t, struct docker_context *c, struct cay_error *err)
{
        c->bridge = strcmp(t->build_network, "bridge") == 0;
        c->memory_bytes = t->build_memory ? t->build_memory : DOCKER_BUILD_MEMORY;
        c->build_ms = t->build_ms ? t->build_ms : DOCKER_BUILD_MS;
        if (!cay_str_copy(c->dockerfile, sizeof(c->dockerfile), cay_path_base(t->root_text)))
                return cay_fail(err, CAY_INVALID, "dockerfile: the file's name is too long");
        return put_args(t, c, err);
}

static int open_folder(int folder_fd, const struct cay_template *t, struct cay_error *err)
{
        char path[PATH_ROOM];
        int fd, file, len = (int)(cay_path_base(t->root_text) - t->root_text);

        snprintf(path, sizeof(path), "%.*s", len > 0 ? len - 1 : 1, len > 0 ? t->root_text : ".");
        fd = len > 0 ? sys_open_beneath(folder_fd, path, O_RDONLY | O_DIRECTORY, 0)
                     : sys_open_at(folder_fd, ".", O_RDONLY | O_DIRECTORY, 0);
        if (fd < 0)
                return cay_fail_sys(err, CAY_CONFLICT, fd, "its folder '%.100s'", path);
        file = sys_open_beneath(fd, cay_path_base(t->root_text), O_PATH, 0);
        if (file < 0) {
                close(fd);
                return cay_fail_sys(err, CAY_CONFLICT, file, "its Dockerfile '%.100s'", t->root_text);
        }
        close(file);
        return fd;
}

static int end_archive(const struct walk *w, struct cay_error *err)
{
        static const uint8_t end[CAY_TAR_BLOCK * 2];
        int r = w->tar_fd >= 0 ? sys_write_all(w->tar_fd, end, sizeof(end)) : 0;

        return r < 0 ? cay_fail_sys(err, CAY_NO_SPACE, r, "pack its folder") : 0;
}

static int read_one(int folder_fd, const struct cay_template *t, int tar_fd, struct docker_context *c,
                    struct cay_error *err)
{
        cay_auto_free struct walk *w = calloc(1, sizeof(*w));
        cay_auto_close int fd = -1;
        int r;

        if (!w)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        w->c = c;
        w->tar_fd = tar_fd;
        if (fill(t, c, err) < 0)
                return -1;
        fd = open_folder(folder_fd, t, err);
        if (fd < 0 || read_ignore(w, fd, err) < 0)
                return -1;
        r = add_text(w, c->dockerfile) < 0 || add_text(w, c->args) < 0
                    ? cay_fail(err, CAY_INTERNAL, "hash the build's files")
                    : walk_folder(w, fd, 0, err);
        docker_ignore_done(&w->ignore);
        for (unsigned i = 0; r == 0 && i < CAY_DIGEST_SIZE; i++)
                snprintf(c->hash + 2 * i, 3, "%02x", w->digest[i]);
        return r == 0 ? end_archive(w, err) : r;
}

static void tell_one(int folder_fd, const struct cay_template *t, int tar_fd,
                     struct docker_context_sink *sink)
{
        struct docker_context c = { 0 };
        struct cay_error err = { 0 };

        cay_str_copy(c.name, sizeof(c.name), t->name);
        if (read_one(folder_fd, t, tar_fd, &c, &err) < 0)
                cay_str_copy(c.text, sizeof(c.text), err.msg);
        c.code = err.code;
        sink->tell(sink, &c);
}

static int find(const struct cay_template_set *set, const char *name, const struct cay_template **ret,
                struct cay_error *err)
{
        *ret = cay_template_find(set, name);
        if (!*ret)
                return cay_fail(err, CAY_NOT_FOUND, "template: '%.63s' does not exist", name);
        if ((*ret)->root != CAY_TEMPLATE_ROOT_DOCKERFILE)
                return cay_fail(err, CAY_CONFLICT,
                                "template '%.63s' is not built: it has a %s, no dockerfile", name,
                                cay_template_root_word((*ret)->root));
        return 0;
}

int docker_context_read(int folder_fd, const char *registry, size_t len, const char *name, int tar_fd,
                        struct docker_context_sink *sink, struct cay_error *err)
{
        cay_auto(cay_registry_freep) struct cay_registry *r = NULL;
        cay_auto_free struct cay_notes *notes = calloc(1, sizeof(*notes));
        const struct cay_template *t = NULL;
        const struct cay_template_set *set;

        if (!notes)
                return cay_fail(err, CAY_INTERNAL, "no memory for the registry");
        if (cay_registry_parse("registry", registry, len, notes, &r) < 0)
                return cay_fail(err, CAY_CONFLICT,
                                "the registry's file has an error: `cay template check` shows it");
        set = cay_registry_set(r);
        if (name && find(set, name, &t, err) < 0)
                return -1;
        for (unsigned i = 0; i < set->count; i++)
                if (set->rows[i].root == CAY_TEMPLATE_ROOT_DOCKERFILE && (!name || &set->rows[i] == t))
                        tell_one(folder_fd, &set->rows[i], name ? tar_fd : -1, sink);
        return 0;
}
