/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything below a directory, one entry at a time, parents before what is in them. Never follows a link,
 * never crosses to another mount, no recursion; memory and descriptors are bounded as in files_chain.h.
 */
#pragma once

#include "cay-init/files_chain.h"

enum cay_files_event {
        CAY_FILES_END,   /* the walk is over */
        CAY_FILES_ENTRY, /* `name` in the current directory; cay_files_walk_descend goes into it */
        CAY_FILES_LEAVE, /* everything of the current directory was seen; it is left with the next call */
};

struct cay_files_walk {
        struct cay_files_chain chain;
        uint64_t mount;
        const char *name; /* of the entry; borrowed from dents until the next call */
        unsigned dtype;   /* DT_…; DT_UNKNOWN where the file system doesn't tell */
        int64_t next_pos; /* behind the entry */
        bool leaving;
        size_t at, len; /* of dents */
        /*
         * Deliberately small: a directory is read again from its position each time a subdirectory is done.
         */
        char dents[4096] __attribute__((aligned(8)));
};

/* Consumes root_fd (a directory open for reading), also when it fails. */
int cay_files_walk_init_take(struct cay_files_walk *w, int root_fd);
void cay_files_walk_done(struct cay_files_walk *w);

/*
 * An enum cay_files_event, or -errno: then the walk can't go on. The root itself is neither entry nor left.
 */
int cay_files_walk_next(struct cay_files_walk *w);
/*
 * Enters the entry that was just returned; the next calls return its content. -errno: it cannot be read
 * (EACCES), is not a directory any more (ENOTDIR, ENOENT), is another mount (EXDEV) or too deep
 * (ENAMETOOLONG); the walk stays where it was and may continue.
 */
int cay_files_walk_descend(struct cay_files_walk *w);
