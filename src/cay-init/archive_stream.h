/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tar stream written by a worker, through one buffer.
 *
 * Theory of operation. The size in a header is binding: a file that shrinks meanwhile is padded with zeros
 * and one that grows is truncated, so that the stream is always a valid archive. The limit in bytes is on the
 * stream, the end included, and is checked before a member is begun: a member that was begun is always
 * completed.
 *
 * Holes: a file's pieces of data are looked up first, because its header has to say how long they are
 * together. They are binding as well. Holes smaller than HOLE_LEAST are sent as zeros. If there are more
 * pieces than a map may have, the least size of a hole grows until they fit.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "foundation/base/error.h"
#include "cay-init/files.h"
#include "foundation/tar/tar.h"

struct cay_archive_stream {
        int fd;                    /* borrowed */
        const char *what;          /* "archive": for people */
        uint64_t bytes, max_bytes; /* of the stream so far, as headers promise it, without its end */
        /* private */
        size_t pieces_count;
        struct cay_tar_piece pieces[CAY_TAR_PIECES_MAX]; /* of the file that is next */
        size_t len;                                      /* of buf */
        char buf[CAY_FILES_BUFFER];
};

/* max_bytes 0: no limit. */
void cay_archive_stream_init(struct cay_archive_stream *s, int fd, const char *what, uint64_t max_bytes);
/* Finds holes. Returns m->stored for the header of such a file; 0: it has none, or they are unknown. */
uint64_t cay_archive_stream_map(struct cay_archive_stream *s, int fd, const struct stat *st);
/* A member's header. 1: its name cannot be written, and nothing was. */
int cay_archive_stream_member(struct cay_archive_stream *s, const struct cay_tar_member *m,
                              struct cay_error *err);
/* The content of one of that size, from memory or from a file (`path` is for people). */
int cay_archive_stream_bytes(struct cay_archive_stream *s, const char *bytes, size_t size,
                             struct cay_error *err);
int cay_archive_stream_file(struct cay_archive_stream *s, int fd, uint64_t size, const char *path,
                            struct cay_error *err);
/* The map that was made, and the file's pieces. */
int cay_archive_stream_pieces(struct cay_archive_stream *s, int fd, const char *path, struct cay_error *err);
/* The end of the archive, and all that is still in the buffer. */
int cay_archive_stream_end(struct cay_archive_stream *s, struct cay_error *err);
