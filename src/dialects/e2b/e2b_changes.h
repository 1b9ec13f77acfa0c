/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens in a folder, in E2B's words, one event after the other. With entries, an event of something
 * that is still there carries its attributes: they are asked for one after the other, and the events behind
 * wait for them.
 */
#pragma once

#include "dialects/e2b/e2b_priv.h"
#include "dialects/e2b/e2b_stream.h"

struct e2b_change {
        const char *type;                  /* E2B's word */
        const char *name;                  /* below the folder */
        const char *path;                  /* absolute */
        const struct cay_json_value *file; /* a File of Cay; NULL: not asked for, or it is gone */
};

struct e2b_changes { /* embedded, zeroed; its owner frees it with e2b_changes_done */
        const struct cay_op_world *world;
        struct cay_caller caller;
        char sandbox[CAY_NAME_MAX + 1], path[E2B_PATH_MAX];
        bool as_root, with_entries;
        void (*put)(void *ctx, const struct e2b_change *change); /* may call e2b_changes_done */
        void *ctx;
        struct e2b_change_pending *first, **last;
        size_t bytes;
        struct e2b_change_asked *asked; /* the attributes that are asked for; NULL: none are */
};

/* Of the watch that q asks for; path: the folder. */
void e2b_changes_begin(struct e2b_changes *c, const struct e2b_request *q, const char *path, bool as_root);
/*
 * An event of file_watch: CREATE, WRITE and so on come through put, maybe from inside. -ENOBUFS: too many
 * wait.
 */
int e2b_changes_add(struct e2b_changes *c, const char *kind, const struct cay_json_value *event);
void e2b_changes_flush(struct e2b_changes *c); /* all that wait, without attributes */
void e2b_changes_done(struct e2b_changes *c);
/* Members of an open object: name, type, entry. */
void e2b_change_put(struct cay_json *j, const struct e2b_change *change);
