/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folders that a WATCH watches: inotify's numbers on one side, places below the watched folder on the
 * other. A node has its name and its parent, so moving a folder with everything below it changes one node.
 */
#pragma once

#include <stdbool.h>

#include "foundation/base/banned.h"

struct cay_files_node {
        int wd;
        struct cay_files_node *parent; /* NULL: the watched folder itself */
        char *name;                    /* owned; "" for the watched folder */
};

struct cay_files_tree {
        int fd;                        /* inotify; owned */
        struct cay_files_node **nodes; /* owned; by ascending wd */
        unsigned count, cap;
};

int cay_files_tree_init(struct cay_files_tree *t);  /* 0 or -errno: -EMFILE, the box has no more of them */
void cay_files_tree_done(struct cay_files_tree *t); /* also of a zeroed one with fd -1 */

struct cay_files_node *cay_files_tree_find(const struct cay_files_tree *t, int wd); /* NULL: none */
struct cay_files_node *cay_files_tree_child(const struct cay_files_tree *t,
                                            const struct cay_files_node *parent, const char *name);
/*
 * A wd that is known already moves to its new place. NULL: no memory, or the place is below itself (errno
 * says).
 */
struct cay_files_node *cay_files_tree_put(struct cay_files_tree *t, int wd, struct cay_files_node *parent,
                                          const char *name);
/* -ENOMEM; -ELOOP: parent is below the node. */
int cay_files_tree_move(struct cay_files_node *node, struct cay_files_node *parent, const char *name);
/* With all nodes below it; their watches end. */
void cay_files_tree_drop(struct cay_files_tree *t, struct cay_files_node *node);
/*
 * Below the watched folder: "a/b/name", or the node's own place when name is NULL ("" for the watched
 * folder). The length or -ENAMETOOLONG.
 */
int cay_files_tree_path(const struct cay_files_node *node, const char *name, char *ret, size_t size);
