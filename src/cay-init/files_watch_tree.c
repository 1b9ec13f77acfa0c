/* SPDX-License-Identifier: Apache-2.0 */
/* Watched folders and their places. */
#include "cay-init/files_watch_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

int cay_files_tree_init(struct cay_files_tree *t)
{
        *t = (struct cay_files_tree){ .fd = inotify_init1(IN_CLOEXEC) };
        return t->fd < 0 ? -errno : 0;
}

static void node_free(struct cay_files_node *node)
{
        free(node->name);
        free(node);
}

void cay_files_tree_done(struct cay_files_tree *t)
{
        for (unsigned i = 0; i < t->count; i++)
                node_free(t->nodes[i]);
        free(t->nodes);
        if (t->fd >= 0)
                close(t->fd);
        *t = (struct cay_files_tree){ .fd = -1 };
}

/* The first place whose wd is not smaller. */
static unsigned place_of(const struct cay_files_tree *t, int wd)
{
        unsigned from = 0, to = t->count;

        while (from < to) {
                unsigned mid = from + (to - from) / 2;

                if (t->nodes[mid]->wd < wd)
                        from = mid + 1;
                else
                        to = mid;
        }
        return from;
}

struct cay_files_node *cay_files_tree_find(const struct cay_files_tree *t, int wd)
{
        unsigned at = place_of(t, wd);

        return at < t->count && t->nodes[at]->wd == wd ? t->nodes[at] : NULL;
}

struct cay_files_node *cay_files_tree_child(const struct cay_files_tree *t,
                                            const struct cay_files_node *parent, const char *name)
{
        for (unsigned i = 0; i < t->count; i++) {
                if (t->nodes[i]->parent == parent && strcmp(t->nodes[i]->name, name) == 0)
                        return t->nodes[i];
        }
        return NULL;
}

static bool is_below(const struct cay_files_node *node, const struct cay_files_node *above)
{
        for (; node; node = node->parent) {
                if (node == above)
                        return true;
        }
        return false;
}

int cay_files_tree_move(struct cay_files_node *node, struct cay_files_node *parent, const char *name)
{
        char *copy;

        if (is_below(parent, node))
                return -ELOOP;
        copy = strdup(name);
        if (!copy)
                return -ENOMEM;
        free(node->name);
        node->name = copy;
        node->parent = parent;
        return 0;
}

static int make_room(struct cay_files_tree *t)
{
        unsigned cap = t->cap ? t->cap * 2 : 64;
        void *more;

        if (t->count < t->cap)
                return 0;
        more = realloc(t->nodes, cap * sizeof(t->nodes[0]));
        if (!more)
                return -ENOMEM;
        t->nodes = more;
        t->cap = cap;
        return 0;
}

struct cay_files_node *cay_files_tree_put(struct cay_files_tree *t, int wd, struct cay_files_node *parent,
                                          const char *name)
{
        struct cay_files_node *node = cay_files_tree_find(t, wd);
        unsigned at;
        int r;

        if (node) {
                r = cay_files_tree_move(node, parent, name);
                errno = -r;
                return r < 0 ? NULL : node;
        }
        node = calloc(1, sizeof(*node));
        if (!node || make_room(t) < 0 || !(node->name = strdup(name))) {
                free(node);
                errno = ENOMEM;
                return NULL;
        }
        node->wd = wd;
        node->parent = parent;
        at = place_of(t, wd);
        memmove(t->nodes + at + 1, t->nodes + at, (t->count - at) * sizeof(t->nodes[0]));
        t->nodes[at] = node;
        t->count++;
        return node;
}

/* Removes all nodes from the table first and frees them afterwards: the ancestor check needs all of them. */
void cay_files_tree_drop(struct cay_files_tree *t, struct cay_files_node *node)
{
        unsigned kept = 0, gone = 0;
        struct cay_files_node **out = calloc(t->count, sizeof(out[0]));

        for (unsigned i = 0; i < t->count; i++) {
                struct cay_files_node *n = t->nodes[i];

                if (!is_below(n, node)) {
                        t->nodes[kept++] = n;
                        continue;
                }
                inotify_rm_watch(t->fd, n->wd); /* ignoring: the kernel may have removed it already */
                if (out)
                        out[gone++] = n; /* without memory they are lost, and nothing worse */
        }
        t->count = kept;
        for (unsigned i = 0; i < gone; i++)
                node_free(out[i]);
        free(out);
}

/* Written from its end: names are found from the last to the first. */
int cay_files_tree_path(const struct cay_files_node *node, const char *name, char *ret, size_t size)
{
        size_t at = size, len;

        if (size == 0)
                return -ENAMETOOLONG;
        ret[--at] = '\0';
        while (name || node->parent) {
                const char *part = name ? name : node->name;

                len = strlen(part);
                if (len + 1 > at)
                        return -ENAMETOOLONG;
                if (at < size - 1)
                        ret[--at] = '/';
                at -= len;
                memcpy(ret + at, part, len);
                if (!name)
                        node = node->parent;
                name = NULL;
        }
        len = size - at;
        memmove(ret, ret + at, len);
        return (int)len - 1;
}
