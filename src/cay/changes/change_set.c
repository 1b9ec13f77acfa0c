/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads change sets.
 *
 * Theory of operation. One pass over the archive collects entries, with names in blocks of memory that never
 * move. They are sorted so that a directory comes right before its content ('/' sorts lowest). Then the whole
 * is checked: no name twice, nothing inside a non-directory. Memory is bounded by the two limits of
 * foundation/tar/change.h.
 */
#include "cay/changes/change_set.h"

#include <errno.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/files_text.h"
#include "foundation/tar/tar_reader.h"

enum { READ_BYTES = 64 * 1024, BLOCK_BYTES = 256 * 1024 };

struct block { /* of names */
        struct block *next;
        size_t used, size;
        char mem[];
};

struct cay_change_set {
        struct cay_tar_sink sink;
        int fd; /* borrowed */
        struct cay_change *entries;
        size_t count, cap;
        struct block *names; /* owned */
        uint64_t names_bytes;

        /* while reading */
        uint64_t chunk_at; /* offset of the bytes being fed */
        const char *chunk; /* and where they are */
        bool in_list;      /* the file being read is a list of removed entries */
        size_t list_len;
        bool data_seen;
        char list[CAY_CHANGE_LIST_MAX];
};

int cay_change_compare(const char *a, const char *b)
{
        size_t i = 0;

        while (a[i] && a[i] == b[i])
                i++;
        if (a[i] == b[i])
                return 0;
        if (a[i] == '\0' || b[i] == '\0')
                return a[i] == '\0' ? -1 : 1;
        if (a[i] == '/' || b[i] == '/')
                return a[i] == '/' ? -1 : 1;
        return (unsigned char)a[i] < (unsigned char)b[i] ? -1 : 1;
}

bool cay_change_is_below(const char *path, const char *dir)
{
        size_t len = strlen(dir);

        return strncmp(path, dir, len) == 0 && path[len] == '/';
}

char cay_change_status(const struct cay_change *c)
{
        if (c->type == CAY_CHANGE_NONE)
                return 'D';
        if (c->base.type == CAY_CHANGE_NONE)
                return 'A';
        return c->base.type == c->type || c->base.type == CAY_CHANGE_UNKNOWN ? 'M' : 'T';
}

/* --- Collecting --- */

static const char *name_keep(struct cay_change_set *set, const char *text)
{
        size_t len = strlen(text) + 1;
        struct block *b = set->names;
        char *at;

        if (set->names_bytes + len > CAY_CHANGE_NAMES_MAX)
                return NULL;
        if (b == NULL || b->size - b->used < len) {
                b = malloc(sizeof(*b) + BLOCK_BYTES);
                if (b == NULL)
                        return NULL;
                b->next = set->names;
                b->used = 0;
                b->size = BLOCK_BYTES;
                set->names = b;
        }
        at = b->mem + b->used;
        memcpy(at, text, len);
        b->used += len;
        set->names_bytes += len;
        return at;
}

static struct cay_change *entry_add(struct cay_change_set *set, const char *path, const char *target,
                                    struct cay_error *err)
{
        struct cay_change *c;

        if (set->count >= CAY_CHANGE_ENTRIES_MAX) {
                cay_fail(err, CAY_LIMIT, "the change set has more than %u entries", CAY_CHANGE_ENTRIES_MAX);
                return NULL;
        }
        if (set->count == set->cap) {
                size_t cap = set->cap > 0 ? 2 * set->cap : 64;
                struct cay_change *entries = reallocarray(set->entries, cap, sizeof(*entries));

                if (entries == NULL) {
                        cay_fail(err, CAY_INTERNAL, "no memory for the change set");
                        return NULL;
                }
                set->entries = entries;
                set->cap = cap;
        }
        c = &set->entries[set->count];
        *c = (struct cay_change){ .is_selected = true };
        c->path = name_keep(set, path);
        c->target = target[0] ? name_keep(set, target) : "";
        if (c->path == NULL || c->target == NULL) {
                cay_fail(err, CAY_LIMIT, "the names in the change set are too long in total");
                return NULL;
        }
        set->count++;
        return c;
}

static int refuse(struct cay_error *err, const char *path, const char *why)
{
        struct cay_files_text t;

        return cay_fail(err, CAY_INVALID, "the change set is broken: '%s': %s", cay_files_quote(&t, path),
                        why);
}

static int list_begin(struct cay_change_set *set, const struct cay_tar_member *m, struct cay_error *err)
{
        if (strcmp(m->kind, CAY_CHANGE_REMOVED) != 0)
                return refuse(err, m->name, "an entry of unknown kind");
        if (m->type != CAY_TAR_FILE || m->size == 0 || m->size > CAY_CHANGE_LIST_MAX || m->base != NULL)
                return refuse(err, m->name, "an invalid list");
        set->in_list = true;
        set->list_len = 0;
        return 0;
}

static int on_member(struct cay_tar_sink *sink, const struct cay_tar_member *m, struct cay_error *err)
{
        struct cay_change_set *set = cay_container_of(sink, struct cay_change_set, sink);
        char path[CAY_CHANGE_PATH_MAX + 2];
        size_t len = strnlen(m->name, sizeof(path));
        struct cay_change *c;

        set->in_list = set->data_seen = false;
        if (m->kind != NULL)
                return list_begin(set, m, err);
        if (len >= sizeof(path))
                return refuse(err, m->name, "the name is too long");
        memcpy(path, m->name, len + 1);
        if (m->type == CAY_TAR_DIRECTORY && len > 1 && path[len - 1] == '/')
                path[--len] = '\0';
        if (!cay_change_path_is_valid(path))
                return refuse(err, m->name, "not a plain name below the folder");
        if (m->type == CAY_TAR_SYMLINK && (m->link[0] == '\0' || strlen(m->link) > CAY_CHANGE_PATH_MAX))
                return refuse(err, path, "a link without a target");
        c = entry_add(set, path, m->type == CAY_TAR_SYMLINK ? m->link : "", err);
        if (c == NULL)
                return -1;
        switch (m->type) {
        case CAY_TAR_FILE:
                c->type = CAY_CHANGE_FILE;
                c->size = m->size;
                break;
        case CAY_TAR_DIRECTORY:
                c->type = CAY_CHANGE_DIRECTORY;
                break;
        case CAY_TAR_SYMLINK:
                c->type = CAY_CHANGE_SYMLINK;
                break;
        default:
                return refuse(err, path, "neither file, directory nor symbolic link");
        }
        c->mode = m->mode & 0777; /* set-id bits never leave a box */
        if (cay_change_base_parse(m->base, &c->base) < 0)
                return refuse(err, path, "an invalid record of the original");
        return 0;
}

static int on_data(struct cay_tar_sink *sink, const void *bytes, size_t len, struct cay_error *err)
{
        struct cay_change_set *set = cay_container_of(sink, struct cay_change_set, sink);

        if (set->in_list) {
                memcpy(set->list + set->list_len, bytes, len); /* the member's size was checked */
                set->list_len += len;
        } else if (!set->data_seen) {
                set->data_seen = true;
                set->entries[set->count - 1].data_at =
                        set->chunk_at + (uint64_t)((const char *)bytes - set->chunk);
        }
        return 0;
}

/* The next string of the list; NULL: truncated. */
static const char *list_next(const struct cay_change_set *set, size_t *at)
{
        const char *s = set->list + *at, *end = memchr(s, '\0', set->list_len - *at);

        if (end == NULL)
                return NULL;
        *at += (size_t)(end - s) + 1;
        return s;
}

static int list_end(struct cay_change_set *set, struct cay_error *err)
{
        for (size_t at = 0; at < set->list_len;) {
                const char *base = list_next(set, &at), *path = base != NULL ? list_next(set, &at) : NULL;
                struct cay_change *c;

                if (path == NULL)
                        return refuse(err, CAY_CHANGE_REMOVED, "a truncated list");
                if (!cay_change_path_is_valid(path))
                        return refuse(err, path, "not a plain name below the folder");
                c = entry_add(set, path, "", err);
                if (c == NULL)
                        return -1;
                if (cay_change_base_parse(base, &c->base) < 0 || c->base.type == CAY_CHANGE_NONE)
                        return refuse(err, path, "an invalid record of the original");
        }
        return 0;
}

static int on_end(struct cay_tar_sink *sink, struct cay_error *err)
{
        struct cay_change_set *set = cay_container_of(sink, struct cay_change_set, sink);

        return set->in_list ? list_end(set, err) : 0;
}

static int read_all(struct cay_change_set *set, struct cay_tar_reader *reader, struct cay_error *err)
{
        static const struct cay_tar_sink_ops ops = { on_member, on_data, on_end };
        cay_auto_free char *chunk = malloc(READ_BYTES);
        ssize_t n;

        if (chunk == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory for the change set");
        set->sink.ops = &ops;
        set->chunk = chunk;
        cay_tar_reader_init(reader, &set->sink);
        for (set->chunk_at = 0;; set->chunk_at += (uint64_t)n) {
                n = pread(set->fd, chunk, READ_BYTES, (off_t)set->chunk_at);
                if (n < 0)
                        return cay_fail_sys(err, CAY_INTERNAL, -errno, "read the change set");
                if (n == 0)
                        return cay_tar_reader_finish(reader, err);
                if (cay_tar_reader_feed(reader, chunk, (size_t)n, err) < 0)
                        return -1;
        }
}

/* --- The whole --- */

static int by_path(const void *a, const void *b)
{
        return cay_change_compare(((const struct cay_change *)a)->path, ((const struct cay_change *)b)->path);
}

/* The entry of c's directory, if the set has one. */
static struct cay_change *parent_of(struct cay_change_set *set, const struct cay_change *c)
{
        const char *slash = strrchr(c->path, '/');
        char dir[CAY_CHANGE_PATH_MAX + 1];

        if (slash == NULL)
                return NULL;
        memcpy(dir, c->path, (size_t)(slash - c->path));
        dir[slash - c->path] = '\0';
        return cay_change_set_find(set, dir);
}

/* A directory that came or went with its content is implied by that content. */
static bool is_implied(const struct cay_change *c, const struct cay_change *next)
{
        bool comes = c->type == CAY_CHANGE_DIRECTORY && c->base.type == CAY_CHANGE_NONE;
        bool goes = c->type == CAY_CHANGE_NONE && c->base.type == CAY_CHANGE_DIRECTORY;

        return (comes || goes) && next != NULL && cay_change_is_below(next->path, c->path);
}

/* The content of an entry follows it directly, so one entry at a time says what is forbidden. */
static int check_tree(struct cay_change_set *set, struct cay_error *err)
{
        const struct cay_change *no_dir = NULL, *was_none = NULL; /* nothing is in it now; nothing was */

        for (size_t i = 0; i < set->count; i++) {
                struct cay_change *c = &set->entries[i], *next = i + 1 < set->count ? c + 1 : NULL;

                if (next != NULL && strcmp(c->path, next->path) == 0)
                        return refuse(err, c->path, "it occurs twice");
                if (no_dir != NULL && !cay_change_is_below(c->path, no_dir->path))
                        no_dir = NULL;
                if (was_none != NULL && !cay_change_is_below(c->path, was_none->path))
                        was_none = NULL;
                if (no_dir != NULL && c->type != CAY_CHANGE_NONE)
                        return refuse(err, c->path, "it is inside something that is not a directory");
                if (was_none != NULL && c->base.type != CAY_CHANGE_NONE)
                        return refuse(err, c->path, "it was inside something that was not a directory");
                if (no_dir == NULL && c->type != CAY_CHANGE_DIRECTORY)
                        no_dir = c;
                if (was_none == NULL && c->base.type != CAY_CHANGE_DIRECTORY &&
                    c->base.type != CAY_CHANGE_UNKNOWN)
                        was_none = c;
                c->is_implied = is_implied(c, next);
        }
        return 0;
}

int cay_change_set_open(int fd, struct cay_change_set **ret, struct cay_error *err)
{
        cay_auto(cay_change_set_freep) struct cay_change_set *set = calloc(1, sizeof(*set));
        cay_auto_free struct cay_tar_reader *reader = malloc(sizeof(*reader));

        if (set == NULL || reader == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory for the change set");
        set->fd = fd;
        if (read_all(set, reader, err) < 0)
                return -1;
        if (set->count > 0)
                qsort(set->entries, set->count, sizeof(*set->entries), by_path);
        if (check_tree(set, err) < 0)
                return -1;
        *ret = cay_take(set);
        return 0;
}

void cay_change_set_free(struct cay_change_set *set)
{
        if (set == NULL)
                return;
        for (struct block *b = set->names, *next; b != NULL; b = next) {
                next = b->next;
                free(b);
        }
        free(set->entries);
        free(set);
}

size_t cay_change_set_count(const struct cay_change_set *set)
{
        return set->count;
}

struct cay_change *cay_change_set_at(struct cay_change_set *set, size_t i)
{
        return &set->entries[i];
}

struct cay_change *cay_change_set_find(struct cay_change_set *set, const char *path)
{
        struct cay_change key = { .path = path };

        return set->count > 0 ? bsearch(&key, set->entries, set->count, sizeof(key), by_path) : NULL;
}

void cay_change_set_counts(const struct cay_change_set *set, struct cay_change_counts *ret)
{
        *ret = (struct cay_change_counts){ 0 };
        for (size_t i = 0; i < set->count; i++) {
                const struct cay_change *c = &set->entries[i];
                char status = cay_change_status(c);

                ret->bytes += c->size;
                if (c->is_implied)
                        continue;
                if (status == 'A')
                        ret->added++;
                else if (status == 'D')
                        ret->removed++;
                else
                        ret->changed++;
        }
}

/* Normalises a path from the command line; "": the folder itself. */
static int path_clean(const char *text, char ret[CAY_CHANGE_PATH_MAX + 1])
{
        size_t len;

        while (text[0] == '.' && text[1] == '/')
                for (text += 2; *text == '/';)
                        text++;
        len = strlen(text);
        while (len > 1 && text[len - 1] == '/')
                len--;
        if (len > CAY_CHANGE_PATH_MAX)
                return -1;
        memcpy(ret, text, len);
        ret[len] = '\0';
        if (strcmp(ret, ".") == 0)
                ret[0] = '\0';
        return ret[0] == '\0' || cay_change_path_is_valid(ret) ? 0 : -1;
}

static size_t select_below(struct cay_change_set *set, const char *path)
{
        size_t found = 0;

        for (size_t i = 0; i < set->count; i++) {
                struct cay_change *c = &set->entries[i];

                if (path[0] != '\0' && strcmp(c->path, path) != 0 && !cay_change_is_below(c->path, path))
                        continue;
                c->is_selected = true;
                found++;
        }
        return found;
}

int cay_change_set_select(struct cay_change_set *set, const char *const *paths, size_t count,
                          struct cay_error *err)
{
        for (size_t i = 0; i < set->count; i++)
                set->entries[i].is_selected = count == 0;
        for (size_t i = 0; i < count; i++) {
                char path[CAY_CHANGE_PATH_MAX + 1];
                struct cay_files_text t;

                if (path_clean(paths[i], path) < 0)
                        return cay_fail(err, CAY_INVALID,
                                        "'%s' is not a path of the run; give it relative to the run's folder",
                                        cay_files_quote(&t, paths[i]));
                if (select_below(set, path) == 0 && path[0] != '\0')
                        return cay_fail(err, CAY_NOT_FOUND, "the run changed nothing at or below '%s'",
                                        cay_files_quote(&t, paths[i]));
        }
        /* Backwards: a child comes before its directory. */
        for (size_t i = set->count; i-- > 0;) {
                struct cay_change *c = &set->entries[i], *dir;

                dir = c->is_selected && c->type != CAY_CHANGE_NONE ? parent_of(set, c) : NULL;
                if (dir != NULL)
                        dir->is_selected = true;
        }
        return 0;
}

ssize_t cay_change_set_read(const struct cay_change_set *set, const struct cay_change *c, uint64_t offset,
                            void *mem, size_t len)
{
        uint64_t left = offset < c->size ? c->size - offset : 0;
        size_t want = left < len ? (size_t)left : len, have = 0;

        while (have < want) {
                ssize_t n =
                        pread(set->fd, (char *)mem + have, want - have, (off_t)(c->data_at + offset + have));

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : -EIO;
                have += (size_t)n;
        }
        return (ssize_t)have;
}
