/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tar stream pushed in pieces of any size, members and their data handed to a sink. Pure: no file, no
 * allocation. What it can't read without guessing it refuses, and every refusal names the member. Files with
 * holes are read in pax form 1.0, with at most CAY_TAR_PIECES_MAX pieces.
 */
#pragma once

#include "foundation/base/error.h"
#include "foundation/tar/tar.h"

struct cay_tar_sink;

/* Each returns 0, or -1 with *err filled, which ends the reading. */
struct cay_tar_sink_ops {
        /*
         * A file, link, symlink, directory, device or FIFO; only a file has a size above 0. Names are
         * borrowed.
         */
        int (*member)(struct cay_tar_sink *sink, const struct cay_tar_member *m, struct cay_error *err);
        /* The next bytes of the file; together with its holes they are the member's size. */
        int (*data)(struct cay_tar_sink *sink, const void *bytes, size_t len, struct cay_error *err);
        /* The file is complete; called for each file, also an empty one, and for nothing else. */
        int (*end)(struct cay_tar_sink *sink, struct cay_error *err);
        /* The next `len` bytes are a hole. NULL: files with holes are refused. */
        int (*hole)(struct cay_tar_sink *sink, uint64_t len, struct cay_error *err);
};

struct cay_tar_sink {
        const struct cay_tar_sink_ops *ops;
};

enum cay_tar_state {
        CAY_TAR_AT_HEADER, /* also between members */
        CAY_TAR_IN_RECORDS,
        CAY_TAR_IN_MAP, /* of a file with holes */
        CAY_TAR_IN_DATA,
        CAY_TAR_IN_PADDING,
        CAY_TAR_HALF_ENDED, /* one block of zeros seen */
        CAY_TAR_ENDED,
        CAY_TAR_FAILED,
};

struct cay_tar_reader {
        struct cay_tar_sink *sink; /* borrowed */
        enum cay_tar_state state;
        bool first;       /* no header read yet */
        uint64_t left;    /* of map and data, or of records */
        unsigned padding; /* then to skip */
        size_t have;      /* of block, or of records */
        struct cay_tar_header header;
        enum cay_tar_type extra; /* what is being collected in records */
        unsigned extras;         /* bit set over enum cay_tar_type: seen before the next member */
        struct cay_tar_pax pax;  /* its views are not kept: they go to name, link, kind and base below */
        bool has_name, has_link;
        char kind[CAY_TAR_KIND_MAX + 1], base[CAY_TAR_BASE_MAX + 1]; /* "": none */
        /* The file under way: a file without holes is one piece. */
        uint64_t size, at;   /* at: the position in the file */
        uint64_t piece_left; /* of the piece that is being read */
        size_t piece, pieces_count;
        struct cay_tar_piece pieces[CAY_TAR_PIECES_MAX];
        /* Its map */
        uint64_t number, mapped; /* the number being read; bytes of the map so far */
        size_t numbers;          /* read so far, the count included */
        unsigned digits;         /* of the number */

        uint8_t block[CAY_TAR_BLOCK];
        char name[CAY_TAR_NAME_MAX + 1];
        char link[CAY_TAR_NAME_MAX + 1];
        char records[CAY_TAR_PAX_MAX];
};

void cay_tar_reader_init(struct cay_tar_reader *r, struct cay_tar_sink *sink);
/* 0, or -1: the stream is refused, and every later call fails as well. */
int cay_tar_reader_feed(struct cay_tar_reader *r, const void *bytes, size_t len, struct cay_error *err);
/* The stream is over: -1 if the archive is not. */
int cay_tar_reader_finish(struct cay_tar_reader *r, struct cay_error *err);
